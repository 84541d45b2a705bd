"""The document of a report, part by part: the content of `report.json` and of the page.

It is plain JSON. Who makes a part and who shows it share these types; a part of a run is null where
the run does not have it. Places in a list of runs are those of `Document.runs`.

A number that the page shows is annotated with its `Form`; `shown` makes the texts by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Annotated, Any, NotRequired, TypedDict


class Form(Enum):
    """How the page writes a number."""

    COUNT = auto()  # with commas between the thousands
    NUMBER = auto()  # as it is
    PERCENT = auto()  # a share
    LEVEL = auto()  # 0.95 as `95 %`
    PROBABILITY = auto()
    VALUE = auto()  # in the unit of its task, metric or score
    SCORE = auto()  # in the unit of its conclusion
    BASELINE = auto()  # the same; published verdicts are right or wrong, whatever the metric
    CHANGE = auto()  # a difference in the unit of its conclusion
    DETECTABLE = auto()  # a size of differences in the unit of its conclusion


Count = Annotated[int, Form.COUNT]
Number = Annotated[float, Form.NUMBER]
Percent = Annotated[float, Form.PERCENT]
Value = Annotated[float, Form.VALUE]
Change = Annotated[float, Form.CHANGE]
Probability = Annotated[float, Form.PROBABILITY]


class Fact(TypedDict):
    """Something that the files of a run state."""

    group: str
    name: str
    value: str


class RunPart(TypedDict):
    """The part of a report about a run as a whole."""

    label: str
    model: str
    stamp: str
    notes: list[str]
    facts: list[Fact]


# --- tasks


class Share(TypedDict):
    """The share of published verdicts that are right, and of how many."""

    n: Count
    value: Percent


class ScoreNumbers(TypedDict):
    """A value with its uncertainty and its rows."""

    value: Value | None
    low: Value | None
    high: Value | None
    stderr: float | None
    n: Count | None


class ScoreBesidePublished(ScoreNumbers):
    """A score, and the published verdicts on the same rows."""

    published: Share | None


class Subtask(ScoreBesidePublished):
    """The score of a part of a task."""

    name: str
    unparsed: int | None
    rows: Count


class FilterPart(TypedDict):
    """The counts of a filter over the replies of a task."""

    name: str
    n: Count
    value: Value | None
    unparsed: Count | None


class LoggedMetric(TypedDict):
    """A line of lm-eval's own table, with the interval of a mean over rows.

    `n` are the rows of the value. Where the rows that are here give another value, they have no
    part in it, and the interval is null.
    """

    metric: str
    filter: str
    n: int | None
    value: Value | None
    stderr: Value | None
    unit: str
    interval: list[Value] | None


class OpinionPart(TypedDict):
    """Another scorer's verdicts beside those of the primary metric."""

    scorer: str
    n: int
    value: Value
    only_it: Count
    only_ours: Count
    samples: list[str]


class Lengths(TypedDict):
    """A histogram of reply lengths in characters."""

    n: Count
    median: Annotated[float, Form.COUNT] | None
    max: Count | None
    edges: list[float]
    counts: list[int]


class DamagedLine(TypedDict):
    """A line of a samples file that could not be used."""

    line: int
    why: str


class TaskRunPart(TypedDict):
    """A task in one run. Counts of replies are null where the task does not tell them.

    `rows` are those of the samples file, `n` those with a score, `expected` those that the run was
    to answer. `part` is `8 of 68 rows` for a run over a part of the data. `stated` is what the
    results file has where that is another value; `notes` are the sentences on this and on rows
    without a score.
    """

    rows: Count
    n: int
    expected: int | None
    stated: dict[str, Any] | None
    notes: list[str]
    part: str
    metric: str
    filter: str
    declared: bool
    score: ScoreNumbers
    macro: Value | None
    published: Share | None
    metrics: list[LoggedMetric]
    subtasks: list[Subtask]
    filters: list[FilterPart]
    opinions: list[OpinionPart]
    unparsed: Count | None
    truncated: Count | None
    truncated_unknown: Count
    truncated_suspected: Count
    empty: Count
    other_prompt: int
    not_as_prepared: Count
    lengths: Lengths
    damaged: Count
    damage: list[DamagedLine]


class TaskPart(TypedDict):
    """A task that some run has samples of."""

    name: str
    title: str
    description: str
    pack: str
    direction: str
    one_is_right: bool
    percent: bool
    graded: bool
    rows: int
    runs: list[TaskRunPart | None]


class StoredValue(TypedDict):
    """A score that lm-eval stored, in one run; `part` as in `TaskRunPart`."""

    value: Value | None
    stderr: Value | None
    n: Count | None
    part: str


class StoredPart(TypedDict):
    """A stored score of a task without samples."""

    task: str
    metric: str
    filter: str
    percent: bool
    runs: list[StoredValue | None]


# --- suite scores


class PublishedPart(TypedDict):
    """A published value that a suite score is held against."""

    score: str
    value: Value
    source: str
    note: str
    sanity: bool
    rule: str
    settings: dict[str, Any]


class Distribution(TypedDict):
    """The size of a distribution, and some of its sorted values."""

    n: Count
    values: list[float]


class CategoryPart(TypedDict):
    """The value of one category of a suite score."""

    name: str
    agg_value: Value
    low: float | None
    high: float | None
    n: Count | None


class RecordPart(TypedDict):
    """A sample that a suite score calls one of its best or worst."""

    sample_id: Any
    value: Annotated[Any, Form.NUMBER]
    prompt: Any
    target: Any
    reply: Any


