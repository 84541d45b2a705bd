"""A YAML mapping that knows on which line each key stands, so that a mistake can be pointed at.

What it holds may be known from an earlier reading, without a look at its text.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.errors import BadInput, Problem
from evalprep.files import open_file, read_object, text_sha256, write_atomically
from evalprep.places import caches

if TYPE_CHECKING:
    from evalprep.yamltext import Keys

MAX_BYTES = (
    4_000_000  # far above any hand-written config; a data file given by mistake is refused at once
)


class YamlFile:
    """Parsed YAML with line numbers.

    Attributes:
        data: The mapping.
        lines: Path of keys -> line; read from the text when the first mistake is met.
        name: How messages call the file.
        folder: Folder that relative paths in the file refer to.
        path: The file, None when made from text.
    """

    def __init__(
        self, data: dict[str, Any], text: str, *, name: str, folder: Path, path: Path | None
    ) -> None:
        self.data = data
        self._text = text
        self.name = name
        self.folder = folder
        self.path = path
        self._settings: set[Keys] = set()

    @cached_property
    def lines(self) -> dict[Keys, int]:
        """Path of keys -> line of the first such key."""
        from evalprep.yamltext import compose, entries

        lines: dict[Keys, int] = {}
        for keys, line, _, _ in entries(compose(self._text)[1]):
            lines.setdefault(keys, line)
        return lines

    def where(self, *keys: str | int) -> str:
        """`file:line (key)` of a key, or of the nearest key above it."""
        label = ".".join(str(key) for key in keys)
        for end in range(len(keys), 0, -1):
            if keys[:end] in self._settings:
                return f"--set {label}"
            if keys[:end] in self.lines:
                return f"{self.name}:{self.lines[keys[:end]]} ({label})"
        return f"{self.name} ({label})"

    def at(self, *keys: str | int) -> Mapping[str, Any]:
        """The mapping under a path of keys, empty where there is none."""
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def overrule(self, keys: tuple[str, ...], value: Any) -> str | None:
        """Set one key from the command line.

        Returns:
            None, or the part of the path that is not a mapping, with nothing changed.
        """
        target: dict[str, Any] = self.data
        for number, key in enumerate(keys[:-1], 1):
            inner = target.get(key)
            if inner is None:
                inner = target[key] = {}
            if not isinstance(inner, dict):
                return ".".join(keys[:number])
            target = inner
        target[keys[-1]] = value
        self._settings.add(keys)
        return None


def load_yaml(path: Path) -> YamlFile:
    """Read a YAML file that holds one mapping.

    Raises:
        BadInput: missing, unreadable, too large, not UTF-8, not YAML, not a mapping, repeated keys.
    """
    text = _read_text(path)
    return parse_yaml(text, name=str(path), folder=path.parent.resolve(), path=path)


def load_remembered_yaml(path: Path) -> YamlFile:
    """`load_yaml` for files that are read at every start.

    What a text means is kept in the user's cache.

    Raises:
        BadInput: as for `load_yaml`.
    """
    text = _read_text(path)
    digest = text_sha256(text)
    cache = caches() / "evalprep" / "yaml" / f"{digest}.json"
    folder = path.parent.resolve()
    if data := read_object(cache):
        return YamlFile(data, text, name=str(path), folder=folder, path=path)
    source = parse_yaml(text, name=str(path), folder=folder, path=path)
    with contextlib.suppress(OSError, ValueError, TypeError):  # a cache that fails costs time only
        stored = json.dumps(source.data, ensure_ascii=False)
        if json.loads(stored) == source.data:  # keys that are numbers would become texts
            cache.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(cache, stored)
    return source


def _read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        BadInput: missing, unreadable, no regular file, too large, not UTF-8.
    """
    where = str(path)
    try:
        size = path.stat().st_size
        with open_file(path, "r", own=True, encoding="utf-8-sig") as file:
            text = file.read() if size <= MAX_BYTES else ""
    except FileNotFoundError:
        problem = Problem(what="does not exist", where=where, fix="give the right path")
    except IsADirectoryError:
        problem = Problem(what="is a folder", where=where, allowed="a YAML file")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 text from byte {error.start + 1} on"
        problem = Problem(what=what, where=where, fix="save it as UTF-8")
    except OSError as error:
        problem = Problem(
            what=f"cannot be read: {error.strerror}", where=where, fix="make it readable"
        )
    except ValueError as error:  # a NUL in the path
        problem = Problem(
            what=f"is not a valid path: {error}", where=repr(where), fix="give the right path"
        )
    else:
        if size <= MAX_BYTES:
            return text
        problem = Problem(
            what=f"is larger than {MAX_BYTES} bytes", where=where, allowed="a YAML config"
        )
    raise BadInput(problem)


def parse_yaml(text: str, *, name: str, folder: Path, path: Path | None = None) -> YamlFile:
    """Parse YAML text that holds one mapping.

    Raises:
        BadInput: as for `load_yaml`.
    """
    from evalprep.yamltext import NotYaml, compose

    try:
        data, node = compose(text)
    except NotYaml as error:
        position = f":{error.line}:{error.column}" if error.column else f":{error.line}"
        raise BadInput(
            Problem(
                what=f"is not valid YAML: {error.reason}",
                where=f"{name}{position}" if error.line else name,
                fix="quote values that hold : or #, and indent with spaces",
            )
        ) from None
    from evalprep.yamltext import entries

    # YAML would take the last one of keys that are given twice.
    lines: dict[Keys, int] = {}
    problems = []
    for keys, line, again, _ in entries(node):
        if again:
            key = ".".join(map(str, keys))
            problems.append(
                Problem(
                    what=f"{key} is given twice (first on line {lines[keys]})",
                    where=f"{name}:{line}",
                    fix="keep one of the two",
                )
            )
        lines.setdefault(keys, line)
    if problems:
        raise BadInput(problems)
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise BadInput(
            Problem(
                what=f"holds {'a list' if isinstance(data, list) else 'text'}, not a mapping",
                where=name,
                allowed="a YAML file of `key: value` lines",
            )
        )
    named = {str(key): value for key, value in data.items()}
    return YamlFile(named, text, name=name, folder=folder, path=path)
