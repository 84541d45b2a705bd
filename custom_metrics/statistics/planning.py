"""The rows that a gate would need: the chance that a repeat of a comparison passes or fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from custom_metrics.statistics.normal import critical_value, normal_quantile
from custom_metrics.statistics.score import PairedVerdicts, tango_variance
from custom_metrics.statistics.units import UNSEEN, PairedUnits

MOST_ROWS = 100_000  # above, no number of rows is practical
DECIDED = 0.8  # share of the repeats that shall end with pass or fail
ONE_SIDED = normal_quantile(0.95)
TWO_SIDED = normal_quantile(0.975)
ENOUGH_POWER = normal_quantile(DECIDED)
ROUGH_BELOW = 5  # changed rows; with fewer, the rates say little about a repeat


@dataclass(frozen=True)
class RowsNeeded:
    """A number of rows at which a gate decides in `DECIDED` of all repeats.

    Args:
        rows: The number; None where it is above `MOST_ROWS`.
        passes: Chance of a pass at that number, if the rates stay as they are.
        fails: Chance of a fail.
        changed: Rows that changed in the comparison at hand; without any, `rows` pass if again
            none changes.
    """

    rows: int | None
    passes: float = 0.0
    fails: float = 0.0
    changed: float = 0.0

    @property
    def rough(self) -> bool:
        """True where so few rows changed that the number is rough."""
        return 0 < self.changed < ROUGH_BELOW


class Detectable(NamedTuple):
    """The smallest difference that a comparison would find; None where there is none."""

    difference: float | None


def detectable_difference(n: int, changed: float, level: float = 0.05) -> Detectable:
    """Smallest true difference that n right-or-wrong rows would show with 80 % probability.

    The smallest D with sqrt(n) D = z sqrt(psi + D) + z_80 sqrt(psi + D - D^2), psi = changed / n:
    losses on top of the churn that was seen. Not below (z + z_80)^2 / n; none above 1.

    Args:
        n: Pairs.
        changed: Pairs with another verdict.
        level: Two-sided level of the test.

    Raises:
        ValueError: no pair, or a level that is none.

    >>> round(detectable_difference(200, 0).difference, 4)
    0.0392
    """
    if n < 1:
        raise ValueError(f"{n} pairs")
    z = critical_value(1.0 - level)
    churn = changed / n
    least = (z + ENOUGH_POWER) ** 2 / n
    low, high = least, 1.0

    def is_found(size: float) -> bool:
        spread = churn + size
        power = ENOUGH_POWER * math.sqrt(max(spread - size * size, 0.0))
        return math.sqrt(n) * size >= z * math.sqrt(spread) + power

    if least > 1.0 or not is_found(1.0):
        return Detectable(None)
    if is_found(least):
        return Detectable(least)
    while high - low > 1e-13:
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return Detectable(high)


_Chances = Callable[[float], tuple[float, float]]


def unchanged_rows(open_drop: float) -> int:
    """Rows without a changed verdict that rule a drop out: the first above 2.71 (1 - M) / M.

    Raises:
        ValueError: `open_drop` is not above 0 and below 1.

    >>> unchanged_rows(0.05), unchanged_rows(0.02)
    (52, 133)
    """
    if not 0.0 < open_drop < 1.0:
        raise ValueError(f"a drop lies between 0 and 1, not at {open_drop}")
    return math.floor(ONE_SIDED**2 * (1.0 - open_drop) / open_drop) + 1


def rows_needed(
    n: int, gained: int, lost: int, max_drop: float, slack: float, *, fail_z: float = TWO_SIDED
) -> RowsNeeded:
    r"""Rows at which a gate on right-or-wrong rows decides four times out of five.

    With d the drop seen, s^2 = (b + c) / n - d^2, D = max_drop, M = D + slack and s_L^2 Tango's
    variance of a row if the true drop is L, a repeat of N rows passes with probability Phi(A) and
    fails with Phi(B):

        A = ((M - d) sqrt N - 1.645 s_M) / s,   B = ((d - D) sqrt N - z s_D) / s.

    N is the smallest number with Phi(A) + Phi(B) >= 0.8. It holds for repeats at the observed
    rates; the true rates are not known.

    Args:
        n: Pairs at hand.
        gained: Pairs wrong before and right now.
        lost: Pairs right before and wrong now.
        max_drop: D, the tolerated drop as a share.
        slack: What may stay open beyond it.
        fail_z: z, the normal quantile at which the check fails: 1.96, or that of Holm's level.

    Raises:
        ValueError: impossible counts, or a drop that is not between 0 and 1.

    >>> rows_needed(500, 6, 19, 0.01, 0.02).rows, rows_needed(100, 0, 0, 0, 0.05).rows
    (1044, 52)
    """
    verdicts = PairedVerdicts(n, gained, lost)
    open_drop = max_drop + slack
    if verdicts.changed == 0:
        rows = unchanged_rows(open_drop)
        return RowsNeeded(rows if rows <= MOST_ROWS else None, passes=1.0)
    drop = -verdicts.value
    variance = verdicts.changed / n - drop * drop
    pass_error = _row_error(verdicts, open_drop)
    fail_error = _row_error(verdicts, max_drop)

    def chances(rows: float) -> tuple[float, float]:
        root = math.sqrt(rows)
        to_pass = (open_drop - drop) * root - ONE_SIDED * pass_error
        to_fail = (drop - max_drop) * root - fail_z * fail_error
        return _share_below(to_pass, variance), _share_below(to_fail, variance)

    return _smallest(chances, verdicts.changed)


def units_needed(
    evidence: PairedUnits,
    max_drop: float,
    slack: float,
    *,
    cautious: bool,
    fail_z: float = TWO_SIDED,
) -> RowsNeeded:
    r"""The same for graded rows and documents, in units of the paired interval.

    As `rows_needed`, with the distance to an end of the interval at N units: sqrt(z^2 s^2 / N +
    z^4 u^2) with u = max(farthest n / N, share R / (N + z^2)), share = 1 in A where `cautious`,
    else 0.8 to the power of the units that would have changed.

    Args:
        evidence: The difference; more is better.
        max_drop: D on the scale of the score.
        slack: What may stay open beyond it.
        cautious: A pass is read from the pseudo-unit interval in any case.
        fail_z: The normal quantile at which the check fails.

    Raises:
        ValueError: a difference without units.
    """
    if not evidence.units > 0:
        raise ValueError("no unit was compared")
    units = evidence.units
    variance = units * evidence.stderr**2
    drop = -evidence.value
    bound = evidence.range

    def half_width(rows: float, z: float, farthest: float, *, cautious: bool) -> float:
        seen = z * z * variance / rows
        if bound is None:
            return math.sqrt(seen)
        share = 1.0 if cautious else UNSEEN ** (evidence.changed * rows / units)
        unseen = max(farthest * units / rows, share * bound / (rows + z * z))
        return math.sqrt(seen + (z * z * unseen) ** 2)

    def chances(rows: float) -> tuple[float, float]:
        root = math.sqrt(rows)
        to_pass = half_width(rows, TWO_SIDED, evidence.below, cautious=cautious)
        to_fail = half_width(rows, fail_z, evidence.above, cautious=False)
        passes = _share_below((max_drop + slack - drop - to_pass) * root, variance)
        return passes, _share_below((drop - max_drop - to_fail) * root, variance)

    return _smallest(chances, evidence.changed)


def _row_error(verdicts: PairedVerdicts, limit: float) -> float:
    shares = verdicts.gained / verdicts.n, verdicts.lost / verdicts.n
    return math.sqrt(max(tango_variance(*shares, -limit), 0.0))


def _share_below(distance: float, variance: float) -> float:
    """Phi(distance / s); 0 or 1 where the rows show no spread."""
    if variance <= 0.0:
        return float(distance > 0.0)
    return 0.5 * math.erfc(-distance / math.sqrt(2.0 * variance))


def _smallest(chances: _Chances, changed: float) -> RowsNeeded:
    """The smallest number of rows whose chances reach `DECIDED`: by doubling, then by halving."""
    high = 1
    while sum(chances(high)) < DECIDED:
        if high > MOST_ROWS:
            return RowsNeeded(None, changed=changed)
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if sum(chances(middle)) < DECIDED:
            low = middle
        else:
            high = middle
    if high > MOST_ROWS:
        return RowsNeeded(None, changed=changed)
    return RowsNeeded(high, *chances(high), changed=changed)
