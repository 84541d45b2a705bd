"""The leaderboard's tables, each declared once for the media that show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from evalprep import tables
from evalprep.leaderboard.board import SIGNS, Board, Row, label_of
from evalprep.leaderboard.columns import Cell, Column
from evalprep.numbers import probability
from evalprep.samples import SHARE
from evalprep.score import interval, measured
from evalprep.tables import LEADS, Kind, Table, Tone

_SEEDS = (
    "Rows of several seeds are means, of p-values the median; files have the standard deviations "
    "over the seeds (sd)."
)
# Characters of a column in the spreadsheet.
_NAME_WIDTH = 28
_WIDTH = 18
_NOTE_WIDTH = 110
_CHART = {"width": 820, "height": 460}  # pixels
_CHART_ROWS = 25  # of the sheet, from one chart to the next
#: What a value is shaded between, the worst first.
Scale = tuple[float, float] | None


def model_table(board: Board) -> Table:
    """One row per model with the value of every column."""
    columns = [
        tables.Column("label", width=_NAME_WIDTH, cell=lambda row: row.label),
        tables.Column("model", width=_WIDTH, cell=lambda row: row.model),
        tables.Column("trajectory", width=_WIDTH, cell=lambda row: row.place.trajectory),
        tables.Column("step", width=_WIDTH, cell=_step),
        tables.Column("role", width=_WIDTH, cell=lambda row: _tone_of_row(row).value or "model"),
        tables.Column("seeds", width=_WIDTH, cell=lambda row: len(row.members)),
        tables.Column("run", width=_WIDTH, cell=lambda row: row.run),
        tables.Column("folder", width=_WIDTH, cell=lambda row: row.folder),
        *(
            tables.Column(column.id, width=_WIDTH, cell=partial(_value, column.id))
            for column in board.columns.all
        ),
        tables.Column("may not be compared", width=_WIDTH, cell=_standings),
    ]
    return tables.table_of("All columns", columns, board.rows)


def _value(column: str, row: Row) -> float | None:
    return row.cells[column].value


def _standings(row: Row) -> str:
    """The reasons why cells of a row may not be compared, each once."""
    reasons: dict[str, None] = {}
    for cell in row.cells.values():
        reasons |= dict.fromkeys(f"{cell.standing}: {why}" for why in cell.why)
    return "; ".join(reasons)


class _Place(NamedTuple):
    """A cell with its row and its column."""

    row: Row
    column: Column
    cell: Cell


_CELL_COLUMNS = (
    tables.Column("label", width=_NAME_WIDTH, cell=lambda at: at.row.label),
    tables.Column("step", width=_WIDTH, cell=lambda at: at.row.place.step),
    tables.Column("column", width=_WIDTH, cell=lambda at: at.column.id),
    tables.Column("kind", width=_WIDTH, cell=lambda at: at.column.kind),
    tables.Column("better", width=_WIDTH, cell=lambda at: at.column.better),
    tables.Column("value", width=_WIDTH, cell=lambda at: at.cell.value),
    tables.Column("low", width=_WIDTH, cell=lambda at: at.cell.low),
    tables.Column("high", width=_WIDTH, cell=lambda at: at.cell.high),
    tables.Column("stderr", width=_WIDTH, cell=lambda at: at.cell.stderr),
    tables.Column("sd", width=_WIDTH, cell=lambda at: at.cell.sd),
    tables.Column("n", width=_WIDTH, cell=lambda at: at.cell.n),
    tables.Column("standing", width=_WIDTH, cell=lambda at: at.cell.standing),
    tables.Column("why", width=_WIDTH, cell=lambda at: "; ".join(at.cell.why)),
    tables.Column("leads", width=_WIDTH, cell=lambda at: "yes" if at.cell.leads else ""),
    tables.Column("no value because", width=_WIDTH, cell=lambda at: at.cell.reason),
    tables.Column(
        "measured against",
        width=_WIDTH,
        cell=lambda at: "; ".join(each.words for each in at.cell.against),
    ),
)


def cell_table(board: Board) -> Table:
    """One row per model and column with all that is known."""
    places = [
        _Place(row, column, row.cells[column.id])
        for row, column in product(board.rows, board.columns.all)
    ]
    return tables.table_of("Cells", _CELL_COLUMNS, places)


def write_csv(board: Board, folder: Path) -> list[Path]:
    """Writes `leaderboard.csv` and `leaderboard_long.csv`.

    The first has a line per model, the second a line per model and column.
    """
    by_model = folder / "leaderboard.csv"
    by_cell = folder / "leaderboard_long.csv"
    tables.write_csv(model_table(board), by_model)
    tables.write_csv(cell_table(board), by_cell)
    return [by_model, by_cell]


def score_table(
    board: Board, columns: Sequence[Column], *, with_steps: bool = False, notes: Sequence[str] = ()
) -> Table:
    """A row per model: its value in each column, shaded from the worst to the best of the column.

    Args:
        board: The leaderboard.
        columns: Those to show.
        with_steps: The steps of checkpoints have a column.
        notes: Sentences below it.
    """
    heads = [tables.Column("model", Kind.NAME, width=32, cell=_name)]
    if with_steps:
        heads.append(tables.Column("step", Kind.COUNT, width=14, cell=_step))
    heads += [_score_column(board, column) for column in columns]
    below = [tables.Note(text) for text in notes]
    return tables.table_of("Leaderboard", heads, board.rows, below, tone=_tone_of_row)


def _name(row: Row) -> tables.Cell:
    return tables.Cell(label_of(row), row.label, detail="(reference)" if row.reference else "")


def _step(row: Row) -> int | None:
    return row.place.step


def _tone_of_row(row: Row) -> Tone:
    return Tone.REFERENCE if row.reference else Tone.PLAIN


_DIRECTIONS = {
    "up": "higher is better",
    "down": "lower is better",
    "zero": "nearer to 0 is better",
    "reference": "nearer to the reference is better",
}


def _score_column(board: Board, column: Column) -> tables.Column:
    scale = _scale(board, column)

    def cell_of(row: Row) -> tables.Cell:
        return score_cell(row.cells.get(column.id, Cell()), column, scale)

    parts = [column.title, _DIRECTIONS.get(column.better, ""), column.note]
    return tables.Column(
        column.name,
        Kind.NUMBER,
        column.arrow,
        width=14,
        note=". ".join(filter(None, parts)),
        unit=column.sign,
        cell=cell_of,
    )


def _scale(board: Board, column: Column) -> Scale:
    """Between what a column is shaded: the worst and the best of the values that compete."""
    if column.better not in {"up", "down"} or column.p_value:
        return None
    cells = [row.cells.get(column.id, Cell()) for row in board.rows if not row.reference]
    values = [cell.value for cell in cells if cell.value is not None and not cell.standing]
    if len(set(values)) < 2:
        return None
    least, most = min(values), max(values)
    return (least, most) if column.better == "up" else (most, least)


def score_cell(cell: Cell, column: Column, scale: Scale) -> tables.Cell:
    """A value with its sign and its interval, or its deviation over seeds.

    Args:
        cell: The value and what is known of it.
        column: Its column.
        scale: The worst and the best value, between which it is shaded; None for no shade.
    """
    tone = Tone.PLAIN
    if cell.standing:
        tone = Tone.EXCLUDED
    elif cell.leads:
        tone = Tone.LEADING
    note = "\n".join(_details(cell, column))
    if cell.value is None:
        return tables.Cell(tone=tone, note=note)
    spread = interval((cell.low, cell.high), column.unit)
    if cell.sd is not None:
        spread = f"(sd {measured(cell.sd, column.unit)})"
    shade = None
    if scale is not None and not cell.standing:
        worst, best = scale
        shade = (cell.value - worst) / (best - worst)
    text = measured(cell.value, column.unit)
    mark = SIGNS.get(cell.standing, "")
    return tables.Cell(cell.value, text, spread, tone, note, mark, shade)


def _details(cell: Cell, column: Column) -> list[str]:
    """All that is known of a cell."""
    unit = f" {column.sign}" if column.sign else ""
    details = []
    if cell.value is None:
        details.append(cell.reason or "no value")
    else:
        details.append(f"{column.name} {measured(cell.value, column.unit)}{unit}")
    if ends := interval((cell.low, cell.high), column.unit):
        details.append(f"95 % interval {ends}{unit}")
    if cell.n:
        details.append(f"{cell.n} rows")
    return [*details, *cell.why, *cell.notes]


def render_markdown(board: Board) -> str:
    """Returns the shown columns as one Markdown table with its notes."""
    table = score_table(
        board, board.columns.shown, notes=sayings(board, intervals="Brackets", in_percent=True)
    )
    lines = list(tables.markdown_lines(table, heading="#"))
    if board.pairs:
        lines += tables.markdown_lines(pair_table(board))
    return "\n".join(lines)


def render_latex(board: Board) -> str:
    """Returns the shown columns as a LaTeX table with the rules of booktabs.

    A value is bold where it is shown to be better than every other one of its column: where
    several are not shown to be worse than the best, none is.
    """
    notes = sayings(board, intervals="Brackets", in_percent=True, leading=_ALONE)
    table = score_table(board, board.columns.shown, notes=notes)
    rows = list(table.lines())
    for place in range(1, len(table.columns)):
        cells = [row.cells[place] for row in rows]
        compared = [cell for cell in cells if cell.value is not None and not cell.mark]
        if len(compared) < 2 or sum(cell.tone is Tone.LEADING for cell in cells) > 1:
            rows = [_without_lead(row, place) for row in rows]
    return "\n".join(tables.latex_lines(replace(table, rows=rows)))


def _without_lead(row: tables.Row, place: int) -> tables.Row:
    """The row with a plain value at a place."""
    cells = list(row.cells)
    cells[place] = replace(cells[place], tone=Tone.PLAIN)
    return replace(row, cells=tuple(cells))


def pair_table(board: Board) -> Table:
    """The pairs of rows that differ in any column."""
    names = {column.id: column.name for column in board.columns.all}
    columns = [
        tables.Column("score", cell=lambda pair: names[pair.column]),
        tables.Column("candidate", cell=lambda pair: pair.candidate),
        tables.Column("verdict", cell=lambda pair: pair.verdict),
        tables.Column("baseline", cell=lambda pair: pair.baseline),
        tables.Column("difference", cell=lambda pair: pair.text),
        tables.Column("p", cell=lambda pair: probability(pair.p)),
    ]
    return tables.table_of("Pairs that differ", columns, board.pairs)


def run_table(board: Board) -> Table:
    """The run behind each row; a line of its last cell for each note."""
    columns = [
        tables.Column("row", Kind.NAME, cell=lambda row: row.label),
        tables.Column("model", cell=lambda row: row.model),
        tables.Column("results", cell=lambda row: row.folder),
        tables.Column("run", cell=lambda row: row.run),
        tables.Column("notes", cell=lambda row: "\n".join(row.notes)),
    ]
    return tables.table_of("Runs", columns, board.rows)


_ALONE = "Bold: shown to be better than all others of its column (paired tests, adjusted)."


def sayings(
    board: Board,
    *,
    intervals: str = "",
    in_percent: bool = False,
    leading: str = "",
    with_hidden: bool = False,
) -> list[str]:
    """Returns what belongs below a table, in sentences.

    Args:
        board: The leaderboard.
        intervals: What the intervals of the table are called by their look; empty without any.
        in_percent: Whether its headings have a % where shares are in percent.
        leading: The meaning of the mark of leading values; that of bold by default.
        with_hidden: Whether columns that are not shown stand in a table of their own.
    """
    sentences = []
    if intervals and any(cell.low is not None for _, _, cell in board.shown_cells()):
        sentences.append(f"{intervals}: 95 % intervals of the single values.")
    if in_percent and any(column.unit == SHARE for column in board.columns.shown):
        sentences.append("Columns with % are in percent.")
    if any(len(row.members) > 1 for row in board.rows):
        sentences.append(_SEEDS)
    shown = (cell for _, _, cell in board.shown_cells())
    if any(cell.leads for cell in (board.cells() if with_hidden else shown)):
        sentences.append(leading or f"Bold, or {LEADS}: {board.leading}.")
    if board.pairs and board.only_with_best:
        sentences.append(
            "Of so many rows only pairs with the best one are tested for a difference."
        )
    for names, why in board.without_leader():
        sentences.append(f"Nothing is marked for {names}: {why}.")
    footnotes = board.footnotes()
    sentences += [f"{sign} {why}" for sign, why in footnotes]
    if footnotes:
        sentences.append("† and ‡: not comparable; excluded from the ranking.")
    return [*sentences, *board.absent(), *board.measured(), *board.notes]


def write_xlsx(board: Board, path: Path) -> None:
    """Writes the workbook.

    It holds the shown columns with a picture, every column, every cell and the notes.
    """
    shown = score_table(board, board.columns.shown, with_steps=True)
    shown = replace(shown, rows=[_with_comments(row) for row in shown.lines()])
    notes = Table("Notes", [tables.Column("Notes", width=_NOTE_WIDTH)])
    for text in sayings(board, intervals="low and high", with_hidden=True):
        notes.add(text)
    with tables.Workbook(path, streamed=False) as book:
        sheet = book.add(shown)
        first_free_row = len(board.rows) + 2
        for chart in _charts(board, book.book):
            sheet.insert_chart(first_free_row, 0, chart)
            first_free_row += _CHART_ROWS
        for table in (model_table(board), cell_table(board), pair_table(board), notes):
            book.add(table)


def _with_comments(row: tables.Row) -> tables.Row:
    """A row with comments where a value is missing or may not be compared, and nowhere else."""
    cells = []
    for cell in row.cells:
        is_doubtful = cell.value is None or cell.tone is Tone.EXCLUDED
        cells.append(cell if is_doubtful else replace(cell, note=""))
    return replace(row, cells=tuple(cells))


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
