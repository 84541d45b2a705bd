"""Decoded lines of a samples file, gathered into columns."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from evalprep.results.lines import ABSENT, FIELDS, Head
from evalprep.results.sample import ID_COLUMNS, OVER_ALL_ROWS, UNKNOWN, Damage, number_of, row_id, verdict_of
from evalprep.results.table import Table


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

    def of(self, values: Sequence[Any]) -> list[int]:
        """The numbers of some values; lists and mappings count by their text."""
        try:
            return [self[value] for value in values]
        except TypeError:
            return [self[value if isinstance(value, (str, type(None))) else str(value)] for value in values]


def _leading64(digests: Sequence[str]) -> list[int]:
    """The first 64 bits of hexadecimal digests; 0 for none, of any other text those of its own digest."""
    try:
        return [int(digest[:16] or "0", 16) for digest in digests]
    except ValueError:
        return [
            int((digest if _HEXADECIMAL.fullmatch(digest) else _sha256(digest))[:16] or "0", 16) for digest in digests
        ]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _as_prepared(prompt: msgspec.Raw, prompt_hash: str) -> int:
    """Whether the prompt of this hash is `doc.prompt`; `UNKNOWN` without one of them."""
    raw = bytes(prompt)
    if not raw.startswith(b'"') or not prompt_hash:
        return UNKNOWN
    try:
        return int(_sha256(json.loads(raw)) == prompt_hash)
    except ValueError:  # a text that is not UTF-8
        return UNKNOWN


class _Verdicts(dict[Any, int]):
    """Published verdicts as flags, each value looked at once."""

    def __missing__(self, value: Any) -> int:
        self[value] = verdict_of(value)
        return self[value]

    def of(self, values: Sequence[Any]) -> list[int]:
        try:
            return [self[value] for value in values]
        except TypeError:
            return [verdict_of(value) for value in values]


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Infinite scores are none: no mean, difference or verdict could be drawn from them."""
    bad = np.isinf(values)
    return np.where(bad, np.nan, values) if bad.any() else values


_HEXADECIMAL = re.compile("[0-9a-fA-F]*")
_INVALIDS = (msgspec.Raw(b'["[invalid]"]'), msgspec.Raw(b'[["[invalid]"]]'))
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
        self.listed: set[str] = set()  # metrics of which a row may have several values
        self.subtasks, self.clusters, self.verdicts = _Codes(), _Codes(), _Verdicts()

    def add(self, lines: Sequence[Any], names: tuple[str, ...], offsets: list[int], lengths: list[int]) -> None:
        """Add lines of one layout.

        Args:
            lines: At least one.
            names: Their metrics.
            offsets: Place of each line in the file, in bytes.
            lengths: Its length there.
        """
        start = len(self.ids)
        values = list(zip(*map(astuple, lines), strict=True))
        column = dict(zip(FIELDS, values, strict=False))
        head = dict(zip(Head.__struct_fields__, zip(*map(astuple, column["doc"]), strict=True), strict=True))
        self._add_ids(head, column)
        ints, flags = self.ints, self.flags
        ints["doc_id"].extend([one if abs(one) <= _LARGEST else UNKNOWN for one in column["doc_id"]])
        ints["subtask"].extend(self.subtasks.of(head["subtask_name"]))
        ints["cluster"].extend(self.clusters.of(head["cluster_id"]))
        ints["offset"].extend(offsets)
        ints["length"].extend(lengths)
        self.hashes["prompt_hash"].extend(_leading64(column["prompt_hash"]))
        self.hashes["response_hash"].extend([len(raw) << 32 | zlib.crc32(raw) for raw in column["resps"]])
        flags["previous"].extend(self.verdicts.of(head["previously_is_correct"]))
        # The same text in the same spelling, nearly always; that spares a digest of every prompt.
        sent = [requests.gen_args_0.arg_0 for requests in column["arguments"]]
        flags["prompt_as_prepared"].extend(
            [
                1 if prompt == one and prompt is not ABSENT else _as_prepared(prompt, digest)
                for prompt, one, digest in zip(head["prompt"], sent, column["prompt_hash"], strict=True)
            ]
        )
        unparsed = [raw in _INVALIDS for raw in column["filtered_resps"]]
        for name, metric in zip(names, values[len(FIELDS) :], strict=True):
            if name == "unparsed":
                unparsed = [one or value in (True, 1) for one, value in zip(unparsed, metric, strict=True)]
            self._add_metric(name, metric, start)
        flags["unparsed"].extend(unparsed)

    def _add_metric(self, name: str, values: Sequence[Any], start: int) -> None:
        column = self.metrics.setdefault(name, array("d"))
        weights = self.weights.setdefault(name, array("d"))
        # A metric that earlier lines lacked catches up here.
        column.extend([np.nan] * (start - len(column)))
        weights.extend([0.0] * (start - len(weights)))
        kinds = set(map(type, values))
        if kinds <= {float, bool} and name not in OVER_ALL_ROWS:
            column.extend(values)
            weights.extend([1.0] * len(values))
            return
        pairs = [number_of(value, name) for value in values]
        column.extend([number for number, _ in pairs])
        weights.extend([float(weight) for _, weight in pairs])
        if list in kinds:
            self.listed.add(name)

    def _add_ids(self, head: dict[str, tuple[Any, ...]], column: dict[str, tuple[Any, ...]]) -> None:
        if self.wanted_source is not None:
            self.ids += map(str, column[self.wanted_source])
            return
        plain = head["sample_id"]
        if set(map(type, plain)) == {str} and "" not in plain:
            self.ids += plain
            self.sources["sample_id"] = self.sources.get("sample_id", 0) + len(plain)
            return
        candidates = zip(*(head[name] for name in ID_COLUMNS), strict=True)
        for values, doc_hash, doc_id in zip(candidates, column["doc_hash"], column["doc_id"], strict=True):
            found, source = row_id(dict(zip(ID_COLUMNS, values, strict=True)), doc_hash, doc_id)
            self.ids.append(found)
            self.sources[source] = self.sources.get(source, 0) + 1

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
            metrics={name: _finite(np.frombuffer(column, dtype=np.float64)) for name, column in self.metrics.items()},
            weights={name: np.frombuffer(self.weights[name], dtype=np.float64) for name in sorted(self.listed)},
            filters=filters,
            damage=damage,
        )
