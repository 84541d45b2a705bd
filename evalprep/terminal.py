"""Tables for the terminal: one look for every verb, readable at 80 columns."""

from __future__ import annotations

from typing import Any


def plain_table(title: str, *columns: tuple[str, str]) -> Any:
    """An empty table without frame; columns are `(name, "left" or "right")`, numbers never wrap."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold", no_wrap=justify == "right")  # type: ignore[arg-type]
    return table
