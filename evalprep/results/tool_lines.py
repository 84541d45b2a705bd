"""Rows of another tool as sample lines; repeats and metrics of a sample share one line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import fmean, median, mode
from typing import IO, Any, cast

import msgspec

from evalprep.packs import is_chat
from evalprep.results.readers.tools import Row, TaskFacts
from evalprep.results.sample_lines import Hashes, requests_as_logged, sample_line

_rows = msgspec.json.Decoder(Row)
REDUCERS = {"mean": fmean, "median": median, "mode": mode, "max": max}


@dataclass
class _Group:
    """The rows of one sample: its repeats, and its metrics where each has a row of its own."""

    places: list[tuple[int, int]] = field(default_factory=list)
    parts: set[tuple[int, str]] = field(default_factory=set)


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
class TaskLines:
    """The lines of one task: rows are taken one by one, then written as samples.

    Attributes:
        path: The file of lines.
        facts: What the log says of the task.
        tallies: Metric and filter -> its values over samples.
        statuses: Why a sample has no verdict -> number of samples.
        samples: Samples that were written.
        repeats: Rows that are repeats of a sample.
        has_replies: Whether any row keeps what the model wrote.
    """

    path: Path
    facts: TaskFacts = field(default_factory=TaskFacts)
    tallies: dict[tuple[str, str], _Tally] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    samples: int = 0
    repeats: int = 0
    has_replies: bool = False
    _groups: list[_Group] = field(default_factory=list, repr=False)
    _by_key: dict[tuple[str, str, str], _Group] = field(default_factory=dict, repr=False)
    _end: int = 0

    @property
    def metrics(self) -> list[str]:
        """Every metric, in order of appearance."""
        return list(dict.fromkeys(metric for metric, _ in self.tallies))

    def take(self, rows: Iterable[Row]) -> None:
        """Keeps rows in a file beside the lines."""
        with self._kept.open("ab") as file:
            for row in rows:
                raw = msgspec.json.encode(row)
                file.write(raw + b"\n")
                self._place(row, len(raw))

    @property
    def _kept(self) -> Path:
        return self.path.with_suffix(".rows")

    def _place(self, row: Row, length: int) -> None:
        group = self._group_of(row)
        group.places.append((self._end, length))
        group.parts |= _parts(row)
        self._end += length + 1
        self.has_replies = self.has_replies or row.response is not None
        for metric in row.values:
            self.tallies.setdefault((metric, row.filter), _Tally())

    def _group_of(self, row: Row) -> _Group:
        """The group of a row: that of its sample, unless this repeat of it is there already."""
        key = _key(row)
        group = self._by_key.get(key) if key is not None else None
        if group is None or group.parts & _parts(row):
            group = _Group()
            self._groups.append(group)
            if key is not None:
                self._by_key[key] = group
        return group

    def write(self) -> None:
        """Writes a line for each sample, and forgets the rows."""
        metrics = self.metrics
        with self._kept.open("rb") as rows, self.path.open("wb") as lines:
            for number, group in enumerate(self._groups):
                row = self._merged(list(_read(rows, group.places)))
                self._count(row)
                lines.write(msgspec.json.encode(line_of(row, number, metrics)) + b"\n")
        self._kept.unlink()
        self._groups = []
        self._by_key = {}

    def _merged(self, rows: Sequence[Row]) -> Row:
        """One row out of the repeats and the metrics of a sample."""
        row = rows[0]
        if len(rows) == 1:
            return row
        epochs = {other.epoch for other in rows}
        self.repeats += len(epochs) - 1
        row.values = {metric: self._reduced(metric, rows) for metric in _metrics_of(rows)}
        texts: list[str] = []
        for other in rows:
            texts += _replies(other)
        row.responses = texts or None
        if any(other.status == "ok" for other in rows):
            row.status = "ok"
        row.epoch = len(epochs)
        return row

    def _reduced(self, metric: str, rows: Sequence[Row]) -> float | None:
        values_of_rows = [row.values.get(metric) for row in rows]
        values = [value for value in values_of_rows if value is not None]
        reduce = REDUCERS.get(self.facts.reducer, fmean)
        return float(cast("Any", reduce)(values)) if values else None

    def _count(self, row: Row) -> None:
        self.samples += 1
        if row.status != "ok":
            self.statuses[row.status] = self.statuses.get(row.status, 0) + 1
        for metric, value in row.values.items():
            if value is not None:
                self.tallies[(metric, row.filter)].add(value)


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


def _read(file: IO[bytes], places: Sequence[tuple[int, int]]) -> Iterator[Row]:
    for start, length in places:
        file.seek(start)
        yield _rows.decode(file.read(length))


def _metrics_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(row.values for row in rows)))


def _replies(row: Row) -> list[str]:
    return row.responses or ([row.response] if row.response is not None else [])


def line_of(row: Row, number: int, metrics: Sequence[str]) -> dict[str, Any]:
    """Returns a row as a sample line of lm-eval.

    Args:
        row: The row.
        number: Its number among the lines.
        metrics: The metrics of the task; a row without one of them has null there.
    """
    replies = _replies(row)
    filtered = [row.answer] if row.answer is not None else replies
    prompt_hash = row.prompt_hash or _hash_of(row.prompt)
    line = sample_line(
        doc_id=number,
        doc=_document(row, number),
        target=row.target if row.target is not None else "",
        arguments=requests_as_logged([(row.prompt, {})]) if row.prompt else {},
        replies=[replies] if replies else [],
        filtered=filtered,
        filter_name=row.filter,
        metrics=metrics,
        hashes=Hashes(row.doc_hash or "", prompt_hash, row.target_hash or ""),
    )
    return line | {metric: row.values.get(metric) for metric in metrics}


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
    """The position of a row in its source, else its number among the lines."""
    if row.id_is_position and row.id is not None and row.id.isdecimal():
        return int(row.id)
    return number if row.doc_id is None else row.doc_id


def _hash_of(prompt: str | None) -> str:
    """lm-eval's hash of a prompt; empty for a chat, which lm-eval hashes as its template's text."""
    if not prompt or is_chat(prompt):
        return ""
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()
