"""Scores on the terminal: tables, then what there is to know about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from evalprep.samples import NO_FILTER
from evalprep.score import tables
from evalprep.score.efforts import effort_table
from evalprep.score.remarks import REMARKS, each_once, guessed_metric, names_by_text, partial_data
from evalprep.score.suite import Scores, SuiteScore, name_among
from evalprep.score.tables import FEW_READ, Sources, doubtful
from evalprep.tables import Note, Table, folded, folded_notes, print_notes, print_table
from evalprep.terminal import console as open_console
from evalprep.terminal import shortlist

_NAMED = 4  # tasks that a remark names one by one
_FEW_READ = "computed from the few readable replies; not ranked"


def show(
    scores: Scores,
    file: IO[str] | None = None,
    *,
    subtasks: bool = False,
    width: int | None = None,
    is_compared: bool = False,
) -> None:
    """Prints scores.

    Args:
        scores: What to print.
        file: Where to; standard output by default.
        subtasks: Also one table of subtasks per task.
        width: Columns; those of the terminal by default, 80 where there is none.
        is_compared: A comparison follows; its notes on the tasks are left to it.
    """
    from rich.text import Text

    console = open_console(file, width=width, highlight=False)
    console.print(Text(scores.run))
    sources = Sources()
    for table in _tables(scores, sources, subtasks=subtasks):
        if table.rows:
            print_table(console, table)
        else:
            print_notes(console, table.notes)
    print_notes(console, sources.notes())
    print_notes(console, _notes(scores, is_compared=is_compared))


def _tables(scores: Scores, sources: Sources, *, subtasks: bool) -> Iterator[Table]:
    if scores.tasks:
        yield tables.task_table(scores, sources)
    yield tables.further_table(scores)
    yield tables.stored_table(scores)
    on_groups: list[Note] = []
    for group in scores.groups:
        on_groups += [doubtful(f"{group.group}: {note}") for note in group.notes]
    yield tables.group_table(scores, on_groups)
    if subtasks:
        yield from tables.subtask_tables(scores)
    if scores.suite:
        notes = []
        few_read = [name_among(score, scores.suite) for score in scores.suite if score.few_read]
        if few_read:
            notes.append(doubtful(f"{FEW_READ} {', '.join(few_read)}: {_FEW_READ}"))
        notes += _missing_values(scores.suite)
        notes += _notes_of_scores(scores)
        notes += _notes_on_references(scores.suite)
        yield tables.suite_table(scores, sources, notes)
    yield from tables.judge_tables(scores.ratings)
    yield effort_table(scores)


# --- notes below a table


def _missing_values(suite: Sequence[SuiteScore]) -> list[Note]:
    """Returns why scores have no value, each reason once."""
    without_value = [score for score in suite if score.value is None]
    remarks = ((name_among(score, suite), score.reason or "no value") for score in without_value)
    names_of = names_by_text(remarks)
    return [doubtful(f"{', '.join(names)}: {text}") for text, names in names_of.items()]


def _notes_of_scores(scores: Scores) -> list[Note]:
    """The notes of scores that have a value, each once."""
    remarks: list[tuple[str, str]] = []
    for score in scores.suite:
        if score.value is not None:
            remarks += [(name_among(score, scores.suite), text) for text in score.remarks]
    notes = []
    for text, names in names_by_text(remarks).items():
        is_every = len(names) == len(scores.suite) > _NAMED
        subjects = "every score above" if is_every else shortlist(names, _NAMED)
        notes.append(Note(f"{subjects}: {text}"))
    return notes


def _notes_on_references(suite: Sequence[SuiteScore]) -> list[Note]:
    """Returns what scores were measured against, each run or constant once."""
    remarks: list[tuple[str, str]] = []
    for score in suite:
        name = name_among(score, suite)
        remarks += [(name, f"measured against {each.described}") for each in score.against]
    return list(map(Note, each_once(remarks)))


# --- notes about the tasks and the run


def _notes(scores: Scores, *, is_compared: bool) -> Iterator[Note]:
    unscored = [task for task in scores.tasks if task.without_score and task.value is None]
    reasons = [(task.task, task.without_score) for task in unscored]
    yield from map(doubtful, each_once(reasons))
    for task in scores.tasks:
        for opinion in task.opinions:
            yield Note(opinion.line(task.task, task.metric))
    for remarks_of in REMARKS:
        if is_compared and remarks_of is partial_data:
            continue
        remarks: list[tuple[str, str]] = []
        for task in scores.tasks:
            remarks += [(task.task, text) for text in remarks_of(task)]
        yield from map(doubtful, folded(remarks))
    if not is_compared:
        yield from map(Note, each_once(_readings(scores)))
    withheld = [task.withheld for task in scores.tasks]
    withheld += [score.withheld for score in scores.suite]
    for reason in dict.fromkeys(filter(None, withheld)):
        yield doubtful(f"{reason}: not comparable with the published value")
    yield from map(Note, folded_notes(scores.notes))


def _readings(scores: Scores) -> Iterator[tuple[str, str]]:
    """Yields which metrics were guessed, and which filters read tasks that have several."""
    for task in scores.tasks:
        yield from ((task.task, text) for text in guessed_metric(task))
    for task in scores.tasks:
        if task.metric and task.filter != NO_FILTER:
            yield task.task, f"read by {task.metric} ({task.filter})"
