"""Scores as tables: tasks, groups, subtasks, suite scores, ratings of judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from evalprep.annotate import Rated, Rater, Ratings
from evalprep.numbers import number, percent
from evalprep.samples import SHARE
from evalprep.score.estimate import Estimate
from evalprep.score.published import Published
from evalprep.score.remarks import each_once
from evalprep.score.suite import Scores, SuiteScore, name_among
from evalprep.score.task import FROM_ALL_ROWS, OVER_ALL_ROWS, TaskScore
from evalprep.score.unsampled import WITHOUT_SAMPLES, StoredScore
from evalprep.tables import Cell, Column, Entry, Kind, Note, Table, Tone, table_of

FEW_READ = "‡"
_ARROWS = {"up": " ↑", "down": " ↓", "zero": " →0"}


def measured(value: float | None, unit: str) -> str:
    """Returns a value as its unit is written: a share as percent, anything else as it is.

    >>> measured(0.8125, "share"), measured(12.3456, "")
    ('81.2', '12.35')
    """
    if unit == SHARE:
        return percent(value)
    return number(value)


def interval(ends: Sequence[float | None] | None, unit: str = "") -> str:
    """Returns `[low, high]`; empty where an end is not known."""
    low, high = ends or (None, None)
    if low is None or high is None:
        return ""
    return f"[{measured(low, unit)}, {measured(high, unit)}]"


def bounds(estimate: Estimate, unit: str = "") -> str:
    """Returns the interval of an estimate; empty without one."""
    return interval(estimate.interval, unit)


def _value(estimate: Estimate | None, unit: str) -> Cell:
    value = None if estimate is None else estimate.value
    return Cell(value, measured(value, unit))


def _titled(title: str, units: Sequence[str]) -> str:
    """The title with the scale of the values: shares are written in percent."""
    if SHARE not in units:
        return title
    if set(units) == {SHARE}:
        return f"{title}, in percent"
    return f"{title}, shares in percent"


def _with_arrow(name: str, direction: str) -> str:
    """The name of a metric or score with the sign of the way that is better."""
    return name + _ARROWS.get(direction, "")


class Sources:
    """The marks of published values; a note says what each stands for."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}

    def mark(self, entry: Published) -> str:
        """Returns the mark of an entry's source, `[1]`."""
        text = entry.source
        if entry.note:
            text += f"; {entry.note}"
        if entry.sanity:
            text += " (a user's result)"
        next_mark = f"[{len(self._marks) + 1}]"
        return self._marks.setdefault(text, next_mark)

    def notes(self) -> list[Note]:
        """Returns a note for each source."""
        return [Note(f"{mark} {text}") for text, mark in self._marks.items()]

    def cell(self, score: TaskScore | SuiteScore) -> str:
        """Returns the published value beside a score, or why none may stand there."""
        if score.withheld:
            return score.withheld
        if not score.published:
            return ""
        entry = score.published[0]
        value = measured(entry.value, score.unit)
        return f"{value} {self.mark(entry)}"


# --- tasks


def task_table(scores: Scores, sources: Sources) -> Table:
    """The primary metric of each task with samples."""
    tasks = scores.tasks
    columns = [
        Column("task", Kind.NAME, cell=lambda task: task.task),
        Column("n", Kind.MEASURE, cell=lambda task: str(task.n)),
        Column("mean", Kind.MEASURE, cell=lambda task: _value(task.micro, task.unit)),
        Column(
            "95% interval", Kind.MEASURE, cell=lambda task: bounds(task.micro, task.unit) or "-"
        ),
        Column("subtasks", Kind.MEASURE, cell=lambda task: _value(task.macro, task.unit)),
        Column("published", Kind.MEASURE, cell=sources.cell, optional=True),
        Column("unparsed", Kind.MEASURE, cell=_unparsed),
    ]
    if len({task.metric for task in tasks}) > 1:
        columns.insert(1, Column("metric", cell=_metric))
    units = [task.unit for task in tasks if task.value is not None]
    title = _titled("Tasks: mean over rows, mean of subtasks", units)
    without_mean = [
        (task.task, f"{_with_arrow(task.metric, task.direction)} is {task.micro.rule}")
        for task in tasks
        if task.micro.rule in {OVER_ALL_ROWS, FROM_ALL_ROWS}
    ]
    return table_of(title, columns, tasks, [*map(Note, each_once(without_mean))])


