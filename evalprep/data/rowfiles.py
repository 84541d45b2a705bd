"""Rows out of one data file: parquet, JSON Lines, a JSON list of objects, CSV, text.

They are streamed, and errors name their lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

from evalprep.data.compressed import BROKEN, damaged, open_packed, unpacked_name
from evalprep.data.csvrows import CSV_OPTIONS, csv_rows
from evalprep.data.textrows import TEXT_OPTIONS, texts
from evalprep.errors import BadInput, Problem
from evalprep.files import check_regular

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 1_000  # rows held in memory at a time
#: How a parquet file is opened whose rows are read one after another. By default pyarrow keeps all
#: that it read until the end of the file, and reads a column of a row group at once.
STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 18}
JSON_BYTES = 10 << 20  # as `datasets` reads: rows of one part of that size have the same keys
#: What a card may say of how its files are read: of CSV, of texts, and where in a JSON file the
# rows are.
FILE_OPTIONS = CSV_OPTIONS | TEXT_OPTIONS | {"field"}
DATA_SUFFIXES = (
    ".parquet",
    ".parquet.gzip",
    ".jsonl",
    ".jsonlines",
    ".ndjson",
    ".json",
    ".csv",
    ".tsv",
    ".geoparquet",
    ".gpq",
    ".txt",
)


def is_data_file(path: Path) -> bool:
    """Returns whether the name is one of a file that we read.

    `.gz`, `.bz2`, `.xz` or `.zst` at its end included.
    """
    return unpacked_name(path).endswith(DATA_SUFFIXES)


def file_rows(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    read_options: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of any data file, by its name.

    Args:
        path: The file.
        columns: Read only these; None reads all.
        read_options: How it is read, of `FILE_OPTIONS`; the separator is by default what
            its ending says.

    Raises:
        BadInput: the file is damaged; with its line where there is one.
    """
    if is_parquet(path):
        return parquet_rows(path, columns)
    name, stated = unpacked_name(path), read_options or {}
    if name.endswith((".csv", ".tsv")):
        # The separator is the stated one, else that of the ending.
        separator = "\t" if name.endswith(".tsv") else ","
        options = {"sep": separator} | {
            key: value for key, value in stated.items() if key in CSV_OPTIONS
        }
        return (_pick(row, columns) for row in csv_rows(path, options))
    if name.endswith(".txt"):
        text_options = {key: value for key, value in stated.items() if key in TEXT_OPTIONS}
        return ({"text": text} for text in texts(path, **text_options))
    return json_rows(path, columns, field=stated.get("field"))


def file_columns(path: Path, *, read_options: Mapping[str, Any] | None = None) -> list[str]:
    """Column names: of the parquet schema, of the head of CSV, of the first rows of JSON."""
    if unpacked_name(path).endswith(".txt"):
        return ["text"]
    if is_parquet(path):
        return parquet_columns(path)
    rows = file_rows(path, read_options=read_options)
    return list(next(iter(rows), {}))


def is_parquet(path: Path) -> bool:
    """Returns whether the name is one of a parquet file.

    `x.parquet.gzip` is one: the compression is inside.
    """
    return ".parquet" in path.name or path.suffix in {".geoparquet", ".gpq"}


def parquet_columns(path: Path) -> list[str]:
    """Column names of a parquet file, without reading its rows."""
    with open_parquet(path) as file:
        return list(file.schema_arrow.names)


def parquet_count(path: Path) -> int:
    """Returns how many rows a parquet file has, without reading them."""
    with open_parquet(path) as file:
        return int(file.metadata.num_rows)


def open_parquet(path: Path) -> pq.ParquetFile:
    """Opens a parquet file, whose content may still turn out to be damaged.

    Raises:
        BadInput: it is not a regular file, or none of parquet.
    """
    import pyarrow.parquet as pq

    try:
        check_regular(path, own=True)
        return pq.ParquetFile(path, **STREAMED)
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise BadInput(
            Problem(
                what=f"is not a readable parquet file: {error}",
                where=str(path),
                fix="fetch it again",
            )
        ) from None


def parquet_schema(path: Path) -> pa.Schema:
    """Names and types of the columns of a parquet file."""
    with open_parquet(path) as file:
        return file.schema_arrow


def parquet_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Rows of a parquet file, a batch in memory at a time.

    Raises:
        BadInput: the file is damaged.
    """
    for batch in parquet_batches(path, columns):
        yield from batch.to_pylist()


def parquet_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Rows of a parquet file in columns, a batch in memory at a time.

    Raises:
        BadInput: the file is damaged.
    """
    file = open_parquet(path)
    try:
        for batch in file.iter_batches(
            batch_size=BATCH_ROWS,
            columns=list(columns) if columns is not None else None,
            use_threads=False,  # they take more than they save on so few rows
        ):
            batch.validate(full=True)  # texts that are not UTF-8
            yield batch
    except (OSError, ValueError, NotImplementedError) as error:  # ValueError: a damaged page
        raise BadInput(
            Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again")
        ) from None


