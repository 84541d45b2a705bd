"""The leaderboard as CSV, Markdown and spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalprep import tables
from evalprep.leaderboard.board import LEADS, SIGNS, Board, Cell, Row, label_of
from evalprep.leaderboard.columns import Column
from evalprep.leaderboard.values import heading_of, value_text
from evalprep.numbers import probability
from evalprep.results import SHARE
from evalprep.tables import Entry, Kind, Table, Tone

_MODEL_COLUMNS = ("label", "model", "trajectory", "step", "role", "seeds", "run", "folder")
_CELL_COLUMNS = (
    *("label", "step", "column", "kind", "better", "value", "low", "high", "stderr", "sd", "n"),
    *("standing", "why", "leads", "no value because", "measured against"),
)
_SEEDS = (
    "Rows of several seeds: means with standard deviations over the seeds (sd), "
    "of p-values the median."
)
# Characters of a column in the spreadsheet.
_NAME_WIDTH = 28
_WIDTH = 18
_NOTE_WIDTH = 110
_CHART = {"width": 820, "height": 460}  # pixels
_CHART_ROWS = 25  # of the sheet, from one chart to the next


def _columns(*names: str) -> list[tables.Column]:
    first, *others = names
    columns = [tables.Column(first, width=_NAME_WIDTH)]
    columns += [tables.Column(name, width=_WIDTH) for name in others]
    return columns


def model_table(board: Board) -> Table:
    """One row per model with the value of every column."""
    names = [column.id for column in board.columns.all]
    columns = _columns(*_MODEL_COLUMNS, *names, "may not be compared")
    table = Table("All columns", columns)
    for row in board.rows:
        values = [row.cells[name].value for name in names]
        standings = "; ".join(_standings(row))
        table.add(*_model(row), *values, standings)
    return table


def _model(row: Row) -> list[Entry]:
    role = "reference" if row.reference else "model"
    place = row.place
    names = [row.label, row.model]
    origin = [row.run, row.folder]
    seeds = len(row.members)
    return [*names, place.trajectory, place.step, role, seeds, *origin]


def _standings(row: Row) -> list[str]:
    """The reasons why cells of a row may not be compared, each once."""
    reasons: dict[str, None] = {}
    for cell in row.cells.values():
        for why in cell.why:
            reasons[f"{cell.standing}: {why}"] = None
    return list(reasons)


def cell_table(board: Board) -> Table:
    """One row per model and column with all that is known."""
    table = Table("Cells", _columns(*_CELL_COLUMNS))
    for row in board.rows:
        for column in board.columns.all:
            cell = row.cells[column.id]
            entries: list[Entry] = [row.label, row.place.step]
            entries += [column.id, column.kind, column.better]
            entries += [cell.value, cell.low, cell.high]
            entries += [cell.stderr, cell.sd, cell.n]
            entries += [cell.standing, "; ".join(cell.why)]
            entries += ["yes" if cell.leads else "", cell.reason]
            entries.append("; ".join(each.words for each in cell.against))
            table.add(*entries)
    return table


def write_csv(board: Board, folder: Path) -> list[Path]:
    """Writes `leaderboard.csv` and `leaderboard_long.csv`.

    The first has a line per model, the second a line per model and column.
    """
    by_model = folder / "leaderboard.csv"
    by_cell = folder / "leaderboard_long.csv"
    tables.write_csv(model_table(board), by_model)
    tables.write_csv(cell_table(board), by_cell)
    return [by_model, by_cell]


def render_markdown(board: Board) -> str:
    """Returns the shown columns as one Markdown table with its notes."""
    table = _shown_table(board, sayings(board, "Brackets"))
    for row in board.rows:
        cells = [_shown(row.cells[column.id], column) for column in board.columns.shown]
        table.add(label_of(row), *cells)
    lines = list(tables.markdown_lines(table, heading="#"))
    if board.pairs:
        lines += tables.markdown_lines(pair_table(board))
    return "\n".join(lines)


def render_latex(board: Board) -> str:
    """Returns the shown columns as a LaTeX table with the rules of booktabs.

    A value is bold where it is shown to be better than every other one of its column: where
    several are not shown to be worse than the best, none is.
    """
    shown = board.columns.shown
    alone = {column.id for column in shown if _leads_alone(board, column)}
    notes = sayings(board, "Brackets", leading=_ALONE)
    table = _shown_table(board, notes)
    for row in board.rows:
        cells = []
        for column in shown:
            cell = _shown(row.cells[column.id], column)
            tone = cell.tone if column.id in alone else Tone.PLAIN
            cells.append(replace(cell, tone=tone))
        table.add(label_of(row), *cells)
    return "\n".join(tables.latex_lines(table))


def _leads_alone(board: Board, column: Column) -> bool:
    """Returns whether one of several rows leads a column, the others being shown to be worse."""
    cells = [row.cells[column.id] for row in board.rows]
    compared = [cell for cell in cells if cell.value is not None and not cell.standing]
    return len(compared) > 1 and sum(cell.leads for cell in compared) == 1


def _shown_table(board: Board, notes: Sequence[str]) -> Table:
    """The shown columns, without rows."""
    columns = [tables.Column("model", Kind.NAME)]
    headings = map(heading_of, board.columns.shown)
    columns += [tables.Column(heading, Kind.NUMBER) for heading in headings]
    return Table("Leaderboard", columns, notes=[tables.Note(text) for text in notes])


def pair_table(board: Board) -> Table:
    """The pairs of rows that differ in any column."""
    heads = ("score", "candidate", "verdict", "baseline", "difference", "p")
    table = Table("Pairs that differ", [tables.Column(head) for head in heads])
    names = {column.id: column.name for column in board.columns.all}
    for pair in board.pairs:
        sentence = [pair.candidate, pair.verdict, pair.baseline]
        p_value = probability(pair.p)
        table.add(names[pair.column], *sentence, pair.text, p_value)
    return table


def run_table(board: Board) -> Table:
    """The run behind each row; a line of its last cell for each note."""
    names = ("model", "results", "run", "notes")
    columns = [tables.Column("row", Kind.NAME), *(tables.Column(name) for name in names)]
    table = Table("Runs", columns)
    for row in board.rows:
        table.add(row.label, row.model, row.folder, row.run, "\n".join(row.notes))
    return table


def _shown(cell: Cell, column: Column) -> tables.Cell:
    """A value with its sign and its interval, or its deviation over seeds."""
    if cell.value is None:
        return tables.Cell(None)
    spread = ""
    if cell.sd is not None:
        spread = f"(sd {value_text(cell.sd, column)})"
    elif cell.low is not None and cell.high is not None:
        low = value_text(cell.low, column)
        high = value_text(cell.high, column)
        spread = f"[{low}, {high}]"
    tone = Tone.LEADING if cell.leads else Tone.PLAIN
    mark = SIGNS.get(cell.standing, "")
    return tables.Cell(cell.value, value_text(cell.value, column), spread, tone, mark=mark)


_ALONE = "Bold: shown to be better than all others of its column (paired tests, adjusted)."


def sayings(
    board: Board, intervals: str, *, in_percent: bool = True, leading: str = ""
) -> list[str]:
    """Returns what belongs below a table, in sentences.

    Args:
        board: The leaderboard.
        intervals: What the intervals of the table are called by their look.
        in_percent: Whether the table shows shares in percent; else as they are.
        leading: The meaning of the mark of leading values; that of bold by default.
    """
    leading = leading or f"Bold, or {LEADS}: {board.leading}."
    sentences = _reading_aids(board, intervals, in_percent=in_percent, leading=leading)
    for names, why in board.without_leader():
        sentences.append(f"Nothing is marked for {names}: {why}.")
    footnotes = board.footnotes()
    sentences += [f"{sign} {why}" for sign, why in footnotes]
    if footnotes:
        sentences.append("† and ‡: not comparable; excluded from the ranking.")
    return [*sentences, *board.absent(), *board.measured(), *board.notes]


def _reading_aids(board: Board, intervals: str, *, in_percent: bool, leading: str) -> list[str]:
    """The meaning of the intervals, units, means over seeds and marks that a table has."""
    columns = board.columns.shown
    rows = board.rows
    sentences = []
    if any(cell.low is not None for _, _, cell in board.shown_cells()):
        sentences.append(f"{intervals}: 95 % intervals of the single values.")
    if in_percent and any(column.unit == SHARE for column in columns):
        sentences.append("Columns with % are in percent.")
    if any(len(row.members) > 1 for row in rows):
        sentences.append(_SEEDS)
    if any(cell.leads for cell in board.cells()):
        sentences.append(leading)
    if board.pairs and board.only_with_best:
        sentences.append(
            "Of so many rows only pairs with the best one are tested for a difference."
        )
    return sentences


def write_xlsx(board: Board, path: Path) -> None:
    """Writes the workbook.

    It holds the shown columns with a picture, every column, every cell and the notes.
    """
    further_tables = [model_table(board), cell_table(board)]
    further_tables += [pair_table(board), _note_table(board)]
    with tables.Workbook(path, streamed=False) as book:
        sheet = book.add(_headline_table(board))
        first_free_row = len(board.rows) + 2
        for chart in _charts(board, book.book):
            sheet.insert_chart(first_free_row, 0, chart)
            first_free_row += _CHART_ROWS
        for table in further_tables:
            book.add(table)


def _note_table(board: Board) -> Table:
    table = Table("Notes", [tables.Column("Notes", width=_NOTE_WIDTH)])
    for text in sayings(board, "low and high", in_percent=False):
        table.add(text)
    return table


def _headline_table(board: Board) -> Table:
    shown = board.columns.shown
    heads = ["step", *(column.heading for column in shown)]
    columns = [tables.Column("model", width=32)]
    columns += [tables.Column(head, width=14) for head in heads]
    table = Table("Leaderboard", columns)
    for row in board.rows:
        cells = (_explained(row.cells[column.id], column) for column in shown)
        table.add(label_of(row), row.place.step, *cells)
    return table


def _explained(cell: Cell, column: Column) -> tables.Cell:
    """A value; where it may not be compared or is missing, a comment has all that is known."""
    note = ""
    if cell.standing or cell.value is None:
        note = "\n".join(details_of(cell, column))
    tone = Tone.PLAIN
    if cell.standing:
        tone = Tone.EXCLUDED
    elif cell.leads:
        tone = Tone.LEADING
    return tables.Cell(cell.value, tone=tone, note=note)


def _charts(board: Board, book: Any) -> Iterator[Any]:
    """A scatter of two columns for each picture that the packs name."""
    shown = board.columns.shown
    places = {column.id: place for place, column in enumerate(shown, start=2)}
    last = len(board.rows)
    labels = [{"value": row.label[:60]} for row in board.rows]
    for across, up in board.columns.pictures:
        x_place, y_place = places[across.id], places[up.id]
        series = {
            "categories": ["Leaderboard", 1, x_place, last, x_place],
            "values": ["Leaderboard", 1, y_place, last, y_place],
            "marker": {"type": "circle", "size": 7},
            "data_labels": {"custom": labels, "value": True},
        }
        y_axis: dict[str, Any] = {"name": up.heading}
        if up.p_value:
            y_axis["log_base"] = 10
        chart = book.add_chart({"type": "scatter"})
        chart.add_series(series)
        chart.set_x_axis({"name": across.heading})
        chart.set_y_axis(y_axis)
        chart.set_legend({"none": True})
        chart.set_size(_CHART)
        yield chart


def interval_text(cell: Cell, column: Column) -> str:
    """The interval of a value in words; empty without one."""
    if cell.low is None or cell.high is None:
        return ""
    low = value_text(cell.low, column)
    high = value_text(cell.high, column)
    return f"[{low}, {high}]"


def details_of(cell: Cell, column: Column) -> list[str]:
    """All that is known of a cell."""
    unit = " %" if column.unit == SHARE else ""
    details = []
    if cell.value is None:
        details.append(cell.reason or "no value")
    else:
        value = value_text(cell.value, column)
        details.append(f"{column.name} {value}{unit}")
    interval = interval_text(cell, column)
    if interval:
        details.append(f"95 % interval {interval}{unit}")
    if cell.n:
        details.append(f"{cell.n} rows")
    return [*details, *cell.why, *cell.notes]
