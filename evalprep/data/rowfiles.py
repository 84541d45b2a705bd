"""Rows out of one data file: parquet, JSON Lines, JSON with a list of objects, CSV; streamed, errors with lines."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from evalprep.errors import BadInput, Problem

BATCH_ROWS = 1_000  # rows held in memory at a time
CSV_ROWS = 10_000  # as `datasets` reads: a column's type is found anew in each part of that many rows
JSON_BYTES = 10 << 20  # as `datasets` reads: rows of one part of that size have the same keys
#: What a card may say of how its CSV files are read, by the names of pandas.
CSV_OPTIONS = frozenset(
    {"sep", "header", "names", "skiprows", "encoding", "quotechar", "quoting", "escapechar", "comment", "decimal"}
    | {"thousands", "na_values", "keep_default_na", "skipinitialspace", "dtype"}
)
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
)
_PACKED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)  # what reading a damaged file raises
_LINE = re.compile(r"\bline (\d+)")


def is_data_file(path: Path) -> bool:
    """Whether the name is one of a file that we read, `.gz`, `.bz2` or `.xz` at its end included."""
    return _unpacked(path).endswith(DATA_SUFFIXES)


def _unpacked(path: Path) -> str:
    """The name of what is in a compressed file, in small letters."""
    name = path.name.lower()
    return name.removesuffix(next((ending for ending in _PACKED if name.endswith(ending)), ""))


def file_rows(
    path: Path, columns: Sequence[str] | None = None, *, csv: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of any data file, by its name.

    Args:
        path: The file.
        columns: Read only these; None reads all.
        csv: How a CSV file is read, of `CSV_OPTIONS`; the separator is by default what its ending says.

    Raises:
        BadInput: the file is damaged; with its line where there is one.
    """
    if is_parquet(path):
        return parquet_rows(path, columns)
    name = _unpacked(path)
    if name.endswith((".csv", ".tsv")):
        return csv_rows(path, columns, {"sep": "\t" if name.endswith(".tsv") else ",", **(csv or {})})
    return json_rows(path, columns)


def file_columns(path: Path, *, csv: Mapping[str, Any] | None = None) -> list[str]:
    """Column names: of the schema for parquet, of the head for CSV, of the first part of the rows for JSON."""
    return parquet_columns(path) if is_parquet(path) else list(next(iter(file_rows(path, csv=csv)), {}))


def _open(path: Path) -> IO[bytes]:
    opener = _PACKED.get(path.suffix.lower())
    return cast("IO[bytes]", opener(path)) if opener is not None else path.open("rb")


