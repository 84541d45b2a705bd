"""Tasks and groups without samples, side by side and unpaired.

Compared are the scores and standard errors that lm-eval stored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from custom_metrics.statistics import StoredDifference, StoredScore
from evalprep.compare.agreement import direction_of, join_directions, scale_reasons
from evalprep.compare.comparable import differing, fact_reasons, manner_notes
from evalprep.compare.difference import POINTS, Difference, from_evidence
from evalprep.compare.quantities import Measured, Quantity
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason
from evalprep.compare.same_outputs import same_file
from evalprep.compare.settings import Settings
from evalprep.compare.task import remarks_on
from evalprep.results import FactDifference, Run, TaskRun, expected_rows, part_of
from evalprep.samples import SHARE, Metric
from evalprep.score import stated_of

UNPAIRED_TEST = "t, unpaired"
_NEAR = 6e-4  # of a value that is stored with three digits
#: Beginnings of the names of metrics whose rows are right or wrong.
_OF_VERDICTS = ("acc", "exact_match", "em", "mc1", "pass", "prompt_level", "inst_level")
UNPAIRED = "unpaired: from stored scores, without samples; pairing would show smaller differences"


def measure_stored(
    run: Run, other: Run, names: Collection[str], settings: Settings
) -> list[Quantity]:
    """Measures every stored score of some tasks or groups that both results files hold."""
    quantities: list[Quantity] = []
    for name in names:
        task, against = run.known(name), other.known(name)
        if task is None or against is None:
            continue
        differences = _differences(run, task, other, against)
        of_question = [
            *fact_reasons(differences, settings.allow),
            *_reasons_of_members(run, other, name),
        ]
        notes = [UNPAIRED, *manner_notes(differences)]
        for side, part in (("candidate", part_of(task)), ("baseline", part_of(against))):
            if part:
                notes.append(f"{side}: {part}")
        sizes = _Sizes(_rows_of(run, task), _rows_of(other, against))
        copies = same_file(run, other, name)
        for metric in task.metrics:
            baseline = against.directed(against.logged.metric(metric.metric, metric.filter))
            if baseline is None:
                continue
            joined, contradictions = join_directions(metric, baseline, settings.allow)
            measured = _measured(joined, baseline, settings.confidence, sizes)
            item = replace(measured.difference, chance=_chance(task, joined))
            key = joined.metric, joined.filter
            quantities.append(
                Quantity(
                    name=f"{name}: {joined.name}",
                    kind="stored",
                    difference=item,
                    reasons=[
                        *of_question,
                        *_other_weighting((run, task), (other, against), key),
                        *measured.reasons,
                        *_other_scale(joined, baseline, settings.allow),
                        *contradictions,
                        *copies,
                    ],
                    notes=[
                        *notes,
                        *note_on_stated("candidate", run, task, task.metric(*key)),
                        *note_on_stated("baseline", other, against, against.metric(*key)),
                        *remarks_on(item),
                    ],
                    metric=joined.metric,
                    filter=joined.filter,
                    decides=settings.decides(*key, primary=joined.key == task.headline.key),
                )
            )
    return quantities


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


def _reasons_of_members(run: Run, other: Run, name: str) -> list[Reason]:
    """The reason why a group is another one on each side; empty for the same one, and a task."""
    members, of_other = (set(side.logged.tasks_below(name)) for side in (run, other))
    if members == of_other:
        return []
    lone = {CANDIDATE: sorted(members - of_other), BASELINE: sorted(of_other - members)}
    return [Reason(Kind.MEMBERS, values={"lone": lone})]


class _Sizes(NamedTuple):
    """Rows behind the scores of the candidate and of the baseline; None where not known."""

    now: int | None
    before: int | None


def _rows_of(run: Run, task: TaskRun) -> int | None:
    """The rows that a stored score stands on; of a group those of its tasks."""
    rows = expected_rows(run, task)
    if rows is not None:
        return rows
    members = [run.known(name) for name in run.logged.tasks_below(task.name)]
    counts = [None if member is None else expected_rows(run, member) for member in members]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _other_weighting(
    side: tuple[Run, TaskRun], other: tuple[Run, TaskRun], key: tuple[str, str]
) -> list[Reason]:
    """The reason where the values of a group are not made of its tasks in one way."""
    ways = [_weightings(run, task, key) for run, task in (side, other)]
    if None in ways:
        return []
    own, base = (way or set() for way in ways)
    for name, way in ((CANDIDATE, own), (BASELINE, base)):
        if not way:
            return [Reason(Kind.WEIGHTS, values={"side": name})]
    if own & base:
        return []
    words = [" and ".join(sorted(way)) for way in (own, base)]
    return [Reason(Kind.WEIGHTS, values={"ways": words})]


def _weightings(run: Run, task: TaskRun, key: tuple[str, str]) -> set[str] | None:
    """How the value of a group follows from its tasks; None for a task, and where not known."""
    names = run.logged.tasks_below(task.name)
    has_subgroups = any(run.logged.tasks_below(name) for name in names)
    members = [run.known(name) for name in names]
    value = task.metric(*key).value
    if len(members) < 2 or has_subgroups or value is None:
        return None
    values: list[float] = []
    sizes: list[int] = []
    for member in members:
        part = None if member is None else member.metric(*key).value
        rows = None if member is None else expected_rows(run, member)
        if part is None or rows is None:
            return None
        values.append(part)
        sizes.append(rows)
    means = {
        "each task alike": float(np.mean(values)),
        "by rows": float(np.average(values, weights=sizes)),
    }
    return {way for way, mean in means.items() if abs(mean - value) <= _NEAR * max(1.0, abs(value))}


def _chance(task: TaskRun, metric: Metric) -> float | None:
    """The score of a guess, where the task lists one set of choices for all rows; else None."""
    settings = task.logged.settings
    choices = settings.template.get("doc_to_choice")
    is_accuracy = settings.output_type == "multiple_choice" and metric.metric.startswith("acc")
    if not is_accuracy or not isinstance(choices, (list, tuple)) or len(choices) < 2:
        return None
    return 1.0 / len(choices)


def _other_scale(metric: Metric, baseline: Metric, allow: Collection[str]) -> list[Reason]:
    """The reason where one side states percent, or a value outside the range of the other."""
    now, before = metric.value, baseline.value
    if now is None or before is None:
        return []
    sides = np.array([now]), np.array([before])
    # A score that leaves its range has none; that of the other side is the metric's.
    ranged = metric
    if metric.range is None:
        ranged = msgspec.structs.replace(metric, range=baseline.range)
    return scale_reasons(metric, *sides, allow) or scale_reasons(ranged, *sides, allow)


def _measured(metric: Metric, baseline: Metric, confidence: float, sizes: _Sizes) -> Measured:
    """The difference of two stored scores, unpaired; without a test, the reason."""
    values = _both_values(metric, baseline)
    if values.delta is None:
        why = "no finite score on one of the sides"
        return Measured(values, [Reason(Kind.NO_VALUE, said=why)])
    bounds = _bounds(metric, [metric, baseline])
    now = _score_of(metric, sizes.now, bounds)
    before = _score_of(baseline, sizes.before, bounds)
    if now is None or before is None:
        sides = {"candidate": now, "baseline": before}
        lacking = " and the ".join(side for side, score in sides.items() if score is None)
        needed = "the number of rows (n-samples)" + ("" if bounds else " and a standard error")
        verb = "do" if now is before else "does"
        why = f"no test for this score: it takes {needed}, which the {lacking} {verb} not state"
        return Measured(values, [Reason(Kind.NO_TEST, said=why)])
    width = None if bounds is None else bounds[1] - bounds[0]
    evidence = StoredDifference(now, before, width)
    is_turned = values.higher_is_better is False
    tested = from_evidence(
        evidence.turned() if is_turned else evidence,
        confidence=confidence,
        higher_is_better=values.higher_is_better,
        n=round(min(now.n, before.n)),
        previous=values.previous,
        now=values.now,
        binary=False,
        made_of="stored",
        unit=values.unit,
        range=width,
        test=UNPAIRED_TEST,
    )
    return Measured(tested)


def _bounds(metric: Metric, sides: Sequence[Metric]) -> tuple[float, float] | None:
    """The range of a stored score; None where it is not known or a value leaves it."""
    if metric.range is None:
        return None
    least, most = metric.range
    inside = all(side.value is not None and least <= side.value <= most for side in sides)
    return metric.range if inside else None


def _score_of(
    metric: Metric, rows: int | None, bounds: tuple[float, float] | None
) -> StoredScore | None:
    """A stored score for the test; None where rows or spread are not known."""
    value, stderr = metric.value or 0.0, metric.stderr
    if bounds is None:
        if rows is None or rows < 2 or stderr is None:
            return None
        return StoredScore(value, rows, stderr)
    least, most = bounds
    width = most - least
    share = (value - least) / width
    scaled = None if stderr is None else stderr / width
    size: float | None = rows
    if size is None and scaled and 0.0 < share < 1.0 and metric.metric.startswith(_OF_VERDICTS):
        size = share * (1.0 - share) / scaled**2 + 1.0
    return StoredScore(share, size, scaled) if size is not None and size > 1.0 else None


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
