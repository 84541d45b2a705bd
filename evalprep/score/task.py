"""Each task's own numbers.

Mean over rows and mean of subtasks side by side, subtask tables, groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from evalprep.numbers import number
from evalprep.results import Run, TaskRun, expected_rows, knows_parsing, notes_on_rows, part_of
from evalprep.samples import SHARE, Metric
from evalprep.score.builtin import Scored, collect, macro, micro
from evalprep.score.estimate import Estimate
from evalprep.score.opinions import Opinion, second_opinions
from evalprep.score.published import Published
from evalprep.score.stated import Stated, is_same_value, stated_beside
from evalprep.score.unsampled import (
    StoredScore,
    further_scores,
    scores_of_group,
    unit_of,
    unlogged_scores,
)
from evalprep.score.whole import value_over_rows
from evalprep.terminal import grouped

OVER_ALL_ROWS = "computed over all rows at once, as logged"
FROM_ALL_ROWS = "computed over all rows at once, of the rows that are here"


@dataclass
class TaskScore:
    """One task by its primary metric.

    Args:
        task, metric, filter: What was scored.
        declared: Whether the task names that metric itself.
        n: Rows that its value is made of; all rows of a task without a score of its own.
        unparsed: Replies from which nothing could be extracted; None where the task does not tell.
        micro, macro: The mean over rows and the mean of subtasks, or the logged value of a metric
            over all rows where rows have no score; `macro` is None without subtasks.
        subtasks: `subtask`, `n`, `value` per subtask.
        harness: What lm-eval itself reports for this metric and filter.
        harness_stderr: The standard error that it reports for it.
        rows: Rows that are here, with or without a number; `n` where it is not given.
        expected: Rows that the run was to answer; None where that is not known.
        without_score: Why no row has a score; empty where rows have one.
        damaged: Lines of the samples file that could not be used.
        damage: The first of them, and why; empty without any.
        published: Published values for this task by name.
        opinions: What other scorers say of the same replies.
        withheld: Why published values may not stand beside it; empty where they may.
        direction: Which way is better: `up`, `down` or `unknown`.
        unit: `share` where all rows lie between 0 and 1, which is shown in percent; else empty.
        partial: `8 of 68 rows` where the run covers a part of the data; else empty.
        further: The other metrics of the task that lm-eval stored.
        unlogged: Metrics that rows have numbers of and lm-eval stored nothing of.
        empty: Blank replies, counted where no row scored above 0; else None.
        remarks: Doubts about its rows: shared documents, rows that occur twice.
    """

    task: str
    metric: str
    filter: str
    declared: bool
    n: int
    unparsed: int | None
    micro: Estimate
    macro: Estimate | None
    subtasks: list[dict[str, Any]] = field(default_factory=list)
    harness: float | None = None
    harness_stderr: float | None = None
    rows: int | None = None
    expected: int | None = None
    without_score: str = ""
    damaged: int = 0
    damage: str = ""
    published: list[Published] = field(default_factory=list)
    opinions: list[Opinion] = field(default_factory=list)
    withheld: str = ""
    direction: str = "unknown"
    unit: str = ""
    partial: str = ""
    further: list[StoredScore] = field(default_factory=list)
    unlogged: list[StoredScore] = field(default_factory=list)
    empty: int | None = None
    remarks: list[str] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        """The mean over rows."""
        return self.micro.value

    @property
    def here(self) -> int:
        """The rows that are here, those without a number included."""
        return self.n if self.rows is None else self.rows

    @property
    def stated(self) -> Stated | None:
        """What lm-eval itself reports where that is another number; else None.

        It aggregates this metric in another way, rows are not here, or a file was changed. The
        value of a metric over all rows at once is its own, over rows that may not be here.
        """
        value, stderr, here = self.value, self.harness_stderr, self.here
        if self.micro.rule == OVER_ALL_ROWS:
            if value is None or here >= self.n:
                return None
            return Stated(self.metric, value, stderr, self.n, here, here)
        return stated_beside(
            self.metric,
            value,
            self.harness,
            stderr=stderr,
            used=self.n,
            here=here,
            expected=self.expected,
        )

    @property
    def all_stated(self) -> list[Stated]:
        """The same of each metric of the task, the primary one first."""
        stated = [self.stated, *(score.stated for score in self.further)]
        return [item for item in stated if item is not None]

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data."""
        stated = self.stated
        return asdict(self) | {
            "rows": self.here,
            "micro": self.micro.to_dict(),
            "macro": self.macro and self.macro.to_dict(),
            "stated": stated and stated.to_dict(),
            "further": [score.to_dict() for score in self.further],
            "unlogged": [score.to_dict() for score in self.unlogged],
        }


