"""The samples of one task under one filter as columns of numbers: small enough for a million rows.

Texts stay in the file; each row knows its place there (`offset`, `length`), so that the few rows that a comparison
prints are read back on demand.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
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


def _hash64(data: bytes | msgspec.Raw) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def _leading64(digest: str) -> int:
    """The first 64 bits of a hexadecimal digest; 0 for none."""
    try:
        return int(digest[:16], 16) if digest else 0
    except ValueError:
        return _hash64(digest.encode("utf-8", "surrogatepass"))


def _as_prepared(line: Any) -> int:
    prompt = line.doc.prompt
    if not isinstance(prompt, str) or not line.prompt_hash:
        return UNKNOWN
    return int(hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest() == line.prompt_hash)


def _verdict(value: Any) -> int:
    return UNKNOWN if value is None else int(value in (True, 1, 1.0, "true", "True"))


_INVALIDS = frozenset(
    {b'["[invalid]"]', b'[["[invalid]"]]'}  # as text of the file: decoding every answer would cost a third of the time
)


_Layout = tuple[tuple[str, ...], msgspec.json.Decoder[Any]]  # metric names, decoder
_BATCH = 2_048  # lines whose columns are built together: a list per column costs far less than a call per line


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
        self.waiting: list[Any] = []
        self.places: list[int] = []
        self.lengths: list[int] = []

    def add(self, line: Any, offset: int, length: int) -> bool:
        """Note one line; True when the batch is full and has to be flushed."""
        self.waiting.append(line)
        self.places.append(offset)
        self.lengths.append(length)
        return len(self.waiting) >= _BATCH

    def flush(self, names: tuple[str, ...], columns: Sequence[list[Any]] | None = None) -> None:
        """Turn the noted lines, all with these metrics, into columns."""
        lines = self.waiting
        if not lines:
            return
        start = len(self.ids)
        docs = [line.doc for line in lines]
        self._add_ids(lines)
        ints, flags = self.ints, self.flags
        ints["doc_id"].extend([line.doc_id for line in lines])
        ints["subtask"].extend([self.subtasks(doc.subtask_name) for doc in docs])
        ints["cluster"].extend([self.clusters(doc.cluster_id) for doc in docs])
        ints["offset"].extend(self.places)
        ints["length"].extend(self.lengths)
        self.hashes["prompt_hash"].extend([_leading64(line.prompt_hash) for line in lines])
        self.hashes["response_hash"].extend([_hash64(line.resps) for line in lines])
        flags["prompt_as_prepared"].extend([_as_prepared(line) for line in lines])
        flags["previous"].extend([_verdict(doc.previously_is_correct) for doc in docs])
        unparsed = [bytes(line.filtered_resps) in _INVALIDS for line in lines]
        if columns is None:
            columns = [[getattr(line, f"metric_{at}") for line in lines] for at in range(len(names))]
        for name, values in zip(names, columns, strict=True):
            if name == "unparsed":
                unparsed = [one or value in (True, 1) for one, value in zip(unparsed, values, strict=True)]
            self._add_metric(name, values, start)
        flags["unparsed"].extend(unparsed)
        self.waiting, self.places, self.lengths = [], [], []

    def _add_metric(self, name: str, values: list[Any], start: int) -> None:
        column = self.metrics.setdefault(name, array("d"))
        weights = self.weights.setdefault(name, array("d"))
        # A metric that earlier lines lacked catches up here.
        column.extend([np.nan] * (start - len(column)))
        weights.extend([0.0] * (start - len(weights)))
        kinds = set(map(type, values))
        if kinds <= {float, bool}:
            column.extend(values)
            weights.extend([1.0] * len(values))
            return
        pairs = [number_of(value) for value in values]
        column.extend([number for number, _ in pairs])
        weights.extend([float(weight) for _, weight in pairs])
        if list in kinds:
            self.listed.add(name)

    def _add_ids(self, lines: list[Any]) -> None:
        if self.wanted_source is not None:
            self.ids += [str(getattr(line, self.wanted_source)) for line in lines]
            return
        plain = [line.doc.sample_id for line in lines]
        if all(type(one) is str and one for one in plain):
            self.ids += plain
            self.sources["sample_id"] = self.sources.get("sample_id", 0) + len(plain)
            return
        for line in lines:
            for column in ID_COLUMNS:
                value = getattr(line.doc, column)
                if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
                    break
            else:
                column = "doc_hash" if line.doc_hash else "doc_id"
                value = getattr(line, column)
            self.sources[column] = self.sources.get(column, 0) + 1
            self.ids.append(str(value))

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
    layouts: dict[tuple[str, ...], _Layout] = {}
    names: tuple[str, ...] = ()
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
                    layouts[logged] = (names, _decoder(names))
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
