"""Rows that share a document: by a field that the user names, and in what scores stand on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from custom_metrics import statistics
from custom_metrics.statistics import Influence
from evalprep.errors import BadInput, Problem, near
from evalprep.results import Run, TaskRun
from evalprep.samples import UNKNOWN, codes_of_field
from evalprep.score.builtin import over_documents
from evalprep.score.estimate import Estimate
from evalprep.score.result import Result

#: In place of a field: rows are independent, whatever documents they name.
NO_DOCUMENTS = "none"


def cluster_by(runs: Sequence[Run], field: str) -> None:
    """Counts rows with one value of a field as one document in every task that has the field.

    Args:
        runs: The runs; their tables are changed.
        field: A field of the data set's rows, or `none`; nothing happens without one.

    Raises:
        BadInput: no task of any run has the field.
    """
    if not field:
        return
    if field == NO_DOCUMENTS:
        for task in chain.from_iterable(run.tasks.values() for run in runs):
            table = task.table()
            table.cluster = np.full(len(table), UNKNOWN, dtype=np.int64)
            table.clusters = []
        return
    tasks = list(chain.from_iterable(run.tasks.values() for run in runs))
    with_field = [task for task in tasks if _cluster_task(task, field)]
    if tasks and not with_field:
        names = _fields_of(tasks)
        raise BadInput(
            Problem(
                what=f"no task has rows with the field {field!r}",
                where="--cluster",
                allowed=", ".join(names),
                fix=near(field, names),
            )
        )


def _cluster_task(task: TaskRun, field: str) -> bool:
    table = task.table()
    values, codes = codes_of_field(table, field)
    if values:
        table.cluster = codes
        table.clusters = values
    return bool(values)


def documents_of(tasks: Mapping[str, TaskRun]) -> dict[str, str]:
    """Key of a row as scores name it -> key of its document, of tasks whose rows share some.

    A score names a row by its id, or by its place in the split.
    """
    documents: dict[str, str] = {}
    for name, task in tasks.items():
        table = task.table()
        if not table.clusters:
            continue
        ids = set(table.distinct_ids)
        rows = np.flatnonzero(table.cluster != UNKNOWN)
        for row, row_id in zip(rows.tolist(), table.distinct_ids.at(rows), strict=True):
            document = f"{name}##{table.clusters[table.cluster[row]]}"
            documents[f"{name}#{row_id}"] = document
            place = str(table.doc_id[row])
            if place not in ids:
                documents[f"{name}#{place}"] = document
    return documents


def by_document(result: Result, documents: Mapping[str, str], bounds: statistics.Bounds) -> Result:
    """A score of a pack with the interval over documents, where its rows share some.

    Args:
        result: The score.
        documents: Key of a row -> key of its document.
        bounds: Least and greatest value of the score; None where there is none.
    """
    influence = result.influence() if documents else None
    if influence is None or result.value is None:
        return result
    merged = statistics.merged_influence(influence, documents)
    if merged is influence:
        return result
    bare = result.without_uncertainty().changed(influence=merged)
    by_rows = _of_rows(result.value, merged, documents, bounds)
    if by_rows is not None:
        over_units = bare.changed(
            stderr=by_rows.stderr, interval=by_rows.interval, clusters=by_rows.clusters
        )
        return over_units.with_notes(by_rows.notes)
    least, most = bounds
    if least is None or most is None:
        return bare
    interval = statistics.bounded_interval(result.value, merged, least, most)
    return bare.changed(clusters=len(merged.units)).changed(interval=interval)


def known_bounds(bounds: statistics.Bounds) -> statistics.Bounds | None:
    """Returns the bounds that a pack declares for a score; None where it declares none."""
    return None if bounds == (None, None) else bounds


def _of_rows(
    value: float, influence: Influence, documents: Mapping[str, str], bounds: statistics.Bounds
) -> Estimate | None:
    """A plain mean over rows as that of a task; None of any other score."""
    rows = influence.values
    if not rows:
        return None
    average = math.fsum(rows.values()) / len(rows)
    if not math.isclose(average, value, rel_tol=1e-9):
        return None
    document_of_row = [documents.get(key, key) for key in rows]
    return over_documents(list(rows.values()), document_of_row, known_bounds(bounds))


def _fields_of(tasks: Sequence[TaskRun]) -> list[str]:
    """The fields of each task's first row."""
    names: dict[str, None] = {}
    for task in tasks:
        for sample in task.table().read(range(min(1, len(task.table())))):
            names |= dict.fromkeys(map(str, sample.doc))
    return list(names)
