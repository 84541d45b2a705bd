"""Mean, standard error and intervals of one set of scores, with and without clusters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from custom_metrics.statistics.normal import critical_value, student_critical_value

Floats = NDArray[np.float64]
_TERMS_AT_ONCE = 10_000  # up to which BLAS stays in one thread
_WHOLE = 2.0**53  # below it sums of whole numbers are exact in any order


class Estimate(NamedTuple):
    """A value, its standard error, its interval and the number of observations.

    The standard error is None when the value has none.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None
    n: int

    @classmethod
    def without_interval(cls, value: float, n: int) -> Estimate:
        """A value of too few observations for an interval."""
        return cls(value, None, None, None, n)

    @classmethod
    def symmetric(cls, value: float, stderr: float, z: float, n: int) -> Estimate:
        """A value with the interval value -+ z stderr."""
        half = z * stderr
        return cls(value, stderr, value - half, value + half, n)


def flat_floats(values: ArrayLike) -> Floats:
    """A flat float array of all values."""
    return np.asarray(values, dtype=np.float64).ravel()


def row_weights(weights: ArrayLike | None, rows: int) -> Floats:
    """The weight of each row; 1 where there are no weights."""
    return np.ones(rows) if weights is None else flat_floats(weights)


def sum_of_products(x: NDArray[Any], y: NDArray[Any]) -> float:
    """The sum of x_i y_i, the same for every number of cores.

    BLAS divides longer sums among the cores: their number would decide the last digit, and each
    core waits at full load for the others.
    """
    starts = range(0, x.size, _TERMS_AT_ONCE)
    slices = (slice(at, at + _TERMS_AT_ONCE) for at in starts)
    return sum((float(np.dot(x[terms], y[terms])) for terms in slices), 0.0)


