"""Token log-probabilities on the harness' vLLM back end, out of its prompt log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from custom_metrics.token_logprobs.encode import Encoded, longest_first, scored_text
from custom_metrics.token_logprobs.response import Response

#: Tokens of one engine call: their log-probabilities come back as Python objects and all stay in
# memory until read.
TOKENS_PER_CALL = 200_000


def _calls(lm: Any, rows: Sequence[Encoded]) -> Iterator[list[int]]:
    """Positions of rows by falling length, in engine calls."""
    order = longest_first(rows)
    if int(lm.data_parallel_size) > 1:
        # Every call starts the replicas anew, so there is one.
        yield order
        return
    cap = len(order)
    if not str(lm.batch_size).startswith("auto"):
        cap = max(1, int(lm.batch_size))
    call: list[int] = []
    tokens = 0
    for position in order:
        length = len(rows[position].ids)
        if call and (len(call) >= cap or tokens + length > TOKENS_PER_CALL):
            yield call
            call = []
            tokens = 0
        call.append(position)
        tokens += length
    if call:
        yield call


def score(lm: Any, rows: Sequence[Encoded]) -> list[Response]:
    """One prompt log-probability request per row.

    vLLM returns, per position, the token of the prompt and the most likely one; the mean and
    variance over the whole vocabulary would need every entry as a Python object and are not asked
    for.

    Args:
        lm: The harness' `VLLM`.
        rows: Encoded requests, each with at least one scored token.

    Returns:
        Responses in the order of `rows`; without `mu` and `var`.
    """
    answers: list[Response] = [Response() for _ in rows]
    for call in _calls(lm, rows):
        outputs = lm._model_generate(  # noqa: SLF001 - the harness' own engine call
            requests=[rows[position].ids for position in call], generate=False
        )
        for position, output in zip(call, outputs, strict=True):
            answers[position] = _read(lm, rows[position], output.prompt_logprobs)
    return answers


def _read(lm: Any, row: Encoded, positions: Sequence[Any]) -> Response:
    logprobs = []
    greedy = []
    for token, entries in zip(row.scored, positions[row.start :], strict=True):
        values = {key: float(getattr(entry, "logprob", entry)) for key, entry in entries.items()}
        logprobs.append(values[token])
        # Among equally likely tokens argmax takes the smallest id; the dict holds the prompt's
        # token and one best.
        best = max(values.values())
        argmax = min(key for key, value in values.items() if value == best)
        greedy.append(token == argmax)
    return Response(
        logprobs=logprobs, greedy=greedy, text=scored_text(lm, row), truncated=row.truncated
    )
