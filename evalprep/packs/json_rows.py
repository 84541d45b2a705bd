"""JSON rows as `datasets` reads them: by the reader of pyarrow, which dies at some."""

from __future__ import annotations

import codecs
import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow.json

from evalprep.files import TOO_DEEP, is_deep

if TYPE_CHECKING:
    import pyarrow as pa

_read = pyarrow.json.read_json


def json_table(content: bytes) -> pa.Table:
    """Returns the rows of a list of objects, or of one object per line.

    Raises:
        ValueError: neither of these, or a row that is nested too deeply.
    """
    rows = content.removeprefix(codecs.BOM_UTF8).strip()
    _check(rows)
    if rows[:1] == b"[":
        return pyarrow.Table.from_pylist(json.loads(rows))
    return _read(BytesIO(rows)) if rows else pyarrow.table({})


def guard_reader() -> None:
    """Lets the reader of pyarrow refuse rows at which it ends the process (pyarrow 26)."""
    pyarrow.json.read_json = _read_checked


def _read_checked(source: Any, **options: Any) -> pa.Table:
    # `datasets` gives the bytes of some rows; a file by its name is none of its own.
    if isinstance(source, BytesIO):
        _check(source.getvalue())
    return _read(source, **options)


def _check(rows: bytes) -> None:
    if rows.lstrip()[:1] not in {b"[", b"{", b""}:
        raise ValueError("the file holds neither a list of objects nor an object in each line")
    if any(map(is_deep, rows.splitlines())):
        raise ValueError(TOO_DEEP)