def exact_sum(values: Floats) -> float:
    """The sum, rounded once; verdicts and their differences take a hundredth of `fsum`'s time.

    Raises:
        OverflowError: it is too large for a number.
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest * values.size < _WHOLE and np.array_equal(values, np.rint(values)):
        return float(np.sum(values)) + 0.0  # never -0.0, like the other sum
    return math.fsum(values)


def sums_of_products(lines: Floats, factors: Floats) -> Floats:
    """The sum of x_ij y_j of each line i, the same for every number of cores.

    A matrix product of BLAS divides a line among the cores as `sum_of_products` describes.
    """
    sums: Floats = np.einsum("ij,j->i", lines, np.ascontiguousarray(factors))
    return sums


def values_of(values: ArrayLike) -> Floats:
    """A flat float array without NaN."""
    flat = flat_floats(values)
    kept: Floats = flat[~np.isnan(flat)]
    return kept


def cluster_codes(clusters: ArrayLike | Sequence[Hashable]) -> NDArray[np.int64]:
    """Cluster labels of any kind as numbers from 0; None stands for a cluster of its own.

    >>> cluster_codes(["a", None, "a", None]).tolist()
    [0, 1, 0, 2]
    """
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind in "iu":
        if _is_dense(clusters):
            return np.asarray(clusters, dtype=np.int64)
        _, inverse = np.unique(clusters, return_inverse=True)
        return np.asarray(inverse, dtype=np.int64)
    known: dict[Hashable, int] = {}
    codes = np.empty(len(clusters), dtype=np.int64)  # type: ignore[arg-type]
    for place, label in enumerate(clusters):  # type: ignore[arg-type]
        # The tag keeps a row without a label apart from a label that is its place.
        key = ("alone", place) if label is None else ("label", label)
        codes[place] = known.setdefault(key, len(known))
    return codes


def _is_dense(codes: NDArray[Any]) -> bool:
    """Returns whether codes are the numbers from 0 to the largest, each of them in use."""
    if not codes.size or codes.ndim != 1 or int(codes.min()) < 0 or int(codes.max()) >= codes.size:
        return False
    return bool(np.bincount(codes.astype(np.int64, copy=False)).all())


def mean_stderr(values: ArrayLike) -> float:
    r"""Standard error of the mean.

    s / sqrt(n) with s^2 = sum (x - mean)^2 / (n - 1); Miller 2024, "Adding error bars to evals"
    (arXiv:2411.00640). The same as `scipy.stats.sem`. NaN for fewer than two values.
    """
    x = values_of(values)
    if x.size < 2:
        return math.nan
    return float(np.std(x, ddof=1) / math.sqrt(x.size))


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Mean with its normal interval, mean +- z * stderr (Miller 2024).

    For few binary scores `wilson_interval` covers better.
    """
    x = values_of(values)
    if x.size == 0:
        return Estimate.without_interval(math.nan, 0)
    mean = float(np.mean(x))
    if x.size == 1:
        return Estimate.without_interval(mean, 1)
    z = critical_value(confidence)
    return Estimate.symmetric(mean, mean_stderr(x), z, int(x.size))


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    r"""Scores interval of a proportion (Wilson 1927).

    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n). Stays inside [0, 1] and has a width
    at p = 0 and 1.

    Raises:
        ValueError: not 0 <= successes <= n with n > 0.

    >>> [round(bound, 4) for bound in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"need 0 <= successes <= n and n > 0, not {successes} of {n}")
    return proportion_interval(successes / n, n, confidence=confidence)


def proportion_interval(
    p: float, n_effective: float, *, confidence: float = 0.95
) -> tuple[float, float]:
    r"""Wilson's interval of a proportion whose rows are worth `n_effective` independent ones.

    For clustered rows n_effective = p (1 - p) / stderr^2, the sample size that would give the
    clustered standard error to independent rows (Korn and Graubard 1998). The interval stays inside
    [0, 1] and has a width at p = 0 and 1.

    Args:
        p: The proportion, 0 to 1.
        n_effective: Effective sample size, above 0.
        confidence: Level of the interval.

    Raises:
        ValueError: p outside [0, 1] or n_effective not above 0.

    >>> [round(bound, 4) for bound in proportion_interval(0.0, 10)]
    [0.0, 0.2775]
    """
    if not 0 <= p <= 1 or not n_effective > 0:
        raise ValueError(f"need 0 <= p <= 1 and n_effective > 0, not {p} and {n_effective}")
    z = critical_value(confidence)
    centre = p + z * z / (2 * n_effective)
    variance = p * (1 - p) / n_effective
    half = z * math.sqrt(variance + z * z / (4 * n_effective**2))
    scale = 1 + z * z / n_effective
    # Rounding would leave an end beside 0 or 1 that the formula puts there exactly.
    low = 0.0 if p == 0 else (centre - half) / scale
    high = 1.0 if p == 1 else (centre + half) / scale
    return low, high


def median_interval(
    values: ArrayLike,
    clusters: ArrayLike | Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    r"""Median with the order-statistic interval of Woodruff 1952.

    Its ends are the quantiles at the ends of `proportion_interval(0.5, K_e)`, with K_e = 1 / sum
    w_g^2 for clusters that hold the shares w_g of the rows (rows of a cluster then count as one,
    however alike they are). The ends are values that were seen.

    >>> median_interval([1, 2, 2, 3, 3, 3, 4, 4, 5, 5])[2:4]
    (2.0, 4.0)
    """
    x = values_of(values)
    if x.size == 0:
        return Estimate.without_interval(math.nan, 0)
    median = float(np.median(x))
    if clusters is None:
        sizes = np.ones(x.size)
    else:
        sizes = np.bincount(cluster_codes(clusters)).astype(np.float64)
    if sizes.size < 2:
        return Estimate.without_interval(median, int(x.size))
    effective = float(np.sum(sizes)) ** 2 / float(np.sum(sizes**2))
    quantiles = proportion_interval(0.5, effective, confidence=confidence)
    low, high = np.quantile(x, quantiles, method="inverted_cdf")
    return Estimate(median, None, float(low), float(high), int(x.size))


def clustered_stderr(
    values: ArrayLike,
    clusters: ArrayLike | Sequence[Hashable],
    *,
    weights: ArrayLike | None = None,
    correction: bool = False,
) -> float:
    r"""Standard error of a mean of observations in clusters, such as questions on one document.

    sqrt(sum_c (sum_{i in c} w_i (x_i - mean))^2) / sum_i w_i, the cluster-robust variance of Liang
    and Zeger 1986 for an intercept-only regression. Miller 2024 recommends it for evals (his form
    divides the diagonal terms by n (n - 1) and not n^2). With one observation per cluster it is the
    plain standard error times sqrt((n - 1) / n).

    Args:
        values: Scores, one per observation.
        clusters: Cluster label per observation; None stands for a cluster of its own.
        weights: Observations behind each value (the mean is then a ratio, for instance of
            instructions followed over instructions given); 1 by default.
        correction: Multiply the variance by G/(G-1), the finite-sample factor CR1 of Stata and
            statsmodels for an intercept-only model; False gives CR0.

    Returns:
        The standard error; NaN for fewer than two clusters.

    Raises:
        ValueError: lengths differ.
    """
    x = flat_floats(values)
    codes = cluster_codes(clusters)
    w = row_weights(weights, x.size)
    if not x.size == codes.size == w.size:
        raise ValueError(f"{x.size} values, {codes.size} clusters, {w.size} weights")
    kept = ~np.isnan(x) & (w > 0)
    x = x[kept]
    w = w[kept]
    codes = cluster_codes(codes[kept])
    groups = int(codes.max()) + 1 if codes.size else 0
    if groups < 2:
        return math.nan
    total = float(np.sum(w))
    mean = sum_of_products(w, x) / total
    residuals = w * (x - mean)
    cluster_sums = np.bincount(codes, weights=residuals, minlength=groups)
    variance = sum_of_products(cluster_sums, cluster_sums) / total**2
    if correction:
        variance *= groups / (groups - 1)
    return math.sqrt(variance)


def clustered_interval(
    values: ArrayLike,
    clusters: ArrayLike | Sequence[Hashable],
    *,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
    small_sample: bool = False,
) -> Estimate:
    """Mean with the interval of its clustered standard error; see `clustered_stderr`.

    The interval is normal as in Miller 2024; with `small_sample` it is the t interval with G - 1
    degrees of freedom around the corrected error, which keeps its level with few clusters (Cameron
    and Miller 2015).
    """
    x = flat_floats(values)
    w = row_weights(weights, x.size)
    kept = ~np.isnan(x) & (w > 0)
    rows = int(kept.sum())
    if not rows:
        return Estimate.without_interval(math.nan, 0)
    mean = sum_of_products(x[kept], w[kept]) / float(np.sum(w[kept]))
    stderr = clustered_stderr(values, clusters, weights=weights, correction=small_sample)
    if math.isnan(stderr):
        return Estimate.without_interval(mean, rows)
    if not small_sample:
        return Estimate.symmetric(mean, stderr, critical_value(confidence), rows)
    groups = np.unique(cluster_codes(clusters)[kept]).size
    t = student_critical_value(confidence, groups - 1)
    return Estimate.symmetric(mean, stderr, t, rows)
