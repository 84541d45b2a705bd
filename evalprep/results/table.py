"""The samples of one task under one filter as columns of numbers: small enough for a million rows.

Texts stay in the file; each row knows its place there (`offset`, `length`), so that the few rows that a comparison
prints are read back on demand.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.results.sample import ID_COLUMNS, INVALID, RESERVED, Damage, Sample, number_of, parse

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.int8]
UNKNOWN = -1  # of a flag; also the code of "no cluster" and "no subtask"


@dataclass
class Table:
    """Columns of equal length, one row per document.

    Args:
        path: The samples file.
        filter: The filter whose lines these are.
        ids: Row identity, as text.
        id_source: The column that `ids` come from.
        doc_id: Position in the split.
        prompt_hash: First 64 bits of the harness' sha256 of the prompt.
        prompt_as_prepared: 1 the prompt sent is `doc.prompt`, 0 it is not, -1 there is no such column.
        response_hash: 64 bits over the raw replies.
        previous: The published verdict; 1, 0 or -1 for none.
        unparsed: 1 when nothing could be extracted from the reply.
        subtask, cluster: Codes into `subtasks` and `clusters`; -1 for none.
        offset, length: Place of the line in the file, in bytes.
        metrics: Metric name -> values, NaN where a value is missing or not a number.
        weights: Metric name -> number of values behind each mean, only for metrics that return lists.
        filters: Every filter in the file -> its number of lines.
        damage: Lines that could not be used.
    """

    path: Path
    filter: str
    ids: list[str]
    id_source: str
    doc_id: Ints
    prompt_hash: NDArray[np.uint64]
    prompt_as_prepared: Flags
    response_hash: NDArray[np.uint64]
    previous: Flags
    unparsed: Flags
    subtask: Ints
    cluster: Ints
    offset: Ints
    length: Ints
    subtasks: list[str]
    clusters: list[str]
    metrics: dict[str, Floats]
    weights: dict[str, Floats]
    filters: dict[str, int] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, rows: Iterable[int]) -> Iterator[Sample]:
        """The full samples of some rows, in the order asked for."""
        with self.path.open("rb") as file:
            for row in rows:
                file.seek(int(self.offset[row]))
                sample = parse(file.read(int(self.length[row])))
                if isinstance(sample, Sample):
                    sample.sample_id = self.ids[row]
                    yield sample

    def duplicates(self) -> list[str]:
        """Ids that occur more than once, in order of their second appearance."""
        if len(set(self.ids)) == len(self.ids):
            return []
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for one in self.ids:
            if one in seen:
                twice[one] = None
            seen.add(one)
        return list(twice)


class _Doc(msgspec.Struct, gc=False):
    """The few columns of a row that a table needs; msgspec skips the others without building them."""

    sample_id: Any = None
    id: Any = None
    question_id: Any = None
    uid: Any = None
    subtask_name: Any = None
    cluster_id: Any = None
    previously_is_correct: Any = None
    prompt: Any = None


def _decoder(metrics: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """A decoder for lines with these metrics; it meets names as the harness wrote them, whatever they contain."""
    renamed = {f"metric_{number}": name for number, name in enumerate(metrics)}
    fields: list[Any] = [
        ("doc", _Doc),
        ("filter", str, "none"),
        ("doc_id", int, -1),
        ("metrics", tuple[str, ...], ()),
        ("doc_hash", str, ""),
        ("prompt_hash", str, ""),
        ("resps", msgspec.Raw, msgspec.Raw(b"")),
        ("filtered_resps", msgspec.Raw, msgspec.Raw(b"")),
        *((attribute, Any, None) for attribute in renamed),
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Line", fields, rename=renamed, gc=False))


class _Codes:
    """Text -> small number, in order of appearance."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, value: Any) -> int:
        if value is None:
            return UNKNOWN
        return self.known.setdefault(str(value), len(self.known))


