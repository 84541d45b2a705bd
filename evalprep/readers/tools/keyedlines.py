"""The objects of JSON Lines by a key: requests of predictions, events of samples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from evalprep.files import is_deep
from evalprep.samples import Damage, object_of, opened

_Record = TypeVar("_Record")


class KeyedLines:
    """The objects of a file by a key; they stay in the file until they are asked for.

    Attributes:
        damage: Lines that cannot be read, once `places` are known.
    """

    def __init__(
        self,
        path: Path | None,
        members: Iterable[str],
        key_of: Callable[[Mapping[str, Any]], Hashable | None],
    ) -> None:
        """Names a file, None for one that is not there.

        Args:
            path: The file.
            members: The members of an object that make its key; the others are passed over.
            key_of: Returns the key of an object by these; None for one that is not wanted.
        """
        self._path, self._key_of = path, key_of
        fields = [(name, Any, msgspec.UNSET) for name in members]
        self._decoder = msgspec.json.Decoder(msgspec.defstruct("Members", fields))
        self.damage: list[Damage] = []

    @cached_property
    def places(self) -> Mapping[Hashable, list[tuple[int, int]]]:
        """Key -> start and length of each of its lines, in the order of the file."""
        places: dict[Hashable, list[tuple[int, int]]] = {}
        start = 0
        with ExitStack() as stack:
            lines = stack.enter_context(opened(self._path)) if self._path is not None else ()
            for number, raw in enumerate(lines, start=1):
                item = self._members_of(raw, number)
                if not isinstance(item, Damage):
                    key = self._key_of(item)
                    if key is not None:
                        places.setdefault(key, []).append((start, len(raw)))
                elif raw.strip():
                    self.damage.append(item)
                start += len(raw)
        return places

    def _members_of(self, raw: bytes, number: int) -> dict[str, Any] | Damage:
        """The members of a line, or of one that is odd the whole of it."""
        try:
            if not is_deep(raw):
                members = self._decoder.decode(raw)
                named = zip(
                    members.__struct_fields__, msgspec.structs.astuple(members), strict=True
                )
                return {name: value for name, value in named if value is not msgspec.UNSET}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # bare NaN, a bad byte, a line that is cut off
        return object_of(raw, number)

    def joined(
        self, records: Iterable[_Record], key_of: Callable[[_Record], Hashable | None]
    ) -> Iterator[tuple[_Record, Iterator[dict[str, Any]]]]:
        """Yields each record with the objects of its key, to be read before the next record.

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
                yield record, _objects_at(file, places) if file is not None else iter(())


def _objects_at(file: IO[bytes], places: Iterable[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """The objects of lines; an empty one where the file was changed since they were found."""
    for start, length in places:
        file.seek(start)
        item = object_of(file.read(length), 0)
        yield {} if isinstance(item, Damage) else item
