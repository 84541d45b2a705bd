"""The quantities of one task: its first metric, metrics over all rows, and further ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from evalprep.compare.comparable import GOLD, filter_reasons
from evalprep.compare.difference import Difference, differing_value
from evalprep.compare.documents import note_on_found, note_on_unsettled, unsettled_fields
from evalprep.compare.pairing import Pairs
from evalprep.compare.quantities import SECONDARY, Measured, Quantity, missing_rows
from evalprep.compare.question import question_of
from evalprep.compare.readings import (
    Reading,
    doubts_on_replies,
    readings_of,
    reason_of_two_readings,
)
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason, unique
from evalprep.compare.same_outputs import same_file
from evalprep.compare.scorer import contradicted_verdicts, note_on_calibration, scorer_reasons
from evalprep.compare.settings import Settings
from evalprep.compare.sides import OVER_ALL_ROWS, PairedMetric, Sides, expected_pairs, paired_metric
from evalprep.compare.stored import note_on_stated
from evalprep.compare.task import PairedTask, remarks_on
from evalprep.compare.warnings import row_names
from evalprep.compare.whole import key_over_rows, kind_over_rows, measure_whole
from evalprep.numbers import finite_number
from evalprep.results import limit_of, note_on_empty_replies, note_on_failed_scoring, note_on_limit
from evalprep.samples import GOLD_COLUMN, NO_FILTER, TABLE, Metric, Table, Way
from evalprep.terminal import counted

_FEWEST_EQUAL = 20  # replies that are named where all are one


class TaskQuantities(msgspec.Struct, frozen=True):
    """Everything that is measured of one task.

    Attributes:
        first: The metric that stands for the task.
        rows: The rows that it is read of.
        metrics: Metrics over all rows together.
        further: Row metrics and filters beside the first one.
    """

    first: Quantity
    rows: PairedTask
    metrics: Sequence[Quantity]
    further: Sequence[Quantity]


def measure_task(sides: Sides, settings: Settings) -> TaskQuantities:
    """Measures a task by every metric that both sides have.

    Args:
        sides: The task in both runs.
        settings: Levels, limits, and what may differ.
    """
    paired = paired_metric(sides, sides.first_metric, settings)
    whole: Measured | None = None
    if sides.against is not None and sides.kind_of(paired.metric) in OVER_ALL_ROWS:
        # Its rows have no score of their own: a metric over all of them stands for the task.
        whole = _over_rows(sides, paired.metric, settings)
    doubts = doubts_on_replies(paired.table, CANDIDATE)
    if paired.other is not None:
        doubts += doubts_on_replies(paired.other, BASELINE)
    unsettled = unsettled_fields(paired.pairs, settings.cluster)
    rows = PairedTask(
        **vars(paired),
        question=question_of(paired, settings),
        by_row=whole is None,
        doubts=doubts,
        unsettled=[name.name for name, _ in unsettled],
    )
    first = _first_quantity(
        rows,
        _own_rows(paired, settings) if whole is None else whole,
        settings,
        notes=[*note_on_unsettled(unsettled), *remarks_on(paired.difference)],
    )
    return TaskQuantities(
        first=first,
        rows=rows,
        metrics=_over_all_rows(sides, first, whole, settings),
        further=_further(sides, first, rows, settings),
    )


def _first_quantity(
    rows: PairedTask, measured: Measured, settings: Settings, notes: Sequence[str]
) -> Quantity:
    """The metric that stands for a task, with whether both sides answered the same question.

    Args:
        rows: The metric and its rows.
        measured: Its difference.
        settings: Levels, limits, and what may differ.
        notes: What else a reader should know.
    """
    sides, metric, item = rows.sides, rows.metric, measured.difference
    expected = expected_pairs(rows, settings)
    return Quantity(
        name=rows.task,
        kind="task",
        difference=item,
        reasons=[
            *_other_reading(sides, metric, item, doubted=bool(rows.doubts)),
            *rows.disagreements,
            *rows.question.reasons,
            *measured.reasons,
            *contradicted_verdicts(sides.named, settings.allow),
            *_missing_pairs(rows, item, expected, settings),
            *same_file(sides.run, sides.other, rows.task),
        ],
        notes=[
            *rows.notes,
            *_notes_on_values(rows),
            *_notes_on_stated(rows),
            *_notes_on_rows(rows, settings),
            *rows.question.notes,
            *measured.notes,
            *notes,
        ],
        expected=expected if item.n else None,
        metric=metric.metric,
        filter=rows.table.filter,
        decides=settings.decides_task(metric, sides.own.metrics),
        duplicate_of=_key_of(rows),
    )


def _own_rows(paired: PairedMetric, settings: Settings) -> Measured:
    """A metric of rows over the pairs, beside it the value of each side over all of its own."""
    item = paired.difference
    before = None
    if paired.other is not None and paired.other_metric is not None:
        before = _mean(paired.other, paired.other_metric.metric)
    beside = replace(
        item,
        own_now=differing_value(_mean(paired.table, paired.metric.metric), item.now),
        own_previous=differing_value(before, item.previous),
    )
    return Measured(
        beside,
        scorer_reasons(paired.sides.task, paired.metric, item, paired.equal, settings.allow),
        note_on_calibration(item, paired.equal),
    )


def _key_of(rows: PairedTask) -> str:
    """The key of the quantity of a task, which copies and transforms of it share."""
    if rows.pairs.rows.size:
        return _column_key(rows.task, rows.pairs)
    is_over_rows = rows.sides.kind_of(rows.metric) in OVER_ALL_ROWS
    return key_over_rows(rows.task, rows.metric) if is_over_rows else ""


def _over_rows(sides: Sides, metric: Metric, settings: Settings) -> Measured:
    """A metric over all rows together, read alike on both sides."""
    return measure_whole(paired_metric(sides, metric, settings, by_own=False), settings)


def _over_all_rows(
    sides: Sides, first: Quantity, whole: Measured | None, settings: Settings
) -> list[Quantity]:
    """The metrics over all rows of a task that both runs have, that of the task among them."""
    quantities = []
    for metric in _shared_metrics(sides):
        if sides.kind_of(metric) in OVER_ALL_ROWS:
            is_first = (metric.metric, metric.filter) == (first.metric, first.filter)
            if is_first and whole is not None:
                quantities.append(_first_over_rows(metric, first, whole, settings))
            else:
                quantities.append(_beside_over_rows(sides, metric, first, settings))
    return quantities


def _first_over_rows(
    metric: Metric, first: Quantity, whole: Measured, settings: Settings
) -> Quantity:
    """The metric over all rows that stands for its task, among the metrics of its kind."""
    refusals = [reason for reason in whole.reasons if reason.kind.refuses]
    return replace(
        first,
        name=f"{first.name}: {metric.name}",
        kind=kind_over_rows(metric),
        difference=whole.difference,
        reasons=unique([*first.refusals, *refusals, *first.shortfalls]),
        notes=whole.notes,
        decides=settings.decides(metric.metric, metric.filter, primary=True),
    )


def _beside_over_rows(
    sides: Sides, metric: Metric, first: Quantity, settings: Settings
) -> Quantity:
    """A metric over all rows beside the first one; the question and its rows are those of that."""
    measured = _over_rows(sides, metric, settings)
    lacking = [reason for reason in first.reasons if reason.kind is Kind.MISSING_ROWS]
    expected, missing = None, lacking
    if not lacking and first.expected is not None:
        expected = first.expected
        missing = missing_rows(measured.difference.n, expected)
    of_file = [reason for reason in first.reasons if reason.kind is Kind.SAME_FILE]
    return Quantity(
        name=f"{first.name}: {metric.name}",
        kind=kind_over_rows(metric),
        difference=measured.difference,
        reasons=unique([*first.refusals, *measured.reasons, *missing, *of_file]),
        notes=measured.notes,
        expected=expected,
        metric=metric.metric,
        filter=metric.filter,
        decides=settings.decides(metric.metric, metric.filter, primary=False),
        duplicate_of=key_over_rows(first.name, metric),
    )


def _shared_metrics(sides: Sides) -> list[Metric]:
    """The candidate's metrics that the baseline has, too; none of published verdicts."""
    if sides.against is None:
        return []
    others = {metric.key for metric in sides.against.metrics}
    return [metric for metric in sides.task.metrics if metric.key in others]


