"""The beginning of a file or folder: enough to tell its format, whatever it is called."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from evalprep.errors import BadInput
from evalprep.files import NotRead, open_file
from evalprep.readers.pointers import store_of
from evalprep.readers.tools.tables import columns_of
from evalprep.samples import JsonParts, opened

Kind = Literal[
    "folder", "zip", "parquet", "json", "lines", "text", "pointer", "empty", "broken", "other"
]
_ZIP, _PARQUET = b"PK\x03\x04", b"PAR1"
_LONGEST_LINE = 2**24  # bytes: a longer first line is a file of one object
_SNIFFED = 65_536  # bytes of a table from which its delimiter is told


class Opening(msgspec.Struct, frozen=True):
    """The beginning of a file or folder.

    Attributes:
        path: The place.
        kind: What it is; `lines` are JSON objects, one in a line.
        names: Entries of a folder, members of an archive, columns of a table, keys of an object;
            of lines the keys of the first object.
        first: Small values of the first object.
    """

    path: Path
    kind: Kind
    names: frozenset[str] = frozenset()
    first: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def has(self, *names: str) -> bool:
        """Returns whether all these names are there."""
        return self.names.issuperset(names)

    def describe(self) -> str:
        """Returns what the place looks like, for a message."""
        named = ", ".join(sorted(self.names)[:8])
        looks = {
            "folder": "a folder",
            "zip": "a zip archive with",
            "parquet": "a parquet file with the columns",
            "json": "a JSON file with the keys",
            "lines": "JSON Lines with the keys",
            "text": "a text file that begins with",
            "pointer": "a pointer to a file that was not fetched",
            "empty": "an empty file",
            "broken": "a JSON file that is damaged or was cut off",
            "other": "a file of an unknown kind",
        }[self.kind]
        if named and self.kind != "folder":
            return f"{looks} {named}"
        return looks.partition(" with")[0]


def opening_of(path: Path) -> Opening:
    """Returns how a file or folder begins.

    Raises:
        OSError: it cannot be read.
    """
    if path.is_dir():
        return Opening(path, "folder", frozenset(entry.name for entry in os.scandir(path)))
    if store_of(path) is not None:
        return Opening(path, "pointer")
    try:
        with opened(path) as file:
            begin = file.read(4)
    except gzip.BadGzipFile:
        return Opening(path, "broken")
    if begin == _ZIP:
        return _of_zip(path)
    if begin == _PARQUET:
        return _of_parquet(path)
    return _of_text(path)


def _of_zip(path: Path) -> Opening:
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            return Opening(path, "zip", frozenset(archive.namelist()))
    except zipfile.BadZipFile:
        return Opening(path, "zip")


def _of_parquet(path: Path) -> Opening:
    try:
        return Opening(path, "parquet", frozenset(columns_of(path)))
    except NotRead:
        raise
    except BadInput:
        return Opening(path, "parquet")


def _of_text(path: Path) -> Opening:
    with opened(path) as file:
        try:
            line = _first_line(file)
            several = len(line) < _LONGEST_LINE and bool(_first_line(file))
        except (OSError, EOFError, zlib.error):  # a packed file that breaks off
            return Opening(path, "other")
    if not line:
        return Opening(path, "empty")
    begin = line.lstrip(b"\xef\xbb\xbf \t")
    if not begin.startswith((b"{", b"[")):
        return _of_table(path)
    if len(line) >= _LONGEST_LINE:
        return _of_whole_json(path)
    return _of_json(path, begin, several=several)


def _first_line(file: IO[bytes]) -> bytes:
    """The first line that is not blank, or its beginning."""
    lines = iter(lambda: file.readline(_LONGEST_LINE), b"")
    return next((line for line in lines if line.strip()), b"")


def _of_json(path: Path, line: bytes, *, several: bool) -> Opening:
    """The opening of a file whose first line begins as JSON does."""
    try:
        first = JsonParts.of(line)
    except ValueError:
        return _of_whole_json(path)
    is_lines = several or path.name.removesuffix(".gz").endswith("l")
    kind: Kind = "lines" if is_lines and first.members else "json"
    return Opening(path, kind, frozenset(first.keys), first.small())


def _of_whole_json(path: Path) -> Opening:
    """The opening of a JSON file of many lines."""
    try:
        parts = JsonParts.of_file(path)
    except ValueError:
        is_called_json = path.name.removesuffix(".gz").endswith((".json", ".jsonl"))
        return Opening(path, "broken" if is_called_json else "other")
    return Opening(path, "json", frozenset(parts.keys), parts.small())


def _of_table(path: Path) -> Opening:
    with opened(path) as file:
        raw = file.read(_SNIFFED)
    if b"\0" in raw:
        return Opening(path, "other")
    text = raw.decode("utf-8-sig", "replace")
    try:
        header = next(csv.reader(io.StringIO(text), delimiter=delimiter_of(text)), [])
    except csv.Error:  # an end of line in a cell, or one that is longer than a table's
        return Opening(path, "other")
    return Opening(path, "text", frozenset(header))


def delimiter_of(text: str) -> str:
    r"""Returns the delimiter of a table: what its first line has most of, a comma by default.

    >>> delimiter_of("a;b;c\n1,5;2;3"), delimiter_of("id")
    (';', ',')
    """
    line = text.partition("\n")[0]
    return max(",;\t", key=line.count)