def json_rows(
    path: Path, columns: Sequence[str] | None, *, field: str | None
) -> Iterator[dict[str, Any]]:
    """Rows of a JSON Lines file, or of a JSON file with a list of objects.

    Args:
        path: The file.
        columns: Read only these; None reads all.
        field: Where in a JSON file the list is; by default it is the only one.

    Raises:
        BadInput: names the file and, for JSON Lines, the line.
    """
    rows = _json_list(path, field) if unpacked_name(path).endswith(".json") else None
    if rows is not None:
        yield from (_pick(row, columns) for row in _with_all_keys(rows))
        return
    part: list[dict[str, Any]] = []
    size = 0
    for row, length in _json_lines(path):
        part.append(row)
        size += length
        if size > JSON_BYTES:
            yield from (_pick(with_all_key, columns) for with_all_key in _with_all_keys(part))
            part, size = [], 0
    yield from (_pick(with_all_key, columns) for with_all_key in _with_all_keys(part))


def _with_all_keys(rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The rows; a key that only some have is null in the others, as in a table."""
    keys: dict[str, None] = {}
    for row in rows:
        if row.keys() != keys.keys():
            keys |= dict.fromkeys(row)
    return (row if len(row) == len(keys) else {key: row.get(key) for key in keys} for row in rows)


def _json_lines(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Rows of JSON Lines, and how long their lines are."""
    with open_packed(path) as handle:
        for number, line in enumerate(_lines(handle, path), 1):
            try:
                text = _text(line, path, number).strip()
                row = json.loads(text) if text else None
            except (BadInput, ValueError, RecursionError) as error:
                if number == 1 and not is_data_file(path):
                    raise _unknown(path) from None
                if isinstance(error, BadInput):
                    raise
                raise BadInput(
                    Problem(
                        what=f"is not JSON: {error}",
                        where=f"{path}:{number}",
                        fix="correct or delete the line",
                    )
                ) from None
            if not text:
                continue
            if not isinstance(row, dict):
                raise BadInput(
                    Problem(
                        what=f"holds a {type(row).__name__}",
                        where=f"{path}:{number}",
                        allowed="one JSON object per line",
                    )
                )
            yield row, len(line)


def _unknown(path: Path) -> BadInput:
    """Returns the error for a file whose name says no format, and that is not JSON Lines either."""
    is_archive = path.suffix == ".zip"
    return BadInput(
        Problem(
            what="is not a data file that evalprep reads",
            where=str(path),
            allowed=f"{', '.join(DATA_SUFFIXES)}; each with .gz, .bz2, .xz or .zst behind it, too",
            fix="unpack it" if is_archive else "convert it; a spreadsheet can be saved as CSV",
        )
    )


def _lines(handle: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from handle
    except BROKEN as error:
        raise damaged(path, error) from None


def _whole_text(path: Path) -> str:
    try:
        with open_packed(path) as handle:
            return handle.read().decode("utf-8-sig")
    except BROKEN as error:
        raise damaged(path, error) from None
    except UnicodeDecodeError as error:
        raise BadInput(
            Problem(what=f"is not UTF-8: {error}", where=str(path), fix="save the file as UTF-8")
        ) from None


def _json_list(path: Path, field: str | None) -> list[dict[str, Any]] | None:
    """The rows of a JSON file: a list of objects, or an object that holds one.

    None for JSON Lines under that name.
    """
    text = _whole_text(path)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("{"):
            return None
        raise BadInput(
            Problem(what=f"is not JSON: {error}", where=str(path), fix="correct the file")
        ) from None
    if isinstance(data, dict) and field is not None:
        data = data.get(field)
    elif isinstance(data, dict):
        # The list of rows that an object holds; None without one.
        lists = {name: value for name, value in data.items() if value and _are_rows(value)}
        if len(lists) > 1:
            raise BadInput(
                Problem(
                    what=f"holds several lists of rows: {', '.join(lists)}",
                    where=str(path),
                    fix="put each list into a file of its own",
                )
            )
        data = next(iter(lists.values()), None)
    if not _are_rows(data):
        raise BadInput(
            Problem(
                what="holds no list of objects", where=str(path), allowed='[{"column": ...}, ...]'
            )
        )
    return data


def _are_rows(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            Problem(
                what=f"is not UTF-8: {error}",
                where=f"{path}:{number}",
                fix="save the file as UTF-8",
            )
        ) from None


def _pick(row: dict[str, Any], columns: Sequence[str] | None) -> dict[str, Any]:
    return row if columns is None else {name: row.get(name) for name in columns}