def _further(sides: Sides, first: Quantity, rows: PairedTask, settings: Settings) -> list[Quantity]:
    """Every other row metric and filter that both runs of a task have."""
    quantities = []
    for metric in _shared_metrics(sides):
        is_first = (metric.metric, metric.filter) == (first.metric, first.filter)
        if not is_first and sides.kind_of(metric) == "rows":
            paired = paired_metric(sides, metric, settings, by_own=False)
            quantities.append(_further_quantity(paired, first, rows.reading, settings))
    return quantities


def _further_quantity(
    paired: PairedMetric, first: Quantity, reading: str, settings: Settings
) -> Quantity:
    """One metric beside the first; the question and its rows are those of the first."""
    sides, metric, item = paired.sides, paired.metric, paired.difference
    task, against = sides.task, sides.against
    lacking = [] if item.n else [Reason(Kind.NO_SCORED_PAIR)]
    if item.n and first.expected is not None:
        lacking = missing_rows(item.n, first.expected, tolerated=settings.tolerated_missing)
    filters = (
        [] if against is None else filter_reasons(task, against, metric.filter, settings.allow)
    )
    return Quantity(
        name=f"{task.name}: {metric.name}",
        kind=SECONDARY,
        difference=item,
        reasons=unique(
            [
                *(reason for reason in first.refusals if reason.kind is not Kind.SCORER),
                *filters,
                *paired.disagreements,
                *scorer_reasons(task, metric, item, paired.equal, settings.allow),
                *lacking,
                *same_file(sides.run, sides.other, task.name),
            ]
        ),
        notes=[
            *_note_on_unscored(paired, reading),
            *note_on_calibration(item, paired.equal),
            *_notes_on_stated(paired),
        ],
        expected=first.expected if item.n else None,
        metric=metric.metric,
        filter=metric.filter,
        decides=settings.decides(metric.metric, metric.filter, primary=False),
        duplicate_of=_column_key(task.name, paired.pairs),
    )


