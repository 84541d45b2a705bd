"""The table of time and tokens below the scores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

from evalprep.results import Effort, Efforts
from evalprep.score.suite import Scores
from evalprep.tables import Cell, Column, Kind, Note, Table, table_of
from evalprep.terminal import shortlist

TITLE = "Time and tokens"
_NAMED = 4  # tasks of a call that are named
_UNKNOWN = "unknown"
_OF_TASKS = (
    "seconds of a task: prompts, replies and scoring, without loading the model; "
    "times of parallel parts are added up"
)
_OF_CALLS = (
    "seconds of a whole call: all of its tasks, which lm-eval does not measure one by one, "
    "and loading the model where lm_eval was started by itself"
)
_OF_JUDGES = (
    "judge: answered requests; an answer that several tasks or runs share counts in each of them"
)
_COST = "cost: by the prices that were given to `evalprep judge`"
_HEADS = {
    "seconds": "seconds",
    "requests": "requests",
    "prompt_tokens": "prompt tokens",
    "reply_tokens": "reply tokens",
}


class _Line(NamedTuple):
    """A line of the table."""

    name: str
    effort: Effort
    cost: float | None = None


def _of_effort(name: str) -> Column:
    return Column(
        _HEADS[name],
        Kind.MEASURE,
        cell=lambda line: _cell(getattr(line.effort, name)),
        optional=True,
    )


_COLUMNS = (
    Column("task", Kind.NAME, cell=lambda line: line.name),
    *map(_of_effort, _HEADS),
    Column("cost", Kind.MEASURE, cell=lambda line: _cost_cell(line.cost), optional=True),
)


def effort_table(scores: Scores) -> Table:
    """Returns what tasks, calls and judges took; a table without rows where nothing is known."""
    lines = list(_lines(scores))
    with_cost = any(line.cost is not None for line in lines)
    is_known = with_cost or any(line.effort != Effort() for line in lines)
    explanations = {
        _OF_TASKS: scores.efforts.tasks,
        _OF_CALLS: scores.efforts.calls,
        _OF_JUDGES: scores.judges,
        _COST: with_cost,
    }
    notes = [Note(text) for text, is_due in explanations.items() if is_due]
    return table_of(TITLE, _COLUMNS, lines if is_known else [], notes)


def _lines(scores: Scores) -> Iterator[_Line]:
    """Yields the tasks, those too of which nothing is known, then the calls and the judges."""
    efforts = scores.efforts
    known = set(efforts.tasks)
    for call in efforts.calls:
        known.update(call.tasks)
    unknown = [task.task for task in scores.tasks if task.task not in known]
    if known:
        for name in unknown:
            yield _Line(name, Effort())
    yield from starmap(_Line, labelled(efforts))
    for judge in scores.judges:
        name = f"{judge.task}: judge {judge.judge} ({judge.rubric})"
        yield _Line(name, judge.effort, judge.cost)


def labelled(efforts: Efforts) -> Iterator[tuple[str, Effort]]:
    """Yields what is known of each task and of each call, with its name for people."""
    yield from efforts.tasks.items()
    for number, call in enumerate(efforts.calls, 1):
        label = "whole call" if len(efforts.calls) == 1 else f"whole call {number}"
        yield f"{label}: {shortlist(call.tasks, _NAMED)}", call.effort


def written(effort: Effort) -> str:
    """Returns what is known of an effort as words.

    >>> written(Effort(seconds=61.25, requests=1200))
    '61.2 s, 1,200 requests'
    """
    units = {**_HEADS, "seconds": "s"}
    numbers = {name: getattr(effort, name) for name in units}
    known = {name: number for name, number in numbers.items() if number is not None}
    return ", ".join(f"{_cell(number).text} {units[name]}" for name, number in known.items())


def _cost_cell(cost: float | None) -> Cell:
    return Cell(cost, _UNKNOWN if cost is None else f"{cost:.4g}")


def _cell(value: float | None) -> Cell:
    if value is None:
        return Cell(None, _UNKNOWN)
    return Cell(value, f"{value:,.1f}" if isinstance(value, float) else f"{value:,}")
