"""How the rows of a benchmark become its score: the one way, for each of the 24."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .counts import Counts
from .outcome import (
    Result,
    Rows,
    Sample,
    all_rows,
    answered,
    result_of,
    row_keys,
    share_of,
    value_by_index,
    with_interval,
)

Read = TypeVar("Read")
Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Readings(Generic[Read]):
    """The rows of a benchmark, and what was read in each.

    Attributes:
        rows: Task -> its rows.
        values: Of each row of all tasks what was read in it; None where nothing could be.
    """

    rows: Rows
    values: list[Read | None]

    @property
    def samples(self) -> list[Sample]:
        """The rows of all tasks."""
        return all_rows(self.rows)

    @property
    def known(self) -> list[Read]:
        """What was read in the rows in which something could be."""
        return [value for value in self.values if value is not None]

    @property
    def known_rows(self) -> list[Sample]:
        """The rows in which something could be read."""
        pairs = zip(self.samples, self.values, strict=True)
        return [row for row, value in pairs if value is not None]

    @property
    def known_keys(self) -> list[str]:
        """The keys of the rows in which something could be read."""
        pairs = zip(row_keys(self.rows), self.values, strict=True)
        return [key for key, value in pairs if value is not None]


def _nothing(_readings: Readings[Any], _raw: Raw) -> Result:
    return {}


@dataclass(frozen=True)
class Scorer(Generic[Read]):
    """The score of one benchmark, which pack.yaml names as a function.

    Attributes:
        benchmark: The key whose rule makes the score out of the raw metrics.
        read: What a row shows; None where nothing can be read in it.
        aggregate: The raw metrics of what was read.
        good: The value of a row, 1 the best, of a score that is their mean.
        counts: Rows as counts that add up, of any other score.
        reasons: What else the score shows: notes, the parse rate, the original's own value, and the
            reason where there is no score.
        with_reply: Whether only rows with a reply count: a model without a word leaks nothing and
            falls to no attack, which is no good score.
    """

    benchmark: str
    read: Callable[[Sample], Read | None]
    aggregate: Callable[[Readings[Read]], Raw]
    good: Callable[[Read], float | None] | None = None
    counts: Callable[[Readings[Read], Raw], Counts] | None = None
    reasons: Callable[[Readings[Read], Raw], Result] = _nothing
    with_reply: bool = False

    def __call__(self, *, rows: Rows, **_: Any) -> Result:
        """Returns the score of rows, with raw metrics, notes and its interval."""
        empty: Result = {}
        if self.with_reply:
            rows, empty = answered(rows)
        readings = Readings(rows, [self.read(row) for row in all_rows(rows)])
        raw = self.aggregate(readings)
        more = self.reasons(readings, raw)
        notes = [*empty.get("notes", ()), *more.get("notes", ())]
        more = {**more, **empty, "notes": notes}
        if self.good is not None:
            good = [None if value is None else self.good(value) for value in readings.values]
            more["value_by_index"] = value_by_index(rows, good)
        result = result_of(self.benchmark, raw, readings.samples, **more)
        if self.counts is None or result["agg_value"] is None:
            return result
        return with_interval(result, *self.counts(readings, raw))


def share_as(metric: str) -> Callable[[Readings[bool]], Raw]:
    """Returns the raw metrics of a benchmark that counts rows: their share under a name."""

    def aggregate(readings: Readings[bool]) -> Raw:
        return {metric: share_of(readings.known)}

    return aggregate


def less(value: float) -> float:
    """Returns 1 - value, for what a benchmark counts against the model."""
    return 1.0 - value
