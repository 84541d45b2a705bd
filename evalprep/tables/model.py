"""The table that every medium renders: columns with a kind, rows of cells, notes below.

A row can be a heading over the rows that follow it. A table whose columns have no names is a list.

A cell holds a raw value. Media for programs (CSV, xlsx) write that value; media for people
(terminal, Markdown, HTML) write its text, which the column's kind makes from it unless the cell
brings its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from evalprep.numbers import number, percent, probability

Value = str | float | int | None


def _signed_points(value: float) -> str:
    return percent(value, sign=True)


class Kind(Enum):
    """The kind of a column's values: it decides the text of a number and the alignment."""

    NAME = (
        "name"  # identifies the row; no medium cuts or folds it where another column can give way
    )
    TEXT = "text"
    MARKDOWN = "markdown"  # text with Markdown's marks, which other media show as they are
    COUNT = "count"
    NUMBER = "number"  # four decimals for shares, else four significant digits
    PERCENT = "percent"  # a share, written as percent with one decimal
    POINTS = "points"  # a difference of shares, written with its sign
    PROBABILITY = "probability"
    MEASURE = "measure"  # text made of numbers, as an interval or "3 of 20": aligned like a number


_LEFT = frozenset({Kind.NAME, Kind.TEXT, Kind.MARKDOWN})
_FORMATS: dict[Kind, Callable[[float], str]] = {
    Kind.COUNT: "{:g}".format,
    Kind.NUMBER: number,
    Kind.PERCENT: percent,
    Kind.POINTS: _signed_points,
    Kind.PROBABILITY: probability,
}
#: The mark of a leading value where a medium has no bold figures.
LEADS = "*"
#: A value that is not known: a number is shown as `-`, a text as nothing.
UNKNOWN_NUMBER = "-"


