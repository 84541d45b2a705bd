r"""Constants of integration have no name of their own: `Ce^{-2t}` is `c e^{-2t}` and `Ke^{-2t}`.

Only letters that are usual for such constants are renamed, only where the answer is linear in them,
and only when the other letters are those of variables; so `2k+1` and `2c+1`, `mc^2` and `mk^2` stay
different.
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


def renamings(first: Node, second: Node) -> Iterator[Node]:
    """Yields the second answer as it is, then with its constants named as in the first one.

    Both are constants of integration.
    """
    yield second
    first_names = _free(first)
    second_names = _free(second)
    common = first_names & second_names
    first_only = sorted(first_names - common)
    second_only = sorted(second_names - common)
    if not first_only and not second_only:
        first_only = second_only = [name for name in sorted(common) if _is_indexed(name)]
        common -= {*first_only}
        if len(first_only) < 2:
            return
    if not 0 < len(first_only) == len(second_only) <= MAX_CONSTANTS:
        return
    if _are_constants(first, second, first_only, second_only, common):
        yield from _renamed(second, second_only, first_only)


def _renamed(node: Node, names: list[str], new_names: list[str]) -> Iterator[Node]:
    """Yields a node with its names replaced by the new ones, in every order that changes it."""
    for order in itertools.permutations(new_names):
        by_name = dict(zip(names, order, strict=True))
        if any(name != new_name for name, new_name in by_name.items()):
            yield _rename(node, by_name)


def _is_indexed(name: str) -> bool:
    """Tells whether a name is a constant with an index: `c_1`."""
    return "_" in name and _FAMILY.fullmatch(name) is not None


def _free(side: Node) -> frozenset[str]:
    """Free symbols of an answer without the name in front of it."""
    if side.op == "rel" and side.label and side.value == "=":
        return symbols(side.args[-1])
    return symbols(side)


def _are_constants(
    first: Node,
    second: Node,
    first_names: list[str],
    second_names: list[str],
    common: frozenset[str],
) -> bool:
    """Returns whether the letters may be constants of integration.

    Only the case of a letter may differ beside parameters.
    """
    variables = [name for name in common if _VARIABLE.fullmatch(name)]
    is_family = _all_match(_FAMILY, first_names) or _all_match(_FAMILY, second_names)
    if not variables or not is_family:
        return False
    if not _differ_in_case_alone(first_names, second_names):
        has_parameters = len(variables) < len(common)
        if has_parameters or not _all_match(_PARTNER, [*first_names, *second_names]):
            return False
    return _is_linear(first, set(first_names)) and _is_linear(second, set(second_names))


def _differ_in_case_alone(first: list[str], second: list[str]) -> bool:
    return [name.casefold() for name in first] == [name.casefold() for name in second]


def _all_match(pattern: re.Pattern[str], names: list[str]) -> bool:
    return all(map(pattern.fullmatch, names))


def _is_linear(node: Node, names: set[str]) -> bool:
    """Returns whether every name stands as a summand or a factor, and no two are multiplied."""
    if not names & symbols(node):
        return True
    match node.op:
        case "sym":
            return True
        case "add" | "neg" | "rel" | "list" | "given":
            parts = node.args
        case "mul" if _factors_with(names, node) == 1:
            parts = node.args
        case "div" if not names & symbols(node.args[1]):
            parts = node.args[:1]
        case _:
            return False
    return all(_is_linear(part, names) for part in parts)


def _factors_with(names: set[str], product: Node) -> int:
    """Counts the factors of a product that hold one of the names."""
    return sum(bool(names & symbols(factor)) for factor in product.args)


def _rename(node: Node, names: dict[str, str]) -> Node:
    if node.op == "sym":
        return node._replace(value=names.get(str(node.value), node.value))
    if node.args:
        return node._replace(args=tuple(_rename(arg, names) for arg in node.args))
    return node
