"""Words and tables for the terminal: one look for every verb, readable at 80 columns, and no control but our own.

Data sets and models write anything, also the characters on which a terminal acts: it would clear the screen, show a
right answer where a wrong one stands, or fill the clipboard. What verbs print goes through `guarded`, tables and bars
through `console`.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any

# Control characters but for newline and tab, and those that change the direction or the lines of a text.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""A text with every character that a terminal acts on written out, as JSON writes it.

    >>> visible("\x1b[2Jdone")
    '\\u001b[2Jdone'
    """
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Guarded:
    """A text stream that writes `visible` texts; everything else is the stream's own."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text made visible."""
        return self.stream.write(visible(text))

    def writelines(self, lines: Sequence[str]) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and standard error for as long as a verb runs."""
    out, errors = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Guarded(raw(out)), Guarded(raw(errors))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, errors


def raw(stream: Any) -> Any:
    """The stream below, for our own control characters: a bar that is drawn again, a screen that is cleared."""
    return stream.stream if isinstance(stream, Guarded) else stream


def console(file: Any = None, **options: Any) -> Any:
    """A console of rich whose own colours and movements reach the terminal, and whose texts are made visible."""
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        def render(self, renderable: Any, options: Any = None) -> Any:
            for one in super().render(renderable, options):
                yield one if one.control else Segment(visible(one.text), one.style)

    return Screen(file=raw(file or sys.stdout), **options)


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
