"""Mistakes that may be planted into a source file.

One at a time, with the source that has one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

MODULE = "<module>"
_TURNED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
_TURNED |= {ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}


@dataclass(frozen=True)
class Mutant:
    """One changed place of one file.

    Attributes:
        file: Relative to the project.
        line: Where it is, counted from 1.
        what: The kind of mistake.
        text: The line as it stood; with `ordinal` it finds the place again after an edit elsewhere
            in the file.
        ordinal: How many places of the same text and kind come before it in the file.
        function: Qualified name of the innermost function around it; `<module>` outside of
            functions.
    """

    file: str
    line: int
    what: str
    text: str
    ordinal: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}: {self.text.strip()}"

    def record(self) -> dict[str, str | int]:
        """Its fields, for JSON."""
        return asdict(self)


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
        return "comparison turned"
    if isinstance(node, ast.BoolOp):
        return "and/or exchanged"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "`not` taken away"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return "True/False exchanged"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return "number moved by one"
    if (
        isinstance(node, ast.Return)
        and node.value is not None
        and not isinstance(node.value, ast.Constant)
    ):
        return "None returned"
    return ""


def _text(node: ast.AST, source: str) -> str:
    """Source of a node with its mistake."""

    def of(part: ast.AST) -> str:
        return f"({ast.get_source_segment(source, part)})"

    if isinstance(node, ast.Compare):
        rest = zip(node.ops[1:], node.comparators[1:], strict=True)
        more = "".join(f" {_SIGNS[type(sign)]} {of(part)}" for sign, part in rest)
        return f"({of(node.left)} {_TURNED[type(node.ops[0])]} {of(node.comparators[0])}{more})"
    if isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        return f"({word.join(map(of, node.values))})"
    if isinstance(node, ast.UnaryOp):
        return f"bool{of(node.operand)}"
    if isinstance(node, ast.Constant):
        return repr(not node.value if isinstance(node.value, bool) else node.value + 1)  # type: ignore[operator]
    return "return None"


_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_SIGNS |= {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}


def _walk(node: ast.AST, function: str = MODULE, prefix: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node with the function around it, but for those in f-strings.

    Whose positions Python 3.11 does not know.
    """
    for name, value in ast.iter_fields(node):
        inside, deeper = function, prefix
        if isinstance(node, ast.ClassDef) and name == "body":
            deeper = f"{prefix}{node.name}."
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and name == "body":
            inside, deeper = f"{prefix}{node.name}", f"{prefix}{node.name}.<locals>."
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child, inside
                yield from _walk(child, inside, deeper)


def mutants_of(path: Path, root: Path) -> Iterator[tuple[Mutant, str]]:
    """Every mutant of a file and the whole source with it, in the order of the source tree."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    data = [line.encode() for line in lines]
    seen: dict[tuple[str, str], int] = {}
    for node, function in _walk(ast.parse(source)):
        kind = _kind(node)
        if not kind:
            continue
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        key = (lines[first].rstrip("\n"), kind)
        ordinal = seen[key] = seen.get(key, -1) + 1
        before, after = data[first][: node.col_offset], data[last][node.end_col_offset :]  # type: ignore[attr-defined]
        middle = _text(node, source).encode()
        changed = b"".join([*data[:first], before, middle, after, *data[last + 1 :]]).decode()
        name = path.relative_to(root).as_posix()
        yield Mutant(name, first + 1, kind, key[0], ordinal, function), changed


def found_again(drawn: Mutant, root: Path) -> tuple[Mutant, str] | None:
    """The same place of a file that may have been edited since; None where the line is gone."""
    path = root / drawn.file
    if not path.is_file():
        return None
    key = (drawn.text, drawn.what, drawn.ordinal)
    for mutant, source in mutants_of(path, root):
        if (mutant.text, mutant.what, mutant.ordinal) == key:
            return mutant, source
    return None
