"""Numbers and hashes of large runs kept as parquet, so that a second look at a run is quick.

The folder is `$EVALPREP_CACHE`, else `$XDG_CACHE_HOME/evalprep`, else `~/.cache/evalprep`. An
unwritable or damaged entry costs time, never a result. Texts stay in the samples file.

An entry is found by what its source is known by (`SampleSource.identity`), the columns and their
version.
"""

from __future__ import annotations

import contextlib
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.files import replace_file
from evalprep.places import user_cache
from evalprep.samples.ids import Ids
from evalprep.samples.sample import Damage
from evalprep.samples.scan import table_of
from evalprep.samples.schema import COLUMNS, VERSION
from evalprep.samples.sources import ChangedSamples, SampleSource
from evalprep.samples.table import Table

_SMALL = 64 * 2**20  # bytes of samples below which a run is read in a moment
_KEPT = 4 * 2**30  # bytes of the newest entries that survive a write
_ENDING = ".parquet"
_AHEAD = 2**16  # bytes that are read at once
_AT_ONCE = 2**17  # rows that are written at once
_IDS, _FACTS = "ids", b"table"
#: Columns of which a table has one for each metric or field, by the beginnings of their names.
_METRIC, _WEIGHT, _FIRST, _SECOND, _DOCUMENT = (
    "metric ",
    "weight ",
    "first ",
    "second ",
    "document ",
)


class _Facts(msgspec.Struct, frozen=True):
    """The parts of a table that are no columns, in the metadata of an entry."""

    filter: str
    id_source: str
    subtasks: list[str]
    clusters: list[str]
    filters: dict[str, int]
    damage: list[Damage]
    equal: dict[str, int]  # columns of which every row has one value, by their names


def cached_table(source: SampleSource, filter_name: str, *, small: int = _SMALL) -> Table:
    """`table_of`, through the store for runs of `small` bytes of samples or more.

    What a function computes of samples may take long, and is kept of runs of any size.
    """
    entry = None
    # Whatever is wrong with an entry or its folder, the samples are the truth.
    with contextlib.suppress(Exception):
        is_computed = isinstance(source, ChangedSamples)
        known = source.identity() if is_computed or _size_of_run(source.path) >= small else None
        if known is not None:
            about = repr((VERSION, COLUMNS, filter_name)).encode()
            key = hashlib.blake2b(about + known, digest_size=20).hexdigest()
            entry = user_cache() / f"{key}{_ENDING}"
            if entry.is_file():
                return _load(entry, source)
    table = table_of(source, filter_name)
    if entry is not None:
        with contextlib.suppress(Exception):  # read-only home, full disk: go without
            _store(table, entry)
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


def _store(table: Table, entry: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = {name: getattr(table, name) for name in COLUMNS}
    columns = {
        **{name: values for name, values in own.items() if not _is_one(values)},
        **{_METRIC + name: values for name, values in table.metrics.items()},
        **{_WEIGHT + name: values for name, values in table.weights.items()},
        **{_FIRST + name: first for name, (first, _) in table.pairs.items()},
        **{_SECOND + name: second for name, (_, second) in table.pairs.items()},
        **{_DOCUMENT + name: codes for name, codes in table.documents.items()},
    }
    facts = _Facts(
        filter=table.filter,
        id_source=table.id_source,
        subtasks=table.subtasks,
        clusters=table.clusters,
        filters=table.filters,
        damage=table.damage,
        equal={name: values[0].item() for name, values in own.items() if _is_one(values)},
    )
    texts = [None, pa.py_buffer(table.ids.bounds), pa.py_buffer(table.ids.data)]
    arrays = {_IDS: pa.Array.from_buffers(pa.large_binary(), len(table), texts)}
    for name, values in columns.items():
        numbers = pa.py_buffer(np.ascontiguousarray(values))  # `pa.array` would import pandas
        kind = pa.from_numpy_dtype(values.dtype)
        arrays[name] = pa.Array.from_buffers(kind, len(table), [None, numbers])
    entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with replace_file(entry) as temporary:
        temporary.chmod(0o600)
        pq.write_table(
            pa.table(arrays, metadata={_FACTS: msgspec.json.encode(facts)}),
            temporary,
            row_group_size=_AT_ONCE,
            compression="none",
            # Few values of a flag differ; digests and numbers would not become smaller.
            use_dictionary=[name for name, kind in COLUMNS.items() if kind == "int8"],
            write_statistics=False,
            write_page_checksum=True,
        )
    pa.default_memory_pool().release_unused()
    _drop_oldest(entry.parent)


def _is_one(values: NDArray[Any]) -> bool:
    """Returns whether a column of a new table holds one value for all of its rows."""
    return values.strides == (0,)


def _drop_oldest(folder: Path) -> None:
    entries = sorted(
        folder.glob(f"*{_ENDING}"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    size = 0
    for entry in entries:
        size += entry.stat().st_size
        if size > _KEPT:
            entry.unlink(missing_ok=True)


def _load(entry: Path, source: SampleSource) -> Table:
    """The table of an entry.

    Raises:
        Exception: it is not there, damaged, or no table of a store.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {}
    with pq.ParquetFile(
        entry, buffer_size=_AHEAD, pre_buffer=False, page_checksum_verification=True
    ) as kept:
        schema = kept.schema_arrow
        for name in schema.names:
            column = kept.read([name], use_threads=False).column(name).combine_chunks()
            if name == _IDS:
                _, bounds, data = column.buffers()
                ids = Ids(data.to_pybytes(), np.frombuffer(bounds, dtype=np.int64))
            else:
                arrays[name] = np.from_dlpack(column)  # without pandas, which `to_numpy` imports
    pa.default_memory_pool().release_unused()
    facts = msgspec.json.decode(schema.metadata[_FACTS], type=_Facts)

    def named(prefix: str) -> dict[str, NDArray[Any]]:
        """The columns of one kind by their own names."""
        return {
            name.removeprefix(prefix): values
            for name, values in arrays.items()
            if name.startswith(prefix)
        }

    equal = {
        name: np.broadcast_to(np.array(value, dtype=COLUMNS[name]), len(ids))
        for name, value in facts.equal.items()
    }
    columns: dict[str, Any] = {
        name: equal[name] if name in equal else arrays[name].astype(kind, casting="no", copy=False)
        for name, kind in COLUMNS.items()
    }
    seconds = named(_SECOND)
    return Table(
        source=source,
        filter=facts.filter,
        ids=ids,
        id_source=facts.id_source,
        **columns,
        subtasks=facts.subtasks,
        clusters=facts.clusters,
        metrics=named(_METRIC),
        weights=named(_WEIGHT),
        pairs={name: (first, seconds[name]) for name, first in named(_FIRST).items()},
        documents=named(_DOCUMENT),
        filters=facts.filters,
        damage=facts.damage,
    )
