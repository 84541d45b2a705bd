"""Scores as tables: tasks, groups, subtasks, suite scores, ratings of judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from evalprep.annotate import Preferred, Rated, Ratings
from evalprep.numbers import number, percent
from evalprep.results import SHARE
from evalprep.score.estimate import Estimate
from evalprep.score.published import Published
from evalprep.score.suite import Scores, SuiteScore, name_among
from evalprep.score.task import FROM_ALL_ROWS, OVER_ALL_ROWS, TaskScore
from evalprep.score.unsampled import WITHOUT_SAMPLES, StoredScore
from evalprep.tables import Cell, Column, Entry, Kind, Note, Table, Tone
from evalprep.terminal import shortlist

FEW_READ = "‡"
_ARROWS = {"up": " ↑", "down": " ↓", "zero": " →0"}
_NAMED = 4  # tasks that a note names one by one


def measured(value: float | None, unit: str) -> str:
    """Returns a value as its unit is written: a share as percent, anything else as it is.

    >>> measured(0.8125, "share"), measured(12.3456, "")
    ('81.2', '12.35')
    """
    if unit == SHARE:
        return percent(value)
    return number(value)


def interval(low: float | None, high: float | None, unit: str = "") -> str:
    """Returns `[low, high]`; empty where an end is not known."""
    if low is None or high is None:
        return ""
    return f"[{measured(low, unit)}, {measured(high, unit)}]"


def bounds(estimate: Estimate, unit: str = "") -> str:
    """Returns the interval of an estimate; empty without one."""
    return interval(estimate.low, estimate.high, unit)


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


def _measures(names: Iterable[str]) -> list[Column]:
    """Columns of numbers."""
    return [Column(name, Kind.MEASURE) for name in names]


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
    with_published = any(task.published or task.withheld for task in scores.tasks)
    names = ["n", "mean", "95% interval", "subtasks"]
    if with_published:
        names.append("published")
    names.append("unparsed")
    columns = [Column("task", Kind.NAME), *_measures(names)]
    units = [task.unit for task in scores.tasks if task.value is not None]
    title = _titled("Tasks: mean over rows, mean of subtasks", units)
    table = Table(title, columns)
    for task in scores.tasks:
        cells: list[Entry] = [task.task, str(task.n)]
        cells.append(_value(task.micro, task.unit))
        cells.append(bounds(task.micro, task.unit) or "-")
        cells.append(_value(task.macro, task.unit))
        if with_published:
            cells.append(sources.cell(task))
        cells.append(_unparsed(task))
        table.add(*cells)
    table.notes = list(_scores_over_all_rows(scores.tasks))
    return table


def _scores_over_all_rows(tasks: Iterable[TaskScore]) -> Iterator[Note]:
    """Yields which scores are no mean over rows, each metric once."""
    names_of: dict[tuple[str, str], list[str]] = {}
    for task in tasks:
        rule = task.micro.rule
        if rule in {OVER_ALL_ROWS, FROM_ALL_ROWS}:
            metric = _with_arrow(task.metric, task.direction)
            names_of.setdefault((metric, rule), []).append(task.task)
    for (metric, rule), names in names_of.items():
        yield Note(f"{shortlist(names, _NAMED)}: {metric} is {rule}")


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
        if not task.subtasks:
            continue
        columns = [Column("subtask", Kind.NAME), Column("n", Kind.COUNT)]
        columns += _measures(["mean"])
        title = _titled(f"{task.task} by subtask", [task.unit])
        table = Table(title, columns)
        for subtask in task.subtasks:
            value = subtask["value"]
            mean = Cell(value, measured(value, task.unit))
            table.add(subtask["subtask"], subtask["n"], mean)
        yield table


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


def _stored_table(title: str, stored: Sequence[StoredScore]) -> Table:
    with_interval = any(score.interval is not None for score in stored)
    columns = [Column("task", Kind.NAME), Column("metric")]
    columns.append(Column("n", Kind.COUNT))
    columns += _measures(["value", "stderr"])
    if with_interval:
        columns += _measures(["95% interval"])
    units = [score.unit for score in stored]
    table = Table(_titled(title, units), columns)
    for score in stored:
        metric = _with_arrow(score.name, score.direction)
        cells: list[Entry] = [score.task, metric, score.n]
        cells.append(measured(score.value, score.unit))
        cells.append(measured(score.stderr, score.unit))
        if with_interval:
            low, high = score.interval or (None, None)
            cells.append(interval(low, high, score.unit))
        table.add(*cells)
    return table


def group_table(scores: Scores) -> Table:
    """The groups that have a pooled value."""
    groups = [group for group in scores.groups if group.micro.value is not None]
    names = ("n", "mean", "95% interval", "tasks' mean", "95% interval ")
    columns = [Column("group", Kind.NAME), *_measures(names)]
    units = [group.unit for group in groups]
    title = _titled("Groups: all rows pooled, mean of tasks", units)
    table = Table(title, columns)
    for group in groups:
        rows = "-" if group.micro.n is None else str(group.micro.n)
        cells: list[Entry] = [group.group, rows]
        for estimate in (group.micro, group.macro):
            cells.append(_value(estimate, group.unit))
            cells.append(bounds(estimate, group.unit))
        table.add(*cells)
    return table


# --- suite scores


def _suite_columns(*, with_reference: bool, with_published: bool) -> list[Column]:
    """The columns behind the name of a score."""
    names = ["value", "95% interval"]
    if with_reference:
        names.append("reference")
    if with_published:
        names.append("published")
    return _measures([*names, "n"])


def suite_table(scores: Scores, sources: Sources) -> Table:
    """The suite scores, with the reference's and the published values where there are any."""
    suite = scores.suite
    with_reference = any(score.reference is not None for score in suite)
    with_published = any(score.published or score.withheld for score in suite)
    columns = [Column("score", Kind.NAME)]
    columns += _suite_columns(with_reference=with_reference, with_published=with_published)
    units = [score.unit for score in suite if score.value is not None]
    table = Table(_titled("Suite scores", units), columns)
    for score in suite:
        cells: list[Entry] = [*_suite_value(score)]
        if with_reference:
            cells.append(measured(score.reference, score.unit))
        if with_published:
            cells.append(sources.cell(score))
        name = _with_arrow(name_among(score, suite), score.better)
        table.add(name, *cells, _rows(score))
    return table


