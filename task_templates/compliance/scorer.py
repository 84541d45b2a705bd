"""How the rows of a benchmark become its score: the one way, for each of the 24."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .counts import Counts
from .outcome import (
    ByIndex,
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

    def coverage(self, thing: str, part: str) -> Result:
        """How many rows show something, and the reason where none does.

        Args:
            thing: What a row is.
            part: What something could be read of.
        """
        known, total = len(self.known), len(self.values)
        more: Result = {"n": known, "notes": []}
        if known < total:
            more["read"] = [known, total]
            more["notes"].append(f"{known} of {total} {thing}s have {part}")
        if not known:
            more["reason"] = f"no {thing} has {part}"
        return more

    @property
    def known_keys(self) -> list[str]:
        """The keys of the rows in which something could be read."""
        pairs = zip(row_keys(self.rows), self.values, strict=True)
        return [key for key, value in pairs if value is not None]


class Scorer(ABC, Generic[Read]):
    """The score of one benchmark; pack.yaml names its instance as a function.

    Attributes:
        benchmark: The key whose rule makes the score out of the raw metrics.
        with_reply: Whether only rows with a reply count: a model without a word leaks nothing and
            falls to no attack, which is no good score.
    """

    benchmark: str
    with_reply: bool = False

    @abstractmethod
    def read(self, row: Sample) -> Read | None:
        """What a row shows; None where nothing can be read in it."""

    @abstractmethod
    def aggregate(self, readings: Readings[Read]) -> Raw:
        """The raw metrics of what was read."""

    def by_row(self, _readings: Readings[Read]) -> ByIndex | None:
        """The values of the rows whose plain mean the score is; None of any other score."""
        return None

    def counts(self, _readings: Readings[Read], _raw: Raw) -> Counts | None:
        """The rows of a score with a value as counts that add up; None of a mean of rows."""
        return None

    def reasons(self, _readings: Readings[Read], _raw: Raw) -> Result:
        """Returns what else the score shows.

        Notes, the parse rate, the original's own value, and the reason where there is no score.
        """
        return {}

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
        by_row = self.by_row(readings)
        if by_row is not None:
            more["value_by_index"] = by_row
        result = result_of(self.benchmark, raw, readings.samples, **more)
        counts = None if result["agg_value"] is None else self.counts(readings, raw)
        return result if counts is None else with_interval(result, *counts)


class MeanOfRows(Scorer[Read]):
    """A benchmark whose score is the mean of the values of its rows."""

    @abstractmethod
    def good(self, value: Read) -> float | None:
        """The value of a row, 1 the best."""

    def by_row(self, readings: Readings[Read]) -> ByIndex:
        """The value of each row in which something could be read."""
        values = [None if value is None else self.good(value) for value in readings.values]
        return value_by_index(readings.rows, values)


class ShareOfFaults(MeanOfRows[bool]):
    """A benchmark that counts the rows with a fault; its score is the share of the others.

    Attributes:
        metric: The name of the share of faults among the raw metrics.
    """

    metric: str
    with_reply = True

    def aggregate(self, readings: Readings[bool]) -> Raw:
        """The share of the rows with a fault."""
        return {self.metric: share_of(readings.known)}

    def good(self, value: bool) -> float:
        """1 of a row without the fault."""
        return 1.0 - value
