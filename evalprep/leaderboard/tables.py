"""The leaderboard as CSV, Markdown and spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evalprep.compare.flips import harmless
from evalprep.leaderboard.board import LEADS, SIGNS, Board, Cell, Row
from evalprep.numbers import number
from evalprep.report.markdown import escape, table_lines
from evalprep.report.sheet import put_row

Plain = str | float | int | None
MODEL_COLUMNS = ("label", "model", "trajectory", "step", "role", "seeds", "run", "folder")
CELL_COLUMNS = (
    *("label", "step", "column", "kind", "better", "value", "low", "high", "stderr", "sd", "n"),
    *("standing", "why", "leads", "no value because"),
)


def _model(row: Row) -> list[Plain]:
    role = "reference" if row.reference else "model"
    return [row.label, row.model, row.place.trajectory, row.place.step, role, len(row.members), row.run, row.folder]


def wide(board: Board) -> Iterator[list[Plain]]:
    """One line per model with the value of every column; first the names."""
    yield [*MODEL_COLUMNS, *(one.id for one in board.columns.all), "may not be compared"]
    for row in board.rows:
        values = [row.cells[one.id].value for one in board.columns.all]
        yield [*_model(row), *values, "; ".join(_standings(row))]


def _standings(row: Row) -> list[str]:
    return list(dict.fromkeys(f"{cell.standing}: {why}" for cell in row.cells.values() for why in cell.why))


def long(board: Board) -> Iterator[list[Plain]]:
    """One line per model and column with all that is known; first the names."""
    yield list(CELL_COLUMNS)
    for row in board.rows:
        for one in board.columns.all:
            cell = row.cells[one.id]
            yield [
                *(row.label, row.place.step, one.id, one.kind, one.better),
                *(cell.value, cell.low, cell.high, cell.stderr, cell.sd, cell.n),
                *(cell.standing, "; ".join(cell.why), "yes" if cell.leads else "", cell.reason),
            ]


def write_csv(board: Board, folder: Path) -> list[Path]:
    """Write `leaderboard.csv` (a line per model) and `leaderboard_long.csv` (a line per model and column)."""
    written = []
    for name, lines in (("leaderboard.csv", wide(board)), ("leaderboard_long.csv", long(board))):
        path = folder / name
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            csv.writer(file).writerows([harmless(cell) for cell in line] for line in lines)
        written.append(path)
    return written


def markdown_cell(cell: Cell) -> str:
    """A value with its interval and sign; leading ones are bold."""
    if cell.value is None:
        return "-"
    value = f"**{number(cell.value)}**" if cell.leads else number(cell.value)
    bounds = f" [{number(cell.low)}, {number(cell.high)}]" if cell.low is not None and cell.high is not None else ""
    bounds = f" (sd {number(cell.sd)})" if cell.sd is not None else bounds
    return f"{value}{SIGNS.get(cell.standing, '')}{bounds}"


def render_markdown(board: Board) -> str:
    """The shown columns as one Markdown table with its notes."""
    names = ["Model", *(escape(one.heading) for one in board.columns.shown)]
    rows = [
        [
            escape(row.label) + (" (reference)" if row.reference else ""),
            *(markdown_cell(row.cells[one.id]) for one in board.columns.shown),
        ]
        for row in board.rows
    ]
    lines = ["# Leaderboard", "", *table_lines(names, rows)]
    lines += [f"- {escape(said)}" for said in sayings(board)]
    return "\n".join(lines) + "\n"


def sayings(board: Board) -> list[str]:
    """What belongs below a table, in sentences."""
    said = ["Brackets: 95 % intervals of the single values."]
    if any(len(row.members) > 1 for row in board.rows):
        said.append(
            "Rows of several seeds: means with standard deviations over the seeds (sd), of p-values the median."
        )
    if any(cell.leads for row in board.rows for cell in row.cells.values()):
        said.append(
            f"Bold, or {LEADS}: the best value of its column, or not shown to be worse than that (paired tests, "
            "adjusted for all pairs of rows)."
        )
    said += [f"Nothing is marked for {names}: {why}." for names, why in board.without_leader()]
    said += [f"{sign} {why}" for sign, why in board.footnotes()]
    if board.footnotes():
        said.append("† and ‡ may not be put beside the others and take part in no ranking.")
    return [*said, *board.absent(), *board.notes]


def write_xlsx(board: Board, path: Path) -> None:
    """Write the workbook: the shown columns with a picture, every column, every cell, the notes."""
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        formats = {
            "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
            "leads": book.add_format({"bold": True}),
            "other": book.add_format({"font_color": "#808080", "italic": True}),
        }
        _first_sheet(book, board, formats)
        for title, lines in (("All columns", wide(board)), ("Cells", long(board))):
            _plain_sheet(book, title, lines, formats["head"])
        notes: Iterable[Sequence[Plain]] = [["Notes"], *([said] for said in sayings(board))]
        _plain_sheet(book, "Notes", notes, formats["head"], width=110)


def _plain_sheet(book: Any, title: str, lines: Iterable[Sequence[Plain]], head: Any, width: int = 18) -> None:
    sheet = book.add_worksheet(title)
    sheet.set_column(0, 0, max(width, 28))
    sheet.set_column(1, 60, width)
    sheet.freeze_panes(1, 1)
    for number_of, line in enumerate(lines):
        put_row(sheet, number_of, line, head if number_of == 0 else None)


def _first_sheet(book: Any, board: Board, formats: dict[str, Any]) -> None:
    sheet = book.add_worksheet("Leaderboard")
    sheet.set_column(0, 0, 32)
    sheet.set_column(1, 1 + len(board.columns.shown), 14)
    sheet.freeze_panes(1, 1)
    put_row(sheet, 0, ["model", "step", *(one.heading for one in board.columns.shown)], formats["head"])
    for at, row in enumerate(board.rows, start=1):
        put_row(sheet, at, [row.label + (" (reference)" if row.reference else ""), row.place.step])
        for column, one in enumerate(board.columns.shown, start=2):
            cell = row.cells[one.id]
            style = formats["other"] if cell.standing else formats["leads"] if cell.leads else None
            if cell.value is not None:
                sheet.write_number(at, column, cell.value, style)
            if note := "; ".join([*cell.why, cell.reason] if cell.standing or cell.value is None else []):
                sheet.write_comment(at, column, note[:1000])
    place = len(board.rows) + 2
    for across, up in board.columns.pictures:
        places = {one.id: number_of for number_of, one in enumerate(board.columns.shown, start=2)}
        chart = book.add_chart({"type": "scatter"})
        last = len(board.rows)
        chart.add_series(
            {
                "categories": ["Leaderboard", 1, places[across.id], last, places[across.id]],
                "values": ["Leaderboard", 1, places[up.id], last, places[up.id]],
                "marker": {"type": "circle", "size": 7},
                "data_labels": {"custom": [{"value": row.label[:60]} for row in board.rows], "value": True},
            }
        )
        chart.set_x_axis({"name": across.heading})
        chart.set_y_axis({"name": up.heading, **({"log_base": 10} if up.p_value else {})})
        chart.set_legend({"none": True})
        chart.set_size({"width": 820, "height": 460})
        sheet.insert_chart(place, 0, chart)
        place += 25
