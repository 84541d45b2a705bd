"""Tables as plain lines of text: aligned, and not wider than a terminal.

For output that people read on a terminal and programs read from a file: no frame, no colour. What
does not fit is cut, or goes on in further lines, as its column allows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from evalprep.tables.model import Column, Row, Table

GAP = "  "  # between columns
_LEAST_WRAPPED = 20  # characters in a line of a sentence


def table_lines(table: Table, width: int | None = None, *, indent: str = "") -> list[str]:
    """Returns a table without its title and its notes.

    >>> columns = [Column("task", least=4), Column("time")]
    >>> table_lines(Table("", columns, [("task_of_a_family", "3 s")]), 12)
    ['task    time', 't…mily  3 s']

    Args:
        table: The table; one whose columns have no names has no line of headings.
        width: Characters in a line; None for as many as are needed. Columns that are neither cut
            nor wrapped can make a line wider.
        indent: What stands before each line.
    """
    columns = table.columns
    rows = list(table.lines())
    texts = row_texts(rows, columns)
    headings = [column.heading for column in columns]
    values = [cells for row, cells in zip(rows, texts, strict=True) if not row.level]
    widths = _widths([headings, *values])
    if width is not None:
        widths = _narrowed(widths, columns, width - len(indent))
    lines = list(_lines_of(headings, columns, widths)) if table.has_head else []
    for row, cells in zip(rows, texts, strict=True):
        lines += [cells[0]] if row.level else _lines_of(cells, columns, widths)
    return [f"{indent}{line}".rstrip() for line in lines]


def row_texts(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[str]]:
    """Returns the texts of the cells, as many in each row as there are columns.

    Behind a cell of numbers without a mark is the room of the longest mark in its column: digits
    stand below digits.
    """
    rooms = [0] * len(columns)
    for row in rows:
        for place, cell in enumerate(row.cells):
            rooms[place] = max(rooms[place], len(cell.mark))
    return [_texts(row, columns, rooms) for row in rows]


def _texts(row: Row, columns: Sequence[Column], rooms: Sequence[int]) -> list[str]:
    texts = []
    for cell, column, room in zip(row.cells, columns, rooms, strict=False):
        text = cell.marked(column, room)
        texts.append(f"{text} {cell.detail}" if cell.detail else text)
    return texts + [""] * (len(columns) - len(texts))


def aligned(text: str, column: Column, width: int) -> str:
    """Returns a text as wide as its column."""
    return text.rjust(width) if column.right else text.ljust(width)


def shortened(text: str, width: int) -> str:
    """Returns a text in at most so many characters: a sentence loses its end.

    >>> shortened("checkpoint-1200", 9), shortened("it has no rows", 9), shortened("short", 9)
    ('ch…t-1200', 'it has n…', 'short')
    """
    if " " not in text:
        return shortened_name(text, width)
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"[:width]


def shortened_name(text: str, width: int) -> str:
    """Returns a name in at most so many characters.

    It loses characters before its middle, as the names of a family differ at their ends.

    >>> shortened_name("model, evals_forget01", 12), shortened_name("model", 0)
    ('mod…forget01', '')
    """
    if len(text) <= width:
        return text
    if width <= 0:
        return ""
    head = (width - 1) // 3
    tail = width - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The longest line of each column."""
    return [max(map(_longest_line, cells)) for cells in zip(*rows, strict=True)]


def _longest_line(text: str) -> int:
    return max(map(len, text.split("\n")))


def _narrowed(widths: Sequence[int], columns: Sequence[Column], width: int) -> list[int]:
    """Widths that fit a line, where columns can give characters away: the widest gives first."""
    narrowed = list(widths)
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while excess > 0:
        can_give = [
            place for place, column in enumerate(columns) if narrowed[place] > _least(column)
        ]
        if not can_give:
            break
        widest = max(can_give, key=lambda place: narrowed[place])
        narrowed[widest] -= 1
        excess -= 1
    return narrowed


def _least(column: Column) -> float:
    """The characters that a column keeps in any case."""
    if column.wraps:
        return _LEAST_WRAPPED
    return float("inf") if column.least is None else column.least


def _lines_of(
    cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]
) -> Iterator[str]:
    """The lines of a row: one, or as many as its longest cell has."""
    folded = [
        _folded(text, column, width)
        for text, column, width in zip(cells, columns, widths, strict=True)
    ]
    for number in range(max(map(len, folded))):
        texts = [lines[number] if number < len(lines) else "" for lines in folded]
        places = zip(texts, columns, widths, strict=True)
        yield GAP.join(aligned(text, column, width) for text, column, width in places).rstrip()


def _folded(text: str, column: Column, width: int) -> list[str]:
    """The lines of a cell."""
    lines: list[str] = []
    for line in text.split("\n"):
        if column.wraps and len(line) > width:
            lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
        else:
            lines.append(shortened(line, width))
    return lines
