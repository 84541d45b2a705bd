"""The suite scores that need no code: means over rows, over subtasks, over other scores."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from custom_metrics import statistics
from evalprep.results import TaskRun
from evalprep.samples import UNKNOWN, Table
from evalprep.score.estimate import NO_NUMBER, WITHOUT_SPREAD, Estimate
from evalprep.score.result import Result

_NOT_FINITE = "the mean of such large scores is not finite"


@dataclass
class Scored:
    """Rows of one or several tasks as one column.

    Args:
        values: Scores.
        weights: Observations behind each value.
        groups: Subtask code per row; tasks without subtasks are one subtask each.
        names: Subtask names.
        clusters: Cluster code per row, or None when every row stands alone.
        unscored: Rows without a number.
        keys: What each row shares with others: its document, else the row itself; the same in every
            run.
        bounds: Least and greatest value, None for an open end; None where nothing is known of them.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]
    names: list[str]
    clusters: NDArray[np.int64] | None
    unscored: int
    keys: list[str] = field(default_factory=list, repr=False)
    bounds: statistics.Bounds | None = None

    def document_codes(self) -> NDArray[np.int64]:
        """Returns the document of each row; a row that stands alone is one by itself."""
        if self.clusters is None:
            return np.arange(self.values.size)
        return self.clusters

    def of_group(self, code: int) -> Scored:
        """Returns the rows of one subtask."""
        rows = self.groups == code
        clusters = None if self.clusters is None else self.clusters[rows]
        if clusters is not None and np.unique(clusters).size == clusters.size:
            clusters = None  # the shared documents are elsewhere in the task
        return Scored(
            values=self.values[rows],
            weights=self.weights[rows],
            groups=self.groups[rows],
            names=self.names,
            clusters=clusters,
            unscored=0,
            bounds=self.bounds,
        )


