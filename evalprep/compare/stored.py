"""Tasks without samples: the scores and standard errors that lm-eval stored, side by side and unpaired."""

from __future__ import annotations

import math
from collections.abc import Collection

from custom_metrics.statistics import PairedUnits
from evalprep.compare.comparable import differing, manner_notes, reasons
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import Difference, from_evidence
from evalprep.results import Run, TaskRun
from evalprep.results.facts import NONE, limit_of
from evalprep.results.primary import logged_scores

_NORMAL = 1e9  # degrees of freedom at which Student's t is the normal distribution
UNPAIRED_TEST = "z, unpaired"
UNPAIRED = "unpaired: from stored scores, without samples; pairing would show smaller differences"


def compare_stored(
    run: Run, other: Run, names: Collection[str], *, confidence: float, allow: Collection[str]
) -> list[Conclusion]:
    """Compare every stored score of some tasks that both results files hold."""
    found = []
    for name in names:
        task, against = run.known(name), other.known(name)
        if task is None or against is None:
            continue
        differs = differing(run, task, other, against)
        for metric, filter_name in logged_scores(task.scores):
            if f"{metric},{filter_name}" not in against.scores:
                continue
            one = _one(task, against, metric, filter_name, confidence)
            one.not_comparable = reasons(differs, allow)
            one.notes += [UNPAIRED, *manner_notes(differs)]
            for label, limit in (("candidate", limit_of(run, task)), ("baseline", limit_of(other, against))):
                one.notes += [f"{label}: {limit}"] if limit not in (None, NONE) else []
            found.append(one)
    return found


def _number(task: TaskRun, key: str) -> float | None:
    value = task.scores.get(key)
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable else None  # type: ignore[arg-type]


def _one(task: TaskRun, against: TaskRun, metric: str, filter_name: str, confidence: float) -> Conclusion:
    key, error = f"{metric},{filter_name}", f"{metric}_stderr,{filter_name}"
    now, before = _number(task, key), _number(against, key)
    better = task.directions.get(metric) is not False
    name = f"{task.name}: {metric}" if filter_name == "none" else f"{task.name}: {metric} ({filter_name})"
    inside = all(value is not None and 0 <= value <= 1 for value in (now, before))
    item = Difference(
        previous=before, now=now, binary=False, higher_is_better=better, made_of="stored",
        unit="points" if inside else "", range=1.0 if inside else None,
    )  # fmt: skip
    result = Conclusion(name, "stored", item)
    if now is None or before is None:
        result.not_enough.append("no finite score on one of the sides")
        return result
    item.delta = now - before
    errors = _number(task, error), _number(against, error)
    if errors[0] is None or errors[1] is None:
        result.not_enough.append("no test for this score: no standard error is stored")
        return result
    gap = item.delta if better else -item.delta
    evidence = PairedUnits(gap, math.hypot(*errors), _NORMAL, math.inf, math.inf, None)  # type: ignore[arg-type]
    result.difference = from_evidence(
        evidence, confidence=confidence, higher_is_better=better, previous=before, now=now, binary=False,
        made_of="stored", unit=item.unit, range=item.range, test=UNPAIRED_TEST,
    )  # fmt: skip
    return result
