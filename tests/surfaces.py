"""What rooms offer and who takes it: names that nobody outside their room imports are no offers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests import PROJECT_ROOT
from tests.rooms import NOUNS, PACKAGE

_TAKERS = ("evalprep", "task_templates", "custom_metrics", "benchmarks", "environment", "tests")
_IMPORT = re.compile(rf"^\s*(?:>>> )?from {PACKAGE}\.(\w+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_ATTRIBUTE = re.compile(rf"\b({'|'.join(NOUNS)})\.(\w+)")
#: What packs may import stands in its own contract, whether or not a shipped pack uses it.
_CONTRACTS = {"packapi"}


def idle_offers(root: Path = PROJECT_ROOT) -> list[str]:
    """Returns what rooms offer and nobody outside takes, as `room.name`."""
    taken = set(_taken(root))
    return sorted(
        f"{room}.{name}"
        for room, names in _offers(root).items()
        for name in names
        if (room, name) not in taken
    )


def _offers(root: Path) -> dict[str, set[str]]:
    """Room -> the names that its `__init__` imports for others."""
    offers = {}
    for face in sorted((root / PACKAGE).glob("*/__init__.py")):
        room = face.parent.name
        if room in _CONTRACTS:
            continue
        tree = ast.parse(face.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        own = [node for node in imports if (node.module or "").startswith(f"{PACKAGE}.{room}.")]
        offers[room] = {alias.asname or alias.name for node in own for alias in node.names}
    return offers


def _taken(root: Path) -> Iterator[tuple[str, str]]:
    """Yields room and name of each offer that a file outside of the room takes."""
    files = [path for folder in _TAKERS for path in (root / folder).rglob("*.py")]
    pages = (root / "docs").rglob("*.md")
    for path in [*files, *pages, *(root / "examples").rglob("*.ipynb")]:
        own_room = path.relative_to(root).parts[1]
        text = path.read_text(encoding="utf-8", errors="replace")
        if PACKAGE not in text:
            continue
        for room, names in _IMPORT.findall(text):
            if room != own_room:
                yield from ((room, name) for name in re.findall(r"\w+", names))
        attributes = _ATTRIBUTE.findall(text)
        yield from ((room, name) for room, name in attributes if room != own_room)
