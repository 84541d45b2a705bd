"""Tables as HTML, for pages that bring their own style."""

from __future__ import annotations

from html import escape

from evalprep.tables.model import Cell, Column, Kind, Row, Table


def html_table(table: Table) -> str:
    """Returns a table as HTML; cells of a column of names are the heads of their rows."""
    heads = "".join(_head(column) for column in table.columns)
    rows = "".join(_row(row, table) for row in table.lines())
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _head(column: Column) -> str:
    return f'<th scope="col">{escape(column.name)}</th>'


def _row(row: Row, table: Table) -> str:
    cells = zip(row.cells, table.columns, strict=False)
    return f"<tr>{''.join(_cell(cell, column) for cell, column in cells)}</tr>"


def _cell(cell: Cell, column: Column) -> str:
    """A cell; a line break of its text is one on the page."""
    text = "<br>".join(escape(line) for line in cell.shown(column).split("\n"))
    if column.kind is Kind.NAME:
        return f'<th scope="row">{text}</th>'
    return f"<td>{text}</td>"
