"""Scorers that give other scores to equal replies: what a model cannot have changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.agreement import SCORER
from evalprep.compare.difference import Difference
from evalprep.compare.pairing import Pairs
from evalprep.compare.reasons import Kind, Reason
from evalprep.results import Run, TaskRun
from evalprep.samples import LM_EVAL, Metric, Table
from evalprep.terminal import counted

#: Of equal pairs, and of verdicts that are checked against log-likelihoods.
_TOLERATED = 0.01
_FEWEST = 2
#: lm-eval's IFEval detects languages with langdetect, whose seed it does not set.
_UNSEEDED = re.compile(r"(?:prompt|inst)_level_(?:strict|loose)_acc")


def equal_replies(table: Table, other: Table | None, pairs: Pairs) -> NDArray[np.bool_] | None:
    """For each pair, True where both replies are logged and the same; None without a baseline."""
    if other is None:
        return None
    own = table.response_hash[pairs.rows]
    equal: NDArray[np.bool_] = (own == other.response_hash[pairs.other_rows]) & (own != 0)
    return equal


def is_random(task: TaskRun, metric: Metric) -> bool:
    """True for a metric whose scorer may give one reply several scores.

    A task declares it in its metadata: `random: true`, or a list of metrics.
    """
    declared = task.metadata.get("random")
    if isinstance(declared, (list, tuple)):
        return metric.metric in declared
    return declared is True or bool(_UNSEEDED.fullmatch(metric.metric))


def scorer_reasons(
    task: TaskRun,
    metric: Metric,
    item: Difference,
    equal: NDArray[np.bool_] | None,
    allow: Collection[str],
) -> list[Reason]:
    """The reason where a scorer differs on more equal replies than is tolerated."""
    if equal is None or SCORER in allow or is_random(task, metric):
        return []
    pairs = int(equal.sum())
    if item.scorer_flips <= max(_FEWEST, _TOLERATED * pairs):
        return []
    known = {"flips": item.scorer_flips, "equal": pairs}
    return [Reason(Kind.SCORER, option=SCORER, values=known)]


def note_on_calibration(item: Difference, equal: NDArray[np.bool_] | None) -> list[str]:
    """What the difference is calibrated on; nothing where equal replies have equal scores."""
    if equal is None or not item.scorer_flips:
        return []
    pairs = counted(int(equal.sum()), "equal reply", "equal replies")
    return [f"the scorer differs on {item.scorer_flips} of {pairs}; the difference is calibrated"]


def contradicted_verdicts(
    sides: Collection[tuple[str, Run, TaskRun]], allow: Collection[str]
) -> Iterator[Reason]:
    """Yields the reason where the verdicts of a side do not follow from its log-likelihoods.

    Runs that this tool recorded are not looked at: nothing came between lm-eval and their lines.
    """
    if SCORER in allow:
        return
    for side, run, task in sides:
        if run.record is not None or run.tool != LM_EVAL:
            continue
        check = task.verdict_check
        count = len(check.disagreeing)
        if count > max(_FEWEST, _TOLERATED * check.checked):
            known = {"side": side, "rows": count, "checked": check.checked}
            yield Reason(Kind.CONTRADICTED, option=SCORER, values=known)
