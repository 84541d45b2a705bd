"""Two runs over the rows that both have scored: what suite scores of two runs are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.compare.pairing import Floats
from evalprep.results import MADE_FROM, Run, TaskRun
from evalprep.samples import UNKNOWN, Ids, PairRules, Table, pair_rows

_NO_SUBTASK = "rows without a subtask"


class LoneRows(msgspec.Struct, frozen=True):
    """The rows of one subtask of a task: its pairs, and the scores that one side alone has.

    Attributes:
        task: The task.
        subtask: The subtask, or the task where it has none.
        pairs: Rows with a score on both sides.
        now, before: Scores of the candidate that the baseline lacks, and the reverse.
        unknown: Rows that neither side has.
    """

    task: str
    subtask: str
    pairs: int
    now: Floats
    before: Floats
    unknown: float = 0.0

    @property
    def rows(self) -> int:
        """Rows that any side has."""
        return self.pairs + int(self.now.size + self.before.size)


class SharedTask(msgspec.Struct, frozen=True):
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

    def lone_rows(self, params: Mapping[str, Any], *, any_score: bool) -> list[LoneRows]:
        """The rows of each subtask of either side, by the sides that have a score of them.

        Args:
            params: May name the `metric` and the `filter` that are read.
            any_score: Whether rows without a score count as rows, as for a function of replies.
        """
        now, before = (self._by_subtask(place, params, any_score=any_score) for place in (0, 1))
        absent = 0, np.zeros(0)
        return [
            LoneRows(self.name, name, *now.get(name, absent), before.get(name, absent)[1])
            for name in dict.fromkeys([*now, *before])
        ]

    def _by_subtask(
        self, place: int, params: Mapping[str, Any], *, any_score: bool
    ) -> dict[str, tuple[int, Floats]]:
        """Each subtask of one side: the number of its pairs, and the scores without a partner."""
        own, filter_name = self.own[place], params.get("filter")
        table, shared = own.table(filter_name), self.sides[place].table(filter_name)
        rows = np.arange(len(shared))
        values = np.full(len(table), 0.5) if any_score else _numbers(own, params)
        if not any_score:
            scored = self.scored(params)
            rows = rows[scored] if scored.size == rows.size else rows[:0]
        is_lone = np.isfinite(values)
        is_lone[shared.places[rows]] = False
        lone = np.flatnonzero(is_lone)
        has_some = any(task.table(filter_name).subtasks for task in self.own)
        if has_some and not table.subtasks:
            lone = lone[:0]  # no subtask of their own; they count as rows that neither side has
        unnamed = _NO_SUBTASK if has_some else self.name
        # The code of a row without a subtask is -1, that of the last name.
        names, own_names = [*shared.subtasks, unnamed], [*table.subtasks, unnamed]
        codes, counts = np.unique(shared.subtask[rows], return_counts=True)
        pairs = {names[code]: count for code, count in zip(codes, counts.tolist(), strict=True)}
        own_codes = table.subtask[lone]
        scores = {own_names[code]: values[lone[own_codes == code]] for code in np.unique(own_codes)}
        return {
            name: (pairs.get(name, 0), scores.get(name, np.zeros(0)))
            for name in dict.fromkeys([*pairs, *scores])
        }

    def unpaired_subtasks(self, params: Mapping[str, Any]) -> list[str]:
        """The subtasks of either side of which no row has a number on both sides."""
        sides = [self._by_subtask(place, params, any_score=False) for place in (0, 1)]
        paired = {self.name}
        for side in sides:
            paired |= {name for name, (pairs, _) in side.items() if pairs}
        every = dict.fromkeys(chain.from_iterable(map(sorted, sides)))
        return [name for name in every if name not in paired]


def _numbers(task: TaskRun, params: Mapping[str, Any]) -> Floats:
    metric = str(params.get("metric") or task.primary.metric)
    return task.table(params.get("filter")).numbers(metric)


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
        if is_made(task) or is_made(against):
            continue
        shared[name] = _shared_task(task, against, rules, any_gold=any_gold)
    return shared


def is_made(task: TaskRun) -> bool:
    """Returns whether a task is a later stage: each model's own replies make its rows."""
    first = next(task.samples(), None)
    return first is not None and MADE_FROM in first.doc


