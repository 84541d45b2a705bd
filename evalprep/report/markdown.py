"""Markdown: the numbers of the report for a pull request, an issue or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from evalprep.compare import PUBLISHED, Comparison, conclusion_table
from evalprep.numbers import percent
from evalprep.report.content import (
    Document,
    LoggedMetric,
    StoredPart,
    StoredValue,
    SuitePart,
    SuiteRunPart,
    TaskPart,
    TaskRunPart,
)
from evalprep.report.document import Report
from evalprep.report.tables import (
    comparison_names,
    conclusions_of,
    draws_of,
    of_runs,
    rating_tables,
)
from evalprep.report.text import plain
from evalprep.samples import SHARE
from evalprep.score import WITHOUT_SAMPLES, each_once, interval, measured, names_by_text
from evalprep.tables import Cell, Column, Entry, Kind, Note, Table, escape, markdown_lines, table_of


def render_markdown(report: Report) -> str:
    """Returns the report's numbers as Markdown tables.

    Samples are left to the page and the spreadsheet.
    """
    document = report.document
    labels = ", ".join(escape(run["label"]) for run in document["runs"])
    lines = [f"# {escape(document['title'])}", ""]
    lines += [f"Runs: {labels}. Shares in percent, 95 % intervals in brackets.", ""]
    lines += _run_notes(document)
    makers = (_score_table, _draws_table, _stored_table, _suite_table)
    for table in (make(document) for make in makers):
        if table.rows:
            lines += markdown_lines(table)
    for name, comparison in zip(comparison_names(document), report.comparisons, strict=True):
        lines += _comparison_lines(name, comparison)
    for table in (*map(_shortened, rating_tables(document)), _reply_table(document)):
        if table.rows:
            lines += markdown_lines(table)
    lines.append(f"Written {document['created']} by evalprep {document['evalprep']}.")
    return str(plain("\n".join(lines) + "\n"))


def _run_notes(document: Document) -> list[str]:
    """The notes of the runs, each once with the runs that it holds for."""
    remarks: list[tuple[str, str]] = []
    for run in document["runs"]:
        remarks += [(run["label"], note) for note in run["notes"]]
    lines = [
        f"- {escape(', '.join(labels))}: {escape(note)}"
        for note, labels in names_by_text(remarks).items()
    ]
    return [*lines, ""] if lines else []


# --- scores


def _columns_of_runs(document: Document, cell: Callable[[Any, Any], Entry]) -> list[Column]:
    """A column for each run: what it shows of an item and of the run's part of that.

    A run without a part has a dash.
    """

    def of_run(place: int, item: Any) -> Entry:
        part = item["runs"][place]
        return "-" if part is None else cell(item, part)

    return [
        Column(run["label"], Kind.MEASURE, cell=partial(of_run, place))
        for place, run in enumerate(document["runs"])
    ]


def _cell(value: float | None, unit: str, ends: Sequence[float | None] | None = None) -> Cell:
    """A value in its unit with its interval, where both ends are known."""
    return Cell(value, measured(value, unit), interval(ends, unit))


def _unit(item: TaskPart | StoredPart) -> str:
    return SHARE if item["percent"] else ""


def _known(count: int | None) -> str:
    return "not known" if count is None else str(count)


def _sizes(counts: Iterable[int | None]) -> str:
    """The rows of several runs as one text, each number once."""
    return "/".join(dict.fromkeys(map(_known, counts)))


def _score_table(document: Document) -> Table:
    def score(task: TaskPart, run: TaskRunPart) -> Cell:
        numbers = run["score"]
        return _cell(numbers["value"], _unit(task), (numbers["low"], numbers["high"]))

    def published(task: TaskPart) -> str:
        shares = [run["published"]["value"] for run in task["runs"] if run and run["published"]]
        return percent(shares[0] if shares else None)

    columns = [
        Column("Task", Kind.NAME, cell=itemgetter("name")),
        Column(
            "n", Kind.MEASURE, cell=lambda task: _sizes(run["n"] for run in task["runs"] if run)
        ),
        *_columns_of_runs(document, score),
        Column("published, same rows", Kind.MEASURE, cell=published),
    ]
    return table_of("", columns, document["tasks"])


def _draws_table(document: Document) -> Table:
    """Returns what several replies to each prompt give together, with the interval over rows."""
    items: list[dict[str, Any]] = []
    for task in document["tasks"]:
        runs = [
            {_named(entry): entry for entry in draws_of(run)} if run else {} for run in task["runs"]
        ]
        for name in dict.fromkeys(chain.from_iterable(runs)):
            entries = [known.get(name) for known in runs]
            items.append({"task": task["name"], "metric": name, "runs": entries})
    columns = [
        Column("Task", Kind.NAME, cell=itemgetter("task")),
        Column("metric", cell=itemgetter("metric")),
        *_columns_of_runs(
            document, lambda _, entry: _cell(entry["value"], entry["unit"], entry["interval"])
        ),
    ]
    return table_of("Several replies to each prompt", columns, items)


def _named(score: LoggedMetric | StoredPart) -> str:
    """A metric, with its filter where that is a choice."""
    filter_name = score["filter"]
    return str(score["metric"]) + ("" if filter_name == "none" else f" ({filter_name})")


def _stored_table(document: Document) -> Table:
    def stored(score: StoredPart, run: StoredValue) -> Cell:
        unit = _unit(score)
        detail = "" if run["stderr"] is None else f"± {measured(run['stderr'], unit)}"
        return replace(_cell(run["value"], unit), detail=detail)

    columns = [
        Column("Task", Kind.NAME, cell=itemgetter("task")),
        Column("metric", cell=_named),
        Column(
            "n", Kind.MEASURE, cell=lambda score: _sizes(run["n"] for run in score["runs"] if run)
        ),
        *_columns_of_runs(document, stored),
    ]
    return table_of(f"Tasks {WITHOUT_SAMPLES}", columns, document["stored"])


def _suite_table(document: Document) -> Table:
    def value(score: SuitePart, run: SuiteRunPart) -> Entry:
        if run["agg_value"] is None:
            return str(run.get("reason", "-"))
        cell = _cell(run["agg_value"], score["unit"], run.get("interval"))
        doubt = f"; {run['few_read']}" if run["few_read"] else ""
        return replace(cell, detail=f"{cell.detail}{doubt}")

    def published(score: SuitePart) -> str:
        if not score["published"]:
            return "-"
        entry = score["published"][0]
        return f"{measured(entry['value'], score['unit'])} ({entry['source']})"

    columns = [
        Column("Score", Kind.NAME, cell=lambda score: score["title"] or score["name"]),
        *_columns_of_runs(document, value),
        Column("published", cell=published),
    ]
    remarks: list[tuple[str, str]] = []
    for score in document["scores"]:
        for run in filter(None, score["runs"]):
            if run["agg_value"] is not None:
                remarks += [(score["name"], note) for note in run["notes"]]
    notes = list(map(Note, each_once(remarks)))
    return table_of("Suite scores", columns, document["scores"], notes)


# --- comparisons


def _comparison_lines(name: str, comparison: Comparison) -> Iterator[str]:
    yield f"## {escape(name[0].upper() + name[1:])}"
    yield ""
    for line in comparison.closing:
        yield f"**{escape(line)}**\n"
    for warning in comparison.warnings:
        yield f"> {escape(warning)}\n"
    is_published = comparison.other == PUBLISHED
    yield from markdown_lines(
        conclusion_table(conclusions_of(comparison), against_published=is_published)
    )
    remarks = [f"- {escape(remark)}" for remark in comparison.remarks]
    yield from [*remarks, ""] if remarks else []


# --- judges and replies


def _shortened(table: Table) -> Table:
    """The table with numbers of six digits, as people read them."""
    rows = [[_short(cell.value) for cell in row.cells] for row in table.lines()]
    return Table(table.title, table.columns, rows)


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _reply_table(document: Document) -> Table:
    columns = [
        Column("Task", Kind.NAME, cell=lambda row: row.task),
        Column("run", cell=lambda row: row.label),
        Column("rows", Kind.MEASURE, cell=lambda row: str(row.run["rows"])),
        Column("no answer found", Kind.MEASURE, cell=lambda row: _known(row.run["unparsed"])),
        Column("cut off", Kind.MEASURE, cell=_truncated),
        Column("empty", Kind.MEASURE, cell=lambda row: str(row.run["empty"])),
        Column("damaged lines", Kind.MEASURE, cell=lambda row: str(row.run["damaged"])),
    ]
    rows: list[_Replies] = []
    for task in document["tasks"]:
        rows += [_Replies(task["name"], *part) for part in of_runs(document, task["runs"])]
    return table_of("Replies", columns, rows)


class _Replies(NamedTuple):
    """The replies of one run to one task."""

    task: str
    label: str
    run: TaskRunPart


def _truncated(row: _Replies) -> str:
    run = row.run
    text = _known(run["truncated"])
    if run["truncated"] is not None and run["truncated_unknown"]:
        text += f" ({run['truncated_unknown']} not known)"
    if run["truncated_suspected"]:
        text += f", {run['truncated_suspected']} end at one length"
    return text
