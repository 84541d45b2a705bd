"""Token log-probabilities and gradient norms on the harness' Hugging Face back end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from custom_metrics.token_logprobs.encode import Encoded, longest_first, scored_text
from custom_metrics.token_logprobs.response import Response

#: Bytes of logits one forward pass may produce, and the largest batch tried within it.
LOGIT_BYTES = 1 << 30
MAX_BATCH = 64


def _batches(lm: Any, rows: Sequence[Encoded]) -> Iterator[list[int]]:
    """Positions of rows by falling length, in batches whose logits stay within `LOGIT_BYTES`."""
    order = longest_first(rows)
    config = lm.model.config
    text_config = getattr(config, "text_config", config)
    vocabulary = int(getattr(text_config, "vocab_size", 0) or 131_072)
    cap = MAX_BATCH
    if not str(lm.batch_size).startswith("auto"):
        cap = max(1, int(lm.batch_size))
    start = 0
    while start < len(order):
        width = len(rows[order[start]].ids)
        row_bytes = 4 * width * vocabulary
        size = max(1, min(cap, LOGIT_BYTES // row_bytes))
        yield order[start : start + size]
        start += size


def score(lm: Any, rows: Sequence[Encoded]) -> list[Response]:
    """One forward pass per batch, right-padded.

    The log-softmax is in float32, over the scored positions only.

    Args:
        lm: The harness' `HFLM`.
        rows: Encoded requests, each with at least one scored token.

    Returns:
        Responses in the order of `rows`.
    """
    import torch
    from tqdm import tqdm

    answers: list[Response] = [Response() for _ in rows]
    with tqdm(
        total=len(rows), desc="Running token_logprobs requests", disable=lm.rank != 0
    ) as progress:
        for batch in _batches(lm, rows):
            width = max(len(rows[position].ids) for position in batch) - 1
            inputs = torch.zeros((len(batch), width), dtype=torch.long)
            for line, position in enumerate(batch):
                context = rows[position].ids[:-1]
                inputs[line, : len(context)] = torch.tensor(context)
            # Padding on the right cannot reach a causal model's earlier positions, so no mask is
            # needed.
            # The harness' own single forward pass.
            logits = lm._model_call(inputs.to(lm.device))  # noqa: SLF001
            for line, position in enumerate(batch):
                answers[position] = _read(lm, rows[position], logits[line])
            progress.update(len(batch))
    return answers


def _read(lm: Any, row: Encoded, logits: Any) -> Response:
    """Gather what one row asked for from its logits, shape [T][V]."""
    import torch

    scored_logits = logits[row.start - 1 : len(row.ids) - 1].float()
    logprobs = torch.log_softmax(scored_logits, dim=-1)
    targets = torch.tensor(row.scored, device=logprobs.device)
    own = logprobs.gather(-1, targets[:, None])[:, 0]
    mean, variance = _moments(logprobs) if row.options.moments else (None, None)
    return Response(
        logprobs=own.tolist(),
        greedy=(logprobs.argmax(-1) == targets).tolist(),
        mu=mean,
        var=variance,
        text=scored_text(lm, row),
        truncated=row.truncated,
    )


def _moments(logprobs: Any) -> tuple[list[float], list[float]]:
    """Mean and variance of the log-probability of a token drawn at each place."""
    import torch

    weights = logprobs.exp()
    # A masked-out token has log-probability -inf and weight 0; it adds nothing.
    zeros = torch.zeros_like(logprobs)
    finite = torch.where(weights > 0, logprobs, zeros)
    mean = (weights * finite).sum(-1)
    mean_square = (weights * finite.square()).sum(-1)
    variance = mean_square - mean.square()
    return mean.tolist(), variance.tolist()


def grad_norm(lm: Any, rows: Sequence[Encoded]) -> list[Response]:
    """Returns the mean gradient norm over parameter tensors.

    The gradient is of the mean loss over all scored tokens but the last.

    Batch size 1, evaluation mode (no dropout, so the number is reproducible), gradients in the
    model's dtype. For adapters only their trainable tensors count.

    Args:
        lm: The harness' `HFLM`.
        rows: Encoded requests; `options.norm` is 1, 2 or "inf".
    """
    from tqdm import tqdm

    model = lm.model
    model.eval()
    if not any(parameter.requires_grad for parameter in model.parameters()):
        for parameter in model.parameters():
            parameter.requires_grad_(parameter.is_floating_point())
    answers = []
    for row in tqdm(rows, desc="Running grad_norm requests", disable=lm.rank != 0):
        # One scored token alone has no loss to compare.
        norm = _mean_norm(lm, row) if len(row.scored) >= 2 else None
        answers.append(Response(grad_norm=norm, truncated=row.truncated))
    model.zero_grad(set_to_none=True)
    return answers


def _mean_norm(lm: Any, row: Encoded) -> float:
    """Mean over the parameters of the norm of their gradient, for the loss of one row."""
    import torch

    model = lm.model
    model.zero_grad(set_to_none=True)
    with torch.enable_grad():
        ids = torch.tensor([row.ids[:-1]], device=lm.device)
        logits = model(ids).logits[0, row.start - 1 : -1].float()
        loss = torch.nn.functional.cross_entropy(logits, ids[0, row.start :])
        loss.backward()
    order = float(row.options.norm)
    norms = []
    for parameter in model.parameters():
        if parameter.grad is not None:
            gradient = parameter.grad.float()
            norms.append(torch.linalg.vector_norm(gradient, ord=order))
    return float(torch.stack(norms).mean())
