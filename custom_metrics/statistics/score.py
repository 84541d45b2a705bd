"""Right-or-wrong scores of two runs on the same rows.

Tango's score interval and the tests that are read from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from custom_metrics.statistics.normal import critical_value, two_sided_p
from custom_metrics.statistics.roots import crossing


class Interval(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float


def tango_variance(gained: float, lost: float, difference: float) -> float:
    r"""Variance of one row's change if the true difference is d: 2 q + d (1 - d) (Tango 1998).

    q is the likeliest share of lost rows if d is true: the root of 2 q^2 + B q + C with
    B = -b - c + (2 - b + c) d, C = -c d (1 - d), for the shares b gained and c lost.
    """
    linear = -gained - lost + (2 - gained + lost) * difference
    constant = -lost * difference * (1 - difference)
    discriminant = max(linear * linear - 8 * constant, 0.0)
    q = (math.sqrt(discriminant) - linear) / 4
    return 2 * q + difference * (1 - difference)


@dataclass(frozen=True)
class PairedVerdicts:
    r"""Verdicts of two runs on n independent rows.

    `gained` of the rows turned right and `lost` turned wrong.

    Everything is read from one statistic, Tango 1998 (Statistics in Medicine 17:891-908): for a
    true difference d,

        Z(d) = (b - c - n d) / sqrt(n (2 q + d (1 - d))),   q = (sqrt(B^2 - 4 A C) - B) / (2 A),
        A = 2 n,   B = -b - c + (2 n - b + c) d,   C = -c d (1 - d),

    with b gained and c lost; q is the likeliest share of lost rows if d is true. The interval of d
    has a width also where no verdict changed: -+ z^2 / (n + z^2).

    Args:
        n: Pairs.
        gained: Pairs wrong in the baseline and right in the candidate.
        lost: Pairs right in the baseline and wrong in the candidate.

    Raises:
        ValueError: counts that are negative, or together more than n, or n below 1.
    """

    n: int
    gained: int
    lost: int

    def __post_init__(self) -> None:
        if self.n < 1 or self.gained < 0 or self.lost < 0 or self.gained + self.lost > self.n:
            raise ValueError(
                f"need n > 0 and 0 <= gained + lost <= n, not n = {self.n}, "
                f"{self.gained} gained, {self.lost} lost"
            )

    @property
    def value(self) -> float:
        """Share gained less share lost."""
        return (self.gained - self.lost) / self.n

    @property
    def changed(self) -> float:
        """Rows with another verdict."""
        return float(self.gained + self.lost)

    def z(self, difference: float) -> float:
        """Z(d): how many standard errors the data lie above a true difference, in [-1, 1].

        0 where both agree.
        """
        n = self.n
        variance = n * tango_variance(self.gained / n, self.lost / n, difference)
        distance = self.gained - self.lost - n * difference
        if variance > 1e-12 * n:
            return distance / math.sqrt(variance)
        # The difference is at the edge of what is possible.
        if abs(distance) <= 1e-9 * n:
            return 0.0
        return math.copysign(math.inf, distance)

    def interval(self, confidence: float = 0.95) -> Interval:
        """All differences with |Z| at most the two-sided normal quantile.

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        return self.ends(critical_value(confidence))

    def ends(self, z: float) -> Interval:
        """The interval of a two-sided normal quantile z above 0."""
        # The high end is the low one of the exchanged sides, to the last digit.
        return Interval(self.low_end(z), -self.turned().low_end(z))

    def low_end(self, z: float) -> float:
        """Returns where Z, which falls with d, passes z between -1 and the estimate."""
        if abs(self.z(-1.0)) <= z:
            return -1.0
        at_level = math.atan(z)

        def beyond(difference: float) -> float:
            return math.atan(self.z(difference)) - at_level  # finite where Z is not

        return crossing(beyond, self.value, -1.0)

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it.

        1 without a change.
        """
        if at == 0.0 and self.gained == self.lost:
            return 1.0
        return two_sided_p(self.z(at))

    def drop_p(self, margin: float) -> float:
        """One-sided p that the drop is `margin` or more: 1 - Phi(Z(-margin)).

        Raises:
            ValueError: `margin` is not a number from 0 up to 1.
        """
        if not 0.0 <= margin < 1.0:
            raise ValueError(f"a margin of a share lies from 0 up to 1, not at {margin}")
        return 0.5 * math.erfc(self.z(-margin) / math.sqrt(2.0))

    def turned(self) -> PairedVerdicts:
        """The same with gained and lost exchanged."""
        return PairedVerdicts(self.n, self.lost, self.gained)

    def worst(self, confidence: float = 0.95) -> float:
        """Lower end of the one-sided interval.

        With that confidence the true difference is not below it.
        """
        return self.interval(2.0 * confidence - 1.0).low


def paired_score_interval(n: int, gained: int, lost: int, *, confidence: float = 0.95) -> Interval:
    """Interval of the difference of two paired proportions (Tango 1998).

    Range [-1, 1]; see `PairedVerdicts` for the formula.

    Args:
        n: Pairs, at least 1.
        gained: Pairs wrong before and right now.
        lost: Pairs right before and wrong now.
        confidence: Level.

    Raises:
        ValueError: impossible counts or level.

    >>> [round(end, 4) for end in paired_score_interval(100, 0, 0)]
    [-0.037, 0.037]
    """
    return PairedVerdicts(n, gained, lost).interval(confidence)


def paired_score_p(gained: int, lost: int) -> float:
    r"""Two-sided p of no difference between paired verdicts: 2 (1 - Phi(|b - c| / sqrt(b + c))).

    1 without a change.

    The test that belongs to Tango's interval, which is McNemar's without a correction. Exact
    McNemar (`mcnemar_p`) is more conservative and at times contradicts the interval.

    Raises:
        ValueError: a negative count.

    >>> round(paired_score_p(5, 15), 4)
    0.0253
    """
    return PairedVerdicts(max(gained + lost, 1), gained, lost).p()


def noninferiority_p(n: int, gained: int, lost: int, margin: float) -> float:
    """One-sided p of "the candidate is worse by `margin` or more", 1 - Phi(Z(-margin)).

    Tango 1998.

    Small values rule such a drop out. Equal verdicts everywhere are no proof: 100 rows without a
    change leave p = 0.16 for a margin of one point.

    Args:
        n: Pairs.
        gained: Pairs wrong before and right now.
        lost: Pairs right before and wrong now.
        margin: Tolerated drop as a share, from 0 up to 1.

    Raises:
        ValueError: impossible counts or margin.

    >>> round(noninferiority_p(100, 0, 0, 0.01), 3)
    0.157
    """
    return PairedVerdicts(n, gained, lost).drop_p(margin)
