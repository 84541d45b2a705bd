"""Tasks of two runs that are one task under two names."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import structs

from evalprep.results import Run, narrowed

#: The prefix under which one leaderboard publishes tasks that lm-eval also has without it.
_PREFIX = "leaderboard_"
Task = TypeVar("Task")


def with_names_of(
    other: Run, run: Run, chosen: Sequence[str] | None = None
) -> tuple[Run, list[str]]:
    """Returns the other run with its tasks named as in the run, and a note on each match.

    A task is another name of one that the other side lacks where the names differ in the prefix of
    published files, or where it is the only such task on both sides and another tool wrote it.

    Args:
        other: The run whose tasks are renamed.
        run: The run whose names are taken.
        chosen: Tasks and groups of the run that are compared; None for all.
    """
    matches = dict(_matches(run, other, chosen))
    if not matches:
        return other, []
    notes = [f"task {own} of the baseline is compared with {name}" for own, name in matches.items()]
    tasks = _renamed(other.tasks, matches)
    logged_tasks = _renamed(other.logged.tasks, matches)
    logged = structs.replace(other.logged, tasks=logged_tasks)
    return replace(other, tasks=tasks, logged=logged), notes


def _renamed(tasks: Mapping[str, Task], names: Mapping[str, str]) -> dict[str, Task]:
    """Tasks under other names, where these are known; in the same order."""
    return {names.get(name, name): task for name, task in tasks.items()}


def of_tasks(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """Returns runs with some of their tasks alone, those of the others named as in the first.

    Args:
        runs: The candidate, then the others.
        names: Tasks, groups and patterns of the candidate; all tasks without one.

    Raises:
        BadInput: a name that no run has, or a run that has none of them.
    """
    if not names or not runs:
        return list(runs)
    candidate, *others = runs
    aligned = [candidate]
    for other in others:
        renamed, notes = with_names_of(other, candidate, names)
        aligned.append(replace(renamed, notes=[*renamed.notes, *notes]))
    tasks: list[str] = []
    for name in names:
        tasks += candidate.group(name) or [name]
    narrowed_runs = []
    for run in aligned:
        # Without the names that other runs alone have.
        kept = [
            name
            for name in tasks
            if _has(run, name) or not any(_has(each, name) for each in aligned)
        ]
        narrowed_runs.append(narrowed(run, kept or tasks, None))
    return narrowed_runs


def _has(run: Run, pattern: str) -> bool:
    """Returns whether a run has a task of a name or pattern."""
    names = [*run.tasks, *run.logged.tasks, *run.logged.groups]
    return bool(fnmatch.filter(names, pattern))


def _matches(run: Run, other: Run, chosen: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Yields the name of a task in the other run, and its name in the run."""
    compared = _compared(run, chosen)
    alone = [name for name in compared if other.known(name) is None]
    other_alone = [name for name in other.tasks if run.known(name) is None]
    matched = _matched_by_prefix(alone, other_alone)
    if matched:
        yield from matched
        return
    is_single = len(alone) == len(other_alone) == 1
    if is_single and run.tool != other.tool:
        yield other_alone[0], alone[0]


def _compared(run: Run, chosen: Sequence[str] | None) -> list[str]:
    """The tasks of a run that are compared: all, or the chosen ones and those of chosen groups."""
    if chosen is None:
        return list(run.tasks)
    names: set[str] = set()
    for name in chosen:
        names.update(run.group(name) or (name,))
    return [name for name in run.tasks if name in names]


def _matched_by_prefix(names: Sequence[str], others: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of another name and a name that differ in the prefix of published files alone."""
    by_core = {name.removeprefix(_PREFIX): name for name in names}
    pairs = []
    for other in others:
        core = other.removeprefix(_PREFIX)
        if core in by_core:
            pairs.append((other, by_core[core]))
    return pairs
