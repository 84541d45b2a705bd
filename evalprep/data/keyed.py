"""Rows in a temporary file, found by a text.

The rows lie in Arrow's file format and are mapped into memory, so that the system gives their pages
back where memory is short. What stays in memory is an index: 16 bytes per row, the hash of its text
and its number, sorted by hash. A hash only finds candidates; their texts are compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evalprep.data.arrays import large_texts, whole_numbers

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Row = dict[str, Any]
STORED_ROWS, STORED_BYTES = 65_536, 32 << 20
"""Size of a batch of the file: few batches to look into, none of them large."""
ENCODED_ROWS = 8_192
FOUND_ROWS = 20_000
"""Rows that are decoded at a time."""
FEW_ROWS = 100
"""Rows that are cut out one by one: `take` imports `pyarrow.compute`, 50 ms of CPU."""
_TEXT, _PAYLOAD = "text", "payload"


def is_plain(schema: pa.Schema) -> bool:
    """Returns whether columns come back from Arrow as they would from JSON.

    Texts, numbers, booleans, and lists and structs of them do; dates, bytes and decimals do not.
    """
    return all(_is_plain(column.type) for column in schema)


def has_texts(schema: pa.Schema, names: Sequence[str]) -> bool:
    """Returns whether these are columns of text."""
    from pyarrow import types

    return all(
        name in schema.names
        and (
            types.is_string(schema.field(name).type)
            or types.is_large_string(schema.field(name).type)
        )
        for name in names
    )


def _is_plain(kind: pa.DataType) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind):
        return _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(kind.field(number).type) for number in range(kind.num_fields))
    simple = (
        types.is_string,
        types.is_large_string,
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_null,
    )
    return any(fits(kind) for fits in simple)


class KeyedRows:
    """Rows that are found by the text of one column; rows without such a text are left out.

    Args:
        batches: The rows in columns.
        key: The column with the text.
        decode: Makes rows of a table.
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch], key: str, decode: Callable[[pa.Table], list[Row]]
    ) -> None:
        self._key, self._decode = key, decode
        self._folder = TemporaryDirectory(prefix="evalprep-join-")
        self._batches = _stored(batches, Path(self._folder.name) / "rows.arrow")
        self._starts = _starts(self._batches)
        self._indexes: dict[Callable[[str], str] | None, _Index] = {}

    @classmethod
    def of_columns(cls, batches: Iterable[pa.RecordBatch], key: str) -> KeyedRows:
        """Keeps the rows of batches of one plain schema, which has the column `key`."""
        return cls(_with_key(batches, key), key, lambda table: table.to_pylist())

    @classmethod
    def of_rows(
        cls, rows: Iterable[Mapping[str, Any]], key: str, as_stored: Callable[[str], str]
    ) -> KeyedRows:
        """Keeps rows of any content as JSON; what JSON has no form for becomes its text.

        Args:
            rows: The rows, streamed once.
            key: The column with the text.
            as_stored: Makes a text that UTF-8 can hold.
        """
        return cls(_encoded(rows, key, as_stored), _TEXT, _decoded)

    def matches(self, texts: Sequence[str], form: Callable[[str], str] | None) -> list[list[Row]]:
        """Returns for each text, in order, the rows whose text has this form.

        Args:
            texts: Texts in the form that is looked for.
            form: Brings the text of a stored row into that form; None leaves it as it is.
        """
        if form not in self._indexes:
            self._indexes[form] = _Index.of(self._texts(form))
        index = self._indexes[form]
        low, high = index.ranges(texts)
        begin = 0
        results: list[list[Row]] = []
        for end in _parts(high - low):
            part = slice(begin, end)
            counts = (high - low)[part]
            candidates = self._taken(index.numbers_between(low[part], high[part]), form)
            results += _grouped(candidates, texts[part], counts.tolist())
            begin = end
        return results

    def close(self) -> None:
        """Frees the file."""
        self._batches, self._indexes = [], {}
        self._folder.cleanup()

    def _texts(self, form: Callable[[str], str] | None) -> Iterator[list[str]]:
        for batch in self._batches:
            yield _formed(batch.column(self._key).to_pylist(), form)

    def _taken(
        self, numbers: np.ndarray, form: Callable[[str], str] | None
    ) -> list[tuple[str, Row]]:
        """The rows of these numbers, in this order, each with its text in a form."""
        import numpy as np
        import pyarrow as pa

        if not len(numbers):
            return []
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        cuts = np.searchsorted(ascending, self._starts)
        ends = [*cuts[1:], len(ascending)]
        parts: list[pa.RecordBatch] = []
        for batch, start, begin, end in zip(self._batches, self._starts, cuts, ends, strict=True):
            parts += _picked(batch, ascending[begin:end] - start, one_by_one=len(order) <= FEW_ROWS)
        table = pa.Table.from_batches(parts)
        texts = _formed(table.column(self._key).to_pylist(), form)
        pairs = list(zip(texts, self._decode(table), strict=True))
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return [pairs[place] for place in places.tolist()]


