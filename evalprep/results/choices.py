"""The metric that the user names for a task, in place of the task's own.

The only owner of that choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import msgspec

from evalprep.errors import Problem, Problems, near
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.samples import Metric
from evalprep.terminal import shortlist


@dataclass(frozen=True)
class NamedMetric:
    """A metric that the user names, as `[TASK=]METRIC[@FILTER]`.

    Attributes:
        metric: Its name; empty for each task's own.
        task: The task or group; empty for all.
        filter: The filter; empty for each task's own.
    """

    metric: str = ""
    task: str = ""
    filter: str = ""

    def __str__(self) -> str:
        task = f"{self.task}=" if self.task else ""
        return task + self.metric + (f"@{self.filter}" if self.filter else "")


def read_by_choice(
    runs: Sequence[Run], choices: Sequence[NamedMetric], *, where: str = "--metric"
) -> list[Run]:
    """Returns the runs with the metrics that the user names as the primary ones of their tasks.

    A choice for one task wins over one for all, the later one over the earlier. A run that lacks
    the metric is read by it all the same, so that the metric shows as missing.

    Args:
        runs: The runs.
        choices: What the user names.
        where: What named it, for messages.

    Raises:
        BadInput: no run has the task, or no run with the task has the metric or filter.
    """
    if not choices:
        return list(runs)
    problems = Problems()
    names = set(chain.from_iterable(run.known_tasks for run in runs))
    for choice in choices:
        if choice.task and choice.task not in names and not _members(choice.task, runs):
            problems.add(
                f"no run has a task {choice.task!r}",
                where=where,
                allowed=", ".join(sorted(names)),
                fix=near(choice.task, names),
            )
    lacking: dict[Problem, list[str]] = {}
    for name in sorted(names):
        chosen = _choice_for(name, choices, runs)
        if chosen is not None:
            for problem in _unknown_parts(name, chosen, runs):
                lacking.setdefault(problem, []).append(name)
    for problem, tasks in lacking.items():  # many tasks may have the same one
        noun = "task" if len(tasks) == 1 else "tasks"
        problems.extend([replace(problem, where=f"{where}, {noun} {shortlist(tasks)}")])
    problems.raise_if_any()
    return [_with_choices(run, choices, runs) for run in runs]


def refuse_undecided(runs: Sequence[Run], names: Sequence[str]) -> None:
    """Refuses tasks whose log has several metrics, where neither it nor the user names one.

    Raises:
        BadInput: there are such tasks.
    """
    problems = Problems()
    for run in runs:
        for name in names:
            task = run.tasks.get(name)
            if task is not None and task.undecided and task.chosen is None:
                problems.add(
                    f"task {name} has {len(task.undecided)} metrics, and none is its primary one",
                    where=str(run.log or run.files.folder),
                    allowed=", ".join(task.undecided),
                    fix=f"--metric {task.undecided[0]}",
                )
    problems.raise_if_any()


def _members(group: str, runs: Sequence[Run]) -> set[str]:
    return set(chain.from_iterable(run.group(group) for run in runs))


def _choice_for(
    name: str, choices: Sequence[NamedMetric], runs: Sequence[Run]
) -> NamedMetric | None:
    """The choice that counts for a task; None where none does."""
    for choice in reversed(choices):
        if choice.task and (choice.task == name or name in _members(choice.task, runs)):
            return choice
    return next((choice for choice in reversed(choices) if not choice.task), None)


def _unknown_parts(name: str, choice: NamedMetric, runs: Sequence[Run]) -> Iterator[Problem]:
    """Yields the metric and the filter of a choice that no run has for a task."""
    known_tasks = [run.known(name) for run in runs]
    tasks = [task for task in known_tasks if task is not None]
    metrics = chain.from_iterable(task.metrics for task in tasks)
    known = list(dict.fromkeys(metric.metric for metric in metrics))
    if choice.metric and choice.metric not in known:
        yield Problem(
            what=f"no metric {choice.metric!r}",
            allowed=", ".join(known),
            fix=near(choice.metric, known),
        )
    filters: dict[str, None] = {}
    for task in tasks:
        filters |= dict.fromkeys(metric.filter for metric in task.metrics)
        filters |= dict.fromkeys(task.table().filters)
    if choice.filter and choice.filter not in filters:
        yield Problem(
            what=f"no filter {choice.filter!r}",
            allowed=", ".join(filters),
            fix=near(choice.filter, filters),
        )


def _with_choices(run: Run, choices: Sequence[NamedMetric], runs: Sequence[Run]) -> Run:
    tasks = {}
    for name, task in run.tasks.items():
        choice = _choice_for(name, choices, runs)
        tasks[name] = task if choice is None else _chosen(task, choice)
    return replace(run, tasks=tasks)


def _chosen(task: TaskRun, choice: NamedMetric) -> TaskRun:
    """A task that is read by a choice."""
    own = task.primary if task.primary.metric else task.headline
    name = choice.metric or own.metric
    of_name = [metric.filter for metric in task.metrics if metric.metric == name]
    filter_name = choice.filter or own.filter
    if not choice.filter and of_name and own.filter not in of_name:
        filter_name = of_name[0]
    metric: Metric = task.metric(name, filter_name)
    return replace(
        task,
        chosen=msgspec.structs.replace(metric, declared=True),
        chosen_filter=bool(choice.filter),
        _tables={},
    )
