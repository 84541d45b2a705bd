"""Each task's own numbers: mean over rows and mean of subtasks side by side, subtask tables, groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalprep.numbers import number
from evalprep.results import Run, TaskRun
from evalprep.results.primary import logged_scores
from evalprep.results.reply import knows_parsing
from evalprep.score.builtin import collect, macro, micro
from evalprep.score.opinions import Opinion, second_opinions
from evalprep.score.published import Published


@dataclass
class TaskScore:
    """One task by its primary metric.

    Args:
        task, metric, filter: What was scored.
        declared: Whether the task names that metric itself.
        n: Rows.
        unparsed: Replies from which nothing could be extracted; None where the task does not tell.
        micro, macro: Results of the built-in scores; `macro` is None without subtasks.
        subtasks: `subtask`, `n`, `value` per subtask.
        harness: What lm-eval itself reports for this metric and filter.
        expected: Rows that the run was to answer; None where that is not known.
        without_score: Why no row has a score; empty where rows have one.
        damaged: Lines of the samples file that could not be used.
        published: Published values for this task by name.
        opinions: What other scorers say of the same replies.
        withheld: Why published values may not stand beside it; empty where they may.
        higher_is_better: Direction of the metric.
    """

    task: str
    metric: str
    filter: str
    declared: bool
    n: int
    unparsed: int | None
    micro: dict[str, Any]
    macro: dict[str, Any] | None
    subtasks: list[dict[str, Any]] = field(default_factory=list)
    harness: float | None = None
    expected: int | None = None
    without_score: str = ""
    damaged: int = 0
    published: list[Published] = field(default_factory=list)
    opinions: list[Opinion] = field(default_factory=list)
    withheld: str = ""
    higher_is_better: bool = True

    @property
    def value(self) -> float | None:
        """The mean over rows."""
        value = self.micro.get("agg_value")
        return value if isinstance(value, float) else None

    @property
    def harness_differs(self) -> bool:
        """Whether lm-eval reports another number: it aggregates this metric in another way, or rows are not here."""
        if self.value is None or self.harness is None:
            return False
        return not math.isclose(self.value, self.harness, rel_tol=1e-6, abs_tol=1e-9)

    @property
    def harness_said(self) -> str:
        """The sentence for a number of lm-eval's that is another one."""
        said = f"lm-eval itself reports {number(self.harness)} for {self.metric}"
        if self.expected is not None and self.n < self.expected:
            return f"{said} over {self.expected} rows, of which {self.n} are here"
        return f"{said}, not the mean over rows"


@dataclass
class GroupScore:
    """One group: pooled rows (`micro`) and mean of the tasks' means (`macro`); its tasks have one direction."""

    group: str
    tasks: list[str]
    micro: dict[str, Any]
    macro: dict[str, Any]
    higher_is_better: bool = True


def score_task(name: str, task: TaskRun) -> TaskScore:
    """Score one task by its primary metric."""
    table = task.table()
    scored = collect({name: task}, {})
    result = TaskScore(
        task=name,
        metric=task.primary.metric,
        filter=task.primary.filter,
        declared=task.primary.declared,
        n=len(table),
        unparsed=int(np.sum(table.unparsed == 1)) if knows_parsing(table) else None,
        micro=micro(scored),
        macro=macro(scored) if len(scored.names) > 1 else None,
        without_score=task.without_score,
        damaged=len(table.damage),
        opinions=second_opinions(task),
        higher_is_better=task.primary.higher_is_better,
    )
    logged = task.scores.get(f"{task.primary.metric},{task.primary.filter}")
    result.harness = float(logged) if isinstance(logged, (int, float)) else None
    if result.macro is not None:
        counts = np.bincount(scored.groups, minlength=len(scored.names))
        parts = result.macro.get("parts", {})
        result.subtasks = [
            {"subtask": one, "n": int(count), "value": parts.get(one)}
            for one, count in sorted(zip(scored.names, counts, strict=True))
            if count
        ]
    return result


def score_groups(run: Run) -> list[GroupScore]:
    """Score every group of the run that has at least two tasks with samples.

    Tasks are put together only where they are scored by one metric on one scale; of other groups the value that lm-eval
    itself gives stands, with its metric's name.
    """
    children = run.results.get("group_subtasks")
    groups = []
    for name in children if isinstance(children, dict) else {}:
        members = run.group(name)
        if len(members) < 2:
            continue
        every = run.group(name, sampled=False)
        if len(members) < len(every):
            why = f"{len(members)} of its {len(every)} tasks have samples, and are not pooled"
            groups.append(_as_stored(run, name, members, why))
            continue
        chosen = {member: run.tasks[member] for member in members}
        scored = collect(chosen, {})
        if len({task.primary.higher_is_better for task in chosen.values()}) > 1:
            why = "higher is better for some of its tasks and lower for others, and they are not pooled"
            groups.append(_as_stored(run, name, members, why))
            continue
        if len({task.primary.metric for task in chosen.values()}) > 1 or not _one_scale(chosen):
            why = "its tasks are scored by different metrics or on different scales, and are not pooled"
            groups.append(_as_stored(run, name, members, why))
            continue
        # Tasks take the place of subtasks.
        sizes = [collect({member: task}, {}).values.size for member, task in chosen.items()]
        scored.groups = np.repeat(np.arange(len(members)), sizes)
        pooled = micro(scored)
        scored.names = members
        up = all(task.primary.higher_is_better for task in chosen.values())
        groups.append(GroupScore(name, members, pooled, macro(scored), up))
    return groups


def _one_scale(tasks: Mapping[str, TaskRun]) -> bool:
    """Whether no task is scored in percent and another in shares."""
    largest = [float(values.max()) for task in tasks.values() if (values := collect({task.name: task}, {}).values).size]
    return not (any(one > 1 for one in largest) and any(one <= 1 for one in largest))


def _as_stored(run: Run, name: str, members: list[str], why: str) -> GroupScore:
    """A group that cannot be pooled: what lm-eval says of it."""
    own = run.part("groups", name) or run.part("results", name)
    values = {
        f"{metric} ({one})" if one != "none" else metric: own[f"{metric},{one}"] for metric, one in logged_scores(own)
    }
    known = {key: float(value) for key, value in values.items() if isinstance(value, (int, float))}
    said = ", ".join(f"{key} {number(value)}" for key, value in known.items())
    reason = f"{why}; lm-eval says {said}" if said else why
    return GroupScore(name, members, {"agg_value": None, "reason": reason, "stored": known}, {"agg_value": None})
