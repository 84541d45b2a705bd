"""Where the samples of a task are read from: a file, a log, or a change of another source.

A source gives samples in their order, each with its place, and samples again by their places. A
table is made of the first and its texts are read by the second, so that it holds numbers alone.

Samples of lm-eval are read where they are, in every layout that it has written since 0.4.0:

| written by | samples |
|---|---|
| 0.4.0 to 0.4.2 | `<model arguments>_<task>.jsonl`, one indented JSON list, beside `results.json` |
| May and June 2024 | `samples_<task>_<stamp>.json`, a list, then lines |
| 0.4.3 to 0.4.6 | `samples_<task>_<stamp>.jsonl`, lines that do not name their filter |
| 0.4.7 and later | the same with `filter` and `metrics` |
| `simple_evaluate`, dumped whole | `samples: {task: [...]}` inside the results file |

A task with several filters logs every document once for each, in the order of its `filter_list`;
samples that name none get the name by that order.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, groupby, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.files import open_file, read_file
from evalprep.samples.compressed import opened
from evalprep.samples.jsonparts import places_in
from evalprep.samples.jsonplaces import Place as JsonPlace
from evalprep.samples.jsonplaces import items_of_list
from evalprep.samples.lines import SampleReader
from evalprep.samples.sample import UNDECODABLE, Damage, Sample

Place = tuple[int, int]
"""A place in a source: offset and length of a line in bytes, or the number of a sample and 0."""
_AHEAD = 2**16  # bytes that are read at once where the next line is near
_BLANKS = b"\xef\xbb\xbf \t\r\n"  # before the first value of a file
_encoder = msgspec.msgpack.Encoder()
_LARGEST = 2**63 - 1
_REMEMBERED = 2**16  # samples of which a process remembers what a change gave


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

    def identity(self) -> bytes | None:
        """Returns what the content is known by without reading it whole.

        None where that cannot be told.
        """


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


class _Documented(msgspec.Struct, gc=False):
    """The row of the data set in a sample."""

    doc: dict[str, Any]


_documented = msgspec.json.Decoder(_Documented)


def docs_at(source: SampleSource, places: Sequence[Place]) -> Iterator[Mapping[str, Any]]:
    """Yields the rows of the data set of the samples at some places, in the order asked for.

    Nothing else of a line is decoded, which takes a quarter of the time.
    """
    if not isinstance(source, SampleFile) or source.inside:
        yield from (item.doc for item in source.at(places) if isinstance(item, Sample))
        return
    reader = SampleReader()
    with open_file(source.path) as file:
        for raw in _pieces(file.fileno(), places):
            try:
                yield _documented.decode(raw).doc
            except UNDECODABLE:
                item = reader.read(raw)
                if isinstance(item, Sample):
                    yield item.doc


class _Named(msgspec.Struct, gc=False):
    """The keys of a sample that name its document and its filter."""

    doc_id: Any = None
    filter: Any = None


_named = msgspec.json.Decoder(_Named)


class _ByOrder(msgspec.Struct, frozen=True):
    """The filters of samples that do not name them.

    Attributes:
        offsets: Where each sample begins, in order.
        numbers: How often its document has been before, which is the number of its filter; -1 for a
            sample that names its filter or no document.
    """

    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[tuple[Place, bytes]]) -> _ByOrder:
        """Counts the samples of each document."""
        seen: dict[str, int] = {}
        offsets, numbers = [], []
        for (offset, _), raw in texts:
            named = _names_in(raw)
            offsets.append(offset)
            if named.filter is not None or named.doc_id is None:
                numbers.append(-1)
                continue
            key = str(named.doc_id)
            numbers.append(seen.get(key, 0))
            seen[key] = numbers[-1] + 1
        return cls(np.array(offsets, dtype=np.int64), np.array(numbers, dtype=np.int64))

    def fits(self, filters: int) -> bool:
        """Returns whether each document was logged once for each filter.

        Of a file that breaks off, later filters may be lost whole; the first samples are the first
        filter's all the same.
        """
        most = int(self.numbers.max(initial=-1)) + 1
        ends_unnamed = bool(np.any(self.numbers[-1:] < 0))  # not of a file without samples
        return most == filters or (most < filters and ends_unnamed)

    def number_at(self, offset: int) -> int:
        """Returns the number of the filter of the sample at an offset."""
        return int(self.numbers[np.searchsorted(self.offsets, offset)])


def _names_in(raw: bytes) -> _Named:
    try:
        return _named.decode(raw)
    except UNDECODABLE:
        return _Named()


@dataclass(frozen=True)
class SampleFile:
    """The samples of one task in a file of lm-eval, in whichever layout; they stay there.

    Attributes:
        path: The file.
        filters: Names of the task's filters, in the order of its configuration.
        inside: The task, of a results file that holds samples itself; empty for a samples file.
    """

    path: Path
    filters: tuple[str, ...] = ()
    inside: str = ""

    @cached_property
    def is_lines(self) -> bool:
        """Whether each line is a sample under the filter that it names."""
        return self._items is None and self._by_order is None

    @cached_property
    def _items(self) -> Sequence[tuple[int, int]] | None:
        """Start and end of each sample in a list; None for lines."""
        if self.inside:
            samples = _places(self.path).members["samples"]
            return samples.members[self.inside].items
        with open_file(self.path) as file:
            if not file.read(_AHEAD).lstrip(_BLANKS).startswith(b"["):
                return None
        try:
            return _places(self.path).items
        except ValueError:
            return items_of_list(read_file(self.path))

    @cached_property
    def _by_order(self) -> _ByOrder | None:
        if len(self.filters) < 2:
            return None
        first = next((raw for _, raw in self._texts() if raw.strip()), b"")
        if _names_in(first).filter is not None:
            return None
        order = _ByOrder.of(self._texts())
        return order if order.fits(len(self.filters)) else None

    def _texts(self) -> Iterator[tuple[Place, bytes]]:
        """Yields each sample as it stands in the file, with its place."""
        if self._items is None:
            offset = 0
            with open_file(self.path) as lines:
                for raw in lines:
                    yield (offset, len(raw)), raw
                    offset += len(raw)
            return
        with opened(self.path) as file:
            for start, end in self._items:
                file.seek(start)
                yield (start, end - start), file.read(end - start)

    def lines(self) -> Iterator[bytes]:
        """Yields its samples as they stand in the file."""
        return (raw for _, raw in self._texts())

    def placed(self) -> Iterator[Placed]:
        """Yields its samples one by one; blank lines count as damaged."""
        reader = SampleReader()
        for number, (place, raw) in enumerate(self._texts(), start=1):
            # Of a list that breaks off behind a comma the rest is empty.
            text = raw or b"{"
            item = reader.read(text, number) if text.strip() else Damage(number, "blank")
            yield Placed(place, self._under_its_filter(place, item))

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields the samples at some places."""
        reader = SampleReader()
        with opened(self.path) if self.inside else open_file(self.path) as file:
            texts: Iterator[Any] = (
                _read_at(file, places) if self.inside else _pieces(file.fileno(), places)
            )
            for place, raw in zip(places, texts, strict=True):
                yield self._under_its_filter(place, reader.read(raw))

    def _under_its_filter(self, place: Place, item: Sample | Damage) -> Sample | Damage:
        if self._by_order is not None and isinstance(item, Sample):
            number = self._by_order.number_at(place[0])
            if number >= 0:
                item.filter = self.filters[number]
        return item

    def digest(self) -> str:
        """Returns the sha256 of the file, or of the samples inside."""
        if self.inside:
            return hashlib.sha256(b"\n".join(raw for _, raw in self._texts())).hexdigest()
        with open_file(self.path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]

    def identity(self) -> bytes:
        """Returns what the file system knows of the file, with its first and last bytes.

        A digest of the whole file would take as long as reading it.
        """
        with open_file(self.path) as file:
            facts = os.fstat(file.fileno())
            first = file.read(_AHEAD)
            file.seek(max(0, facts.st_size - _AHEAD))
            last = file.read(_AHEAD)
        known = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        about = str(self.path.resolve()), self.filters, self.inside, known
        ends: bytes = first + last
        return repr(about).encode("utf-8", "surrogatepass") + ends