def _other_reading(
    sides: Sides, metric: Metric, item: Difference, *, doubted: bool
) -> list[Reason]:
    """The reason where another reading of the same replies is too far from the one compared.

    Of two runs both are read by the same filter, and each other filter has a conclusion beside it;
    only unfinished thoughts (`doubted`) make the filters doubtful themselves.
    """
    own = sides.own
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


def _mean(table: Table, metric: str) -> float | None:
    """The mean of those rows that have a number, weighed as `score` weighs them."""
    values, weights = table.numbers(metric), table.weights.get(metric)
    known = np.isfinite(values)
    if not known.any():
        return None
    own_weights = None if weights is None else weights[known]
    with np.errstate(over="ignore", invalid="ignore"):
        return finite_number(float(np.average(values[known], weights=own_weights)))


def _missing_pairs(
    paired: PairedMetric, item: Difference, expected: int, settings: Settings
) -> list[Reason]:
    """The reason where there are no pairs, or fewer than the runs were to have."""
    pairs = paired.pairs
    why = _why_missing(pairs)
    if item.n == 0:
        has_metric = any(side.metric for side in (paired.metric, paired.other_metric) if side)
        kind = Kind.NO_SCORED_PAIR if has_metric else Kind.NO_ROW_SCORE
        if paired.sides.against is None and not np.any(paired.table.previous >= 0):
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


