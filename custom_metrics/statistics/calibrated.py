"""Verdicts of two runs whose scorer is not the same: calibrated on the rows with equal replies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from custom_metrics.statistics.normal import critical_value, two_sided_p
from custom_metrics.statistics.score import Interval, PairedVerdicts

_STEPS = 80
_LARGEST_Z = 38.0  # p is 0 in doubles beyond


@dataclass(frozen=True)
class CalibratedVerdicts:
    r"""Verdicts on n rows of which some have equal replies, where a model cannot have changed any.

    What flips among the E equal pairs is the scorer's doing: r = (g0 - l0) / E with Tango's limits
    [r_L, r_H]. The unequal pairs gain and lose m_u = (g1 - l1) / n with Tango's limits [L, H] of
    (n, g1, l1). With k = 1 - E / n

        value = m_u - k r,
        low = value - sqrt((m_u - L)^2 + k^2 (r_H - r)^2),
        high = value + sqrt((H - m_u)^2 + k^2 (r - r_L)^2).

    Without a flip among the equal pairs they are ties, and Tango's interval of all pairs holds.

    Args:
        n: Pairs.
        equal: E, pairs with equal replies.
        gained_equal, lost_equal: g0 and l0, flips among them.
        gained, lost: g1 and l1, flips among the others.

    Raises:
        ValueError: impossible counts.
    """

    n: int
    equal: int
    gained_equal: int
    lost_equal: int
    gained: int
    lost: int

    def __post_init__(self) -> None:
        if not 0 < self.equal <= self.n or self.gained + self.lost > self.n - self.equal:
            raise ValueError(f"{self.equal} of {self.n} pairs cannot be equal with these flips")

    @cached_property
    def _drift(self) -> PairedVerdicts:
        return PairedVerdicts(self.equal, self.gained_equal, self.lost_equal)

    @cached_property
    def _others(self) -> PairedVerdicts:
        return PairedVerdicts(self.n, self.gained, self.lost)

    @property
    def _share(self) -> float:
        """k, the share of pairs that the drift is carried over to."""
        return 1.0 - self.equal / self.n

    @property
    def value(self) -> float:
        """The difference that the model makes."""
        return self._others.value - self._share * self._drift.value

    @property
    def changed(self) -> float:
        """Rows with another reply and another verdict."""
        return float(self.gained + self.lost)

    def interval(self, confidence: float = 0.95) -> Interval:
        """Interval of the true difference, within [-1, 1].

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        return self._ends(critical_value(confidence))

    def _ends(self, z: float) -> Interval:
        drift, others, k = self._drift, self._others, self._share
        low_drift, high_drift = drift.ends(z)
        low, high = others.ends(z)
        down = math.hypot(others.value - low, k * (high_drift - drift.value))
        up = math.hypot(high - others.value, k * (drift.value - low_drift))
        return Interval(max(self.value - down, -1.0), min(self.value + up, 1.0))

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it."""
        if self.value == at:
            return 1.0
        low, high = 0.0, _LARGEST_Z
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            ends = self._ends(middle)
            if ends.low <= at if self.value > at else ends.high >= at:
                high = middle
            else:
                low = middle
            if high - low < 1e-9:
                break
        return two_sided_p(high)

    def turned(self) -> CalibratedVerdicts:
        """The same with gained and lost exchanged."""
        return CalibratedVerdicts(
            self.n, self.equal, self.lost_equal, self.gained_equal, self.lost, self.gained
        )

    def worst(self, confidence: float = 0.95) -> float:
        """Low end of the two-sided interval, which a gate reads."""
        return self.interval(confidence).low


class CalibratedInterval(NamedTuple):
    """A calibrated difference and its interval."""

    difference: float
    low: float
    high: float


def calibrated_difference(
    n: int,
    equal: int,
    gained_equal: int,
    lost_equal: int,
    gained: int,
    lost: int,
    confidence: float = 0.95,
) -> CalibratedInterval:
    """Difference of verdicts without what the scorer changed; see `CalibratedVerdicts`.

    Raises:
        ValueError: impossible counts or level.

    >>> [round(value, 4) for value in calibrated_difference(200, 100, 1, 4, 11, 18)]
    [-0.02, -0.0811, 0.0415]
    """
    verdicts = CalibratedVerdicts(n, equal, gained_equal, lost_equal, gained, lost)
    return CalibratedInterval(verdicts.value, *verdicts.interval(confidence))
