"""Rows of the data set behind rows of a table, read without the rest of their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalprep.samples.sample import UNKNOWN
from evalprep.samples.sources import docs_at
from evalprep.samples.table import Table

_AT_ONCE = 4096  # rows that are looked up


def docs_of(table: Table, rows: Sequence[int]) -> Iterator[Mapping[str, Any]]:
    """Yields the row of the data set of some rows of a table, in the order asked for."""
    for start in range(0, len(rows), _AT_ONCE):
        some = list(rows[start : start + _AT_ONCE])
        places = zip(table.offset[some].tolist(), table.length[some].tolist(), strict=True)
        yield from docs_at(table.source, [*places])


def codes_of_field(table: Table, name: str) -> tuple[list[str], NDArray[np.int64]]:
    """Returns the values of a field as texts, in order of appearance, and the code of each row.

    The code of a row without a value is `UNKNOWN`.
    """
    code_of: dict[str, int] = {}
    codes = []
    for doc in docs_of(table, range(len(table))):
        value = doc.get(name)
        codes.append(UNKNOWN if value is None else code_of.setdefault(str(value), len(code_of)))
    return list(code_of), np.array(codes, dtype=np.int64)
