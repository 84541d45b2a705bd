r"""Constants of integration have no name of their own: `Ce^{-2t}` is `c e^{-2t}` and `Ke^{-2t}`.

Only letters that are usual for such constants are renamed, only where the answer is linear in them, and only when the
other letters are those of variables; so `2k+1` and `2c+1`, `mc^2` and `mk^2` stay different.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from custom_metrics.math.tree import Node, symbols

MAX_CONSTANTS = 3

_INDEX = r"(?:_(?:\{\w\}|\w))?"
_FAMILY = re.compile(rf"[CcKk]{_INDEX}")
_PARTNER = re.compile(rf"[A-DKa-dk]{_INDEX}")
_VARIABLE = re.compile(r"[tuvwxyzrs]|\\(?:theta|phi|tau)")


def renamings(left: Node, right: Node) -> Iterator[Node]:
    """Yield the right side as it is, and then with its constants of integration named as on the left side."""
    yield right
    free = [_free(side) for side in (left, right)]
    lacking = sorted(free[0] - free[1]), sorted(free[1] - free[0])
    common = free[0] & free[1]
    if not lacking[0] and not lacking[1]:
        indexed = sorted(name for name in common if _FAMILY.fullmatch(name) and "_" in name)
        if 2 <= len(indexed) <= MAX_CONSTANTS and _are_constants(left, right, indexed, indexed, common - set(indexed)):
            for order in itertools.islice(itertools.permutations(indexed), 1, None):
                yield _rename(right, dict(zip(indexed, order, strict=True)))
        return
    if not 0 < len(lacking[0]) == len(lacking[1]) <= MAX_CONSTANTS:
        return
    if _are_constants(left, right, *lacking, common):
        for order in itertools.permutations(lacking[0]):
            yield _rename(right, dict(zip(lacking[1], order, strict=True)))


def _free(side: Node) -> frozenset[str]:
    """Free symbols of an answer without the name in front of it."""
    return symbols(side.args[-1]) if side.op == "rel" and side.label and side.value == "=" else symbols(side)


def _are_constants(left: Node, right: Node, first: list[str], second: list[str], common: frozenset[str]) -> bool:
    """Whether the letters may be constants of integration; only the case of a letter may differ beside parameters."""
    variables = [name for name in common if _VARIABLE.fullmatch(name)]
    if not variables or not any(all(_FAMILY.fullmatch(name) for name in names) for names in (first, second)):
        return False
    if [name.casefold() for name in first] != [name.casefold() for name in second]:
        partners = all(_PARTNER.fullmatch(name) for name in (*first, *second))
        if not partners or len(variables) < len(common):
            return False
    return _is_linear(left, set(first)) and _is_linear(right, set(second))


def _is_linear(node: Node, names: set[str]) -> bool:
    """Whether every name stands as a summand or a factor, and no two are multiplied."""
    if not names & symbols(node):
        return True
    match node.op:
        case "sym":
            return True
        case "add" | "neg" | "rel" | "list" | "given":
            return all(_is_linear(arg, names) for arg in node.args)
        case "mul":
            return sum(bool(names & symbols(arg)) for arg in node.args) == 1 and all(
                _is_linear(arg, names) for arg in node.args
            )
        case "div":
            return not names & symbols(node.args[1]) and _is_linear(node.args[0], names)
    return False


def _rename(node: Node, names: dict[str, str]) -> Node:
    if node.op == "sym":
        return node._replace(value=names.get(str(node.value), node.value))
    return node._replace(args=tuple(_rename(arg, names) for arg in node.args)) if node.args else node
