"""Equations and inequalities as trees: what they name, what they say about it, and their links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from custom_metrics.math.rounding import may_be_near
from custom_metrics.math.tree import SHAPES, Node, number, subtract, symbols

_CALLED = re.compile(r"(y)('*)(?:\(x\))?|[A-Za-z]('*)\(x\)")


class Link(NamedTuple):
    """Two neighbours of a chain, as the sign between them and their difference."""

    operator: str
    difference: Node


def _operators(chain: Node) -> list[str]:
    return str(chain.value).split()


def _is_equation(relation: Node) -> bool:
    """Tells whether all signs of a relation are equals signs."""
    return set(_operators(relation)) == {"="}


def value_of(relation: Node) -> Node | None:
    """Returns what `x = ... = value` says about `x`; None when the relation is not of that kind."""
    if not _is_equation(relation):
        return None
    if relation.label:
        return _value_of_name(relation)
    first = relation.args[0]
    last = relation.args[-1]
    if last.op == "sym" and not symbols(first):  # `11 = x`
        return first if len(relation.args) == 2 else None
    if symbols(relation) or not may_be_near(first, last):
        return None  # `61 = 775` computes nothing
    return last


def _value_of_name(relation: Node) -> Node | None:
    """The last member of a chain that begins with a name."""
    first, *middle, last = relation.args
    if middle and last.op == "sym":
        return None
    if first.op == "div" and any(not symbols(arg) <= symbols(first) for arg in middle):
        return None  # `x/y = y/z = 1`
    if any(first in arg.walk() for arg in middle):
        return None  # `y = 2y - 1 = 1`
    return last


def set_named(node: Node, other: Node) -> Node:
    """Returns the set or interval that `S = [1, 5)` names.

    The node itself where the other side is an equation, or both sides name each value.
    """
    if not _equates(node) or not node.label or _equates(other):
        return node
    if assignments(node) and assignments(other):
        return node  # `(y, x) = (4, 3)` and `x = 3, y = 4`
    last = node.args[-1]
    if last.op in _SETS:
        return last
    return node


def _equates(node: Node) -> bool:
    """Tells whether a node is a relation with one sign, an equals sign."""
    return node.op == "rel" and node.value == "="


_SETS = {"tuple", "union", "inter", "minus", "named", "builder", "set"}


def same_label(first: str, second: str, value: Node) -> bool:
    """Returns whether two names may stand for one value.

    The same name, none, words, or `y` for a function of x.
    """
    if first == second or not first or not second:
        return True
    if first.startswith('"') or second.startswith('"'):
        return True
    first_call = _CALLED.fullmatch(first)
    second_call = _CALLED.fullmatch(second)
    if first_call is None or second_call is None:
        return False
    if _primes(first_call) != _primes(second_call):
        return False
    names = {first_call.group(1), second_call.group(1)}
    return "y" in names and bool(symbols(value))


def _primes(function: re.Match[str]) -> str:
    return function.group(2) or function.group(3) or ""


def assignments(node: Node) -> dict[str, Node] | None:
    """`x = 3, y = 4` and `(x, y) = (3, 4)` as a mapping with two names or more."""
    if _equates(node) and all(arg.op == "tuple" for arg in node.args):
        return _named_entries(node)
    if node.op != "list":
        return None
    if not all(item.op == "rel" and item.label for item in node.args):
        return None
    return _named_values(node.args)


def _named_values(relations: Sequence[Node]) -> dict[str, Node] | None:
    """Maps each name to its value; None where one has no value, or two have one name."""
    assigned: dict[str, Node] = {}
    for item in relations:
        value = value_of(item)
        if value is None or item.label in assigned:
            return None
        first = item.args[0]
        name = str(first.value) if _is_letter(first) else item.label
        assigned[name] = value
    return assigned if len(assigned) > 1 else None


def _named_entries(equation: Node) -> dict[str, Node] | None:
    """`(x, y) = (3, 4)` as a mapping."""
    names, values = (arg.args for arg in equation.args)
    if len(names) != len(values) or not all(map(_is_letter, names)):
        return None
    return {str(name.value): value for name, value in zip(names, values, strict=True)}


def _is_letter(node: Node) -> bool:
    return node.op in {"sym", "const"}


def links(chain: Node) -> list[Link]:
    """`a < b = c` as differences with one direction: `(<, a-b)`, `(=, b-c)`.

    `>` is turned into `<`.
    """
    links = []
    for operator, member, next_member in _neighbours(chain):
        if operator in {">", ">="}:
            turned_operator = operator.replace(">", "<")
            links.append(Link(turned_operator, subtract(next_member, member)))
        else:
            links.append(Link(operator, subtract(member, next_member)))
    return links


def _neighbours(chain: Node) -> Iterator[tuple[str, Node, Node]]:
    """Yields each sign of a chain with the members at its two sides."""
    members = chain.args
    return zip(_operators(chain), members, members[1:], strict=False)


def steps(chain: Node) -> list[Node]:
    """`a < b < c` as `a < b` and `b < c`; a chain with an equals sign has none."""
    if not set(_operators(chain)) <= {"<", ">", "<=", ">="}:
        return []
    return [
        Node("rel", (member, next_member), operator)
        for operator, member, next_member in _neighbours(chain)
    ]


def number_asked_for(node: Node) -> Node:
    """Returns the last member of `m + n = 204`, for a question that asks for a number.

    Also of `100m + n = 100 + 4 = 104`.

    The left side is a sum of different letters other than x, y and z, or all further members are
    computed; other equations stay.
    """
    if node.op != "rel" or not _is_equation(node):
        return node
    first, *middle, last = node.args
    if symbols(last) or not _computes(middle, first):
        return node
    is_computed = middle and symbols(first)
    if is_computed or _is_sum_of_letters(first):
        return last
    return node


def _computes(middle: list[Node], first: Node) -> bool:
    """Tells whether the middle members of a chain may be steps that compute the first one."""
    if any(not symbols(step) <= symbols(first) for step in middle):
        return False  # `x/2 = y/3 = 1`
    return first.op not in {"sym", "div"} or not any(map(symbols, middle))


def _is_sum_of_letters(node: Node) -> bool:
    """Tells whether a node is a sum of different letters other than x, y and z."""
    if node.op != "add" or len(set(node.args)) != len(node.args):
        return False
    return all(map(_is_letter_of_a_sum, node.args))


def _is_letter_of_a_sum(term: Node) -> bool:
    return term.op == "sym" and re.fullmatch("[A-Wa-w]", str(term.value)) is not None


def aligned(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Brings an answer to what the gold answer asks for, in three respects.

    A gold equation for a combined quantity may be answered by its value alone. A number or another
    constant may be named by a sum of letters (`number_asked_for`). A bare list of values may stand
    in the brackets of a tuple, in the order of the list; a gold tuple is not answered by a list in
    any other order.
    """
    if gold.op == "rel" and answer.op not in {"rel", "list"}:
        return _measured_value(gold), answer
    if answer.op == "rel" and gold.op not in SHAPES and not symbols(gold):
        return gold, number_asked_for(answer)
    if _is_bare_list(gold) and _is_plain_tuple(answer, gold.args):
        return Node("tuple", gold.args, "()"), answer
    return gold, answer


