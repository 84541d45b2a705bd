"""The agreement of raters: two judges, two passes of one, or a judge and a person."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from custom_metrics.statistics.bootstrap import bootstrap_interval
from custom_metrics.statistics.mean import Estimate, flat_floats
from custom_metrics.statistics.normal import critical_value

Floats = NDArray[np.float64]


def cohen_kappa(a: ArrayLike, b: ArrayLike, *, weights: str = "none") -> float:
    r"""Agreement of two raters beyond chance (Cohen 1960; weighted, 1968).

    1 - sum(w * observed) / sum(w * expected), with w = 0 on the diagonal and elsewhere 1 (`none`),
    the distance of the ranks of the categories (`linear`) or its square (`quadratic`); expected is
    the product of the raters' margins. The same as scikit-learn's `cohen_kappa_score`. At most 1; 0
    is chance.

    Args:
        a: Ratings by one rater; NaN where it gave none.
        b: Ratings by the other, of the same things.
        weights: `none`, `linear` or `quadratic`.

    Returns:
        Kappa; NaN without a common rating, or where both always give the same one.

    Raises:
        ValueError: lengths differ, or unknown weights.

    >>> round(cohen_kappa([1, 1, 0, 0, 1], [1, 0, 0, 0, 1]), 4)
    0.6154
    """
    x, y = _pairs(a, b)
    if not x.size:
        return math.nan
    categories = np.unique(np.concatenate([x, y]))
    ranks = np.arange(categories.size)
    distance = _distances(ranks).astype(np.float64)
    matrices = {
        "none": (distance > 0).astype(np.float64),
        "linear": distance,
        "quadratic": distance**2,
    }
    if weights not in matrices:
        raise ValueError(f"weights: {weights!r}, allowed: {', '.join(matrices)}")
    cost = matrices[weights]
    observed = np.zeros((categories.size, categories.size))
    cells = np.searchsorted(categories, x), np.searchsorted(categories, y)
    np.add.at(observed, cells, 1.0 / x.size)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    chance = float(np.sum(cost * expected))
    if chance == 0:
        return math.nan
    return 1.0 - float(np.sum(cost * observed)) / chance


def _distances(places: NDArray[Any]) -> NDArray[Any]:
    """The distance of every place from every other, as a matrix."""
    return np.asarray(np.abs(places[:, None] - places[None, :]))


def krippendorff_alpha(ratings: ArrayLike, *, level: str = "interval") -> float:
    r"""Agreement of any number of raters with gaps.

    Krippendorff 2011, "Computing Krippendorff's alpha-reliability".

    1 - D_o / D_e over the coincidences of values within units of two or more ratings; the
    difference of two values is 0 or 1 (`nominal`), the squared number of ratings between them, half
    of their own included (`ordinal`), or their squared distance (`interval`). At most 1; 0 is
    chance.

    Args:
        ratings: Shape [raters, units]; NaN where a rater gave none.
        level: `nominal`, `ordinal` or `interval`.

    Returns:
        Alpha; NaN without two ratings of one unit, or where all ratings are equal.

    Raises:
        ValueError: not two dimensions, or an unknown level.
    """
    data = np.asarray(ratings, dtype=np.float64)
    if data.ndim != 2:
        raise ValueError(f"ratings have {data.ndim} dimensions, not 2")
    if level not in {"nominal", "ordinal", "interval"}:
        raise ValueError(f"level: {level!r}, allowed: nominal, ordinal, interval")
    values = np.unique(data[~np.isnan(data)])
    if not values.size:
        return math.nan
    # How often each unit has each value; units of one rating have no pair.
    of_values = [(data == value).sum(axis=0) for value in values]
    counts = np.stack(of_values, axis=1).astype(np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    if not counts.size:
        return math.nan
    others = counts.sum(axis=1) - 1
    coincidences = np.einsum("ui,uj,u->ij", counts, counts, 1.0 / others)
    coincidences -= np.diag((counts / others[:, None]).sum(axis=0))
    totals = coincidences.sum(axis=1)
    difference = _difference(values, totals, level)
    by_chance = np.outer(totals, totals)
    expected = float(np.sum(difference * by_chance)) / (float(totals.sum()) - 1)
    if expected == 0:
        return math.nan
    return 1.0 - float(np.sum(difference * coincidences)) / expected


def _difference(values: Floats, totals: Floats, level: str) -> Floats:
    if level == "nominal":
        return np.asarray(values[:, None] != values[None, :], dtype=np.float64)
    if level == "interval":
        return np.asarray(_distances(values) ** 2)
    middle_ranks = np.cumsum(totals) - totals / 2
    return np.asarray(_distances(middle_ranks) ** 2)


def pearson_correlation(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    r"""Correlation with its interval by Fisher's transformation.

    The interval is tanh(atanh r +- z / sqrt(n - 3)) (Fisher 1921).

    No interval for fewer than four pairs; NaN where one side is constant.

    >>> estimate = pearson_correlation([1, 2, 3, 4, 5], [1, 3, 2, 5, 4])
    >>> round(estimate.value, 3), round(estimate.low, 3), round(estimate.high, 3)
    (0.8, -0.28, 0.986)
    """
    x, y = _pairs(a, b)
    return _correlation(x, y, 1.0, confidence)


def spearman_correlation(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    r"""Correlation of ranks, ties at their mean rank.

    The interval of Fisher, widened by sqrt(1 + r^2 / 2) (Bonett and Wright 2000).
    """
    x, y = _pairs(a, b)
    x_ranks = _ranks(x)
    y_ranks = _ranks(y)
    rho = _correlation(x_ranks, y_ranks, 1.0, confidence).value
    widening = 1.0 if math.isnan(rho) else math.sqrt(1 + rho**2 / 2)
    return _correlation(x_ranks, y_ranks, widening, confidence)


def agreement_interval(
    a: ArrayLike,
    b: ArrayLike,
    *,
    statistic: Callable[[ArrayLike, ArrayLike], float] = cohen_kappa,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Estimate:
    """A statistic of two raters with its percentile bootstrap interval over the things rated.

    Draws in which it has no value (all ratings equal) count as full agreement.
    """
    x, y = _pairs(a, b)
    value = float(statistic(x, y)) if x.size else math.nan
    if math.isnan(value):
        return Estimate.without_interval(math.nan, int(x.size))

    def value_of_draw(sample: Floats) -> float:
        drawn_value = float(statistic(sample[:, 0], sample[:, 1]))
        return 1.0 if math.isnan(drawn_value) else drawn_value

    estimate = bootstrap_interval(
        np.stack([x, y], axis=1),
        statistic=value_of_draw,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    return estimate._replace(value=value)


def _pairs(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    x = flat_floats(a)
    y = flat_floats(b)
    if x.size != y.size:
        raise ValueError(f"{x.size} ratings by one, {y.size} by the other")
    both = ~(np.isnan(x) | np.isnan(y))
    return x[both], y[both]


def _ranks(values: Floats) -> Floats:
    if not values.size:
        return values
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    mean_ranks = last_ranks - (counts - 1) / 2
    return np.asarray(mean_ranks[inverse], dtype=np.float64)


def _correlation(x: Floats, y: Floats, widening: float, confidence: float) -> Estimate:
    n = int(x.size)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate.without_interval(math.nan, n)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
    if n < 4 or abs(r) == 1.0:
        return Estimate.without_interval(r, n)
    half = critical_value(confidence) * widening / math.sqrt(n - 3)
    centre = math.atanh(r)
    low = math.tanh(centre - half)
    high = math.tanh(centre + half)
    return Estimate(r, None, low, high, n)


METRICS: dict[str, Callable[..., object]] = {
    "agreement_interval": agreement_interval,
    "cohen_kappa": cohen_kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "pearson_correlation": pearson_correlation,
    "spearman_correlation": spearman_correlation,
}

__all__ = [
    "METRICS",
    "agreement_interval",
    "cohen_kappa",
    "krippendorff_alpha",
    "pearson_correlation",
    "spearman_correlation",
]
