"""Tables as HTML, for pages that bring their own style.

Their classes: the value of a tone (`leads`, `other`, `reference`), `shade0` to `shade9` from the
worst to the best value, `v` for a text that is marked or has details, `aside` for each detail,
`level1` and `level2` for headings between rows, `sortable` for a table whose headings are buttons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from evalprep.tables.model import Cell, Column, Kind, Row, Table, Tone

_SHADES = 9
# A long name may break behind its signs, and not inside its words.
_SIGN = re.compile(r"([/_-])(?=\w)")


def html_table(table: Table, *, name: str = "", style: str = "", sortable: bool = False) -> str:
    """Returns a table as HTML; cells of a column of names are the heads of their rows.

    Args:
        table: The table; one whose columns have no names has no head.
        name: Its id on the page.
        style: Its class.
        sortable: Each heading is a button, and each cell has its raw value in `data-v`, for a
            script of the page that sorts by them.
    """
    heads = "".join(_head(column, sortable=sortable) for column in table.columns)
    head = f"<thead><tr>{heads}</tr></thead>" if table.has_head else ""
    rows = "".join(_row(row, table, sortable=sortable) for row in table.lines())
    classes = " ".join(filter(None, [style, "sortable" if sortable else ""]))
    attributes = _attributes([("class", classes), ("id", name)])
    return f"<table{attributes}>{head}<tbody>{rows}</tbody></table>"


def html_part(heading: Iterable[str], tables: Iterable[Table], notes: Iterable[str]) -> str:
    """Returns tables with their titles between two lists of sentences, for a notebook."""
    parts = [f"<p>{escape(sentence)}</p>" for sentence in heading]
    parts += [f"<p><b>{escape(table.title)}</b></p>{html_table(table)}" for table in tables]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in notes]
    return "\n".join(parts)


def _attributes(pairs: Iterable[tuple[str, str]]) -> str:
    """Attributes of a tag; those without a value are left out."""
    written = [f' {name}="{escape(value, quote=True)}"' for name, value in pairs if value]
    return "".join(written)


def _breakable(text: str) -> str:
    return _SIGN.sub(r"\1<wbr>", escape(text))


def _head(column: Column, *, sortable: bool) -> str:
    text = _breakable(column.full_name)
    if column.signs:
        text += f" <span>{escape(column.signs)}</span>"
    pairs = [("scope", "col"), ("title", column.note)]
    if sortable:
        text = f'<button type="button">{text}</button>'
        pairs.append(("aria-sort", "none"))
    return f"<th{_attributes(pairs)}>{text}</th>"


def _row(row: Row, table: Table, *, sortable: bool) -> str:
    if row.level:
        return _heading(row, table)
    places = zip(row.cells, table.columns, strict=False)
    cells = "".join(_cell(cell, column, sortable=sortable) for cell, column in places)
    return f"<tr{_attributes([('class', row.tone.value)])}>{cells}</tr>"


def _heading(row: Row, table: Table) -> str:
    text = escape(row.cells[0].shown(table.columns[0]))
    head = f'<th scope="rowgroup" colspan="{len(table.columns)}">{text}</th>'
    return f'<tr class="level{row.level}">{head}</tr>'


def _cell(cell: Cell, column: Column, *, sortable: bool) -> str:
    pairs = [("class", _classes(cell))]
    if column.kind is Kind.NAME:
        pairs += [("scope", "row"), ("title", cell.note)]
        return f"<th{_attributes(pairs)}>{_content(cell, column)}</th>"
    # Also without a value: the script of the page looks for the attribute in every cell.
    value = f' data-v="{_raw(cell)}"' if sortable else ""
    title = _attributes([("title", cell.note)])
    return f"<td{_attributes(pairs)}{value}{title}>{_content(cell, column)}</td>"


def _raw(cell: Cell) -> str:
    return "" if cell.value is None else escape(str(cell.value), quote=True)


def _classes(cell: Cell) -> str:
    names = [cell.tone.value]
    if cell.shade is not None:
        within = min(max(cell.shade, 0.0), 1.0)
        names.append(f"shade{round(within * _SHADES)}")
    return " ".join(filter(None, names))


def _content(cell: Cell, column: Column) -> str:
    """The text with its mark and details; a line break of a text is one on the page."""
    write = _breakable if column.kind is Kind.NAME else escape
    text = "<br>".join(map(write, cell.shown(column).split("\n")))
    if cell.mark or cell.detail or cell.tone is Tone.LEADING:
        text = f'<span class="v">{text}</span>{escape(cell.mark)}'
    details = [f' <span class="aside">{escape(line)}</span>' for line in cell.detail.splitlines()]
    return text + "".join(details)