def _hash64(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


_INVALIDS = frozenset(
    {b'["[invalid]"]', b'[["[invalid]"]]'}  # as text of the file: decoding every answer would cost a third of the time
)


class _Builder:
    def __init__(self, filter_name: str, id_source: str | None) -> None:
        self.filter = filter_name
        self.wanted_source = id_source
        self.ids: list[str] = []
        self.sources: dict[str, int] = {}
        self.ints = {name: array("q") for name in ("doc_id", "subtask", "cluster", "offset", "length")}
        self.hashes = {name: array("Q") for name in ("prompt_hash", "response_hash")}
        self.flags = {name: array("b") for name in ("prompt_as_prepared", "previous", "unparsed")}
        self.metrics: dict[str, array[float]] = {}
        self.weights: dict[str, array[float]] = {}
        self.listed: set[str] = set()
        self.subtasks, self.clusters = _Codes(), _Codes()

    def add(self, line: Any, names: tuple[str, ...], values: Iterable[Any], offset: int, length: int) -> None:
        doc = line.doc
        self.ids.append(self._id(line))
        ints, flags, hashes = self.ints, self.flags, self.hashes
        ints["doc_id"].append(line.doc_id)
        ints["subtask"].append(self.subtasks(doc.subtask_name))
        ints["cluster"].append(self.clusters(doc.cluster_id))
        ints["offset"].append(offset)
        ints["length"].append(length)
        sent = line.prompt_hash
        try:
            hashes["prompt_hash"].append(int(sent[:16], 16) if sent else 0)
        except ValueError:
            hashes["prompt_hash"].append(_hash64(sent.encode()))
        prepared = UNKNOWN
        if isinstance(doc.prompt, str) and sent:
            prepared = int(hashlib.sha256(doc.prompt.encode("utf-8", "surrogatepass")).hexdigest() == sent)
        flags["prompt_as_prepared"].append(prepared)
        hashes["response_hash"].append(_hash64(bytes(line.resps)))
        previous = doc.previously_is_correct
        flags["previous"].append(UNKNOWN if previous is None else int(previous in (True, 1, 1.0, "true", "True")))
        filtered = bytes(line.filtered_resps)
        unparsed = filtered in _INVALIDS
        row = len(self.ids) - 1
        for name, value in zip(names, values, strict=True):
            if name == "unparsed":
                unparsed = unparsed or value in (True, 1)
            column = self.metrics.get(name)
            if column is None:
                column = self.metrics[name] = array("d", [np.nan]) * row
                self.weights[name] = array("d", [0.0]) * row
            number, weight = number_of(value)
            # A metric that earlier lines lacked catches up here.
            column.extend([np.nan] * (row - len(column)))
            self.weights[name].extend([0.0] * (row - len(self.weights[name])))
            column.append(number)
            self.weights[name].append(weight)
            if isinstance(value, list):
                self.listed.add(name)
        flags["unparsed"].append(int(unparsed))

    def _id(self, line: Any) -> str:
        if self.wanted_source in {"doc_hash", "doc_id"}:
            return str(getattr(line, self.wanted_source))
        doc = line.doc
        for column in ID_COLUMNS:
            value = getattr(doc, column)
            if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
                break
        else:
            column = "doc_hash" if line.doc_hash else "doc_id"
            value = getattr(line, column)
        self.sources[column] = self.sources.get(column, 0) + 1
        return str(value)

    def build(self, path: Path, filters: dict[str, int], damage: list[Damage]) -> Table:
        size = len(self.ids)
        for columns, empty in ((self.metrics, np.nan), (self.weights, 0.0)):
            for column in columns.values():
                column.extend([empty] * (size - len(column)))
        source = self.wanted_source or (
            max(self.sources, key=self.sources.__getitem__) if self.sources else "sample_id"
        )
        return Table(
            path=path,
            filter=self.filter,
            ids=self.ids,
            id_source=source,
            doc_id=np.frombuffer(self.ints["doc_id"], dtype=np.int64),
            prompt_hash=np.frombuffer(self.hashes["prompt_hash"], dtype=np.uint64),
            prompt_as_prepared=np.frombuffer(self.flags["prompt_as_prepared"], dtype=np.int8),
            response_hash=np.frombuffer(self.hashes["response_hash"], dtype=np.uint64),
            previous=np.frombuffer(self.flags["previous"], dtype=np.int8),
            unparsed=np.frombuffer(self.flags["unparsed"], dtype=np.int8),
            subtask=np.frombuffer(self.ints["subtask"], dtype=np.int64),
            cluster=np.frombuffer(self.ints["cluster"], dtype=np.int64),
            offset=np.frombuffer(self.ints["offset"], dtype=np.int64),
            length=np.frombuffer(self.ints["length"], dtype=np.int64),
            subtasks=list(self.subtasks.known),
            clusters=list(self.clusters.known),
            metrics={name: np.frombuffer(column, dtype=np.float64) for name, column in self.metrics.items()},
            weights={name: np.frombuffer(self.weights[name], dtype=np.float64) for name in sorted(self.listed)},
            filters=filters,
            damage=damage,
        )


def read_table(path: Path, filter_name: str, *, id_source: str | None = None) -> Table:
    """Read one filter of a samples file into columns, in one pass.

    Args:
        path: The samples file.
        filter_name: The filter whose lines are wanted.
        id_source: `doc_hash` or `doc_id` to identify rows by that; by default by an id column where there is one. An
            id column other than `sample_id` that turns out to repeat gives way to `doc_hash`.
    """
    builder = _Builder(filter_name, id_source)
    filters: dict[str, int] = {}
    damage: list[Damage] = []
    logged: tuple[str, ...] = ()  # the metrics of the line before; nearly always those of every line
    layouts: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...], msgspec.json.Decoder[Any]]] = {}
    names: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    decoder = _decoder(names)
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
                    builder.add(_as_line(item), tuple(item.metrics), item.metrics.values(), place, len(raw))
                continue
            filters[line.filter] = filters.get(line.filter, 0) + 1
            if line.filter != filter_name:
                continue
            if line.metrics != logged:
                logged = line.metrics
                if logged not in layouts:
                    names = tuple(dict.fromkeys(name for name in logged if name not in RESERVED))
                    layouts[logged] = (names, tuple(f"metric_{at}" for at in range(len(names))), _decoder(names))
                names, attributes, decoder = layouts[logged]
                line = decoder.decode(raw)
            builder.add(line, names, [getattr(line, one) for one in attributes], place, len(raw))
    table = builder.build(path, filters, damage)
    if id_source is None and table.id_source not in {"sample_id", "doc_hash", "doc_id"} and table.duplicates():
        return read_table(path, filter_name, id_source="doc_hash")
    return table


class _SlowLine(msgspec.Struct):
    """A line that only the tolerant reader could decode, in the shape of the fast one."""

    doc: _Doc
    doc_id: int
    doc_hash: str
    prompt_hash: str
    resps: bytes
    filtered_resps: bytes


def _as_line(sample: Sample) -> _SlowLine:
    head = _Doc(**{name: sample.doc.get(name) for name in _Doc.__struct_fields__})
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
