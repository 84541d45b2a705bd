"""One line per task: what became of it, how long it took or may take, its score."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalprep.numbers import number
from evalprep.status.folder import DONE, FAILED, PENDING, RUNNING, Unit
from evalprep.terminal import fitted

SYMBOLS = {
    DONE: "\N{CHECK MARK}",
    FAILED: "\N{BALLOT X}",
    PENDING: "\N{BULLET OPERATOR}",
    RUNNING: "\N{WHITE CIRCLE WITH UPPER RIGHT QUADRANT}",
}
# Characters of symbol, name, runtime, result and category that are shown on the narrowest of terminals.
# A name of 40 characters stays whole at 80 columns.
_LEAST, _NARROW = (None, 40, 12, 10, 0), 80


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

    def runtime(self) -> str:
        """The time in words, as a measured or an estimated one."""
        if self.status == RUNNING and self.seconds is not None:
            return f"(running) {duration(self.seconds)}" + (f" / {duration(self.estimate)}" if self.estimate else "")
        if self.status == DONE and self.seconds is not None:
            return duration(self.seconds)
        return f"(estimated) {duration(self.estimate)}" if self.estimate else ""

    def result(self) -> str:
        """The score, or the last line of the error."""
        if self.status == FAILED:
            return self.message.strip().splitlines()[-1] if self.message.strip() else "no message"
        return "" if self.score is None else f"{number(self.score)}{' so far' if self.so_far else ''}"


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
        scores: Task -> score and metric of the whole; until it is known, the mean over the rows of finished units
            stands in, which it is for most metrics.
    """
    by_task: dict[str, list[Unit]] = {}
    for unit in units:
        by_task.setdefault(unit.task, []).append(unit)
    measured = [
        unit for group in by_task.values() for unit in group if unit.status == DONE and unit.seconds and unit.rows
    ]
    pace = sum(unit.seconds or 0.0 for unit in measured) / sum(unit.rows for unit in measured) if measured else None
    lines = []
    for name, group in by_task.items():
        done = [unit for unit in group if unit.status == DONE]
        running = next((unit for unit in group if unit.status == RUNNING), None)
        failed = next((unit for unit in group if unit.status == FAILED), None)
        status = RUNNING if running else FAILED if failed else DONE if len(done) == len(group) else PENDING
        spent = sum(unit.seconds or 0.0 for unit in done) if done else None
        if running is not None and running.started is not None:
            spent = (spent or 0.0) + max(0.0, time.time() - running.started)
        own = [unit for unit in done if unit.seconds and unit.rows]
        rate = sum(unit.seconds or 0.0 for unit in own) / sum(unit.rows for unit in own) if own else pace
        rows = sum(unit.rows for unit in group)
        scored = [unit for unit in done if unit.score is not None]
        weight = sum(unit.rows for unit in scored)
        mean = sum((unit.score or 0.0) * unit.rows for unit in scored) / weight if weight else None
        score, metric = (scores or {}).get(name) or (mean, scored[0].metric if scored else "")
        lines.append(
            TaskStatus(
                name,
                status,
                spent,
                rate * rows if rate is not None and rows else None,
                score,
                metric,
                (categories or {}).get(name, ""),
                failed.message if failed else "",
                f"{len(done)}/{len(group)}" if len(group) > 1 else "",
                so_far=len(done) < len(group),
            )
        )
    return lines


def in_order(lines: list[TaskStatus]) -> list[TaskStatus]:
    """By symbol, category and name, descending, so that what needs attention comes first."""
    return sorted(lines, key=lambda line: (SYMBOLS[line.status], line.category, line.name), reverse=True)


def table_lines(lines: Sequence[TaskStatus], width: int | None) -> list[str]:
    """The table as text, a headline first; names and errors are cut where the terminal is narrow."""
    cells = [
        (
            SYMBOLS[line.status],
            line.name,
            " ".join(filter(None, [line.progress, line.runtime()])),
            line.result(),
            line.category,
        )
        for line in lines
    ]
    columns = 5 if any(line.category for line in lines) else 4
    rows = [("", "name", "runtime", "result", "category"), *cells]
    least = _LEAST if width is None or width >= _NARROW else (None, 12, *_LEAST[2:])
    return fitted([row[:columns] for row in rows], width, least[:columns])
