"""Percentile bootstrap intervals of the suite scores: 10,000 resamples of rows, fixed seed.

The reference implementations report points only. A resample draws rows (questions, texts) with
replacement; numbers that come from the same rows are resampled together, so that an interval shows
the uncertainty from the choice of questions. It says nothing about run-to-run noise of training or
inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from custom_metrics.statistics import sums_of_products

RESAMPLES = 10_000
SEED = 1234
#: Rows x resamples drawn at once; bounds memory at about 32 MB an array.
_CELLS = 4_000_000
#: Rows x resamples up to which draws are kept for further scores: 32 MB.
_KEPT = 16_000_000

Floats = NDArray[np.float64]
Interval = list[float]


def _draws(
    rows: int, resamples: int, generator: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Row indices of the resamples, in blocks of shape [resamples][rows]."""
    block = max(1, _CELLS // max(1, rows))
    for start in range(0, resamples, block):
        yield generator.integers(0, rows, size=(min(block, resamples - start), rows))


def percentiles(values: Floats, level: float = 0.95) -> Interval:
    """Lower and upper end of the central `level` of the resampled values."""
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return [float(low), float(high)]


def column_means(columns: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Means of jointly resampled columns; NaN marks a row without a value in that column.

    Args:
        columns: Shape [rows][columns].
        resamples: Number of resamples.
        seed: Seed of the generator.

    Returns:
        Shape [resamples][columns]; NaN where a resample holds no value of a column.
    """
    present = ~np.isnan(columns)
    filled = np.where(present, columns, 0.0)
    blocks = []
    for drawn in _counts_of_rows(len(columns), resamples, seed):
        # Counting how often each row was drawn turns a resample into a weight vector: means become
        # sums of products.
        weights = drawn.astype(np.float64)
        totals = _totals(weights, filled)
        counts = _totals(weights, present.astype(np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):
            blocks.append(totals / counts)
    return np.concatenate(blocks)


def _counts_of_rows(rows: int, resamples: int, seed: int) -> Iterator[NDArray[np.uint16]]:
    """How often each resample draws each row, in blocks of shape [resamples][rows].

    Scores of many models over one data set draw the same, which is kept where it is small.
    """
    if rows * resamples <= _KEPT:
        return iter(_kept_counts(rows, resamples, seed))
    return _drawn_blocks(rows, resamples, seed)


@lru_cache(maxsize=8)
def _kept_counts(rows: int, resamples: int, seed: int) -> list[NDArray[np.uint16]]:
    return list(_drawn_blocks(rows, resamples, seed))


def _drawn_blocks(rows: int, resamples: int, seed: int) -> Iterator[NDArray[np.uint16]]:
    for indices in _draws(rows, resamples, np.random.default_rng(seed)):
        offsets = np.arange(len(indices))[:, None] * rows
        drawn = np.bincount((indices + offsets).ravel(), minlength=indices.size)
        yield drawn.reshape(len(indices), -1).astype(np.uint16)


def _totals(weights: Floats, columns: Floats) -> Floats:
    """The weighted total of each column in each resample."""
    return np.stack([sums_of_products(weights, column) for column in columns.T], axis=1)


def utility_interval(
    parts: Sequence[Mapping[str, Mapping[str, float | None]]],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """95 % interval of a harmonic mean of means.

    Args:
        parts: One mapping per data set: component -> row -> value. Components of one data set are
            resampled together.
        resamples: Number of resamples.
        seed: Seed of the generator.

    Returns:
        The interval; None where a component has fewer than two rows.
    """
    means = []
    for number, components in enumerate(parts):
        order = sorted(set(chain.from_iterable(components.values())))
        if len(order) < 2:
            return None
        columns = np.array([_values_of_row(row, components) for row in order])
        means.append(column_means(columns, resamples=resamples, seed=seed + number))
    if not means:
        return None
    stacked = np.concatenate(means, axis=1)
    if not stacked.size or np.isnan(stacked).any():
        return None
    with np.errstate(divide="ignore"):
        harmonic = stacked.shape[1] / (1.0 / stacked).sum(axis=1)
    return percentiles(harmonic)


def _values_of_row(row: str, components: Mapping[str, Mapping[str, float | None]]) -> list[float]:
    return [_value(values.get(row)) for values in components.values()]


def _value(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def auc_resamples(
    forget: Sequence[float],
    holdout: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Floats:
    """AUC of every resample of forget and holdout texts (holdout above forget, ties half).

    Two calls with the same seed and lengths draw the same rows, which pairs the model under test
    with its reference.
    """
    if (len(forget) + len(holdout)) * resamples <= _KEPT:
        return _auc_of_counts(forget, holdout, resamples, seed)
    levels = np.unique(np.concatenate([forget, holdout]))
    forget_levels = np.searchsorted(levels, forget)
    holdout_levels = np.searchsorted(levels, holdout)
    forget_generator = np.random.default_rng([seed, 0])
    holdout_generator = np.random.default_rng([seed, 1])
    pairs = len(forget) * len(holdout)
    # One block size for both sides, so that blocks pair up whatever the two lengths are.
    block = max(1, _CELLS // (len(levels) + len(forget) + len(holdout)))
    areas = []
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        forget_counts = _drawn_counts(forget_levels, len(levels), size, forget_generator)
        holdout_counts = _drawn_counts(holdout_levels, len(levels), size, holdout_generator)
        # Forget scores below each level, those at the level half.
        below = np.cumsum(forget_counts, axis=1) - 0.5 * forget_counts
        areas.append((holdout_counts * below).sum(axis=1) / pairs)
    return np.concatenate(areas)


def _auc_of_counts(
    forget: Sequence[float], holdout: Sequence[float], resamples: int, seed: int
) -> Floats:
    """The same from how often each row is drawn, which all attacks on as many texts share.

    Every number is a multiple of one half below 2^23, so that single precision is exact.
    """
    order = np.argsort(forget, kind="stable")
    ordered = np.asarray(forget, dtype=np.float64)[order]
    drawn = _row_counts(len(forget), resamples, seed, 0)
    against = _row_counts(len(holdout), resamples, seed, 1)
    below = np.zeros((len(forget) + 1, resamples), dtype=np.float32)  # drawn among the lowest k
    for at, row in enumerate(order):  # three times as fast as a cumulative sum over this axis
        np.add(below[at], drawn[row], out=below[at + 1])
    won = np.zeros(resamples, dtype=np.float32)
    lowest = np.searchsorted(ordered, holdout, side="left")
    highest = np.searchsorted(ordered, holdout, side="right")
    for counts, low, high in zip(against, lowest, highest, strict=True):
        lost = below[low] if low == high else (below[low] + below[high]) * np.float32(0.5)
        won += counts * lost
    return won.astype(np.float64) / (len(forget) * len(holdout))


@lru_cache(maxsize=8)
def _row_counts(rows: int, resamples: int, seed: int, side: int) -> NDArray[np.uint16]:
    """How often each resample draws each row of a side, of shape [rows][resamples]."""
    generator = np.random.default_rng([seed, side])
    counts = _drawn_counts(np.arange(rows), rows, resamples, generator)
    by_row = np.ascontiguousarray(counts.T.astype(np.uint16))
    by_row.setflags(write=False)
    return by_row


def _drawn_counts(
    row_levels: NDArray[np.int64], levels: int, size: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Returns how many rows each of `size` resamples has at each level of score."""
    rows = len(row_levels)
    chosen = generator.integers(0, rows, size=(size, rows))
    # One range of levels per resample, so that all are counted at once.
    offsets = np.arange(size)[:, None] * levels
    cells = (row_levels[chosen] + offsets).ravel()
    counts = np.bincount(cells, minlength=size * levels)
    return counts.reshape(size, levels)


def auc_interval(
    forget: Sequence[float],
    holdout: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """95 % interval of an AUC; None where a side has fewer than two texts."""
    if len(forget) < 2 or len(holdout) < 2:
        return None
    return percentiles(auc_resamples(forget, holdout, resamples=resamples, seed=seed))
