"""All tasks together: the mean over tasks, and the pooled verdicts of right-or-wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import difference, from_evidence
from evalprep.compare.pairing import Floats
from evalprep.compare.task import TaskComparison


def overall(tasks: Sequence[TaskComparison], *, confidence: float) -> tuple[Conclusion | None, Conclusion | None]:
    """The mean over all tasks with a score, and the pooled verdicts; each None where it would say nothing new."""
    usable = [one for one in tasks if one.counts and one.pairs is not None]
    if not usable:
        return None, None
    whole = _mean_of_tasks(usable, len(tasks), confidence)
    left_out = [one.name for one in tasks if one not in usable]
    if left_out:
        whole.notes.append(f"without {', '.join(left_out)}")
    binary = [one for one in usable if one.difference.binary]
    return whole, _pooled(binary, len(tasks), confidence) if len(binary) > 1 else None


def _turned(task: TaskComparison) -> tuple[Floats, Floats]:
    """Scores of both sides on a scale from 0 to 1 on which more is better."""
    pairs, item = task.pairs, task.difference
    assert pairs is not None
    width = item.range or 1.0
    least = 0.0 if item.unit == "points" else min(pairs.now.min(), pairs.before.min())
    now, before = (pairs.now - least) / width, (pairs.before - least) / width
    return (now, before) if item.higher_is_better is not False else (1 - now, 1 - before)


def _documents(tasks: Sequence[TaskComparison]) -> NDArray[np.int64] | None:
    """A code per pair, documents of different tasks kept apart, -1 for a row of its own; None without documents."""
    found, shift = [], 0
    for task in tasks:
        assert task.pairs is not None
        assert task.table is not None
        codes = task.table.cluster[task.pairs.rows]
        found.append(np.where(codes < 0, codes, codes + shift))
        shift += int(codes.max(initial=-1)) + 1
    return np.concatenate(found) if shift else None


def _mean_of_tasks(tasks: Sequence[TaskComparison], known: int, confidence: float) -> Conclusion:
    sides = [_turned(task) for task in tasks]
    gap = np.concatenate([now - before for now, before in sides])
    groups = np.repeat(np.arange(len(tasks)), [now.size for now, _ in sides])
    codes = _documents(tasks)
    units = None
    if codes is not None:
        alone = codes < 0
        codes[alone] = codes.max(initial=0) + 1 + np.arange(int(alone.sum()))
        units = codes
    evidence = statistics.paired_macro(gap, groups, units)
    item = from_evidence(
        evidence,
        confidence=confidence,
        n=int(gap.size),
        previous=float(np.mean([before.mean() for _, before in sides])),
        now=float(np.mean([now.mean() for now, _ in sides])),
        gained=sum(task.difference.gained for task in tasks),
        lost=sum(task.difference.lost for task in tasks),
        binary=all(task.difference.binary for task in tasks),
        clusters=None if units is None else int(np.unique(units).size),
        test="rule G, mean of tasks",
        range=evidence.range,
        made_of="counts",
    )
    return Conclusion(f"mean of {len(tasks)} of {known} tasks", "overall", item)


def _pooled(tasks: Sequence[TaskComparison], known: int, confidence: float) -> Conclusion:
    sides = [_turned(task) for task in tasks]
    now, before = (np.concatenate([one[side] for one in sides]) for side in (0, 1))
    item = difference(now, before, _documents(tasks), confidence=confidence)
    return Conclusion(f"pooled verdicts of {len(tasks)} of {known} tasks", "overall", item)
