"""Groups of values: whether their means differ by more than chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from custom_metrics.statistics.mean import cluster_codes, flat_floats
from custom_metrics.statistics.normal import regularized_beta


def equal_groups_p(values: ArrayLike, groups: ArrayLike | Sequence[Hashable]) -> float:
    """P of equal means of all groups: the F test of one-way analysis of variance (Fisher 1925).

    As `scipy.stats.f_oneway`; 1 without two groups, or without a group of two values.

    Args:
        values: The values.
        groups: Group of each.

    Raises:
        ValueError: lengths differ.

    >>> round(equal_groups_p([1, 2, 3, 7, 8, 9], [0, 0, 0, 1, 1, 1]), 4)
    0.0018
    """
    x = flat_floats(values)
    codes = cluster_codes(groups)
    if codes.size != x.size:
        raise ValueError(f"{x.size} values, {codes.size} groups")
    count = int(codes.max(initial=-1)) + 1
    between_degrees, within_degrees = count - 1, x.size - count
    if between_degrees < 1 or within_degrees < 1:
        return 1.0
    centred = x - float(np.mean(x))
    sums = np.bincount(codes, weights=centred)
    sizes = np.bincount(codes)
    between = float(np.sum(sums * sums / sizes))
    within = float(np.sum(centred * centred)) - between
    if not between > 1e-12:
        return 1.0
    if not within > 1e-12 * between:
        return 0.0
    ratio = between / between_degrees / (within / within_degrees)
    part = within_degrees / (within_degrees + between_degrees * ratio)
    return regularized_beta(part, within_degrees / 2.0, between_degrees / 2.0)
