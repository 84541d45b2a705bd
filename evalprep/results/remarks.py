"""Sentences about the rows of one task that a reader of any number over them needs.

Parts of the data, empty replies, unfinished thoughts, failed scoring, shared documents, rows that
occur twice.
"""

from __future__ import annotations

import numpy as np

from evalprep.results.facts import part_of
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.samples import UNKNOWN, Table
from evalprep.terminal import counted

_EMPTY_SHARE = 0.01  # of the replies, from which empty ones are named
FEW_DOCUMENTS = 30
"""Documents below which an interval over them says little."""


def note_on_limit(task: TaskRun) -> list[str]:
    """The part of the data that a task covers, where it does not cover all."""
    part = part_of(task)
    return [f"a part of the data: {part}"] if part else []


def note_on_empty_replies(table: Table) -> list[str]:
    """Returns how many replies are empty, from one in a hundred on."""
    empty = int(np.sum(table.empty == 1))
    if not empty or empty < _EMPTY_SHARE * len(table):
        return []
    return [f"{empty} of {len(table)} replies are empty"]


def note_on_failed_scoring(table: Table) -> list[str]:
    """A note on replies on which the scorer failed; lm-eval's own numbers count them as wrong."""
    failed = int(np.sum(table.scoring_failed))
    if not failed:
        return []
    rows = f"the scorer failed on {failed} of {len(table)} replies, which lm-eval counts as wrong"
    return [f"{rows}; the log of the run has the reasons, and `evalprep rescore` scores anew"]


def note_on_thoughts(table: Table) -> list[str]:
    """A note where most replies end inside an unfinished thought.

    A filter that reads thoughts and one that does not then give two scores of the same replies. Of
    a large task some rows are looked at, evenly spread.
    """
    unfinished, replies = table.unfinished_thoughts
    if 2 * unfinished <= replies:
        return []
    return [f"most replies end inside an unfinished thought ({unfinished} of {replies} looked at)"]


def notes_on_thoughts(run: Run) -> list[str]:
    """Returns a note for each task of a run most replies of which end inside a thought."""
    notes = []
    for name, task in run.tasks.items():
        notes += [f"{name}: {note}" for note in note_on_thoughts(task.table())]
    return notes


def notes_on_rows(table: Table) -> list[str]:
    """The doubts about every number over these rows.

    They are failed scoring, unfinished thoughts, shared documents, and ids that occur twice.
    """
    documents = note_on_few_documents(len(table.clusters) or None)
    doubts = [*note_on_failed_scoring(table), *note_on_thoughts(table)]
    doubts += [*note_on_documents(table), *documents]
    ids = set(table.ids.at(table.doubled()))  # of several rows of one prompt and place
    if ids:
        occurring = counted(len(ids), "id occurs", "ids occur")
        doubts.append(f"{occurring} more than once; each of their rows counts")
    return doubts


def note_on_documents(table: Table, cluster: str = "") -> list[str]:
    """The option for rows that share documents by a field that is not used by itself."""
    if cluster or table.clusters or len(table) == 0:
        return []
    for field_name, codes in table.documents.items():
        rows = int(np.sum(codes != UNKNOWN))
        documents = np.unique(codes[codes != UNKNOWN]).size
        shared = f"{rows} rows share {documents} values of {field_name}"
        return [f"{shared}; `--cluster {field_name}` counts each as one document"]
    return []


def note_on_few_documents(documents: int | None) -> list[str]:
    """The doubt about an interval over few documents; nothing for independent rows."""
    if documents is None or documents >= FEW_DOCUMENTS:
        return []
    return [f"few documents: {documents}; an interval over so few says little"]
