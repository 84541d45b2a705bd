"""Two stored scores of which no rows are known: their difference, unpaired."""

from __future__ import annotations

import math
from dataclasses import dataclass

from custom_metrics.statistics.normal import (
    critical_value,
    normal_quantile,
    student_critical_value,
    student_p,
)
from custom_metrics.statistics.score import Interval

_STEPS = 100


@dataclass(frozen=True)
class StoredScore:
    """A mean over n rows with its standard error; None for a share of verdicts.

    Raises:
        ValueError: fewer than two rows, or without a standard error a value outside [0, 1].
    """

    value: float
    n: float
    stderr: float | None = None

    def __post_init__(self) -> None:
        is_share = 0.0 <= self.value <= 1.0
        if not self.n > 1 or (self.stderr is None and not is_share):
            raise ValueError(f"a stored score of {self.value} over {self.n} rows has no interval")

    @property
    def _row_variance(self) -> float:
        """N s^2, with s^2 = v (1 - v) / n of a share."""
        if self.stderr is None:
            return self.value * (1.0 - self.value)
        return self.n * self.stderr**2

    def moments(self, z: float) -> tuple[float, float]:
        """Centre and its variance with z^2 / 4 pseudo-rows at 0 and as many at 1; z 0 for none.

        With a = z^2 / 4, N = n + 2 a: c = (n v + a) / N,
        V = (n (n s^2 + v^2) + a) / N - c^2, and the variance of c is V / N.
        """
        added = z * z / 4.0
        total = self.n + 2.0 * added
        centre = (self.n * self.value + added) / total
        squares = self.n * (self._row_variance + self.value**2) + added
        return centre, max(squares / total - centre**2, 0.0) / total


@dataclass(frozen=True)
class StoredDifference:
    """The difference of two stored scores on a scale from 0 to `width`.

    c1 - c2 -+ t sqrt(V1 / N1 + V2 / N2), cut at -+1, with Welch's degrees of freedom from V_i / N_i
    and n_i - 1 (Agresti and Caffo 2000, with a standard error in place of counts).

    Args:
        now: The candidate's score, scaled to [0, 1] where it has a range.
        before: The baseline's.
        width: The range of the score; None where it has none. No pseudo-rows are added then.
    """

    now: StoredScore
    before: StoredScore
    width: float | None = 1.0

    @property
    def value(self) -> float:
        """The difference on the scale of the score."""
        return (self.now.value - self.before.value) * (self.width or 1.0)

    def interval(self, confidence: float = 0.95) -> Interval:
        """Interval of the true difference.

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        z = critical_value(confidence)
        centre, stderr, degrees = self._moments(z)
        return self._scaled(centre, student_critical_value(confidence, degrees) * stderr)

    def _moments(self, z: float) -> tuple[float, float, float]:
        """Centre, standard error and degrees of freedom."""
        level = z if self.width is not None else 0.0
        centre, variance = self.now.moments(level)
        other_centre, other_variance = self.before.moments(level)
        total = variance + other_variance
        if not total > 0.0:
            return centre - other_centre, 0.0, 1.0
        parts = variance**2 / (self.now.n - 1), other_variance**2 / (self.before.n - 1)
        return centre - other_centre, math.sqrt(total), total**2 / math.fsum(parts)

    def _scaled(self, centre: float, half: float) -> Interval:
        if self.width is None:
            return Interval(centre - half, centre + half)
        low, high = max(centre - half, -1.0), min(centre + half, 1.0)
        return Interval(low * self.width, high * self.width)

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it."""
        if self.value == at:
            return 1.0
        limit = at / (self.width or 1.0)
        exponent_low, exponent_high = -300.0, 0.0  # of 10: the level, halved in logarithms
        for _ in range(_STEPS):
            exponent = (exponent_low + exponent_high) / 2.0
            level = math.pow(10.0, exponent)
            centre, stderr, degrees = self._moments(-normal_quantile(level / 2.0))
            is_outside = (centre > limit) == (self.value > at)
            if is_outside and stderr > 0.0:
                is_outside = student_p(abs(centre - limit) / stderr, degrees) < level
            if is_outside:
                exponent_high = exponent
            else:
                exponent_low = exponent
            if exponent_high - exponent_low < 1e-12:
                break
        return math.pow(10.0, exponent_high)

    def turned(self) -> StoredDifference:
        """The same with the sides exchanged."""
        return StoredDifference(self.before, self.now, self.width)

    def worst(self, confidence: float = 0.95) -> float:
        """Low end of the two-sided interval, which a gate reads."""
        return self.interval(confidence).low


def stored_interval(
    value: float,
    n: float,
    stderr: float | None,
    other_value: float,
    other_n: float,
    other_stderr: float | None,
    confidence: float = 0.95,
) -> Interval:
    """Interval of the difference of two stored scores in [0, 1]; see `StoredDifference`.

    Args:
        value: Score of the candidate.
        n: Its rows.
        stderr: Its standard error; None for a share of right-or-wrong rows, whose standard error
            follows.
        other_value: Score of the baseline.
        other_n: Its rows.
        other_stderr: Its standard error, or None.
        confidence: Level.

    Raises:
        ValueError: fewer than two rows, a value outside [0, 1], or a level that is none.

    >>> [round(end, 4) for end in stored_interval(1.0, 4, None, 0.25, 4, None)]
    [-0.1029, 1.0]
    """
    scores = StoredScore(value, n, stderr), StoredScore(other_value, other_n, other_stderr)
    return StoredDifference(*scores).interval(confidence)
