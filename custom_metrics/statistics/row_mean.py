"""The interval of one run's mean over rows: which one belongs to it, by its bounds and its rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from custom_metrics.statistics.mean import (
    Floats,
    cluster_codes,
    clustered_stderr,
    flat_floats,
    mean_stderr,
    proportion_interval,
    row_weights,
    sum_of_products,
)
from custom_metrics.statistics.normal import critical_value, student_critical_value
from custom_metrics.statistics.score import Interval
from custom_metrics.statistics.units import cr2, effective, satterthwaite

#: Least and greatest value of a score; None for an end that is open.
Bounds = tuple[float | None, float | None]
SHARE_BOUNDS: Bounds = (0.0, 1.0)
WITHOUT_BOUNDS: Bounds = (None, None)
ENOUGH_CHANGED = 30.0  # effectively differing units from which Student's t holds its level
_NO_SPREAD = 1e-12  # of the mean, below which a standard error is rounding


def mean_bounds(values: ArrayLike, bounds: Bounds | None = None) -> Bounds:
    """Returns the bounds of a mean over rows.

    Args:
        values: The rows.
        bounds: Those that the metric is known to have; None where nothing is known of it. Rows that
            leave them show that they are not the bounds.

    Returns:
        The known bounds; 0 and 1 where nothing is known and all rows lie between; else none.

    >>> mean_bounds([1.0, 1.0]), mean_bounds([1.0, 3.0]), mean_bounds([1.0, 1.0], (1.0, 5.0))
    ((0.0, 1.0), (None, None), (1.0, 5.0))
    """
    least, most = SHARE_BOUNDS if bounds is None else bounds
    x = flat_floats(values)
    if not x.size:
        return WITHOUT_BOUNDS if bounds is None else bounds
    is_below = least is not None and float(x.min()) < least
    is_above = most is not None and float(x.max()) > most
    return WITHOUT_BOUNDS if is_below or is_above else (least, most)


def rows_interval(
    values: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
    *,
    weights: ArrayLike | None = None,
    bounds: Bounds | None = None,
    stderr: float | None = None,
    confidence: float = 0.95,
) -> Interval | None:
    """Interval of one run's mean over rows; whoever shows that mean shows this interval.

    | bounds | rows | interval |
    |---|---|---|
    | 0 and 1 | right or wrong | Wilson's, of the effective number of rows |
    | 0 and 1 | shares | with pseudo-rows where fewer than 30 units differ from the mean |
    | others | with a spread | Student's, with pseudo-rows where that leaves the bounds |
    | others | all alike | with pseudo-rows |
    | open or not known | with a spread | Student's |
    | open or not known | all alike | none |

    A unit is a row, or a document where rows share one; rows that are all alike so have an interval
    with documents where they have one without. What the bounds are, `mean_bounds` says.

    Args:
        values: The rows.
        units: Document of each row; None where each row stands alone.
        weights: Observations behind each row; 1 by default.
        bounds: Bounds that the metric is known to have.
        stderr: The standard error by `rows_stderr`, where it is known already.
        confidence: Of the interval.

    Returns:
        Low and high end; None for fewer than two units, and for rows that are all alike without two
        bounds: both tell nothing of their spread.

    >>> [round(end, 3) for end in rows_interval([1.0] * 10)]
    [0.722, 1.0]
    >>> [round(end, 3) for end in rows_interval([1.0] * 10, bounds=(1.0, 5.0))]
    [1.0, 2.284]
    """
    x = flat_floats(values)
    w = row_weights(weights, x.size)
    codes = np.arange(x.size) if units is None else cluster_codes(units)
    count = x.size if units is None else np.unique(codes).size
    if count < 2:
        return None
    if stderr is None:
        stderr = rows_stderr(x, units, weights=w)
    total = float(np.sum(w))
    is_plain = _is_plain(units, w)
    mean = float(np.mean(x)) if is_plain else sum_of_products(x, w) / total
    known = mean_bounds(x, bounds)
    are_verdicts = known == SHARE_BOUNDS and bool(np.all((x == 0) | (x == 1)))
    if are_verdicts:
        rows = total if is_plain else min(_effective_rows(mean, stderr, count), total)
        return Interval(*proportion_interval(mean, rows, confidence=confidence))
    errors = (x - mean) * w / total
    interval = known_error_interval(
        mean, stderr, count - 1, errors, codes, known, confidence=confidence
    )
    return _within_bounds(interval, mean, known, errors, codes, confidence=confidence)


def _within_bounds(
    interval: Interval | None,
    mean: float,
    bounds: Bounds,
    errors: Floats,
    codes: NDArray[np.int64],
    *,
    confidence: float,
) -> Interval | None:
    """The interval, or one with pseudo-rows where it leaves the bounds of the mean."""
    least, most = bounds
    if interval is None or least is None or most is None:
        return interval
    if least <= interval.low and interval.high <= most:
        return interval
    sums, shares = _by_unit(errors, codes)
    return units_interval(mean, sums, shares, least, most, confidence=confidence)


def rows_stderr(
    values: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
    *,
    weights: ArrayLike | None = None,
) -> float:
    """Standard error of the mean over rows; clustered where they share documents or have weights.

    Args:
        values: The rows.
        units: Document of each row; None where each row stands alone.
        weights: Observations behind each row; 1 by default.

    Returns:
        The standard error; NaN for fewer than two units.
    """
    x = flat_floats(values)
    w = row_weights(weights, x.size)
    if _is_plain(units, w):
        return mean_stderr(x)
    codes = np.arange(x.size) if units is None else units
    return clustered_stderr(x, codes, weights=w, correction=True)


def _is_plain(units: object, weights: Floats) -> bool:
    """True for rows that stand alone and have one observation each."""
    return units is None and bool(np.all(weights == 1))


def _effective_rows(share: float, stderr: float, units: int) -> float:
    """The number of independent verdicts with the same standard error.

    The normal interval of few or one-sided verdicts leaves [0, 1] or has no width; Wilson's, of
    this number, does not. Where all verdicts agree, each document counts once.
    """
    return share * (1 - share) / stderr**2 if stderr > 0 else units


def known_error_interval(
    value: float,
    stderr: float,
    degrees: float,
    errors: ArrayLike,
    units: ArrayLike,
    bounds: Bounds,
    *,
    confidence: float = 0.95,
) -> Interval | None:
    """The rule of `rows_interval` for a mean of graded rows whose standard error is known.

    Args:
        value: The mean.
        stderr: Its standard error.
        degrees: Of freedom of the standard error.
        errors: By how much each row moves the mean.
        units: Number of the document of each row, or of the row itself.
        bounds: Of the score, as `mean_bounds` returns them.
        confidence: Of the interval.

    Returns:
        Low and high end, which may leave bounds other than 0 and 1; None for rows that are all
        alike without two bounds.
    """
    has_spread = stderr > _NO_SPREAD * abs(value)
    if has_spread and bounds != SHARE_BOUNDS:
        half = student_critical_value(confidence, degrees) * stderr
        return Interval(value - half, value + half)
    least, most = bounds
    if least is None or most is None:
        return None
    return bounded_mean_interval(
        value, stderr, degrees, errors, units, least=least, most=most, confidence=confidence
    )


def bounded_mean_interval(
    value: float,
    stderr: float,
    degrees: float,
    errors: ArrayLike,
    units: ArrayLike,
    *,
    least: float = 0.0,
    most: float = 1.0,
    confidence: float = 0.95,
) -> Interval:
    """The interval of `bounded_interval` for a mean whose standard error is known.

    Args:
        value: The mean.
        stderr: Its standard error.
        degrees: Of freedom of the standard error.
        errors: By how much each row moves the mean.
        units: Number of the document of each row, or of the row itself.
        least: Lower bound of the score.
        most: Its upper bound.
        confidence: Of the interval.
    """
    sums, shares = _by_unit(np.asarray(errors, dtype=np.float64), cluster_codes(units))
    effective_units = 1.0 / float(np.sum(shares * shares))
    spread = _Spread(stderr, degrees, effective_units, effective(np.sort(sums)))
    return _between(value, spread, least, most, confidence)


def units_interval(
    value: float,
    errors: Floats,
    weights: Floats,
    least: float,
    most: float,
    *,
    confidence: float = 0.95,
) -> Interval:
    """The interval of `bounded_interval`, from what each unit adds and its share of the rows."""
    order = np.lexsort((errors, weights))
    e, w = errors[order], weights[order]
    spread = _Spread(
        cr2(e, w), satterthwaite(w), 1.0 / float(np.sum(w * w)), effective(np.sort(errors))
    )
    return _between(value, spread, least, most, confidence)


def _by_unit(errors: Floats, codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The part that each unit adds to the mean, and its share of the rows."""
    sums = np.bincount(codes, weights=errors).astype(np.float64)
    shares = np.bincount(codes) / codes.size
    return sums, shares


