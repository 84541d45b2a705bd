"""Records of one's own files with their places.

A message can so name row 9,000 to whoever must mend it.

`rowfiles` reads files that tools wrote, and stops at the first damage. These files were written by
people: every format that they use, and all mistakes told at once.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from custom_metrics.fm.columns import LineError, json_lines
from evalprep.data.rowfiles import is_parquet, parquet_rows
from evalprep.errors import BadInput, Problem
from evalprep.files import open_file, read_file

FORMATS = ("json", "jsonl", "parquet", "csv", "tsv")
_MIME_TYPES = {
    "application/json": "json",
    "application/jsonlines": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/vnd.apache.parquet": "parquet",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
}
_SUFFIXES = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".jsonlines": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
}
DELIMITERS = {"csv": ",", "tsv": "\t"}
_FAST_JSON = msgspec.json.Decoder()
_FIELD_CHARS = 2**30  # of a CSV cell; the module's own limit of 128 KB refuses long documents


class Located(msgspec.Struct, frozen=True):
    """One record.

    Attributes:
        where: File and place, for messages: `data.jsonl:12`, `data.parquet (row 12)`.
        number: Position among the records of its file, from 0.
        value: The record: a mapping, or whatever else stands on that line.
    """

    where: str
    number: int
    value: Any


def file_format(path: Path, declared: str | None, *, where: str = "") -> str:
    """Tells how a file is read: as declared, by a name or a MIME type, else by its ending.

    Raises:
        BadInput: neither says it.
    """
    allowed = f"{', '.join(FORMATS)}, or a MIME type: {', '.join(_MIME_TYPES)}"
    if declared is not None:
        known = declared if declared in FORMATS else _MIME_TYPES.get(declared)
        if known is None:
            raise BadInput(
                Problem(
                    what=f"the format {declared!r} is unknown",
                    where=where or str(path),
                    allowed=allowed,
                )
            )
        return known
    by_name = "parquet" if is_parquet(path) else _SUFFIXES.get(path.suffix.lower())
    if by_name is None:
        raise BadInput(
            Problem(
                what=f"the format is not clear from the name {path.name}",
                where=where or str(path),
                allowed=allowed,
                fix="set format:, or rename the file",
            )
        )
    return by_name


def read_text(path: Path) -> str:
    """Content of a text file, without a byte-order mark.

    Raises:
        BadInput: it is not UTF-8; says in which line.
    """
    content = read_file(path, own=True)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{path}:{line}") from None


def json_document(path: Path) -> Any:
    """Value of a JSON file.

    Raises:
        BadInput: it is not JSON; says where.
    """
    text = read_text(path)
    if not text.strip():
        raise BadInput(
            Problem(
                what="holds no records: the file is empty", where=str(path), fix="give another file"
            )
        )
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = "Extra data" in error.msg and error.lineno > 1
        raise BadInput(
            Problem(
                what=f"is not JSON: {error.msg} at column {error.colno}",
                where=f"{path}:{error.lineno}",
                fix="set format: jsonl where each line is a record"
                if lines
                else "correct the file",
            )
        ) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(
            Problem(what=f"is not JSON that can be read: {error}", where=str(path))
        ) from None


def located_records(path: Path, form: str) -> Iterator[Located | Problem]:
    """Yields the records of a JSON Lines, parquet, CSV or TSV file.

    Yields a problem for each record that cannot be read.

    Raises:
        BadInput: the file cannot be read at all.
    """
    if form == "parquet":
        for number, row in enumerate(parquet_rows(path, None)):
            yield Located(f"{path} (row {number + 1})", number, row)
    elif form == "jsonl":
        yield from _lines(path)
    else:
        yield from _cells(path, DELIMITERS[form])


def split_elsewhere(columns: Sequence[str], used: str) -> str:
    """Returns what to do where a header holds another delimiter than it was split at.

    Empty where it was split into several columns, or holds none of the usual ones.
    """
    if len(columns) != 1:
        return ""
    counts = {other: columns[0].count(other) for other in ",;\t|" if other != used}
    other = max(counts, key=lambda delimiter: counts[delimiter])
    if not counts[other]:
        return ""
    way = {"\t": "set format: tsv", ",": "set format: csv"}.get(other, "save it with commas")
    return f"the file was split at {used!r}, and its header holds {other!r}: {way}"


def _lines(path: Path) -> Iterator[Located | Problem]:
    number = 0
    with open_file(path, own=True) as handle:
        for line, content in enumerate(handle, start=1):
            where = f"{path}:{line}"
            try:
                for value in _values_of_line(content, where):
                    yield Located(where, number, value)
                    number += 1
            except LineError as error:
                yield Problem(what=error.reason, where=where, fix="correct or delete the line")


def _values_of_line(content: bytes, where: str) -> list[Any]:
    """The value of a line in a list, which is empty for a blank line.

    Raises:
        BadInput: the line is not UTF-8.
        LineError: it is not JSON.
    """
    if not content.strip(b" \t\r\n"):
        return []
    try:
        return [_FAST_JSON.decode(content)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # NaN, halves of surrogate pairs and byte-order marks, or damage that is named below
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_utf8(where) from None
    return [value for _, value in json_lines([text])]


def _not_utf8(where: str) -> BadInput:
    fix = "save the file as UTF-8, then try again"
    return BadInput(Problem(what="is not UTF-8", where=where, fix=fix))


def _cells(path: Path, delimiter: str) -> Iterator[Located | Problem]:
    csv.field_size_limit(_FIELD_CHARS)
    reader = csv.reader(read_text(path).splitlines(keepends=True), delimiter=delimiter, strict=True)
    names: list[str] | None = None
    number, line = 0, 1
    try:
        for cells in reader:
            where, line = f"{path}:{line}", reader.line_num + 1
            if not cells:
                continue
            if names is None:
                names = cells
                if len(set(names)) < len(names):
                    yield Problem(
                        what="the header names a column twice",
                        where=where,
                        allowed="a name per column",
                    )
                    return
                continue
            if len(cells) != len(names):
                yield Problem(
                    what=f"has {len(cells)} cells, and the header {len(names)} "
                    f"(the delimiter is {delimiter!r})",
                    where=where,
                    fix=split_elsewhere(names, delimiter)
                    or "quote cells that hold the delimiter, or set the format: csv or tsv",
                )
                continue
            yield Located(where, number, dict(zip(names, cells, strict=True)))
            number += 1
    except csv.Error as error:
        yield Problem(
            what=f"is not {'TSV' if delimiter == chr(9) else 'CSV'} "
            f"with the delimiter {delimiter!r}: {error}",
            where=f"{path}:{reader.line_num}",
        )
