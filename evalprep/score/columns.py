"""The columns that every table of quantities has, as raw values."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from evalprep.numbers import finite_number
from evalprep.score.quantity import Quantity
from evalprep.tables import Column, Entry


def _finite(name: str) -> Callable[[Quantity], Entry]:
    return lambda item: finite_number(getattr(item, name))


#: Where a value is from, its rows, the value with its uncertainty, and what there is to know of it.
QUANTITY_VALUES = (
    Column("source", cell=attrgetter("source")),
    Column("n", cell=attrgetter("n")),
    Column("expected", cell=attrgetter("expected")),
    Column("value", cell=_finite("value")),
    Column("low", cell=_finite("low")),
    Column("high", cell=_finite("high")),
    Column("stderr", cell=_finite("stderr")),
    Column("notes", cell=lambda item: "; ".join([*filter(None, [item.reason]), *item.notes])),
)
