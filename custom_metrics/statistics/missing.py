"""Rows that are missing on a side: what the difference may be whatever they would have been."""

from __future__ import annotations

from dataclasses import dataclass, replace

from custom_metrics.statistics.calibrated import Calibrated
from custom_metrics.statistics.score import Interval, PairedVerdicts
from custom_metrics.statistics.units import PairedUnits

Paired = PairedVerdicts | PairedUnits | Calibrated


@dataclass(frozen=True)
class Missing:
    """The weight of missing rows in a quantity, on the scale of the quantity.

    Args:
        share: mu, their weight as a share of all rows.
        lost_at_most: mu_L, what the candidate loses if it is at its worst on all of them.
        gained_at_most: mu_U, what it gains if it is at its best.
    """

    share: float = 0.0
    lost_at_most: float = 0.0
    gained_at_most: float = 0.0

    def turned(self) -> Missing:
        """The same with the sides exchanged."""
        return Missing(self.share, self.gained_at_most, self.lost_at_most)

    def bounds(self, interval: Interval) -> Interval:
        """[(1 - mu) low - mu_L, (1 - mu) high + mu_U]."""
        low, high = interval
        kept = 1.0 - self.share
        return Interval(kept * low - self.lost_at_most, kept * high + self.gained_at_most)


@dataclass(frozen=True)
class Incomplete:
    """What paired rows say of a quantity of which rows are missing.

    Args:
        evidence: Of the paired rows.
        missing: The weight of the missing ones.
    """

    evidence: Paired
    missing: Missing

    @property
    def value(self) -> float:
        """The difference over the paired rows."""
        return self.evidence.value

    def interval(self, confidence: float = 0.95, *, cautious: bool = False) -> Interval:
        """The interval over the paired rows, widened for the missing ones."""
        return self.missing.bounds(paired_ends(self.evidence, confidence, cautious=cautious))

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it.

        1 where the bounds hold it whatever the paired rows say.
        """
        kept = 1.0 - self.missing.share
        if not kept > 0.0:
            return 1.0
        from_below = (at + self.missing.lost_at_most) / kept
        from_above = (at - self.missing.gained_at_most) / kept
        if self.value > from_below:
            return self.evidence.p(from_below)
        return self.evidence.p(from_above) if self.value < from_above else 1.0

    def worst(self, confidence: float = 0.95, *, cautious: bool = False) -> float:
        """The end that a gate's pass is read from, with the missing rows at their worst."""
        if isinstance(self.evidence, PairedVerdicts):
            low = self.evidence.worst(confidence)
        else:
            low = self.evidence.worst(confidence, cautious=cautious)
        return self.missing.bounds(Interval(low, low)).low

    def turned(self) -> Incomplete:
        """The same with the sign of the difference turned."""
        return replace(self, evidence=self.evidence.turned(), missing=self.missing.turned())


def paired_ends(evidence: Paired, confidence: float, *, cautious: bool) -> Interval:
    """The interval of paired rows; `cautious` takes the wider one of graded rows."""
    if isinstance(evidence, PairedVerdicts):
        return evidence.interval(confidence)
    return evidence.interval(confidence, cautious=cautious)


def with_missing(
    low: float, high: float, missing: float, lost_at_most: float, gained_at_most: float
) -> Interval:
    """The interval of a difference over the paired rows, widened for the missing ones.

    Args:
        low: Low end of the interval over the paired rows.
        high: Its high end.
        missing: Weight of the missing rows.
        lost_at_most: Weight of those of them that the baseline has right.
        gained_at_most: Weight of the others.

    >>> [round(end, 5) for end in with_missing(-0.01, 0.02, 0.01, 0.008, 0.002)]
    [-0.0179, 0.0218]
    """
    return Missing(missing, lost_at_most, gained_at_most).bounds(Interval(low, high))
