"""One task of two runs, or of a run and its published verdicts.

What is read of it, and which rows are paired.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.acrosstools import (
    PairedRows,
    common_facts,
    metric_reasons,
    question_reasons_across,
    share_reasons,
)
from evalprep.compare.agreement import join_directions, scale_reasons
from evalprep.compare.comparable import (
    GOLD,
    differing,
    filter_reasons,
    manner_notes,
    meant_reasons,
    prompt_reasons,
    question_reasons,
    rows_reasons,
)
from evalprep.compare.conclusion import SECONDARY, Conclusion, missing_rows
from evalprep.compare.difference import Difference, LoneScores, difference, differing_value
from evalprep.compare.disjoint import nothing_in_common
from evalprep.compare.documents import note_on_found, note_on_unsettled, unsettled_fields
from evalprep.compare.pairing import Floats, Pairs, ScoredRows, with_published, with_run
from evalprep.compare.readings import (
    Reading,
    doubts_on_replies,
    notes_on_published,
    readings_of,
    reason_of_two_readings,
)
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason, unique
from evalprep.compare.same_outputs import same_file
from evalprep.compare.scorer import (
    contradicted_verdicts,
    equal_replies,
    note_on_calibration,
    scorer_reasons,
)
from evalprep.compare.settings import Settings
from evalprep.compare.shared_rows import is_made
from evalprep.compare.stored import note_on_stated
from evalprep.compare.task import (
    TaskComparison,
    TaskSides,
    direction_of,
    remarks_on,
    row_units,
    rows_of_task,
)
from evalprep.compare.warnings import row_names
from evalprep.compare.whole import compare_whole, is_whole, key_over_rows
from evalprep.numbers import finite_number
from evalprep.results import (
    NO_FILTER,
    TABLE,
    UNKNOWN,
    FactDifference,
    Metric,
    PublishedReading,
    Replier,
    Run,
    Table,
    TaskMeant,
    TaskRun,
    expected_rows,
    limit_of,
    note_on_empty_replies,
    note_on_failed_scoring,
    note_on_limit,
    short_value,
    without_formatting,
)
from evalprep.samples import GOLD_COLUMN, Way
from evalprep.terminal import counted

_LOOKED_AT = 32  # rows whose requests are read
_FEWEST_EQUAL = 20  # replies that are named where all are one
_GENERATION = "generation"  # the fact of a question


@dataclass(frozen=True)
class Sides:
    """One task of both runs; without `other` the baseline is the published verdicts.

    Attributes:
        run, task: The candidate, and the task as it is read.
        other, against: The baseline.
        published: How the task is read to be held against published verdicts.
        own: The task as every other verb reads it, where that is another reading.
    """

    run: Run
    task: TaskRun
    other: Run | None = None
    against: TaskRun | None = None
    published: PublishedReading | None = None
    own: TaskRun | None = None

    @property
    def has_replies(self) -> bool:
        """Returns whether both sides logged replies."""
        sides = (self.task, self.against)
        return not any(side is not None and side.values_only for side in sides)


@dataclass(frozen=True)
class SideRows:
    """The rows of both sides and the metric that is read of each."""

    table: Table
    values: Floats
    other: Table | None
    other_values: Floats | None
    other_metric: Metric | None = None
    notes: tuple[str, ...] = ()

    def has_metric(self, metric: Metric) -> bool:
        """Returns whether the baseline is a run that is read by a metric, too."""
        return self.other_metric is not None and self.other_metric.key == metric.key


def compare_sides(sides: Sides, metric: Metric, settings: Settings) -> TaskComparison:
    """Pair the rows of both sides of a task, and say what they carry.

    Args:
        sides: The task in both runs.
        metric: What is compared.
        settings: Levels, limits, and what may differ.
    """
    rows = _read_rows(sides, metric)
    pairs = _pair(sides, rows, settings)
    metric, disagreements = _agree(metric, rows, pairs, settings)
    paired = _paired(sides, rows, pairs, settings)
    item = _difference(metric, paired, settings, _missing_scores(sides, rows, pairs, settings))
    item = replace(item, chance=_chance(sides.task, rows, pairs))
    question = _question_of(sides, metric, rows, pairs, settings)
    expected = _expected_pairs(sides, rows, pairs, settings)
    of_rows = rows_of_task(paired, metric)
    reasons = [*disagreements, *question.reasons]
    whole = None
    notes = [*rows.notes, *_notes_on_values(sides, metric, rows, pairs)]
    notes += _notes_on_stated(sides, metric, rows.other_metric)
    notes += _notes_on_rows(sides, rows, pairs, settings)
    notes += question.notes
    remarks = remarks_on(item)
    if sides.against is not None and is_whole(metric):
        # Its rows have no score of their own: a metric over all of them stands for the task.
        whole = compare_whole(
            sides.task, sides.against, metric.metric, settings, filter_name=of_rows["filter"]
        )
        item = whole.difference
        reasons += whole.reasons
        remarks = [*remarks, *whole.notes]
        of_rows |= {"unscored": [], "counts_of": of_rows["counts_of"] | {"unscored": 0}}
    else:
        reasons += scorer_reasons(sides.task, metric, item, paired.equal, settings.allow)
        notes += note_on_calibration(item, paired.equal)
        item = _with_own_values(item, metric, rows)
    reasons += contradicted_verdicts(_both_sides(sides), settings.allow)
    doubts = _doubts_on_replies(rows)
    readings = _other_reading(sides, metric, item, doubted=bool(doubts))
    reasons = [*readings, *reasons]
    reasons += _missing_pairs(sides, metric, rows, item, pairs, expected, settings)
    reasons += same_file(sides.run, sides.other, sides.task.name)
    unsettled = unsettled_fields(
        rows.table, pairs.rows, (pairs.now, pairs.before), settings.cluster
    )
    return TaskComparison(
        name=sides.task.name,
        kind="task",
        difference=item,
        reasons=reasons,
        notes=[*notes, *note_on_unsettled(unsettled), *remarks],
        metric=metric.metric,
        declared=metric.declared,
        bounds=metric.range,
        decides=settings.decides_task(metric, (sides.own or sides.task).metrics),
        expected=expected if item.n else None,
        duplicate_of=_key_of(sides.task.name, metric, pairs),
        doubts=doubts,
        differs=question.differs,
        paired_rows=question.paired_rows,
        unsettled=[field.name for field, _ in unsettled],
        whole=whole,
        **of_rows,
    )


def _paired(sides: Sides, rows: SideRows, pairs: Pairs, settings: Settings) -> TaskSides:
    """The pairs of a task with what is known of their replies and documents."""
    repliers = Replier.of(sides.run), Replier() if sides.other is None else Replier.of(sides.other)
    return TaskSides(
        rows.table,
        rows.other,
        pairs,
        repliers,
        has_replies=sides.has_replies,
        equal=_equal_replies(sides, rows, pairs, settings),
        units=row_units(rows.table, pairs, settings.cluster),
    )


def _difference(
    metric: Metric, paired: TaskSides, settings: Settings, missing: LoneScores | None
) -> Difference:
    """The difference of a metric over the pairs of a task."""
    return difference(
        paired.pairs.now,
        paired.pairs.before,
        paired.units,
        confidence=settings.confidence,
        higher_is_better=direction_of(metric),
        bounds=metric.range,
        may_be_share=metric.may_be_share,
        missing=missing,
        equal=paired.equal,
    )


def _key_of(task: str, metric: Metric, pairs: Pairs) -> str:
    """The key of a quantity of a task, which copies and transforms of it share."""
    if pairs.rows.size:
        return column_key(task, pairs)
    return key_over_rows(task, metric) if is_whole(metric) else ""


def _chance(task: TaskRun, rows: SideRows, pairs: Pairs) -> float | None:
    """The score of a guess, where every row has as many choices; None elsewhere."""
    is_choice = task.logged.settings.output_type == "multiple_choice"
    if not is_choice or not pairs.rows.size:
        return None
    first = pairs.rows[:_LOOKED_AT].tolist()
    counts = {len(sample.requests) for sample in rows.table.read(first)}
    choices = counts.pop() if len(counts) == 1 else 0
    return 1.0 / choices if choices > 1 else None


def _equal_replies(
    sides: Sides, rows: SideRows, pairs: Pairs, settings: Settings
) -> NDArray[np.bool_] | None:
    """For each pair, whether its replies are equal; None where that says nothing of the scorer.

    That is so of two tools, of gold answers that may differ, and of rows that each model's own
    replies make.
    """
    if not sides.has_replies or pairs.across_tools or GOLD in settings.allow:
        return None
    if is_made(sides.task):
        return None
    return equal_replies(rows.table, rows.other, pairs)


def _both_sides(sides: Sides) -> list[tuple[str, Run, TaskRun]]:
    """Each side with its name; the published one has no log-likelihoods."""
    own = [(CANDIDATE, sides.run, sides.task)]
    if sides.other is None or sides.against is None:
        return own
    return [*own, (BASELINE, sides.other, sides.against)]


def _doubts_on_replies(rows: SideRows) -> list[str]:
    """Warnings about the replies of both sides."""
    doubts = doubts_on_replies(rows.table, CANDIDATE)
    if rows.other is not None:
        doubts += doubts_on_replies(rows.other, BASELINE)
    return doubts


def _other_reading(
    sides: Sides, metric: Metric, item: Difference, *, doubted: bool
) -> list[Reason]:
    """The reason where another reading of the same replies is too far from the one compared.

    Of two runs both are read by the same filter, and each other filter has a conclusion beside it;
    only unfinished thoughts (`doubted`) make the filters doubtful themselves.
    """
    own = sides.own or sides.task
    if own.chosen_filter:
        return []
    others: list[Reading] = []
    if sides.published is not None:
        is_another = own.primary.metric != metric.metric
        if not is_another and own.primary.filter not in sides.published.edited:
            others = [Reading.of(own, own.primary)]
    elif doubted:
        others = readings_of(own, metric.metric)
    first = Reading.of(sides.task, metric)
    reasons = (reason_of_two_readings(first, other, item) for other in others)
    return list(filter(None, reasons))[:1]


def _with_own_values(item: Difference, metric: Metric, rows: SideRows) -> Difference:
    """The mean of each side over all rows that it scored, where it is not that of the pairs."""
    now = _mean(rows.values, rows.table.weights.get(metric.metric))
    before = None
    if rows.other is not None and rows.other_values is not None and rows.other_metric is not None:
        before = _mean(rows.other_values, rows.other.weights.get(rows.other_metric.metric))
    return replace(
        item,
        own_now=differing_value(now, item.now),
        own_previous=differing_value(before, item.previous),
    )


def _mean(values: Floats, weights: Floats | None) -> float | None:
    """The mean of those rows that have a number, weighed as `score` weighs them."""
    known = np.isfinite(values)
    if not known.any():
        return None
    own_weights = None if weights is None else weights[known]
    with np.errstate(over="ignore", invalid="ignore"):
        return finite_number(float(np.average(values[known], weights=own_weights)))


@dataclass(frozen=True)
class Question:
    """Whether both sides answered the same question.

    Attributes:
        reasons: Why they did not.
        notes: What a reader should know.
        differs: Facts that differ.
        paired_rows: How rows of two tools met.
    """

    reasons: list[Reason]
    notes: list[str] = field(default_factory=list)
    differs: list[FactDifference] = field(default_factory=list)
    paired_rows: PairedRows | None = None


def _question_of(
    sides: Sides, metric: Metric, rows: SideRows, pairs: Pairs, settings: Settings
) -> Question:
    """Whether the sides answered the same question."""
    if sides.other is None or sides.against is None or rows.other is None:
        of_meant: list[Reason] = []
        if sides.published is not None:
            meant = sides.run.meant.get(sides.task.name)
            of_meant = meant_reasons(meant, sides.published, settings.allow)
        changed = int(pairs.prompt_differs.sum())
        return Question([*of_meant, *prompt_reasons(changed, pairs.paired, [], settings.allow)])
    differs = differing(sides.run, sides.task, sides.other, sides.against)
    if pairs.across_tools:
        return _question_of_tools(differs, metric, rows, pairs, settings)
    of_rows = _other_rows(sides, settings)
    of_rows += _other_requests(differs, rows, pairs, settings)
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
    differs: Sequence[FactDifference], rows: SideRows, pairs: Pairs, settings: Settings
) -> list[Reason]:
    """The reason where the requests of both sides were sent with other generation arguments.

    Not where the configurations differ in them already.
    """
    is_known = any(fact.name == _GENERATION for fact in differs)
    if is_known or rows.other is None or not pairs.rows.size or _GENERATION in settings.allow:
        return []
    sample = next(iter(rows.table.read(pairs.rows[:1].tolist())), None)
    opposite = next(iter(rows.other.read(pairs.other_rows[:1].tolist())), None)
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


def _question_of_tools(
    differences: Sequence[FactDifference],
    metric: Metric,
    rows: SideRows,
    pairs: Pairs,
    settings: Settings,
) -> Question:
    """How rows of two tools met, and what differs between them."""
    differs = common_facts(differences)
    if rows.other is None or rows.other_metric is None:
        return Question([], differs=differs)
    names = metric.name, rows.other_metric.name
    known = PairedRows.of(pairs, names, differs)
    reasons = [
        *question_reasons_across(differs, pairs, settings.allow),
        *metric_reasons((metric, rows.other_metric), pairs),
        *share_reasons(known, settings.pairing),
    ]
    return Question(reasons, known.notes, differs, known)


def compare_further(sides: Sides, first: TaskComparison, settings: Settings) -> list[Conclusion]:
    """Compare every other row metric and filter that both runs of a task have."""
    task, against = sides.task, sides.against
    if against is None:
        return []
    further = []
    others = {(metric.metric, metric.filter): metric.kind for metric in against.metrics}
    for metric in task.metrics:
        key = metric.metric, metric.filter
        # A side whose rows lost all numbers of a metric has no kind of it but `stored`.
        kinds = {metric.kind, others.get(key)}
        if key != (first.metric, first.filter) and key in others and "rows" in kinds:
            reasons = filter_reasons(task, against, metric.filter, settings.allow)
            further.append(_compare_further_metric(sides, metric, first, settings, reasons))
    return further


def _compare_further_metric(
    sides: Sides,
    metric: Metric,
    first: TaskComparison,
    settings: Settings,
    reasons: Sequence[Reason],
) -> Conclusion:
    """One metric beside the first; the question and its rows are those of the first."""
    rows = _read_rows(sides, metric, by_own=False)
    pairs = _pair(sides, rows, settings)
    metric, disagreements = _agree(metric, rows, pairs, settings)
    paired = _paired(sides, rows, pairs, settings)
    item = _difference(metric, paired, settings, _missing_scores(sides, rows, pairs, settings))
    of_question = [why for why in first.refusals if why.kind is not Kind.SCORER]
    of_scorer = scorer_reasons(sides.task, metric, item, paired.equal, settings.allow)
    lacking = [Reason(Kind.NO_SCORED_PAIR)] if item.n == 0 else []
    if item.n and first.expected is not None:
        lacking = missing_rows(item.n, first.expected, tolerated=settings.tolerated_missing)
    return Conclusion(
        name=f"{sides.task.name}: {metric.name}",
        kind=SECONDARY,
        difference=item,
        reasons=unique(
            [
                *of_question,
                *reasons,
                *disagreements,
                *of_scorer,
                *lacking,
                *same_file(sides.run, sides.other, sides.task.name),
            ]
        ),
        notes=[
            *_note_on_unscored(pairs, metric, first),
            *note_on_calibration(item, paired.equal),
            *_notes_on_stated(sides, metric, rows.other_metric),
        ],
        expected=first.expected if item.n else None,
        metric=metric.metric,
        filter=metric.filter,
        decides=settings.decides(metric.metric, metric.filter, primary=False),
        duplicate_of=column_key(sides.task.name, pairs),
    )


def _notes_on_stated(sides: Sides, metric: Metric, other_metric: Metric | None) -> list[str]:
    """What a results file states of either side whose rows give another value."""
    notes = note_on_stated("candidate", sides.run, sides.task, metric)
    if sides.other is not None and sides.against is not None and other_metric is not None:
        notes += note_on_stated("baseline", sides.other, sides.against, other_metric)
    return notes


def _note_on_unscored(pairs: Pairs, metric: Metric, first: TaskComparison) -> list[str]:
    """Returns how many rows have no number in a metric beside the first.

    Rows that lack it on both sides are no failures: it is a metric of other rows.
    """
    lacking, scored = len(pairs.unscored), int(pairs.rows.size)
    if not lacking:
        return []
    if scored and not any(side.size for side in pairs.half_scored):
        rows = f"{scored} of {scored + lacking} rows on both sides"
        return [f"{metric.name} is a metric of {rows}, and {first.reading} of others"]
    rows = counted(lacking, "row has", "rows have")
    return [f"{rows} no finite score; the others are compared"]


def column_key(task: str, pairs: Pairs) -> str:
    """A key that two columns share where all their values are the same on both sides."""
    content = hashlib.blake2b(np.ascontiguousarray(pairs.now).data, digest_size=16)
    content.update(np.ascontiguousarray(pairs.before).data)
    return f"{task}: column {content.hexdigest()}"


def _read_rows(sides: Sides, metric: Metric, *, by_own: bool = True) -> SideRows:
    """Read both sides.

    Rows are named alike on both, by their content where their ids differ in kind.

    Args:
        sides: The task in both runs.
        metric: What is compared.
        by_own: Whether a baseline whose rows lack the metric is read by its own one.
    """
    task, against = sides.task, sides.against
    table = task.table(metric.filter)
    if against is None:
        values = table.numbers(metric.metric)
        return SideRows(table, values, None, None, notes=_notes_on_published(sides))
    other_metric = against.metric(metric.metric, metric.filter)
    other = against.table(metric.filter)
    notes: tuple[str, ...] = ()
    if by_own and (len(other) == 0 or metric.metric not in other.metrics):
        other_metric = against.primary
        other = against.table(other_metric.filter)
        if other_metric.metric:
            name = f"{other_metric.metric} ({other_metric.filter})"
            notes = (f"the baseline is read by its own {name}",)
    both_have_rows = bool(len(table) and len(other))
    if both_have_rows and table.id_source != other.id_source and task.tool == against.tool:
        table = task.table(metric.filter, id_source="doc_hash")
        other = against.table(other_metric.filter, id_source="doc_hash")
        message = "the row ids of the runs differ; rows are matched by their content"
        notes = (*notes, message)
    return SideRows(
        table=table,
        values=table.numbers(metric.metric),
        other=other,
        other_values=other.numbers(other_metric.metric),
        other_metric=other_metric,
        notes=notes,
    )


def _notes_on_published(sides: Sides) -> tuple[str, ...]:
    """Notes on the rule of the published verdicts, and on the task's own score."""
    if sides.published is None:
        return ()
    return tuple(notes_on_published(sides.own or sides.task, sides.published))


