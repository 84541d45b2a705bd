"""Values inside nested columns, by their path: `choices.text`, `turns.0.content`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

DEEPEST, FIRST = 4, 10


def value_at(row: Mapping[str, Any], name: str) -> Any:
    """The value of a column, or what a path finds inside of one; None where there is nothing.

    A column of that very name comes first; a number is a place in a list.

    >>> value_at({"choices": {"text": ["x", "y"]}}, "choices.text.1")
    'y'
    """
    if name in row:
        return row[name]
    value: Any = row
    for key in name.split("."):
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def column_of(name: str, columns: Iterable[str]) -> str:
    """The column that has to be read for a name or a path."""
    return name if name in columns else name.partition(".")[0]


def paths_in(row: Mapping[str, Any], deepest: int = DEEPEST) -> Iterator[str]:
    """Paths to what is inside of the mappings of a row, and of the first ones in its lists.

    >>> row = {"q": "x", "choices": {"text": ["x"], "label": ["A"]}, "turns": [{"content": "hi"}]}
    >>> list(paths_in(row))
    ['choices.text', 'choices.label', 'turns.0.content']
    """
    for name, value in row.items():
        if isinstance(value, list):
            inner = {
                f"{name}.{place}": item
                for place, item in enumerate(value[:FIRST])
                if isinstance(item, Mapping)
            }
            yield from paths_in(inner, deepest)
        elif isinstance(value, Mapping) and deepest:
            yield from (f"{name}.{key}" for key in value)
            yield from (f"{name}.{path}" for path in paths_in(value, deepest - 1))
