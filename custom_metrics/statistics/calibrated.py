"""Two runs whose scorer is not the same: calibrated on the rows with equal replies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from custom_metrics.statistics.roots import p_of_reaching
from custom_metrics.statistics.score import Interval, PairedVerdicts
from custom_metrics.statistics.units import PairedUnits


@dataclass(frozen=True)
class Calibrated:
    r"""A difference on n rows of which some have equal replies, where a model cannot change any.

    What changes among the E equal pairs is the scorer's doing: r, for verdicts (g0 - l0) / E, with
    the limits [r_L, r_H] of these pairs alone. The unequal pairs change the score by m_u, for
    verdicts (g1 - l1) / n, with the limits [L, H] of all n pairs in which the equal ones are ties.
    With k = 1 - E / n

        value = m_u - k r,
        low = value - sqrt((m_u - L)^2 + k^2 (r_H - r)^2),
        high = value + sqrt((H - m_u)^2 + k^2 (r - r_L)^2).

    Without a change among the equal pairs they are ties, and the interval of all pairs holds.

    Args:
        others: Of all pairs, the equal ones as ties.
        drift: Of the equal pairs alone.
        share: k.
        widest: The largest difference that two scores can have; None where that is not known.
    """

    others: PairedVerdicts | PairedUnits
    drift: PairedVerdicts | PairedUnits
    share: float
    widest: float | None = 1.0

    @property
    def value(self) -> float:
        """The difference that the model makes."""
        return self.others.value - self.share * self.drift.value

    @property
    def moved(self) -> int:
        """Rows or documents with another reply and another score."""
        if isinstance(self.others, PairedVerdicts):
            return round(self.others.changed)
        return self.others.moved

    def interval(self, confidence: float = 0.95, *, cautious: bool = False) -> Interval:
        """Interval of the true difference; `cautious` takes the wider limits of graded rows.

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        low_drift, high_drift = _ends(self.drift, confidence, cautious=cautious)
        low, high = _ends(self.others, confidence, cautious=cautious)
        down = math.hypot(self.others.value - low, self.share * (high_drift - self.drift.value))
        up = math.hypot(high - self.others.value, self.share * (self.drift.value - low_drift))
        ends = Interval(self.value - down, self.value + up)
        if self.widest is None:
            return ends
        return Interval(max(ends.low, -self.widest), min(ends.high, self.widest))

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it."""
        return p_of_reaching(self.interval, self.value, at)

    def turned(self) -> Calibrated:
        """The same with the sign of the difference turned."""
        return Calibrated(self.others.turned(), self.drift.turned(), self.share, self.widest)

    def worst(self, confidence: float = 0.95, *, cautious: bool = False) -> float:
        """Low end of the two-sided interval, which a gate reads."""
        return self.interval(confidence, cautious=cautious).low


def _ends(evidence: PairedVerdicts | PairedUnits, confidence: float, *, cautious: bool) -> Interval:
    if isinstance(evidence, PairedUnits):
        return evidence.interval(confidence, cautious=cautious)
    return evidence.interval(confidence)


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
    """Difference of verdicts without what the scorer changed; see `Calibrated`.

    Args:
        n: Pairs.
        equal: E, pairs with equal replies.
        gained_equal: g0, rows gained among them.
        lost_equal: l0, rows lost among them.
        gained: g1, rows gained among the others.
        lost: l1, rows lost among the others.
        confidence: Level.

    Raises:
        ValueError: impossible counts or level.

    >>> [round(value, 4) for value in calibrated_difference(200, 100, 1, 4, 11, 18)]
    [-0.02, -0.0811, 0.0415]
    """
    if not 0 < equal <= n or gained + lost > n - equal:
        raise ValueError(f"{equal} of {n} pairs cannot be equal with these flips")
    others = PairedVerdicts(n, gained, lost)
    drift = PairedVerdicts(equal, gained_equal, lost_equal)
    verdicts = Calibrated(others, drift, 1.0 - equal / n)
    return CalibratedInterval(verdicts.value, *verdicts.interval(confidence))
