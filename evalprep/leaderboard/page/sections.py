"""Many scores by what they belong to: a row per score below its section, a column per model."""

from __future__ import annotations

from evalprep import tables
from evalprep.leaderboard.board import Board
from evalprep.leaderboard.columns import SCORE, Column
from evalprep.leaderboard.tables import score_cell
from evalprep.tables import Kind, Table


def heat_map(board: Board) -> Table | None:
    """The heat map; None where the shown scores do not belong to several sections.

    Shades mean the same in every row of one range: they show what a value is, not who leads.
    """
    scores = [column for column in board.columns.shown if column.kind == SCORE]
    columns = [column for column in scores if column.subsection]
    sections: dict[str, dict[str, list[Column]]] = {}
    for column in columns:
        subsections = sections.setdefault(column.section, {})
        subsections.setdefault(column.subsection, []).append(column)
    if len(sections) < 2:
        return None
    models = [tables.Column(row.label, Kind.NUMBER) for row in board.rows]
    table = Table("By section", [tables.Column("score", Kind.NAME), *models])
    for section, subsections in sections.items():
        table.add_heading(section)
        for subsection, members in subsections.items():
            table.add_heading(subsection, level=2)
            for column in members:
                table.add(*_entries(board, column))
    for column in scores:
        if column not in columns:
            table.add(*_entries(board, column))
    return table


def _entries(board: Board, column: Column) -> list[tables.Cell]:
    """The row of a score: its title, then a cell per model."""
    title = tables.Cell(column.title, detail=column.arrow, note=column.note)
    scale = between(column)
    return [title, *(score_cell(row.cells[column.id], column, scale) for row in board.rows)]


def between(column: Column) -> tuple[float, float] | None:
    """The worst and the best value that a score can have; None where one of them has no bound.

    >>> between(Column("p/a", "a", "A", SCORE, "down", (0.0, 1.0)))
    (1.0, 0.0)
    """
    low, high = column.range
    if low is None or high is None:
        return None
    if column.better == "up":
        return low, high
    if column.better == "down":
        return high, low
    return None
