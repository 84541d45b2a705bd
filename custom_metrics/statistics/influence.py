"""The influence of each unit on a score: enough for a paired interval of any score over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from custom_metrics.statistics.corpus import gradient
from custom_metrics.statistics.mean import (
    Floats,
    flat_floats,
    row_weights,
    sum_of_products,
    sums_of_products,
)
from custom_metrics.statistics.row_mean import units_interval
from custom_metrics.statistics.score import Interval
from custom_metrics.statistics.units import PairedUnits


class Unit(NamedTuple):
    """One row, or rows that belong together.

    Args:
        influence: By how much the score would move if the unit weighed more (infinitesimal
            jackknife, Jaeckel 1972); the influences of all units sum to 0.
        raw: What the unit was scored from; a unit changed between two runs where this differs.
        rows: Number of rows.
    """

    influence: float
    raw: Hashable
    rows: int


_ROUNDING = 1e-12  # of the largest influence, up to which two are equal
_NO_UNIT = Unit(0.0, None, 0)
"""Stands for a unit that a run or a part does not have."""


@dataclass(frozen=True)
class Influence:
    """The influences of a score in one run, by unit.

    Args:
        units: Key of a unit -> the unit. Rows of several tasks that ask the same question share a
            key.
        range: Rows times the largest less the smallest influence of one row.
        values: Key of a row -> its value, for a score that is the plain mean of these; None else.
    """

    units: Mapping[str, Unit]
    range: float
    values: Mapping[str, float] | None = None

    @property
    def rows(self) -> int:
        """Rows of all units."""
        return sum(unit.rows for unit in self.units.values())


def gathered_influence(
    keys: Sequence[str], influence: Floats, raw: Sequence[Hashable]
) -> Influence:
    """Influences of rows, put together by unit."""
    spread = influence.size * float(np.ptp(influence)) if influence.size else 0.0
    if len(set(keys)) == len(keys):  # each row alone, as a rule
        rows = zip(keys, influence.tolist(), raw, strict=True)
        return Influence({key: Unit(value, (source,), 1) for key, value, source in rows}, spread)
    sums: dict[str, list[float]] = {}
    raws: dict[str, list[Hashable]] = {}
    for key, value, source in zip(keys, influence.tolist(), raw, strict=True):
        sums.setdefault(key, []).append(value)
        raws.setdefault(key, []).append(source)
    units: dict[str, Unit] = {}
    for key, values in sums.items():
        in_any_order = tuple(sorted(raws[key], key=repr))  # two runs may have other orders of rows
        units[key] = Unit(influence=math.fsum(values), raw=in_any_order, rows=len(values))
    return Influence(units, spread)


def influence_of_counts(
    keys: Sequence[str], counts: ArrayLike, value: Callable[[Floats], float]
) -> Influence:
    """Influences on a score that is a function of counts which add up over rows.

    Args:
        keys: Unit of each row.
        counts: One line per row, one column per count.
        value: The score of the summed counts.
    """
    lines = np.asarray(counts, dtype=np.float64).reshape(len(keys), -1)
    if not len(keys):
        return Influence({}, 0.0)
    slopes = gradient(value, lines.sum(axis=0))
    influence = sums_of_products(lines, slopes)
    influence = influence - float(np.mean(influence))
    return gathered_influence(keys, influence, [tuple(line) for line in lines.tolist()])


def influence_of_mean(
    keys: Sequence[str], values: ArrayLike, weights: ArrayLike | None = None
) -> Influence:
    """Influences on a (weighted) mean of rows: w_i (x_i - mean) / sum w.

    With the values of the rows where each stands alone and all weigh the same: the exact paired
    tests apply.
    """
    x = flat_floats(values)
    w = row_weights(weights, x.size)
    if not x.size:
        return Influence({}, 0.0)
    total = float(np.sum(w))
    mean = sum_of_products(w, x) / total
    influence = gathered_influence(
        keys, w * (x - mean) / total, list(zip(x.tolist(), w.tolist(), strict=True))
    )
    is_plain = len(influence.units) == x.size and bool(np.all(w == w[0]))
    if not is_plain:
        return replace(influence, values=None)
    return replace(influence, values=dict(zip(keys, x.tolist(), strict=True)))


def influence_of_rows(values: Mapping[str, float]) -> Influence:
    """Influences on the plain mean of rows, by the key of each row."""
    return influence_of_mean(list(values), list(values.values()))


def influence_of_auc(
    higher_keys: Sequence[str], higher: ArrayLike, lower_keys: Sequence[str], lower: ArrayLike
) -> Influence:
    """Influences on an AUC.

    The AUC is the share of pairs in which a row of the one side lies above a row of the other.
    A row's influence is its share of pairs won (ties half) less the AUC, over the rows of its side:
    the placements of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988), whose paired test
    the paired interval then is, with t for z.

    Args:
        higher_keys: Unit of each row of the side that is to lie above.
        higher: Its scores.
        lower_keys: Unit of each row of the other side.
        lower: Its scores.
    """
    above = flat_floats(higher)
    below = flat_floats(lower)
    if not above.size or not below.size:
        return Influence({}, 0.0)
    above_wins = _placements(above, below)
    below_wins = 1 - _placements(below, above)
    auc = float(np.mean(above_wins))
    influence = np.concatenate([(above_wins - auc) / above.size, (below_wins - auc) / below.size])
    raw = [(0, value) for value in above.tolist()]
    raw += [(1, value) for value in below.tolist()]
    return gathered_influence([*higher_keys, *lower_keys], influence, raw)


def _placements(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others that lie below it, ties half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    return (below + up_to) / (2.0 * others.size)


def influence_of(result: Mapping[str, Any]) -> Influence | None:
    """The influences that the result of a score carries.

    They are computed now where the result carries a function that computes them.
    """
    carried = result.get("influence")
    influence = carried() if callable(carried) else carried
    return influence if isinstance(influence, Influence) else None


def combined_influence(parts: Iterable[tuple[float, Influence]]) -> Influence:
    """Influences on a function of other scores.

    They are the sum of the influences of those, each times the derivative by that score.
    """
    terms = list(parts)
    keys = dict.fromkeys(chain.from_iterable(part.units for _, part in terms))
    units: dict[str, Unit] = {}
    for key in keys:
        weighted_units = [(slope, part.units.get(key, _NO_UNIT)) for slope, part in terms]
        units[key] = _weighted_sum(weighted_units)
    if not units:
        return Influence(units, 0.0)
    relative = [unit.influence / max(unit.rows, 1) for unit in units.values()]
    rows = sum(unit.rows for unit in units.values())
    spread = rows * (max(relative) - min(relative))
    return Influence(units, spread)


def _weighted_sum(weighted_units: list[tuple[float, Unit]]) -> Unit:
    """One unit of several scores, each influence times the derivative by its score."""
    return Unit(
        influence=math.fsum(slope * unit.influence for slope, unit in weighted_units),
        raw=tuple(unit.raw for _, unit in weighted_units),
        rows=max(unit.rows for _, unit in weighted_units),
    )


def merged_influence(influence: Influence, documents: Mapping[str, str]) -> Influence:
    """The influences with the rows of one document as one unit.

    Args:
        influence: Of rows.
        documents: Key of a row -> key of its document; rows that are not there stay alone.

    Returns:
        The same object where no row has a document. `values` stay those of the rows.

    >>> rows = influence_of_mean(["a", "b", "c"], [1.0, 0.0, 0.0])
    >>> merged = merged_influence(rows, {"a": "x", "b": "x"})
    >>> {key: unit.rows for key, unit in merged.units.items()}
    {'x': 2, 'c': 1}
    """
    if not any(key in documents for key in influence.units):
        return influence
    members: dict[str, list[Unit]] = {}
    for key in sorted(influence.units):
        members.setdefault(documents.get(key, key), []).append(influence.units[key])
    units = {
        key: Unit(
            math.fsum(unit.influence for unit in of_document),
            tuple(unit.raw for unit in of_document),
            sum(unit.rows for unit in of_document),
        )
        for key, of_document in members.items()
    }
    return replace(influence, units=units)


def paired_influence(
    difference: float,
    candidate: Influence,
    baseline: Influence,
    documents: Mapping[str, int] = MappingProxyType({}),
) -> PairedUnits:
    """Paired interval with pseudo-rows for the difference of a score of two runs on the same units.

    e_g is the candidate's influence less the baseline's, R the larger of the two ranges.

    Args:
        difference: Of the two scores.
        candidate: The influences in the candidate.
        baseline: Those in the baseline.
        documents: Key of a row -> number of its document; any other row is a unit of its own.
    """
    members: dict[str | int, list[str]] = {}
    for key in sorted({*candidate.units, *baseline.units}):  # in any order of rows the same sums
        members.setdefault(documents.get(key, key), []).append(key)
    if not members:
        return PairedUnits.without_units(difference)
    sides: list[tuple[float, float]] = []
    rows: list[int] = []
    changes: list[bool] = []
    for keys in members.values():
        now = [candidate.units.get(key, _NO_UNIT) for key in keys]
        before = [baseline.units.get(key, _NO_UNIT) for key in keys]
        of_now, of_before = (math.fsum(unit.influence for unit in side) for side in (now, before))
        sides.append((of_now, of_before))
        rows.append(max(sum(unit.rows for unit in now), sum(unit.rows for unit in before), 1))
        changes.append([unit.raw for unit in now] != [unit.raw for unit in before])
    sizes = np.array(rows, dtype=np.float64)
    weights = sizes / float(np.sum(sizes))
    influences = np.array(sides)
    errors = influences[:, 0] - influences[:, 1]
    # Sums over the same rows in two orders differ in the last digits.
    errors[np.abs(errors) <= _ROUNDING * float(np.max(np.abs(influences)))] = 0.0
    errors = errors - weights * math.fsum(errors)
    changed = np.array(changes)
    bound = max(candidate.range, baseline.range)
    return PairedUnits.of(difference, errors, weights, errors[changed], bound or None)


def mean_influence(influences: Iterable[Influence | None]) -> Influence | None:
    """Influences on the plain mean of scores; None where one of them does not state its own."""
    parts = list(influences)
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return combined_influence((1 / len(known), part) for part in known)


def with_interval(
    result: Mapping[str, Any], influence: Influence, most: float = 1.0
) -> dict[str, Any]:
    """The result of a score with what each unit adds to it, and its interval where it has one.

    Args:
        result: With the value as `agg_value`.
        influence: What each unit adds to it.
        most: The upper bound of the score; the lower one is 0.
    """
    whole = {**result, "influence": influence}
    interval = bounded_interval(result["agg_value"], influence, 0.0, most)
    return whole if interval is None else {**whole, "interval": list(interval)}


def bounded_interval(
    value: float,
    influence: Influence,
    least: float = 0.0,
    most: float = 1.0,
    *,
    confidence: float = 0.95,
) -> Interval | None:
    r"""Interval of one run's score between two bounds.

    The interval with pseudo-rows for the distance from the middle of its range.

    Student's where at least 30 units effectively differ from the mean; with fewer, z^2 / 2
    pseudo-units at either bound join the real ones. A perfect score on few rows so has an interval
    with a width, and a score over several metrics of the same rows has those rows once, as its
    influences are put together by unit. The interval never leaves the bounds, and is the same in
    every order of the rows.

    Args:
        value: The score.
        influence: What each unit adds to it.
        least: Lower bound of the score.
        most: Its upper bound.
        confidence: Of the interval.

    Returns:
        Low and high end; None for fewer than two units, which tell nothing of their spread.

    >>> perfect = influence_of_mean([str(row) for row in range(12)], [1.0] * 12)
    >>> [round(end, 3) for end in bounded_interval(1.0, perfect)]
    [0.718, 1.0]
    """
    units = [influence.units[key] for key in sorted(influence.units)]
    if len(units) < 2:
        return None
    rows = np.array([max(unit.rows, 1) for unit in units], dtype=np.float64)
    weights = rows / float(np.sum(rows))
    errors = np.array([unit.influence for unit in units])
    errors = errors - weights * math.fsum(errors)
    return units_interval(value, errors, weights, least, most, confidence=confidence)
