"""The surface of a room.

What it offers to other rooms, each thing imported when it is first asked for.

A room lists what it offers once, in its `__init__`, as imports under `if TYPE_CHECKING`, where type
checkers, editors and readers look. At run time `offered` finds a name in that list and imports its
module alone, so that a room with many modules costs its users only those that they use.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path


def offered(room: str) -> Callable[[str], object]:
    """Returns the `__getattr__` of a room (PEP 562)."""

    def attribute(name: str) -> object:
        if name == "__all__":  # of `from ROOM import *`
            return list(_places(room))
        place = _places(room).get(name)
        if place is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        module, attribute_name = place
        return getattr(importlib.import_module(module), attribute_name)

    return attribute


@cache
def _places(room: str) -> dict[str, tuple[str, str]]:
    """Name -> module and name there, of everything that a room offers."""
    source = Path(str(sys.modules[room].__file__)).read_text(encoding="utf-8")
    listed = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    places = {}
    for statement in chain.from_iterable(block.body for block in listed):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                places[alias.asname or alias.name] = (statement.module, alias.name)
    return places
