"""A YAML mapping that knows on which line each key stands, so that a mistake can be pointed at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from evalprep.errors import BadInput, Problem

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 4_000_000  # far above any hand-written config; a data file given by mistake is refused at once


class YamlFile:
    """Parsed YAML with line numbers.

    Attributes:
        data: The mapping.
        name: How messages call the file.
        folder: Folder that relative paths in the file refer to.
        path: The file, None when made from text.
    """

    def __init__(
        self,
        data: dict[str, Any],
        lines: dict[tuple[str | int, ...], int],
        *,
        name: str,
        folder: Path,
        path: Path | None,
    ) -> None:
        self.data = data
        self.lines = lines
        self.name = name
        self.folder = folder
        self.path = path

    def where(self, *keys: str | int) -> str:
        """`file:line (key)` of a key, or of the nearest key above it."""
        label = ".".join(str(key) for key in keys)
        for end in range(len(keys), 0, -1):
            if tuple(keys[:end]) in self.lines:
                return f"{self.name}:{self.lines[tuple(keys[:end])]} ({label})"
        return f"{self.name} ({label})"

    def at(self, *keys: str | int) -> Mapping[str, Any]:
        """The mapping under a path of keys, empty where there is none."""
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}


def load_yaml(path: Path, *, folder: Path | None = None) -> YamlFile:
    """Read a YAML file that holds one mapping.

    Raises:
        BadInput: missing, unreadable, too large, not UTF-8, not YAML, not a mapping, repeated keys.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadInput(Problem(what=f"is larger than {MAX_BYTES} bytes", where=str(path), allowed="a YAML config"))
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadInput(Problem(what="does not exist", where=str(path), fix="give the right path")) from None
    except IsADirectoryError:
        raise BadInput(Problem(what="is a folder", where=str(path), allowed="a YAML file")) from None
    except UnicodeDecodeError as error:
        raise BadInput(Problem(what=f"is not UTF-8 text: {error}", where=str(path), fix="save it as UTF-8")) from None
    except OSError as error:
        raise BadInput(Problem(what=f"cannot be read: {error.strerror}", where=str(path))) from None
    return parse_yaml(text, name=str(path), folder=(folder or path.parent).resolve(), path=path)


def parse_yaml(text: str, *, name: str, folder: Path, path: Path | None = None) -> YamlFile:
    """Parse YAML text that holds one mapping.

    Raises:
        BadInput: as for `load_yaml`.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            lines: dict[tuple[str | int, ...], int] = {}
            repeated: list[Problem] = []
            if node is not None:
                _walk(node, (), lines, repeated, name, depth=0)
            data = loader.construct_document(node) if node is not None else {}
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BadInput(
            Problem(
                what=f"is not valid YAML: {reason}",
                where=place,
                fix="quote values that hold : or # and indent with blanks",
            )
        ) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(Problem(what=f"holds a value that cannot be read: {error}", where=name)) from None
    if repeated:
        raise BadInput(repeated)
    if not isinstance(data, dict):
        raise BadInput(
            Problem(what=f"holds a {type(data).__name__}, not a mapping", where=name, allowed="`key: value` lines")
        )
    return YamlFile({str(key): value for key, value in data.items()}, lines, name=name, folder=folder, path=path)


def _walk(
    node: yaml.Node,
    path: tuple[str | int, ...],
    lines: dict[tuple[str | int, ...], int],
    repeated: list[Problem],
    name: str,
    depth: int,
) -> None:
    if depth > 60:
        raise BadInput(Problem(what="is nested more than 60 levels deep", where=name))
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            key = (*path, str(key_node.value))
            if key in lines and key_node.value != "<<":
                repeated.append(
                    Problem(
                        what=f"{'.'.join(map(str, key))} is given twice (first on line {lines[key]})",
                        where=f"{name}:{key_node.start_mark.line + 1}",
                        fix="keep one of the two",
                    )
                )
            lines.setdefault(key, key_node.start_mark.line + 1)
            _walk(value_node, key, lines, repeated, name, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines.setdefault((*path, index), item.start_mark.line + 1)
            _walk(item, (*path, index), lines, repeated, name, depth + 1)
