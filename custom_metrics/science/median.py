"""The interval of a median over several scores, which may share rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from custom_metrics.statistics import Influence

DRAWS = 10_000
_SEED = 20_240_607
#: Standard errors between the middle and the end of a 95 % interval.
_REACH = 1.959964


class Column(NamedTuple):
    """One score: its value, its 95 % interval, and what each row adds to it."""

    value: float
    low: float
    high: float
    influence: Influence


def median_interval(columns: Sequence[Column]) -> tuple[float, float]:
    """Returns the 95 % interval of the median of some scores between 0 and 1.

    Each score is drawn 10,000 times from a normal distribution whose width is that of its own
    interval, correlated with the others as the rows that they share say; the interval holds the
    middle 95 % of the medians of these draws, and the median itself. Which score is the one in the
    middle so changes from draw to draw: the interval is not that of the score that happens to stand
    there.
    """
    values = np.array([column.value for column in columns])
    middles = np.array([(column.low + column.high) / 2 for column in columns])
    widths = np.array([(column.high - column.low) / (2 * _REACH) for column in columns])
    covariance = _correlations(columns) * np.outer(widths, widths)
    generator = np.random.default_rng(_SEED)
    draws = generator.multivariate_normal(middles, covariance, size=DRAWS, method="eigh")
    medians = np.median(np.clip(draws, 0.0, 1.0), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    median = float(np.median(values))
    return min(float(low), median), max(float(high), median)


def _correlations(columns: Sequence[Column]) -> NDArray[np.float64]:
    """The correlations of the scores by the rows that they share; 0 where a score has no spread."""
    units = sorted(set(chain.from_iterable(column.influence.units for column in columns)))
    place_of = {unit: place for place, unit in enumerate(units)}
    influences = np.zeros((len(columns), len(units)))
    for number, column in enumerate(columns):
        for name, unit in column.influence.units.items():
            influences[number, place_of[name]] = unit.influence
    lengths = np.sqrt((influences**2).sum(axis=1))
    lengths[lengths == 0] = 1.0  # a column that no unit moves
    directions = influences / lengths[:, np.newaxis]
    correlations: NDArray[np.float64] = directions @ directions.T
    np.fill_diagonal(correlations, 1.0)
    return correlations
