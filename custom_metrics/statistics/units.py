"""One rule for the difference of two runs on the same rows or documents.

The rule holds whatever the score is made of.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from custom_metrics.statistics.mean import Floats, cluster_codes, exact_sum, flat_floats
from custom_metrics.statistics.normal import (
    critical_value,
    student_critical_value,
    student_p,
    two_sided_p,
)
from custom_metrics.statistics.score import Interval

ENOUGH_CHANGED = 30.0  # effectively changed units from which Student's t holds its level
_STEPS = 200


@dataclass(frozen=True)
class PairedUnits:
    r"""A difference of two runs, its standard error, and how many units it rests on.

    A unit is a row, or a document where rows share one. With at least 30 effectively changed units
    the interval is Student's, value -+ t_df stderr. With fewer, z^2 / 2 pseudo-units at +R and as
    many at -R join the real ones (as Agresti and Min 2005 add pseudo-counts to paired proportions):

        N = K_e + z^2,   c = value K_e / N,   V = (K_e (K_e stderr^2 + value^2) + z^2 R^2) / N -
        c^2, c -+ z sqrt(V / N), cut at -+R.

    Without any change that is -+ R z^2 / (K_e + z^2), Tango's interval without a flip. Calibrated
    by `benchmarks/conclusions.py`.

    Args:
        value: Difference, candidate less baseline.
        stderr: Its standard error.
        degrees: Degrees of freedom of the standard error.
        units: K_e, the effective number of units: 1 / sum of squared shares of rows.
        changed: k_eff, effectively changed units: (sum |T|)^2 / sum T^2 over what each adds to the
            difference.
        range: R, the largest difference that one row can make; None where the score has no bounds.
        widest: The largest difference that two scores can have, beyond which no interval reaches;
            None where that is R or not known.
    """

    value: float
    stderr: float
    degrees: float
    units: float
    changed: float
    range: float | None
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
        # Sums then have the same last bit in every order of rows.
        order = np.lexsort((errors, weights))
        e = errors[order]
        w = weights[order]
        return cls(
            value=value,
            stderr=cr2(e, w),
            degrees=satterthwaite(w) if degrees is None else degrees,
            units=1.0 / float(np.sum(w * w)) if w.size else 0.0,
            changed=effective(np.sort(contributions)),
            range=range,
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
        return replace(self, value=-self.value)

    @property
    def constant(self) -> bool:
        """True where every unit changed by the same amount, so that the rows show no spread."""
        return self.value != 0.0 and self.stderr <= 1e-12 * abs(self.value)

    @property
    def pseudo(self) -> bool:
        """True where too few units changed for a t interval, or all changed by the same amount."""
        few = self.changed < ENOUGH_CHANGED
        return self.range is not None and (few or self.constant)

    def interval(self, confidence: float = 0.95, *, cautious: bool = False) -> Interval:
        """Interval of the true difference; `cautious` takes the pseudo-units in any case.

        Without a range, and with fewer than two units or the same change in every unit, it is the
        whole line.

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        interval = self._unbounded_interval(confidence, cautious=cautious)
        if self.widest is None:
            return interval
        return Interval(max(interval.low, -self.widest), min(interval.high, self.widest))

    def _unbounded_interval(self, confidence: float, *, cautious: bool) -> Interval:
        """The interval as the rows give it, which may reach beyond what two scores can differ."""
        if self.range is not None and (self.pseudo or cautious):
            return self._with_pseudo_units(critical_value(confidence), self.range)
        if not self.degrees > 0 or self.constant:
            return Interval(-math.inf, math.inf)
        half = student_critical_value(confidence, self.degrees) * self.stderr
        return Interval(self.value - half, self.value + half)

    def _with_pseudo_units(self, z: float, bound: float) -> Interval:
        total = self.units + z * z
        centre = self.value * self.units / total
        real_squares = self.units * (self.units * self.stderr**2 + self.value**2)
        pseudo_squares = (z * bound) ** 2
        variance = (real_squares + pseudo_squares) / total - centre**2
        half = z * math.sqrt(max(variance, 0.0) / total)
        low = max(centre - half, -bound)
        high = min(centre + half, bound)
        return Interval(low, high)

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it."""
        if self.value == at:
            return 1.0
        if not self.pseudo or self.range is None:
            if not self.degrees > 0 or self.constant:
                return 1.0
            return student_p((self.value - at) / self.stderr, self.degrees)
        low, high = 0.0, 40.0
        for _ in range(_STEPS):
            z = (low + high) / 2.0
            if z in {low, high}:
                break
            ends = self._with_pseudo_units(z, self.range)
            if (ends.low <= at) if self.value > at else (ends.high >= at):
                high = z
            else:
                low = z
        return two_sided_p(high)

    def worst(self, confidence: float = 0.95, *, cautious: bool = False) -> float:
        """Low end of the two-sided interval, which a gate reads."""
        return self.interval(confidence, cautious=cautious).low


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
    return PairedUnits.of(mean, errors, weights, contributions, range)


def paired_interval(
    differences: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
    range: float | None = 1.0,  # noqa: A002
    confidence: float = 0.95,
) -> Interval:
    """Interval of a mean paired difference; see `paired_mean` and `PairedUnits`.

    >>> [round(end, 6) for end in paired_interval([0.0] * 100)]
    [-0.036993, 0.036993]
    """
    difference = paired_mean(differences, units, range=range)
    return difference.interval(confidence)
