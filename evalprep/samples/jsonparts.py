"""A JSON file by its parts, each of which is decoded when it is read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import msgspec

from evalprep.files import TOO_DEEP, is_deep
from evalprep.samples.compressed import NotUnpacked, opened
from evalprep.samples.jsonplaces import Place, find_places
from evalprep.samples.sample import Damage, loads, why_undecodable

#: What to do about a file that breaks off, mostly where `json.dump` met a value it cannot write.
WRITE_AGAIN = (
    "copy it again, or write it again; "
    "json.dump(..., default=str) does not stop at a data type or function"
)
_SMALL = 65_536  # bytes of a value that is decoded to recognise a file
_HELD = 2**25  # bytes: a larger file is read value by value
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw])


class _InFile(msgspec.Struct, frozen=True):
    """A value that stays in its file until it is asked for."""

    path: Path
    place: Place

    @property
    def size(self) -> int:
        return self.place.end - self.place.start

    def decoded(self) -> Any:
        with opened(self.path) as file:
            file.seek(self.place.start)
            return _value_of(file.read(self.size))

    def each_text(self) -> Iterator[bytes]:
        """Yields the texts of the items of a list, read one by one."""
        with opened(self.path) as file:
            for start, end in self.place.items or ():
                file.seek(start)
                yield file.read(end - start)

    def members(self) -> dict[str, Any]:
        return {key: _InFile(self.path, place) for key, place in self.place.members.items()}


class JsonParts(msgspec.Struct, frozen=True):
    """The members of an object, or the items of a list.

    Attributes:
        members: Key -> its undecoded value, of an object.
        items: The undecoded list, where the file is one; None for an object.
    """

    members: Mapping[str, Any] = msgspec.field(default_factory=dict)
    items: Any = None

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Reads a file, which may be packed with gzip; a large one stays where it is.

        Raises:
            ValueError: it holds no JSON object or list, or is damaged.
        """
        try:
            with opened(path) as file:
                raw = file.read(_HELD + 1)
        except gzip.BadGzipFile as error:
            raise ValueError(str(error)) from error
        return cls.of(raw) if len(raw) <= _HELD else cls._of_large_file(path)

    @classmethod
    def _of_large_file(cls, path: Path) -> Self:
        state = path.stat()
        whole = _InFile(path, places_in(path, state.st_size, state.st_mtime_ns))
        return cls(whole.members()) if whole.place.items is None else cls(items=whole)

    @classmethod
    def of(cls, raw: bytes) -> Self:
        """Splits the text of an object or a list.

        Raises:
            ValueError: it is neither.
        """
        text = raw.removeprefix(b"\xef\xbb\xbf")
        if is_deep(text):
            raise ValueError(TOO_DEEP)
        try:
            if text.lstrip().startswith(b"["):
                return cls(items=list(_lists.decode(text)))
            return cls(_objects.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return cls._of_value(loads(text))  # bare NaN, a bad byte

    @classmethod
    def _of_value(cls, value: Any) -> Self:
        if isinstance(value, list):
            return cls(items=value)
        if isinstance(value, dict):
            return cls(value)
        raise ValueError("neither an object nor a list")

    @property
    def keys(self) -> list[str]:
        """The keys of the object; of a list those of its first item."""
        return list(self.members) or list(self.first)

    @property
    def first(self) -> dict[str, Any]:
        """The first item of a list, where that is an object."""
        value = next(_each_value(self.items), None)
        return value if isinstance(value, dict) else {}

    def small(self) -> dict[str, Any]:
        """Returns the members that are short, decoded."""
        names = [name for name, value in self.members.items() if _size(value) < _SMALL]
        return {name: self.get(name) for name in names}

    def get(self, key: str) -> Any:
        """Returns the decoded value of a key; None without one."""
        return _decoded(self.members[key]) if key in self.members else None

    def mapping(self, key: str) -> dict[str, Any]:
        """Returns the object at a key; an empty one without any."""
        value = self.get(key)
        return value if isinstance(value, dict) else {}

    def inner(self, key: str) -> JsonParts:
        """Returns the object at a key by its parts; without parts where there is none."""
        value = self.members.get(key)
        if isinstance(value, _InFile):
            return JsonParts(value.members())
        return JsonParts(self.mapping(key))

    def count(self, key: str) -> int | None:
        """Returns how many items the list at a key has; None where there is no list."""
        listed = self.members.get(key)
        held = listed.place.items if isinstance(listed, _InFile) else _held_items(listed)
        return None if held is None else len(held)

    def each(self, key: str) -> Iterator[dict[str, Any] | Damage]:
        """Yields the objects of the list at a key."""
        return _each_object(self.members.get(key))

    def each_value(self, key: str) -> Iterator[Any]:
        """Yields the items of the list at a key, whatever they are."""
        return _each_value(self.members.get(key))

    def each_item(self) -> Iterator[dict[str, Any] | Damage]:
        """Yields the objects of the list that the file is."""
        return _each_object(self.items)

    def each_text(self) -> Iterator[bytes]:
        """Yields the texts of the items of the list that the file is."""
        if isinstance(self.items, _InFile):
            yield from self.items.each_text()
        else:
            yield from map(_text_of, self.items or ())


@lru_cache(maxsize=4)
def places_in(path: Path, _size: int, _changed: int) -> Place:
    """The places in a file, found once as long as its size and time of change stay."""
    with opened(path) as file:
        return find_places(file)


def _each_object(listed: Any) -> Iterator[dict[str, Any] | Damage]:
    for number, value in enumerate(_each_value(listed), start=1):
        yield value if isinstance(value, dict) else Damage(number, "not an object")


def _each_value(listed: Any) -> Iterator[Any]:
    """The items of a list, in whichever way it is held; none of anything else."""
    if isinstance(listed, _InFile):
        yield from map(_value_of, listed.each_text())
    else:
        yield from map(_decoded, _held_items(listed) or ())


def _held_items(listed: Any) -> list[Any] | None:
    """The items of a list in memory; None of anything else."""
    try:
        items = _lists.decode(listed) if isinstance(listed, msgspec.Raw) else listed
    except msgspec.DecodeError:
        return None
    return items if isinstance(items, list) else None


def _size(value: Any) -> int:
    if isinstance(value, _InFile):
        return value.size
    return memoryview(value).nbytes if isinstance(value, msgspec.Raw) else 0


def _decoded(value: Any) -> Any:
    if isinstance(value, _InFile):
        return value.decoded()
    return _value_of(bytes(value)) if isinstance(value, msgspec.Raw) else value


def _value_of(text: bytes) -> Any:
    """A part of a file; None where it is damaged, such as a number of 5,000 digits."""
    try:
        return None if is_deep(text) else loads(text)
    except ValueError:
        return None


def _text_of(value: Any) -> bytes:
    if isinstance(value, msgspec.Raw):
        return bytes(value)
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def objects_in(path: Path) -> Iterator[dict[str, Any] | Damage]:
    """Yields the objects of JSON Lines, in bounded memory, with what could not be read."""
    number = 0
    try:
        with opened(path) as lines:
            for number, raw in enumerate(lines, start=1):
                if raw.strip():
                    yield object_of(raw, number)
    except NotUnpacked:
        yield Damage(number + 1, "cut off")


def object_of(raw: bytes, number: int) -> dict[str, Any] | Damage:
    """Returns the object of a line, or what is wrong with it."""
    try:
        value = loads(raw)
    except (ValueError, RecursionError):
        return Damage(number, why_undecodable(raw))
    if is_deep(raw):
        return Damage(number, why_undecodable(raw))
    if not isinstance(value, dict):
        return Damage(number, f"not an object but {type(value).__name__}")
    return value
