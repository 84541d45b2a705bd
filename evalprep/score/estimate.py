"""A number with what is known of it: how it was made, of how many rows, how far it may be off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

#: Note on a mean of rows that are all alike and so tell nothing of their spread.
WITHOUT_SPREAD = (
    "no interval: all rows have the same value, and no known bounds of the score hold it"
)

#: Why rows were left out of a score.
NO_NUMBER = "no number"


class Numbers(TypedDict):
    """A value with its uncertainty and its rows, for a line of a table."""

    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    n: int | None


class Estimate(msgspec.Struct, frozen=True):
    """A score of rows or of other scores.

    Args:
        value: The number; None with a `reason`.
        n: Rows behind it; None where rows do not count.
        rule: How it was made ("mean over rows").
        stderr: Its standard error; None where that is not known.
        interval: Its 95 % interval; None where that is not known.
        clusters: Documents that rows share; None where each row stands alone.
        skipped: Reason -> rows that were left out for it.
        parts: What it is a mean of: name -> value.
        reason: Why it has no value.
        notes: What else a reader must know.
        stored: Metric -> value that lm-eval stored, where rows could not be put together.
    """

    value: float | None = None
    n: int | None = None
    rule: str = ""
    stderr: float | None = None
    interval: tuple[float, float] | None = None
    clusters: int | None = None
    skipped: Mapping[str, int] = msgspec.field(default_factory=dict)
    parts: Mapping[str, float | None] = msgspec.field(default_factory=dict)
    reason: str = ""
    notes: tuple[str, ...] = ()
    stored: Mapping[str, float] = msgspec.field(default_factory=dict)

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1] if self.interval else None

    def numbers(self) -> Numbers:
        """Returns the value with its uncertainty and its rows, for a line of a table."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "stderr": self.stderr,
            "n": self.n,
        }

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data: `agg_value`, and each other field that says something."""
        plain: dict[str, Any] = {"agg_value": self.value}
        for name in self.__struct_fields__[1:]:
            value = getattr(self, name)
            if value is None or value in ("", (), {}):
                continue
            plain[name] = list(value) if isinstance(value, tuple) else value
        return plain