class _Spread(NamedTuple):
    """The spread of one run's score: its standard error and how many units it rests on."""

    stderr: float
    degrees: float
    units: float
    changed: float


def _between(
    value: float, spread: _Spread, least: float, most: float, confidence: float
) -> Interval:
    """Interval of a score between two bounds.

    Student's where at least 30 units effectively differ from the mean. With fewer, z^2 / 2
    pseudo-units at either bound join the K_e real ones (as Agresti and Min 2005 add
    pseudo-counts): with d the distance from the middle and R that of a bound, N = K_e + z^2,
    c = d K_e / N, V = (K_e (K_e stderr^2 + d^2) + z^2 R^2) / N - c^2, c -+ z sqrt(V / N).
    """
    middle = (least + most) / 2.0
    reach = most - middle
    distance = value - middle
    is_constant = distance != 0.0 and spread.stderr <= _NO_SPREAD * abs(distance)
    if spread.changed < ENOUGH_CHANGED or is_constant:
        z = critical_value(confidence)
        total = spread.units + z * z
        centre = distance * spread.units / total
        real_squares = spread.units * (spread.units * spread.stderr**2 + distance**2)
        variance = (real_squares + (z * reach) ** 2) / total - centre**2
        half = z * math.sqrt(max(variance, 0.0) / total)
    elif spread.degrees > 0:
        centre = distance
        half = student_critical_value(confidence, spread.degrees) * spread.stderr
    else:
        centre, half = 0.0, reach
    low, high = (middle + min(max(centre + end, -reach), reach) for end in (-half, half))
    return Interval(low, high)