class SuiteRunPart(TypedDict):
    """A suite score in one run; keys that say nothing are left out."""

    agg_value: Value | None
    interval: NotRequired[list[Value] | None]
    stderr: NotRequired[Value]
    n: NotRequired[Count]
    read: NotRequired[list[int]]
    rule: NotRequired[str]
    clusters: NotRequired[int]
    reason: NotRequired[str]
    parts: NotRequired[dict[str, Number | None]]
    skipped: NotRequired[dict[str, Count]]
    reference: Value | None
    few_read: str
    notes: list[str]
    against: list[dict[str, Any]]
    distributions: dict[str, Distribution]
    categories: list[CategoryPart]
    records: dict[str, list[RecordPart]]


class SuitePart(TypedDict):
    """A suite score of some run."""

    name: str
    title: str
    pack: str
    better: str
    range: list[float | None]
    unit: str
    explain: str
    published: list[PublishedPart]
    runs: list[SuiteRunPart | None]


class GroupValue(TypedDict):
    """One way to put the tasks of a group together."""

    agg_value: Percent | None
    interval: list[Percent] | None
    n: Count | None
    rule: str | None


class GroupRunPart(TypedDict):
    """A group in one run: all rows pooled, and the mean of the tasks' means."""

    tasks: list[str]
    micro: GroupValue
    macro: GroupValue


class GroupPart(TypedDict):
    """A group of lm-eval."""

    name: str
    runs: list[GroupRunPart | None]


# --- judges


class RaterPart(TypedDict):
    """The ratings of one judge in sum."""

    judge: str
    n: Count
    mean: Number | None
    low: Number | None
    high: Number | None
    distribution: dict[str, Count]
    both: Count | None
    equal: Count | None
    alpha: Number | None


class ShareNumbers(TypedDict):
    """A share with its interval."""

    value: Percent | None
    low: Percent | None
    high: Percent | None
    n: Count


class DisputedPart(TypedDict):
    """A sample on which raters or votes differ."""

    sample_id: str
    spread: Number
    votes: dict[str, list[Number]]


class RatingPart(TypedDict):
    """One rating of a rubric over the samples of a task."""

    task: str
    rubric: str
    name: str
    asked: Count
    raters: list[RaterPart]
    differing: int
    apart: list[DisputedPart]


class Flipped(TypedDict):
    """Pairs whose verdict followed the place of the replies."""

    count: Count


class Preferences(TypedDict):
    """What a judge's verdicts on pairs of replies come to."""

    n: Count
    wins: Count
    ties: Count
    losses: Count
    win_rate: ShareNumbers
    first_place: ShareNumbers
    longer: ShareNumbers
    flips: Flipped


class PreferencePart(TypedDict):
    """A judge's comparison of two runs; `found` is what it came to."""

    task: str
    rubric: str
    judge: str
    other: str
    asked: Count
    found: Preferences
    apart: list[str]


class RatingsPart(TypedDict):
    """The ratings of judges on a run."""

    values: list[RatingPart]
    preferences: list[PreferencePart]


class JudgementPart(TypedDict):
    """The ratings of judges on one sample."""

    judge: str
    status: str
    ratings: Mapping[str, float] | None
    reply: str | None
    reason: str | None


# --- comparisons


class ConclusionPart(TypedDict):
    """The verdict about one quantity of two runs; `evalprep.compare.Conclusion` explains each."""

    name: str
    kind: str
    n: Count
    now: Annotated[float, Form.SCORE] | None
    previous: Annotated[float, Form.BASELINE] | None
    delta: Change | None
    low: Change | None
    high: Change | None
    clusters: Count | None
    gained: Count
    lost: Count
    both: Count
    neither: Count
    causes: NotRequired[dict[str, Count]]
    counts: NotRequired[dict[str, Count]]
    agreement: Percent | None
    p: Probability | None
    p_holm: Probability | None
    mde: Annotated[float, Form.DETECTABLE] | None
    verdict: str
    words: str
    unit: str
    binary: bool
    made_of: str
    decides: bool


class ComparisonPart(TypedDict):
    """The comparison of a run with another one, or with its published verdicts (`before` null)."""

    now: int
    before: int | None
    confidence: Annotated[float, Form.LEVEL]
    tasks: list[ConclusionPart]
    metrics: list[ConclusionPart]
    further: list[ConclusionPart]
    stored: list[ConclusionPart]
    suite: list[ConclusionPart]
    overall: ConclusionPart | None
    pooled: ConclusionPart | None
    missing_tasks: list[str]
    extra_tasks: list[str]
    missing_metrics: list[str]
    extra_metrics: list[str]
    warnings: list[str]
    remarks: list[str]
    closing: list[str]
    headline: str
    candidates: int
    described: bool


class SampleCounts(TypedDict):
    """Counts of samples, of those on the page, and the longest text that it holds."""

    rows: Count
    shown: Count
    max_chars: int


class Head(TypedDict):
    """The program that wrote a report, the time, and the models."""

    schema: int
    evalprep: str
    created: str
    title: str


class Parts(Head):
    """A whole report but its samples."""

    runs: list[RunPart]
    tasks: list[TaskPart]
    stored: list[StoredPart]
    scores: list[SuitePart]
    groups: list[GroupPart]
    ratings: list[RatingsPart]
    comparisons: list[ComparisonPart]
    samples: SampleCounts


class Document(Parts):
    """The parts with the texts of their numbers, which are at the same places."""

    shown: dict[str, Any]
