"""Wide tables as lines of text: blocks of columns that each fit, all with the names of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from evalprep.tables.lines import GAP, aligned, row_texts, shortened, shortened_name
from evalprep.tables.model import LEADS, Column, Row, Table, Tone

_HEADING = 9  # characters of a column of numbers, as a rule
_LINE = 12  # of a heading's line, which holds names such as exact_match
_LINES = 3  # of a heading, where more characters in a line allow
_LEAST_NAME = 16
_BESIDE_NAME = 4  # columns of numbers that fit beside the longest names


class _Place(NamedTuple):
    """A column in a block: the lines of its heading, the texts of its cells, and its width."""

    column: Column
    heading: list[str]
    texts: list[str]
    width: int


def column_blocks(table: Table, width: int) -> list[Table]:
    """Returns tables that each fit: the first column, and as many others as there is room for.

    Details are left out but for those of names, and leading values have a mark.

    Args:
        table: The table; its first column names the rows.
        width: Characters in a line.
    """
    rows = [_without_details(row) for row in table.lines()]
    name, *places = _places(table, rows, width)
    members: list[list[int]] = []
    used = 0
    for number, place in enumerate(places, start=1):
        needed = len(GAP) + place.width
        if not members or name.width + used + needed > width:
            members.append([])
            used = 0
        members[-1].append(number)
        used += needed
    return [_part(table, rows, numbers) for numbers in members]


def _without_details(row: Row) -> Row:
    name, *cells = row.cells
    marked = [
        replace(cell, detail="", mark=LEADS if cell.tone is Tone.LEADING else cell.mark)
        for cell in cells
    ]
    return replace(row, cells=(name, *marked))


def _part(table: Table, rows: Sequence[Row], numbers: Sequence[int]) -> Table:
    """The table with its first column and some others."""
    chosen = [0, *numbers]
    columns = [table.columns[number] for number in chosen]
    return replace(table, columns=columns, rows=[_row_part(row, chosen) for row in rows])


def _row_part(row: Row, chosen: Sequence[int]) -> Row:
    cells = [row.cells[number] for number in chosen if number < len(row.cells)]
    return replace(row, cells=tuple(cells))


def block_lines(block: Table, width: int) -> list[str]:
    """Returns a block without its title and its notes.

    Headings have several lines: they are broken behind underscores, where they can be.

    Args:
        block: One of `column_blocks`.
        width: The width that it was made for.
    """
    places = _places(block, list(block.lines()), width)
    gaps = len(GAP) * (len(places) - 1)
    rule = "─" * (sum(place.width for place in places) + gaps)
    texts_by_column = [place.texts for place in places]
    rows = [_line(places, texts) for texts in zip(*texts_by_column, strict=True)]
    return [*_head_lines(places), rule, *rows]


def _places(table: Table, rows: Sequence[Row], width: int) -> list[_Place]:
    columns = table.columns
    texts_by_row = row_texts(rows, columns)
    names, *others = ([texts[at] for texts in texts_by_row] for at in range(len(columns)))
    places = [_name_place(columns[0], names, width)]
    for column, texts in zip(columns[1:], others, strict=True):
        longest = max(map(len, texts), default=0)
        heading = _heading(column, longest)
        places.append(_Place(column, heading, texts, max(longest, *map(len, heading))))
    return places


def _name_place(column: Column, names: Sequence[str], width: int) -> _Place:
    """The first column, which leaves room for some others."""
    room_for_others = _BESIDE_NAME * (_HEADING + len(GAP))
    most = max(_LEAST_NAME, width - room_for_others)
    heading = shortened(column.heading, most)
    texts = [shortened_name(name, most) for name in names]
    longest = max([heading, *texts], key=len)
    return _Place(column, [heading], texts, len(longest))


def _heading(column: Column, longest: int) -> list[str]:
    """A name over several lines, and its signs behind or below it.

    A line is as short as three lines for the name allow.
    """
    size = max(_LINE, longest)
    lines = _broken(column.full_name, size)
    while len(lines) > _LINES:
        size += 1
        lines = _broken(column.full_name, size)
    if not column.signs:
        return lines
    if len(lines[-1]) + 1 + len(column.signs) <= max(size, *map(len, lines)):
        lines[-1] += f" {column.signs}"
    else:
        lines.append(column.signs)
    return lines


def _broken(name: str, size: int) -> list[str]:
    """A name in lines of at most so many characters, where its parts allow.

    >>> _broken("gsm8k: exact_match", 12), _broken("prompt_level_strict_acc", 12)
    (['gsm8k:', 'exact_match'], ['prompt_', 'level_', 'strict_acc'])
    """
    if len(name) <= size:
        return [name]
    lines: list[str] = []
    for word in name.split(" "):
        *first_pieces, last_piece = word.split("_")
        # What stands behind "task:" begins a line.
        joint = " " if lines and not lines[-1].endswith(":") else None
        for part in (*(f"{piece}_" for piece in first_pieces), last_piece):
            if joint is not None and len(lines[-1]) + len(joint) + len(part) <= size:
                lines[-1] += joint + part
            else:
                lines.append(part)
            joint = ""
    return lines


def _head_lines(places: Sequence[_Place]) -> Iterator[str]:
    """The headings, which end in the last line of the head."""
    height = max(len(place.heading) for place in places)
    for line in range(height):
        texts = []
        for place in places:
            lines_above = height - len(place.heading)
            texts.append(place.heading[line - lines_above] if line >= lines_above else "")
        yield _line(places, texts)


def _line(places: Sequence[_Place], texts: Sequence[str]) -> str:
    cells = zip(texts, places, strict=True)
    return GAP.join(aligned(text, place.column, place.width) for text, place in cells).rstrip()
