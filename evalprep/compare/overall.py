"""All tasks together: the mean over tasks, and the pooled verdicts of right-or-wrong ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from custom_metrics.statistics import MeanDifference, PairedUnits, PairedVerdicts, TaskDifference
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import POINTS, difference, from_evidence
from evalprep.compare.task import TaskComparison
from evalprep.results import UNKNOWN

_NAMED = 4  # tasks that a reason names


@dataclass(frozen=True)
class Overall:
    """The conclusions over all tasks; without a mean, the reason."""

    mean: Conclusion | None = None
    pooled: Conclusion | None = None
    reason: str = ""


def overall(
    tasks: Sequence[TaskComparison],
    known: int,
    *,
    confidence: float,
    without: Collection[str] = (),
    stored: bool = False,
) -> Overall:
    """The mean over all tasks with a score, and the pooled verdicts where that says something new.

    Args:
        tasks: The tasks that both sides have.
        known: How many tasks either side has.
        confidence: Of the intervals.
        without: Tasks of packs that name what a comparison concludes; they have no mean.
        stored: True where tasks without samples were compared by their stored scores.
    """
    candidates = [task for task in tasks if task.name not in without]
    usable = _usable(candidates)
    if not tasks and stored:
        return Overall(reason="scores without samples are not paired")
    if not usable:
        return Overall(reason=_why_none(tasks, candidates))
    mean = _mean_of_tasks(usable, known, confidence)
    left_out = [task.name for task in tasks if task not in usable]
    if left_out:
        mean.notes.append(f"without {', '.join(left_out)}")
    binary = _right_or_wrong(usable)
    pooled = _pooled(binary, known, confidence) if len(binary) > 1 else None
    return Overall(mean, pooled)


def _usable(tasks: Sequence[TaskComparison]) -> list[TaskComparison]:
    """Tasks whose difference counts and whose score has a scale."""
    return [task for task in tasks if task.counts and scale_of(task) is not None]


def _right_or_wrong(tasks: Sequence[TaskComparison]) -> list[TaskComparison]:
    """Tasks whose rows are right or wrong, with their pairs."""
    return [task for task in tasks if task.difference.binary and task.pairs is not None]


def _why_none(tasks: Sequence[TaskComparison], candidates: Sequence[TaskComparison]) -> str:
    """The reason why there is no mean."""
    if not tasks:
        return "no task has samples to compare"
    if not candidates:
        return "its packs name what is concluded, and no mean over tasks"
    refused = [task.name for task in candidates if task.not_comparable]
    if refused:
        return _are_not_comparable(refused)
    short = [task.name for task in candidates if _lacks_evidence(task)]
    if short:
        return f"there is not enough evidence on {', '.join(short[:_NAMED])}"
    return "no task has a score between 0 and 1"


def _lacks_evidence(task: TaskComparison) -> bool:
    """True for a task whose metric would have a part in the mean, with more or better rows."""
    has_scale = scale_of(task) is not None or (task.difference.n == 0 and bool(task.metric))
    return bool(task.not_enough) and has_scale


def _are_not_comparable(tasks: Sequence[str]) -> str:
    verb = "is" if len(tasks) == 1 else "are"
    return f"{', '.join(tasks[:_NAMED])} {verb} not comparable"


def scale_of(task: TaskComparison) -> tuple[float, float] | None:
    """Least and greatest value of a task's score; None for a score without bounds or direction."""
    item = task.difference
    if item.higher_is_better is None or item.n == 0:
        return None
    if item.unit == POINTS:
        return 0.0, 1.0
    return task.bounds if item.bounded else None


def _mean_of_tasks(tasks: Sequence[TaskComparison], known: int, confidence: float) -> Conclusion:
    """The mean difference on a common scale from 0 to 1 on which more is better."""
    differences, now, before = [], [], []
    for task in tasks:
        least, most = scale_of(task) or (0.0, 1.0)
        evidence = task.difference.evidence
        if isinstance(evidence, (PairedVerdicts, PairedUnits)):
            differences.append(TaskDifference(evidence, most - least))
        now.append(_on_scale(task, task.difference.now, least, most))
        before.append(_on_scale(task, task.difference.previous, least, most))
    item = from_evidence(
        MeanDifference(tuple(differences)),
        confidence=confidence,
        n=sum(task.difference.n for task in tasks),
        previous=float(np.mean(before)),
        now=float(np.mean(now)),
        gained=sum(task.difference.gained for task in tasks),
        lost=sum(task.difference.lost for task in tasks),
        binary=all(task.difference.binary for task in tasks),
        clusters=_documents(tasks),
        test="limits of each task",
        range=1.0,
        made_of="counts",
    )
    return Conclusion(f"mean of {len(tasks)} of {known} tasks", "overall", item)


def _on_scale(task: TaskComparison, value: float | None, least: float, most: float) -> float:
    """A score from 0 to 1 on which more is better."""
    share = ((value or 0.0) - least) / (most - least)
    return 1.0 - share if task.difference.higher_is_better is False else share


def _documents(tasks: Sequence[TaskComparison]) -> int | None:
    """Number of documents of all tasks; None where all rows are independent."""
    if all(task.difference.clusters is None for task in tasks):
        return None
    return sum(
        task.difference.n if task.difference.clusters is None else task.difference.clusters
        for task in tasks
    )


def _pooled(tasks: Sequence[TaskComparison], known: int, confidence: float) -> Conclusion:
    """The verdicts of all right-or-wrong tasks together, each row weighing the same."""
    now, before, documents = [], [], []
    next_code = 0
    for task in tasks:
        pairs = task.pairs
        if pairs is None:
            continue
        is_turned = task.difference.higher_is_better is False
        now.append(1 - pairs.now if is_turned else pairs.now)
        before.append(1 - pairs.before if is_turned else pairs.before)
        codes = task.units
        if codes is None:
            codes = np.full(pairs.now.size, UNKNOWN, dtype=np.int64)
        documents.append(np.where(codes < 0, codes, codes + next_code))
        next_code += int(codes.max(initial=UNKNOWN)) + 1
    units: NDArray[np.int64] | None = np.concatenate(documents) if next_code else None
    item = difference(np.concatenate(now), np.concatenate(before), units, confidence=confidence)
    return Conclusion(f"pooled verdicts of {len(tasks)} of {known} tasks", "overall", item)
