"""Tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalprep.tables.model import Cell, Column, Kind, Row, Table, Tone

# An underscore inside a word is no markup, and task names are full of them.
_SPECIAL = re.compile(r"([\\`*{}\[\]<>#|~]|(?<!\w)_|_(?!\w))")
_RULES = {False: " --- ", True: " ---: "}


def escape(text: str) -> str:
    r"""Returns text that Markdown shows as it is, on one line.

    >>> escape("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown_lines(table: Table, *, heading: str = "##") -> Iterator[str]:
    """Yields the lines of a table: heading, table, notes.

    Args:
        table: The table; without a title it gets no heading.
        heading: The marks before the title.
    """
    if table.title:
        yield f"{heading} {escape(table.title)}"
        yield ""
    yield f"| {' | '.join(map(_heading, table.columns))} |"
    yield f"|{'|'.join(_RULES[column.right] for column in table.columns)}|"
    for row in table.lines():
        yield _row(row, table)
    yield ""
    yield from (f"- {escape(note.text)}" for note in table.notes)
    if table.notes:
        yield ""


def _row(row: Row, table: Table) -> str:
    if row.level:
        cells = [f"**{escape(row.cells[0].shown(table.columns[0]))}**"]
    else:
        places = zip(row.cells, table.columns, strict=False)
        cells = [_cell(cell, column) for cell, column in places]
    cells += [""] * (len(table.columns) - len(cells))
    return f"| {' | '.join(cells)} |"


def _heading(column: Column) -> str:
    return " ".join(filter(None, [escape(column.full_name), column.signs]))


def _cell(cell: Cell, column: Column) -> str:
    text = cell.marked(column)
    if column.kind is not Kind.MARKDOWN:
        text = escape(text)
    if cell.tone is Tone.LEADING:
        text = f"**{text}**"
    # Intervals come in brackets, which are no link where nothing follows them.
    return f"{text} {cell.detail}" if cell.detail else text
