"""One number of two runs beside each other, and all of those of two runs.

A quantity is complete when it is made. What may be said of it depends on the other ones of its
page and is said in `concluding`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from evalprep.compare.difference import Difference
from evalprep.compare.limit import Limit, as_limit
from evalprep.compare.reasons import Kind, Reason, sentences
from evalprep.errors import BadInput, Problem
from evalprep.terminal import shortlist

if TYPE_CHECKING:
    from evalprep.compare.reproduction import Reproduction
    from evalprep.compare.task import PairedTask

TOLERATED_MISSING = 0.01  # share of the expected rows that may be missing
#: Kind of a row metric that is not the primary one of its task.
SECONDARY = "secondary"


class Measured(msgspec.Struct, frozen=True):
    """A difference with what keeps it from a word, and what the reader should know."""

    difference: Difference
    reasons: Sequence[Reason] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Quantity:
    """One number of two runs.

    Attributes:
        name: A task, `pack/score`, or `task: metric`.
        kind: `task`, `secondary`, `suite`, `metric`, `perplexity`, `stored` or `overall`.
        difference: The numbers.
        reasons: Why it carries no word; empty where it may.
        notes: What the reader should know.
        expected: Rows that there should be; None where that is not known.
        metric, filter: The metric of a task that this is about; empty for other quantities.
        rule: The scoring rule of a suite score that has one of several.
        decides: False for advisory quantities: metrics beside those that decide.
        duplicate_of: Key of what this is a transform or a copy of; such quantities count once.
    """

    name: str
    kind: str
    difference: Difference
    reasons: Sequence[Reason] = ()
    notes: Sequence[str] = ()
    expected: int | None = None
    metric: str = ""
    filter: str = ""
    rule: str = ""
    decides: bool = True
    duplicate_of: str = ""

    @property
    def refusals(self) -> list[Reason]:
        """The reasons why the two sides did not answer the same question."""
        return [reason for reason in self.reasons if reason.kind.refuses]

    @property
    def shortfalls(self) -> list[Reason]:
        """The reasons why the numbers are not enough evidence."""
        return [reason for reason in self.reasons if not reason.kind.refuses]

    @property
    def not_comparable(self) -> list[str]:
        """The refusals in words."""
        return sentences(self.refusals)

    @property
    def not_enough(self) -> list[str]:
        """The shortfalls in words."""
        return sentences(self.shortfalls)

    @property
    def counts(self) -> bool:
        """True where it may carry a verdict: comparable, with evidence."""
        return not self.reasons and self.difference.evidence is not None

    @property
    def has_test(self) -> bool:
        """True where it has a part in the adjustment of its page."""
        return self.counts and self.difference.p is not None

    @property
    def task(self) -> str:
        """The task of a quantity of one task."""
        return self.name.partition(": ")[0]

    @property
    def key(self) -> str:
        """Its key in a family: copies of a column and transforms of one likelihood share it."""
        return self.duplicate_of or f"{self.kind} {self.name}"


Item = TypeVar("Item", bound=Quantity)


@dataclass(frozen=True, kw_only=True)
class TwoRuns(Generic[Item]):
    """Two runs, or a run and its published verdicts, with what is measured or concluded of them.

    Attributes:
        run, other: Labels of the candidate and of the baseline.
        tasks: One entry per task, in name order.
        metrics: Metrics that exist for all rows together: F1, BLEU, perplexity and the like.
        further: Row metrics and filters beside the first one of each task.
        stored: Tasks without samples, by their stored scores.
        suite: Suite scores, where packs were given.
        overall: The mean over all tasks that have a score, each on its own scale from 0 to 1 and in
            its own direction; None with an `overall_reason`.
        pooled: All pairs of tasks with right-or-wrong scores together, each row weighing the same;
            None with fewer than two such tasks, and where tasks differ in their metric.
        rows: Task -> its rows on both sides.
        confidence: Of all intervals; 1 - confidence is the level of the verdicts.
        margin: Differences smaller than this do not matter.
        allow: Facts of the question that may differ.
        warnings: What makes the comparison doubtful.
        notes: What was decided on the user's behalf.
        rule: The scoring rule by which both are read; empty where no rule was asked for.
        missing_tasks: Tasks of the baseline that the candidate lacks; extra_tasks the reverse.
        unread_tasks: Tasks that a side lists, of which neither side has rows.
        missing_metrics: Metrics of the baseline that the candidate lacks, as sentences;
            extra_metrics the reverse.
        reproduction: The benchmarks beside published ones, where these are the baseline.
    """

    run: str
    other: str
    confidence: float
    tasks: Sequence[Item] = ()
    metrics: Sequence[Item] = ()
    further: Sequence[Item] = ()
    stored: Sequence[Item] = ()
    suite: Sequence[Item] = ()
    overall: Item | None = None
    pooled: Item | None = None
    rows: Mapping[str, PairedTask] = field(default_factory=dict, repr=False)
    margin: Limit | float | None = None
    allow: Sequence[str] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    missing_tasks: Sequence[str] = ()
    extra_tasks: Sequence[str] = ()
    unread_tasks: Sequence[str] = ()
    missing_metrics: Sequence[str] = ()
    extra_metrics: Sequence[str] = ()
    rule: str = ""
    overall_reason: str = ""
    reproduction: Reproduction | None = None

    @property
    def of_tasks(self) -> list[Item]:
        """Everything about single tasks."""
        return [*self.tasks, *self.metrics, *self.further, *self.stored]

    @property
    def together(self) -> list[Item]:
        """The mean over tasks and the pooled verdicts."""
        return [item for item in (self.overall, self.pooled) if item is not None]


#: What two runs are measured by, before anything is concluded.
Quantities = TwoRuns[Quantity]


def missing_rows(
    rows: int, expected: int, why: Sequence[str] = (), *, tolerated: float = TOLERATED_MISSING
) -> list[Reason]:
    """The reason where more than the tolerated share of the expected rows is missing."""
    missing = expected - rows
    if missing <= tolerated * expected:
        return []
    values = {"missing": missing, "expected": expected, "why": list(why)}
    return [Reason(Kind.MISSING_ROWS, values=values)]


def refuse_wide_margin(quantities: Sequence[Quantity], margin: Limit | float | None) -> None:
    """Refuses a margin that holds every possible difference of a score, such as 2 for two points.

    Raises:
        BadInput: a deciding score has bounds, and they are no further apart than the margin.
    """
    if margin is None:
        return
    limit = as_limit(margin)
    spans = {}
    for item in quantities:
        difference = item.difference
        if item.decides and difference.bounded and difference.range is not None:
            tolerated = limit.of(difference.previous, difference.hundred_points)
            if tolerated is not None and difference.range <= tolerated:
                spans[item.name] = difference.range
    if not spans:
        return
    least = min(spans.values())
    is_percent = not limit.unit and least <= 1 <= limit.value < 100
    share = f"{limit.value / 100:g} is {limit.value:g} points" if is_percent else ""
    raise BadInput(
        Problem(
            what=f"margin {limit} calls every difference equivalent: "
            f"the scores of {shortlist(list(spans))} span {least:g}",
            where="--margin",
            allowed=f"a number below {least:g}",
            fix=share,
        )
    )
