"""One line per task: what became of it, how long it took or may take, its score."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from evalprep import tables
from evalprep.numbers import number
from evalprep.results import DONE, FAILED, PENDING, RUNNING, Unit, effort_of_unit, total
from evalprep.tables import Column, Table

SYMBOLS = {
    DONE: "\N{CHECK MARK}",
    FAILED: "\N{BALLOT X}",
    PENDING: "\N{BULLET OPERATOR}",
    RUNNING: "\N{WHITE CIRCLE WITH UPPER RIGHT QUADRANT}",
}
# Characters of a name, a runtime and a result that are shown on the narrowest of terminals.
# A name of 40 characters stays whole at 80 columns.
_NAME, _RUNTIME, _RESULT = 40, 12, 10
_SHORT_NAME, _NARROW = 12, 80


@dataclass
class TaskStatus:
    """One line of the table.

    Attributes:
        name: Task.
        status: done, failed, pending or running.
        seconds: Measured time, of a running task since its start.
        estimate: Expected time, None when nothing is known.
        score: Primary metric.
        metric: Its name.
        category: Pack or family, from the task's metadata.
        message: Why it failed.
        progress: `done/all` units of a task that is cut.
        so_far: The score is that of the units that are done.
        written: When the call of its results had ended, in seconds since the epoch; None where no
            results file states it.
    """

    name: str
    status: str
    seconds: float | None = None
    estimate: float | None = None
    score: float | None = None
    metric: str = ""
    category: str = ""
    message: str = ""
    progress: str = ""
    so_far: bool = False
    written: float | None = None

    def runtime(self) -> str:
        """The time in words, as a measured or an estimated one."""
        if self.status == RUNNING and self.seconds is not None:
            return f"(running) {duration(self.seconds)}" + (
                f" / {duration(self.estimate)}" if self.estimate else ""
            )
        if self.status == DONE and self.seconds is not None:
            return duration(self.seconds)
        return f"(estimated) {duration(self.estimate)}" if self.estimate else ""

    def result(self) -> str:
        """The score, or the last line of the error."""
        if self.status == FAILED:
            return self.message.strip().splitlines()[-1] if self.message.strip() else "no message"
        if self.score is None:
            return ""
        score = number(self.score)
        return f"{score} so far" if self.so_far else score


def duration(seconds: float) -> str:
    """Time for people, rounded up.

    >>> duration(12.2), duration(61), duration(5700)
    ('13 s', '2 min', '1 hr, 35 min')
    """
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} hr, {minutes % 60} min"


def task_lines(
    units: Iterable[Unit],
    categories: Mapping[str, str] | None = None,
    scores: Mapping[str, tuple[float | None, str]] | None = None,
) -> list[TaskStatus]:
    """Units as one line per task, with estimates from the rows per second of what is done.

    Args:
        units: The units.
        categories: Task -> category.
        scores: Task -> score and metric of the whole; until it is known, the mean over the rows of
            finished units stands in, which it is for most metrics.
    """
    units_by_task: dict[str, list[Unit]] = {}
    for unit in units:
        units_by_task.setdefault(unit.task, []).append(unit)
    pace = _seconds_per_row(_done(chain.from_iterable(units_by_task.values())))
    lines = []
    for task, task_units in units_by_task.items():
        # The line of a task as far as its units tell.
        done = _done(task_units)
        score, metric = _mean_score(done)
        failed = _first_in(task_units, FAILED)
        # The expected time of a whole task, at its own pace where it has one.
        own_pace = _seconds_per_row(_done(task_units))
        rate = pace if own_pace is None else own_pace
        rows = sum(unit.rows for unit in task_units)
        line = TaskStatus(
            name=task,
            status=_status_of(task_units),
            seconds=_seconds_spent(task_units),
            estimate=rate * rows if rate is not None and rows else None,
            score=score,
            metric=metric,
            message=failed.message if failed else "",
            progress=f"{len(done)}/{len(task_units)}" if len(task_units) > 1 else "",
            so_far=len(done) < len(task_units),
        )
        if categories is not None:
            line.category = categories.get(task, "")
        if scores is not None and task in scores:
            line.score, line.metric = scores[task]
        lines.append(line)
    return lines


def _done(units: Iterable[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.is_done]


def _first_in(units: Iterable[Unit], status: str) -> Unit | None:
    return next((unit for unit in units if unit.status == status), None)


def _status_of(units: Sequence[Unit]) -> str:
    """The status of a task: running or failed where a unit is, done where all are."""
    statuses = {unit.status for unit in units}
    for status in (RUNNING, FAILED):
        if status in statuses:
            return status
    return DONE if statuses == {DONE} else PENDING


def _seconds_spent(units: Sequence[Unit]) -> float | None:
    """The time of the units that are done and of the one that runs; None where it is unknown."""
    spent = total(effort_of_unit(unit) for unit in _done(units)).seconds
    running = _first_in(units, RUNNING)
    if running is None or running.started is None:
        return spent
    return (spent or 0.0) + max(0.0, time.time() - running.started)


def _seconds_per_row(done: Iterable[Unit]) -> float | None:
    """The pace of finished units; None where none was timed."""
    timed = [(unit.seconds, unit.rows) for unit in done if unit.seconds and unit.rows]
    if not timed:
        return None
    return sum(seconds for seconds, _ in timed) / sum(rows for _, rows in timed)


def _mean_score(done: Iterable[Unit]) -> tuple[float | None, str]:
    """The mean over the rows of finished units and the name of its metric."""
    total = 0.0
    rows = 0
    metric = ""
    for unit in done:
        if unit.score is not None:
            total += unit.score * unit.rows
            rows += unit.rows
            metric = metric or unit.metric
    return total / rows if rows else None, metric


def in_order(lines: list[TaskStatus]) -> list[TaskStatus]:
    """Lines sorted by symbol, category and name, so that what needs attention comes first."""
    return sorted(
        lines, key=lambda line: (SYMBOLS[line.status], line.category, line.name), reverse=True
    )


def table_lines(lines: Sequence[TaskStatus], width: int | None) -> list[str]:
    """The table as text, a headline first.

    Names and errors are cut where the terminal is narrow.
    """
    is_narrow = width is not None and width < _NARROW
    columns = [
        Column(""),
        Column("name", least=_SHORT_NAME if is_narrow else _NAME),
        Column("runtime", least=_RUNTIME),
        Column("result", least=_RESULT),
    ]
    has_categories = any(line.category for line in lines)
    if has_categories:
        columns.append(Column("category", least=0))
    table = Table("", columns)
    for line in lines:
        runtime = " ".join(filter(None, [line.progress, line.runtime()]))
        category = [line.category] if has_categories else []
        table.add(SYMBOLS[line.status], line.name, runtime, line.result(), *category)
    return tables.table_lines(table, width)
