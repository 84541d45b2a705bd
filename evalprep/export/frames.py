"""Tables of samples and of pairs, of which everything else is made.

The parquet file of `export --to samples`, the data frames of `evalprep.api` and the tables in their
docstrings have the columns of `SAMPLE_FIELDS` (`samples.schema`) and of `PAIR_FIELDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from evalprep.compare import Comparison
from evalprep.errors import BadInput, Problem, near
from evalprep.export.rows import rows_of
from evalprep.results import Run, SampleView, TaskRun
from evalprep.samples import Field

Function = TypeVar("Function", bound=Callable[..., Any])
#: Kind of a column -> its type in pandas. A text, a list or a mapping is an object there.
_DTYPES = {"whole": "Int64", "number": "float64", "truth": "boolean"}


PAIR_FIELDS = (
    Field("task", "text", nullable=False, meaning="Name of the task in the candidate."),
    Field("subtask", "text", nullable=True, meaning="Its subtask."),
    Field("sample_id", "text", nullable=False, meaning="Identity of the row in the candidate."),
    Field("baseline_id", "text", nullable=False, meaning="Identity of the row in the baseline."),
    Field("doc_id", "whole", nullable=False, meaning="Position in the split of the candidate."),
    Field("metric", "text", nullable=False, meaning="The metric that was compared."),
    Field("filter", "text", nullable=False, meaning="Its filter."),
    Field("candidate_score", "number", nullable=False, meaning="Score of the candidate."),
    Field("baseline_score", "number", nullable=False, meaning="Score of the baseline."),
    Field("difference", "number", nullable=False, meaning="Candidate minus baseline."),
    Field("prompt_differs", "truth", nullable=False, meaning="The two prompts are not the same."),
    Field(
        "repeated",
        "whole",
        nullable=True,
        meaning="Group of rows that cannot be told apart, of which any may meet any.",
    ),
)


def with_columns(fields: Sequence[Field]) -> Callable[[Function], Function]:
    """Returns a decorator that puts a table of the columns at the end of a docstring."""

    def describe(function: Function) -> Function:
        widths = [max(len(field.name) for field in fields), max(map(len, map(_type_of, fields)))]
        lines = ["", "    Columns:"]
        for field in fields:
            name, kind = field.name.ljust(widths[0]), _type_of(field).ljust(widths[1])
            lines.append(f"        {name}  {kind}  {field.meaning}")
        function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n" + "\n".join([*lines, "    "])
        return function

    return describe


def _type_of(field: Field) -> str:
    return f"{field.kind} or null" if field.nullable else field.kind


def frame_of(fields: Sequence[Field], records: Iterable[Mapping[str, Any]]) -> Any:
    """Returns records as a data frame of pandas with these columns, also without a record."""
    import pandas as pd

    rows = list(records)
    columns = {}
    for field in fields:
        values = [row[field.name] for row in rows]
        columns[field.name] = pd.Series(values, dtype=_DTYPES.get(field.kind, "object"))
    return pd.DataFrame(columns)


def sample_records(
    run: Run, model: str, *, names: Sequence[str] = (), reading: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yields a record of `SAMPLE_FIELDS` for each row of some tasks, all by default.

    Args:
        run: The run.
        model: How the model is named.
        names: Tasks or groups.
        reading: The filter whose answers and scores are taken; by default that of each task's
            primary metric, beside the scores of all others.

    Raises:
        BadInput: the run has no samples of a task, or no task has the filter.
    """
    tasks = list(run.select(list(names)).values())
    if reading is not None:
        tasks = _with_filter(tasks, reading)
    for task in tasks:
        for row in rows_of(task, reading):
            yield _sample_record(run, model, task, row)


def _with_filter(tasks: Sequence[TaskRun], reading: str) -> list[TaskRun]:
    """The tasks whose rows have a filter.

    Raises:
        BadInput: there are none.
    """
    having = [task for task in tasks if reading in task.table().filters]
    if having:
        return having
    known = dict.fromkeys(chain.from_iterable(task.table().filters for task in tasks))
    what = f"no task has the filter {reading!r}"
    raise BadInput(Problem(what=what, allowed=", ".join(known), fix=near(reading, known)))


def _sample_record(run: Run, model: str, task: TaskRun, row: SampleView) -> dict[str, Any]:
    """One record; what is not known is null."""
    key = task.primary.key
    if row.sample.filter != task.primary.filter:
        of_reading = f"{task.primary.metric},{row.sample.filter}"
        key = of_reading if of_reading in row.scores else next(iter(row.scores), "")
    return {
        "run": run.label,
        "model": model,
        "task": row.task,
        "subtask": row.subtask or None,
        "sample_id": row.sample_id,
        "doc_id": row.doc_id,
        "question": row.question,
        "prompt": row.prompt,
        "choices": row.choices,
        "references": row.references,
        "replies": row.replies,
        "answer": row.filtered,
        "filter": row.sample.filter,
        "metric": key or None,
        "score": row.scores.get(key),
        "scores": {name: value for name, value in row.scores.items() if value is not None},
        "published": row.published,
        **{name: digest or None for name, digest in row.sample.hashes.named().items()},
    }


def pair_records(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yields a record of `PAIR_FIELDS` for each pair of rows that were compared.

    They are in the order of the candidate's rows.
    """
    for task in comparison.rows.values():
        pairs, table = task.pairs, task.table
        baseline = table if task.other is None else task.other
        subtasks = [*table.subtasks, None]  # the last one is that of the code for none
        repeats = [None] * len(pairs.rows) if pairs.repeats is None else pairs.repeats.tolist()
        ids = table.ids.at(pairs.rows), baseline.ids.at(pairs.other_rows)
        columns = (pairs.rows, pairs.now, pairs.before, pairs.prompt_differs)
        lists = [column.tolist() for column in columns]
        for sample_id, baseline_id, row, now, before, differs, repeat in zip(
            *ids, *lists, repeats, strict=True
        ):
            yield {
                "task": task.task,
                "subtask": subtasks[int(table.subtask[row])],
                "sample_id": sample_id,
                "baseline_id": baseline_id,
                "doc_id": int(table.doc_id[row]),
                "metric": task.metric.metric,
                "filter": table.filter,
                "candidate_score": now,
                "baseline_score": before,
                "difference": now - before,
                "prompt_differs": differs,
                "repeated": repeat if repeat is not None and repeat >= 0 else None,
            }
