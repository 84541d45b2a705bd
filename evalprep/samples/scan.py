"""Reading a samples file into a `Table`.

Whole blocks of ordinary lines are read at once, all others one by one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import compress, groupby, islice
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.files import MAX_DEPTH, is_deep, open_file
from evalprep.samples.columns import TableBuilder
from evalprep.samples.lines import ABSENT, FIELDS, Columns, Layout, columns_of, layout_of, names_in
from evalprep.samples.sample import UNDECODABLE, Damage, Sample, parse
from evalprep.samples.sources import (
    JoinedFiles,
    Place,
    Placed,
    SampleFile,
    SampleSource,
    samples_of,
)
from evalprep.samples.table import Table
from evalprep.terminal import tracked

# Bytes that are decoded at once: enough to make calls cheap, few enough for the processor's cache.
# Long lines come in up to twice as many, so that there are about so many lines in a block.
_BLOCK = 2**19
_LINES = 256
_LOOKED_FOR = 1000  # rows in which a metric is looked for that the first ones do not name
_Places = NDArray[np.int64]
_LOOKED_AT = 65_536  # bytes that tell how the lines of a file end
_METRICS, _FILTER = FIELDS.index("metrics"), FIELDS.index("filter")


def read_table(path: Path, filter_name: str, *, id_source: str | None = None) -> Table:
    """Reads one filter of a samples file into columns, in one pass.

    Args:
        path: The samples file.
        filter_name: The filter whose lines are wanted.
        id_source: `doc_hash` or `doc_id` to identify rows by that; by default by an id column where
            there is one. An id column other than `sample_id` that turns out to repeat gives way to
            `doc_hash`.
    """
    return table_of(SampleFile(path), filter_name, id_source=id_source)


def table_of(source: SampleSource, filter_name: str, *, id_source: str | None = None) -> Table:
    """`read_table` of any source."""
    scan = _Scan(TableBuilder(filter_name, id_source))
    files = source.parts if isinstance(source, JoinedFiles) else (source,)
    starts = source.starts if isinstance(source, JoinedFiles) else (0,)
    for start, part in zip(starts, files, strict=True):
        scan.go_to(start)
        if isinstance(part, SampleFile) and part.is_lines:
            scan.take_lines(part.path)
            continue
        placed = part.placed()
        while some := list(islice(placed, _LINES)):
            scan.take_samples(some)
    damage = scan.damage
    if damage and not scan.filters and isinstance(source, SampleFile):  # no line is a sample
        damage = [*_unlike_lines(source.path)] or damage
    table = scan.builder.build(source, scan.filters, damage)
    if _has_unfit_ids(table, id_source):
        return table_of(source, filter_name, id_source="doc_hash")
    return table


def _has_unfit_ids(table: Table, id_source: str | None) -> bool:
    """Returns whether rows were identified by a column that nobody chose and that repeats."""
    is_of_a_row = table.id_source in {"sample_id", "doc_hash", "doc_id"}
    return id_source is None and not is_of_a_row and table.repeated_ids.size > 0


def _unlike_lines(path: Path) -> Iterator[Damage]:
    """Yields the damage of a file whose samples are not one line each."""
    with open_file(path) as file:
        beginning = file.read(_LOOKED_AT).removeprefix(b"\xef\xbb\xbf")
    if b"\r" in beginning and b"\n" not in beginning:
        yield Damage(1, "lines end with CR alone, and must end with LF")
    elif beginning.partition(b"\n")[0].strip() in {b"{", b"["}:
        yield Damage(1, "pretty-printed: a sample takes several lines, and must take one")


class _Block(msgspec.Struct, frozen=True):
    """Whole lines of a file.

    Attributes:
        content: The bytes that begin with them; behind them may be the beginning of another line.
        starts, ends: Where each line begins and ends there, its line break included.
    """

    content: bytes
    starts: _Places
    ends: _Places

    @classmethod
    def of(cls, content: bytes) -> _Block:
        """The whole lines of some bytes; all of the bytes are one, where no line ends there."""
        ends = np.array(_line_ends(content) or [len(content)])
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        return cls(content, starts, ends)

    def __len__(self) -> int:
        """Returns how many lines there are."""
        return len(self.ends)

    @property
    def size(self) -> int:
        """Bytes of the lines."""
        return int(self.ends[-1])

    def has_objects(self) -> bool:
        """Returns whether a brace stands at both ends of every line.

        The decoder takes values wherever they begin; with these braces it finds one per line.
        """
        letters = np.frombuffer(self.content, dtype=np.uint8)
        openings, endings = letters[self.starts], letters[self.ends - len("}\n")]
        are_braces = bool((openings == ord("{")).all() and (endings == ord("}")).all())
        return are_braces and letters[self.size - 1] == ord("\n")

    def has_deep_line(self) -> bool:
        """Returns whether a line is nested in more levels than a file of JSON may be."""
        letters = np.frombuffer(self.content, dtype=np.uint8)[: self.size]
        is_opening = (letters & 0xDF) == ord("[")  # or {, by one bit less
        many = np.add.reduceat(is_opening, self.starts, dtype=np.uint32) > MAX_DEPTH
        bounds = zip(self.starts[many].tolist(), self.ends[many].tolist(), strict=True)
        return any(is_deep(self.content[start:end]) for start, end in bounds)


def _blocks(file: IO[bytes]) -> Iterator[_Block]:
    """Yields the lines of a file, some at once."""
    size = _BLOCK
    while content := file.read(size):
        block = _Block.of(content)
        is_cut = len(content) == size and not content.endswith(b"\n")
        if is_cut and block.size == size:  # not one whole line
            size *= 2
            file.seek(-len(content), os.SEEK_CUR)
            continue
        file.seek(block.size - len(content), os.SEEK_CUR)
        yield block
        length = block.size // len(block)
        size = max(_BLOCK, min(_LINES * length, 2 * _BLOCK), 2 * length)


def _lines_about(path: Path) -> int | None:
    """Returns how many lines a file has, by its size and its first ones.

    None where that cannot be told.
    """
    with open_file(path) as file:
        first = next(_blocks(file), None)
    return None if first is None else round(len(first) * path.stat().st_size / first.size)


class _Scan:
    """The state of one pass over a file."""

    def __init__(self, builder: TableBuilder) -> None:
        self.builder = builder
        self.filters: dict[str, int] = {}
        self.damage: list[Damage] = []
        self._layouts: dict[tuple[str, ...], Layout] = {}
        # That of the latest line, nearly always that of every line, and the list of metrics as it
        # is logged there; no list where only the tolerant reader could decode the line.
        self._layout, self._logged = self._layout_of(()), ABSENT
        self._offset = 0  # bytes before the block at hand
        self._number = 0  # lines before it

    def go_to(self, start: int) -> None:
        """Goes on with a file at whose beginning the place has some number."""
        self._offset = start

    def take_lines(self, path: Path) -> None:
        """Adds the lines of a file, which name their filters."""
        with open_file(path) as file:
            blocks = _blocks(file)
            for block in tracked(blocks, f"reading {path.name}", _lines_about(path), rows=len):
                if not self._all_at_once(block):
                    self._one_by_one(block)
                self._offset += block.size
                self._number += len(block)

    def take_samples(self, some: Iterable[Placed]) -> None:
        """Adds samples and damaged lines."""
        usable: list[tuple[Place, Sample]] = []
        for place, item in some:
            if isinstance(item, Damage):
                self.damage.append(item)
            else:
                usable.append((place, item))
        for names, alike in groupby(usable, key=lambda placed: tuple(placed[1].metrics)):
            layout = self._layout_of(names)
            places, samples = zip(*alike, strict=True)
            starts, lengths = np.array(places, dtype=np.int64).T
            self._add(layout, columns_of(map(layout.line, samples)), starts, starts + lengths)

    def _layout_of(self, logged: tuple[str, ...]) -> Layout:
        if logged not in self._layouts:
            self._layouts[logged] = layout_of(logged)
        return self._layouts[logged]

    def _takes_layout_of(self, line: Any) -> bool:
        """Makes the layout of a line that of the scan; returns whether it was another one.

        Raises:
            DecodeError, UnicodeDecodeError: its metrics are no list of names.
        """
        if line.metrics == self._logged:
            return False
        previous = self._layout
        self._layout = self._layout_of(names_in(line.metrics))
        self._logged = line.metrics.copy()  # without the block in which it lies
        return self._layout is not previous

    def _lists_metrics(self, line: Any) -> bool:
        """Returns whether a line in the layout of the scan names its metrics."""
        return bool(line.metrics and self._layout.logged)

    def _all_at_once(self, block: _Block) -> bool:
        """Adds a block of ordinary lines that log the same metrics.

        For any other block it adds nothing and returns False.
        """
        if not block.has_objects() or block.has_deep_line():
            return False
        content: Any = memoryview(block.content)[: block.size]  # without a copy
        try:
            self._takes_layout_of(self._layout.decoder.decode(content[: block.ends[0]]))
            lines = self._layout.decoder.decode_lines(content)
        except UNDECODABLE:
            return False
        columns = columns_of(lines)
        alike = columns[_METRICS].count(self._logged)
        if not self._lists_metrics(lines[0]) or not alike == len(lines) == len(block):
            return False
        self._add(self._layout, columns, block.starts, block.ends)
        return True

    def _one_by_one(self, block: _Block) -> None:
        lines: list[Any] = []  # of one layout
        places: list[int] = []  # of these in the block
        layout = self._layout
        bounds = zip(block.starts.tolist(), block.ends.tolist(), strict=True)
        for place, (start, end) in enumerate(bounds):
            line = self._line(block.content[start:end], self._number + place + 1)
            if self._layout is not layout:
                self._add(layout, columns_of(lines), block.starts[places], block.ends[places])
                layout, lines, places = self._layout, [], []
            if isinstance(line, Damage):
                self.damage.append(line)
            else:
                lines.append(line)
                places.append(place)
        self._add(layout, columns_of(lines), block.starts[places], block.ends[places])

    def _line(self, raw: bytes, number: int) -> Any:
        """One line in the layout of its metrics, which becomes that of the scan, or a `Damage`."""
        if is_deep(raw):
            return parse(raw, number)
        try:
            line = self._layout.decoder.decode(raw)
            if line.metrics and self._takes_layout_of(line):
                line = self._layout.decoder.decode(raw)
        except UNDECODABLE:
            line = None
        if line is not None and self._lists_metrics(line):
            return line
        item = parse(raw, number) if raw.strip() else Damage(number, "blank")
        if isinstance(item, Damage):
            return item
        self._layout, self._logged = self._layout_of(tuple(item.metrics)), ABSENT
        return self._layout.line(item)

    def _add(self, layout: Layout, columns: Columns, starts: _Places, ends: _Places) -> None:
        """Counts lines of one layout by filter, and adds those of the wanted one."""
        if not columns:
            return
        filter_name, filters = self.builder.filter, columns[_FILTER]
        wanted = filters.count(filter_name)
        for name in {filter_name} if wanted == len(filters) else set(filters):
            self.filters[name] = self.filters.get(name, 0) + filters.count(name)
        if wanted < len(filters):
            chosen = [name == filter_name for name in filters]
            columns = [tuple(compress(column, chosen)) for column in columns]
            starts, ends = starts[chosen], ends[chosen]
        if starts.size:
            self.builder.add(columns, layout.names, self._offset + starts, ends - starts)


def _line_ends(content: bytes) -> list[int]:
    """Returns where each whole line of some bytes ends, its line break included."""
    ends = []
    end = content.find(b"\n") + 1
    while end:
        ends.append(end)
        end = content.find(b"\n", end) + 1
    return ends


class FirstValues(msgspec.Struct, frozen=True):
    """The first value of each metric in the samples of a task.

    Attributes:
        filter: The filter of the first one.
        values: Metric -> the first value that is neither null, NaN nor a text; None where there is
            none.
    """

    filter: str = "none"
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def first_values(source: SampleSource, expected: Collection[str] = ()) -> FirstValues:
    """Reads the metrics of samples until each has a value.

    Null, NaN and texts stand in as many rows as they like; a metric that the first rows do not name
    is looked for in the first `_LOOKED_FOR` ones.

    Args:
        source: Where the samples are read from.
        expected: The metrics that rows should name.
    """
    values: dict[str, Any] = {}
    filter_name = ""
    samples = (item for item in samples_of(source) if isinstance(item, Sample))
    for number, sample in enumerate(samples):
        filter_name = filter_name or sample.filter
        for name, value in sample.metrics.items():
            if values.get(name) is None:
                values[name] = None if isinstance(value, str) or _is_nan(value) else value
        is_complete = values and None not in values.values()
        if is_complete and (number >= _LOOKED_FOR or values.keys() >= set(expected)):
            break
    return FirstValues(filter_name or "none", values)
