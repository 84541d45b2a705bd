"""Rows that are missing on a side: what the difference may be whatever they would have been."""

from __future__ import annotations

from dataclasses import dataclass

from custom_metrics.statistics.score import Interval


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
