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
from typing import TYPE_CHECKING, Any

from evalprep.data.arrays import column_array, hashes_of, large_texts, whole_numbers
from evalprep.data.batches import regrouped
from evalprep.temporary import OwnFolder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Row = dict[str, Any]
Numbered = tuple[int, Row]
"""The number of a row among those that are kept, and the row."""
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
        as_json: Whether the rows lie as JSON in a column of their own.
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch], key: str, *, as_json: bool = False
    ) -> None:
        self._key = key
        self._as_json = as_json
        self._folder = OwnFolder("join")
        import pyarrow as pa

        # The batches are mapped from a file, so that they need no memory.
        path = Path(self._folder.name) / "rows.arrow"
        tables = regrouped(batches, STORED_ROWS, most_bytes=STORED_BYTES)
        first = next(tables, None)
        if first is None:
            self._batches = []
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, first.schema) as writer:
                for table in chain([first], tables):
                    writer.write_table(table.combine_chunks())
            reader = pa.ipc.open_file(pa.memory_map(str(path)))
            self._batches = [
                reader.get_batch(number) for number in range(reader.num_record_batches)
            ]
        self._starts = _starts(self._batches)
        self._indexes: dict[Callable[[str], str] | None, _Index] = {}

    @classmethod
    def of_columns(cls, batches: Iterable[pa.RecordBatch], key: str) -> KeyedRows:
        """Keeps the rows of batches of one plain schema, which has the column `key`."""
        with_key = (
            batch.filter(batch.column(key).is_valid()) if batch.column(key).null_count else batch
            for batch in batches
        )
        return cls(with_key, key)

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
        return cls(_encoded(rows, key, as_stored), _TEXT, as_json=True)

    def matches(
        self, texts: Sequence[str], form: Callable[[str], str] | None
    ) -> list[list[Numbered]]:
        """Returns for each text, in order, the rows whose text has this form.

        Args:
            texts: Texts in the form that is looked for.
            form: Brings the text of a stored row into that form; None leaves it as it is.
        """
        index = self._index(form)
        low, high = index.ranges(texts)
        begin = 0
        results: list[list[Numbered]] = []
        for end in _parts(high - low):
            part = slice(begin, end)
            counts = (high - low)[part]
            candidates = self._taken(index.numbers_between(low[part], high[part]), form)
            results += _grouped(candidates, texts[part], counts.tolist())
            begin = end
        return results

    def only_matches(self, texts: Sequence[str | None]) -> list[Row | None]:
        """Returns for each text the row that alone has it; None where there is none, or several."""
        places, candidates = self._index(None).lone(texts)
        stored = self._texts_and_rows(candidates)
        rows: list[Row | None] = [None] * len(texts)
        for place, text, row in zip(places.tolist(), *stored, strict=True):
            if text == texts[place]:
                rows[place] = row
        return rows

    def only_rows(self, texts: pa.Array) -> np.ndarray:
        """Returns for each text the number of the row that alone has it; -1 where there is none.

        Args:
            texts: Texts as they are, without nulls.
        """
        import numpy as np
        import pyarrow.compute as pc

        places, candidates = self._index(None).lone(texts.to_pylist())
        numbers = np.full(len(texts), -1, dtype=np.int64)
        if len(places):
            stored = self._ascending(candidates, [self._key]).column(0).combine_chunks()
            searched = texts.take(whole_numbers(places))
            if searched.type != stored.type:
                searched = searched.cast(stored.type)
            is_same = pc.equal(stored, searched).to_numpy(zero_copy_only=False)
            numbers[places[is_same]] = candidates[is_same]
        return numbers

    def columns(self, numbers: np.ndarray, names: Sequence[str]) -> list[pa.Array]:
        """Returns columns of the rows of at least one number, in the order of the numbers.

        Raises:
            BadInput: values that an Arrow array cannot hold.
        """
        if not self._as_json:
            return self._columns(numbers, names)
        (payloads,) = self._columns(numbers, [_PAYLOAD])
        rows = [json.loads(payload) for payload in payloads.to_pylist()]
        return [
            column_array(
                name,
                [row.get(name) for row in rows],
                of="the ground truth",
                place=lambda number: f"row {str(rows[number])[:80]}",
            )
            for name in names
        ]

    def close(self) -> None:
        """Frees the file."""
        self._batches = []
        self._indexes = {}
        self._folder.cleanup()

    def _index(self, form: Callable[[str], str] | None) -> _Index:
        if form not in self._indexes:
            columns = (batch.column(self._key) for batch in self._batches)
            texts = (_formed(column.to_pylist(), form) for column in columns)
            self._indexes[form] = _Index.of(texts)
        return self._indexes[form]

    def _taken(
        self, numbers: np.ndarray, form: Callable[[str], str] | None
    ) -> list[tuple[str, Numbered]]:
        """The rows of these numbers, in this order, each after its text in a form."""
        import numpy as np

        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        texts, rows = self._texts_and_rows(ascending)
        numbered = zip(ascending.tolist(), rows, strict=True)
        pairs = list(zip(_formed(texts, form), numbered, strict=True))
        return [pairs[place] for place in _inverse(order).tolist()]

    def _texts_and_rows(self, numbers: np.ndarray) -> tuple[list[str], list[Row]]:
        """The texts of the rows of numbers that ascend, and these rows."""
        if not len(numbers):
            return [], []
        table = self._ascending(numbers)
        if self._as_json:
            rows = [json.loads(payload) for payload in table.column(_PAYLOAD).to_pylist()]
            return table.column(self._key).to_pylist(), rows
        rows = table.to_pylist()
        return [row[self._key] for row in rows], rows

    def _columns(self, numbers: np.ndarray, names: Sequence[str]) -> list[pa.Array]:
        """Columns as they are stored, of the rows of these numbers, in this order."""
        import numpy as np

        order = np.argsort(numbers, kind="stable")
        table = self._ascending(numbers[order], names)
        places = whole_numbers(_inverse(order))
        return [column.combine_chunks().take(places) for column in table.itercolumns()]

    def _ascending(self, numbers: np.ndarray, names: Sequence[str] | None = None) -> pa.Table:
        """The rows of numbers that ascend.

        Args:
            numbers: At least one.
            names: The columns that are needed; None for all.
        """
        import numpy as np
        import pyarrow as pa

        cuts = np.searchsorted(numbers, self._starts)
        ends = [*cuts[1:], len(numbers)]
        is_few = len(numbers) <= FEW_ROWS
        parts: list[pa.RecordBatch] = []
        for whole, start, begin, end in zip(self._batches, self._starts, cuts, ends, strict=True):
            batch = whole if names is None else whole.select(names)
            places = numbers[begin:end] - start
            if is_few:
                parts += [batch.slice(place, 1) for place in places.tolist()]
            elif len(places):
                parts.append(batch.take(whole_numbers(places)))
        return pa.Table.from_batches(parts)


