"""Where a function of one number crosses zero, and the p at which an interval reaches a value."""

from __future__ import annotations

import sys
from collections.abc import Callable

from custom_metrics.statistics.normal import two_sided_p

_LARGEST_Z = 8.0  # 1 - p is 1 in doubles beyond
_CLOSE_Z = 1e-9


def crossing(
    function: Callable[[float], float], low: float, high: float, *, within: float = 0.0
) -> float:
    """The point between two ends of opposite sign at which a continuous function is zero.

    Inverse quadratic interpolation with bisection where that does not help: Chandrupatla 1997,
    "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without
    using derivatives", Advances in Engineering Software 28:145-149. About ten calls of the function
    where bisection takes fifty.

    Args:
        function: Finite between the ends.
        low: An end.
        high: The other one, above or below the first.
        within: Distance of the result from the true zero; the precision of doubles where that is
            more.

    Raises:
        ValueError: both ends have the same sign.

    >>> round(crossing(lambda x: x * x - 2.0, 0.0, 2.0), 12)
    1.414213562373
    """
    new, f_new = low, function(low)
    other, f_other = high, function(high)
    if f_new * f_other > 0.0:
        raise ValueError(f"the function does not change its sign between {low} and {high}")
    share = 0.5
    while True:
        point = new + share * (other - new)
        f_point = function(point)
        if (f_point > 0.0) == (f_new > 0.0):
            before, f_before = new, f_new
        else:
            before, f_before = other, f_other
            other, f_other = new, f_new
        new, f_new = point, f_point
        best, f_best = (new, f_new) if abs(f_new) < abs(f_other) else (other, f_other)
        tolerance = max(within, 2.0 * sys.float_info.epsilon * abs(best), sys.float_info.min)
        least = tolerance / abs(other - new) if other != new else 1.0
        if f_best == 0.0 or least > 0.5:
            return best
        # Interpolated where the three points lie on a curve that is monotone between the two.
        place = (new - other) / (before - other)
        level = (f_new - f_other) / (f_before - f_other)
        share = 0.5
        if level * level < place and (1.0 - level) ** 2 < 1.0 - place:
            share = f_new / (f_other - f_new) * f_before / (f_other - f_before)
            share += (
                (before - new)
                / (other - new)
                * (f_new / (f_before - f_new))
                * (f_other / (f_before - f_other))
            )
        share = min(max(share, least), 1.0 - least)


def p_of_reaching(
    interval: Callable[[float], tuple[float, float]], value: float, at: float
) -> float:
    """Two-sided p of a true value: that of the level at which an interval just reaches it.

    Args:
        interval: Level of confidence -> low and high end, which part as the level grows.
        value: What was found, inside all intervals.
        at: The true value; p is 1 where it is what was found, and where every interval holds it, as
            those do that allow for missing rows.
    """
    if value == at:
        return 1.0

    def outside(z: float) -> float:
        low, high = interval(1.0 - two_sided_p(z))
        return low - at if value > at else at - high

    if outside(_LARGEST_Z) >= 0.0:
        return two_sided_p(_LARGEST_Z)
    if outside(_CLOSE_Z) <= 0.0:
        return 1.0
    return two_sided_p(crossing(outside, _CLOSE_Z, _LARGEST_Z, within=_CLOSE_Z))