@dataclass
class _Gathering:
    """The rows of several tasks, as they are put together task by task."""

    values: list[NDArray[np.float64]] = field(default_factory=list)
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    groups: list[NDArray[np.int64]] = field(default_factory=list)
    clusters: list[NDArray[np.int64]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    unscored: int = 0
    known_bounds: set[statistics.Bounds | None] = field(default_factory=set)
    next_cluster: int = 0
    has_documents: bool = False

    def add(self, task_name: str, table: Table, metric: str, *, with_keys: bool) -> None:
        """Adds the rows of one task that have a number."""
        column = table.numbers(metric)
        known = ~np.isnan(column)
        count = int(known.sum())
        self.unscored += len(table) - count
        if with_keys:
            ids, codes = table.distinct_ids.at(np.flatnonzero(known)), table.cluster[known].tolist()
            self.keys += [
                f"{task_name}#{row_id}"
                if code == UNKNOWN
                else f"{task_name}##{table.clusters[code]}"
                for row_id, code in zip(ids, codes, strict=True)
            ]
        self.values.append(column[known])
        weights = table.weights.get(metric)
        self.weights.append(np.ones(count) if weights is None else weights[known])
        codes, subtasks = _subtasks(table, task_name)
        self.groups.append(codes[known] + len(self.names))
        self.names += subtasks
        self._add_clusters(table, table.cluster[known])

    def _add_clusters(self, table: Table, codes: NDArray[np.int64]) -> None:
        """Adds the documents of a task's rows; a row without one gets a code of its own."""
        self.has_documents = self.has_documents or bool(table.clusters)
        documents = len(table.clusters)
        is_alone = codes == UNKNOWN
        codes_alone = documents + np.cumsum(is_alone) - 1
        own = np.where(is_alone, codes_alone, codes)
        self.clusters.append(own + self.next_cluster)
        self.next_cluster += documents + int(is_alone.sum())

    def scored(self) -> Scored:
        """Returns the rows of all tasks as one column."""
        if not self.values:
            no_groups = np.empty(0, dtype=np.int64)
            return Scored(
                values=np.empty(0),
                weights=np.empty(0),
                groups=no_groups,
                names=[],
                clusters=None,
                unscored=0,
            )
        values = np.concatenate(self.values)
        clusters = np.concatenate(self.clusters)
        is_shared = self.has_documents and np.unique(clusters).size < clusters.size
        # Of all tasks, where they have the same.
        bounds = next(iter(self.known_bounds)) if len(self.known_bounds) == 1 else None
        return Scored(
            values=values,
            weights=np.concatenate(self.weights),
            groups=np.concatenate(self.groups),
            names=self.names,
            clusters=clusters if is_shared else None,
            unscored=self.unscored,
            keys=self.keys,
            # Of all rows: a part of them may lie between 0 and 1 where the others do not.
            bounds=statistics.mean_bounds(values, bounds),
        )


def collect(
    tasks: Mapping[str, TaskRun], params: Mapping[str, Any], *, with_keys: bool = False
) -> Scored:
    """Puts the rows of some tasks together; `params` may name `metric` and `filter`."""
    gathering = _Gathering()
    for task_name, task in tasks.items():
        table = task.table(params.get("filter"))
        metric = str(params.get("metric") or task.primary.metric)
        gathering.add(task_name, table, metric, with_keys=with_keys)
        gathering.known_bounds.add(_bounds_of(task, metric))
    return gathering.scored()


def _bounds_of(task: TaskRun, name: str) -> statistics.Bounds | None:
    """The bounds of a metric by its name; None where nothing is known of it."""
    for metric in (task.primary, *task.metrics):
        if metric.metric == name:
            return metric.bounds
    return None


def _subtasks(table: Table, task_name: str) -> tuple[NDArray[np.int64], list[str]]:
    """The code of each row's subtask, and the names of the subtasks."""
    if not table.subtasks:
        return np.zeros(len(table), dtype=np.int64), [task_name]
    names = list(table.subtasks)
    is_unknown = table.subtask == UNKNOWN
    if is_unknown.any():
        codes = np.where(is_unknown, len(names), table.subtask)
        return codes, [*names, f"{task_name} without subtask"]
    return table.subtask, names


def _estimate(
    value: float,
    stderr: float,
    scored: Scored,
    rule: str,
    *,
    degrees: int,
    errors: NDArray[np.float64],
) -> Estimate:
    """A value with the interval of a mean whose standard error is known.

    Args:
        value: The score.
        stderr: Its standard error.
        scored: The rows.
        rule: What it is a mean of.
        degrees: Of freedom of the standard error.
        errors: By how much each row moves the value.
    """
    documents = None if scored.clusters is None else _distinct(scored.clusters)
    estimate = Estimate(
        value=value,
        n=int(scored.values.size),
        rule=rule,
        clusters=documents,
        skipped=_skipped(scored),
    )
    if math.isnan(stderr) or degrees <= 0:
        return estimate
    bounds = statistics.mean_bounds(scored.values, scored.bounds)
    interval = statistics.known_error_interval(
        value, stderr, degrees, errors, scored.document_codes(), bounds
    )
    return with_interval(replace(estimate, stderr=stderr), interval)


def with_interval(estimate: Estimate, interval: tuple[float, float] | None) -> Estimate:
    """Returns an estimate with its interval, or with a note where rows without spread have none."""
    if interval is None and estimate.stderr is not None:
        return replace(estimate, notes=(*estimate.notes, WITHOUT_SPREAD))
    return replace(estimate, interval=interval)


def _distinct(codes: NDArray[np.int64]) -> int:
    return int(np.unique(codes).size)


def _finite(over: Callable[[Scored], Estimate]) -> Callable[[Scored], Estimate]:
    """Says that a number is not finite.

    Scores of 1e308 leave the range of numbers where they are added or squared.
    """

    @functools.wraps(over)
    def guarded(scored: Scored) -> Estimate:
        with np.errstate(over="ignore", invalid="ignore"):
            estimate = over(scored)
        if _is_out_of_range(estimate.value):
            return Estimate(n=estimate.n, reason=_NOT_FINITE, skipped=_skipped(scored))
        if _is_out_of_range(estimate.stderr):
            note = "no interval: the spread of such large scores is not finite"
            return replace(estimate, stderr=None, interval=None, notes=(note,))
        return estimate

    return guarded


def _is_out_of_range(number: float | None) -> bool:
    return number is not None and not math.isfinite(number)


def _without_scores(scored: Scored) -> Estimate:
    """The estimate of rows none of which has a score."""
    return Estimate(n=0, reason="no row has a score", skipped=_skipped(scored))


def _skipped(scored: Scored) -> dict[str, int]:
    if scored.unscored:
        return {NO_NUMBER: scored.unscored}
    return {}


@_finite
def micro(scored: Scored) -> Estimate:
    """Mean over rows (over all items where the metric returns lists), with its standard error.

    Rows that share a document make the clustered error; see
    `custom_metrics.statistics.clustered_stderr`.
    """
    if scored.values.size == 0:
        return _without_scores(scored)
    total = float(scored.weights.sum())
    estimate = Estimate(
        value=statistics.sum_of_products(scored.values, scored.weights) / total,
        n=int(scored.values.size),
        rule="mean over rows",
        clusters=None if scored.clusters is None else _distinct(scored.clusters),
        skipped=_skipped(scored),
    )
    rows, units, weights = scored.values, scored.clusters, scored.weights
    stderr = statistics.rows_stderr(rows, units, weights=weights)
    if math.isnan(stderr):
        return estimate
    interval = statistics.rows_interval(
        rows, units, weights=weights, bounds=scored.bounds, stderr=stderr
    )
    return with_interval(replace(estimate, stderr=stderr), interval)


def over_documents(
    values: Sequence[float], documents: Sequence[str], bounds: statistics.Bounds | None
) -> Estimate:
    """The mean over rows that share documents; bounds of the score where they are known."""
    numbers = np.array(values, dtype=np.float64)
    weights = np.ones_like(numbers)
    codes = _codes(np.array(documents)).astype(np.int64)
    groups = np.zeros(codes.size, dtype=np.int64)
    return micro(
        Scored(
            values=numbers,
            weights=weights,
            groups=groups,
            names=[""],
            clusters=codes,
            unscored=0,
            bounds=bounds,
        )
    )


def _codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each value among the distinct ones."""
    return np.unique(values, return_inverse=True)[1]


class _Subtasks(msgspec.Struct, frozen=True):
    """The means of subtasks.

    Args:
        weights: Observations of each subtask.
        rows: Rows of each subtask.
        means: Mean of each subtask; 0 of one without rows.
    """

    weights: NDArray[np.float64]
    rows: NDArray[np.int64]
    means: NDArray[np.float64]

    @classmethod
    def of(cls, scored: Scored) -> _Subtasks:
        size = len(scored.names)
        groups = scored.groups
        weighted = scored.values * scored.weights
        weights = np.bincount(groups, weights=scored.weights, minlength=size)
        sums = np.bincount(groups, weights=weighted, minlength=size)
        rows = np.bincount(groups, minlength=size)
        means = np.divide(sums, weights, out=np.zeros(size), where=weights > 0)
        return cls(weights.astype(np.float64), rows, means)

    def deviations(self, scored: Scored) -> NDArray[np.float64]:
        """Returns by how much each row differs from the centre of its stratum."""
        return scored.values - self._centres[scored.groups]

    @property
    def alone(self) -> NDArray[np.bool_]:
        """True for subtasks of one row, which shows no spread of its own.

        Together they are one stratum (collapsed strata; Cochran 1977, 5A.12).
        """
        is_alone: NDArray[np.bool_] = self.rows == 1
        return is_alone

    @property
    def _centres(self) -> NDArray[np.float64]:
        """The mean of each subtask; that of all lone rows, and of all subtasks for a single one."""
        lone = self.means[self.alone]
        if not lone.size:
            return self.means
        centre = float(np.mean(lone if lone.size > 1 else self.means[self.rows > 0]))
        return np.where(self.alone, centre, self.means)

    @property
    def count(self) -> int:
        """Returns how many subtasks have rows."""
        return int(np.sum(self.weights > 0))


@_finite
def macro(scored: Scored) -> Estimate:
    r"""Mean of subtask means, with its standard error.

    sqrt(sum_c (sum_{i in c} (x_i - mean_k(i)) f_k / (K n_k))^2) over clusters c, K subtasks of n_k
    rows, with f_k = sqrt(n_k / (n_k - 1)); for rows that stand alone this is sqrt(sum_k se_k^2) /
    K. The S subtasks of one row are one stratum: mean_k is their mean, n_k is S in f_k.
    """
    if scored.values.size == 0:
        return _without_scores(scored)
    subtasks = _Subtasks.of(scored)
    rows = subtasks.rows
    present = rows > 0
    count = int(present.sum())
    lone = int(subtasks.alone.sum())
    sizes = np.where(subtasks.alone, lone, rows)
    correction = np.sqrt(np.divide(sizes, sizes - 1, out=np.ones(rows.size), where=sizes > 1))
    weights = np.where(present, subtasks.weights, 1.0)
    share = correction / (count * weights)
    deviations = subtasks.deviations(scored)
    errors = deviations * scored.weights * share[scored.groups]
    units = errors
    degrees = errors.size - count + max(lone - 1, 0)
    if scored.clusters is not None:
        units = np.bincount(_codes(scored.clusters), weights=errors)
        degrees = units.size - 1
    value = float(subtasks.means[present].mean())
    stderr = math.sqrt(statistics.sum_of_products(units, units))
    rule = f"mean of {count} subtask means"
    estimate = _estimate(value, stderr, scored, rule, degrees=degrees, errors=errors)
    columns = zip(scored.names, subtasks.means, subtasks.rows, strict=True)
    means = {name: float(average) for name, average, rows in columns if rows}
    return replace(estimate, parts=means)


def mean(inputs: Mapping[str, Result], tasks_of: Mapping[str, Sequence[str]]) -> Estimate:
    """Mean of other scores; its error sqrt(sum se^2) / k is given only where they share no task.

    Args:
        inputs: Score name -> result.
        tasks_of: Score name -> every task behind it.
    """
    values = {name: result.value for name, result in inputs.items()}
    if not values:
        return Estimate(reason="no value of any score")
    absent = [name for name, value in values.items() if value is None]
    if absent:
        return Estimate(reason=f"no value of {', '.join(absent)}")
    numbers = [value for value in values.values() if value is not None]
    value = sum(numbers) / len(numbers)
    if not math.isfinite(value):
        return Estimate(reason=_NOT_FINITE, parts=values)
    estimate = Estimate(value=value, rule=f"mean of {len(values)} scores", parts=values)
    stderr = _error_of_mean(inputs, tasks_of)
    if stderr is None:
        return estimate
    half = statistics.critical_value(0.95) * stderr
    return replace(estimate, stderr=stderr, interval=(value - half, value + half))


def _error_of_mean(
    inputs: Mapping[str, Result], tasks_of: Mapping[str, Sequence[str]]
) -> float | None:
    """sqrt(sum se^2) / k; None where scores share a task, or one has no error."""
    tasks: list[str] = []
    for name in inputs:
        tasks += tasks_of.get(name, ())
    errors = [result.stderr for result in inputs.values()]
    known = [error for error in errors if isinstance(error, float)]
    has_shared_task = len(set(tasks)) < len(tasks)
    if has_shared_task or len(known) < len(errors):
        return None
    return math.hypot(*known) / len(known)


def influence(function: str, scored: Scored) -> statistics.Influence:
    """The amount that each row adds to `micro` or `macro`; `scored` with keys."""
    values, weights = scored.values, scored.weights
    if function == "micro":
        return statistics.influence_of_mean(scored.keys, values, weights)
    subtasks = _Subtasks.of(scored)
    weights_of_subtask = subtasks.weights[scored.groups]
    share = weights / (subtasks.count * weights_of_subtask)
    influence_of_row = subtasks.deviations(scored) * share
    raw = list(zip(values.tolist(), weights.tolist(), strict=True))
    return statistics.gathered_influence(scored.keys, influence_of_row, raw)


def mean_influence(results: Iterable[Result]) -> statistics.Influence | None:
    """The amount that each row adds to a mean of scores; None where one of them does not say."""
    return statistics.mean_influence(result.influence() for result in results)
