"""Whether both sides of a task answered the same question."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evalprep.compare.acrosstools import (
    PairedRows,
    common_facts,
    metric_reasons,
    question_reasons_across,
    share_reasons,
)
from evalprep.compare.comparable import (
    differing,
    manner_notes,
    meant_reasons,
    prompt_reasons,
    question_reasons,
    rows_reasons,
)
from evalprep.compare.disjoint import nothing_in_common
from evalprep.compare.reasons import Kind, Reason
from evalprep.compare.settings import Settings
from evalprep.compare.sides import PairedMetric, Sides
from evalprep.results import FactDifference, TaskMeant, TaskRun, short_value, without_formatting

_GENERATION = "generation"  # the fact of a question


class Question(msgspec.Struct, frozen=True):
    """Whether both sides answered the same question.

    Attributes:
        reasons: Why they did not.
        notes: What a reader should know.
        differs: Facts that differ.
        paired_rows: How rows of two tools met.
    """

    reasons: Sequence[Reason]
    notes: Sequence[str] = ()
    differs: Sequence[FactDifference] = ()
    paired_rows: PairedRows | None = None


def question_of(paired: PairedMetric, settings: Settings) -> Question:
    """Whether the sides answered the same question."""
    sides, pairs = paired.sides, paired.pairs
    if sides.other is None or sides.against is None or paired.other is None:
        of_meant: list[Reason] = []
        if sides.published is not None:
            meant = sides.run.meant.get(sides.task.name)
            of_meant = meant_reasons(meant, sides.published, settings.allow)
        changed = int(pairs.prompt_differs.sum())
        return Question([*of_meant, *prompt_reasons(changed, pairs.paired, [], settings.allow)])
    differs = differing(sides.run, sides.task, sides.other, sides.against)
    if pairs.across_tools:
        return _across_tools(differs, paired, settings)
    of_rows = _other_rows(sides, settings)
    of_rows += _other_requests(differs, paired, settings)
    manner = manner_notes(differs)
    nothing = nothing_in_common(pairs, differs)
    if nothing is not None:
        return Question([nothing, *of_rows], manner, differs)
    reasons, proofs = question_reasons(
        differs, settings.allow, pairs, same_choices=_choices(sides.task) == _choices(sides.against)
    )
    return Question([*reasons, *of_rows], [*proofs, *manner], differs)


def _other_rows(sides: Sides, settings: Settings) -> list[Reason]:
    """Returns why two runs did not answer the rows that were prepared for them."""
    unknown = TaskMeant("unknown")
    meant = sides.run.meant.get(sides.task.name, unknown)
    other = unknown if sides.other is None else sides.other.meant.get(sides.task.name, unknown)
    return rows_reasons(meant, settings.allow, other)


def _other_requests(
    differs: Sequence[FactDifference], paired: PairedMetric, settings: Settings
) -> list[Reason]:
    """The reason where the requests of both sides were sent with other generation arguments.

    Not where the configurations differ in them already.
    """
    pairs, other = paired.pairs, paired.other
    is_known = any(fact.name == _GENERATION for fact in differs)
    if is_known or other is None or not pairs.rows.size or _GENERATION in settings.allow:
        return []
    sample = next(iter(paired.table.read(pairs.rows[:1].tolist())), None)
    opposite = next(iter(other.read(pairs.other_rows[:1].tolist())), None)
    if sample is None or opposite is None:
        return []
    own, base = sample.generation, opposite.generation
    differing = [
        f"{name} {short_value(value)} / {short_value(base[name])}"
        for name, value in own.items()
        if name in base and str(value) != str(base[name])
    ]
    if not differing:
        return []
    return [Reason(Kind.REQUESTS, option=_GENERATION, values={"arguments": differing})]


def _across_tools(
    differences: Sequence[FactDifference], paired: PairedMetric, settings: Settings
) -> Question:
    """How rows of two tools met, and what differs between them."""
    pairs, other_metric = paired.pairs, paired.other_metric
    differs = common_facts(differences)
    if other_metric is None:
        return Question([], differs=differs)
    names = paired.metric.name, other_metric.name
    known = PairedRows.of(pairs, names, differs)
    reasons = [
        *question_reasons_across(differs, pairs, settings.allow),
        *metric_reasons((paired.metric, other_metric), pairs),
        *share_reasons(known, settings.pairing),
    ]
    return Question(reasons, known.notes, differs, known)


def _choices(task: TaskRun) -> str:
    return str(without_formatting(task.logged.settings.template.get("doc_to_choice")))
