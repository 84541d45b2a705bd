"""Scores and differences as people read them: one rule for compare, gate, leaderboard and report.

Shares are percent with one decimal and their differences points; perplexities differ by a ratio;
everything else stays in its own unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from evalprep.compare.difference import BITS, POINTS, RATIO
from evalprep.numbers import number

_LARGEST_LOG = 700.0  # e to this power is about the largest number


class Unit(NamedTuple):
    """The form in which the numbers of a quantity are written.

    Attributes:
        name: `points`, `ratio`, `bits`, or empty.
        binary: Whether every score is 0 or 1.
        digits: Decimals of points and percent.
    """

    name: str
    binary: bool = False
    digits: int = 1

    @property
    def in_points(self) -> bool:
        """True where scores are shown in percent."""
        return self.binary or self.name == POINTS

    @property
    def suffix(self) -> str:
        """The unit behind a difference."""
        if self.in_points:
            return " points"
        return " bits" if self.name == BITS else ""

    def _points(self, value: float | None, sign: str = "") -> str:
        return "-" if value is None else f"{100 * value:{sign}.{self.digits}f}"

    def score(self, value: float | None) -> str:
        """A score of one run.

        >>> Unit("points").score(0.4333), Unit("").score(3.25)
        ('43.3', '3.25')
        """
        return self._points(value) if self.in_points else number(value)

    def change(self, value: float | None) -> str:
        """A difference, or an end of its interval; of perplexities the ratio.

        >>> Unit("points").change(-0.133), Unit("").change(-7.0), Unit("ratio").change(0.196)
        ('-13.3', '-7', '1.217')
        """
        if value is None:
            return "-"
        if self.in_points:
            return self._points(value, sign="+")
        if self.name == RATIO:
            return f"{math.exp(min(value, _LARGEST_LOG)):.4g}"
        return f"{value:+.4g}"

    def detectable(self, value: float | None) -> str:
        """A difference that would be found: of perplexities in percent of the baseline."""
        if value is None or self.in_points:
            return self._points(value)
        if self.name == RATIO:
            return f"{100 * math.expm1(min(value, _LARGEST_LOG)):.3g} %"
        return f"{value:.4g}"
