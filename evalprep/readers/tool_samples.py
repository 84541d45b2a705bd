"""Rows of another tool as samples; repeats and metrics of a sample are put together when read."""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import fmean, median, mode
from typing import IO, Any, cast

import msgspec
import numpy as np

from evalprep.packs import is_chat
from evalprep.readers.tools import Row, TaskFacts
from evalprep.samples import RESERVED, Hashes, InMemory, Sample, packed, row_id, text_hash

REDUCERS = {"mean": fmean, "median": median, "mode": mode, "max": max}
_HELD = 2**20  # bytes of rows that are held in memory
_AHEAD = 2**16  # bytes that are read at once
_decoder = msgspec.msgpack.Decoder(Row)


class _Counted(msgspec.Struct, gc=False):
    """The parts of a row that are counted; its texts are passed over."""

    values: dict[str, float | None] = {}
    filter: str = "none"
    epoch: int = 1
    status: str = "ok"


_counted = msgspec.msgpack.Decoder(_Counted)


class RowStore:
    """The rows of a log, in the order in which they were read.

    Large logs lie in a file without a name, which ends with the process, however it ends.
    """

    def __init__(self) -> None:
        self._ends = array("q", [0])
        self._latest = bytearray()  # the bytes behind those in the file
        self._file: IO[bytes] | None = None
        self._in_file = 0
        self._piece, self._piece_at = b"", 0  # the part of the file that was read last

    def add(self, row: Row) -> int:
        """Keeps a row; returns its number."""
        self._latest += packed(row)
        self._ends.append(self._in_file + len(self._latest))
        if len(self._latest) > _HELD:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - as long as this
            self._file.write(self._latest)
            self._in_file += len(self._latest)
            self._latest = bytearray()
        return len(self._ends) - 2

    def row(self, number: int) -> Row:
        """Returns a row."""
        return _decoder.decode(self._raw(number))

    def counted(self, number: int) -> _Counted:
        """Returns what is counted of a row."""
        return _counted.decode(self._raw(number))

    def _raw(self, number: int) -> bytes:
        start, end = self._ends[number], self._ends[number + 1]
        if start >= self._in_file or self._file is None:
            return bytes(self._latest[start - self._in_file : end - self._in_file])
        if start < self._piece_at or end > self._piece_at + len(self._piece):
            self._piece_at = start
            self._piece = os.pread(self._file.fileno(), max(end - start, _AHEAD), start)
        return self._piece[start - self._piece_at : end - self._piece_at]


@dataclass
class _Tally:
    """Values of one metric: their sum and number, and whether all of them are verdicts."""

    total: float = 0.0
    count: int = 0
    verdicts: bool = True

    def add(self, value: float) -> None:
        """Counts one value."""
        self.total += value
        self.count += 1
        self.verdicts = self.verdicts and value in (0.0, 0.5, 1.0)

    @property
    def mean(self) -> float | None:
        """The mean of the values; None without any."""
        return self.total / self.count if self.count else None


