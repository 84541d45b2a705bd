"""Many scores by what they belong to: a row per score below its section, a column per model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from evalprep.leaderboard.board import Board, Cell
from evalprep.leaderboard.columns import SCORE, Column

#: Writes a cell; what it is shaded between, worst first.
Write = Callable[[Cell, tuple[float, float] | None, Column], str]


def heat_map(board: Board, write: Write) -> str:
    """The heat map; empty where the shown scores do not belong to several sections.

    Shades mean the same in every row of one range: they show what a value is, not who leads.

    Args:
        board: The leaderboard.
        write: How a cell is written.
    """
    scores = [column for column in board.columns.shown if column.kind == SCORE]
    columns = [column for column in scores if column.subsection]
    names = {column.section for column in columns}
    if len(names) < 2:
        return ""
    rest = [column for column in scores if column not in columns]
    rows = list(_sections(board, columns, write))
    rows += [_row(board, column, write) for column in rest]
    body = "".join(rows)
    content = f"{_head(board)}<tbody>{body}</tbody>"
    table = f'<table class="board" id="sections">{content}</table>'
    return region("heat map", table)


def region(label: str, table: str) -> str:
    """A table in a box of its own, which scrolls where the table is wider than the page.

    Args:
        label: The table's name for screen readers.
        table: Its HTML.
    """
    start = f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
    return f"{start}{table}</div>\n"


def _head(board: Board) -> str:
    """The head of the table: the labels of the rows of the leaderboard."""
    heads = "".join(f'<th scope="col">{escape(row.label)}</th>' for row in board.rows)
    return f'<thead><tr><th scope="col">score</th>{heads}</tr></thead>'


def _sections(board: Board, columns: Sequence[Column], write: Write) -> Iterator[str]:
    across = len(board.rows) + 1
    for section, subsections in _by_section(columns).items():
        yield _heading("section", section, across)
        for subsection, members in subsections.items():
            yield _heading("subsection", subsection, across)
            for column in members:
                yield _row(board, column, write)


def _by_section(columns: Sequence[Column]) -> dict[str, dict[str, list[Column]]]:
    """Section -> subsection -> its columns, each in the order in which it occurs first."""
    sections: dict[str, dict[str, list[Column]]] = {}
    for column in columns:
        subsections = sections.setdefault(column.section, {})
        subsections.setdefault(column.subsection, []).append(column)
    return sections


def _heading(kind: str, text: str, across: int) -> str:
    head = f'<th scope="rowgroup" colspan="{across}">{escape(text)}</th>'
    return f'<tr class="{kind}">{head}</tr>'


def _row(board: Board, column: Column, write: Write) -> str:
    scale = between(column)
    cells = "".join(write(row.cells[column.id], scale, column) for row in board.rows)
    arrow = f" <span>{column.arrow}</span>" if column.arrow else ""
    note = escape(column.note, quote=True)
    title = escape(column.title)
    head = f'<th scope="row" title="{note}">{title}{arrow}</th>'
    return f"<tr>{head}{cells}</tr>"


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
