"""Scores that lm-eval stored: of tasks without samples, and beside the primary metric of others."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evalprep.results import Run, TaskRun, choose_primary, expected_rows, part_of
from evalprep.samples import SHARE, Metric
from evalprep.score.builtin import collect, micro
from evalprep.score.estimate import Estimate
from evalprep.score.stated import Stated, is_mean, is_same_value, stated_beside

WITHOUT_SAMPLES = "as the results file has it, without samples"


@dataclass(frozen=True)
class StoredScore:
    """One score of a task beside the one that stands for it, or of a task without samples.

    Args:
        task, metric, filter: What was scored.
        value: The score: the mean over rows where they have numbers, else the stored one.
        stderr: Its standard error, as lm-eval computed it where the value is the stored one; None
            without one.
        n: Rows, of a mean over rows those with a score; None where the results file does not tell.
        primary: Whether it stands for its task.
        direction: Which way is better: `up`, `down` or `unknown`.
        unit: `share` for a value between 0 and 1 that is shown in percent; empty for another one,
            and where that is not known.
        interval: 95 % interval of a mean over rows, resampled by documents; None for any other
            value, and without samples.
        stated: What the results file has where the rows give another value.
        part: The part of the data that it is over, `8 of 68 rows`; empty for all of the data, and
            where that is not known.
    """

    task: str
    metric: str
    filter: str
    value: float
    stderr: float | None
    n: int | None
    primary: bool
    direction: str = "unknown"
    unit: str = ""
    interval: tuple[float, float] | None = None
    part: str = ""
    stated: Stated | None = None

    @property
    def name(self) -> str:
        """The metric, with its filter where that is a choice."""
        return self.metric if self.filter == "none" else f"{self.metric} ({self.filter})"

    @property
    def key(self) -> str:
        """Metric and filter as one text, `metric,filter`."""
        return f"{self.metric},{self.filter}"

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data."""
        return asdict(self) | {"stated": self.stated and self.stated.to_dict()}


def stored_scores(run: Run) -> list[StoredScore]:
    """Returns the stored scores of groups and tasks without samples.

    Groups come first, and of each the primary score.
    """
    scores: list[StoredScore] = []
    for name, task in {**run.stored_groups, **run.stored}.items():
        scores += _scores_without_samples(run, name, task)
    return scores


def scores_of_group(run: Run, name: str) -> list[StoredScore]:
    """Returns what lm-eval stored of a group, the primary score first."""
    group = run.group_values.get(name)
    return [] if group is None else _scores_without_samples(run, name, group)


def _scores_without_samples(run: Run, name: str, task: TaskRun) -> list[StoredScore]:
    """The stored scores of a task without samples, or of a group, the primary one first."""
    scores = []
    metrics = [metric for metric in task.metrics if metric.value is not None]
    primary = choose_primary(task.metadata, metrics)
    rows = expected_rows(run, task)
    for metric in sorted(metrics, key=lambda metric: metric.key != primary.key):
        is_primary = metric.key == primary.key
        score = _stored_score(name, metric, rows, is_primary=is_primary)
        scores.append(replace(score, part=part_of(task)))
    return scores


def further_scores(task: TaskRun, expected: int | None) -> list[StoredScore]:
    """Returns the scores of a task with samples but for the one that stands for it.

    They are those that its results file has.

    Args:
        task: The task.
        expected: Rows that the run was to answer.
    """
    rows = expected or len(task.table())  # some samples may be missing
    metrics = [metric for metric in task.metrics if metric.value is not None]
    return [
        _score_beside(task, metric, rows) for metric in metrics if metric.key != task.headline.key
    ]


def unlogged_scores(task: TaskRun) -> list[StoredScore]:
    """Returns the means of metrics that rows have numbers of, and the results file nothing."""
    scores = []
    for metric in task.metrics:
        is_shown = metric.key in {task.headline.key, task.primary.key}
        if metric.value is None and metric.kind == "rows" and not is_shown:
            mean = _mean_of_rows(task, metric)
            if mean.value is not None:
                scores.append(_of_rows(_score_beside(task, metric, len(task.table())), mean))
    return scores


def _score_beside(task: TaskRun, metric: Metric, rows: int) -> StoredScore:
    """One metric beside the primary one: the mean of its rows, where it is one."""
    score = _stored_score(task.name, metric, rows, is_primary=False)
    score = replace(score, unit=unit_of(metric, task), part=part_of(task))
    if metric.value is None or metric.kind != "rows":
        return score
    mean = _mean_of_rows(task, metric)
    if mean.value is None:
        return score
    if is_same_value(mean.value, metric.value):
        return replace(score, n=mean.n, interval=mean.interval)
    if not is_mean(metric):
        return score
    stated = stated_beside(
        metric.metric,
        mean.value,
        metric.value,
        stderr=metric.stderr,
        used=mean.n or 0,
        here=len(task.table(metric.filter)),
        expected=rows,
    )
    return replace(_of_rows(score, mean), stated=stated)


def _of_rows(score: StoredScore, mean: Estimate) -> StoredScore:
    """A score with the mean of its rows and all that belongs to it."""
    return replace(
        score, value=mean.value or 0.0, stderr=mean.stderr, n=mean.n, interval=mean.interval
    )


def _mean_of_rows(task: TaskRun, metric: Metric) -> Estimate:
    """Returns the mean of the rows that have a number of a metric."""
    params = {"metric": metric.metric, "filter": metric.filter}
    return micro(collect({task.name: task}, params))


def unit_of(metric: Metric, task: TaskRun | None = None) -> str:
    """Returns `share` for a metric between 0 and 1, which is shown in percent; else an empty text.

    A value over all rows does not show it: 0.4 may be a small percentage. Rows do.

    Args:
        metric: The metric.
        task: Its task, where that has samples.
    """
    values = np.zeros(0) if task is None or not metric.may_be_share else task.values(metric)
    known = values[np.isfinite(values)]
    if known.size:
        return SHARE if known.min() >= 0 and known.max() <= 1 else ""
    return SHARE if metric.unit == SHARE else ""


def _stored_score(task: str, metric: Metric, rows: int | None, *, is_primary: bool) -> StoredScore:
    return StoredScore(
        task=task,
        metric=metric.metric,
        filter=metric.filter,
        value=metric.value or 0.0,
        stderr=metric.stderr,
        n=rows,
        primary=is_primary,
        direction=metric.direction,
        unit=unit_of(metric),
    )
