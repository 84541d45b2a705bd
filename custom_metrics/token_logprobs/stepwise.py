"""Token log-probabilities on any other back end that scores token ids: one request per token."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from custom_metrics.token_logprobs.encode import Encoded, scored_text
from custom_metrics.token_logprobs.response import Response, refusal

_log = logging.getLogger(__name__)


def score(lm: Any, rows: Sequence[Encoded]) -> list[Response]:
    """Asks for every scored token by itself, with all tokens before it as context.

    Works wherever the harness' `_loglikelihood_tokens` does, at the cost of one request per token;
    the warning names that number before anything is sent.

    Args:
        lm: A harness `TemplateLM`.
        rows: Encoded requests, each with at least one scored token.

    Returns:
        Responses in the order of `rows`; without `mu` and `var`.
    """
    requests: list[tuple[None, list[int], list[int]]] = []
    for row in rows:
        positions = range(row.start, len(row.ids))
        requests += [(None, row.ids[:position], [row.ids[position]]) for position in positions]
    _log.warning(
        "%s has no token log-probabilities of its own: sending %d single-token requests for %d "
        "texts (%d tokens of "
        "context in all). The hf and vllm back ends need %d.",
        type(lm).__name__,
        len(requests),
        len(rows),
        sum(len(context) for _, context, _ in requests),
        len(rows),
    )
    # The harness' method behind loglikelihood.
    results = list(lm._loglikelihood_tokens(requests))  # noqa: SLF001
    if len(results) != len(requests):
        # Servers' failed requests are left out of the list, and nothing tells which: no value can
        # be trusted.
        return [refusal(row, "backend") for row in rows]
    answers = []
    position = 0
    for row in rows:
        pairs = results[position : position + len(row.scored)]
        position += len(row.scored)
        answers.append(
            Response(
                logprobs=[float(logprob) for logprob, _ in pairs],
                greedy=[bool(flag) for _, flag in pairs],
                text=scored_text(lm, row),
                truncated=row.truncated,
            )
        )
    return answers
