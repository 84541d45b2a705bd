"""Arrow record batches: rows in columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from evalprep.data.arrays import column_array

if TYPE_CHECKING:
    import pyarrow as pa

Columnar = TypeVar("Columnar", bound="pa.RecordBatch | pa.Table")


def is_batch(item: object) -> TypeGuard[pa.RecordBatch]:
    """Returns whether rows are given in columns."""
    import pyarrow as pa

    return isinstance(item, pa.RecordBatch)


def is_text(kind: pa.DataType) -> bool:
    """Returns whether the values of a type are texts, dictionary-encoded ones included."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def with_columns(rows: Columnar, columns: Mapping[str, pa.Array]) -> Columnar:
    """Returns a batch or table with further columns; a column that it has keeps its place."""
    whole = dict(zip(rows.schema.names, rows.columns, strict=True)) | dict(columns)
    widened: Columnar = type(rows).from_arrays(list(whole.values()), names=list(whole))
    return widened


def without_views(table: pa.Table) -> pa.Table:
    """Returns a table with plain texts in place of views, of which Arrow cannot pick rows."""
    import pyarrow as pa

    views = [pa.types.is_string_view(field.type) for field in table.schema]
    if not any(views):
        return table
    columns = [
        column.cast(pa.large_string()) if is_view else column
        for column, is_view in zip(table.itercolumns(), views, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def regrouped(
    batches: Iterable[pa.RecordBatch], rows: int, *, most_bytes: float = math.inf
) -> Iterator[pa.Table]:
    """Yields the rows of batches in tables of so many rows, the last of fewer.

    A table also ends where the columns change, and once it has so many bytes.
    """
    for _, alike in groupby(batches, key=lambda batch: batch.schema):
        import pyarrow as pa

        parts: list[pa.RecordBatch] = []
        count, size = 0, 0
        for batch in alike:
            start = 0
            while start < batch.num_rows:
                parts.append(batch.slice(start, rows - count))
                start += parts[-1].num_rows
                count += parts[-1].num_rows
                size += parts[-1].nbytes if most_bytes < math.inf else 0
                if count == rows or size >= most_bytes:
                    yield pa.Table.from_batches(parts)
                    parts, count, size = [], 0, 0
        if parts:
            yield pa.Table.from_batches(parts)


def batches_of(
    rows: Iterable[Mapping[str, Any]], size: int, *, of: str
) -> Iterator[pa.RecordBatch]:
    """Yields rows in columns, so many in a batch.

    Args:
        rows: The rows, streamed; a column that one of a batch lacks is null there.
        size: Rows of a batch.
        of: What the rows are, for messages.

    Raises:
        BadInput: a value that Arrow cannot hold, or values of one column of different types.
    """
    import pyarrow as pa

    stream, first = iter(rows), 0
    while part := list(islice(stream, size)):
        names = dict.fromkeys(chain.from_iterable(part))
        place = partial(_place, first)
        arrays = [
            column_array(name, [row.get(name) for row in part], of=of, place=place)
            for name in names
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(names))
        first += len(part)


def _place(first: int, number: int) -> str:
    return f"row {first + number}"
