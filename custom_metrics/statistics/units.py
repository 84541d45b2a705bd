"""One rule for the difference of two runs on the same rows or documents.

The rule holds whatever the score is made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from custom_metrics.statistics.mean import Floats, cluster_codes, exact_sum, flat_floats
from custom_metrics.statistics.normal import (
    critical_value,
    normal_quantile,
    student_critical_value,
    student_p,
    two_sided_p,
)
from custom_metrics.statistics.score import Interval

UNSEEN = 0.8  # share of the range that unseen units may reach, to the power of the changed ones
_STEPS, _SECANTS = 200, 12
_NEAR, _CLOSE = 1e-12, 1e-15  # parts of a quantile by which two places differ
_LARGEST = 1e6  # quantile of Student's t beyond which p is taken for that of it


@dataclass(frozen=True)
class PairedUnits:
    r"""A difference of two runs, its standard error, and how many units it rests on.

    A unit is a row, or a document where rows share one. The interval holds z^2 units that were not
    seen, as far out as the farthest one that was seen on that side; while few units have changed,
    out to R:

        u = max(farthest, 0.8^k_eff R / (K_e + z^2)),
        low = value - sqrt(t_df^2 stderr^2 + z^4 u_below^2),
        high = value + sqrt(t_df^2 stderr^2 + z^4 u_above^2), cut at -+widest.

    Without any change that is -+R z^2 / (K_e + z^2), Tango's interval without a flip. Calibrated
    by `benchmarks/conclusions.py`.

    Args:
        value: Difference, candidate less baseline.
        stderr: Its standard error.
        degrees: Degrees of freedom of the standard error.
        units: K_e, the effective number of units: 1 / sum of squared shares of rows.
        changed: k_eff, effectively changed units: (sum |T|)^2 / sum T^2 over what each adds to the
            difference.
        range: R, the largest difference that one row can make; None where the score has no bounds.
        below, above: How far the farthest unit pulls the difference down and up: the largest of
            -e_g and of e_g, not below 0.
        moved: Units that changed.
        widest: The largest difference that two scores can have, beyond which no interval reaches;
            None where that is not known.
    """

    value: float
    stderr: float
    degrees: float
    units: float
    changed: float
    range: float | None
    below: float = 0.0
    above: float = 0.0
    moved: int = 0
    widest: float | None = None

    @classmethod
    def of(
        cls,
        value: float,
        errors: Floats,
        weights: Floats,
        contributions: Floats,
        range: float | None,  # noqa: A002 - as the field
        degrees: float | None = None,
    ) -> PairedUnits:
        """Reads everything from what each unit adds.

        Args:
            value: The difference.
            errors: e_g, one per unit.
            weights: w_g, share of the rows in each unit.
            contributions: T_g of the changed units; zeros do not count.
            range: R.
            degrees: Of freedom, where not `satterthwaite(weights)`.
        """
        # Sums then have the same last bit in every order of rows, and of the two runs.
        order = np.lexsort((np.abs(errors), weights))
        e = errors[order]
        w = weights[order]
        return cls(
            value=value,
            stderr=cr2(e, w),
            degrees=satterthwaite(w) if degrees is None else degrees,
            units=1.0 / float(np.sum(w * w)) if w.size else 0.0,
            changed=effective(np.sort(np.abs(contributions))),
            range=range,
            below=_farthest(-e),
            above=_farthest(e),
            moved=int(np.count_nonzero(contributions)),
        )

    @classmethod
    def without_units(
        cls,
        value: float = 0.0,
        range: float | None = None,  # noqa: A002 - as the field
    ) -> PairedUnits:
        """A difference that rests on no unit."""
        return cls(value, 0.0, 0.0, 0.0, 0.0, range)

    def turned(self) -> PairedUnits:
        """The same with the sign of the difference turned."""
        return replace(self, value=-self.value, below=self.above, above=self.below)

    @property
    def constant(self) -> bool:
        """True where every unit changed by the same amount, so that the rows show no spread."""
        return self.value != 0.0 and self.stderr <= 1e-12 * abs(self.value)

    def interval(self, confidence: float = 0.95, *, cautious: bool = False) -> Interval:
        """Interval of the true difference.

        Without a range, and with fewer than two units or the same change in every unit, it is the
        whole line.

        Args:
            confidence: Level.
            cautious: Let unseen units reach R on both sides however many units have changed, as a
                gate's pass does.

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        z = critical_value(confidence)
        t = student_critical_value(confidence, self.degrees) if self.degrees > 0 else z
        low, high = self._ends(z, t, cautious=cautious)
        if self.widest is None:
            return Interval(low, high)
        return Interval(max(low, -self.widest), min(high, self.widest))

    def _ends(self, z: float, t: float, *, cautious: bool = False) -> Interval:
        """The ends at a normal and a Student quantile, which may leave what scores can differ."""
        if self.range is None and (not self.degrees > 0 or self.constant):
            return Interval(-math.inf, math.inf)
        # Rounding makes no spread of rows that all changed alike.
        seen = 0.0 if self.constant else t * self.stderr
        down, up = (
            math.hypot(seen, z * z * self._unseen(farthest, z, cautious=cautious))
            for farthest in (self.below, self.above)
        )
        return Interval(self.value - down, self.value + up)

    def _unseen(self, farthest: float, z: float, *, cautious: bool) -> float:
        """By how much one unit that was not seen may pull the difference to one side."""
        if self.range is None:
            return 0.0
        share = 1.0 if cautious or self.constant else UNSEEN**self.changed
        return max(farthest, share * self.range / (self.units + z * z))

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it."""
        if self.value == at or not self.units > 0:
            return 1.0
        if self.range is None:
            if not self.degrees > 0 or self.constant:
                return 1.0
            return student_p((self.value - at) / self.stderr, self.degrees)
        # A level has one z and one t: halve t, and z where t says nothing.
        by_student = self.degrees > 0 and self.stderr > 0

        def distance(t: float) -> float:
            """By how much the interval stays away from `at`."""
            p = student_p(t, self.degrees) if by_student else two_sided_p(t)
            tail = p / 2.0  # 0 of the smallest positive number
            z = -normal_quantile(tail) if tail > 0.0 else _LARGEST
            ends = self._ends(z, t)
            return ends.low - at if self.value > at else at - ends.high

        reaching = _first_reaching(distance, abs(self.value - at) / (self.stderr or 1.0))
        return student_p(reaching, self.degrees) if by_student else two_sided_p(reaching)

    def worst(self, confidence: float = 0.95, *, cautious: bool = False) -> float:
        """Low end of the two-sided interval, which a gate reads."""
        return self.interval(confidence, cautious=cautious).low


def _first_reaching(distance: Callable[[float], float], guess: float) -> float:
    """Where a falling function is 0, up to `_LARGEST`: doubled, by secants, then halved.

    Halving alone needs several times as many calls.
    """
    high = min(max(guess, 0.01), _LARGEST)
    at_high = distance(high)
    low, at_low = high, at_high
    while at_high > 0.0 and high < _LARGEST:
        low, at_low = high, at_high
        high = min(2.0 * high, _LARGEST)
        at_high = distance(high)
    while at_low <= 0.0 and low > 1e-9:
        high, at_high = low, at_low
        low /= 2.0
        at_low = distance(low)
    place, stayed = low, 0.0
    for _ in range(_SECANTS):
        before = place
        place = low + (high - low) * at_low / (at_low - at_high) if at_low > at_high else low
        if not low < place < high or abs(place - before) <= _NEAR * high:
            break
        value = distance(place)
        # The Illinois rule: an end that stays twice counts half, so that it moves the next time.
        if value > 0.0:
            at_high /= 2.0 if stayed == high else 1.0
            low, at_low, stayed = place, value, high
        else:
            at_low /= 2.0 if stayed == low else 1.0
            high, at_high, stayed = place, value, low
    for end in (place - _NEAR * high, place + _NEAR * high):
        if low < end < high:
            low, high = (end, high) if distance(end) > 0.0 else (low, end)
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if middle in {low, high} or high - low <= _CLOSE * high:
            break
        low, high = (middle, high) if distance(middle) > 0.0 else (low, middle)
    return high


def _farthest(errors: Floats) -> float:
    """The largest of some errors, not below 0."""
    return max(float(np.max(errors, initial=0.0)), 0.0)


def satterthwaite(weights: Floats) -> float:
    r"""Degrees of freedom of the CR2 variance of a mean whose units hold these shares of the rows.

    df = (sum_g G_gg)^2 / sum_gh G_gh^2 with G_gh = a_g a_h ([g = h] w_g^2 - w_g^2 w_h - w_g w_h^2 +
    q w_g w_h), a_g = (1 - w_g)^(-1/2), q = sum w_g^2 (Bell and McCaffrey 2002, working correlation
    1). K - 1 for K equal units. Linear in the number of units: the double sum is expanded in powers
    of w.

    >>> round(satterthwaite(np.array([5, 9, 40, 3, 120]) / 177), 6)
    1.069006
    """
    w = np.asarray(weights, dtype=np.float64)
    if w.size < 2 or float(np.max(w)) >= 1.0:
        return 0.0
    q = float(np.sum(w * w))
    u = w * w / (1.0 - w)
    diagonal = u * (1.0 - 2.0 * w + q)  # G_gg
    # sum_gh G_gh^2 as if no pair were equal, from the sums of u, u w and u w^2
    s0 = float(np.sum(u))
    s1 = float(np.sum(u * w))
    s2 = float(np.sum(u * w * w))
    crossed = q * q * s0 * s0
    crossed += 2.0 * s0 * s2
    crossed -= 4.0 * q * s0 * s1
    crossed += 2.0 * s1 * s1
    # The pairs g = h, counted there without their first term, are put right.
    as_counted = u * (q - 2.0 * w)
    squares = crossed + float(np.sum(diagonal**2 - as_counted**2))
    return float(np.sum(diagonal)) ** 2 / squares


def unit_sums(values: Floats, codes: NDArray[np.int64] | None) -> tuple[Floats, Floats]:
    """Sum and number of the values of each unit; every value is one where there are no codes."""
    if codes is None:
        return values, np.ones_like(values)
    codes = cluster_codes(codes)
    order = np.lexsort((values, codes))
    sums = np.bincount(codes[order], weights=values[order])
    sizes = np.bincount(codes)
    return sums.astype(np.float64), sizes.astype(np.float64)


def effective(contributions: Floats) -> float:
    """(sum |T|)^2 / sum T^2: how many equally large contributions would be worth these.

    0 without any.
    """
    size = np.abs(contributions)
    largest = float(np.max(size, initial=0.0))
    if largest == 0.0:
        return 0.0
    size = size / largest  # squares of tiny numbers would vanish
    squares = float(np.sum(size * size))
    return float(np.sum(size)) ** 2 / squares


def cr2(errors: Floats, weights: Floats) -> float:
    """Standard error sqrt(sum e^2 / (1 - w)) of Bell and McCaffrey 2002.

    A unit that is everything adds nothing.

    Infinite where the squares of immense scores leave the range of numbers; whoever shows it asks
    whether it is finite.
    """
    rest = 1.0 - weights
    inside = rest > 0.0
    with np.errstate(over="ignore"):
        return math.sqrt(float(np.sum(errors[inside] ** 2 / rest[inside])))


def paired_mean(
    differences: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
    *,
    range: float | None = 1.0,  # noqa: A002 - the word of the specification and of every score
) -> PairedUnits:
    r"""Mean of paired differences over rows, which may share documents.

    m = sum d / n; T_g = (sum of d in unit g) / n, w_g = share of rows in g, e_g = T_g - w_g m,
    stderr^2 = sum e_g^2 / (1 - w_g), K_e = 1 / sum w_g^2. For independent rows stderr = s /
    sqrt(n).

    Args:
        differences: Candidate less baseline, one per row; rows with NaN are left out.
        units: Document of each row (None in the list: a document of its own); None for independent
            rows.
        range: Largest possible difference of one row, 1 for shares; None for a score without
            bounds.

    Raises:
        ValueError: lengths differ, an infinite difference, or a range that is not above 0.
    """
    gap = flat_floats(differences)
    codes = None if units is None else cluster_codes(units)
    if codes is not None and codes.size != gap.size:
        raise ValueError(f"{gap.size} differences, {codes.size} units")
    if range is not None and not 0.0 < range < math.inf:
        raise ValueError(f"the range of a score is above 0 and finite, not {range}")
    missing = np.isnan(gap)
    if missing.any():
        gap = gap[~missing]
        codes = None if codes is None else codes[~missing]
    if not np.all(np.isfinite(gap)):
        raise ValueError("a difference is infinite")
    if gap.size == 0:
        return PairedUnits.without_units(range=range)
    sums, sizes = unit_sums(gap, codes)
    mean = exact_sum(gap) / gap.size
    weights = sizes / gap.size
    contributions = sums / gap.size
    errors = contributions - weights * mean
    return replace(PairedUnits.of(mean, errors, weights, contributions, range), widest=range)


def graded_interval(
    differences: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
    range: float | None = 1.0,  # noqa: A002
    confidence: float = 0.95,
) -> Interval:
    """Interval of a mean paired difference; see `paired_mean` and `PairedUnits`.

    >>> [round(end, 6) for end in graded_interval([0.0] * 100)]
    [-0.036993, 0.036993]
    """
    return paired_mean(differences, units, range=range).interval(confidence)


#: The former name.
paired_interval = graded_interval


def pass_interval(
    differences: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
    range: float | None = 1.0,  # noqa: A002
    confidence: float = 0.95,
) -> Interval:
    """The wider interval whose low end a gate's pass reads.

    Unseen units reach R on both sides however many units have changed (`cautious` of
    `PairedUnits.interval`).

    >>> [round(end, 4) for end in pass_interval([0.01, -0.01] * 25)]
    [-0.0714, 0.0714]
    """
    return paired_mean(differences, units, range=range).interval(confidence, cautious=True)
