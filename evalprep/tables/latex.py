r"""Tables as LaTeX for papers: a `tabular` with the rules of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalprep.tables.model import Cell, Column, Kind, Row, Table, Tone

_SPECIAL = re.compile(r"[\\{}$&#%_^~<>|\"]")
_WORDS = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
#: Signs of evalprep's tables that LaTeX's usual fonts lack.
_SIGNS = {
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\rightarrow$",
    "Δ": r"$\Delta$",
    "\N{MINUS SIGN}": "$-$",
    "·": r"$\cdot$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "…": r"\dots{}",
}
_NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")


def escape_latex(text: str) -> str:
    r"""Returns text that LaTeX prints as it is, on one line.

    >>> escape_latex("a_b & 50 %")
    'a\\_b \\& 50 \\%'
    """
    one_line = " ".join(text.split())
    plain = _SPECIAL.sub(lambda found: _WORDS.get(found[0], f"\\{found[0]}"), one_line)
    # A hyphen before a digit is a minus; in text it would be shorter.
    plain = _NEGATIVE.sub("$-$", plain)
    for sign, word in _SIGNS.items():
        plain = plain.replace(sign, word)
    return plain


def latex_lines(table: Table) -> Iterator[str]:
    r"""Yields the lines of a table; `\usepackage{booktabs}` has to be loaded.

    The title and the notes come before it as comments, for the caption. Leading cells are bold,
    details small behind their values.
    """
    if table.title:
        yield f"% {' '.join(table.title.split())}"
    for note in table.notes:
        yield f"% {' '.join(note.text.split())}"
    alignment = "".join("r" if column.right else "l" for column in table.columns)
    yield rf"\begin{{tabular}}{{{alignment}}}"
    yield r"\toprule"
    yield rf"{' & '.join(_heading(column) for column in table.columns)} \\"
    yield r"\midrule"
    for row in table.lines():
        yield rf"{_row(row, table)} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _heading(column: Column) -> str:
    return escape_latex(column.heading)


def _row(row: Row, table: Table) -> str:
    if row.level:
        title = escape_latex(row.cells[0].shown(table.columns[0]))
        return rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\emph{{{title}}}}}"
    places = zip(row.cells, table.columns, strict=False)
    return " & ".join(_cell(cell, column) for cell, column in places)


def _cell(cell: Cell, column: Column) -> str:
    text = escape_latex(cell.marked(column))
    if cell.tone is Tone.LEADING:
        text = rf"\textbf{{{text}}}"
    if not cell.detail:
        return text
    if column.kind is Kind.NAME:
        return f"{text} {escape_latex(cell.detail)}"
    return rf"{text} {{\footnotesize {escape_latex(cell.detail)}}}"
