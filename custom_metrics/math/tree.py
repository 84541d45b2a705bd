"""The tree of a parsed answer: one kind of node for expressions and for the shapes around them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple


class Node(NamedTuple):
    """A node of an answer.

    Expressions: `num` (value: Fraction), `sym` (value: name), `const` (value: `pi`, `e`, `i`,
    `inf`), `add`, `mul`, `div`, `pow`, `neg`, `pm` (one or two operands, value `+` or `-` for the
    upper sign), `fn` (value: name), `root` (radicand, index), `log` (argument, base) or `log`
    (argument), `fact`, `abs`, `deg`, `percent`.
    Shapes: `list` (value: `,`, `;`, `and`, `or`), `tuple` (value: the two brackets), `set`,
    `builder`, `matrix` of `row`, `rel` (value: operators between the operands), `union`, `inter`,
    `minus`, `named` (value: `R`, `Z`, `empty`, ...), `ratio`, `quantity` (value: unit), `based`
    (value: `digits_base`), `text` (value: words), `choice` (value: its letter), `cases` of `tuple`,
    `range` of two numbers, `given` (a formula and its condition).

    Attributes:
        op: The kind.
        args: Operands.
        value: Payload of a leaf or of a shape.
        label: For a `rel`, the text of its left side when that only names the value (`x`, `f(x)`,
            `AB`).
    """

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction | str | None = None
    label: str = ""

    def walk(self) -> Iterator[Node]:
        """Yields the node and everything below it."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.args)


def number(value: Fraction | int) -> Node:
    """Returns a number node."""
    return Node("num", value=Fraction(value))


def add(*terms: Node) -> Node:
    """Returns the sum of the terms."""
    return terms[0] if len(terms) == 1 else Node("add", terms)


def negative(term: Node) -> Node:
    """Returns the term with the other sign; numbers stay numbers, and a unit stays outside."""
    if term.op == "quantity":
        return term._replace(args=(negative(term.args[0]),))
    if isinstance(term.value, Fraction) and term.op == "num":
        return number(-term.value)
    return Node("neg", (term,))


def subtract(minuend: Node, subtrahend: Node) -> Node:
    """Returns the difference."""
    return Node("add", (minuend, Node("neg", (subtrahend,))))


def symbols(node: Node) -> frozenset[str]:
    """Names of the free symbols."""
    return frozenset(str(item.value) for item in node.walk() if item.op == "sym")


INFINITY = Node("const", value="inf")
MINUS_INFINITY = Node("neg", (INFINITY,))
SHAPES = frozenset(
    {
        "list",
        "tuple",
        "set",
        "builder",
        "matrix",
        "rel",
        "union",
        "inter",
        "minus",
        "named",
        "ratio",
        "quantity",
        "based",
        "text",
        "choice",
        "cases",
        "range",
        "given",
    }
)
"""Kinds that are no expressions."""