def _suite_value(score: SuiteScore) -> tuple[Entry, Entry]:
    if score.is_undefined:
        return "undefined", ""
    text = measured(score.value, score.unit)
    if score.few_read:
        text += FEW_READ
    ends = interval(score.low, score.high, score.unit)
    return Cell(score.value, text), ends


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
        yield _rating_table(ratings.values)
    if ratings.preferences:
        yield _preference_table(ratings.preferences)


def _rating_table(values: Sequence[Rated]) -> Table:
    title = "Ratings: one row per judge, samples whose raters or votes differ"
    names = ("rated", "mean", "95% interval", "differ")
    columns = [Column("task", Kind.NAME), Column("rating"), Column("judge")]
    table = Table(title, [*columns, *_measures(names)])
    for value in values:
        rating = f"{value.rubric}.{value.name}{_scale(value)}"
        differing = str(value.differing)
        for rater in value.raters:
            cells = [value.task, rating, rater.judge]
            cells.append(f"{rater.n} of {value.asked}")
            cells.append(two_decimals(rater.mean))
            cells.append(_rating_interval(rater.low, rater.high))
            table.add(*cells, differing)
            differing = ""  # stands in the first row of a rating alone
    return table


def _scale(value: Rated) -> str:
    """The ends of a rating's scale; empty where one is not known."""
    if value.low is None or value.high is None:
        return ""
    return f" {value.low:g}-{value.high:g}"


_PREFERENCES = (
    "Preferences: pairs with a verdict in both orders; "
    "the share that goes to this run, ties as a half"
)


def _preference_table(preferences: Sequence[Preferred]) -> Table:
    names = ("pairs", "won/tied/lost", "share", "95% interval", "follow the place")
    columns = [Column("task", Kind.NAME), Column("against"), Column("judge")]
    table = Table(_PREFERENCES, [*columns, *_measures(names)])
    for pair in preferences:
        outcome = pair.found
        rate = outcome["win_rate"]
        counts = [str(outcome[key]) for key in ("wins", "ties", "losses")]
        cells = [pair.task, pair.other, pair.judge]
        cells.append(f"{outcome['n']} of {pair.asked}")
        cells.append("/".join(counts))
        cells.append(two_decimals(rate["value"]))
        cells.append(_rating_interval(rate["low"], rate["high"]))
        cells.append(str(outcome["flips"]["count"]))
        table.add(*cells)
    return table


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
