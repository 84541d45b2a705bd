"""Samples as lm-eval and other programs write them, read as lines of one object each.

lm-eval itself has written such lines since 0.4.0.

| written by | samples |
|---|---|
| 0.4.0 to 0.4.2 | `<model arguments>_<task>.jsonl`, one indented JSON list, beside `results.json` |
| May and June 2024 | `samples_<task>_<stamp>.json`, a list, then lines |
| 0.4.3 to 0.4.6 | `samples_<task>_<stamp>.jsonl`, lines that do not name their filter |
| 0.4.7 and later | the same with `filter` and `metrics` |
| `simple_evaluate`, dumped whole | `samples: {task: [...]}` inside the results file |

What is not lines yet is written as such into the cache, once for each content. A task with several
filters logs every document once for each, in the order of its `filter_list`; lines that name none
get the name by that order.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from evalprep.files import open_file, read_file
from evalprep.places import user_cache
from evalprep.results.readers.jsonparts import JsonParts
from evalprep.results.sample import Sample, parse
from evalprep.results.sample_lines import sample_line
from evalprep.results.sources import ChangedSamples, SampleFile, SampleSource
from evalprep.temporary import OwnFolder

_VERSION = 4  # of what is written
_KEPT_DAYS = 14
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Place(msgspec.Struct, gc=False):
    """The keys of a line that name its document and its filter."""

    doc_id: Any = None
    filter: Any = None


_NEXT = re.compile(r"[^\s,]")
_decoder = json.JSONDecoder()
_place = msgspec.json.Decoder(_Place)


def as_lines(path: Path, filters: Sequence[str]) -> Path:
    """Returns a samples file with one object in a line, each with its filter.

    That is the file itself, or a copy where it has another layout.

    Args:
        path: The file as it was written.
        filters: Names of the task's filters, in the order of its configuration.
    """
    with open_file(path) as file:
        first = next((raw for raw in file if raw.strip()), b"").lstrip(b"\xef\xbb\xbf \t\r")
    listed = first.startswith(b"[")
    if not listed and (len(filters) < 2 or not _unnamed(first)):
        return path

    def lines() -> Iterator[bytes]:
        return _items_of_list(path) if listed else _lines_in(path)

    key = f"{SampleFile(path).digest()} {json.dumps(list(filters))}"
    try:
        return kept_lines(key, lambda: _with_filters(lines, filters))
    except _NOT_JSON:
        return path  # its damage is named line by line


@dataclass(frozen=True)
class SamplesInside:
    """Samples that a results file holds itself.

    Attributes:
        parts: The samples of all tasks.
        task: The task.
        key: What the file is known by.
    """

    parts: JsonParts
    task: str
    key: str

    def dumped(self) -> Iterator[bytes]:
        """Yields each sample as a line.

        Raises:
            ValueError: one is no object.
        """
        for sample in self.parts.each(self.task):
            if not isinstance(sample, dict):
                raise ValueError(sample.why)  # noqa: TRY004 - about the file, not a type of ours
            yield json.dumps(sample, ensure_ascii=False).encode("utf-8", "replace")


def lines_of(inside: SamplesInside, filters: Sequence[str]) -> Path | None:
    """Samples that a results file holds itself, as a file of lines.

    None where they are not a list of objects.
    """
    if inside.parts.count(inside.task) is None:
        return None
    key = f"{inside.key} {inside.task} {json.dumps(list(filters))}"
    try:
        return kept_lines(key, lambda: _with_filters(inside.dumped, filters))
    except ValueError:
        return None


def joined(paths: Sequence[Path]) -> Path:
    """The lines of several samples files as one."""

    def lines() -> Iterator[bytes]:
        for path in paths:
            with open_file(path) as file:
                yield from (raw.rstrip(b"\r\n") for raw in file)

    return kept_lines(" ".join(SampleFile(path).digest() for path in paths), lines)


def _unnamed(raw: bytes) -> bool:
    try:
        return _place.decode(raw).filter is None
    except _NOT_JSON:
        return False


def _lines_in(path: Path) -> Iterator[bytes]:
    with open_file(path) as file:
        yield from (raw.rstrip(b"\r\n") for raw in file)


def _items_of_list(path: Path) -> Iterator[bytes]:
    """The members of a JSON list, each on one line.

    Inside a JSON text there is no bare line break.
    """
    try:
        members = JsonParts.of_file(path).each_text()
    except ValueError:
        members = iter(_of_cut_list(read_file(path).lstrip(b"\xef\xbb\xbf")))
    for member in members:
        yield member.replace(b"\r", b" ").replace(b"\n", b" ")


def _of_cut_list(raw: bytes) -> list[bytes]:
    """The whole members of a list that breaks off, and then what is left of the next one.

    The reader names that rest as damage.
    """
    text = raw.decode("utf-8", "surrogateescape")
    members: list[bytes] = []
    at = text.index("[") + 1
    while True:
        found_next = _NEXT.search(text, at)
        start = found_next.start() if found_next else len(text)
        try:
            _, at = _decoder.raw_decode(text, start)
        except ValueError:
            return [*members, text[start:].encode("utf-8", "surrogateescape") or b"{"]
        members.append(text[start:at].encode("utf-8", "surrogateescape"))


def _times_before(lines: Iterable[bytes]) -> list[int]:
    """Returns how often the document of each line has been before.

    -1 for a line that names its filter or no document.
    """
    seen: dict[str, int] = {}
    places: list[int] = []
    for raw in lines:
        try:
            place = _place.decode(raw)
        except _NOT_JSON:
            place = _Place()
        if place.filter is not None or place.doc_id is None:
            places.append(-1)
            continue
        key = str(place.doc_id)
        places.append(seen.get(key, 0))
        seen[key] = places[-1] + 1
    return places


def _with_filters(lines: Callable[[], Iterator[bytes]], filters: Sequence[str]) -> Iterator[bytes]:
    """Names the filter of each line by how often its document has been before.

    Where the counts do not fit the filters, the lines stay as they are. The lines are read twice,
    so that none are held.
    """
    if len(filters) < 2:
        yield from lines()
        return
    places = _times_before(lines())
    most = max(places, default=-1) + 1
    # Of a file that breaks off, later filters may be lost whole; the first lines are the first
    # filter's all the same.
    fits = most == len(filters) or (most < len(filters) and places[-1] < 0)
    for raw, at in zip(lines(), places, strict=True):
        if fits and at >= 0:
            name = json.dumps(filters[at], ensure_ascii=False).encode("utf-8", "replace")
            yield b'{"filter": ' + name + b", " + raw.lstrip()[1:]
        else:
            yield raw


def kept_lines(key: str, lines: Callable[[], Iterable[bytes]]) -> Path:
    """A file of lines in the cache, written where it is not there yet."""
    name = hashlib.blake2b(f"{_VERSION} {key}".encode(), digest_size=16).hexdigest()
    for folder_of in (_shared_folder, _own_folder):
        folder = folder_of()
        path = folder / f"{name}.jsonl"
        try:
            if path.is_file():
                path.touch()  # the latest use decides how long it is kept
                return path
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
                part = Path(file.name)
                try:
                    file.writelines(raw + b"\n" for raw in lines())
                except BaseException:
                    part.unlink(missing_ok=True)
                    raise
            part.replace(path)
        except OSError:  # a home that cannot be written: the folder of this process does
            continue
        _forget_old(folder, path.stat().st_mtime)
        return path
    raise OSError(
        f"no room for the lines of a samples file: neither {user_cache()} nor {_own_folder()}"
    )


def kept_samples(
    key: str, source: SampleSource, change: Callable[[Sample], Sample | None]
) -> SampleSource:
    """Returns the samples of a source, each changed by a function.

    Those of a file are kept in the cache, as what changes them may take long.

    Args:
        key: What the change is known by.
        source: The source.
        change: Sample -> what stands in its place; None where nothing does.
    """
    if not isinstance(source, SampleFile):
        return ChangedSamples(source, change)

    def lines() -> Iterator[bytes]:
        for raw in source.lines():
            sample = parse(raw) if raw.strip() else None
            changed = change(sample) if isinstance(sample, Sample) else None
            if changed is sample or not isinstance(sample, Sample):
                yield raw.rstrip(b"\r\n")
            elif changed is not None:
                yield _line_of(changed)

    return SampleFile(kept_lines(f"{key} {source.digest()}", lines))


def _line_of(sample: Sample) -> bytes:
    """A sample as lm-eval logs it."""
    line = sample_line(
        doc_id=sample.doc_id,
        doc=sample.doc,
        target=sample.target,
        arguments=sample.arguments,
        replies=sample.resps,
        filtered=sample.filtered_resps,
        filter_name=sample.filter,
        metrics=sample.metrics,
        hashes=sample.hashes,
    )
    text = json.dumps({**sample.metrics, **line}, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace")


def _shared_folder() -> Path:
    return user_cache() / "lines"


@cache
def _own_folder() -> Path:
    return Path(_own_space().name)


@cache
def _own_space() -> OwnFolder:
    return OwnFolder("lines")


def _forget_old(folder: Path, now: float) -> None:
    """Removes what was not used for days, by the clock of the disk, which may not be this one's."""
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if now - old.stat().st_mtime > _KEPT_DAYS * 86_400:
                old.unlink()
