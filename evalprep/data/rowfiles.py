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
    except (OSError, ValueError, NotImplementedError) as error:  # ValueError: a page, or text that is not UTF-8
        raise BadInput(Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again")) from None


def json_rows(path: Path, columns: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Rows of a JSON Lines file, or of a JSON file with a list of objects.

    Raises:
        BadInput: names the file and, for JSON Lines, the line.
    """
    rows = _json_list(path) if path.suffix == ".json" else None
    if rows is not None:
        yield from (_pick(row, columns) for row in rows)
        return
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
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
            yield _pick(row, columns)


def _json_list(path: Path) -> list[dict[str, Any]] | None:
    """The rows of a JSON file: a list of objects, or an object that holds one; None for JSON Lines under that name."""
    try:
        text = path.read_text(encoding="utf-8-sig")
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
