"""Rows out of one data file: parquet, JSON Lines, or JSON with a list of objects; streamed, errors with lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem

BATCH_ROWS = 1_000  # rows held in memory at a time
DATA_SUFFIXES = (".parquet", ".parquet.gzip", ".jsonl", ".jsonlines", ".ndjson", ".json")


def is_data_file(path: Path) -> bool:
    """Whether the name is one of a file that we read."""
    return path.name.endswith(DATA_SUFFIXES)


def is_parquet(path: Path) -> bool:
    """Whether the name is one of a parquet file (`x.parquet.gzip` is one: the compression is inside)."""
    return ".parquet" in path.name


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
    except OSError as error:
        raise BadInput(Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again")) from None


def json_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Rows of a JSON Lines file, or of a JSON file with a list of objects.

    Raises:
        BadInput: names the file and, for JSON Lines, the line.
    """
    if path.suffix == ".json":
        try:
            data = json.loads(path.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            if path.read_text(encoding="utf-8-sig", errors="replace").lstrip().startswith("{"):
                data = None  # several objects: JSON Lines under the name of JSON
            else:
                raise BadInput(Problem(what=f"is not JSON: {error}", where=str(path))) from None
        if data is not None:
            rows = data if isinstance(data, list) else next((v for v in data.values() if isinstance(v, list)), None)
            if rows is None or not all(isinstance(row, dict) for row in rows):
                raise BadInput(
                    Problem(what="holds no list of objects", where=str(path), allowed='[{"column": ...}, ...]')
                )
            for row in rows:
                yield _pick(row, columns)
            return
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            text = _text(line, path, number).strip()
            if not text:
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadInput(
                    Problem(what=f"is not JSON: {error}", where=f"{path}:{number}", fix="mend or delete the line")
                ) from None
            if not isinstance(row, dict):
                raise BadInput(
                    Problem(
                        what=f"holds a {type(row).__name__}",
                        where=f"{path}:{number}",
                        allowed="one JSON object per line",
                    )
                )
            yield _pick(row, columns)


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            Problem(what=f"is not UTF-8: {error}", where=f"{path}:{number}", fix="save the file as UTF-8")
        ) from None


def _pick(row: dict[str, Any], columns: Sequence[str] | None) -> dict[str, Any]:
    return row if columns is None else {name: row.get(name) for name in columns}
