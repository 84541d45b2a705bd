"""Spreadsheet: a summary, and one sheet of samples per task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evalprep.report.csvfile import SCORE_COLUMNS, score_rows
from evalprep.report.document import Report
from evalprep.report.rows import COMPARISON_COLUMNS, Cell, comparison_rows, header, rating_tables, sample_rows

_CELL = 32_767  # characters that a cell may hold
_ROWS = 1_048_576  # rows that a sheet may hold
_WIDE = ("output", "prompt", "target", "answer", "published_output")


def sheet_name(name: str, taken: set[str]) -> str:
    r"""A name that spreadsheets accept: at most 31 characters, none of []:*?/\\, not taken, case ignored."""
    plain = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", name).strip("'") or "task"
    candidate, number = plain[:31], 2
    while candidate.lower() in taken or candidate.lower() == "history":  # a name that Excel keeps for itself
        suffix = f" ({number})"
        candidate, number = plain[: 31 - len(suffix)] + suffix, number + 1
    taken.add(candidate.lower())
    return candidate


def put_row(sheet: Any, row: int, cells: Sequence[Cell], style: Any = None) -> None:
    """Write cells from the first column on: numbers as numbers, texts as texts and never as formulas or links."""
    for column, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, str):
            # `write` would guess; a text that starts with = + - @ must stay a text.
            text = cell.encode("utf-8", "replace").decode("utf-8")
            sheet.write_string(row, column, text if len(text) <= _CELL else text[: _CELL - 2] + " …", style)
        else:
            sheet.write_number(row, column, cell, style)


def write_xlsx(report: Report, path: Path) -> None:
    """Write the workbook: `Scores`, `Comparisons`, `Runs`, then one sheet per task with every sample.

    Before `Runs` stands what judges said, where any was asked, disagreements first.

    Texts are written as texts, never as formulas or links; one longer than a cell holds is cut, with an ellipsis.
    """
    import xlsxwriter

    with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as book:
        bold = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        taken: set[str] = set()
        facts = [
            [run["label"], fact["group"], fact["name"], fact["value"]]
            for run in report.document["runs"]
            for fact in run["facts"]
        ]
        summaries: list[tuple[str, Sequence[str], Iterable[Sequence[Cell]]]] = [
            ("Scores", SCORE_COLUMNS, score_rows(report.document)),
            ("Comparisons", COMPARISON_COLUMNS, comparison_rows(report)),
            *rating_tables(report.document),
            ("Runs", ("run", "group", "fact", "value"), facts),
        ]
        for title, names, rows in summaries:
            sheet = _sheet(book, title, names, bold, taken)
            for number, row in enumerate(rows, start=1):
                put_row(sheet, number, row)
        names = header(report)
        for task in report.rows:
            sheet, number = _sheet(book, task.name, names, bold, taken), 0
            for row in sample_rows(report, task):
                number += 1
                if number == _ROWS:
                    sheet, number = _sheet(book, task.name, names, bold, taken), 1
                put_row(sheet, number, row)


def _sheet(book: Any, title: str, names: Sequence[str], style: Any, taken: set[str]) -> Any:
    sheet = book.add_worksheet(sheet_name(title, taken))
    for column, name in enumerate(names):
        sheet.set_column(column, column, 48 if name.partition(" ")[0] in _WIDE else 16)
    put_row(sheet, 0, names, style)
    sheet.freeze_panes(1, 1)
    return sheet
