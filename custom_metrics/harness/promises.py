"""The promises of row scorers to lm-eval, as wrappers.

They are one set of keys, no exception, and an average of several replies.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Doc = Mapping[str, Any]
Results = Sequence[Any]
Values = dict[str, Any]

_log = logging.getLogger(__name__)


def never_raising(
    **failure: Any,
) -> Callable[[Callable[[Doc, Results], Values]], Callable[[Doc, Results], Values]]:
    """Gives a scorer its keys with the values of a failure, and counts the failure."""

    def wrap(score: Callable[[Doc, Results], Values]) -> Callable[[Doc, Results], Values]:
        @functools.wraps(score)
        def safe(doc: Doc, results: Results) -> Values:
            try:
                return {**failure, "scorer_error": 0, **score(doc, results)}
            except Exception as error:  # noqa: BLE001 - see the module's promise
                _log.warning(
                    "%s: sample %s was not scored: %r", score.__name__, doc.get("sample_id"), error
                )
                return {**failure, "scorer_error": 1}

        return safe

    return wrap


def averaged(score: Callable[[Doc, Results], Values]) -> Callable[[Doc, Results], Values]:
    """Scores every reply of a document that has several, and averages value by value.

    Such are those of `repeats` without `take_first`.
    """

    @functools.wraps(score)
    def mean_of_all(doc: Doc, results: Results) -> Values:
        replies = results[0] if results else ""
        if not isinstance(replies, (list, tuple)) or len(replies) < 2:
            return score(doc, results)
        scored = [score(doc, [reply]) for reply in replies]
        means: Values = {}
        for name in scored[0]:
            # Averages numbers, or lists of numbers place by place.
            values = [values[name] for values in scored]
            if not isinstance(values[0], list):
                means[name] = sum(values) / len(values)
            else:
                columns = itertools.zip_longest(*values, fillvalue=0.0)
                means[name] = [sum(column) / len(values) for column in columns]
        return means

    return mean_of_all


def with_macro(
    metric: str,
) -> Callable[[Callable[[Doc, Results], Values]], Callable[[Doc, Results], Values]]:
    """Adds `<metric>_macro`: the value with its subtask, for `aggregations.macro_mean`."""

    def wrap(score: Callable[[Doc, Results], Values]) -> Callable[[Doc, Results], Values]:
        @functools.wraps(score)
        def and_macro(doc: Doc, results: Results) -> Values:
            values = score(doc, results)
            return {
                **values,
                f"{metric}_macro": [str(doc.get("subtask_name") or ""), values[metric]],
            }

        return and_macro

    return wrap
