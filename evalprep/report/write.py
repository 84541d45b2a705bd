"""The report's files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from evalprep.files import open_atomically, write_atomically
from evalprep.report.document import Report
from evalprep.report.markdown import render_markdown
from evalprep.report.page import render
from evalprep.report.samples import all_samples_table, sample_table
from evalprep.report.tables import comparison_table, fact_table, rating_tables, score_table
from evalprep.tables import Table, Workbook, write_csv


def write_report(report: Report, folder: Path, formats: Sequence[str] = ("html",)) -> list[Path]:
    """Writes the report; returns the paths, in the order of `formats`.

    Args:
        report: What to write.
        folder: Where to; made if it does not exist. Files of the same names are replaced.
        formats: Some of `FORMATS`: `report.html`, `report.xlsx`, `scores.csv` with `samples.csv`,
            `report.md`, `report.json`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for kind in dict.fromkeys(formats):
        written += _WRITERS[kind](report, folder)
    return written


def _write_page(report: Report, folder: Path) -> list[Path]:
    path = folder / "report.html"
    with open_atomically(path) as file:
        file.writelines(render(report))
    return [path]


def _write_markdown(report: Report, folder: Path) -> list[Path]:
    path = folder / "report.md"
    write_atomically(path, render_markdown(report))
    return [path]


def _write_json(report: Report, folder: Path) -> list[Path]:
    path = folder / "report.json"
    text = json.dumps(report.document, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, text, errors="replace")
    return [path]


def _summaries(report: Report) -> list[Table]:
    """The tables of scores, and of comparisons and judges where there are any."""
    compared = [comparison_table(report)] if report.comparisons else []
    return [score_table(report), *compared, *rating_tables(report.document)]


def _write_csv_files(report: Report, folder: Path) -> list[Path]:
    """Writes a file per summary, and `samples.csv` where there are samples."""
    tables = list(_summaries(report))
    if report.rows:
        tables.append(all_samples_table(report))
    paths = [folder / f"{table.title.lower()}.csv" for table in tables]
    for table, path in zip(tables, paths, strict=True):
        write_csv(table, path)
    return paths


def _write_workbook(report: Report, folder: Path) -> list[Path]:
    """Writes a sheet per summary, the facts of the runs, and a sheet of samples per task."""
    path = folder / "report.xlsx"
    with Workbook(path) as book:
        for table in (*_summaries(report), fact_table(report.document)):
            book.add(table)
        for task in report.rows:
            book.add(sample_table(report, task))
    return [path]


_WRITERS: dict[str, Callable[[Report, Path], list[Path]]] = {
    "html": _write_page,
    "xlsx": _write_workbook,
    "csv": _write_csv_files,
    "md": _write_markdown,
    "json": _write_json,
}
FORMATS = tuple(_WRITERS)
