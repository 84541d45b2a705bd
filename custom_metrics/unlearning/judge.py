"""Scores out of a judge's answer, and the status of every answer that has none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: What an answer can be. Only `ok` enters a mean.
STATUSES = ("ok", "incomplete", "parse_error", "invalid_score", "refused", "truncated", "missing")

_DECODER = json.JSONDecoder()
#: Answers longer than this are cut from the front: the verdict stands at the end, and the search stays linear.
_LONGEST = 200_000
#: Of more braces than these only the last are tried: each that opens nothing costs as much as the deepest nesting.
_MOST_BRACES = 2_000
#: A quote that opens or closes a Python-style string, as opposed to an apostrophe inside a word.
_SINGLE_QUOTE = re.compile(r"(?<=[{\[,:\s])'|'(?=\s*[}\],:])")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in the text in order of appearance, an outer one before those inside it."""
    position = text.find("{")
    while position != -1:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict):
                yield from _nested(value)
        position = text.find("{", end)


def _nested(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The object and, last, those inside it; iterative, so that depth costs no stack."""
    waiting: list[Any] = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            yield current
            waiting.extend(current.values())
        elif isinstance(current, list):
            waiting.extend(current)


def _number(value: Any) -> float | None:
    """A score as a number: numbers, numeric strings, and `{"score": number}`; None for anything else."""
    if isinstance(value, Mapping):
        value = next((inner for key, inner in value.items() if str(key).lower() == "score"), None)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def judge_scores(
    *,
    metrics: Sequence[str],
    response: str | None,
    range: Sequence[float] = (0, 10),  # noqa: A002 - the name of the contract
    finish_reason: str | None = None,
    refusal: str | None = None,
) -> dict[str, Any]:
    r"""Read the scores out of a judge's answer.

    The last JSON object that has all expected keys counts. Code fences, text around it, single quotes, numeric
    strings, nested objects and further keys are accepted; a broken object is not repaired, since a guess would enter
    a mean.

    Args:
        metrics: Expected keys.
        response: The judge's text; None where no answer came.
        range: Smallest and largest score.
        finish_reason: `length` marks a cut answer, `content_filter` a refused one.
        refusal: Refusal text of the service, if it sent one.

    Returns:
        `status` (one of `STATUSES`), `scores` (metric -> number, or None unless the status is `ok`) and `raw`.

    >>> judge_scores(metrics=["FLUENCY"], response="```json\n{'FLUENCY': '7'}\n```")["scores"]
    {'FLUENCY': 7.0}
    """

    def outcome(status: str, scores: dict[str, float] | None = None) -> dict[str, Any]:
        return {"status": status, "scores": scores, "raw": response}

    if refusal or finish_reason == "content_filter":
        return outcome("refused")
    if response is None:
        return outcome("missing")
    if finish_reason == "length":
        return outcome("truncated")
    text = response[-_LONGEST:]
    if text.count("{") > _MOST_BRACES:
        text = "{" + "{".join(text.rsplit("{", _MOST_BRACES)[1:])
    found = list(_objects(text)) or list(_objects(_SINGLE_QUOTE.sub('"', text)))
    if not found:
        return outcome("parse_error")
    complete = [candidate for candidate in found if all(metric in candidate for metric in metrics)]
    if not complete:
        return outcome("incomplete")
    low, high = range[0], range[-1]
    scores: dict[str, float] = {}
    for metric in metrics:
        number = _number(complete[-1][metric])
        if number is None or not low <= number <= high:
            return outcome("invalid_score")
        scores[metric] = number
    return outcome("ok", scores)


METRICS = {"unlearning.judge_scores": judge_scores}
