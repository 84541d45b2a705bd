"""The rows that a gate would need: the chance that a repeat of a comparison passes or fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from custom_metrics.statistics.normal import normal_quantile
from custom_metrics.statistics.score import PairedVerdicts, tango_variance
from custom_metrics.statistics.units import ENOUGH_CHANGED, PairedUnits

MOST_ROWS = 100_000  # above, no number of rows is practical
DECIDED = 0.8  # share of the repeats that shall end with pass or fail
ONE_SIDED = normal_quantile(0.95)
TWO_SIDED = normal_quantile(0.975)
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

    As `rows_needed`, with 1.96 in A. Where the interval has pseudo-units, a limit L is
    L (N + z^2) / N and its variance s^2 + z^2 R^2 / N: in A where `cautious` (graded independent
    rows), and in both while fewer than 30 units would have changed.

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

    def chance(rows: float, limit: float, z: float, side: float, *, pseudo: bool) -> float:
        spread = variance
        if pseudo and bound is not None:
            limit *= (rows + z * z) / rows
            spread += (z * bound) ** 2 / rows
        distance = side * (limit - drop) * math.sqrt(rows)
        return _share_below(distance - z * math.sqrt(spread), variance)

    def chances(rows: float) -> tuple[float, float]:
        few = evidence.changed * rows / units < ENOUGH_CHANGED
        passes = chance(rows, max_drop + slack, TWO_SIDED, 1.0, pseudo=few or cautious)
        return passes, chance(rows, max_drop, fail_z, -1.0, pseudo=few)

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
