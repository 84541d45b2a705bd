"""Tasks of lm-eval that a pack reads in the other direction, where several runs stand side by side.

A plan says it (`better:` of pack.yaml), and the record of the run carries it. What one of some runs says holds for all
of them: a table, a comparison or a gate has one direction for a task, whichever run it names first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalprep.results.primary import Turned, directions_of
from evalprep.results.run import Run
from evalprep.results.task import TaskRun


def turned_in(runs: Sequence[Run]) -> dict[str, Turned]:
    """Task -> which way is better, for the tasks of which at least one run says it; the first that says it counts."""
    found: dict[str, Turned] = {}
    for run in runs:
        found = {**run.turned, **found}
    return found


def agreed(runs: Sequence[Run]) -> list[Run]:
    """The runs with one direction for each task."""
    turned = turned_in(runs)
    found = []
    for run in runs:
        if all(run.turned.get(name) == said for name, said in turned.items() if run.known(name) is not None):
            found.append(run)
            continue
        tasks = {name: _turned(task, turned[name]) if name in turned else task for name, task in run.tasks.items()}
        found.append(replace(run, tasks=tasks, turned={name: turned[name] for name in turned if run.known(name)}))
    return found


def _turned(task: TaskRun, said: Turned) -> TaskRun:
    directions = directions_of(task.directions, task.scores, said)
    chosen = task.chosen and replace(task.chosen, higher_is_better=said[0] == "up")
    return replace(task, directions=directions, chosen=chosen, turned=said)
