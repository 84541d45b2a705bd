"""The closed encoding in which arguments and results travel.

It holds plain data, and nothing that could act.

A value is None, a bool, int, float, str or bytes, or a list, tuple, dict or set of such values.
Instances of subclasses are written as their base class has them, by the base class's own methods.
Lists, dicts and sets are numbered in the order of their beginnings; one that comes again is written
as its number, so that shared and circular values keep their shape.

    N T F                     None, True, False
    i<length>:<hexadecimal>   int
    f<8 bytes>                float
    s<length>:<UTF-8>         str, half characters included
    b<length>:<bytes>         bytes
    l t d u<count>:<values>   list, tuple, dict (keys and values in turn), set
    r<number>:                a list, dict or set that has begun before
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import chain
from typing import Any

DEEPEST = 200  # containers inside each other
_CONSTANTS = {b"N": None, b"T": True, b"F": False}


class NotPlainError(Exception):
    """A value has no encoding; the text names its type."""


class MalformedError(Exception):
    """The bytes are no encoding of a value."""


class Encoder:
    """Writes values.

    Args:
        containers: Lists, dicts and sets that the reader knows already, in the order of their
            numbers.

    Attributes:
        written: The bytes so far.
        containers: Numbered containers; keeping them keeps their identities unique.
    """

    def __init__(self, containers: Iterable[Any] = ()) -> None:
        self.written = bytearray()
        self.containers = list(containers)
        self._numbers = {id(container): number for number, container in enumerate(self.containers)}

    def write(self, value: Any, depth: int = 0) -> None:
        """Writes a value.

        Raises:
            NotPlainError: it is, or holds, something else than plain data.
        """
        kind = type(value)
        if value is None or kind is bool:
            self.written += {None: b"N", True: b"T", False: b"F"}[value]
        elif issubclass(kind, int):
            self._text(b"i", b"%x" % int.__pos__(value))
        elif issubclass(kind, float):
            self.written += b"f" + struct.pack(">d", float.__pos__(value))
        elif issubclass(kind, str):
            self._text(b"s", str.encode(value, "utf-8", "surrogatepass"))
        elif issubclass(kind, bytes):
            self._text(b"b", bytes.__getitem__(value, slice(None)))
        elif issubclass(kind, tuple):
            self._items(b"t", list(tuple.__iter__(value)), depth)
        elif issubclass(kind, (list, dict, set)):
            self._numbered(value, depth)
        else:
            raise NotPlainError(kind.__name__)

    def write_content(self, container: Any, depth: int = 0) -> None:
        """Writes what a list, dict or set holds now."""
        if isinstance(container, list):
            self._items(b"l", list(list.__iter__(container)), depth)
        elif isinstance(container, dict):
            keys_and_values = list(chain.from_iterable(dict.items(container)))
            self._items(b"d", keys_and_values, depth)
        else:
            self._items(b"u", list(set.__iter__(container)), depth)

    def _numbered(self, container: Any, depth: int) -> None:
        number = self._numbers.get(id(container))
        if number is not None:
            self.written += b"r%d:" % number
            return
        self._numbers[id(container)] = len(self.containers)
        self.containers.append(container)
        self.write_content(container, depth)

    def _items(self, tag: bytes, items: list[Any], depth: int) -> None:
        if depth >= DEEPEST:
            raise NotPlainError(f"value of more than {DEEPEST} levels")
        count = len(items) // 2 if tag == b"d" else len(items)
        self.written += tag + b"%d:" % count
        for item in items:
            self.write(item, depth + 1)

    def _text(self, tag: bytes, content: bytes) -> None:
        self.written += tag + b"%d:" % len(content) + content


class Decoder:
    """Reads values out of bytes that anybody may have written.

    Args:
        content: The bytes.
        containers: Lists, dicts and sets that the writer knows, in the order of their numbers.
    """

    def __init__(self, content: bytes, containers: Iterable[Any] = ()) -> None:
        self._content = content
        self._place = 0
        self.containers = list(containers)

    def read(self, depth: int = 0) -> Any:
        """Reads one value.

        Raises:
            MalformedError: what stands there is none.
        """
        tag = self._take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"f":
            return struct.unpack(">d", self._take(8))[0]
        try:
            return self._sized(tag, self._number(), depth)
        except (ValueError, TypeError, IndexError) as error:  # e.g. a list as a key
            raise MalformedError(str(error)) from error

    def read_content(self) -> list[Any]:
        """Reads what a list or set holds, or keys and values of a dict in turn."""
        tag, count = self._take(1), self._number()
        if tag not in {b"l", b"d", b"u"}:
            raise MalformedError("no list, dict or set")
        return self._values(2 * count if tag == b"d" else count, 0)

    def at_end(self) -> bool:
        """Returns whether all bytes were read."""
        return self._place == len(self._content)

    def _sized(self, tag: bytes, size: int, depth: int) -> Any:
        match tag:
            case b"i":
                return int(self._take(size), 16)
            case b"s":
                return self._take(size).decode("utf-8", "surrogatepass")
            case b"b":
                return self._take(size)
            case b"r":
                return self.containers[size]
            case b"t":
                return tuple(self._values(size, depth))
            case b"l" | b"d" | b"u":
                container: Any = {b"l": list, b"d": dict, b"u": set}[tag]()
                self.containers.append(container)
                fill(container, self._values(2 * size if tag == b"d" else size, depth))
                return container
        raise MalformedError(f"unknown tag {tag!r}")

    def _values(self, count: int, depth: int) -> list[Any]:
        if depth >= DEEPEST or count > len(self._content) - self._place:
            raise MalformedError("too deep or too long")
        return [self.read(depth + 1) for _ in range(count)]

    def _number(self) -> int:
        end = self._content.find(b":", self._place, self._place + 20)
        digits = self._content[self._place : end]
        if end == -1 or not digits.isdigit():
            raise MalformedError("no number")
        self._place = end + 1
        return int(digits)

    def _take(self, count: int) -> bytes:
        content = self._content[self._place : self._place + count]
        if len(content) != count:
            raise MalformedError("cut short")
        self._place += count
        return content


def fill(container: Any, items: list[Any]) -> None:
    """Replaces what a list, dict or set holds, in place.

    Args:
        container: The list, dict or set; an instance of a subclass is changed as its base class.
        items: Its items; for a dict keys and values in turn.
    """
    if isinstance(container, list):
        list.__setitem__(container, slice(None), items)
    elif isinstance(container, dict):
        dict.clear(container)
        dict.update(container, zip(items[::2], items[1::2], strict=True))
    else:
        set.clear(container)
        set.update(container, items)


def encode(value: Any) -> tuple[bytes, list[Any]]:
    """The bytes of a value, and its lists, dicts and sets by number."""
    encoder = Encoder()
    encoder.write(value)
    return bytes(encoder.written), encoder.containers
