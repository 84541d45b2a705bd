"""Values by row: keys as strings, missing values as None, means that count what they leave out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Number = float | int | None


def finite(value: Any) -> bool:
    """Returns whether `value` is a number that may enter a mean (booleans are not numbers here)."""
    if type(value) is float:  # most values, and scores ask of every row
        return math.isfinite(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def usable(values: Iterable[Any]) -> list[float]:
    """The finite numbers among `values`, in order."""
    return [float(value) for value in values if finite(value)]


def entries(value: Any) -> list[float]:
    """The finite numbers of one row, whether it holds one value or a list."""
    if type(value) is float:
        return [value] if math.isfinite(value) else []
    if isinstance(value, (str, bytes)):
        return []
    if isinstance(value, Sequence):
        return usable(value)
    return usable([value])


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic mean; None of nothing.

    >>> mean([0.5, 0.25]), mean([])
    (0.375, None)
    """
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else None


def mean_or_nan(values: Iterable[float]) -> float:
    """Arithmetic mean as the reference implementation has it.

    NaN of nothing, and where one value is.
    """
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else math.nan


def pairs(first: Mapping[Any, Any], second: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """The values of rows that both sides have, in the order of the first.

    What the reference implementation keeps.
    """
    others = by_string(second)
    pairs = []
    for index, value in by_string(first).items():
        other = others.get(index)
        if value is not None and other is not None:
            pairs.append((value, other))
    return pairs


def values_or_nan(value: Any) -> list[float]:
    """The numbers of one row with nothing left out; what is none counts as NaN."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [float(each) if isinstance(each, (int, float)) else math.nan for each in values]


def total_or_nan(value: Any) -> float:
    """The sum of one row's numbers as the reference implementation has it."""
    return sum(values_or_nan(value))


def by_string(values: Mapping[Any, Any]) -> dict[str, Any]:
    """The same mapping with string keys, so that rows read back from JSON meet rows in memory."""
    return {str(key): value for key, value in values.items()}


def counted(result: dict[str, Any], **reasons: int) -> dict[str, Any]:
    """Adds `skipped` (reason -> rows) to a result if anything was skipped."""
    skipped = {reason: count for reason, count in reasons.items() if count}
    if not skipped:
        return result
    return {**result, "skipped": skipped}
