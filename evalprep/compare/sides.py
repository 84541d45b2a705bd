"""One task of two runs, or of a run and its published verdicts: a metric over its paired rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.compare.agreement import direction_of, join_directions, scale_reasons
from evalprep.compare.comparable import GOLD
from evalprep.compare.difference import Difference, LoneScores, difference
from evalprep.compare.documents import row_units
from evalprep.compare.pairing import Pairs, scored_pairs
from evalprep.compare.readings import notes_on_published
from evalprep.compare.reasons import BASELINE, CANDIDATE, Reason
from evalprep.compare.scorer import equal_replies
from evalprep.compare.settings import Settings
from evalprep.compare.shared_rows import is_made
from evalprep.results import (
    PublishedReading,
    Run,
    TaskRun,
    choose_primary,
    expected_rows,
    published_reading,
)
from evalprep.samples import UNKNOWN, Kind, Metric, Table, pair_rows, pair_with_published

_LOOKED_AT = 32  # rows whose requests are read
#: Kinds of metrics that are read of rows: of sides that hold different things the first one.
OF_ROWS: tuple[Kind, ...] = ("rows", "counts", "function")
#: Those of which rows hold something that is no number.
OVER_ALL_ROWS = frozenset(OF_ROWS[1:])


class Sides(msgspec.Struct, frozen=True):
    """One task of both runs; without `other` the baseline is the published verdicts.

    Attributes:
        run, task: The candidate, and the task as it is read.
        other, against: The baseline.
        published: How the task is read to be held against published verdicts.
        own: The task as every other verb reads it.
    """

    run: Run
    task: TaskRun
    own: TaskRun
    other: Run | None = None
    against: TaskRun | None = None
    published: PublishedReading | None = None

    @classmethod
    def of(cls, run: Run, other: Run | None, name: str) -> Sides:
        """A task that both runs have samples of; without a baseline, against published verdicts."""
        task = run.tasks[name]
        if other is not None:
            return cls(run, task, task, other, other.tasks[name])
        reading = published_reading(task)
        return cls(run, reading.task, task, published=reading)

    @property
    def first_metric(self) -> Metric:
        """The metric that stands for the task.

        That is a metric of rows where the task has one, else one over all rows. Where each run has
        another one, it is that of which more sides have numbers by row, and the usual one of two
        alike, whichever run is the candidate.
        """
        if self.published is not None:
            return self.published.metric
        own = _first_of(self.task)
        if self.against is None or self.task.chosen is not None or own.declared:
            return own
        other = self.task.metric_of(_first_of(self.against).key)
        if other is None or other.key == own.key:
            return own
        numbered = [self._numbered(metric) for metric in (own, other)]
        if numbered[0] == numbered[1]:
            return choose_primary({}, [own, other])
        return own if numbered[0] > numbered[1] else other

    def kind_of(self, metric: Metric) -> Kind:
        """What rows hold of a metric; a side that lost all its values says nothing of that."""
        kinds = set()
        for _, _, task in self.named:
            known = task.metric_of(metric.key)
            if known is not None and (known.kind != "function" or known.value is not None):
                kinds.add(known.kind)
        for kind in OF_ROWS:
            if kind in kinds:
                return kind
        return "stored"

    def _numbered(self, metric: Metric) -> int:
        """The sides whose rows have numbers of a metric."""
        sides = (task.metric_of(metric.key) for _, _, task in self.named)
        return sum(side is not None and side.kind == "rows" for side in sides)

    @property
    def has_replies(self) -> bool:
        """Returns whether both sides logged replies."""
        return not any(task.values_only for _, _, task in self.named)

    @property
    def named(self) -> list[tuple[str, Run, TaskRun]]:
        """Each side that is a run, with its name."""
        own = [(CANDIDATE, self.run, self.task)]
        if self.other is None or self.against is None:
            return own
        return [*own, (BASELINE, self.other, self.against)]


def _first_of(task: TaskRun) -> Metric:
    """The metric that stands for a task of one run: of rows, or else over all rows."""
    return task.primary if task.primary.metric else task.headline


@dataclass(frozen=True, eq=False)
class PairedMetric:
    """One metric of a task over the rows that both sides scored.

    Attributes:
        sides: The task in both runs.
        metric: The metric, in the direction of both sides.
        table: Rows of the candidate.
        other: Those of the baseline; None for published verdicts.
        other_metric: The metric by which the baseline is read; None for published verdicts.
        pairs: Which rows met, with their scores.
        units: Document of each pair; None for independent rows.
        equal: Pairs with equal replies; None where that says nothing of the scorer.
        difference: What the pairs show.
        disagreements: Why direction or scale of the two sides are not the same.
        notes: How the baseline is read.
    """

    sides: Sides
    metric: Metric
    table: Table
    other: Table | None
    other_metric: Metric | None
    pairs: Pairs
    units: NDArray[np.int64] | None
    equal: NDArray[np.bool_] | None
    difference: Difference
    disagreements: Sequence[Reason] = ()
    notes: Sequence[str] = ()


def paired_metric(
    sides: Sides, metric: Metric, settings: Settings, *, by_own: bool = True
) -> PairedMetric:
    """Reads a metric of both sides and pairs their rows.

    Args:
        sides: The task in both runs.
        metric: What is read.
        settings: Levels, limits, and what may differ.
        by_own: Whether a baseline whose rows lack the metric is read by its own one.
    """
    task, against = sides.task, sides.against
    table, rules, any_gold = task.table(metric.filter), settings.pairing, GOLD in settings.allow
    other, other_metric = None, None
    if against is None:
        published = sides.published
        notes = [] if published is None else list(notes_on_published(sides.own, published))
        match, other_values = pair_with_published(table), table.previous.astype(float)
    else:
        other_metric, notes = _metric_of_baseline(against, metric, by_own=by_own)
        other = against.table(other_metric.filter)
        has_other_ids = len(table) and len(other) and table.id_source != other.id_source
        if has_other_ids and task.tool == against.tool:
            notes.append("the row ids of the runs differ; rows are matched by their content")
        match = pair_rows(table, other, tools=(task.tool, against.tool), rules=rules)
        other_values = other.numbers(other_metric.metric)
    values = table.numbers(metric.metric)
    pairs = scored_pairs(match, values, other_values, match.kept(rules, any_gold=any_gold))
    disagreements: list[Reason] = []
    is_same = other_metric is not None and other_metric.metric == metric.metric
    if other_metric is not None and (is_same or match.across_tools):
        metric, disagreements = join_directions(metric, other_metric, settings.allow)
        disagreements += scale_reasons(metric, pairs.now, pairs.before, settings.allow)
    units = row_units(pairs, settings.cluster)
    equal = _equal_replies(sides, table, other, pairs, settings)
    item = difference(
        pairs.now,
        pairs.before,
        units,
        confidence=settings.confidence,
        higher_is_better=direction_of(metric),
        bounds=metric.range,
        may_be_share=metric.may_be_share,
        missing=_missing_scores(sides, table, other, pairs, settings),
        equal=equal,
    )
    return PairedMetric(
        sides=sides,
        metric=metric,
        table=table,
        other=other,
        other_metric=other_metric,
        pairs=pairs,
        units=units,
        equal=equal,
        difference=replace(item, chance=_chance(task, table, pairs)),
        disagreements=disagreements,
        notes=notes,
    )


def expected_pairs(paired: PairedMetric, settings: Settings) -> int:
    """The pairs that there should be.

    A side of another tool may hold a part of the questions: what counts is the smaller side.
    """
    sizes = _expected(paired.sides, paired.table, paired.other)
    across_tools = paired.pairs.across_tools
    is_part = across_tools or "limit" in settings.allow or settings.pairing.partial
    return min(sizes) if is_part else max(sizes)


def _metric_of_baseline(
    against: TaskRun, metric: Metric, *, by_own: bool
) -> tuple[Metric, list[str]]:
    """The metric by which a baseline is read: its own where its rows lack the one asked for.

    With a note where it is its own.
    """
    table = against.table(metric.filter)
    if not by_own or (len(table) and metric.metric in table.metrics):
        return against.metric(metric.metric, metric.filter), []
    own = against.primary
    notes = [f"the baseline is read by its own {own.metric} ({own.filter})"] if own.metric else []
    return own, notes


def _chance(task: TaskRun, table: Table, pairs: Pairs) -> float | None:
    """The score of a guess, where every row has as many choices; None elsewhere."""
    is_choice = task.logged.settings.output_type == "multiple_choice"
    if not is_choice or not pairs.rows.size:
        return None
    first = pairs.rows[:_LOOKED_AT].tolist()
    counts = {len(sample.requests) for sample in table.read(first)}
    choices = counts.pop() if len(counts) == 1 else 0
    return 1.0 / choices if choices > 1 else None


def _equal_replies(
    sides: Sides, table: Table, other: Table | None, pairs: Pairs, settings: Settings
) -> NDArray[np.bool_] | None:
    """For each pair, whether its replies are equal; None where that says nothing of the scorer.

    That is so of two tools, of gold answers that may differ, and of rows that each model's own
    replies make.
    """
    if not sides.has_replies or pairs.across_tools or GOLD in settings.allow:
        return None
    if is_made(sides.task):
        return None
    return equal_replies(table, other, pairs)


def _missing_scores(
    sides: Sides, table: Table, other: Table | None, pairs: Pairs, settings: Settings
) -> LoneScores | None:
    """The rows without a pair that there should be, by the score that one side has of them.

    None where few pairs are enough for the user.
    """
    if settings.pairing.partial:
        return None
    now, before = pairs.half_scored
    sizes = _expected(sides, table, other)
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


def _expected(sides: Sides, table: Table, other: Table | None) -> list[int]:
    """Rows that each side was to answer, and at least as many as it names."""
    own = max(expected_rows(sides.run, sides.task) or 0, table.id_count)
    if sides.other is None or sides.against is None or other is None:
        # Rows without a published verdict are not expected to be paired.
        return [own - int(np.sum(table.previous == UNKNOWN))]
    return [own, max(expected_rows(sides.other, sides.against) or 0, other.id_count)]
