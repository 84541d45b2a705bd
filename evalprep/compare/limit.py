"""A tolerated difference as users write it: `0.02`, `2 points`, or `2%` of the baseline's score."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from evalprep.compare.difference import POINTS
from evalprep.numbers import finite_number

SHARE = "%"
#: A limit that is written as a text.
LIMIT_TEXT = r"\s*([0-9]{1,3}(?:\.[0-9]{1,10})?)\s*(%|points?)\s*"


class Limit(msgspec.Struct, frozen=True):
    """A limit of a difference.

    Attributes:
        value: The number as it is written.
        unit: Empty on the scale of the score; `points`, hundredths of a share; `%` of the
            baseline's score.
    """

    value: float
    unit: str = ""

    def of(self, baseline: float | None, hundred: float | None = 1.0) -> float | None:
        """The limit on the scale of the score; None where the score has no points.

        Args:
            baseline: The baseline's score.
            hundred: What 100 points are on the scale of the score.
        """
        if self.unit == SHARE:
            return self.value / 100 * abs(baseline or 0.0)
        if self.unit == POINTS:
            return None if hundred is None else self.value / 100 * hundred
        return self.value

    def __str__(self) -> str:
        """As it is written."""
        space = " " if self.unit == POINTS else ""
        return f"{self.value:g}{space}{self.unit}"


def as_limit(value: Limit | float) -> Limit:
    """A limit, of a plain number on the scale of the score."""
    return value if isinstance(value, Limit) else Limit(value)


def read_limit(value: Any) -> Limit:
    """The limit that a number or a text stands for.

    Raises:
        ValueError: neither a finite number from 0 on nor a text such as `2 points` or `2%`.

    >>> str(read_limit(0.02)), str(read_limit("1 point")), str(read_limit("2 %"))
    ('0.02', '1 points', '2%')
    """
    written = re.fullmatch(LIMIT_TEXT, value) if isinstance(value, str) else None
    if written is not None:
        return Limit(float(written[1]), SHARE if written[2] == SHARE else POINTS)
    number = finite_number(value)
    if number is None or number < 0:
        raise ValueError("not a finite number from 0 on")
    return Limit(number)
