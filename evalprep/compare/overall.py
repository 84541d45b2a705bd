"""All tasks together: the mean over tasks, and the pooled verdicts of right-or-wrong ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from custom_metrics.statistics import (
    Calibrated,
    Incomplete,
    MeanDifference,
    PairedUnits,
    PairedVerdicts,
    TaskDifference,
)
from evalprep.compare.difference import POINTS, Difference, difference, from_evidence
from evalprep.compare.quantities import Quantity
from evalprep.compare.reasons import Kind
from evalprep.compare.task import PairedTask
from evalprep.samples import UNKNOWN

_NAMED = 4  # tasks that a reason names


_Tasks = Sequence[Quantity]
#: Task -> least and greatest value of its score.
_Scales = Mapping[str, tuple[float, float] | None]
_Rows = Mapping[str, PairedTask]


class Overall(msgspec.Struct, frozen=True):
    """What is measured over all tasks; without a mean, the reason."""

    mean: Quantity | None = None
    pooled: Quantity | None = None
    reason: str = ""


def overall(
    tasks: _Tasks,
    rows: _Rows,
    known: int,
    *,
    confidence: float,
    without: Collection[str] = (),
    stored: bool = False,
) -> Overall:
    """The mean over all tasks with a score, and the pooled verdicts where that says something new.

    Args:
        tasks: The tasks that both sides have.
        rows: Their rows, by task.
        known: How many tasks either side has.
        confidence: Of the intervals.
        without: Tasks of packs that name what a comparison concludes; they have no mean.
        stored: True where tasks without samples were compared by their stored scores.
    """
    candidates = [task for task in tasks if task.name not in without]
    scales = {task.name: scale_of(task, rows[task.name]) for task in candidates}
    usable = [task for task in candidates if task.counts and scales[task.name] is not None]
    if not tasks and stored:
        return Overall(reason="scores without samples are not paired")
    if not usable:
        return Overall(reason=_why_none(tasks, candidates, scales))
    left_out = [task.name for task in tasks if task not in usable]
    # A task that both have, with no row scored on both, hinders: a mean without it would leave out
    # what one side failed at.
    shortfalls = []
    for task in candidates:
        unscored = [reason for reason in task.reasons if reason.kind is Kind.NO_SCORED_PAIR]
        shortfalls += [reason.of(task.name) for reason in unscored]
    mean = Quantity(
        f"mean of {len(usable)} of {known} tasks",
        "overall",
        _mean_of_tasks(usable, scales, confidence),
        reasons=shortfalls,
        notes=[f"without {', '.join(left_out)}"] if left_out else [],
    )
    binary = [task for task in usable if task.difference.binary]
    with_rows = [rows[task.name] for task in tasks if task.difference.n]
    metrics = {task.metric.metric for task in with_rows}
    other_metrics = {task.other_metric and task.other_metric.metric for task in with_rows}
    if len(binary) < 2 or len(metrics) > 1 or len(other_metrics) > 1:
        return Overall(mean)
    pooled = Quantity(
        f"pooled verdicts of {len(binary)} of {known} tasks",
        "overall",
        _pooled([(task, rows[task.name]) for task in binary], confidence),
        reasons=shortfalls,
    )
    return Overall(mean, pooled)


def _why_none(tasks: _Tasks, candidates: _Tasks, scales: _Scales) -> str:
    """The reason why there is no mean."""
    if not tasks:
        return "no task has samples to compare"
    if not candidates:
        return "its packs name what is concluded, and no mean over tasks"
    refused = [task.name for task in candidates if task.refusals]
    if refused:
        verb = "is" if len(refused) == 1 else "are"
        return f"{_first_names(refused)} {verb} not comparable"
    short = [task.name for task in candidates if _lacks_evidence(task, scales)]
    if short:
        return f"there is not enough evidence on {_first_names(short)}"
    return "no task has a score between 0 and 1"


def _lacks_evidence(task: Quantity, scales: _Scales) -> bool:
    """True for a task whose metric would have a part in the mean, with more or better rows."""
    if not task.shortfalls:
        return False
    if scales[task.name] is not None:
        return True
    return task.difference.n == 0 and bool(task.metric)


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED])


def scale_of(task: Quantity, rows: PairedTask) -> tuple[float, float] | None:
    """Least and greatest value of a task's score; None for a score without bounds or direction."""
    item = task.difference
    if item.higher_is_better is None or item.n == 0:
        return None
    if item.unit == POINTS:
        return 0.0, 1.0
    return rows.metric.range if item.bounded else None


def _mean_of_tasks(tasks: _Tasks, scales: _Scales, confidence: float) -> Difference:
    """The mean difference on a common scale from 0 to 1 on which more is better."""
    evidence_of_tasks, now, before = [], [], []
    for task in tasks:
        least, most = scales[task.name] or (0.0, 1.0)
        evidence = task.difference.evidence
        if isinstance(evidence, (PairedVerdicts, PairedUnits, Calibrated, Incomplete)):
            evidence_of_tasks.append(TaskDifference(evidence, most - least))
        now.append(_on_scale(task, task.difference.now, least, most))
        before.append(_on_scale(task, task.difference.previous, least, most))
    differences = [task.difference for task in tasks]
    return from_evidence(
        MeanDifference(tuple(evidence_of_tasks)),
        confidence=confidence,
        n=sum(item.n for item in differences),
        previous=float(np.mean(before)),
        now=float(np.mean(now)),
        gained=sum(item.gained for item in differences),
        lost=sum(item.lost for item in differences),
        binary=all(item.binary for item in differences),
        clusters=_documents(differences),
        test="limits of each task",
        range=1.0,
        made_of="counts",
    )


def _on_scale(task: Quantity, value: float | None, least: float, most: float) -> float:
    """A score from 0 to 1 on which more is better."""
    share = ((value or 0.0) - least) / (most - least)
    is_turned = task.difference.higher_is_better is False
    return 1.0 - share if is_turned else share


def _documents(differences: Sequence[Difference]) -> int | None:
    """Number of documents of all tasks; None where all rows are independent."""
    if all(item.clusters is None for item in differences):
        return None
    documents = 0
    for item in differences:
        clusters = item.clusters
        documents += item.n if clusters is None else clusters
    return documents


def _pooled(tasks: Sequence[tuple[Quantity, PairedTask]], confidence: float) -> Difference:
    """The verdicts of all right-or-wrong tasks together, each row weighing the same."""
    now, before, documents = [], [], []
    next_code = 0
    for task, rows in tasks:
        pairs = rows.pairs
        is_turned = task.difference.higher_is_better is False
        now.append(1 - pairs.now if is_turned else pairs.now)
        before.append(1 - pairs.before if is_turned else pairs.before)
        codes = rows.units
        if codes is None:
            codes = np.full(pairs.now.size, UNKNOWN, dtype=np.int64)
        documents.append(np.where(codes < 0, codes, codes + next_code))
        next_code += int(codes.max(initial=UNKNOWN)) + 1
    units: NDArray[np.int64] | None = np.concatenate(documents) if next_code else None
    verdicts = np.concatenate(now)
    verdicts_before = np.concatenate(before)
    return difference(verdicts, verdicts_before, units, confidence=confidence)
