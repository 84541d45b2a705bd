"""Tables of large runs kept as columns, so that a second look at a run is quick.

The folder is `$EVALPREP_CACHE`, else `$XDG_CACHE_HOME/evalprep`, else `~/.cache/evalprep`. An
unwritable or damaged cache costs time, never a result.

An entry is found by what the file system knows of the samples file (place, size, times of change)
and by its first and last bytes: a digest of the whole file would take as long as reading it.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.files import open_file
from evalprep.places import user_cache
from evalprep.results.sample import Damage
from evalprep.results.scan import read_table
from evalprep.results.schema import COLUMNS
from evalprep.results.sources import SampleFile
from evalprep.results.table import Table

_VERSION = 12  # of the columns and of their layout; a new one makes old entries unreachable
_SMALL = 64 * 2**20  # bytes of samples below which a run is read in a moment
_KEPT = 4 * 2**30  # bytes of the newest entries that survive a write
_ENDING = ".columns"
_LOOKED_AT = 2**16  # bytes at both ends of a file
_ALIGNED = 64  # places of columns are multiples of it
_IDS_AT_ONCE = 2**14  # rows in one list of ids
_ids = msgspec.json.Decoder(list[str])


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """The place of a column, in bytes behind the head."""

    dtype: str
    start: int
    size: int


class _Places(msgspec.Struct, frozen=True):
    """The places of the columns of an entry, of its first line alone."""

    columns: dict[str, _Place]


class _Head(msgspec.Struct, frozen=True):
    """The first line of an entry, as JSON; the columns follow.

    `ids` is where the ids begin, as lines of JSON lists, up to the end of the entry.
    """

    filter: str
    id_source: str
    subtasks: list[str]
    clusters: list[str]
    filters: dict[str, int]
    damage: list[Damage]
    columns: dict[str, _Place]
    ids: int


def cache_folder() -> Path:
    """Returns where tables are kept."""
    return user_cache()


def cached_table(
    path: Path, filter_name: str, *, id_source: str | None = None, small: int = _SMALL
) -> Table:
    """`read_table`, through the cache for runs of `small` bytes of samples or more."""
    if _size_of_run(path) < small:
        return read_table(path, filter_name, id_source=id_source)
    entry = None
    # Whatever is wrong with an entry or its folder, the samples file is the truth.
    with contextlib.suppress(Exception):
        entry = cache_folder() / f"{_key(path, filter_name, id_source)}{_ENDING}"
        return _load(entry, path)
    table = read_table(path, filter_name, id_source=id_source)
    if entry is not None:
        with contextlib.suppress(Exception):  # read-only home, full disk: go without
            _store(table, entry)
            return _with_columns_of(entry, table)
    return table


def _size_of_run(path: Path) -> int:
    """Bytes of the samples files beside a file, and its own."""
    size = path.stat().st_size
    return max(size, _size_of_folder(path.parent, path.parent.stat().st_mtime_ns))


@lru_cache(maxsize=64)
def _size_of_folder(folder: Path, _changed: int) -> int:
    """Bytes of the samples files of a folder, which of 1,000 tasks are not asked 1,000 times."""
    files = (path for path in folder.glob("samples_*.jsonl") if path.is_file())
    return sum(path.stat().st_size for path in files)


def _key(path: Path, filter_name: str, id_source: str | None) -> str:
    """The key of an entry: a digest of the file's facts, its first and its last bytes."""
    with open_file(path) as file:
        facts = os.fstat(file.fileno())
        first = file.read(_LOOKED_AT)
        file.seek(max(0, facts.st_size - _LOOKED_AT))
        last = file.read(_LOOKED_AT)
    known = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    about = (_VERSION, filter_name, id_source, str(path.resolve()), known)
    return hashlib.blake2b(repr(about).encode() + first + last, digest_size=20).hexdigest()