def _agree(
    metric: Metric, rows: SideRows, pairs: Pairs, settings: Settings
) -> tuple[Metric, list[Reason]]:
    """The metric in the direction of both sides, and why direction or scale are not the same."""
    other_metric = rows.other_metric
    if other_metric is None or other_metric.metric != metric.metric:
        return metric, []
    metric, reasons = join_directions(metric, other_metric, settings.allow)
    return metric, reasons + scale_reasons(metric, pairs.now, pairs.before, settings.allow)


def _pair(sides: Sides, rows: SideRows, settings: Settings) -> Pairs:
    if rows.other is None or rows.other_values is None or sides.against is None:
        return with_published(rows.table, rows.values)
    return with_run(
        ScoredRows(rows.table, rows.values, sides.task.tool),
        ScoredRows(rows.other, rows.other_values, sides.against.tool),
        settings.pairing,
        any_gold=GOLD in settings.allow,
    )


def _choices(task: TaskRun) -> str:
    return str(without_formatting(task.logged.settings.template.get("doc_to_choice")))


def _missing_scores(
    sides: Sides, rows: SideRows, pairs: Pairs, settings: Settings
) -> LoneScores | None:
    """The rows without a pair that there should be, by the score that one side has of them.

    None where few pairs are enough for the user.
    """
    if settings.pairing.partial:
        return None
    now, before = pairs.half_scored
    sizes = _expected(sides, rows.table, rows.other)
    if pairs.across_tools:  # a side may hold a part of the questions
        both_lack = len(pairs.unscored) - now.size - before.size
        return LoneScores(now, before, max(0, min(sizes) - pairs.smaller) + both_lack)
    is_part = "limit" in settings.allow
    if not is_part:
        own, base = pairs.unpaired
        now = np.concatenate([now, own[np.isfinite(own)]])
        before = np.concatenate([before, base[np.isfinite(base)]])
    left_out = 0 if GOLD in settings.allow else len(pairs.other_gold)
    expected = min(sizes) if is_part else max(sizes)
    known = int(pairs.now.size + now.size + before.size) + left_out
    return LoneScores(now, before, max(0, expected - known))