@dataclass
class ToolSamples(InMemory):
    """The samples of one task: rows are taken one by one, then counted, then read.

    Attributes:
        path: The file or folder of the log.
        rows: Where the rows of all tasks are kept.
        facts: What the log says of the task.
        tallies: Metric and filter -> its values over samples.
        statuses: Why a sample has no verdict -> number of samples.
        repeats: Rows that are repeats of a sample.
        has_replies: Whether any row keeps what the model wrote.
    """

    path: Path
    rows: RowStore = field(repr=False)
    facts: TaskFacts = field(default_factory=TaskFacts)
    tallies: dict[tuple[str, str], _Tally] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    repeats: int = 0
    has_replies: bool = False
    # For each row its number in the store, and the number of its sample: repeats of a sample, and
    # its metrics where each has a row, are rows of one sample.
    _rows: array[int] = field(default_factory=lambda: array("q"), repr=False)
    _sample_of_row: array[int] = field(default_factory=lambda: array("q"), repr=False)
    _samples: int = 0
    _starts: array[int] = field(default_factory=lambda: array("q"), repr=False)  # in `_rows`
    # What a sample is known by -> its number; and the repeats and metrics that it has.
    _by_key: dict[tuple[str, str, str], int] = field(default_factory=dict, repr=False)
    _parts: dict[int, set[tuple[int, str]]] = field(default_factory=dict, repr=False)
    _metrics: list[str] = field(default_factory=list, repr=False)

    @property
    def metrics(self) -> list[str]:
        """Every metric, in order of appearance."""
        return list(dict.fromkeys(metric for metric, _ in self.tallies))

    def __len__(self) -> int:
        return self._samples

    def take(self, rows: Iterable[Row]) -> None:
        """Keeps rows."""
        for row in rows:
            self._sample_of_row.append(self._sample_of(row))
            self._rows.append(self.rows.add(row))
            self.has_replies = self.has_replies or row.response is not None
            for metric in row.values:
                self.tallies.setdefault((metric, row.filter), _Tally())

    def _sample_of(self, row: Row) -> int:
        """The sample of a row: the one it names, unless this repeat of it is there already."""
        key, parts = _key(row), _parts(row)
        number = self._by_key.get(key) if key is not None else None
        if number is not None and not self._parts[number] & parts:
            self._parts[number] |= parts
            return number
        number = self._samples
        self._samples += 1
        if key is not None:
            self._by_key[key] = number
            self._parts[number] = parts
        return number

    def count(self) -> None:
        """Counts the values of all samples, once all rows are taken."""
        self._by_key, self._parts = {}, {}
        self._metrics = self.metrics
        samples = np.array(self._sample_of_row)
        order = np.argsort(samples, kind="stable")
        self._rows = array("q", np.array(self._rows)[order])
        self._starts = array("q", np.searchsorted(samples[order], np.arange(self._samples + 1)))
        for number in range(self._samples):
            rows = self._rows_of(number)
            is_alone = len(rows) == 1
            row = self.rows.counted(rows[0]) if is_alone else self._merged(rows)
            self.repeats += 0 if is_alone else row.epoch - 1
            if row.status != "ok":
                self.statuses[row.status] = self.statuses.get(row.status, 0) + 1
            for metric, value in row.values.items():
                if value is not None:
                    self.tallies[(metric, row.filter)].add(value)

    def sample(self, number: int) -> Sample:
        """Returns a sample; a metric of the task that it lacks has no value there."""
        return sample_of(self._merged(self._rows_of(number)), number, self._metrics)

    def _rows_of(self, sample: int) -> Sequence[int]:
        return self._rows[self._starts[sample] : self._starts[sample + 1]]

    def _merged(self, numbers: Sequence[int]) -> Row:
        """One row out of the repeats and the metrics of a sample."""
        rows = [self.rows.row(number) for number in numbers]
        row = rows[0]
        if len(rows) == 1:
            return row
        metrics = dict.fromkeys(chain.from_iterable(each.values for each in rows))
        row.values = {metric: self._reduced(metric, rows) for metric in metrics}
        texts: list[str] = []
        for other in rows:
            texts += _replies(other)
        row.responses = texts or None
        if any(other.status == "ok" for other in rows):
            row.status = "ok"
        row.epoch = len({other.epoch for other in rows})
        return row

    def _reduced(self, metric: str, rows: Sequence[Row]) -> float | None:
        values_of_rows = [row.values.get(metric) for row in rows]
        values = [value for value in values_of_rows if value is not None]
        reduce = REDUCERS.get(self.facts.reducer, fmean)
        return float(cast("Any", reduce)(values)) if values else None


def _key(row: Row) -> tuple[str, str, str] | None:
    """Returns what a sample is known by; None where nothing names it."""
    if row.id is not None:
        return ("id", row.id, row.filter)
    text = row.doc_hash or row.question or row.prompt
    if text is None:
        return None
    digest = hashlib.blake2b(f"{text}\0{row.target}".encode("utf-8", "replace"), digest_size=16)
    return ("text", digest.hexdigest(), row.filter)


def _parts(row: Row) -> set[tuple[int, str]]:
    return {(row.epoch, metric) for metric in row.values} or {(row.epoch, "")}


def _replies(row: Row) -> list[str]:
    return row.responses or ([row.response] if row.response is not None else [])


def sample_of(row: Row, number: int, metrics: Sequence[str]) -> Sample:
    """Returns a row as a sample.

    Args:
        row: The row.
        number: Its number among the samples of its task.
        metrics: The metrics of the task; a row without one of them has null there.
    """
    replies = _replies(row)
    doc = _document(row, number)
    doc_hash = row.doc_hash or ""
    return Sample(
        sample_id=row_id(doc, doc_hash, number)[0],
        doc_id=number,
        logged_doc=doc,
        target=row.target if row.target is not None else "",
        logged_arguments={"gen_args_0": {"arg_0": row.prompt, "arg_1": {}}} if row.prompt else {},
        resps=[replies] if replies else [],
        filtered_resps=[row.answer] if row.answer is not None else replies,
        filter=row.filter,
        metrics={name: row.values.get(name) for name in metrics if name not in RESERVED},
        hashes=Hashes(doc_hash, row.prompt_hash or _hash_of(row.prompt), row.target_hash or ""),
        line=number + 1,
    )


def _document(row: Row, number: int) -> dict[str, Any]:
    """The question as a row of the data set; positions are no ids."""
    known: Mapping[str, Any] = {
        "id": None if row.id_is_position else row.id,
        "index": _index_of(row, number),
        "question": row.question,
        "choices": row.choices,
        "target_label": row.target_label,
        "targets": row.targets,
        "native_hash": row.native_hash,
        "status": None if row.status == "ok" else row.status,
        "epochs": None if row.epoch <= 1 else row.epoch,
        "source": row.source,
    }
    return {key: value for key, value in known.items() if value is not None or key == "id"}


def _index_of(row: Row, number: int) -> int:
    """The position of a row in its source, else its number among the samples."""
    if row.id_is_position and row.id is not None and row.id.isdecimal():
        return int(row.id)
    return number if row.doc_id is None else row.doc_id


def _hash_of(prompt: str | None) -> str:
    """lm-eval's hash of a prompt; empty for a chat, which lm-eval hashes as its template's text."""
    if not prompt or is_chat(prompt):
        return ""
    return text_hash(prompt)
