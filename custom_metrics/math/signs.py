r"""Answers that stand for several: `\\pm`, and values that share a name, written out as lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import chain

from custom_metrics.math.exact import NotExactError
from custom_metrics.math.tree import Node

MAX_SIGNS = 4
"""Double signs of one answer; each doubles the number of values."""


def distribute(node: Node) -> Node:
    r"""`x \\ne 1, 2` says `x \\ne 1, x \\ne 2`; the same for equality."""
    if (
        node.op != "list"
        or node.value == ";"
        or node.args[0].op != "rel"
        or node.args[0].value not in {"=", "!="}
    ):
        return node
    first, *rest = node.args
    if (
        not first.label
        or first.args[0].op == "tuple"
        or any(item.op in {"rel", "tuple"} for item in rest)
    ):
        return node
    return node._replace(
        args=(first, *(first._replace(args=(first.args[0], item)) for item in rest))
    )


def expand_signs(node: Node) -> Node:
    r"""Writes out `\pm`: a value with a double sign is the list of its values."""
    if not any(item.op == "pm" for item in node.walk()):
        return node
    if node.op in {"list", "set"}:
        items = tuple(chain.from_iterable(map(_choices, node.args)))
        return node._replace(args=items)
    return Node("list", tuple(_choices(node)), ",")


def _choices(node: Node) -> list[Node]:
    signs = [item.value for item in node.walk() if item.op == "pm"]
    if len(signs) > MAX_SIGNS:
        raise NotExactError("too many double signs")
    if not signs:
        return [node]
    if "-+" in signs:  # \mp refers to the \pm beside it
        patterns = [(True,) * len(signs), (False,) * len(signs)]
    else:
        patterns = list(itertools.product((True, False), repeat=len(signs)))
    return [_choose(node, iter(pattern)) for pattern in patterns]


def _choose(node: Node, upper: Iterator[bool]) -> Node:
    if not node.args:
        return node
    if node.op != "pm":
        return node._replace(args=tuple(_choose(arg, upper) for arg in node.args))
    plus = next(upper) == (node.value == "+-")
    *before, last = [_choose(arg, upper) for arg in node.args]
    signed = last if plus else Node("neg", (last,))
    if not before:
        return signed
    return Node("add", (before[0], signed))
