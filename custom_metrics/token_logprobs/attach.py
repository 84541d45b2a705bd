"""Give the harness' model classes the methods that our request types call."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from custom_metrics.token_logprobs import hf, stepwise, vllm
from custom_metrics.token_logprobs.encode import Encoded, Options, place
from custom_metrics.token_logprobs.response import Response, refusal

Scorer = Callable[[Any, Sequence[Encoded]], list[Response]]


def _encode_all(lm: Any, requests: Sequence[Any]) -> list[Encoded]:
    """Returns the token ids of every request.

    They come from the back end's own tokenizer and its rule about the first token.
    """
    eos = lm.eot_token_id
    bos = getattr(getattr(lm, "tokenizer", None), "bos_token_id", None)
    # vLLM has to generate one token; the same bound everywhere keeps rows comparable.
    limit = int(lm.max_length) - 1
    encode = functools.lru_cache(maxsize=4096)(lambda text: tuple(lm.tok_encode(text)))
    rows = []
    for request in requests:
        context, continuation, options = request.args
        full = encode(context + continuation)
        # A text without a prompt starts behind the begin-of-sequence token, if there is one.
        leading_bos = full[:1] if full[:1] == (bos,) else ()
        prompt = encode(context) if context else leading_bos
        row = place(prompt=prompt, full=full, options=Options.parse(options), eos=eos, limit=limit)
        rows.append(row)
    return rows


def _answer(lm: Any, requests: Sequence[Any], scorer: Scorer, *, moments: bool) -> list[str]:
    """Encode, score what fits, put the answers back in order."""
    rows = _encode_all(lm, requests)
    answers: list[Response] = []
    scored_rows: list[int] = []
    for number, row in enumerate(rows):
        reason = "too_long" if row.refused else ""
        if row.options.moments and not moments:
            reason = "backend"
        if reason:
            answers.append(refusal(row, reason))
            continue
        answers.append(Response(truncated=row.truncated))
        if row.scored:
            scored_rows.append(number)
    if scored_rows:
        responses = scorer(lm, [rows[number] for number in scored_rows])
        for number, response in zip(scored_rows, responses, strict=True):
            answers[number] = response
    return [answer.dump() for answer in answers]


def _method(scorer: Scorer, *, moments: bool = False) -> Callable[..., list[str]]:
    """The scorer as a method of a model class.

    `moments` says whether it gives moments of the vocabulary.
    """

    def method(
        self: Any,
        requests: Sequence[Any],
        disable_tqdm: bool = False,  # noqa: ARG001 - harness'
    ) -> list[str]:
        return _answer(self, requests, scorer, moments=moments)

    return method


def _unable(
    self: Any,  # noqa: ARG001 - harness'
    requests: Sequence[Any],
    disable_tqdm: bool = False,  # noqa: ARG001 - harness'
) -> list[str]:
    """Answer of a back end that cannot do this; a refusal keeps the rest of the run."""
    return [Response(refused="backend").dump() for _ in requests]


def _without_ids(self: Any, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
    """Back ends of which only the base class is known.

    Those that score token ids do it token by token; the others are refused.
    """
    scores_ids = hasattr(self, "_loglikelihood_tokens") and hasattr(self, "tok_encode")
    if scores_ids:
        return _method(stepwise.score)(self, requests)
    return _unable(self, requests, disable_tqdm)


#: Module that must already be imported, class in it, methods. The base class comes first: the
# others override it.
METHODS: list[tuple[str, str, dict[str, Callable[..., list[str]]]]] = [
    ("lm_eval.api.model", "LM", {"token_logprobs": _without_ids, "grad_norm": _unable}),
    (
        "lm_eval.models.huggingface",
        "HFLM",
        {"token_logprobs": _method(hf.score, moments=True), "grad_norm": _method(hf.grad_norm)},
    ),
    ("lm_eval.models.vllm_causallms", "VLLM", {"token_logprobs": _method(vllm.score)}),
]


def attach() -> None:
    """Attaches to the classes that this process has imported; never import a back end."""
    for module_name, class_name, methods in METHODS:
        owner = getattr(sys.modules.get(module_name), class_name, None)
        if owner is not None:
            for name, method in methods.items():
                setattr(owner, name, method)
