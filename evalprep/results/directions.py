"""Tasks of lm-eval that a pack reads in the other direction.

This holds in one run, and where several runs stand side by side.

A plan states it (`better:` of pack.yaml), and the record of the run carries it. What one of some
runs states holds for all of them: a table, a comparison or a gate has one direction for a task,
whichever run it names first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from evalprep.terminal import shortlist

if TYPE_CHECKING:
    from evalprep.results.run import Run
    from evalprep.results.task import TaskRun

#: Which way is better, `up` or `down`, and the pack that says so.
Turned = tuple[str, str]
_NAMED = 4  # tasks that a note names


def turned_notes(turned: Mapping[str, Turned]) -> list[str]:
    """Returns the sentences that go with directions which are not lm-eval's.

    >>> turned_notes({"wmdp_bio": ("down", "unlearning"), "wmdp_cyber": ("down", "unlearning")})
    ['lower is better for wmdp_bio, wmdp_cyber: as the pack unlearning states; lm-eval does not']
    """
    tasks_of: dict[Turned, list[str]] = {}
    for name, turn in turned.items():
        tasks_of.setdefault(turn, []).append(name)
    return [
        f"{'higher' if better == 'up' else 'lower'} is better for {shortlist(names, _NAMED)}: "
        f"as the pack {pack} states; lm-eval does not"
        for (better, pack), names in tasks_of.items()
    ]


def turned_in(runs: Sequence[Run]) -> dict[str, Turned]:
    """Returns task -> which way is better, where a run states it.

    The first run that states it counts.
    """
    turned: dict[str, Turned] = {}
    for run in runs:
        turned = {**run.turned, **turned}
    return turned


def agreed(runs: Sequence[Run]) -> list[Run]:
    """Returns the runs with one direction for each task."""
    turned = turned_in(runs)
    return [_with_directions(run, turned) for run in runs]


def _with_directions(run: Run, turned: Mapping[str, Turned]) -> Run:
    here = {name: turn for name, turn in turned.items() if run.known(name) is not None}
    if all(run.turned.get(name) == turn for name, turn in here.items()):
        return run
    tasks = {
        name: _turned(task, here[name]) if name in here else task
        for name, task in run.tasks.items()
    }
    return replace(run, tasks=tasks, turned=here)


def _turned(task: TaskRun, turn: Turned) -> TaskRun:
    direction = "up" if turn[0] == "up" else "down"
    chosen = task.chosen and msgspec.structs.replace(task.chosen, direction=direction)
    return replace(task, chosen=chosen, turned=turn, _tables={})