def _expected_pairs(sides: Sides, rows: SideRows, pairs: Pairs, settings: Settings) -> int:
    """The pairs that there should be.

    A side of another tool may hold a part of the questions: what counts is the smaller side.
    """
    sizes = _expected(sides, rows.table, rows.other)
    is_part = pairs.across_tools or "limit" in settings.allow or settings.pairing.partial
    return min(sizes) if is_part else max(sizes)


def _missing_pairs(
    sides: Sides,
    metric: Metric,
    rows: SideRows,
    item: Difference,
    pairs: Pairs,
    expected: int,
    settings: Settings,
) -> list[Reason]:
    """The reason where there are no pairs, or fewer than the runs were to have."""
    why = _why_missing(pairs)
    if item.n == 0:
        kind = Kind.NO_SCORED_PAIR if metric.metric else Kind.NO_ROW_SCORE
        if sides.against is None and not np.any(rows.table.previous >= 0):
            kind = Kind.NO_VERDICT
        return [Reason(kind, values={"why": why})]
    if settings.pairing.partial:
        return []
    tolerated = settings.tolerated_missing
    if not pairs.across_tools:
        return missing_rows(item.n, expected, why, tolerated=tolerated)
    return [
        *missing_rows(pairs.smaller, expected, tolerated=tolerated),
        *missing_rows(item.n, pairs.paired, why, tolerated=tolerated),
    ]


