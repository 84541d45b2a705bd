"""Reading a samples file into a `Table`.

Whole blocks of ordinary lines at once, all others one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import numpy as np

from evalprep.results.columns import TableBuilder
from evalprep.results.lines import Layout
from evalprep.results.sample import UNDECODABLE, Damage, Sample, parse
from evalprep.results.table import Table
from evalprep.terminal import tracked

# Bytes that are decoded at once: enough to make calls cheap, few enough for the processor's cache.
_BLOCK = 2**18
_METRICS, _FILTER = attrgetter("metrics"), attrgetter("filter")


def read_table(path: Path, filter_name: str, *, id_source: str | None = None) -> Table:
    """Read one filter of a samples file into columns, in one pass.

    Args:
        path: The samples file.
        filter_name: The filter whose lines are wanted.
        id_source: `doc_hash` or `doc_id` to identify rows by that; by default by an id column where
            there is one. An id column other than `sample_id` that turns out to repeat gives way to
            `doc_hash`.
    """
    scan = _Scan(TableBuilder(filter_name, id_source))
    with path.open("rb") as file:
        for block in tracked(
            _blocks(file), f"reading {path.name}", _lines_about(path, file), rows=_count_lines
        ):
            scan.take(block)
    table = scan.builder.build(path, scan.filters, scan.damage)
    if (
        id_source is None
        and table.id_source not in {"sample_id", "doc_hash", "doc_id"}
        and table.duplicates()
    ):
        return read_table(path, filter_name, id_source="doc_hash")
    return table


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK) + file.readline():
        yield block


def _count_lines(block: bytes) -> int:
    return block.count(b"\n")


def _lines_about(path: Path, file: IO[bytes]) -> int | None:
    """How many lines a file has, by its size and its first ones; None where that cannot be told."""
    first = file.read(_BLOCK) + file.readline()
    file.seek(0)
    return round(_count_lines(first) * path.stat().st_size / len(first)) if first else None


class _Scan:
    """The state of one pass over a file."""

    def __init__(self, builder: TableBuilder) -> None:
        self.builder = builder
        self.filters: dict[str, int] = {}
        self.damage: list[Damage] = []
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self._layout = self._layout_of(
            ()
        )  # that of the latest line, nearly always that of every line
        self._offset = 0  # bytes before the block at hand
        self._number = 0  # lines before it

    def take(self, block: bytes) -> None:
        """Add the lines of a block, which ends where a line ends."""
        ends = _line_ends(block)
        if not self._all_at_once(block, ends):
            self._one_by_one(block, ends)
        self._offset += len(block)
        self._number += len(ends)

    def _layout_of(self, logged: tuple[str, ...]) -> Layout:
        if logged not in self._layouts:
            self._layouts[logged] = Layout(logged)
        return self._layouts[logged]

    def _all_at_once(self, block: bytes, ends: list[int]) -> bool:
        """Add a block of ordinary lines that log the same metrics.

        False, and nothing added, for any other.
        """
        starts = [0, *ends[:-1]]
        if not _has_objects(block, starts, ends):
            return False
        try:
            lines = self._layout.decoder.decode_lines(block)
            if lines[0].metrics != self._layout.logged:
                self._layout = self._layout_of(lines[0].metrics)
                lines = self._layout.decoder.decode_lines(block)
        except UNDECODABLE:
            return False
        logged = self._layout.logged
        alike = list(map(_METRICS, lines)).count(logged)
        if not logged or not alike == len(lines) == len(ends):
            return False
        self._add(self._layout, lines, starts, ends)
        return True

    def _one_by_one(self, block: bytes, ends: list[int]) -> None:
        alike: tuple[list[Any], list[int], list[int]] = (
            [],
            [],
            [],
        )  # lines of one layout, their starts and ends
        layout = self._layout
        start = 0
        for number, end in enumerate(ends, start=self._number + 1):
            line = self._line(block[start:end], number)
            if self._layout is not layout:
                self._add(layout, *alike)
                layout, alike = self._layout, ([], [], [])
            if isinstance(line, Damage):
                self.damage.append(line)
            else:
                for column, value in zip(alike, (line, start, end), strict=True):
                    column.append(value)
            start = end
        self._add(layout, *alike)

    def _line(self, raw: bytes, number: int) -> Any:
        """One line in the layout of its metrics, which becomes that of the scan, or a `Damage`."""
        try:
            line = self._layout.decoder.decode(raw)
            if line.metrics and line.metrics != self._layout.logged:
                self._layout = self._layout_of(line.metrics)
                line = self._layout.decoder.decode(raw)
        except UNDECODABLE:
            line = None
        if line is not None and line.metrics:
            return line
        item = parse(raw, number) if raw.strip() else Damage(number, "blank")
        if isinstance(item, Damage):
            return item
        self._layout = self._layout_of(tuple(item.metrics))
        return self._layout.line(item)

    def _add(self, layout: Layout, lines: list[Any], starts: list[int], ends: list[int]) -> None:
        """Count lines of one layout by filter, and add those of the wanted one."""
        filter_name = self.builder.filter
        filters = list(map(_FILTER, lines))
        for name in set(filters):
            self.filters[name] = self.filters.get(name, 0) + filters.count(name)
        if filters.count(filter_name) < len(lines):
            chosen = [name == filter_name for name in filters]
            lines, starts, ends = (list(compress(each, chosen)) for each in (lines, starts, ends))
        if lines:
            offsets = np.array(starts, dtype=np.int64)
            lengths = np.array(ends, dtype=np.int64) - offsets
            self.builder.add(lines, layout.names, self._offset + offsets, lengths)


def _line_ends(block: bytes) -> list[int]:
    """Where each line of a block ends, its line break included; the last may lack one."""
    ends = []
    end = block.find(b"\n") + 1
    while end:
        ends.append(end)
        end = block.find(b"\n", end) + 1
    if not block.endswith(b"\n"):
        ends.append(len(block))
    return ends


@dataclass(frozen=True)
class FirstValues:
    """The first value of each metric in a samples file.

    Attributes:
        filter: The filter of its first line.
        values: Metric -> the first value that is not null; None where every row holds null.
    """

    filter: str = "none"
    values: Mapping[str, Any] = field(default_factory=dict)


def _has_objects(block: bytes, starts: list[int], ends: list[int]) -> bool:
    """Returns whether a brace stands at both ends of every line.

    The decoder takes values wherever they begin; with these braces it finds one per line.
    """
    last_bytes = [end - len("}\n") for end in ends]
    openings = set(map(block.__getitem__, starts))
    endings = set(map(block.__getitem__, last_bytes))
    return openings == {ord("{")} and endings == {ord("}")} and block.endswith(b"\n")


def first_values(path: Path) -> FirstValues:
    """Reads the metrics of a samples file until each has a value.

    Null stands in as many rows as it likes.
    """
    values: dict[str, Any] = {}
    filter_name = ""
    for sample in _samples_of(path):
        filter_name = filter_name or sample.filter
        lacking = {name for name in sample.metrics if values.get(name) is None}
        values |= {name: sample.metrics[name] for name in sample.metrics if name in lacking}
        if values and None not in values.values():
            break
    return FirstValues(filter_name or "none", values)


def _samples_of(path: Path) -> Iterator[Sample]:
    """The readable samples of a file."""
    with path.open("rb") as lines:
        for raw in lines:
            sample = parse(raw) if raw.strip() else None
            if isinstance(sample, Sample):
                yield sample


def first_line(path: Path) -> Sample | None:
    """The first usable line of a samples file, or None."""
    with path.open("rb") as lines:
        for raw in lines:
            if raw.strip() and isinstance(item := parse(raw), Sample):
                return item
    return None
