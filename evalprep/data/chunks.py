"""The rows of a task in chunks: mappings or Arrow record batches, looked at by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from evalprep.data.arrays import flat_type
from evalprep.data.batches import is_batch, regrouped
from evalprep.errors import BadInput, Problem

if TYPE_CHECKING:
    import pyarrow as pa

Columns = dict[str, Sequence[Any]]
"""The values of each column: Python values, or an Arrow array of values that hold no others."""


@dataclass(frozen=True)
class Chunk:
    """Some rows.

    Attributes:
        rows: A list, of mappings unless the pack has a mistake; or a table.
        columns: Their values by column, where all have the same ones in one order. Most rows do,
            and what is asked of all values of a column is answered several times faster.
    """

    rows: Any
    columns: Columns | None

    def as_mappings(self) -> Sequence[Any]:
        """The rows of a table as mappings, or the list."""
        return python_values(self.rows)

    def values(self, name: str) -> Sequence[Any]:
        """The values of a column; None for rows that lack it."""
        if self.columns is not None:
            return self.columns.get(name, [None] * len(self.rows))
        return [row.get(name) for row in self.rows]

    def names(self) -> Iterable[str]:
        """The columns of the rows, each at least once."""
        return chain.from_iterable(self.rows) if self.columns is None else self.columns


def python_values(values: Any) -> Sequence[Any]:
    """Returns Python values of an Arrow array or table; others as they are."""
    listed: Sequence[Any] = values.to_pylist() if hasattr(values, "to_pylist") else values
    return listed


def row_count(item: Any) -> int:
    """Returns how many rows a mapping or a record batch is."""
    return len(item) if is_batch(item) else 1


def chunks(items: Iterable[Any], size: int, task: str) -> Iterator[Chunk]:
    """Yields mappings or record batches as chunks of so many rows.

    Raises:
        BadInput: another thing follows a record batch, or one has two columns of one name.
    """
    stream = iter(items)
    first = next(stream, None)
    stream = chain([first], stream) if first is not None else stream
    if is_batch(first):
        for table in regrouped(_checked(stream, task), size):
            columns = zip(table.column_names, map(_values, table.itercolumns()), strict=True)
            yield Chunk(table, dict(columns))
    else:
        while rows := list(islice(stream, size)):
            yield Chunk(rows, _columns(rows))


def no_row(item: object, name: str, task: str) -> BadInput:
    """Returns the error for what is given as a row and is none."""
    allowed = "a mapping of columns to values, or Arrow record batches alone"
    return BadInput(Problem(what=f"{name} is {type(item).__name__}", where=task, allowed=allowed))


def _checked(batches: Iterable[Any], task: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if not is_batch(batch):
            raise no_row(batch, f"what follows a record batch of {task}", task)
        names = batch.schema.names
        if len(set(names)) < len(names):
            several = next(name for name in names if names.count(name) > 1)
            what = f"a record batch of {task} has several columns {several!r}"
            raise BadInput(Problem(what=what, where=task, fix="rename or drop the others"))
        yield batch


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """The values of a column, as the array that would be made of them one by one."""
    import pyarrow as pa

    kind = flat_type(column.type)
    if kind is None:
        return python_values(column)
    array = (column if column.type == kind else column.cast(kind)).combine_chunks()
    values: Sequence[Any] = pa.nulls(len(array)) if array.null_count == len(array) else array
    return values


def _columns(rows: Sequence[Any]) -> Columns | None:
    """The values of each column, where all rows are mappings of the same keys in one order."""
    if set(map(type, rows)) != {dict}:
        return None
    names = list(rows[0])
    if not names or not all(list(row) == names for row in rows):
        return None
    return dict(zip(names, zip(*map(dict.values, rows), strict=True), strict=True))
