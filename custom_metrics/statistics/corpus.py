"""Paired differences of scores that are no mean of rows.

Corpus counts, macro averages, anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from custom_metrics.statistics.mean import (
    Floats,
    cluster_codes,
    flat_floats,
    row_weights,
    sums_of_products,
)
from custom_metrics.statistics.units import PairedUnits, effective, unit_sums

ValueOf = Callable[[Floats], float]


def gradient(value: ValueOf, sums: Floats) -> Floats:
    """Derivatives of a function of sums, by central differences of a relative step of 1e-5.

    A count of zero gets a step of 1e-5 of the largest count, to the upper side only.
    """
    scale = max(float(np.max(np.abs(sums), initial=0.0)), 1.0)
    slopes = np.zeros_like(sums)
    for place in np.ndindex(sums.shape):
        step = 1e-5 * (abs(float(sums[place])) or scale)
        up = sums.copy()
        up[place] += step
        down = sums.copy()
        if sums[place] != 0.0:
            down[place] -= step
        rise = value(up) - value(down)
        slope = rise / float(up[place] - down[place])
        slopes[place] = slope if math.isfinite(slope) else 0.0
    return slopes


def paired_counts(
    candidate: ArrayLike,
    baseline: ArrayLike,
    value: ValueOf,
    units: ArrayLike | Sequence[Hashable] | None = None,
) -> PairedUnits:
    r"""Difference of a score that is a function of counts which add up over rows (corpus F1, BLEU).

    The score is linearised at each run's totals S: e_g = sum_j dF/dS_j (S_candidate) c_gj - the
    same of the baseline, summed over the rows of unit g (the infinitesimal jackknife, Jaeckel
    1972). R is n times the largest less the smallest influence of one row within one run, the
    larger of the two runs.

    Args:
        candidate: Counts, one line per row and one column per count.
        baseline: The same rows in the same order.
        value: The score of the summed counts.
        units: Document of each row; None for independent rows.

    Raises:
        ValueError: the counts are not of one shape.
    """
    now = np.asarray(candidate, dtype=np.float64)
    before = np.asarray(baseline, dtype=np.float64)
    if now.shape != before.shape or now.ndim != 2:
        raise ValueError(
            f"counts of shape {now.shape} and {before.shape}: one line per row is needed, the "
            "same in both"
        )
    if now.shape[0] == 0:
        return PairedUnits.without_units()
    now_totals = now.sum(axis=0)
    before_totals = before.sum(axis=0)
    now_influence = sums_of_products(now, gradient(value, now_totals))
    before_influence = sums_of_products(before, gradient(value, before_totals))
    spread = max(_spread(now_influence), _spread(before_influence))
    return _from_influences(
        value(now_totals) - value(before_totals),
        now_influence - before_influence,
        np.any(now != before, axis=1),
        units,
        spread or None,
    )


def _spread(influence: Floats) -> float:
    """Returns what a score could move by, were every row like one.

    It is the number of rows times the range of influences.
    """
    return influence.size * (float(np.max(influence)) - float(np.min(influence)))


def _from_influences(
    difference: float,
    influence: Floats,
    changed: NDArray[np.bool_],
    units: ArrayLike | Sequence[Hashable] | None,
    bound: float | None,
) -> PairedUnits:
    """Paired interval with pseudo-rows from what each row adds to the difference."""
    codes = None if units is None else cluster_codes(units)
    if codes is not None and codes.size != influence.size:
        raise ValueError(f"{influence.size} rows, {codes.size} units")
    errors, sizes = unit_sums(influence, codes)
    weights = sizes / influence.size
    if codes is not None:
        changed = np.bincount(codes, weights=changed) > 0
    # The sum is 0 for scores that do not grow with the number of rows.
    errors = errors - weights * math.fsum(errors)
    return PairedUnits.of(difference, errors, weights, errors[changed], bound)


def paired_macro(
    differences: ArrayLike,
    groups: ArrayLike | Sequence[Hashable],
    units: ArrayLike | Sequence[Hashable] | None = None,
    *,
    range: float = 1.0,  # noqa: A002
) -> PairedUnits:
    r"""Difference of a macro average: the mean over subtasks of the mean paired difference in each.

    For independent rows stderr^2 = sum_k s_k^2 / n_k / (number of subtasks)^2, rows keeping their
    subtask. For documents the influences (d_i - m_k) / (subtasks n_k) are summed by document and
    corrected as CR2. R is the range of the score times n / (subtasks * rows of the smallest
    subtask). A subtask of one row has no spread of its own and gets that of all rows.

    Args:
        differences: Candidate less baseline, one per row; rows with NaN are left out.
        groups: Subtask of each row.
        units: Document of each row; None for independent rows.
        range: Largest possible difference of one row.

    Raises:
        ValueError: lengths differ.
    """
    gap = flat_floats(differences)
    of_group = cluster_codes(groups)
    codes = None if units is None else cluster_codes(units)
    if of_group.size != gap.size or (codes is not None and codes.size != gap.size):
        of_units = gap.size if codes is None else codes.size
        raise ValueError(f"{gap.size} differences, {of_group.size} subtasks, {of_units} units")
    kept = ~np.isnan(gap)
    gap = gap[kept]
    of_group = cluster_codes(of_group[kept])
    if gap.size == 0:
        return PairedUnits.without_units(range=range)
    sums, sizes = unit_sums(gap, of_group)
    means = sums / sizes
    value = math.fsum(means) / means.size
    # By how much the score moves with one row: 1 over subtasks times rows of its subtask.
    pull = 1.0 / (sizes.size * sizes[of_group])
    contributions = gap * pull
    residuals = gap - means[of_group]
    bound = range * gap.size / (sizes.size * float(np.min(sizes)))
    if codes is None:
        errors = residuals * pull
        return PairedUnits(
            value=value,
            stderr=_macro_stderr(gap, residuals, of_group, sizes),
            degrees=gap.size - 1.0,
            units=float(gap.size),
            changed=effective(np.sort(contributions)),
            range=bound,
            below=max(float(np.max(-errors)), 0.0),
            above=max(float(np.max(errors)), 0.0),
            moved=int(np.count_nonzero(contributions)),
            widest=range,
        )
    codes = cluster_codes(codes[kept])
    errors, rows = unit_sums(residuals * pull, codes)
    unit_contributions, _ = unit_sums(contributions, codes)
    evidence = PairedUnits.of(value, errors, rows / gap.size, unit_contributions, bound)
    return replace(evidence, widest=range)


def _macro_stderr(
    gap: Floats, residuals: Floats, of_group: NDArray[np.int64], sizes: Floats
) -> float:
    """Standard error of a macro average of independent rows that keep their subtask."""
    squares = np.bincount(of_group, weights=residuals**2)
    overall = float(np.var(gap, ddof=1)) if gap.size > 1 else 0.0
    variances = np.where(sizes > 1, squares / np.maximum(sizes - 1, 1), overall)
    return math.sqrt(math.fsum(variances / sizes)) / sizes.size


def paired_jackknife(
    candidate: float,
    baseline: float,
    without: ArrayLike,
    changed: ArrayLike,
    weights: ArrayLike | None = None,
) -> PairedUnits:
    r"""Difference of any score, from its values with one unit left out at a time.

    e_g = (1 - w_g) (D - D_without_g), the jackknife influence (Efron and Stein 1981), centred; then
    the paired interval with pseudo-rows, with R the largest less the smallest e_g / w_g within one
    run. For a mean this is `paired_mean`.

    Args:
        candidate: Score of all units of the run under test.
        baseline: Score of all units of the other run.
        without: Shape [units, 2]: both scores with that unit left out.
        changed: Whether anything of the unit differs between the runs.
        weights: Rows in each unit; equal by default.

    Raises:
        ValueError: shapes differ.
    """
    scores_without = np.asarray(without, dtype=np.float64)
    moved = np.asarray(changed, dtype=bool).ravel()
    if scores_without.shape != (moved.size, 2):
        raise ValueError(f"left-out values of shape {scores_without.shape}, {moved.size} units")
    difference = candidate - baseline
    if moved.size == 0:
        return PairedUnits.without_units(difference)
    rows = row_weights(weights, moved.size)
    w = rows / math.fsum(rows)
    # Two columns: of the run under test, and of the other.
    column = w[:, None]
    influence = (1.0 - column) * (np.array([candidate, baseline]) - scores_without)
    influence = influence - column * np.sum(influence, axis=0)
    relative = influence / column
    spreads = np.max(relative, axis=0) - np.min(relative, axis=0)
    bound = float(np.max(spreads))
    errors = influence[:, 0] - influence[:, 1]
    return PairedUnits.of(difference, errors, w, errors[moved], bound or None)
