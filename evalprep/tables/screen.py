"""Tables on a terminal of 80 columns, with titles and colours; names stay whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evalprep.tables.model import Cell, Column, Note, Row, Table, Tone
from evalprep.terminal import shortlist

_STYLES = {
    Tone.GOOD: "green",
    Tone.BAD: "red",
    Tone.DOUBTFUL: "yellow",
    Tone.QUIET: "dim",
    Tone.LEADING: "bold",
    Tone.EXCLUDED: "dim",
}
_UNLIMITED = 10_000  # columns: wider than any table
_NAMED = 4  # tasks that a remark names one by one
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def print_table(console: Any, table: Table) -> None:
    """Prints a table with its notes; in one too wide each name stands on a line above its numbers.

    A name that is folded letter by letter cannot be found again, and names of a family differ at
    their ends.

    Args:
        console: From `evalprep.terminal.console`.
        table: The table.
    """
    from rich.measure import Measurement

    rows = list(table.lines())
    drawn = _rich_table(table, rows)
    width = Measurement.get(console, console.options.update(width=_UNLIMITED), drawn).maximum
    if width <= console.width:
        console.print(drawn)
    else:
        _print_stacked(console, table, rows)
    print_notes(console, table.notes)


def print_notes(console: Any, notes: Iterable[Note]) -> None:
    """Prints notes, a line each."""
    from rich.text import Text

    for note in notes:
        console.print(Text(note.text, style=_STYLES.get(note.tone, "")))


def folded(remarks: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yields remarks about tasks as lines.

    Of many that differ in numbers alone, those beyond the first are named.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for task, text in remarks:
        without_numbers = _NUMBER.sub("", text)
        alike.setdefault(without_numbers, []).append((task, text))
    for same in alike.values():
        shown_count = 1 if len(same) > _NAMED else len(same)
        for task, text in same[:shown_count]:
            yield f"{task}: {text}"
        others = [task for task, _ in same[shown_count:]]
        if others:
            yield f"  the same for {shortlist(others, _NAMED - 1)} (--json lists each)"


def folded_notes(notes: Iterable[str]) -> Iterator[str]:
    """Yields notes, those about tasks folded: they begin with the names of these."""
    remarks = []
    for note in notes:
        head, _, text = note.partition(": ")
        if text:
            remarks.append((head, text))
        else:
            yield note
    yield from folded(remarks)


def _text(cell: Cell, column: Column) -> Any:
    """The cell as a text of rich: brackets in a task's name are no markup there."""
    from rich.text import Text

    shown = " ".join(filter(None, [cell.marked(column), cell.detail]))
    return Text(shown, style=_STYLES.get(cell.tone, ""))


def _rich_table(table: Table, rows: Sequence[Row]) -> Any:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(
        title=Text(table.title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in table.columns:
        drawn.add_column(
            Text(column.heading),
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=column.right,
        )
    for row in rows:
        cells = zip(row.cells, table.columns, strict=False)
        style = "bold" if row.level else _STYLES.get(row.tone, "")
        drawn.add_row(*(_text(cell, column) for cell, column in cells), style=style)
    return drawn


def _print_stacked(console: Any, table: Table, rows: Sequence[Row]) -> None:
    """Prints a row as two lines: the name, and its numbers below the other headings."""
    from rich.text import Text

    name_column, *columns = table.columns
    body = [_texts_beside_name(row, columns) for row in rows]
    headings = [Text(column.heading) for column in columns]
    widths = [max(text.cell_len for text in place) for place in zip(headings, *body, strict=True)]
    fits = sum(widths) + 2 * len(widths) <= console.width
    gap = " " * (2 if fits else 1)
    rule = min(console.width, sum(widths) + len(gap) * len(widths)) - 1

    console.print(Text(table.title, style="bold"), end="\n\n")
    console.print(Text(f" {name_column.heading}"))
    console.print(_joined(headings, columns, widths, gap))
    console.print(Text(" " + "─" * rule))
    for row, texts in zip(rows, body, strict=True):
        console.print(Text.assemble(" ", _text(row.cells[0], name_column)))
        if row.level:
            continue
        console.print(_joined(texts, columns, widths, gap))
    console.print()


def _texts_beside_name(row: Row, columns: Sequence[Column]) -> list[Any]:
    """The texts of a row but for its name, as many as there are columns."""
    from rich.text import Text

    texts = [_text(cell, column) for cell, column in zip(row.cells[1:], columns, strict=False)]
    return texts + [Text("")] * (len(columns) - len(texts))


def _joined(
    texts: Sequence[Any], columns: Sequence[Column], widths: Sequence[int], gap: str
) -> Any:
    """One line of cells, each as wide as its column."""
    from rich.text import Text

    line = Text()
    for text, column, width in zip(texts, columns, widths, strict=True):
        space = " " * (width - text.cell_len)
        parts = (gap, space, text) if column.right else (gap, text, space)
        line.append_text(Text.assemble(*parts))
    line.rstrip()
    return line