def _columns_of(table: Table) -> dict[str, NDArray[Any]]:
    """All numbers of a table; the names of those of one kind begin with it."""
    return {
        **{name: getattr(table, name) for name in COLUMNS},
        **{f"metric {name}": values for name, values in table.metrics.items()},
        **{f"weight {name}": values for name, values in table.weights.items()},
        **{f"first {name}": first for name, (first, _) in table.pairs.items()},
        **{f"second {name}": second for name, (_, second) in table.pairs.items()},
        **{f"document {name}": codes for name, codes in table.documents.items()},
    }


def _store(table: Table, entry: Path) -> None:
    columns = _columns_of(table)
    places, end = {}, 0
    for name, values in columns.items():
        places[name] = _Place(values.dtype.str, end, values.size)
        end += -(-values.nbytes // _ALIGNED) * _ALIGNED
    head = _Head(
        filter=table.filter,
        id_source=table.id_source,
        subtasks=table.subtasks,
        clusters=table.clusters,
        filters=table.filters,
        damage=table.damage,
        columns=places,
        ids=end,
    )
    entry.parent.mkdir(parents=True, exist_ok=True)
    temporary = entry.with_name(f"{entry.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.writelines(_pieces(msgspec.json.encode(head), columns, table.ids))
        temporary.replace(entry)
    finally:
        temporary.unlink(missing_ok=True)
    _drop_oldest(entry.parent)


def _pieces(head: bytes, columns: Mapping[str, NDArray[Any]], ids: Sequence[str]) -> Iterator[Any]:
    """An entry from its first byte to its last."""
    yield head + b" " * (-(len(head) + 1) % _ALIGNED) + b"\n"
    for values in columns.values():
        yield np.ascontiguousarray(values).data
        yield bytes(-values.nbytes % _ALIGNED)
    for start in range(0, len(ids), _IDS_AT_ONCE):
        yield msgspec.json.encode(ids[start : start + _IDS_AT_ONCE]) + b"\n"


def _drop_oldest(folder: Path) -> None:
    entries = sorted(
        folder.glob(f"*{_ENDING}"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    size = 0
    for entry in entries:
        size += entry.stat().st_size
        if size > _KEPT:
            entry.unlink(missing_ok=True)


def _named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The columns of one kind by their own names."""
    return {
        name.removeprefix(prefix): column
        for name, column in arrays.items()
        if name.startswith(prefix)
    }


def _load(entry: Path, path: Path) -> Table:
    """The table of an entry."""
    content = _mapped(entry)
    begin = content.find(b"\n") + 1
    head = msgspec.json.decode(content[:begin], type=_Head)
    lists = _ids.decode_lines(memoryview(content)[begin + head.ids :])
    return Table(
        source=SampleFile(path),
        filter=head.filter,
        ids=list(chain.from_iterable(lists)),
        id_source=head.id_source,
        subtasks=head.subtasks,
        clusters=head.clusters,
        filters=head.filters,
        damage=head.damage,
        **_columns_in(content, begin, head.columns),
    )


def _with_columns_of(entry: Path, table: Table) -> Table:
    """The table of an entry that was just written, without reading its names again.

    Columns that lie in a file take memory only where they are looked at.
    """
    content = _mapped(entry)
    begin = content.find(b"\n") + 1
    places = msgspec.json.decode(memoryview(content)[:begin], type=_Places)
    return replace(table, **_columns_in(content, begin, places.columns))


def _mapped(entry: Path) -> mmap.mmap:
    with entry.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _columns_in(content: mmap.mmap, begin: int, places: Mapping[str, _Place]) -> dict[str, Any]:
    """All numbers of a table by the names of its fields; the other way round than `_columns_of`."""
    arrays = {
        name: np.frombuffer(content, np.dtype(place.dtype), place.size, begin + place.start)
        for name, place in places.items()
    }
    firsts = _named(arrays, "first ")
    return {
        **{name: arrays[name] for name in COLUMNS},
        "metrics": _named(arrays, "metric "),
        "weights": _named(arrays, "weight "),
        "pairs": {name: (first, arrays[f"second {name}"]) for name, first in firsts.items()},
        "documents": _named(arrays, "document "),
    }