def _notes_on_values(sides: Sides, metric: Metric, rows: SideRows, pairs: Pairs) -> list[str]:
    """Notes on the metric, and on rows that have no number or several."""
    if not metric.metric:
        return [sides.task.without_score]
    notes = []
    if not metric.declared:
        notes.append(f"no primary metric is named; {metric.metric} ({metric.filter}) was taken")
    elif metric.filter != NO_FILTER and rows.has_metric(metric):
        notes.append(f"both sides are read by {metric.name}")
    weights = rows.table.weights.get(metric.metric)
    if weights is not None and np.unique(weights[pairs.rows]).size > 1:
        notes.append(
            f"{metric.metric} has several values in a row; each row counts once here, by their mean"
        )
    return notes


def _note_on_gold(sides: Sides, pairs: Pairs, settings: Settings) -> list[str]:
    """Notes on rows that are left out because their gold answers differ."""
    if not pairs.other_gold or GOLD in settings.allow:
        return []
    count = counted(
        len(pairs.other_gold),
        "row with another gold answer is",
        "rows with another gold answer are",
    )
    notes = [f"{count} left out: {row_names(pairs.other_gold)}"]
    tools = {side.tool for side in (sides.task, sides.against) if side is not None}
    if TABLE in tools and len(pairs.other_gold) > pairs.paired / 2:
        notes.append(GOLD_COLUMN)
    return notes