@dataclass
class GroupScore:
    """One group: pooled rows (`micro`) and mean of the tasks' means (`macro`).

    Its tasks have one direction. `logged` are the scores that lm-eval stored of it, and `metric`
    with `filter` is what its rows were pooled by.
    """

    group: str
    tasks: list[str]
    micro: Estimate
    macro: Estimate
    direction: str = "unknown"
    unit: str = ""
    metric: str = ""
    filter: str = "none"
    logged: list[StoredScore] = field(default_factory=list)

    @property
    def shown(self) -> Estimate:
        """All rows pooled; the mean of the tasks' means where lm-eval reports that."""
        own = self._own_logged
        if own is None or self.micro.value is None or self.macro.value is None:
            return self.micro
        if is_same_value(self.micro.value, own.value):
            return self.micro
        return self.macro if is_same_value(self.macro.value, own.value) else self.micro

    @property
    def stated(self) -> Stated | None:
        """What lm-eval itself reports where that is neither of the two means; else None."""
        own, estimate = self._own_logged, self.shown
        if own is None:
            return None
        used = estimate.n or 0
        return stated_beside(
            own.metric,
            estimate.value,
            own.value,
            stderr=own.stderr,
            used=used,
            here=used,
            expected=own.n,
        )

    @property
    def notes(self) -> list[str]:
        """Why its tasks are not put together, and what lm-eval reports beside the two means."""
        stated = self.stated
        return [*filter(None, [self.micro.reason]), *([] if stated is None else [stated.sentence])]

    @property
    def _own_logged(self) -> StoredScore | None:
        """What lm-eval stored of the metric that the rows were pooled by."""
        own = (self.metric, self.filter)
        return next((score for score in self.logged if (score.metric, score.filter) == own), None)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data."""
        stated = self.stated
        return asdict(self) | {
            "micro": self.micro.to_dict(),
            "macro": self.macro.to_dict(),
            "stated": stated and stated.to_dict(),
            "logged": [score.to_dict() for score in self.logged],
        }


def score_tasks(run: Run) -> dict[str, TaskScore]:
    """Scores every task of a run that has samples."""
    scores = {}
    for name, task in run.tasks.items():
        scores[name] = score_task(name, task, expected_rows(run, task))
    return scores


def score_task(name: str, task: TaskRun, expected: int | None) -> TaskScore:
    """Scores one task by its primary metric.

    Args:
        name: Its name.
        task: The task.
        expected: Rows that the run was to answer; None where that is not known.
    """
    table, headline = task.table(), task.headline
    scored = collect({name: task}, {})
    result, unit = micro(scored), _unit(scored, task)
    if not task.primary.metric and headline.kind != "stored":
        # Its rows have no score of their own: a perplexity, say, stands for them all.
        over_all = _over_all_rows(task, headline, len(table), expected)
        if over_all.value is not None:
            result, unit = over_all, unit_of(headline)
    used = result.n if headline.metric and result.n is not None else len(table)
    by_subtask = macro(scored) if len(scored.names) > 1 else None
    has_success = scored.values.size and scored.values.max() > 0
    return TaskScore(
        task=name,
        metric=headline.metric,
        filter=headline.filter,
        declared=headline.declared,
        n=used,
        rows=len(table),
        unparsed=int(np.sum(table.unparsed == 1)) if knows_parsing(table) else None,
        micro=result,
        macro=by_subtask,
        subtasks=_subtasks(scored, by_subtask),
        harness=headline.value,
        harness_stderr=headline.stderr,
        expected=expected,
        without_score=task.without_score,
        damaged=len(table.damage),
        damage=next((f"line {one.line}: {one.why}" for one in table.damage), ""),
        opinions=second_opinions(task),
        direction=headline.direction,
        unit=unit,
        partial=part_of(task),
        further=further_scores(task, expected),
        unlogged=unlogged_scores(task),
        # Only without any success: elsewhere the file need not be read again.
        empty=None if has_success else int(np.sum(table.empty == 1)),
        remarks=notes_on_rows(table),
    )


def _over_all_rows(task: TaskRun, metric: Metric, here: int, expected: int | None) -> Estimate:
    """The value of a metric that is computed over all rows at once, with their number.

    As the results file states it; else as the rows make it. Nothing where the scorer failed on
    every row, whatever is stated.
    """
    if here and task.table(metric.filter).scoring_failed.all():
        return Estimate()
    if metric.value is None:
        return Estimate(value=value_over_rows(task, metric), n=here, rule=FROM_ALL_ROWS)
    rows = here if expected is None else max(here, expected)
    return Estimate(value=metric.value, n=rows, rule=OVER_ALL_ROWS, stderr=metric.stderr)


def _unit(scored: Scored, *tasks: TaskRun) -> str:
    values = scored.values
    inside = values.size > 0 and values.min() >= 0 and values.max() <= 1
    return SHARE if inside and all(task.headline.may_be_share for task in tasks) else ""


def _subtasks(scored: Scored, by_subtask: Estimate | None) -> list[dict[str, Any]]:
    """Name, rows and mean of each subtask with rows, by name; none for a task of one subtask."""
    if by_subtask is None:
        return []
    means = by_subtask.parts
    counts = np.bincount(scored.groups, minlength=len(scored.names))
    return [
        {"subtask": name, "n": int(count), "value": means.get(name)}
        for name, count in sorted(zip(scored.names, counts, strict=True))
        if count
    ]


def score_groups(run: Run) -> list[GroupScore]:
    """Scores every group of the run that has at least two tasks with samples.

    Tasks are put together only where they are scored by one metric on one scale; of other groups
    the value that lm-eval itself gives stands, with its metric's name.
    """
    groups = []
    for name in run.logged.groups:
        members = run.group(name)
        if len(members) < 2:
            continue
        tasks = {member: run.tasks[member] for member in members}
        reason = _reason_against_pooling(run, name, tasks)
        group = _as_stored(run, name, members, reason) if reason else _pooled(name, tasks)
        groups.append(replace(group, logged=scores_of_group(run, name)))
    return groups


def _reason_against_pooling(run: Run, name: str, tasks: Mapping[str, TaskRun]) -> str:
    """Returns why the tasks of a group cannot be put together; empty where they can."""
    all_members = run.group(name, sampled=False)
    if len(tasks) < len(all_members):
        return f"{len(tasks)} of its {len(all_members)} tasks have samples, and are not pooled"
    directions = {task.primary.direction for task in tasks.values()}
    if {"up", "down"} <= directions:
        return (
            "higher is better for some of its tasks and lower for others, and they are not pooled"
        )
    unscored = [name for name, task in tasks.items() if not collect({name: task}, {}).values.size]
    if 0 < len(unscored) < len(tasks):
        return f"no row of {grouped(unscored)} has a score, and its tasks are not pooled"
    if len({task.primary.metric for task in tasks.values()}) > 1 or not _one_scale(tasks):
        return (
            "its tasks are scored by different metrics or on different scales, and are not pooled"
        )
    return ""


def _one_scale(tasks: Mapping[str, TaskRun]) -> bool:
    """Returns whether no task is scored in percent and another in shares."""
    columns = [collect({name: task}, {}).values for name, task in tasks.items()]
    in_percent = {float(values.max()) > 1 for values in columns if values.size}
    return len(in_percent) < 2


def _pooled(name: str, tasks: Mapping[str, TaskRun]) -> GroupScore:
    """A group's rows as one task's, with its tasks in the place of subtasks."""
    scored = collect(tasks, {})
    sizes = []
    for member, task in tasks.items():
        sizes.append(collect({member: task}, {}).values.size)
    scored.groups = np.repeat(np.arange(len(tasks)), sizes)
    pooled = micro(scored)
    scored.names = list(tasks)
    directions = {task.primary.direction for task in tasks.values()}
    filters = {task.primary.filter for task in tasks.values()}
    return GroupScore(
        group=name,
        tasks=list(tasks),
        micro=pooled,
        macro=macro(scored),
        direction=directions.pop() if len(directions) == 1 else "unknown",
        unit=_unit(scored, *tasks.values()),
        metric=next(iter(tasks.values())).primary.metric,
        filter=filters.pop() if len(filters) == 1 else "none",
    )


def _as_stored(run: Run, name: str, members: list[str], reason: str) -> GroupScore:
    """A group that cannot be pooled: the values that lm-eval stored for it."""
    known: dict[str, float] = {}
    for metric in run.logged.groups[name].metrics:
        if metric.is_score and metric.value is not None:
            known[metric.name] = metric.value
    if known:
        values = ", ".join(f"{key} {number(value)}" for key, value in known.items())
        reason = f"{reason}; lm-eval reports {values}"
    return GroupScore(name, members, Estimate(reason=reason, stored=known), Estimate())