@dataclass(frozen=True)
class _Index:
    """Hashes of texts in ascending order, and the row of each; rows of one hash in their order."""

    hashes: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[list[str]]) -> _Index:
        import numpy as np

        parts = [np.empty(0, dtype=np.int64), *map(hashes_of, texts)]
        hashes = np.concatenate(parts)
        numbers = np.argsort(hashes, kind="stable")
        return cls(hashes[numbers], numbers)

    def ranges(self, texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
        """The places at which the hash of each text begins and ends."""
        import numpy as np

        hashes = hashes_of(texts)
        order = np.argsort(hashes)  # neighbours lie on pages that are in the processor's cache
        ascending = hashes[order]
        begins = np.searchsorted(self.hashes, ascending, side="left")
        ends = begins + self._are_at(begins, ascending)
        several = self._are_at(ends, ascending)
        ends[several] = np.searchsorted(self.hashes, ascending[several], side="right")
        low, high = np.empty_like(order), np.empty_like(order)
        low[order], high[order] = begins, ends
        return low, high

    def lone(self, texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
        """The places of the texts whose hash one row alone has, and these rows, ascending."""
        import numpy as np

        low, high = self.ranges(texts)
        places = np.flatnonzero(high - low == 1)
        rows = np.take(self.numbers, low[places])
        order = np.argsort(rows, kind="stable")
        return places[order], rows[order]

    def _are_at(self, places: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Returns whether each hash is at its place."""
        import numpy as np

        at = np.zeros(len(places), dtype=bool)
        inside = places < len(self.hashes)
        at[inside] = self.hashes[places[inside]] == hashes[inside]
        return at

    def numbers_between(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The rows of all places of several ranges, range by range."""
        import numpy as np

        counts = high - low
        before = np.cumsum(counts) - counts
        places: np.ndarray = np.arange(counts.sum()) + np.repeat(low - before, counts)
        return np.take(self.numbers, places)


def _inverse(order: np.ndarray) -> np.ndarray:
    """The place of each number in an order."""
    import numpy as np

    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _parts(counts: np.ndarray) -> list[int]:
    """Ends of runs of texts that have about `FOUND_ROWS` candidates together, or are one text."""
    import numpy as np

    numbers = np.cumsum(counts) // FOUND_ROWS
    return [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(counts)]


def _grouped(
    candidates: Sequence[tuple[str, Numbered]], texts: Sequence[str], counts: Sequence[int]
) -> Iterator[list[Numbered]]:
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


def _starts(batches: Iterable[pa.RecordBatch]) -> np.ndarray:
    """The number of the first row of each batch."""
    import numpy as np

    counts = [batch.num_rows for batch in batches]
    return np.array([0, *accumulate(counts)][: len(counts)], dtype=np.int64)