def _notes_on_stated(paired: PairedMetric) -> list[str]:
    """What a results file states of either side whose rows give another value."""
    sides, other_metric = paired.sides, paired.other_metric
    notes = note_on_stated("candidate", sides.run, sides.task, paired.metric)
    if sides.other is not None and sides.against is not None and other_metric is not None:
        notes += note_on_stated("baseline", sides.other, sides.against, other_metric)
    return notes


def _note_on_unscored(paired: PairedMetric, reading: str) -> list[str]:
    """Returns how many rows have no number in a metric beside the first.

    Rows that lack it on both sides are no failures: it is a metric of other rows.
    """
    pairs = paired.pairs
    lacking, scored = len(pairs.unscored), int(pairs.rows.size)
    if not lacking:
        return []
    if scored and not any(side.size for side in pairs.half_scored):
        rows = f"{scored} of {scored + lacking} rows on both sides"
        return [f"{paired.metric.name} is a metric of {rows}, and {reading} of others"]
    rows = counted(lacking, "row has", "rows have")
    return [f"{rows} no finite score; the others are compared"]


def _column_key(task: str, pairs: Pairs) -> str:
    """A key that two columns share where all their values are the same on both sides."""
    content = hashlib.blake2b(np.ascontiguousarray(pairs.now).data, digest_size=16)
    content.update(np.ascontiguousarray(pairs.before).data)
    return f"{task}: column {content.hexdigest()}"


def _notes_on_values(paired: PairedMetric) -> list[str]:
    """Notes on the metric, and on rows that have no number or several."""
    metric, other = paired.metric, paired.other_metric
    if not metric.metric:
        return [paired.sides.task.without_score]
    notes = []
    if not metric.declared:
        read = f"{metric.metric} (filter {metric.filter})"
        notes.append(f"the task names no primary metric; evalprep reads {read}")
    elif metric.filter != NO_FILTER and other is not None and other.key == metric.key:
        notes.append(f"both sides are read by {metric.name}")
    weights = paired.table.weights.get(metric.metric)
    if weights is not None and np.unique(weights[paired.pairs.rows]).size > 1:
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


def _notes_on_rows(paired: PairedMetric, settings: Settings) -> list[str]:
    """Notes on how rows met, on documents, on parts of the data and on empty replies."""
    sides, pairs = paired.sides, paired.pairs
    notes = []
    if sides.against is None and pairs.rows.size == 0:
        notes.append(
            "no row carries a published verdict (doc.previously_is_correct); "
            "name another run to compare with"
        )
    if not paired.notes and not pairs.across_tools:
        usual = {Way.ID, Way.DOCUMENT}
        ways = [f"{count} by {way}" for way, count in pairs.ways.items() if way not in usual]
        if ways:
            notes.append(f"rows are matched: {', '.join(ways)}")
    if pairs.copies:
        lines = ("line that stands twice counts", "lines that stand twice count")
        notes.append(f"{counted(pairs.copies, *lines)} once")
    notes += _note_on_gold(sides, pairs, settings)
    notes += note_on_found(pairs.match, settings.cluster)
    # A part that is not the same on both sides is a difference of facts.
    if sides.against is None or limit_of(sides.against) == limit_of(sides.task):
        notes += note_on_limit(sides.task)
    notes += [f"candidate: {note}" for note in _notes_on_replies(paired.table)]
    if paired.other is not None:
        notes += [f"baseline: {note}" for note in _notes_on_replies(paired.other)]
    return notes


def _notes_on_replies(table: Table) -> list[str]:
    """Notes on replies of one side that say nothing, and on those that nobody scored."""
    notes = [*note_on_failed_scoring(table), *note_on_empty_replies(table)]
    return [*notes, *_note_on_equal_replies(table)]


def _note_on_equal_replies(table: Table) -> list[str]:
    """A note where one reply was given to all prompts."""
    rows, replies = len(table), table.response_hash
    is_one = rows >= _FEWEST_EQUAL and replies[0] != 0 and np.all(replies == replies[0])
    is_said = is_one and not np.any(table.empty == 1)
    return [f"{rows} of {rows} replies are equal"] if is_said else []


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
