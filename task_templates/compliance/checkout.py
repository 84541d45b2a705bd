"""The user's checkouts of COMPL-AI: texts out of their modules, and what their folders hold.

Nothing of it is imported or run. A text is read out of the syntax tree of its module: constants as
they stand, everything else as a field that the pack fills (`"Question: " + row["context"]`).
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.packapi import BadInput, Context, Problem, Source

COMMIT = "934d3f5"
IMPLEMENTATIONS = "src/benchmarks/benchmark_implementations"
V2_TASKS = "src/complai/tasks"
#: Version -> the folder by which its checkouts are known.
_HOLDS = {"v1": IMPLEMENTATIONS, "v2": V2_TASKS}
_LFS = b"version https://git-lfs.github.com/spec"
_SCOPES = (ast.ClassDef, ast.FunctionDef)


@dataclass(frozen=True)
class Field:
    """A place in a text that is filled with a value."""

    name: str


#: A text: constants and fields in order.
Text = tuple[str | Field, ...]


@dataclass(frozen=True)
class Place:
    """The place of a text in the checkout.

    Attributes:
        file: The module.
        scope: Classes and functions that enclose it, joined by dots.
        name: The name that it is assigned to; "" for the content of a message.
        number: Which of the messages, or of the assignments to the name, from 0.
        item: Its key, where a dictionary is assigned.
        fields: Expression of the source -> name of the field.
        constants: Names whose assigned constants are put in.
    """

    file: str
    scope: str = ""
    name: str = ""
    number: int = 0
    item: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    constants: Sequence[str] = ()


def checkout_of(context: Context, version: str = "v1") -> Path | None:
    """The folder that `compliance.v1_checkout` or `v2_checkout` names; None without one.

    Raises:
        BadInput: there is no such folder, or it is no checkout of that version.
    """
    key = f"{version}_checkout"
    named = getattr(context.section, key)
    if not named:
        return None
    folder = Path(context.locate(str(named)))
    if not (folder / _HOLDS[version]).is_dir():
        fix = "git clone https://github.com/compl-ai/compl-ai"
        if version == "v1":
            fix += f" && git -C compl-ai checkout {COMMIT}"
        raise BadInput(
            Problem(
                what=f"{named} is not a checkout of COMPL-AI {version}: it lacks {_HOLDS[version]}",
                where=context.where(key),
                fix=fix,
            )
        )
    return folder


def is_present(path: Path) -> bool:
    """Returns whether a file has content, and is no pointer of Git LFS."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_LFS)) not in (b"", _LFS)


def note_files(context: Context, files: Sequence[Path], location: Path, rows: int = 0) -> None:
    """Records files of the checkout for the manifest, with their digests.

    There is one entry per location.
    """
    known = {source.location: source for source in context.sources}
    source = known.get(str(location))
    if source is None:
        source = Source(str(location), [])
        context.sources.append(source)
    source.files += [path for path in files if path not in source.files]
    source.rows_read = max(source.rows_read, rows)


def read_text(context: Context, folder: Path, place: Place) -> Text:
    """Reads one text.

    Raises:
        BadInput: the module is absent or holds something else there.
    """
    path = folder / place.file
    try:
        text = text_at(path, place)
    except UNREADABLE as error:
        raise BadInput(
            Problem(
                what=f"{place.file} of the checkout does not hold the text of v1 ({error})",
                where=context.where("v1_checkout"),
                fix=f"check out COMPL-AI at {COMMIT}, the last commit of version 1",
            )
        ) from error
    note_files(context, [path], folder)
    return text


#: Errors of `text_at`.
UNREADABLE = (OSError, SyntaxError, ValueError, LookupError)


def text_at(path: Path, place: Place) -> Text:
    """Reads one text of a module.

    Raises:
        OSError: the module cannot be read.
        SyntaxError: it is no Python.
        ValueError: it holds something else than a text there.
        LookupError: it holds nothing there.
    """
    scope: ast.AST = ast.parse(path.read_text(encoding="utf-8"))
    for name in filter(None, place.scope.split(".")):
        inside = [node for node in ast.walk(scope) if isinstance(node, _SCOPES)]
        named = [node for node in inside if node.name == name]
        if not named:
            raise LookupError(f"no class or function {name}")
        scope = named[0]
    constants = {name: next(_assigned(scope, name)) for name in place.constants}
    # The pack's names of the fields; neighbouring constants become one.
    text: list[str | Field] = []
    for part in _parts(_expression(scope, place), constants):
        if isinstance(part, Field):
            if part.name not in place.fields:
                raise LookupError(f"unknown expression {part.name}")
            text.append(Field(place.fields[part.name]))
        elif text and isinstance(text[-1], str):
            text[-1] += part
        else:
            text.append(part)
    return tuple(text)


def fill(text: Text, values: Mapping[str, Any]) -> str:
    """Puts values into the fields of a text.

    >>> fill(("Hello ", Field("name"), "."), {"name": "{x}"})
    'Hello {x}.'
    """
    return "".join(str(values[part.name]) if isinstance(part, Field) else part for part in text)


def parse_text(template: str) -> Text:
    """Reads a text written as a format string.

    >>> parse_text("Hello {name}.")
    ('Hello ', Field(name='name'), '.')
    """
    parts: list[str | Field] = []
    for literal, name, _spec, _conversion in string.Formatter().parse(template):
        if literal:
            parts.append(literal)
        if name is not None:
            parts.append(Field(name))
    return tuple(parts)


def _expression(scope: ast.AST, place: Place) -> ast.expr:
    candidates = list(_assigned(scope, place.name) if place.name else _contents(scope))
    if place.number >= len(candidates):
        raise LookupError(f"no text {place.name or 'content'} number {place.number + 1}")
    value = candidates[place.number]
    if not place.item:
        return value
    if isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == place.item:
                return entry
    raise LookupError(f"no key {place.item}")


def _assigned(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Values assigned to a name or attribute (`self.question`), in the order of the source."""
    for node in _in_order(scope):
        if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
            yield node.value


def _contents(scope: ast.AST) -> Iterator[ast.expr]:
    """Values under the key "content" of dictionaries, in the order of the source."""
    for node in _in_order(scope):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "content":
                    yield value


def _in_order(scope: ast.AST) -> list[ast.AST]:
    nodes = [node for node in ast.walk(scope) if isinstance(node, (ast.Assign, ast.Dict))]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _parts(node: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str | Field]:
    """Constants of an expression and, as fields, all of it that is none."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            yield from _parts(left, constants)
            yield from _parts(right, constants)
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _parts(value, constants)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            yield from _parts(value, constants)
        case ast.Call(func=ast.Attribute(value=template, attr="format"), args=arguments):
            yield from _formatted(template, arguments, constants)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(text)), attr="strip"), args=[]
        ):
            yield text.strip()
        case _ if ast.unparse(node) in constants:
            yield from _parts(constants[ast.unparse(node)], constants)
        case _:
            yield Field(ast.unparse(node))


def _formatted(
    template: ast.expr, arguments: Sequence[ast.expr], constants: Mapping[str, ast.expr]
) -> Iterator[str | Field]:
    """`template.format(a, b)` with the arguments in the places of the template."""
    (text,) = _parts(template, constants)
    places = iter(arguments)
    for part in parse_text(str(text)):
        if isinstance(part, Field):
            yield from _parts(next(places), constants)
        else:
            yield part
