"""The leaderboard as CSV, Markdown and spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalprep import tables
from evalprep.leaderboard.board import LEADING, LEADS, SIGNS, Board, Cell, Row
from evalprep.leaderboard.columns import Column
from evalprep.leaderboard.values import heading_of, value_text
from evalprep.numbers import probability
from evalprep.score import SHARE
from evalprep.tables import Entry, Kind, Table, Tone

_MODEL_COLUMNS = ("label", "model", "trajectory", "step", "role", "seeds", "run", "folder")
_CELL_COLUMNS = (
    *("label", "step", "column", "kind", "better", "value", "low", "high", "stderr", "sd", "n"),
    *("standing", "why", "leads", "no value because"),
)
_NAME_WIDTH, _WIDTH, _NOTE_WIDTH = 28, 18, 110  # characters of a column in the spreadsheet
_CHART = {"width": 820, "height": 460}  # pixels
_CHART_ROWS = 25  # of the sheet, from one chart to the next


def _columns(*names: str) -> list[tables.Column]:
    first, *others = names
    return [
        tables.Column(first, width=_NAME_WIDTH),
        *(tables.Column(name, width=_WIDTH) for name in others),
    ]


def model_table(board: Board) -> Table:
    """One row per model with the value of every column."""
    names = [column.id for column in board.columns.all]
    table = Table("All columns", _columns(*_MODEL_COLUMNS, *names, "may not be compared"))
    for row in board.rows:
        values = [row.cells[name].value for name in names]
        table.add(*_model(row), *values, "; ".join(_standings(row)))
    return table


def _model(row: Row) -> list[Entry]:
    role = "reference" if row.reference else "model"
    place = row.place
    seeds = len(row.members)
    return [row.label, row.model, place.trajectory, place.step, role, seeds, row.run, row.folder]


def _standings(row: Row) -> list[str]:
    reasons = (f"{cell.standing}: {why}" for cell in row.cells.values() for why in cell.why)
    return list(dict.fromkeys(reasons))


def cell_table(board: Board) -> Table:
    """One row per model and column with all that is known."""
    table = Table("Cells", _columns(*_CELL_COLUMNS))
    for row in board.rows:
        for column in board.columns.all:
            cell = row.cells[column.id]
            table.add(
                *(row.label, row.place.step, column.id, column.kind, column.better),
                *(cell.value, cell.low, cell.high, cell.stderr, cell.sd, cell.n),
                *(cell.standing, "; ".join(cell.why), "yes" if cell.leads else "", cell.reason),
            )
    return table


def write_csv(board: Board, folder: Path) -> list[Path]:
    """Writes `leaderboard.csv` (a line per model) and `leaderboard_long.csv`.

    A line per model and column.
    """
    paths = [folder / "leaderboard.csv", folder / "leaderboard_long.csv"]
    for path, table in zip(paths, (model_table(board), cell_table(board)), strict=True):
        tables.write_csv(table, path)
    return paths


def render_markdown(board: Board) -> str:
    """Returns the shown columns as one Markdown table with its notes."""
    shown = board.columns.shown
    columns = [tables.Column("Model", Kind.NAME)]
    columns += [tables.Column(heading_of(column), Kind.NUMBER) for column in shown]
    notes = [tables.Note(text) for text in sayings(board, "Brackets")]
    table = Table("Leaderboard", columns, notes=notes)
    for row in board.rows:
        cells = [_shown(row.cells[column.id], column) for column in shown]
        table.add(_label(row), *cells)
    lines = list(tables.markdown_lines(table, heading="#"))
    if board.pairs:
        lines += tables.markdown_lines(pair_table(board))
    return "\n".join(lines)


def pair_table(board: Board) -> Table:
    """The pairs of rows that differ in any column."""
    names = ("score", "candidate", "verdict", "baseline", "difference", "p")
    table = Table("Pairs that differ", [tables.Column(name) for name in names])
    columns = {column.id: column for column in board.columns.all}
    for pair in board.pairs:
        cells = [columns[pair.column].name, pair.candidate, pair.verdict, pair.baseline]
        table.add(*cells, pair.text, probability(pair.p))
    return table


def run_table(board: Board) -> Table:
    """The run behind each row; a line of its last cell for each note."""
    names = ("model", "results", "run", "notes")
    columns = [tables.Column("row", Kind.NAME), *(tables.Column(name) for name in names)]
    table = Table("Runs", columns)
    for row in board.rows:
        table.add(row.label, row.model, row.folder, row.run, "\n".join(row.notes))
    return table


def _label(row: Row) -> str:
    return f"{row.label} (reference)" if row.reference else row.label


def _shown(cell: Cell, column: Column) -> tables.Cell:
    """A value with its sign and its interval, or its deviation over seeds."""
    if cell.value is None:
        return tables.Cell(None)
    spread = ""
    if cell.sd is not None:
        spread = f"(sd {value_text(cell.sd, column)})"
    elif cell.low is not None and cell.high is not None:
        low, high = value_text(cell.low, column), value_text(cell.high, column)
        spread = f"[{low}, {high}]"
    text = value_text(cell.value, column) + SIGNS.get(cell.standing, "")
    tone = Tone.LEADING if cell.leads else Tone.PLAIN
    return tables.Cell(cell.value, text, spread, tone)


def sayings(board: Board, intervals: str) -> list[str]:
    """Returns what belongs below a table, in sentences.

    Args:
        board: The leaderboard.
        intervals: What the intervals of the table are called by their look.
    """
    sentences = _reading_aids(board, intervals)
    sentences += [f"Nothing is marked for {names}: {why}." for names, why in board.without_leader()]
    sentences += [f"{sign} {why}" for sign, why in board.footnotes()]
    if board.footnotes():
        sentences.append("† and ‡: not comparable; excluded from the ranking.")
    return [*sentences, *board.absent(), *board.notes]


def _reading_aids(board: Board, intervals: str) -> list[str]:
    """The meaning of the intervals, units, means over seeds and marks that a table has."""
    sentences = []
    if any(cell.low is not None for _, _, cell in board.shown_cells()):
        sentences.append(f"{intervals}: 95 % intervals of the single values.")
    if any(column.unit == SHARE for column in board.columns.shown):
        sentences.append("Columns with % are in percent.")
    if any(len(row.members) > 1 for row in board.rows):
        sentences.append(
            "Rows of several seeds: means with standard deviations over the seeds (sd), "
            "of p-values the median."
        )
    if any(cell.leads for row in board.rows for cell in row.cells.values()):
        sentences.append(f"Bold, or {LEADS}: {LEADING}.")
    return sentences


def write_xlsx(board: Board, path: Path) -> None:
    """Writes the workbook.

    It holds the shown columns with a picture, every column, every cell and the notes.
    """
    notes = Table("Notes", [tables.Column("Notes", width=_NOTE_WIDTH)])
    for text in sayings(board, "low and high"):
        notes.add(text)
    with tables.Workbook(path, streamed=False) as book:
        sheet = book.add(_headline_table(board))
        first_free_row = len(board.rows) + 2
        for chart in _charts(board, book.book):
            sheet.insert_chart(first_free_row, 0, chart)
            first_free_row += _CHART_ROWS
        for table in (model_table(board), cell_table(board), pair_table(board), notes):
            book.add(table)


def _headline_table(board: Board) -> Table:
    shown = [tables.Column(column.heading, width=14) for column in board.columns.shown]
    columns = [tables.Column("model", width=32), tables.Column("step", width=14), *shown]
    table = Table("Leaderboard", columns)
    for row in board.rows:
        cells = (_explained(row.cells[column.id]) for column in board.columns.shown)
        table.add(_label(row), row.place.step, *cells)
    return table


def _explained(cell: Cell) -> tables.Cell:
    """A value; the comment says why it may not be compared, or why there is none."""
    note = ""
    if cell.standing or cell.value is None:
        note = "; ".join([*cell.why, cell.reason])
    tone = Tone.PLAIN
    if cell.standing:
        tone = Tone.EXCLUDED
    elif cell.leads:
        tone = Tone.LEADING
    return tables.Cell(cell.value, tone=tone, note=note)


def _charts(board: Board, book: Any) -> Iterator[Any]:
    """A scatter of two columns for each picture that the packs name."""
    places = {column.id: place for place, column in enumerate(board.columns.shown, start=2)}
    last = len(board.rows)
    labels = [{"value": row.label[:60]} for row in board.rows]
    for across, up in board.columns.pictures:
        chart = book.add_chart({"type": "scatter"})
        chart.add_series(
            {
                "categories": ["Leaderboard", 1, places[across.id], last, places[across.id]],
                "values": ["Leaderboard", 1, places[up.id], last, places[up.id]],
                "marker": {"type": "circle", "size": 7},
                "data_labels": {"custom": labels, "value": True},
            }
        )
        chart.set_x_axis({"name": across.heading})
        chart.set_y_axis({"name": up.heading, **({"log_base": 10} if up.p_value else {})})
        chart.set_legend({"none": True})
        chart.set_size(_CHART)
        yield chart