def _metric(task: TaskScore) -> str:
    return _with_arrow(task.metric, task.direction) if task.metric else "-"


def _unparsed(task: TaskScore) -> str:
    """Number of replies without an answer.

    It is unknown where the task does not log them, or where no scorer looked for answers.
    """
    if task.unparsed is None:
        return "-"
    is_known = task.unparsed or task.metric
    return str(task.unparsed) if is_known else "-"


def subtask_tables(scores: Scores) -> Iterator[Table]:
    """A table of subtasks for each task that has some."""
    for task in scores.tasks:
        if task.subtasks:
            yield _subtask_table(task)


def _subtask_table(task: TaskScore) -> Table:
    columns = [
        Column("subtask", Kind.NAME, cell=lambda subtask: subtask["subtask"]),
        Column("n", Kind.COUNT, cell=lambda subtask: subtask["n"]),
        Column("mean", Kind.MEASURE, cell=lambda subtask: measured(subtask["value"], task.unit)),
    ]
    return table_of(_titled(f"{task.task} by subtask", [task.unit]), columns, task.subtasks)


def further_table(scores: Scores) -> Table:
    """The other metrics of tasks with samples, as their log has them."""
    metrics = list(chain.from_iterable(task.further for task in scores.tasks))
    # Where rows and results file differ, the value is that of the rows and a note has the other.
    all_logged = all(score.stated is None for score in metrics)
    title = "Further metrics, as logged" if all_logged else "Further metrics"
    return _stored_table(title, metrics)


def stored_table(scores: Scores) -> Table:
    """The stored scores of tasks without samples."""
    return _stored_table(f"Tasks {WITHOUT_SAMPLES}", scores.stored)


_STORED_COLUMNS = (
    Column("task", Kind.NAME, cell=lambda score: score.task),
    Column("metric", cell=lambda score: _with_arrow(score.name, score.direction)),
    Column("n", Kind.COUNT, cell=lambda score: score.n),
    Column("value", Kind.MEASURE, cell=lambda score: measured(score.value, score.unit)),
    Column("stderr", Kind.MEASURE, cell=lambda score: measured(score.stderr, score.unit)),
    Column(
        "95% interval",
        Kind.MEASURE,
        cell=lambda score: interval(score.interval, score.unit),
        optional=True,
    ),
)


def _stored_table(title: str, stored: Sequence[StoredScore]) -> Table:
    units = [score.unit for score in stored]
    return table_of(_titled(title, units), _STORED_COLUMNS, stored)


_GROUP_COLUMNS = (
    Column("group", Kind.NAME, cell=lambda group: group.group),
    Column("n", Kind.MEASURE, cell=lambda group: _known(group.micro.n)),
    Column("mean", Kind.MEASURE, cell=lambda group: _value(group.micro, group.unit)),
    Column("95% interval", Kind.MEASURE, cell=lambda group: bounds(group.micro, group.unit)),
    Column("tasks' mean", Kind.MEASURE, cell=lambda group: _value(group.macro, group.unit)),
    Column("95% interval ", Kind.MEASURE, cell=lambda group: bounds(group.macro, group.unit)),
)


def group_table(scores: Scores, notes: Sequence[Note]) -> Table:
    """The groups that have a pooled value."""
    groups = [group for group in scores.groups if group.micro.value is not None]
    title = _titled("Groups: all rows pooled, mean of tasks", [group.unit for group in groups])
    return table_of(title, _GROUP_COLUMNS, groups, notes)


def _known(count: int | None) -> str:
    return "-" if count is None else str(count)


# --- suite scores


def suite_table(scores: Scores, sources: Sources, notes: Sequence[Note]) -> Table:
    """The suite scores, with the reference's and the published values where there are any."""
    suite = scores.suite
    columns = [
        Column(
            "score",
            Kind.NAME,
            cell=lambda score: _with_arrow(name_among(score, suite), score.better),
        ),
        Column("value", Kind.MEASURE, cell=_suite_value),
        Column("95% interval", Kind.MEASURE, cell=_suite_interval),
        Column(
            "reference",
            Kind.MEASURE,
            cell=lambda score: Cell(score.reference, measured(score.reference, score.unit)),
            optional=True,
        ),
        Column("published", Kind.MEASURE, cell=sources.cell, optional=True),
        Column("n", Kind.MEASURE, cell=_rows),
    ]
    units = [score.unit for score in suite if score.value is not None]
    return table_of(_titled("Suite scores", units), columns, suite, notes)


