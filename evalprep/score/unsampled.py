"""Scores that lm-eval stored: of tasks without samples, and beside the primary metric of others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from evalprep.results import SHARE, Metric, Run, TaskRun, choose_primary, expected_rows, part_of
from evalprep.score.builtin import collect, micro
from evalprep.score.estimate import Estimate

WITHOUT_SAMPLES = "as the results file has it, without samples"


@dataclass(frozen=True)
class StoredScore:
    """One stored score of a task.

    Args:
        task, metric, filter: What was scored.
        value: The score.
        stderr: Its standard error as lm-eval computed it; None without one.
        n: Rows, of a mean over rows those with a score; None where the results file does not tell.
        primary: Whether it stands for its task.
        direction: Which way is better: `up`, `down` or `unknown`.
        unit: `share` for a value between 0 and 1 that is shown in percent; empty for another one,
            and where that is not known.
        interval: 95 % interval of a mean over rows, resampled by documents; None for any other
            value, and without samples.
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

    @property
    def name(self) -> str:
        """The metric, with its filter where that is a choice."""
        return self.metric if self.filter == "none" else f"{self.metric} ({self.filter})"


def stored_scores(run: Run) -> list[StoredScore]:
    """Returns the stored scores of groups and tasks without samples.

    Groups come first, and of each the primary score.
    """
    scores = []
    for name, task in {**run.stored_groups, **run.stored}.items():
        metrics = [metric for metric in task.metrics if metric.value is not None]
        primary = choose_primary(task.metadata, metrics)
        rows = expected_rows(run, task)
        for metric in sorted(metrics, key=lambda metric: metric.key != primary.key):
            is_primary = metric.key == primary.key
            score = _stored_score(name, metric, rows, is_primary=is_primary)
            scores.append(replace(score, part=part_of(task)))
    return scores


def further_scores(task: TaskRun) -> list[StoredScore]:
    """Returns the stored scores of a task with samples but for the one that stands for it."""
    metrics = [metric for metric in task.metrics if metric.value is not None]
    rows = task.logged.rows.effective or len(task.table())  # some samples may be missing
    scores = []
    for metric in metrics:
        if metric.key != task.headline.key:
            score = _stored_score(task.name, metric, rows, is_primary=False)
            score = replace(score, unit=unit_of(metric, task), part=part_of(task))
            mean = _mean_of_rows(task, metric)
            scores.append(replace(score, n=mean.n, interval=mean.interval) if mean else score)
    return scores


def _mean_of_rows(task: TaskRun, metric: Metric) -> Estimate | None:
    """Returns a stored value that is the mean of the rows with a score; None for any other."""
    if metric.kind != "rows" or metric.value is None:
        return None
    params = {"metric": metric.metric, "filter": metric.filter}
    estimate = micro(collect({task.name: task}, params))
    if estimate.value is None:
        return None
    is_mean = math.isclose(estimate.value, metric.value, rel_tol=1e-6, abs_tol=1e-9)
    return estimate if is_mean else None


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
