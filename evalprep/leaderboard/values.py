"""Values of cells as people read them: shares in percent, everything else in its own unit."""

from __future__ import annotations

from evalprep.leaderboard.columns import Column
from evalprep.numbers import number, percent
from evalprep.samples import SHARE


def value_text(value: float | None, column: Column) -> str:
    """A share in percent with one decimal, without its unit; every other value as it is."""
    return percent(value) if column.unit == SHARE else number(value)


def scaled(value: float, column: Column) -> float:
    """The value on the scale in which it is drawn: percent for a share."""
    return 100.0 * value if column.unit == SHARE else value


def heading_of(column: Column) -> str:
    """The name with its unit and its arrow."""
    unit = "%" if column.unit == SHARE else ""
    return " ".join(filter(None, [column.name, unit, column.arrow]))