def _shared_task(
    task: TaskRun, against: TaskRun, rules: PairRules, *, any_gold: bool
) -> SharedTask:
    filters = [(name, name) for name in task.table().filters if name in against.table().filters]
    filters.append((task.primary.filter, against.primary.filter))
    kept: dict[str, Table] = {}
    other_kept: dict[str, Table] = {}
    whole = [True, True]
    for own_filter, other_filter in dict.fromkeys(filters):
        tables = task.table(own_filter), against.table(other_filter)
        paired = pair_rows(*tables, tools=(task.tool, against.tool), rules=rules)
        counts = paired.kept(rules, any_gold=any_gold)
        rows = paired.left[counts], paired.right[counts]
        metrics = [(name, name) for name in tables[0].metrics if name in tables[1].metrics]
        if (own_filter, other_filter) == (task.primary.filter, against.primary.filter):
            metrics.append((task.primary.metric, against.primary.metric))
        lacking = _lacking(tables, rows, metrics)
        is_whole = [_has_all(tables[place], rows[place]) for place in (0, 1)]
        is_whole[1] = is_whole[1] and tables[0].distinct_ids == tables[1].distinct_ids
        is_alike = _weigh_alike(tables, rows)
        for place in (0, 1):
            whole[place] = whole[place] and is_whole[place] and not lacking[place] and is_alike
        if not all(is_whole) or any(lacking) or not is_alike:
            ids = Ids.of(tables[0].distinct_ids.at(rows[0]))
            shared = tables[0].kept(rows[0], ids), tables[1].kept(rows[1], ids)
            if not is_alike:
                shared = _weighed_alike(*shared)
            kept[own_filter], other_kept[other_filter] = _masked(*shared, metrics)
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


def _weigh_alike(
    tables: tuple[Table, Table], rows: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> bool:
    """True where both sides give their shared rows the same subtasks and weights."""
    (table, own), (other, base) = zip(tables, rows, strict=True)
    has_same_codes = np.array_equal(table.subtask[own], other.subtask[base])
    if not (has_same_codes and table.subtasks == other.subtasks) and (
        _subtask_names(table, own) != _subtask_names(other, base)
    ):
        return False
    return table.weights.keys() == other.weights.keys() and all(
        np.array_equal(weights[own], other.weights[name][base])
        for name, weights in table.weights.items()
    )


def _subtask_names(table: Table, rows: NDArray[np.int64]) -> list[str]:
    """The subtask of each of some rows; empty for a row without one."""
    names = [*table.subtasks, ""]  # the code for none is -1
    return [names[code] for code in table.subtask[rows].tolist()]


def _weighed_alike(table: Table, other: Table) -> tuple[Table, Table]:
    """The shared rows of both sides, each weighing the same, with a subtask that both have.

    That of the only side that has one; where they differ, both names.
    """
    every = np.arange(len(table))
    pairs = zip(_subtask_names(table, every), _subtask_names(other, every), strict=True)
    names = [" / ".join(sorted(filter(None, {own, base}))) for own, base in pairs]
    subtasks = list(dict.fromkeys(filter(None, names)))
    place_of = {name: place for place, name in enumerate(subtasks)} | {"": UNKNOWN}
    codes = np.array([place_of[name] for name in names], dtype=np.int64)
    return (
        replace(table, subtask=codes, subtasks=subtasks, weights={}),
        replace(other, subtask=codes, subtasks=subtasks, weights={}),
    )


def _masked(table: Table, other: Table, names: Collection[tuple[str, str]]) -> tuple[Table, Table]:
    """The shared rows of both sides without the numbers that one side alone has."""
    metrics, other_metrics = dict(table.metrics), dict(other.metrics)
    for name, other_name in names:
        # A side that lost the metric has no name for it, and no number.
        now, before = table.numbers(name), other.numbers(other_name)
        known = np.isfinite(now) & np.isfinite(before)
        if name:  # else no metric stands for the task of a side
            metrics[name] = np.where(known, now, np.nan)
        if other_name:
            other_metrics[other_name] = np.where(known, before, np.nan)
    return replace(table, metrics=metrics), replace(other, metrics=other_metrics)


def with_shared_rows(
    run: Run, shared: Mapping[str, SharedTask], place: int, lone: Collection[str] = ()
) -> Run:
    """A run over the shared rows alone.

    Args:
        run: The candidate, or the baseline.
        shared: The tasks that both have.
        place: 0 for the candidate, 1 for the baseline.
        lone: Tasks that one side alone has, without which both are read.
    """
    tasks = {name: task.sides[place] for name, task in shared.items()}
    own = {name: task for name, task in run.tasks.items() if name not in lone}
    return replace(run, tasks={**own, **tasks})


def lone_tasks(run: Run, other: Run, names: Collection[str]) -> frozenset[str]:
    """Those of some tasks of which one run has samples, and the other neither these nor a value.

    None of a log, which states scores without tasks.
    """
    if run.stated or other.stated:
        return frozenset()
    return frozenset(
        name
        for name in names
        if (name in run.tasks) != (name in other.tasks)
        and name not in {**run.stored, **other.stored}
    )
