"""Scores out of a judge's answer, and the status of every answer that has none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.judging.objects import (
    LONGEST,
    MOST_BRACES,
    finite_number,
    json_objects,
    turned_quotes,
)

#: What an answer can be. Only `ok` enters a mean.
STATUSES = ("ok", "incomplete", "parse_error", "invalid_score", "refused", "truncated", "missing")

_INNERMOST = re.compile(r"\{[^{}]*\}")
_PAIRS = re.compile(r"(?<![A-Z_])([A-Z_]+):\s*(\d+)")
_MOST_DIGITS = 4000  # Python turns no longer text into a number


def judge_scores(
    *,
    metrics: Sequence[str],
    response: str | None,
    range: Sequence[float] = (0, 10),  # noqa: A002 - the name of the contract
    finish_reason: str | None = None,
    refusal: str | None = None,
    compat: bool = False,
) -> dict[str, Any] | None:
    r"""Reads the scores out of a judge's answer.

    The last JSON object that has all expected keys counts. Code fences, text around it, single
    quotes, numeric strings, nested objects and further keys are accepted; a broken object is not
    repaired, since a guess would enter a mean.

    Args:
        metrics: Expected keys.
        response: The judge's text; None where no answer came.
        range: Smallest and largest score.
        finish_reason: `length` marks a cut answer, `content_filter` a refused one.
        refusal: Refusal text of the service, if it sent one.
        compat: The object alone as OpenUnlearning's parser reads it, whatever it holds; None for
            none.

    Returns:
        `status` (one of `STATUSES`), `scores` (metric -> number, or None unless the status is `ok`)
        and `raw`.

    >>> judge_scores(metrics=["FLUENCY"], response="```json\n{'FLUENCY': '7'}\n```")["scores"]
    {'FLUENCY': 7.0}
    """
    if compat:
        return _as_the_original(response or "")

    def outcome(status: str, scores: dict[str, float] | None = None) -> dict[str, Any]:
        return {"status": status, "scores": scores, "raw": response}

    if refusal or finish_reason == "content_filter":
        return outcome("refused")
    if response is None:
        return outcome("missing")
    if finish_reason == "length":
        return outcome("truncated")
    status, scores = _verdict(response, metrics, range)
    return outcome(status, scores)


def _verdict(
    response: str, metrics: Sequence[str], limits: Sequence[float]
) -> tuple[str, dict[str, float] | None]:
    """The status of a whole answer, and its scores where the status is `ok`."""
    # The JSON objects at the end of an answer, in double or else in single quotes. Only the last
    # are tried: the verdict stands at the end.
    text = response[-LONGEST:]
    if text.count("{") > MOST_BRACES:
        last_parts = text.rsplit("{", MOST_BRACES)[1:]
        text = "{" + "{".join(last_parts)
    objects = list(json_objects(text))
    objects = objects or list(json_objects(turned_quotes(text)))
    if not objects:
        return "parse_error", None
    complete = [
        candidate for candidate in objects if all(metric in candidate for metric in metrics)
    ]
    if not complete:
        return "incomplete", None
    scores: dict[str, float] = {}
    for metric in metrics:
        # A score is a number, a numeric text, or `{"score": number}`.
        value = complete[-1][metric]
        if isinstance(value, Mapping):
            named = (inner for key, inner in value.items() if str(key).lower() == "score")
            value = next(named, None)
        number = finite_number(value)
        if number is None or not limits[0] <= number <= limits[-1]:
            return "invalid_score", None
        scores[metric] = number
    return "ok", scores


def _as_the_original(response: str) -> dict[str, Any] | None:
    """The last object without another in it, every single quote turned.

    Where it is broken, its `NAME: number` pairs are read.
    """
    objects = _INNERMOST.findall(response)
    if not objects:
        return None
    try:
        scores = json.loads(objects[-1].replace("'", '"'))
    except (ValueError, RecursionError):
        pairs = {
            name: int(number)
            for name, number in _PAIRS.findall(response)
            if len(number) <= _MOST_DIGITS
        }
        return pairs or None
    return scores if isinstance(scores, dict) else None


METRICS = {"unlearning.judge_scores": judge_scores}