def _notes_on_rows(sides: Sides, rows: SideRows, pairs: Pairs, settings: Settings) -> list[str]:
    """Notes on how rows met, on documents, on parts of the data and on empty replies."""
    notes = []
    if sides.against is None and pairs.rows.size == 0:
        notes.append(
            "no row carries a published verdict (doc.previously_is_correct); "
            "name another run to compare with"
        )
    if not rows.notes and not pairs.across_tools:
        notes += _note_on_ways(pairs)
    notes += _note_on_copies(pairs)
    notes += _note_on_gold(sides, pairs, settings)
    notes += note_on_found(rows.table, settings.cluster)
    # A part that is not the same on both sides is a difference of facts.
    if sides.against is None or limit_of(sides.against) == limit_of(sides.task):
        notes += note_on_limit(sides.task)
    notes += [f"candidate: {note}" for note in _notes_on_replies(rows.table)]
    if rows.other is not None:
        notes += [f"baseline: {note}" for note in _notes_on_replies(rows.other)]
    return notes


def _note_on_copies(pairs: Pairs) -> list[str]:
    """How many rows stand twice, letter by letter."""
    if not pairs.copies:
        return []
    lines = counted(pairs.copies, "line that stands twice counts", "lines that stand twice count")
    return [f"{lines} once"]


