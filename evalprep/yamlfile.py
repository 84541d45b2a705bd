"""A YAML mapping that knows on which line each key stands, so that a mistake can be pointed at."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from evalprep.errors import BadInput, Problem
from evalprep.files import read_object, write_atomically
from evalprep.places import caches

Keys = tuple[str | int, ...]
MAX_BYTES = (
    4_000_000  # far above any hand-written config; a data file given by mistake is refused at once
)
MAX_DEPTH = 60
MAX_NODES = 1_000_000  # with every alias written out


# The class depends on the build.
class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader of the values that JSON has.

    A date stays the text that it is, binary and set tags are refused.
    """


_JSON_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge")
}
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _JSON_TAGS]
    for first, resolvers in Loader.yaml_implicit_resolvers.items()
}
Loader.yaml_constructors = {
    tag: constructor
    for tag, constructor in Loader.yaml_constructors.items()
    if tag in _JSON_TAGS or tag is None  # None: the constructor that refuses everything else
}


class NotYaml(Exception):  # noqa: N818 - as `BadInput`
    """Text that is no YAML that we read.

    `line` and `column` count from 1, 0 where there is none.
    """

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


def yaml_value(text: str) -> Any:
    """The value of a YAML text.

    Raises:
        NotYaml: not YAML, too deep, or too large once its aliases are written out.
    """
    return compose(text)[0]


