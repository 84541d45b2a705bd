"""Where the samples of a task are read from: a file of lines, a log, or a change of another source.

A source gives samples in their order, each with its place, and samples again by their places. A
table is made of the first and its texts are read by the second, so that it holds numbers alone.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from evalprep.files import open_file
from evalprep.results.lines import SampleReader
from evalprep.results.sample import Damage, Sample, parse

Place = tuple[int, int]
"""A place in a source: offset and length of a line in bytes, or the number of a sample and 0."""
_AHEAD = 2**16  # bytes that are read at once where the next line is near
_encoder = msgspec.msgpack.Encoder()
_LARGEST = 2**63 - 1


class Placed(NamedTuple):
    """A sample, or why a line is none, and its place."""

    place: Place
    item: Sample | Damage


class SampleSource(Protocol):
    """Where the samples of one task are read from."""

    @property
    def path(self) -> Path:
        """The file that holds them; of a log its file or folder."""

    def placed(self) -> Iterator[Placed]:
        """Yields every sample and every damaged line in their order, under all filters."""

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields what lies at some places, in the order asked for."""

    def digest(self) -> str:
        """Returns the sha256 of the content, as hex."""


def samples_of(source: SampleSource, filter_name: str | None = None) -> Iterator[Sample | Damage]:
    """Streams the samples of a source, and the lines that could not be used.

    Args:
        source: The source.
        filter_name: Only samples of this filter; all by default.
    """
    for _, item in source.placed():
        if filter_name is None or isinstance(item, Damage) or item.filter == filter_name:
            yield item


def read_samples(path: Path, *, filter_name: str | None = None) -> Iterator[Sample | Damage]:
    """Streams a samples file line by line, in bounded memory: see `samples_of`."""
    return samples_of(SampleFile(path), filter_name)


def first_sample(source: SampleSource) -> Sample | None:
    """Returns the first usable sample of a source; None without one."""
    for _, item in source.placed():
        if isinstance(item, Sample):
            return item
    return None


@dataclass(frozen=True)
class SampleFile:
    """A samples file of lm-eval; its texts stay there."""

    path: Path

    def placed(self) -> Iterator[Placed]:
        """Yields its lines one by one; blank ones count as damaged."""
        offset = 0
        with open_file(self.path) as lines:
            for number, raw in enumerate(lines, start=1):
                item = parse(raw, number) if raw.strip() else Damage(number, "blank")
                yield Placed((offset, len(raw)), item)
                offset += len(raw)

    def lines(self) -> Iterator[bytes]:
        """Yields its lines as they stand in the file."""
        with open_file(self.path) as lines:
            yield from lines

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields the samples at some places."""
        reader = SampleReader()
        with open_file(self.path) as file:
            yield from map(reader.read, _pieces(file.fileno(), places))

    def digest(self) -> str:
        """Returns the sha256 of the file."""
        with open_file(self.path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _pieces(file: int, places: Sequence[Place]) -> Iterator[memoryview]:
    """Parts of an open file; near ones are read at once."""
    begin, piece = 0, memoryview(b"")
    for (offset, length), (following, _) in zip(places, [*places[1:], (-1, 0)], strict=True):
        end = offset + length
        if offset < begin or end > begin + len(piece):
            is_run = 0 <= following - end <= length
            begin, piece = offset, memoryview(os.pread(file, max(length, _AHEAD * is_run), offset))
        yield piece[offset - begin : end - begin]


def packed(row: Any) -> bytes:
    """Returns a row as msgpack.

    Half a surrogate pair, legal in JSON but no text, becomes `?`, and a whole number that 64 bits
    do not hold the nearest one that they do.
    """
    try:
        return _encoder.encode(row)
    except (UnicodeEncodeError, OverflowError):
        return _encoder.encode(_storable(msgspec.to_builtins(row)))


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case int() if not isinstance(value, bool):
            return max(-_LARGEST - 1, min(value, _LARGEST))
        case dict():
            return {_storable(key): _storable(part) for key, part in value.items()}
        case list():
            return [_storable(part) for part in value]
        case _:
            return value


class InMemory(ABC):
    """The base of sources without a file of lines; a place is the number of a sample.

    Attributes:
        path: The file or folder of the log.
    """

    path: Path

    @abstractmethod
    def __len__(self) -> int:
        """Returns how many samples there are."""

    @abstractmethod
    def sample(self, number: int) -> Sample:
        """Returns a sample of its own to whoever asks: a change of it changes nothing here."""

    def placed(self) -> Iterator[Placed]:
        """Yields the samples in their order."""
        for number in range(len(self)):
            yield Placed((number, 0), self.sample(number))

    def at(self, places: Sequence[Place]) -> Iterator[Sample]:
        """Yields the samples of some numbers."""
        for number, _ in places:
            yield self.sample(number)

    def digest(self) -> str:
        """Returns the sha256 of all samples."""
        return _digest_of(self)


@dataclass(frozen=True)
class ChangedSamples:
    """The samples of another source, each changed by a function when it is read.

    Attributes:
        source: The other source.
        change: Sample -> what stands in its place; None where nothing does.
    """

    source: SampleSource
    change: Callable[[Sample], Sample | None] = field(repr=False)

    @property
    def path(self) -> Path:
        """The file or folder of the other source."""
        return self.source.path

    def placed(self) -> Iterator[Placed]:
        """Yields the changed samples."""
        for place, item in self.source.placed():
            changed = item if isinstance(item, Damage) else self.change(item)
            if changed is not None:
                yield Placed(place, changed)

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields the changed samples at some places."""
        for item in self.source.at(places):
            changed = item if isinstance(item, Damage) else self.change(item)
            yield Damage(0, "left out") if changed is None else changed

    def digest(self) -> str:
        """Returns the sha256 of the changed samples."""
        return _digest_of(self)


@dataclass(frozen=True)
class FirstSamples:
    """The samples of the first rows of another source; a row has a sample under each filter.

    Attributes:
        source: The other source.
        numbers: The numbers of these samples among all, damaged ones counted.
    """

    source: SampleSource
    numbers: Collection[int] = field(repr=False)

    @property
    def path(self) -> Path:
        """The file or folder of the other source."""
        return self.source.path

    def placed(self) -> Iterator[Placed]:
        """Yields the chosen samples."""
        last = max(self.numbers, default=-1)
        for number, placed in enumerate(islice(self.source.placed(), last + 1)):
            if number in self.numbers:
                yield placed

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields the samples at some places."""
        return self.source.at(places)

    def digest(self) -> str:
        """Returns the sha256 of the chosen samples."""
        return _digest_of(self)


def _digest_of(source: SampleSource) -> str:
    digest = hashlib.sha256()
    for _, item in source.placed():
        digest.update(msgspec.msgpack.encode(item))
    return digest.hexdigest()
