"""Equations and inequalities as trees: what they name, what they say about it, and their links."""

from __future__ import annotations

import re
from collections.abc import Sequence

from custom_metrics.math.rounding import may_be_near
from custom_metrics.math.tree import SHAPES, Node, number, subtract, symbols

_CALLED = re.compile(r"(y)('*)(?:\(x\))?|[A-Za-z]('*)\(x\)")


def value_of(relation: Node) -> Node | None:
    """Returns what `x = ... = value` says about `x`; None when the relation is not of that kind."""
    if set(str(relation.value).split()) != {"="}:
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
    is_equated = first.op == "div" and any(not symbols(arg) <= symbols(first) for arg in middle)
    is_equation = any(first in arg.walk() for arg in middle)
    # neither `x/y = y/z = 1`, nor `y = 2y - 1 = 1`
    return None if is_equated or is_equation else last


def set_named(node: Node, other: Node) -> Node:
    """Return the set or interval that `S = [1, 5)` names.

    The node itself where the other side is an equation.
    """
    named = (
        node.op == "rel"
        and node.value == "="
        and node.label
        and (other.op != "rel" or other.value != "=")
    )
    if named and node.args[-1].op in _SETS:
        return node.args[-1]
    return node


_SETS = {"tuple", "union", "inter", "minus", "named", "builder", "set"}


def same_label(first: str, second: str, value: Node) -> bool:
    """Returns whether two names may stand for one value.

    The same name, none, words, or `y` for a function of x.
    """
    if (
        first == second
        or not first
        or not second
        or first.startswith('"')
        or second.startswith('"')
    ):
        return True
    first_call = _CALLED.fullmatch(first)
    second_call = _CALLED.fullmatch(second)
    if first_call is None or second_call is None:
        return False
    same_primes = _primes(first_call) == _primes(second_call)
    return (
        "y" in {first_call.group(1), second_call.group(1)} and same_primes and bool(symbols(value))
    )


def _primes(function: re.Match[str]) -> str:
    return function.group(2) or function.group(3) or ""


def assignments(node: Node) -> dict[str, Node] | None:
    """`x = 3, y = 4` and `(x, y) = (3, 4)` as a mapping with two names or more."""
    if node.op == "rel" and node.value == "=" and all(arg.op == "tuple" for arg in node.args):
        return _named_entries(node)
    if node.op != "list" or not all(item.op == "rel" and item.label for item in node.args):
        return None
    return _named_values(node.args)


def _named_values(relations: Sequence[Node]) -> dict[str, Node] | None:
    """Map each name to its value; None where one has no value, or two have one name."""
    assigned: dict[str, Node] = {}
    for item in relations:
        value = value_of(item)
        if value is None or item.label in assigned:
            return None
        name = str(item.args[0].value) if _is_letter(item.args[0]) else item.label
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


def links(chain: Node) -> list[tuple[str, Node]]:
    """`a < b = c` as differences with one direction: `(<, a-b)`, `(=, b-c)`.

    `>` is turned into `<`.
    """
    differences = []
    for operator, member, next_member in zip(
        str(chain.value).split(), chain.args, chain.args[1:], strict=False
    ):
        if operator in {">", ">="}:
            differences.append((operator.replace(">", "<"), subtract(next_member, member)))
        else:
            differences.append((operator, subtract(member, next_member)))
    return differences


def steps(chain: Node) -> list[Node]:
    """`a < b < c` as `a < b` and `b < c`; a chain with an equals sign has none."""
    operators = str(chain.value).split()
    if not set(operators) <= {"<", ">", "<=", ">="}:
        return []
    return [
        Node("rel", (member, next_member), operator)
        for operator, member, next_member in zip(
            operators, chain.args, chain.args[1:], strict=False
        )
    ]


def number_asked_for(node: Node) -> Node:
    """Return the last member of `m + n = 204`, for a question that asks for a number.

    Also of `100m + n = 100 + 4 = 104`.

    The left side is a sum of different letters other than x, y and z, or all further members are
    computed; other equations stay.
    """
    if node.op != "rel" or set(str(node.value).split()) != {"="} or symbols(node.args[-1]):
        return node
    first, *middle, last = node.args
    if not _computes(middle, first):
        return node
    is_computed = middle and symbols(first)
    return last if is_computed or _is_sum_of_letters(first) else node


def _computes(middle: list[Node], first: Node) -> bool:
    """Tells whether the middle members of a chain may be steps that compute the first one."""
    if any(not symbols(step) <= symbols(first) for step in middle):
        return False  # `x/2 = y/3 = 1`
    return first.op not in {"sym", "div"} or not any(map(symbols, middle))


def _is_sum_of_letters(node: Node) -> bool:
    """Tell whether a node is a sum of different letters other than x, y and z."""
    if node.op != "add" or len(set(node.args)) != len(node.args):
        return False
    return all(term.op == "sym" and re.fullmatch("[A-Wa-w]", str(term.value)) for term in node.args)


def aligned(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Bring an answer to what the gold answer asks for, in three respects.

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
    return not any(item.op in {"rel", "tuple", "list"} for item in (*items, *node.args))


def _is_bare_list(node: Node) -> bool:
    return node.op == "list" and node.value in {",", "and"}


_UNKNOWNS = frozenset("xyzXYZ")
_MEASURED = re.compile(r"\\.+|.+[_'].*|[A-Z].*")
"""Symbols of quantities: Greek letters, letters with an index or primes, capitals."""


def _measured_value(gold: Node) -> Node:
    r"""Return the right side of `\frac{E' - E}{E} = -\frac{16}{25}`.

    Whose left side is a quantity that was asked for.

    The left side combines several quantities. An equation in x, y and z, or one to be solved for
    its only unknown, stays as it is.
    """
    if gold.label or set(str(gold.value).split()) != {"="} or gold.args[-1] == number(0):
        return gold
    names = symbols(gold.args[0])
    if len(names) < 2 or names & _UNKNOWNS or not any(map(_MEASURED.fullmatch, names)):
        return gold
    return gold.args[-1]


def turned(chain: Node) -> Node:
    """Return the chain read from right to left."""
    mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    operators = [
        mirrored.get(operator, operator) for operator in reversed(str(chain.value).split())
    ]
    return chain._replace(args=tuple(reversed(chain.args)), value=" ".join(operators))
