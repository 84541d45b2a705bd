"""Each number of a run with its interval, its rows and its notes, as `score` shows it.

What leaves evalprep (exports, reports, tables of other tools) is made of these alone. A number that
a results file states beside another one of its rows is a quantity of its own: no number stands with
the interval or the rows of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from evalprep.samples import SHARE
from evalprep.score.remarks import notes_of_task
from evalprep.score.stated import Stated
from evalprep.score.suite import Scores, SuiteScore
from evalprep.score.task import OVER_ALL_ROWS, GroupScore, TaskScore
from evalprep.score.unsampled import StoredScore

#: Said of a stored value beside one of the same metric over the rows.
IN_RESULTS_FILE = "as the results file has it"
Kind = Literal["task", "group", "suite"]
#: What a value is made of: rows that are here, the results file alone, other scores of a suite.
Source = Literal["rows", "results file", "suite"]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One number of a run with all that belongs to it.

    Attributes:
        owner: Its task, its group, or `pack/name` of a suite score.
        kind: What that is.
        metric, filter: What was scored; empty for a suite score.
        source: What it is made of.
        value: The number; None with a `reason`.
        stderr, interval: Its uncertainty: standard error and 95 % interval; None where not known.
        n: Rows behind it; None where that is not known.
        expected: Rows that there should be; None where that is not known.
        unit: `share` for a value between 0 and 1; else empty.
        direction: Which way is better.
        primary: It is of the metric that stands for its task.
        beside: The results file states it, and the rows give another value.
        reason: Why it has no value.
        notes: What a reader must know.
    """

    owner: str
    kind: Kind = "task"
    metric: str = ""
    filter: str = "none"
    source: Source = "rows"
    value: float | None = None
    stderr: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None
    expected: int | None = None
    unit: str = ""
    direction: str = "unknown"
    primary: bool = False
    beside: bool = False
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Metric and filter as one text, `metric,filter`; empty for a suite score."""
        return f"{self.metric},{self.filter}" if self.metric else ""

    @property
    def id(self) -> str:
        """A text that no other quantity of the run has: `task/metric,filter`, `pack/name`."""
        own = f"{self.owner}/{self.key}" if self.key else self.owner
        return f"{own},results_file" if self.beside else own

    @property
    def name(self) -> str:
        """The metric for people, with its filter where that is a choice."""
        name = self.metric if self.filter == "none" else f"{self.metric} ({self.filter})"
        return f"{name}, {IN_RESULTS_FILE}" if self.beside else name

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1] if self.interval else None

    @property
    def rows(self) -> str:
        """The rows behind it, `7 of 10` where there should be more; empty where not known."""
        if self.n is None:
            return ""
        lacks = self.expected is not None and self.n < self.expected
        return f"{self.n} of {self.expected}" if lacks else str(self.n)

    @property
    def is_share(self) -> bool:
        """Returns whether it is between 0 and 1 and shown in percent."""
        return self.unit == SHARE


def quantities(scores: Scores) -> Iterator[Quantity]:
    """Yields every number of a run: of tasks, of tasks without samples, of groups, of packs."""
    for task in scores.tasks:
        yield from quantities_of_task(task)
    for stored in scores.stored:
        yield _of_stored(stored, stored.n)
    for group in scores.groups:
        yield from _of_group(group)
    for suite in scores.suite:
        yield of_suite_score(suite)


def headline_quantities(scores: Scores) -> Iterator[Quantity]:
    """Yields the numbers of the metric that stands for each task, of tasks without samples, packs.

    A stored value that the rows contradict is among them.
    """
    with_samples = {task.task for task in scores.tasks}
    for item in quantities(scores):
        is_shown = item.primary or item.owner not in with_samples
        if item.kind != "group" and is_shown:
            yield item


def quantities_of_task(task: TaskScore) -> Iterator[Quantity]:
    """Yields the numbers of a task with samples, the one that stands for it first."""
    own = Quantity(
        owner=task.task,
        metric=task.metric,
        filter=task.filter,
        value=task.value,
        stderr=task.micro.stderr,
        interval=task.micro.interval,
        n=task.n,
        expected=task.expected,
        unit=task.unit,
        direction=task.direction,
        primary=True,
        reason="" if task.value is not None else task.without_score or task.micro.reason,
        notes=tuple(notes_of_task(task)),
    )
    if task.micro.rule == OVER_ALL_ROWS:
        yield replace(own, source="results file")
    else:
        yield own
        stated = task.stated or _without_rows(task)
        if stated is not None:
            yield _beside(own, stated)
    for score in (*task.further, *task.unlogged):
        further = _of_stored(score, task.expected)
        yield further
        if score.stated is not None:
            yield _beside(further, score.stated)


def _without_rows(task: TaskScore) -> Stated | None:
    """What lm-eval reports of a task of which no row has a score; None where it reports nothing."""
    if task.value is not None or task.harness is None:
        return None
    stored, stderr = task.harness, task.harness_stderr
    return Stated(task.metric, stored, stderr, task.expected, 0, task.here)


def _beside(own: Quantity, stated: Stated) -> Quantity:
    """The stored value of a metric beside the one of its rows."""
    return replace(
        own,
        source="results file",
        value=stated.value,
        stderr=stated.stderr,
        interval=None,
        n=stated.n,
        expected=stated.n,
        beside=True,
        notes=(stated.sentence,),
    )


def _of_stored(score: StoredScore, expected: int | None) -> Quantity:
    """A score beside the primary one, or of a task without samples."""
    is_of_rows = score.interval is not None or score.stated is not None
    notes = [score.part] if score.part else []
    if score.stated is not None:
        notes.append(score.stated.sentence)
    return Quantity(
        owner=score.task,
        metric=score.metric,
        filter=score.filter,
        source="rows" if is_of_rows else "results file",
        value=score.value,
        stderr=score.stderr,
        interval=score.interval,
        n=score.n,
        expected=expected,
        unit=score.unit,
        direction=score.direction,
        primary=score.primary,
        notes=tuple(notes),
    )


def _of_group(group: GroupScore) -> Iterator[Quantity]:
    """The numbers of a group: of its rows where they can be put together, and what is stored."""
    estimate = group.shown
    stated = group.stated
    own = Quantity(
        owner=group.group,
        kind="group",
        metric=group.metric,
        filter=group.filter,
        value=estimate.value,
        stderr=estimate.stderr,
        interval=estimate.interval,
        n=estimate.n,
        unit=group.unit,
        direction=group.direction,
        primary=True,
        reason=estimate.reason,
        notes=() if stated is None else (stated.sentence,),
    )
    if estimate.value is not None:
        yield own
    if stated is not None:
        yield _beside(own, stated)
    for score in group.logged:
        if estimate.value is None or score.key != own.key:
            yield replace(_of_stored(score, score.n), kind="group")


def of_suite_score(score: SuiteScore) -> Quantity:
    """Returns the number of a suite score; an undefined one has no value."""
    is_defined = not score.is_undefined
    interval = None
    if is_defined and score.low is not None and score.high is not None:
        interval = score.low, score.high
    return Quantity(
        owner=score.id,
        kind="suite",
        source="suite",
        value=score.value if is_defined else None,
        stderr=score.stderr if is_defined else None,
        interval=interval,
        n=score.n,
        unit=score.unit,
        direction=score.better,
        primary=True,
        reason=score.reason if is_defined else "undefined",
        notes=tuple(score.remarks),
    )


def about(items: Iterable[Quantity]) -> list[str]:
    """Returns the notes of quantities, each once with what it is about."""
    lines: list[str] = []
    for item in items:
        lines += [f"{item.owner}: {note}" for note in item.notes]
    return list(dict.fromkeys(lines))