@dataclass(frozen=True)
class _Index:
    """Hashes of texts in ascending order, and the row of each; rows of one hash in their order."""

    hashes: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[list[str]]) -> _Index:
        import numpy as np

        hashes = np.fromiter(map(hash, chain.from_iterable(texts)), dtype=np.int64)
        numbers = np.argsort(hashes, kind="stable")
        return cls(hashes[numbers], numbers)

    def ranges(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The places at which the hash of each text begins and ends."""
        import numpy as np

        hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
        order = np.argsort(hashes)  # neighbours lie on pages that are in the processor's cache
        ascending = hashes[order]
        low, high = np.empty_like(order), np.empty_like(order)
        low[order] = np.searchsorted(self.hashes, ascending, side="left")
        high[order] = np.searchsorted(self.hashes, ascending, side="right")
        return low, high

    def numbers_between(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The rows of all places of several ranges, range by range."""
        import numpy as np

        counts = high - low
        before = np.cumsum(counts) - counts
        places: np.ndarray = np.arange(counts.sum()) + np.repeat(low - before, counts)
        return np.take(self.numbers, places)


def _parts(counts: np.ndarray) -> list[int]:
    """Ends of runs of texts that have about `FOUND_ROWS` candidates together, or are one text."""
    import numpy as np

    numbers = np.cumsum(counts) // FOUND_ROWS
    return [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(counts)]


def _picked(batch: pa.RecordBatch, places: np.ndarray, *, one_by_one: bool) -> list[pa.RecordBatch]:
    """The rows at some places of a batch, cut out one by one or together."""
    if one_by_one:
        return [batch.slice(place, 1) for place in places.tolist()]
    return [batch.take(whole_numbers(places))] if len(places) else []


def _grouped(
    candidates: Sequence[tuple[str, Row]], texts: Sequence[str], counts: Sequence[int]
) -> Iterator[list[Row]]:
    """The candidates of each text whose own text is the same."""
    rest = iter(candidates)
    for text, count in zip(texts, counts, strict=True):
        if count == 1:
            stored, row = next(rest)
            yield [row] if stored == text else []
        else:
            yield [row for stored, row in islice(rest, count) if stored == text]


def _formed(texts: list[str], form: Callable[[str], str] | None) -> list[str]:
    return texts if form is None else list(map(form, texts))


def _with_key(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        column = batch.column(key)
        yield batch.filter(column.is_valid()) if column.null_count else batch


def _encoded(
    rows: Iterable[Mapping[str, Any]], key: str, as_stored: Callable[[str], str]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    encode = json.JSONEncoder(default=str).encode
    with_key = (row for row in rows if isinstance(row.get(key), str))
    schema = pa.schema([(_TEXT, pa.large_string()), (_PAYLOAD, pa.large_string())])
    while part := list(islice(with_key, ENCODED_ROWS)):
        texts = large_texts([as_stored(row[key]) for row in part])
        payloads = large_texts([encode(dict(row)) for row in part])
        yield pa.RecordBatch.from_arrays([texts, payloads], schema=schema)


def _decoded(table: pa.Table) -> list[Row]:
    return [json.loads(payload) for payload in table.column(_PAYLOAD).to_pylist()]


def _stored(batches: Iterable[pa.RecordBatch], path: Path) -> list[pa.RecordBatch]:
    """Writes batches to a file, and maps them from there."""
    import pyarrow as pa

    tables = _gathered(batches)
    first = next(tables, None)
    if first is None:
        return []
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table.combine_chunks())
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Small batches as tables of `STORED_ROWS` rows or `STORED_BYTES` bytes."""
    import pyarrow as pa

    rows, size, part = 0, 0, []
    for batch in batches:
        part.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= STORED_ROWS or size >= STORED_BYTES:
            yield pa.Table.from_batches(part)
            rows, size, part = 0, 0, []
    if part:
        yield pa.Table.from_batches(part)


def _starts(batches: Iterable[pa.RecordBatch]) -> np.ndarray:
    """The number of the first row of each batch."""
    import numpy as np

    counts = [batch.num_rows for batch in batches]
    return np.array([0, *accumulate(counts)][: len(counts)], dtype=np.int64)
