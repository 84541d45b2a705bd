"""Markdown: the numbers of the report for a pull request, an issue or a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from evalprep.compare import PUBLISHED, Comparison, conclusion_table
from evalprep.numbers import percent
from evalprep.report.content import (
    Document,
    LoggedMetric,
    StoredPart,
    StoredValue,
    SuiteRunPart,
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
from evalprep.tables import Cell, Column, Entry, Kind, Note, Table, escape, markdown_lines


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


def _run_columns(document: Document) -> list[Column]:
    return [Column(run["label"], Kind.MEASURE) for run in document["runs"]]


def _cell(value: float | None, unit: str, ends: Sequence[float | None] | None = None) -> Cell:
    """A value in its unit with its interval, where both ends are known."""
    return Cell(value, measured(value, unit), interval(ends, unit))


def _different(texts: Iterator[str]) -> str:
    """The texts of several runs as one, each once."""
    return "/".join(dict.fromkeys(texts))


def _known(count: int | None) -> str:
    return "not known" if count is None else str(count)


# --- scores


def _score_table(document: Document) -> Table:
    columns = [Column("Task", Kind.NAME), Column("n", Kind.MEASURE), *_run_columns(document)]
    table = Table("", [*columns, Column("published, same rows", Kind.MEASURE)])
    for task in document["tasks"]:
        runs = task["runs"]
        sizes = _different(str(run["n"]) for run in runs if run)
        published = [run["published"]["value"] for run in runs if run and run["published"]]
        unit = SHARE if task["percent"] else ""
        cells = [_score_cell(run, unit) for run in runs]
        table.add(task["name"], sizes, *cells, percent(published[0] if published else None))
    return table


def _score_cell(run: TaskRunPart | None, unit: str) -> Entry:
    if run is None:
        return "-"
    score = run["score"]
    return _cell(score["value"], unit, (score["low"], score["high"]))


def _draws_table(document: Document) -> Table:
    """Returns what several replies to each prompt give together, with the interval over rows."""
    names = [Column("Task", Kind.NAME), Column("metric")]
    table = Table("Several replies to each prompt", [*names, *_run_columns(document)])
    for task in document["tasks"]:
        runs = [
            {_named(entry): entry for entry in draws_of(run)} if run else {} for run in task["runs"]
        ]
        for name in dict.fromkeys(chain.from_iterable(runs)):
            entries = [known.get(name) for known in runs]
            cells = [
                _cell(entry["value"], entry["unit"], entry["interval"]) if entry else "-"
                for entry in entries
            ]
            table.add(task["name"], name, *cells)
    return table


def _named(score: LoggedMetric | StoredPart) -> str:
    """A metric, with its filter where that is a choice."""
    filter_name = score["filter"]
    return str(score["metric"]) + ("" if filter_name == "none" else f" ({filter_name})")


def _stored_table(document: Document) -> Table:
    names = [Column("Task", Kind.NAME), Column("metric"), Column("n", Kind.MEASURE)]
    table = Table(f"Tasks {WITHOUT_SAMPLES}", [*names, *_run_columns(document)])
    for score in document["stored"]:
        metric = _named(score)
        sizes = _different(_known(run["n"]) for run in score["runs"] if run)
        cells = [_stored_cell(run, SHARE if score["percent"] else "") for run in score["runs"]]
        table.add(score["task"], metric, sizes, *cells)
    return table


def _stored_cell(run: StoredValue | None, unit: str) -> Entry:
    if run is None:
        return "-"
    detail = "" if run["stderr"] is None else f"± {measured(run['stderr'], unit)}"
    return replace(_cell(run["value"], unit), detail=detail)


def _suite_table(document: Document) -> Table:
    columns = [Column("Score", Kind.NAME), *_run_columns(document), Column("published")]
    table = Table("Suite scores", columns)
    for score in document["scores"]:
        published = score["published"][0] if score["published"] else None
        unit = score["unit"]
        value = measured(published["value"], unit) if published else "-"
        source = f"{value} ({published['source']})" if published else value
        cells = [_suite_cell(run, unit) for run in score["runs"]]
        table.add(score["title"] or score["name"], *cells, source)
    remarks: list[tuple[str, str]] = []
    for score in document["scores"]:
        for run in filter(None, score["runs"]):
            if run["agg_value"] is not None:
                remarks += [(score["name"], note) for note in run["notes"]]
    table.notes = list(map(Note, each_once(remarks)))
    return table


def _suite_cell(run: SuiteRunPart | None, unit: str) -> Entry:
    if run is None:
        return "-"
    if run["agg_value"] is None:
        return str(run.get("reason", "-"))
    cell = _cell(run["agg_value"], unit, run.get("interval"))
    doubt = f"; {run['few_read']}" if run["few_read"] else ""
    return replace(cell, detail=f"{cell.detail}{doubt}")


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
    counts = ("rows", "no answer found", "cut off", "empty", "damaged lines")
    columns = [Column("Task", Kind.NAME), Column("run")]
    table = Table("Replies", [*columns, *(Column(name, Kind.MEASURE) for name in counts)])
    for task in document["tasks"]:
        for label, run in of_runs(document, task["runs"]):
            table.add(
                task["name"],
                label,
                str(run["rows"]),
                _known(run["unparsed"]),
                _truncated(run),
                str(run["empty"]),
                str(run["damaged"]),
            )
    return table


def _truncated(run: TaskRunPart) -> str:
    text = _known(run["truncated"])
    if run["truncated"] is not None and run["truncated_unknown"]:
        text += f" ({run['truncated_unknown']} not known)"
    if run["truncated_suspected"]:
        text += f", {run['truncated_suspected']} end at one length"
    return text
