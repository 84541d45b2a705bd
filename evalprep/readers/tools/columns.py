"""A record of another tool as a row, by a table of columns.

A column names a field of a row, the path to its value in the record and how that is read, so that
a format is such a table with a few functions for what is odd.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

from evalprep.readers.tools.row import Row
from evalprep.readers.tools.texts import text_or_none
from evalprep.samples import Damage

_Record = TypeVar("_Record")


class Column(NamedTuple):
    """One column.

    Attributes:
        field: A field of a row, or what one of its methods sets: `targets` and `responses` (lists
            of texts), `target_labels` and `answer_label` (after `choices`, which they may name).
        path: Keys and positions with points between them; empty for the record itself.
        read: Value at the path, None where the record lacks it -> value of the field.
    """

    field: str
    path: str
    read: Callable[[Any], Any] = text_or_none


_SETTERS: Mapping[str, Callable[[Row, Any], None]] = {
    "targets": Row.set_targets,
    "target_labels": Row.set_target_labels,
    "answer_label": Row.set_answer_label,
    "responses": Row.set_responses,
}
#: The hashes of lm-eval, of formats that keep them under lm-eval's names.
HASHES = tuple(
    Column(name, f"metadata.{name}") for name in ("doc_hash", "prompt_hash", "target_hash")
)


class Columns:
    """The columns of a format, in the order in which they are set."""

    def __init__(self, *columns: Column) -> None:
        # Taken apart once: logs have many rows.
        self._steps = [
            (column.field, _SETTERS.get(column.field), _keys_of(column.path), column.read)
            for column in columns
        ]

    def row(self, record: Any) -> Row:
        """Returns the row of a record."""
        row = Row()
        for field, setter, keys, read in self._steps:
            value = record
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else _item_of(value, key)
            if setter is None:
                setattr(row, field, read(value))
            else:
                setter(row, read(value))
        return row


def at(record: Any, path: str) -> Any:
    """Returns the value at a path; None where there is none.

    >>> at({"a": {"b": [{"c": 1}]}}, "a.b.0.c"), at({"a": 1}, "a.b"), at({"a": [1]}, "a.1")
    (1, None, None)
    """
    for key in _keys_of(path):
        record = record.get(key) if isinstance(record, dict) else _item_of(record, key)
    return record


def _item_of(value: Any, key: str) -> Any:
    """The item of a list at a position; None of anything else."""
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return None


@cache
def _keys_of(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def each_row(
    name: str,
    records: Iterable[_Record | Damage],
    row_of: Callable[[_Record], Row],
    task: str = "",
    *,
    numbered: bool = False,
) -> Iterator[Row | Damage]:
    """Yields the row of each record, and what could not be read as it is.

    Args:
        name: Name of the file, for the place of a row in it.
        records: Its records.
        row_of: Returns the row of a record.
        task: The task of rows that name none.
        numbered: A row that states no position has that of its record.
    """
    for number, record in enumerate(records, start=1):
        if isinstance(record, Damage):
            yield record
            continue
        row = row_of(record)
        row.task = row.task or task
        if numbered and row.doc_id is None:
            row.doc_id = number - 1
        row.source = row.source or f"{name}:{number}"
        yield row
