"""Columns of rows that hold other rows or lists: `res.correct`, `choices.0`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_DEEPEST = 4  # parts of a path that a message names


def values_at(cell: Any, path: str) -> Iterator[Any]:
    """Yields the values that a path can mean, the one with the longest keys first.

    >>> list(values_at({"res": {"correct": 1}}, "res.correct"))
    [1]
    >>> list(values_at({"a.b": 1, "a": {"b": 2}}, "a.b"))
    [1, 2]
    >>> list(values_at({"a": ["x", "y"]}, "a.1")), list(values_at({"a": ["x"]}, "a.1"))
    (['y'], [])
    """
    if not path:
        yield cell
    elif isinstance(cell, list):
        place, _, rest = path.partition(".")
        if place.isdecimal() and int(place) < len(cell):
            yield from values_at(cell[int(place)], rest)
    elif isinstance(cell, Mapping):
        parts = path.split(".")
        for number in range(len(parts), 0, -1):
            key = ".".join(parts[:number])
            if key in cell:
                yield from values_at(cell[key], ".".join(parts[number:]))


def paths_in(cell: Any, depth: int = _DEEPEST) -> Iterator[str]:
    """Yields the names of the columns of a row and, below them, of the rows that they hold.

    >>> list(paths_in({"id": 1, "res": {"correct": 1}, "choices": ["a"]}))
    ['id', 'res', 'res.correct', 'choices']
    """
    if not isinstance(cell, Mapping) or not depth:
        return
    for key, value in cell.items():
        yield str(key)
        for inner in paths_in(value, depth - 1):
            yield f"{key}.{inner}"