def _suite_value(score: SuiteScore) -> Entry:
    if score.is_undefined:
        return "undefined"
    mark = FEW_READ if score.few_read else ""
    return Cell(score.value, measured(score.value, score.unit) + mark)


def _suite_interval(score: SuiteScore) -> str:
    return "" if score.is_undefined else interval((score.low, score.high), score.unit)


def _rows(score: SuiteScore) -> str:
    """The rows behind a score: `190 of 200` where it leaves out those that could not be read."""
    readable, every = score.read
    if readable < every:
        return f"{readable} of {every}"
    return "" if score.n is None else str(score.n)


# --- judges


def judge_tables(ratings: Ratings) -> Iterator[Table]:
    """A table of ratings and one of preferences, those that have rows."""
    if ratings.values:
        lines = []
        for value in ratings.values:
            for place, rater in enumerate(value.raters):
                lines.append(_Rating(value, rater, "" if place else str(value.differing)))
        title = "Ratings: one row per judge, samples whose raters or votes differ"
        yield table_of(title, _RATING_COLUMNS, lines)
    if ratings.preferences:
        yield table_of(_PREFERENCES, _PREFERENCE_COLUMNS, ratings.preferences)


class _Rating(NamedTuple):
    """What one judge gave; `differing` stands in the first row of a rating alone."""

    value: Rated
    rater: Rater
    differing: str


_RATING_COLUMNS = (
    Column("task", Kind.NAME, cell=lambda at: at.value.task),
    Column("rating", cell=lambda at: f"{at.value.rubric}.{at.value.name}{_scale(at.value)}"),
    Column("judge", cell=lambda at: at.rater.judge),
    Column("rated", Kind.MEASURE, cell=lambda at: f"{at.rater.n} of {at.value.asked}"),
    Column("mean", Kind.MEASURE, cell=lambda at: two_decimals(at.rater.mean)),
    Column(
        "95% interval", Kind.MEASURE, cell=lambda at: _rating_interval(at.rater.low, at.rater.high)
    ),
    Column("differ", Kind.MEASURE, cell=lambda at: at.differing),
)


def _scale(value: Rated) -> str:
    """The ends of a rating's scale; empty where one is not known."""
    if value.low is None or value.high is None:
        return ""
    return f" {value.low:g}-{value.high:g}"


_PREFERENCES = (
    "Preferences: pairs with a verdict in both orders; "
    "the share that goes to this run, ties as a half"
)


_PREFERENCE_COLUMNS = (
    Column("task", Kind.NAME, cell=lambda pair: pair.task),
    Column("against", cell=lambda pair: pair.other),
    Column("judge", cell=lambda pair: pair.judge),
    Column("pairs", Kind.MEASURE, cell=lambda pair: f"{pair.found['n']} of {pair.asked}"),
    Column(
        "won/tied/lost",
        Kind.MEASURE,
        cell=lambda pair: "/".join(str(pair.found[key]) for key in ("wins", "ties", "losses")),
    ),
    Column("share", Kind.MEASURE, cell=lambda pair: two_decimals(pair.found["win_rate"]["value"])),
    Column(
        "95% interval",
        Kind.MEASURE,
        cell=lambda pair: _rating_interval(
            pair.found["win_rate"]["low"], pair.found["win_rate"]["high"]
        ),
    ),
    Column("follow the place", Kind.MEASURE, cell=lambda pair: str(pair.found["flips"]["count"])),
)


def two_decimals(value: float | None) -> str:
    """Returns a rating's text: ratings are whole numbers, and their means need no more."""
    return "-" if value is None else f"{value:.2f}"


def _rating_interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"[{low:.2f}, {high:.2f}]"


def doubtful(text: str) -> Note:
    """Returns a note that changes how a number is to be read."""
    return Note(text, Tone.DOUBTFUL)
