"""Tables as sheets of a workbook (xlsx): raw values, and never a formula or a link."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evalprep.files import write_atomically
from evalprep.tables.model import Cell, Row, Table, Tone

_CELL_LIMIT = 32_767  # characters that a cell may hold
_ROW_LIMIT = 1_048_576  # rows that a sheet may hold
_NAME_LIMIT = 31
_COMMENT_LIMIT = 1000
_FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_RESERVED = frozenset({"history"})  # a name that Excel keeps for itself
_HEAD_FORMAT = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}
_FORMATS: dict[Tone, dict[str, Any]] = {
    Tone.LEADING: {"bold": True},
    Tone.EXCLUDED: {"font_color": "#808080", "italic": True},
}


class Workbook:
    """A workbook that is written while tables are added, and replaces the file when it is complete.

    Args:
        path: The file.
        streamed: Rows leave memory as they are written; then comments and charts go to sheets that
            are finished one after the other.
    """

    def __init__(self, path: Path, *, streamed: bool = True) -> None:
        self._path = path
        self._streamed = streamed
        self._names: set[str] = set()
        self.book: Any = None

    def __enter__(self) -> Self:
        import xlsxwriter

        # In memory: xlsxwriter hides the errors of a full disk behind one of its own.
        self._content = io.BytesIO()
        self.book = xlsxwriter.Workbook(self._content, {"constant_memory": self._streamed})
        self._head = self.book.add_format(_HEAD_FORMAT)
        self._styles: dict[tuple[Tone, int | None], Any] = {}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.book.close()
        if error is None:
            write_atomically(self._path, self._content.getvalue())

    def add(self, table: Table) -> Any:
        """Writes a table; one with more rows than a sheet holds goes on in further sheets.

        Returns:
            The last sheet, of xlsxwriter.
        """
        sheet = self._new_sheet(table)
        digits = [column.digits for column in table.columns]
        head = len(table.head)
        number = head - 1
        for row in table.lines():
            number += 1
            if number == _ROW_LIMIT:
                sheet = self._new_sheet(table)
                number = head
            self._write_row(sheet, number, row, digits)
        for note in table.notes:
            number += 1
            self._write_row(sheet, number, Row((Cell(note.text),)), digits)
        return sheet

    def _new_sheet(self, table: Table) -> Any:
        sheet = self.book.add_worksheet(sheet_name(table.title, self._names))
        for number, column in enumerate(table.columns):
            sheet.set_column(number, number, column.width)
        # Line by line: a streamed sheet does not go back.
        for line, names in enumerate(table.head):
            for place, (name, column) in enumerate(zip(names, table.columns, strict=True)):
                is_last = line == len(table.head) - 1
                text = " ".join(filter(None, [name, column.arrow if is_last else ""]))
                _write_cell(sheet, line, place, Cell(text), self._head)
        sheet.freeze_panes(len(table.head), 1)
        return sheet

    def _write_row(self, sheet: Any, number: int, row: Row, digits: Sequence[int | None]) -> None:
        for place, (cell, decimals) in enumerate(zip(row.cells, digits, strict=False)):
            tone = Tone.LEADING if row.level else cell.tone
            is_number = isinstance(cell.value, float)
            style = self._style(tone, decimals if is_number else None)
            _write_cell(sheet, number, place, cell, style)

    def _style(self, tone: Tone, digits: int | None) -> Any:
        """The format of a tone and a number of decimals; None for plain cells."""
        key = (tone, digits)
        if key not in self._styles:
            look = dict(_FORMATS.get(tone, {}))
            if digits is not None:
                look["num_format"] = f"{0:.{digits}f}"
            self._styles[key] = self.book.add_format(look) if look else None
        return self._styles[key]


def _write_cell(sheet: Any, row: int, column: int, cell: Cell, style: Any) -> None:
    """Writes a number as a number and a text as a text.

    Xlsxwriter's own `write` guesses formulas.
    """
    if isinstance(cell.value, str):
        text = cell.value.encode("utf-8", "replace").decode("utf-8")
        if len(text) > _CELL_LIMIT:
            text = text[: _CELL_LIMIT - 2] + " …"
        sheet.write_string(row, column, text, style)
    elif cell.value is not None:
        sheet.write_number(row, column, cell.value, style)
    if cell.note:
        sheet.write_comment(row, column, cell.note[:_COMMENT_LIMIT])


def sheet_name(name: str, used: set[str]) -> str:
    r"""Returns a name that spreadsheets accept.

    It has at most 31 characters, none of []:*?/\, and is not used yet.

    Args:
        name: The name wanted.
        used: Names in lower case; gets the new one.
    """
    plain = _FORBIDDEN.sub("_", name).strip("'") or "task"
    candidate = plain[:_NAME_LIMIT]
    number = 2
    while candidate.lower() in used | _RESERVED:
        suffix = f" ({number})"
        candidate = plain[: _NAME_LIMIT - len(suffix)] + suffix
        number += 1
    used.add(candidate.lower())
    return candidate
