"""Two runs over the rows that both have scored: what suite scores of two runs are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.levels import PairRules
from evalprep.compare.pairing import Floats, ScoredRows, with_run
from evalprep.results import MADE_FROM, KeptRows, Run, Table, TaskRun

_NO_SUBTASK = "rows without a subtask"


@dataclass(frozen=True)
class SharedTask:
    """One task of two runs over the rows that both have, in one order and under the same ids.

    Attributes:
        name: The task.
        own: The task of the candidate and of the baseline, with all of its rows.
        sides: The same with the shared rows alone.
        whole: For each side, whether that takes nothing from it.
    """

    name: str
    own: tuple[TaskRun, TaskRun]
    sides: tuple[TaskRun, TaskRun]
    whole: tuple[bool, bool]

    @property
    def has_row_scores(self) -> bool:
        """True where a side has a score of rows; else scores are made of its replies."""
        return any(task.primary.metric for task in self.own)

    def scored(self, params: Mapping[str, Any]) -> NDArray[np.bool_]:
        """For each shared row, True where both sides have a number.

        Args:
            params: May name the `metric` and the `filter` that are read.
        """
        now, before = (_numbers(task, params) for task in self.sides)
        if now.size != before.size:  # another filter is not shared
            return np.zeros(0, dtype=np.bool_)
        known: NDArray[np.bool_] = np.isfinite(now) & np.isfinite(before)
        return known

    def unpaired_subtasks(self, params: Mapping[str, Any]) -> list[str]:
        """The subtasks of either side of which no row has a number on both sides."""
        scored = self.scored(params)
        present: set[str] = set()
        for task in self.sides:
            table = task.table(params.get("filter"))
            if len(table) == scored.size:
                present |= _subtasks_of(table, table.subtask[scored])
        every: dict[str, None] = {}
        for own in self.own:
            table = own.table(params.get("filter"))
            every |= dict.fromkeys(sorted(_subtasks_of(table, table.subtask)))
        return [name for name in every if name not in present]


def _numbers(task: TaskRun, params: Mapping[str, Any]) -> Floats:
    metric = str(params.get("metric") or task.primary.metric)
    return task.table(params.get("filter")).numbers(metric)


def _subtasks_of(table: Table, codes: NDArray[np.int64]) -> set[str]:
    names = [*table.subtasks, _NO_SUBTASK]  # the last one is that of the code for none
    return {names[code] for code in np.unique(codes).tolist()} if table.subtasks else set()


def shared_tasks(
    run: Run, other: Run, names: Collection[str], rules: PairRules, *, any_gold: bool
) -> dict[str, SharedTask]:
    """Pairs the rows of those of some tasks that both runs have samples of.

    Left out are rows that one side lacks, rows that occur twice, and those with another gold
    answer. A number that one side lacks is taken from the other.

    Args:
        run: The candidate.
        other: The baseline.
        names: The tasks.
        rules: What the user decides about pairing.
        any_gold: Whether rows with other gold answers stay.
    """
    shared = {}
    for name in names:
        task, against = run.tasks.get(name), other.tasks.get(name)
        if task is None or against is None or task.values_only or against.values_only:
            continue  # scores of a log are paired by the values that it keeps
        if _is_made(task) or _is_made(against):
            continue
        shared[name] = _shared_task(task, against, rules, any_gold=any_gold)
    return shared


def _is_made(task: TaskRun) -> bool:
    """True for a later stage: each model's own replies make its rows, and no side lacks any."""
    first = next(task.samples(), None)
    return first is not None and MADE_FROM in first.doc


def _shared_task(
    task: TaskRun, against: TaskRun, rules: PairRules, *, any_gold: bool
) -> SharedTask:
    filters = [(name, name) for name in task.table().filters if name in against.table().filters]
    filters.append((task.primary.filter, against.primary.filter))
    kept: dict[str, KeptRows] = {}
    other_kept: dict[str, KeptRows] = {}
    whole = [True, True]
    for own_filter, other_filter in dict.fromkeys(filters):
        tables = task.table(own_filter), against.table(other_filter)
        pairs = with_run(
            ScoredRows(tables[0], np.zeros(len(tables[0])), task.tool),
            ScoredRows(tables[1], np.zeros(len(tables[1])), against.tool),
            rules,
            any_gold=any_gold,
        )
        metrics = [(name, name) for name in tables[0].metrics if name in tables[1].metrics]
        if (own_filter, other_filter) == (task.primary.filter, against.primary.filter):
            metrics.append((task.primary.metric, against.primary.metric))
        rows = pairs.rows, pairs.other_rows
        lacking = _lacking(tables, rows, metrics)
        is_whole = [_has_all(tables[place], rows[place]) for place in (0, 1)]
        is_whole[1] = is_whole[1] and tables[0].ids == tables[1].ids
        for place in (0, 1):
            whole[place] = whole[place] and is_whole[place] and not lacking[place]
        if not all(is_whole) or any(lacking):
            ids = [tables[0].ids[row] for row in pairs.rows.tolist()]
            shared = _masked(tables[0].kept(rows[0], ids), tables[1].kept(rows[1], ids), metrics)
            kept[own_filter] = KeptRows(shared[0], rows[0])
            other_kept[other_filter] = KeptRows(shared[1], rows[1])
    sides = replace(task, kept=kept), replace(against, kept=other_kept)
    return SharedTask(task.name, (task, against), sides, (whole[0], whole[1]))


def _has_all(table: Table, rows: NDArray[np.int64]) -> bool:
    """True where these are all rows of a table in their order."""
    return rows.size == len(table) and bool(np.array_equal(rows, np.arange(len(table))))


def _lacking(
    tables: tuple[Table, Table],
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    metrics: Collection[tuple[str, str]],
) -> tuple[bool, bool]:
    """For each side, whether it has a number in a shared row where the other has none."""
    is_lacking = [False, False]
    for name, other_name in metrics:
        known = np.isfinite(tables[0].numbers(name)[rows[0]])
        other_known = np.isfinite(tables[1].numbers(other_name)[rows[1]])
        is_lacking[0] |= bool(np.any(known & ~other_known))
        is_lacking[1] |= bool(np.any(other_known & ~known))
    return is_lacking[0], is_lacking[1]


def _masked(table: Table, other: Table, names: Collection[tuple[str, str]]) -> tuple[Table, Table]:
    """The shared rows of both sides without the numbers that one side alone has."""
    metrics, other_metrics = dict(table.metrics), dict(other.metrics)
    for name, other_name in names:
        # A side that lost the metric has no name for it, and no number.
        now, before = table.numbers(name), other.numbers(other_name)
        known = np.isfinite(now) & np.isfinite(before)
        metrics[name] = np.where(known, now, np.nan)
        other_metrics[other_name] = np.where(known, before, np.nan)
    return replace(table, metrics=metrics), replace(other, metrics=other_metrics)


def with_shared_rows(run: Run, shared: Mapping[str, SharedTask], place: int) -> Run:
    """A run over the shared rows alone.

    Args:
        run: The candidate, or the baseline.
        shared: The tasks that both have.
        place: 0 for the candidate, 1 for the baseline.
    """
    tasks = {name: task.sides[place] for name, task in shared.items()}
    return replace(run, tasks={**run.tasks, **tasks})
