"""Notes below a leaderboard.

Parts of the data, empty replies, shared documents, tasks without a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from evalprep.results import (
    Run,
    TaskRun,
    note_on_empty_replies,
    note_on_limit,
    notes_on_pointers,
    notes_on_rows,
)
from evalprep.terminal import shortlist

_NAMED = 4  # runs or tasks that a note names


def notes_on_runs(runs: Sequence[Run]) -> list[str]:
    """Each note once, with the tasks and the runs that it holds for."""
    places: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        for name, task in run.tasks.items():
            for note in _notes_on(task):
                places.setdefault(note, []).append((run.label, name))
    unfetched = chain.from_iterable(_with_label(run, notes_on_pointers(run.notes)) for run in runs)
    of_tasks = [_with_places(note, at, len(runs)) for note, at in places.items()]
    return [*_notes_on_choices(runs), *unfetched, *of_tasks]


def _with_label(run: Run, notes: Iterable[str]) -> list[str]:
    return [f"{run.label}: {note}" for note in notes]


def _notes_on_choices(runs: Sequence[Run]) -> list[str]:
    """Notes on runs that were chosen from several in their folder; one note for many."""
    chosen = [run for run in runs if run.files.notes]
    if len(chosen) < 2:
        return list(chain.from_iterable(_with_label(run, run.files.notes) for run in chosen))
    labels = shortlist([run.label for run in chosen], _NAMED)
    note = (
        f"{labels}: the newest of several runs in the folder (--timestamp chooses another, "
        "--timestamp each takes the newest samples of every task)"
    )
    return [note]


def _notes_on(task: TaskRun) -> Iterator[str]:
    table = task.table()
    if not any(metric.is_score for metric in task.metrics):
        yield task.without_score
    yield from note_on_limit(task)
    yield from notes_on_rows(table)
    yield from note_on_empty_replies(table)


def _with_places(note: str, where: Sequence[tuple[str, str]], count: int) -> str:
    """A note with its tasks, and its runs where these are not all."""
    labels = list(dict.fromkeys(label for label, _ in where))
    tasks = list(dict.fromkeys(name for _, name in where))
    of_runs = "" if len(labels) == count else f"{shortlist(labels, _NAMED)}: "
    return f"{of_runs}{shortlist(tasks, _NAMED)}: {note}"
