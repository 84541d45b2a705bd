"""Sentences about the numbers of one task, for the screen, JSON, reports and exports alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from evalprep.results import rows_missing
from evalprep.score.task import TaskScore
from evalprep.terminal import counted, shortlist

_NAMED = 4  # tasks or scores that a sentence names one by one


def unscored_rows(task: TaskScore) -> Iterator[str]:
    """Yields how many rows of a task have no score, for each reason."""
    if not task.metric:
        return
    for reason, count in task.micro.skipped.items():
        what = "no score and are left out" if reason == "no number" else f"{reason} as score"
        yield f"{count} of {task.here} rows have {what}"


def partial_data(task: TaskScore) -> Iterator[str]:
    """Yields the part of the data that the task covers, where it does not cover all."""
    if task.partial:
        yield task.partial


def missing_rows(task: TaskScore) -> Iterator[str]:
    """Yields how many rows are missing of those that the run was to answer.

    A row without a number is as good as missing.
    """
    if task.expected is None:
        return
    unscored = sum(task.micro.skipped.values()) if task.metric else 0
    missing = task.expected - task.here + unscored
    if missing > 0:
        without = f" ({counted(unscored, 'row')} without a score)" if unscored else ""
        yield rows_missing(missing, task.expected) + without


def odd_rows(task: TaskScore) -> Iterator[str]:
    """Yields the doubts about the rows themselves."""
    yield from task.remarks


def without_interval(task: TaskScore) -> Iterator[str]:
    """Yields the notes of the estimate, such as why there is no interval."""
    yield from task.micro.notes


def empty_replies(task: TaskScore) -> Iterator[str]:
    """Yields how many replies are blank."""
    if task.empty:
        yield f"{task.empty} of {task.here} replies are empty"


def other_values(task: TaskScore) -> Iterator[str]:
    """Yields what lm-eval itself reports where that is another number, for each metric."""
    yield from (stated.sentence for stated in task.all_stated)


def damaged_lines(task: TaskScore) -> Iterator[str]:
    """Yields how many lines of the samples file could not be used, and why the first."""
    if task.damaged:
        lines = counted(task.damaged, "damaged line was", "damaged lines were")
        yield f"{lines} left out, first {task.damage}"


Remarks = Callable[[TaskScore], Iterator[str]]
REMARKS: tuple[Remarks, ...] = (
    unscored_rows,
    partial_data,
    odd_rows,
    without_interval,
    empty_replies,
    other_values,
    damaged_lines,
)
"""The kinds of doubts about the rows of a task, in the order in which they are shown."""


def names_by_text(remarks: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Returns each text once, with the names that it is about.

    Args:
        remarks: Names and texts.
    """
    names_of: dict[str, dict[str, None]] = {}
    for name, text in remarks:
        names_of.setdefault(text, {})[name] = None
    return {text: list(names) for text, names in names_of.items()}


def each_once(remarks: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields each text once, behind the names that it is about; of many names the first ones."""
    for text, names in names_by_text(remarks).items():
        yield f"{shortlist(names, _NAMED)}: {text}"


def guessed_metric(task: TaskScore) -> Iterator[str]:
    """Yields which metric was taken for a task that names none."""
    if task.metric and not task.declared:
        yield f"the task names no primary metric; evalprep reads {task.metric}"


def notes_of_task(task: TaskScore) -> list[str]:
    """Returns every sentence about the numbers of a task, each once."""
    without_score = [task.without_score] if task.without_score and task.value is None else []
    kinds = (missing_rows, *REMARKS)
    sentences = chain.from_iterable(sentences_of(task) for sentences_of in kinds)
    return list(dict.fromkeys([*without_score, *sentences]))


def notes_on_value(task: TaskScore) -> list[str]:
    """Returns the sentences that say of which rows a task's value is, where not of all."""
    return [*unscored_rows(task), *other_values(task)]