def _damaged(path: Path, error: Exception) -> BadInput:
    return BadInput(Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again"))


def is_parquet(path: Path) -> bool:
    """Whether the name is one of a parquet file (`x.parquet.gzip` is one: the compression is inside)."""
    return ".parquet" in path.name or path.suffix in {".geoparquet", ".gpq"}


def parquet_columns(path: Path) -> list[str]:
    """Column names of a parquet file, without reading its rows."""
    import pyarrow.parquet as pq

    return list(_open_parquet(pq, path).schema_arrow.names)


def _open_parquet(pq: Any, path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise BadInput(
            Problem(what=f"is not a readable parquet file: {error}", where=str(path), fix="fetch it again")
        ) from None


def parquet_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Rows of a parquet file, a batch in memory at a time.

    Raises:
        BadInput: the file is damaged.
    """
    import pyarrow.parquet as pq

    file = _open_parquet(pq, path)
    try:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns) if columns is not None else None):
            yield from batch.to_pylist()
    except (OSError, ValueError, NotImplementedError) as error:  # ValueError: a page, or text that is not UTF-8
        raise BadInput(Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again")) from None


def json_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Rows of a JSON Lines file, or of a JSON file with a list of objects.

    Raises:
        BadInput: names the file and, for JSON Lines, the line.
    """
    rows = _json_list(path) if _unpacked(path).endswith(".json") else None
    if rows is not None:
        yield from (_pick(row, columns) for row in _with_all_keys(rows))
        return
    part: list[dict[str, Any]] = []
    size = 0
    for row, length in _json_lines(path):
        part.append(row)
        size += length
        if size > JSON_BYTES:
            yield from (_pick(one, columns) for one in _with_all_keys(part))
            part, size = [], 0
    yield from (_pick(one, columns) for one in _with_all_keys(part))


def _with_all_keys(rows: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The rows; a key that only some have is null in the others, as in a table."""
    keys: dict[str, None] = {}
    for row in rows:
        if row.keys() != keys.keys():
            keys |= dict.fromkeys(row)
    return (row if len(row) == len(keys) else {key: row.get(key) for key in keys} for row in rows)


def _json_lines(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Rows of JSON Lines, and how long their lines are."""
    with _open(path) as handle:
        for number, line in enumerate(_lines(handle, path), 1):
            text = _text(line, path, number).strip()
            if not text:
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                known = number > 1 or is_data_file(path)
                raise BadInput(
                    Problem(
                        what=f"is not JSON: {error}",
                        where=f"{path}:{number}",
                        allowed="" if known else f"a data file, named {', '.join(DATA_SUFFIXES)}",
                        fix="mend or delete the line" if known else "convert the file",
                    )
                ) from None
            if not isinstance(row, dict):
                raise BadInput(
                    Problem(
                        what=f"holds a {type(row).__name__}",
                        where=f"{path}:{number}",
                        allowed="one JSON object per line",
                    )
                )
            yield row, len(line)


def _lines(handle: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from handle
    except _BROKEN as error:
        raise _damaged(path, error) from None


def csv_rows(path: Path, columns: Sequence[str] | None, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of a CSV file with a head, as `datasets` reads it: a column of numbers is numbers, an empty cell is null.

    So `007` is 7 and `NA` is null; JSON Lines keeps what is written. Line breaks in quotes, a byte-order mark and `.gz`
    are read.

    Raises:
        BadInput: a line with more cells than the head, an open quote, text that is not UTF-8; names the line.
    """
    import pandas as pd
    import pyarrow as pa

    try:
        with _open(path) as handle:
            for part in pd.read_csv(handle, chunksize=CSV_ROWS, **options):
                if not isinstance(part.index, pd.RangeIndex):  # pandas shifts the cells of such lines in silence
                    raise pd.errors.ParserError("its lines have more cells than its head")  # noqa: TRY301
                rows = pa.Table.from_pandas(part, preserve_index=False).to_pylist()
                yield from (_pick(row, columns) for row in rows)
    except pd.errors.EmptyDataError:
        raise BadInput(Problem(what="is empty", where=str(path), allowed="a line of column names, then rows")) from None
    except UnicodeDecodeError:
        said = options.get("encoding")
        place = str(path) if said else f"{path}:{_line_of_bytes(path)}"
        fix = "correct the card, or save the file in that encoding" if said else "save the file as UTF-8"
        raise BadInput(Problem(what=f"is not {said or 'UTF-8'}", where=place, fix=fix)) from None
    except (pd.errors.ParserError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadInput(
            Problem(
                what=f"is not CSV: {_without_prefix(error)}",
                where=f"{path}:{_line_of(path, error)}",
                fix="quote cells that hold a comma or a line break, and close every quote",
            )
        ) from None
    except _BROKEN as error:
        raise _damaged(path, error) from None
    except (LookupError, TypeError, ValueError) as error:  # what the card says is no way to read
        said = ", ".join(f"{key}: {value!r}" for key, value in options.items())
        raise BadInput(
            Problem(what=f"cannot be read with {said}: {error}", where=str(path), fix="mend the card")
        ) from None


def _without_prefix(error: Exception) -> str:
    return str(error).strip().removeprefix("Error tokenizing data. C error: ")


def _line_of(path: Path, error: Exception) -> int:
    """The line that a parser complains of; of an open quote, the one in which it opens."""
    found = _LINE.search(str(error))
    if found:
        return int(found[1])
    line = opened = 1
    quoted = False
    with _open(path) as handle:
        for line, text in enumerate(handle, 1):
            if text.count(b'"') % 2:
                quoted, opened = not quoted, line
    return opened if quoted else line


def _line_of_bytes(path: Path) -> int:
    """The first line that is not UTF-8."""
    with _open(path) as handle:
        for number, line in enumerate(handle, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 1


def _json_list(path: Path) -> list[dict[str, Any]] | None:
    """The rows of a JSON file: a list of objects, or an object that holds one; None for JSON Lines under that name."""
    try:
        with _open(path) as handle:
            text = handle.read().decode("utf-8-sig")
    except _BROKEN as error:
        raise _damaged(path, error) from None
    except UnicodeDecodeError as error:
        raise BadInput(Problem(what=f"is not UTF-8: {error}", where=str(path), fix="save the file as UTF-8")) from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("{"):
            return None
        raise BadInput(Problem(what=f"is not JSON: {error}", where=str(path), fix="mend the file")) from None
    if isinstance(data, dict):
        data = next((value for value in data.values() if isinstance(value, list)), None)
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise BadInput(Problem(what="holds no list of objects", where=str(path), allowed='[{"column": ...}, ...]'))
    return data


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            Problem(what=f"is not UTF-8: {error}", where=f"{path}:{number}", fix="save the file as UTF-8")
        ) from None


def _pick(row: dict[str, Any], columns: Sequence[str] | None) -> dict[str, Any]:
    return row if columns is None else {name: row.get(name) for name in columns}
