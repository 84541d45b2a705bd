"""YAML texts: their values, and the nodes that know on which line each key stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

Keys = tuple[str | int, ...]
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


def _whole_number(loader: Any, node: Any) -> int:
    """A whole number that a float can hold: whoever computes with a longer one fails."""
    value: int = loader.construct_yaml_int(node)
    try:
        float(value)
    except OverflowError:
        reason = f"a whole number of {len(node.value)} digits"
        raise yaml.constructor.ConstructorError(None, None, reason, node.start_mark) from None
    return value


Loader.yaml_constructors["tag:yaml.org,2002:int"] = _whole_number


class NotYaml(Exception):  # noqa: N818 - as `BadInput`
    """Text that is not valid YAML that we read.

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


def sorted_json(value: Any) -> str:
    """A value out of YAML as one text, whatever the order of its keys.

    A mapping may have keys of several kinds, which have no order until they are texts.
    """
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except TypeError:
        return json.dumps(_with_text_keys(value), sort_keys=True, default=str)


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(item) for key, item in value.items()}
    return [_with_text_keys(item) for item in value] if isinstance(value, list | tuple) else value


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
        if mark and _is_indented_with_tab(text, mark.line):
            reason = "the line is indented with a tab"
        raise NotYaml(
            reason, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0
        ) from None
    except (ValueError, RecursionError) as error:  # an integer of 5,000 digits
        raise NotYaml(f"a value that cannot be read: {error}") from None


def _is_indented_with_tab(text: str, number: int) -> bool:
    lines = text.splitlines()
    line = lines[number] if number < len(lines) else ""
    return "\t" in line[: len(line) - len(line.lstrip())]


def _not_yaml(reason: str, event: yaml.Event) -> NotYaml:
    mark = event.start_mark
    return NotYaml(reason, mark.line + 1, mark.column + 1) if mark else NotYaml(reason)


def _refuse_excess(text: str) -> None:
    """Looks at the events before anything is built.

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
        """Counts one event.

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
