"""Places of the parts of a large JSON text, found in one pass over a file that is never held whole.

A window moves over the file. Its bytes are held as characters of the same number, so that a place
in the window is a place in the file; each value is decoded once to find its end, and dropped.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import IO

_STEP = 2**22  # bytes that are read at a time
_LARGEST_VALUE = 2**27  # bytes of one sample
_MOST_PARTS = 5_000_000
_DEPTH = 2  # objects within objects whose members are listed
_NEAR_THE_END = 16  # characters: a word or an escape that the window may have cut
_BLANKS = " \t\r\n"
_decoder = json.JSONDecoder(strict=False)
_NEXT = re.compile(r"[^\s,]")


@dataclass(slots=True)
class Place:
    """The beginning and end of a value, and of its parts.

    Attributes:
        start: Its first byte.
        end: The byte after its last.
        members: Key -> place, of an object near the top of the file.
        items: Start and end of each item, of a list near the top; None of any other value.
    """

    start: int
    end: int = 0
    members: dict[str, Place] = field(default_factory=dict)
    items: list[tuple[int, int]] | None = None


def find_places(file: IO[bytes]) -> Place:
    """Returns the place of the value in a file.

    Raises:
        ValueError: it is not JSON, or a value in it is larger than this program reads.
    """
    window = _Window(file)
    try:
        return _Finder(window).value(0)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def items_of_list(raw: bytes) -> list[tuple[int, int]]:
    """Returns the start and end of each whole item of a list that breaks off, and of the rest."""
    text = raw.decode("latin-1")
    items: list[tuple[int, int]] = []
    at = text.index("[") + 1
    while True:
        following = _NEXT.search(text, at)
        start = following.start() if following else len(text)
        try:
            _, at = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return [*items, (start, len(text))]
        items.append((start, at))


class _Window:
    """The part of a file that is looked at."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._text = file.read(_STEP).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
        self._first = file.tell() - len(self._text)  # the place of the first character
        self._at = 0
        self._is_last = False

    @property
    def place(self) -> int:
        """The place in the file that is looked at."""
        return self._first + self._at

    def next_sign(self) -> str:
        """Skips blanks and returns the next character.

        Raises:
            ValueError: the file ends here.
        """
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            self._read_on()

    def take(self, *signs: str) -> str:
        """Goes past one of some characters and returns it.

        Raises:
            ValueError: another one is there.
        """
        sign = self.next_sign()
        if sign not in signs:
            raise ValueError(f"byte {self.place}: {sign!r} in place of {' or '.join(signs)}")
        self._at += 1
        return sign

    def skip_value(self) -> str:
        """Goes past a value and returns its text.

        Raises:
            ValueError: it is not JSON, is cut off, or is too large.
        """
        self.next_sign()
        while True:
            try:
                _, end = _decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._may_be_cut(error):
                    raise ValueError(f"byte {self._first + error.pos}: {error.msg}") from error
            else:
                if end < len(self._text) or self._is_last:
                    text, self._at = self._text[self._at : end], end
                    return text
            self._read_on(may_end=True)

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Returns whether more of the file could mend an error."""
        is_open = error.msg.startswith("Unterminated string")
        return not self._is_last and (is_open or error.pos >= len(self._text) - _NEAR_THE_END)

    def _read_on(self, *, may_end: bool = False) -> None:
        rest = self._text[self._at :]
        if len(rest) > _LARGEST_VALUE:
            raise ValueError(f"a value at byte {self.place} is longer than {_LARGEST_VALUE} bytes")
        more = self._file.read(max(_STEP, len(rest)))
        if not more:
            if self._is_last or not may_end:
                raise ValueError("it is cut off")
            self._is_last = True
        self._first = self.place
        self._at = 0
        self._text = rest + more.decode("latin-1")


class _Finder:
    """Lists the parts of values and counts them."""

    def __init__(self, window: _Window) -> None:
        self._window = window
        self._count = 0

    def value(self, depth: int) -> Place:
        """Goes past a value and returns its place."""
        sign = self._window.next_sign()
        place = Place(self._window.place)
        if sign == "[":
            place.items = self._items()
        elif sign == "{" and depth < _DEPTH:
            place.members = self._members(depth)
        else:
            self._window.skip_value()
        place.end = self._window.place
        return place

    def _members(self, depth: int) -> dict[str, Place]:
        members: dict[str, Place] = {}
        self._window.take("{")
        if self._window.next_sign() == "}":
            self._window.take("}")
            return members
        while True:
            self._count_one()
            key = json.loads(self._window.skip_value().encode("latin-1"))
            self._window.take(":")
            members[str(key)] = self.value(depth + 1)
            if self._window.take(",", "}") == "}":
                return members

    def _items(self) -> list[tuple[int, int]]:
        items: list[tuple[int, int]] = []
        self._window.take("[")
        if self._window.next_sign() == "]":
            self._window.take("]")
            return items
        while True:
            self._count_one()
            self._window.next_sign()
            start = self._window.place
            self._window.skip_value()
            items.append((start, self._window.place))
            if self._window.take(",", "]") == "]":
                return items

    def _count_one(self) -> None:
        self._count += 1
        if self._count > _MOST_PARTS:
            raise ValueError(f"it has more than {_MOST_PARTS} values")
