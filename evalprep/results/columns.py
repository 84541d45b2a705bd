"""Decoded lines of a samples file, gathered into columns."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evalprep.results.sample import ID_COLUMNS, Damage, number_of
from evalprep.results.table import UNKNOWN, Table


class DocHead(msgspec.Struct, gc=False):
    """The few columns of a row that a table needs; msgspec skips the others without building them."""

    sample_id: Any = None
    id: Any = None
    question_id: Any = None
    uid: Any = None
    subtask_name: Any = None
    cluster_id: Any = None
    previously_is_correct: Any = None
    prompt: Any = None


def line_decoder(metrics: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """A decoder for lines with these metrics; it meets names as the harness wrote them, whatever they contain."""
    renamed = {f"metric_{number}": name for number, name in enumerate(metrics)}
    fields: list[Any] = [
        ("doc", DocHead),
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


class _Codes(dict[Any, int]):
    """Value -> small number, in order of appearance; -1 for None. `names` holds the values as text."""

    def __init__(self) -> None:
        super().__init__({None: UNKNOWN})
        self.names: list[str] = []

    def __missing__(self, value: Any) -> int:
        name = str(value)
        if isinstance(value, str) or name not in self:
            self.names.append(name)
            self[name] = len(self.names) - 1
        code = self[name]
        if isinstance(value, (int, float)):
            self[value] = code
        return code

    def of(self, values: list[Any]) -> list[int]:
        """The numbers of some values; lists and mappings count by their text."""
        try:
            return [self[value] for value in values]
        except TypeError:
            return [self[value if isinstance(value, (str, type(None))) else str(value)] for value in values]


def _leading64(digest: str) -> int:
    """The first 64 bits of a hexadecimal digest; 0 for none, of any other text those of its own digest."""
    try:
        return int(digest[:16] or "0", 16)
    except ValueError:
        return int(hashlib.sha256(digest.encode("utf-8", "surrogatepass")).hexdigest()[:16], 16)


def _as_prepared(line: Any) -> int:
    prompt = line.doc.prompt
    if not isinstance(prompt, str) or not line.prompt_hash:
        return UNKNOWN
    return int(hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest() == line.prompt_hash)


def _verdict(value: Any) -> int:
    return UNKNOWN if value is None else int(value in (True, 1, 1.0, "true", "True"))


# As text of the file: decoding every answer would cost a third of the time.
_INVALIDS = frozenset({b'["[invalid]"]', b'[["[invalid]"]]'})
# Lines whose columns are built together: a list per column costs less than a call per line, and 256 lines still fit
# into the processor's cache.
_BATCH = 256
_LARGEST = 2**63 - 1


class TableBuilder:
    """Gathers lines of one filter into the columns of a `Table`."""

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
        ints["doc_id"].extend([line.doc_id if abs(line.doc_id) <= _LARGEST else UNKNOWN for line in lines])
        ints["subtask"].extend(self.subtasks.of([doc.subtask_name for doc in docs]))
        ints["cluster"].extend(self.clusters.of([doc.cluster_id for doc in docs]))
        ints["offset"].extend(self.places)
        ints["length"].extend(self.lengths)
        self.hashes["prompt_hash"].extend([_leading64(line.prompt_hash) for line in lines])
        digests = b"".join([hashlib.blake2b(line.resps, digest_size=8).digest() for line in lines])
        self.hashes["response_hash"].frombytes(digests)
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
        """The finished table."""
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
            subtasks=self.subtasks.names,
            clusters=self.clusters.names,
            metrics={name: np.frombuffer(column, dtype=np.float64) for name, column in self.metrics.items()},
            weights={name: np.frombuffer(self.weights[name], dtype=np.float64) for name in sorted(self.listed)},
            filters=filters,
            damage=damage,
        )