def _notes_on_replies(table: Table) -> list[str]:
    """Notes on replies of one side that say nothing, and on those that nobody scored."""
    notes = [*note_on_failed_scoring(table), *note_on_empty_replies(table)]
    return [*notes, *_note_on_equal_replies(table)]


def _note_on_equal_replies(table: Table) -> list[str]:
    """A note where one reply was given to all prompts."""
    rows = len(table)
    is_one = rows >= _FEWEST_EQUAL and np.unique(table.response_hash).size == 1
    is_said = bool(is_one and table.response_hash[0] != 0 and not np.any(table.empty == 1))
    return [f"{rows} of {rows} replies are equal"] if is_said else []


def _note_on_ways(pairs: Pairs) -> list[str]:
    """Returns how rows met that did not meet by id or document."""
    usual = {Way.ID, Way.DOCUMENT}
    ways = [f"{count} by {way}" for way, count in pairs.ways.items() if way not in usual]
    return [f"rows are matched: {', '.join(ways)}"] if ways else []


def _expected(sides: Sides, table: Table, other: Table | None) -> list[int]:
    """Rows that each side was to answer, and at least as many as it names."""
    own = max(expected_rows(sides.run, sides.task) or 0, _different_rows(table))
    if sides.other is None or sides.against is None or other is None:
        # Rows without a published verdict are not expected to be paired.
        return [own - int(np.sum(table.previous == UNKNOWN))]
    return [own, max(expected_rows(sides.other, sides.against) or 0, _different_rows(other))]


def _different_rows(table: Table) -> int:
    return len(set(table.ids)) if table.repeated_ids.size else len(table)


def _why_missing(pairs: Pairs) -> list[str]:
    """Returns how many rows are missing for which reason; warnings and notes name the rows."""
    parts = [
        (pairs.duplicates, "id occurs twice", "ids occur twice"),
        (pairs.unscored, "row without a finite score", "rows without a finite score"),
        (pairs.unreadable, "unreadable published verdict", "unreadable published verdicts"),
        (pairs.other_gold, "row with another gold answer", "rows with another gold answer"),
    ]
    texts = []
    for ids, singular, plural in parts:
        if ids:
            texts.append(counted(len(ids), singular, plural))
    return texts
