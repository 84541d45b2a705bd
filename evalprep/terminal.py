"""Words and tables for the terminal: one look for every verb, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def plain_table(title: str, *columns: tuple[str, str]) -> Any:
    """An empty table without frame; columns are `(name, "left" or "right")`, numbers never wrap."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold", no_wrap=justify == "right")  # type: ignore[arg-type]
    return table


def fitted(rows: Sequence[Sequence[str]], width: int | None, least: Sequence[int | None]) -> list[str]:
    """Rows as aligned lines that are not wider than a terminal; what does not fit ends in an ellipsis.

    Args:
        rows: Cells; as many in each row.
        width: Characters in a line; None for as many as are wanted.
        least: Per column, the characters that it keeps in any case; None where it gives none away. With them and the
            gaps of two between the columns a line can be wider than `width`.

    >>> fitted([("task_of_a_family", "3 s")], 12, [4, None])
    ['tas…ily  3 s']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    excess = 0 if width is None else sum(widths) + 2 * (len(widths) - 1) - width
    while excess > 0:
        spare = [0 if floor is None else have - floor for have, floor in zip(widths, least, strict=True)]
        place = max(range(len(widths)), key=lambda number: (spare[number] > 0, widths[number]))
        if spare[place] <= 0:
            break
        widths[place] -= 1
        excess -= 1
    return [
        "  ".join(_cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _cut(cell: str, size: int) -> str:
    """A sentence loses its end, a name its middle: names of a family differ at the end."""
    if len(cell) <= size:
        return cell
    head = size - 1 if " " in cell else (size - 1) // 2
    return f"{cell[:head]}…{cell[len(cell) - (size - 1 - head) :]}"


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(0, "row"), counted(2, "id occurs", "ids occur")
    ('1 row', '0 rows', '2 ids occur')
    """
    return f"{count} {one if count == 1 else several or one + 's'}"
