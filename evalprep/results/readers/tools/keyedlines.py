"""The objects of JSON Lines by a key: requests of predictions, events of samples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

from evalprep.results.readers.compressed import opened
from evalprep.results.readers.jsonparts import object_of
from evalprep.results.sample import Damage

_Record = TypeVar("_Record")


class KeyedLines:
    """The objects of a file by a key; they stay in the file until they are asked for.

    Attributes:
        damage: Lines that cannot be read, once `places` are known.
    """

    def __init__(
        self, path: Path | None, key_of: Callable[[Mapping[str, Any]], Hashable | None]
    ) -> None:
        """Names a file, None for one that is not there, and what returns the key of an object."""
        self._path, self._key_of = path, key_of
        self.damage: list[Damage] = []

    @cached_property
    def places(self) -> Mapping[Hashable, list[tuple[int, int]]]:
        """Key -> start and length of each of its lines, in the order of the file."""
        places: dict[Hashable, list[tuple[int, int]]] = {}
        start = 0
        with ExitStack() as stack:
            lines = stack.enter_context(opened(self._path)) if self._path is not None else ()
            for number, raw in enumerate(lines, start=1):
                item = object_of(raw, number)
                if not isinstance(item, Damage):
                    key = self._key_of(item)
                    if key is not None:
                        places.setdefault(key, []).append((start, len(raw)))
                elif raw.strip():
                    self.damage.append(item)
                start += len(raw)
        return places

    def joined(
        self, records: Iterable[_Record], key_of: Callable[[_Record], Hashable | None]
    ) -> Iterator[tuple[_Record, list[dict[str, Any]]]]:
        """Yields each record with the objects of its key.

        Args:
            records: The records.
            key_of: Returns the key of a record; None for one that needs no objects.
        """
        file: IO[bytes] | None = None
        with ExitStack() as stack:
            for record in records:
                key = key_of(record)
                places = self.places.get(key, ()) if key is not None else ()
                if places and file is None and self._path is not None:
                    file = stack.enter_context(opened(self._path))
                yield record, [_object_at(file, *place) for place in places if file is not None]


def _object_at(file: IO[bytes], start: int, length: int) -> dict[str, Any]:
    """The object of a line that was one when its place was found; empty if the file changed."""
    file.seek(start)
    item = object_of(file.read(length), 0)
    return {} if isinstance(item, Damage) else item