class Tone(Enum):
    """The meaning of a cell or a note for its reader; each medium has its own look for it."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    DOUBTFUL = "doubtful"
    QUIET = "quiet"
    LEADING = "leads"
    EXCLUDED = "other"
    REFERENCE = "reference"  # what the others are held against


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        name: Its heading.
        kind: The kind of its values.
        arrow: Signs behind the heading: which direction is better.
        width: Characters of its cells in a spreadsheet.
        least: Characters that its cells keep on a terminal where they are cut for a line to fit;
            None for cells that are not cut.
        wraps: Its cells are sentences, which go on in further lines where a terminal is narrow.
        note: The explanation that HTML shows while the pointer is over the heading.
        over: A heading above the name, as that of the task whose metrics are columns. CSV and
            spreadsheets have a line of them, other media write it before the name.
        digits: Decimals that a spreadsheet shows of its numbers; None for as many as they have.
        unit: The unit of its texts, behind the heading; media that write raw values leave it out.
        cell: What it shows of an item, for `table_of`.
        optional: It is left out of a table in which none of its cells has a value.
    """

    name: str
    kind: Kind = Kind.TEXT
    arrow: str = ""
    width: int = 16
    least: int | None = None
    wraps: bool = False
    note: str = ""
    over: str = ""
    digits: int | None = None
    unit: str = ""
    cell: Callable[[Any], Entry] | None = None
    optional: bool = False

    @property
    def full_name(self) -> str:
        """The name behind the heading above it."""
        return " ".join(filter(None, [self.over, self.name]))

    @property
    def signs(self) -> str:
        """The unit and the arrow."""
        return " ".join(filter(None, [self.unit, self.arrow]))

    @property
    def heading(self) -> str:
        """The full name with its signs."""
        return " ".join(filter(None, [self.full_name, self.signs]))

    @property
    def right(self) -> bool:
        """True where cells are aligned to the right."""
        return self.kind not in _LEFT

    def text_of(self, value: Value) -> str:
        """The text of a raw value in this column.

        >>> [Column("n", Kind.COUNT).text_of(value) for value in (12345, None, "3 of 4")]
        ['12345', '-', '3 of 4']
        """
        if isinstance(value, str):
            return value
        if value is None:
            return UNKNOWN_NUMBER if self.kind in _FORMATS else ""
        if self.kind is Kind.COUNT and isinstance(value, int):
            return str(value)
        return _FORMATS.get(self.kind, str)(value)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell that is more than its value.

    Args:
        value: What a program reads: raw, never scaled or rounded.
        text: What a person reads; None for the text that the column's kind makes.
        detail: A second text, quieter, behind or below the first (an interval, a deviation).
        tone: What it means.
        note: The explanation that a spreadsheet shows as a comment, and HTML while the pointer is
            over the cell.
        mark: A sign right behind the text, as for a footnote.
        shade: Where the value stands between the worst (0) and the best (1); HTML colours the cell
            by it.
    """

    value: Value = None
    text: str | None = None
    detail: str = ""
    tone: Tone = Tone.PLAIN
    note: str = ""
    mark: str = ""
    shade: float | None = None

    def shown(self, column: Column) -> str:
        """The text for people, without mark and detail."""
        return column.text_of(self.value) if self.text is None else self.text

    def marked(self, column: Column, room: int = 0) -> str:
        """The text for people with its mark.

        >>> Cell(0.5, mark="*").marked(Column("score", Kind.NUMBER))
        '0.5000*'

        Args:
            column: The cell's column.
            room: Characters that every mark of the column has.
        """
        return self.shown(column) + self.mark.ljust(room)


Entry = Cell | Value


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Args:
        cells: A cell per column, or fewer.
        tone: What the row means.
        level: 0 for a row of values; else the row is a heading of this level over the rows that
            follow, and its only cell spans all columns.
    """

    cells: tuple[Cell, ...]
    tone: Tone = Tone.PLAIN
    level: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence below a table."""

    text: str
    tone: Tone = Tone.QUIET


@dataclass(frozen=True)
class Table:
    """A table.

    Args:
        title: Its heading; names the unit where all cells share one.
        columns: The first one names the row.
        rows: Rows, or sequences of values and cells; an iterator for a table that is too large to
            hold, which CSV and xlsx then read once.
        notes: Sentences below it.
    """

    title: str
    columns: Sequence[Column]
    rows: Iterable[Row | Sequence[Entry]] = field(default_factory=list)
    notes: Sequence[Note] = ()

    def add(self, *entries: Entry, tone: Tone = Tone.PLAIN) -> None:
        """Appends a row to a table whose rows are a list."""
        self._append(Row(tuple(map(as_cell, entries)), tone))

    def add_heading(self, text: str, level: int = 1) -> None:
        """Appends a heading over the rows that follow.

        Args:
            text: The heading.
            level: 1 for a section, 2 for a part of a section.
        """
        self._append(Row((Cell(text),), level=level))

    def _append(self, row: Row) -> None:
        if not isinstance(self.rows, list):
            raise TypeError(f"the rows of {self.title!r} are not a list")
        self.rows.append(row)

    def lines(self) -> Iterator[Row]:
        """The rows, every entry as a cell."""
        for row in self.rows:
            yield row if isinstance(row, Row) else Row(tuple(map(as_cell, row)))

    def _repr_html_(self) -> str:
        """The table with its notes, as a notebook shows it."""
        from evalprep.tables.html import html_part

        return html_part([], [self], [note.text for note in self.notes])

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def head(self) -> list[list[str]]:
        """The lines of headings: the names, below the headings that they share."""
        over = [column.over for column in self.columns]
        return [over, self.names] if any(over) else [self.names]

    @property
    def has_head(self) -> bool:
        """False for a list, whose columns have no names."""
        return any(column.full_name for column in self.columns)


def table_of(
    title: str,
    columns: Sequence[Column],
    items: Sequence[Any],
    notes: Sequence[Note] = (),
    *,
    tone: Callable[[Any], Tone] = lambda _: Tone.PLAIN,
) -> Table:
    """Returns a table with a row for each item, by what its columns show of it.

    Args:
        title: Its heading.
        columns: Each with a `cell`; an optional one is left out where no item has a value in it.
        items: What the rows are about.
        notes: Sentences below it.
        tone: What the row of an item means.
    """
    shown = [(column, column.cell) for column in columns if column.cell is not None]
    rows = [[as_cell(cell(item)) for _, cell in shown] for item in items]
    kept = [
        place
        for place, (column, _) in enumerate(shown)
        if not column.optional or any(row[place].value not in {None, ""} for row in rows)
    ]
    return Table(
        title,
        [shown[place][0] for place in kept],
        [
            Row(tuple(row[place] for place in kept), tone(item))
            for item, row in zip(items, rows, strict=True)
        ],
        notes,
    )


def streamed(title: str, columns: Sequence[Column], items: Iterable[Any]) -> Table:
    """Returns a table that is read once, and whose rows are made as they are read.

    Args:
        title: Its heading.
        columns: Each with a `cell`; none is left out.
        items: What the rows are about.
    """
    cells = [column.cell for column in columns if column.cell is not None]
    return Table(title, columns, ([cell(item) for cell in cells] for item in items))


def as_cell(entry: Entry) -> Cell:
    """Returns an entry as a cell."""
    return entry if isinstance(entry, Cell) else Cell(entry)