def _is_plain_tuple(node: Node, items: tuple[Node, ...]) -> bool:
    """Tells whether a node is a tuple in brackets, and it and other items hold values alone."""
    if node.op != "tuple" or node.value != "()":
        return False
    all_items = (*items, *node.args)
    return not any(item.op in {"rel", "tuple", "list"} for item in all_items)


def _is_bare_list(node: Node) -> bool:
    return node.op == "list" and node.value in {",", "and"}


_UNKNOWNS = frozenset("xyzXYZ")
_MEASURED = re.compile(r"\\.+|.+[_'].*|[A-Z].*")
"""Symbols of quantities: Greek letters, letters with an index or primes, capitals."""


def _measured_value(gold: Node) -> Node:
    r"""Returns the right side of `\frac{E' - E}{E} = -\frac{16}{25}`.

    Its left side is a quantity that was asked for.

    The left side combines several quantities. An equation in x, y and z, or one to be solved for
    its only unknown, stays as it is.
    """
    if gold.label or not _is_equation(gold):
        return gold
    right_side = gold.args[-1]
    if right_side == number(0):
        return gold
    names = symbols(gold.args[0])
    if len(names) < 2 or names & _UNKNOWNS:
        return gold
    if any(map(_MEASURED.fullmatch, names)):
        return right_side
    return gold


def turned(chain: Node) -> Node:
    """Returns the chain read from right to left."""
    mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    backwards = reversed(_operators(chain))
    operators = [mirrored.get(operator, operator) for operator in backwards]
    members = tuple(reversed(chain.args))
    return chain._replace(args=members, value=" ".join(operators))