def _places(path: Path) -> JsonPlace:
    """The places of the parts of a JSON file.

    Raises:
        ValueError: it breaks off.
    """
    state = path.stat()
    return places_in(path, state.st_size, state.st_mtime_ns)


def _read_at(file: IO[bytes], places: Sequence[Place]) -> Iterator[bytes]:
    """Parts of a file that may be packed."""
    for start, length in places:
        file.seek(start)
        yield file.read(length)


def _pieces(file: int, places: Sequence[Place]) -> Iterator[memoryview]:
    """Parts of an open file; near ones are read at once."""
    begin, piece = 0, memoryview(b"")
    for (offset, length), (following, _) in zip(places, [*places[1:], (-1, 0)], strict=True):
        end = offset + length
        if offset < begin or end > begin + len(piece):
            is_run = 0 <= following - end <= length
            begin, piece = offset, memoryview(os.pread(file, max(length, _AHEAD * is_run), offset))
        yield piece[offset - begin : end - begin]


@dataclass(frozen=True)
class JoinedFiles:
    """The samples of one task in several files, one behind the other.

    A place counts the bytes of the files before.

    Attributes:
        parts: The files.
    """

    parts: tuple[SampleFile, ...]

    @property
    def path(self) -> Path:
        """The first file."""
        return self.parts[0].path

    @cached_property
    def starts(self) -> list[int]:
        """The place at which each file begins."""
        sizes = [part.path.stat().st_size for part in self.parts]
        return [0, *accumulate(sizes[:-1])]

    def placed(self) -> Iterator[Placed]:
        """Yields the samples of all files."""
        for start, part in zip(self.starts, self.parts, strict=True):
            for (offset, length), item in part.placed():
                yield Placed((start + offset, length), item)

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields the samples at some places."""
        for number, some in groupby(places, lambda place: bisect_right(self.starts, place[0]) - 1):
            start = self.starts[number]
            yield from self.parts[number].at([(offset - start, length) for offset, length in some])

    def digest(self) -> str:
        """Returns the sha256 of the files, one behind the other."""
        digest = hashlib.sha256()
        for part in self.parts:
            with open_file(part.path) as file:
                while content := file.read(_AHEAD):
                    digest.update(content)
        return digest.hexdigest()

    def identity(self) -> bytes:
        """Returns what the files are known by."""
        return b"".join(part.identity() for part in self.parts)


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

    def identity(self) -> bytes | None:
        """Returns None: only this process knows the samples."""
        return None


@dataclass(frozen=True)
class ChangedSamples:
    """The samples of another source, each changed by a function when it is read.

    Attributes:
        source: The other source.
        change: Sample -> what stands in its place; None where nothing does.
        version: What the change is known by, which is of filter, filtered replies and metrics
            alone; empty for any other change.
    """

    source: SampleSource
    change: Callable[[Sample], Sample | None] = field(repr=False)
    version: str = ""
    # Place -> what a change of a known version gave, which may have taken long.
    _given: dict[Place, tuple[str, list[Any], dict[str, Any]] | None] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def path(self) -> Path:
        """The file or folder of the other source."""
        return self.source.path

    def placed(self) -> Iterator[Placed]:
        """Yields the changed samples."""
        for place, item in self.source.placed():
            changed = self._changed(place, item)
            if changed is not None:
                yield Placed(place, changed)

    def at(self, places: Sequence[Place]) -> Iterator[Sample | Damage]:
        """Yields the changed samples at some places."""
        for place, item in zip(places, self.source.at(places), strict=True):
            changed = self._changed(place, item)
            yield Damage(0, "left out") if changed is None else changed

    def _changed(self, place: Place, item: Sample | Damage) -> Sample | Damage | None:
        if isinstance(item, Damage):
            return item
        if place in self._given:
            given = self._given[place]
            if given is None:
                return None
            name, filtered, metrics = given
            return msgspec.structs.replace(
                item, filter=name, filtered_resps=filtered, metrics=dict(metrics)
            )
        changed = self.change(item)
        if self.version and len(self._given) < _REMEMBERED:
            self._given[place] = None
            if changed is not None:
                self._given[place] = changed.filter, changed.filtered_resps, changed.metrics
        return changed

    def digest(self) -> str:
        """Returns the sha256 of the changed samples."""
        return _digest_of(self)

    def identity(self) -> bytes | None:
        """Returns what the other source and the change are known by."""
        known = self.source.identity() if self.version else None
        return None if known is None else self.version.encode() + known


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

    def identity(self) -> bytes | None:
        """Returns None: the whole samples are kept."""
        return None


def _digest_of(source: SampleSource) -> str:
    digest = hashlib.sha256()
    for _, item in source.placed():
        digest.update(msgspec.msgpack.encode(item))
    return digest.hexdigest()
