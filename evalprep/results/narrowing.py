"""A part of a run: some of its tasks, the first rows of each."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import TypeVar

import msgspec

from evalprep.errors import BadInput, Problem, near
from evalprep.places import last_part
from evalprep.readers import GroupResults, RowCounts, TaskResults
from evalprep.results.effort import Efforts
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.samples import UNKNOWN, FirstSamples, Sample

_Task = TypeVar("_Task")


def runs_of_models(runs: Sequence[Run], patterns: Sequence[str]) -> list[Run]:
    """Returns the runs whose model, label or folder matches one of the patterns.

    Raises:
        BadInput: a pattern that matches no run.
    """
    names_of_run = [{run.model, last_part(run.model), run.label, _folder(run)} for run in runs]
    _refuse_unmatched(patterns, {_folder(run) for run in runs}, names_of_run, "--models")
    return [
        run
        for run, names in zip(runs, names_of_run, strict=True)
        if not patterns or matches(names, patterns)
    ]


def narrowed(run: Run, tasks: Sequence[str], max_rows: int | None) -> Run:
    """Returns a run with some of its tasks alone, and with the first rows of each.

    Args:
        run: The run.
        tasks: Names or patterns of tasks and groups; all tasks without one. A group stands for its
            tasks.
        max_rows: How many rows of each task count, in the order of their file; None for all.

    Raises:
        BadInput: a pattern that matches no task.
    """
    if not tasks and max_rows is None:
        return run
    known = {*run.tasks, *run.logged.tasks, *run.logged.groups, *run.unread}
    _refuse_unmatched(tasks, known, [{name} for name in known], "--tasks")
    chosen = {*_chosen(run.logged.groups, tasks)}
    patterns = [*tasks, *chain.from_iterable(map(run.logged.tasks_below, chosen))] if tasks else []
    own = _chosen(run.tasks, patterns)
    logged = _chosen(run.logged.tasks, patterns)
    groups = _groups_of(run, chosen, logged)
    notes = list(run.notes)
    if max_rows is not None:
        own = {name: _first_rows(task, max_rows) for name, task in own.items()}
        logged = {name: task.logged for name, task in own.items()}
        groups = {
            name: msgspec.structs.replace(group, metrics=()) for name, group in groups.items()
        }
        notes.append(f"the first {max_rows} rows of each task count (--limit)")
    results = msgspec.structs.replace(run.logged, tasks=logged, groups=groups)
    # What whole tasks took is not what their first rows took.
    efforts = run.efforts.of_tasks(logged) if max_rows is None else Efforts()
    return replace(
        run,
        logged=results,
        tasks=own,
        unread=_chosen(run.unread, patterns),
        notes=notes,
        efforts=efforts,
        first_rows_only=max_rows is not None,
    )


def _groups_of(
    run: Run, chosen: Collection[str], tasks: Mapping[str, TaskResults]
) -> dict[str, GroupResults]:
    """The groups of a run that are chosen themselves, or of which every task is kept."""
    kept = {}
    for name, group in run.logged.groups.items():
        of_group = run.logged.tasks_below(name)
        if name in chosen or (of_group and tasks.keys() >= set(of_group)):
            kept[name] = group
    return kept


def _first_rows(task: TaskRun, count: int) -> TaskRun:
    """A task with its first rows alone; a row has a sample under each filter."""
    all_rows: set[str] = set()
    first_rows: set[str] = set()
    numbers = set()
    for number, (_, item) in enumerate(task.source.placed()):
        place = item.doc_id if isinstance(item, Sample) else UNKNOWN
        row = f"line {number}" if place == UNKNOWN else f"row {place}"
        all_rows.add(row)
        if len(first_rows) < count:
            first_rows.add(row)
        if row in first_rows:
            numbers.add(number)
    original = task.logged.rows.original or len(all_rows)
    rows = RowCounts(original=original, effective=len(first_rows))
    first = FirstSamples(task.source, numbers)
    return replace(task, source=first, logged=_without_values(task.logged, rows), _tables={})


def _without_values(logged: TaskResults, rows: RowCounts) -> TaskResults:
    """Returns what the results file holds of a task, without values: those are over all rows."""
    metrics = tuple(
        msgspec.structs.replace(metric, value=None, stderr=None, text="")
        for metric in logged.metrics
    )
    return msgspec.structs.replace(logged, metrics=metrics, rows=rows)


def matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Returns whether one of the names matches one of the patterns; upper and lower case differ.

    >>> matches(["gsm8k", "ifeval"], ["mmlu", "gsm*"]), matches(["gsm8k"], ["GSM8K"])
    (True, False)
    """
    return any(fnmatch.fnmatchcase(name, pattern) for name, pattern in product(names, patterns))


def _chosen(tasks: Mapping[str, _Task], patterns: Sequence[str]) -> dict[str, _Task]:
    """Tasks whose name matches a pattern; all of them without a pattern."""
    return {name: task for name, task in tasks.items() if not patterns or matches({name}, patterns)}


def _refuse_unmatched(
    patterns: Iterable[str], known: set[str], names: Sequence[set[str]], option: str
) -> None:
    """Refuses patterns that nothing matches.

    Raises:
        BadInput: there are some.
    """
    every = set(chain.from_iterable(names))
    problems = [
        Problem(
            what=f"nothing is called {pattern!r}",
            where=option,
            allowed=", ".join(sorted(known)),
            fix=near(pattern, known) or "give a name or a pattern such as 'sci*'",
        )
        for pattern in patterns
        if not matches(every, [pattern])
    ]
    if problems:
        raise BadInput(problems)


def _folder(run: Run) -> str:
    return run.files.folder.name
