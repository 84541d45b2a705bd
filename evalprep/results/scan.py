"""Reading a samples file into a `Table`: a fast decoder for ordinary lines, a tolerant one for all others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from evalprep.results.columns import DocHead, TableBuilder, line_decoder
from evalprep.results.sample import INVALID, RESERVED, Damage, Sample, parse
from evalprep.results.table import Table

_Layout = tuple[tuple[str, ...], msgspec.json.Decoder[Any]]  # metric names, decoder


def read_table(path: Path, filter_name: str, *, id_source: str | None = None) -> Table:
    """Read one filter of a samples file into columns, in one pass.

    Args:
        path: The samples file.
        filter_name: The filter whose lines are wanted.
        id_source: `doc_hash` or `doc_id` to identify rows by that; by default by an id column where there is one. An
            id column other than `sample_id` that turns out to repeat gives way to `doc_hash`.
    """
    builder = TableBuilder(filter_name, id_source)
    filters: dict[str, int] = {}
    damage: list[Damage] = []
    logged: tuple[str, ...] = ()  # the metrics of the line before; nearly always those of every line
    layouts: dict[tuple[str, ...], _Layout] = {}
    names: tuple[str, ...] = ()
    decoder = line_decoder(names)
    offset = 0
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            place, offset = offset, offset + len(raw)
            try:
                line = decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                line = None
            if line is None or not line.metrics:
                item = parse(raw, number) if raw.strip() else Damage(number, "blank")
                if isinstance(item, Damage):
                    damage.append(item)
                    continue
                filters[item.filter] = filters.get(item.filter, 0) + 1
                if item.filter == filter_name:
                    builder.flush(names)
                    builder.add(_as_line(item), place, len(raw))
                    builder.flush(tuple(item.metrics), [[value] for value in item.metrics.values()])
                continue
            filters[line.filter] = filters.get(line.filter, 0) + 1
            if line.filter != filter_name:
                continue
            if line.metrics != logged:
                builder.flush(names)
                logged = line.metrics
                if logged not in layouts:
                    names = tuple(dict.fromkeys(name for name in logged if name not in RESERVED))
                    layouts[logged] = (names, line_decoder(names))
                names, decoder = layouts[logged]
                line = decoder.decode(raw)
            if builder.add(line, place, len(raw)):
                builder.flush(names)
    builder.flush(names)
    table = builder.build(path, filters, damage)
    if id_source is None and table.id_source not in {"sample_id", "doc_hash", "doc_id"} and table.duplicates():
        return read_table(path, filter_name, id_source="doc_hash")
    return table


class _SlowLine(msgspec.Struct):
    """A line that only the tolerant reader could decode, in the shape of the fast one."""

    doc: DocHead
    doc_id: int
    doc_hash: str
    prompt_hash: str
    resps: bytes
    filtered_resps: bytes


def _as_line(sample: Sample) -> _SlowLine:
    head = DocHead(**{name: sample.doc.get(name) for name in DocHead.__struct_fields__})
    return _SlowLine(
        head,
        sample.doc_id,
        sample.doc_hash,
        sample.prompt_hash,
        json.dumps(sample.resps, ensure_ascii=False).encode("utf-8", "surrogatepass"),  # as lm-eval writes it
        b'["[invalid]"]' if sample.filtered == INVALID else b"",
    )


def first_line(path: Path) -> Sample | None:
    """The first usable line of a samples file, or None."""
    with path.open("rb") as lines:
        for raw in lines:
            if raw.strip() and isinstance(item := parse(raw), Sample):
                return item
    return None
