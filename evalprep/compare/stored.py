"""Tasks and groups without samples, side by side and unpaired.

Compared are the scores and standard errors that lm-eval stored.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from custom_metrics.statistics import PairedUnits
from evalprep.compare.agreement import DIRECTION, join_directions
from evalprep.compare.comparable import differing, manner_notes, reasons, with_option
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import POINTS, Difference, from_evidence
from evalprep.compare.settings import Settings
from evalprep.compare.shortfall import Lack, Shortfall
from evalprep.compare.task import direction_of
from evalprep.results import SHARE, FactDifference, Metric, Run, TaskRun, part_of
from evalprep.score import stated_of
from evalprep.terminal import shortlist

_NORMAL = 1e9  # degrees of freedom at which Student's t is the normal distribution
UNPAIRED_TEST = "z, unpaired"
UNPAIRED = "unpaired: from stored scores, without samples; pairing would show smaller differences"


def compare_stored(
    run: Run, other: Run, names: Collection[str], settings: Settings
) -> list[Conclusion]:
    """Compares every stored score of some tasks or groups that both results files hold."""
    conclusions: list[Conclusion] = []
    for name in names:
        task, against = run.known(name), other.known(name)
        if task is None or against is None:
            continue
        differences = _differences(run, task, other, against)
        not_comparable = [
            *reasons(differences, settings.allow),
            *_reasons_of_members(run, other, name),
        ]
        notes = [UNPAIRED, *manner_notes(differences)]
        notes += _notes_on_limits(task, against)
        for conclusion in _compare_stored_task(name, task, against, settings):
            conclusion.not_comparable = [*not_comparable, *conclusion.not_comparable]
            conclusion.notes += notes
            key = conclusion.metric, conclusion.filter
            conclusion.notes += note_on_stated("candidate", run, task, task.metric(*key))
            conclusion.notes += note_on_stated("baseline", other, against, against.metric(*key))
            conclusions.append(conclusion)
    return conclusions


def note_on_stated(side: str, run: Run, task: TaskRun, metric: Metric) -> list[str]:
    """What a results file states of a side whose rows give another value, as `score` words it."""
    stated = stated_of(run, task, metric)
    return [] if stated is None else [f"{side}: {stated.sentence}"]


def _differences(run: Run, task: TaskRun, other: Run, against: TaskRun) -> list[FactDifference]:
    """The facts that differ of a task; of a group the first difference of each fact."""
    differences = differing(run, task, other, against)
    for name in run.logged.tasks_below(task.name):
        member, member_against = run.known(name), other.known(name)
        if member is not None and member_against is not None:
            differences += differing(run, member, other, member_against)
    first_of_fact: dict[str, FactDifference] = {}
    for item in differences:
        first_of_fact.setdefault(item.name, item)
    return list(first_of_fact.values())


def _reasons_of_members(run: Run, other: Run, name: str) -> list[str]:
    """The reason why a group is another one on each side; empty for the same one, and a task."""
    members, of_other = (set(side.logged.tasks_below(name)) for side in (run, other))
    if members == of_other:
        return []
    parts = []
    for side, lone in (("candidate", members - of_other), ("baseline", of_other - members)):
        if lone:
            parts.append(f"only the {side}'s has {shortlist(sorted(lone), 3)}")
    return [f"the group has other tasks: {'; '.join(parts)}"]


def _compare_stored_task(
    name: str, task: TaskRun, against: TaskRun, settings: Settings
) -> Iterator[Conclusion]:
    """Yields a conclusion for each stored score of a task that the baseline has, too."""
    for metric in task.metrics:
        logged = against.logged.metric(metric.metric, metric.filter)
        # In the direction that a pack gives the task, as the metric beside it.
        baseline = against.directed(logged)
        if baseline is None:
            continue
        joined, contradiction = join_directions(metric, baseline, settings.allow)
        conclusion = _compare_stored_metric(name, joined, baseline, settings.confidence)
        is_primary = joined.key == task.headline.key
        conclusion.decides = settings.decides(joined.metric, joined.filter, primary=is_primary)
        if contradiction:
            conclusion.not_comparable.append(with_option(contradiction, DIRECTION))
        yield conclusion


def _notes_on_limits(task: TaskRun, against: TaskRun) -> list[str]:
    sides = ("candidate", part_of(task)), ("baseline", part_of(against))
    return [f"{side}: {part}" for side, part in sides if part]


def _compare_stored_metric(
    task: str, metric: Metric, baseline: Metric, confidence: float
) -> Conclusion:
    """One stored score of both sides, by the test of two unpaired standard errors."""
    values = _both_values(metric, baseline)
    name = f"{task}: {metric.name}"
    conclusion = Conclusion(name, "stored", values, metric=metric.metric, filter=metric.filter)
    if values.delta is None:
        reason = "no finite score on one of the sides"
        conclusion.not_enough.append(Shortfall(Lack.NO_VALUE, reason))
        return conclusion
    if metric.stderr is None or baseline.stderr is None:
        reason = "no test for this score: no standard error is stored"
        conclusion.not_enough.append(Shortfall(Lack.NO_TEST, reason))
        return conclusion
    is_turned = values.higher_is_better is False
    gain = -values.delta if is_turned else values.delta
    stderr = math.hypot(metric.stderr, baseline.stderr)
    evidence = PairedUnits(
        value=gain, stderr=stderr, degrees=_NORMAL, units=math.inf, changed=math.inf, range=None
    )
    conclusion.difference = from_evidence(
        evidence,
        confidence=confidence,
        higher_is_better=values.higher_is_better,
        previous=values.previous,
        now=values.now,
        binary=False,
        made_of="stored",
        unit=values.unit,
        range=values.range,
        test=UNPAIRED_TEST,
    )
    return conclusion


def _both_values(metric: Metric, baseline: Metric) -> Difference:
    """A stored score of both sides, without a test; without a difference where a side has none."""
    now, before = metric.value, baseline.value
    delta = None
    if now is not None and before is not None:
        delta = now - before
    is_share = metric.unit == baseline.unit == SHARE
    return Difference(
        previous=before,
        now=now,
        delta=delta,
        binary=False,
        higher_is_better=direction_of(metric),
        made_of="stored",
        unit=POINTS if is_share else "",
        range=1.0 if is_share else None,
    )