def yaml_text(value: Any) -> str:
    """Writes plain data as YAML, keys in their order."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)


def compose(
    text: str, kind: Any = Loader, tags: Mapping[str, Callable[[Any, Any], Any]] | None = None
) -> tuple[Any, yaml.Node | None]:
    """Value and node tree of a text; the nodes know their lines.

    Args:
        text: The text.
        kind: Class of the loader, which decides what a bare word means.
        tags: Tag -> what makes a value of a node with it, beside those that the loader knows.

    Raises:
        NotYaml: not YAML, too deep, or too large once its aliases are written out.
    """
    try:
        _refuse_excess(text)
        loader = kind(text)
        loader.yaml_constructors = {**kind.yaml_constructors, **(tags or {})}
        try:
            node = loader.get_single_node()
            return (loader.construct_document(node) if node is not None else None), node
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise NotYaml(
            reason, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0
        ) from None
    except (ValueError, RecursionError) as error:  # an integer of 5,000 digits
        raise NotYaml(f"a value that cannot be read: {error}") from None


def _not_yaml(reason: str, event: yaml.Event) -> NotYaml:
    mark = event.start_mark
    return NotYaml(reason, mark.line + 1, mark.column + 1) if mark else NotYaml(reason)


def _refuse_excess(text: str) -> None:
    """Look at the events before anything is built.

    A deep text would end the process, a bomb of aliases hang it.
    """
    counter = _NodeCounter()
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.ScalarEvent) and "\0" in event.value:
            raise _not_yaml("a NUL character", event)
        counter.add(event)
        if counter.count > MAX_NODES:
            raise NotYaml(f"more than {MAX_NODES} values once its aliases are written out")


class _NodeCounter:
    """Counts the nodes of a text as if its aliases were written out."""

    def __init__(self) -> None:
        self.count = 0
        self._sizes: dict[str, int] = {}  # anchor -> nodes below it
        self._open: list[tuple[str | None, int]] = []  # anchor, nodes that stood before it

    def add(self, event: yaml.Event) -> None:
        """Count one event.

        Raises:
            NotYaml: nested too deeply, or an alias of a node that it is inside of.
        """
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self._open.pop()
            if anchor:
                self._sizes[anchor] = self.count - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self._open):
                raise _not_yaml(f"*{event.anchor} stands inside of itself", event)
            self.count += self._sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.NodeEvent):
            self.count += 1
            if isinstance(event, yaml.CollectionStartEvent):
                self._open.append((event.anchor, self.count - 1))
            if len(self._open) > MAX_DEPTH:
                raise _not_yaml(f"nested more than {MAX_DEPTH} levels deep", event)


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
            None, or the part of the path that is no mapping, with nothing changed.
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


def load_yaml(path: Path, *, folder: Path | None = None) -> YamlFile:
    """Read a YAML file that holds one mapping.

    Raises:
        BadInput: missing, unreadable, too large, not UTF-8, not YAML, not a mapping, repeated keys.
    """
    text = _read_text(path)
    return parse_yaml(text, name=str(path), folder=(folder or path.parent).resolve(), path=path)


def load_remembered_yaml(path: Path) -> YamlFile:
    """`load_yaml` for files that are read at every start.

    What a text means is kept in the user's cache.

    Raises:
        BadInput: as for `load_yaml`.
    """
    text = _read_text(path)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    cache = caches() / "evalprep" / "yaml" / f"{digest}.json"
    folder = path.parent.resolve()
    if data := read_object(cache):
        return YamlFile(data, text, name=str(path), folder=folder, path=path)
    source = parse_yaml(text, name=str(path), folder=folder, path=path)
    _remember(cache, source.data)
    return source


def _remember(cache: Path, data: dict[str, Any]) -> None:
    with contextlib.suppress(OSError, ValueError, TypeError):  # a cache that fails costs time only
        stored = json.dumps(data, ensure_ascii=False)
        if json.loads(stored) == data:  # keys that are numbers would become texts
            cache.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(cache, stored)


def _read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        BadInput: missing, unreadable, too large, not UTF-8.
    """
    where = str(path)
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8-sig") if size <= MAX_BYTES else ""
    except FileNotFoundError:
        problem = Problem(what="does not exist", where=where, fix="give the right path")
    except IsADirectoryError:
        problem = Problem(what="is a folder", where=where, allowed="a YAML file")
    except UnicodeDecodeError as error:
        problem = Problem(what=f"is not UTF-8 text: {error}", where=where, fix="save it as UTF-8")
    except OSError as error:
        problem = Problem(
            what=f"cannot be read: {error.strerror}", where=where, fix="make it readable"
        )
    except ValueError as error:  # a NUL in the path
        problem = Problem(what=f"is no path: {error}", where=repr(where), fix="give the right path")
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
    try:
        data, node = compose(text)
    except NotYaml as error:
        position = f":{error.line}:{error.column}" if error.column else f":{error.line}"
        raise BadInput(
            Problem(
                what=f"is not valid YAML: {error.reason}",
                where=f"{name}{position}" if error.line else name,
                fix="quote values that hold : or # and indent with blanks",
            )
        ) from None
    _refuse_repeated(node, name)
    data = {} if data is None else data
    if not isinstance(data, dict):
        raise BadInput(
            Problem(
                what=f"holds a {type(data).__name__}, not a mapping",
                where=name,
                allowed="`key: value` lines",
            )
        )
    named = {str(key): value for key, value in data.items()}
    return YamlFile(named, text, name=name, folder=folder, path=path)


def _refuse_repeated(node: yaml.Node | None, name: str) -> None:
    """Refuses keys that are given twice, of which YAML would take the last one in silence."""
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


def entries(node: yaml.Node | None) -> Iterator[tuple[Keys, int, bool, yaml.Node]]:
    """The entries of a node tree, the keys of a mapping before what stands below them.

    Yields:
        For each key of a mapping and each item of a list: the keys that lead there, its line,
        whether its mapping had the key before, and its value's node.
    """
    waiting: list[tuple[Keys, yaml.Node]] = [] if node is None else [((), node)]
    while waiting:
        path, parent = waiting.pop()
        below: list[tuple[Keys, yaml.Node]] = []
        seen: set[str] = set()
        if isinstance(parent, yaml.MappingNode):
            for key, value in parent.value:
                name = str(key.value)
                yield (*path, name), key.start_mark.line + 1, name in seen and name != "<<", value
                seen.add(name)
                below.append(((*path, name), value))
        elif isinstance(parent, yaml.SequenceNode):
            for index, value in enumerate(parent.value):
                yield (*path, index), value.start_mark.line + 1, False, value
                below.append(((*path, index), value))
        waiting += reversed(below)
