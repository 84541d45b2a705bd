"""Equations and inequalities as trees: what they name, what they say about it, and their links."""

from __future__ import annotations

import re

from custom_metrics.math.tree import SHAPES, Node, subtract, symbols

_CALLED = re.compile(r"(y)('*)(?:\(x\))?|[A-Za-z]('*)\(x\)")


def value_of(relation: Node) -> Node | None:
    """What `x = ... = value` says about `x`; None when the relation is not of that kind."""
    if set(str(relation.value).split()) != {"="}:
        return None
    last = relation.args[-1]
    if relation.label:
        if len(relation.args) > 2 and last.op == "sym":
            return None
        first, *middle = relation.args[:-1]  # not `x/y = y/z = 1`, nor `y = 2y - 1 = 1`
        equated = first.op == "div" and any(not symbols(arg) <= symbols(first) for arg in middle)
        return None if equated or any(first == item for arg in middle for item in arg.walk()) else last
    if last.op == "sym" and not symbols(relation.args[0]):  # `11 = x`
        return relation.args[0] if len(relation.args) == 2 else None
    return None if any(symbols(arg) for arg in relation.args) else last


def set_named(node: Node, other: Node) -> Node:
    """The set or interval that `S = [1, 5)` names, against an answer that is no equation; else the node itself."""
    named = node.op == "rel" and node.value == "=" and node.label and (other.op != "rel" or other.value != "=")
    return node.args[-1] if named and node.args[-1].op in _SETS else node


_SETS = {"tuple", "union", "inter", "minus", "named", "builder", "set"}


def same_label(left: str, right: str, value: Node) -> bool:
    """Whether two names may stand for one value: the same name, none, words, or `y` for a function of x."""
    if left == right or not left or not right or left.startswith('"') or right.startswith('"'):
        return True
    called = [_CALLED.fullmatch(label) for label in (left, right)]
    if called[0] is None or called[1] is None:
        return False
    names = [match.group(1) for match in called if match]
    primes = {(match.group(2) or match.group(3) or "") for match in called if match}
    return "y" in names and len(primes) == 1 and bool(symbols(value))


def assignments(node: Node) -> dict[str, Node] | None:
    """`x = 3, y = 4` and `(x, y) = (3, 4)` as a mapping with two names or more."""
    if node.op == "rel" and node.value == "=" and all(arg.op == "tuple" for arg in node.args):
        names, values = (arg.args for arg in node.args)
        if len(names) == len(values) and all(name.op in {"sym", "const"} for name in names):
            return {str(name.value): value for name, value in zip(names, values, strict=True)}
        return None
    if node.op != "list" or not all(item.op == "rel" and item.label for item in node.args):
        return None
    found: dict[str, Node] = {}
    for item in node.args:
        value = value_of(item)
        if value is None or item.label in found:
            return None
        name = str(item.args[0].value) if item.args[0].op in {"sym", "const"} else item.label
        found[name] = value
    return found if len(found) > 1 else None


def links(chain: Node) -> list[tuple[str, Node]]:
    """`a < b = c` as differences with one direction: `(<, a-b)`, `(=, b-c)`; `>` is turned into `<`."""
    found = []
    for operator, left, right in zip(str(chain.value).split(), chain.args, chain.args[1:], strict=False):
        if operator in {">", ">="}:
            found.append((operator.replace(">", "<"), subtract(right, left)))
        else:
            found.append((operator, subtract(left, right)))
    return found


def steps(chain: Node) -> list[Node]:
    """`a < b < c` as `a < b` and `b < c`; a chain with an equals sign has none."""
    operators = str(chain.value).split()
    if not set(operators) <= {"<", ">", "<=", ">="}:
        return []
    return [
        Node("rel", (left, right), operator)
        for operator, left, right in zip(operators, chain.args, chain.args[1:], strict=False)
    ]


def number_asked_for(node: Node) -> Node:
    """Return the last member of `m + n = 204` or `100m + n = 100 + 4 = 104`, for a question that asks for a number.

    The left side is a sum of different letters other than x, y and z, or all further members are computed; other
    equations stay.
    """
    if node.op != "rel" or set(str(node.value).split()) != {"="} or symbols(node.args[-1]):
        return node
    first = node.args[0]
    if any(not symbols(arg) <= symbols(first) for arg in node.args[1:-1]):
        return node  # `x/2 = y/3 = 1`
    if any(symbols(arg) for arg in node.args[1:-1]) and first.op in {"sym", "div"}:
        return node
    summed = first.op == "add" and all(
        term.op == "sym" and re.fullmatch("[A-Wa-w]", str(term.value)) for term in first.args
    )
    named = summed and len(set(first.args)) == len(first.args)
    return node.args[-1] if named or (len(node.args) > 2 and symbols(first)) else node


def aligned(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Bring an answer to what the gold answer asks for, in the two respects in which the sides differ.

    A number or another constant may be named by a sum of letters (`number_asked_for`). A bare list of values may stand
    in the brackets of a tuple, in the order of the list; a gold tuple is not answered by a list in any other order.
    """
    if answer.op == "rel" and gold.op not in SHAPES and not symbols(gold):
        return gold, number_asked_for(answer)
    bare = gold.op == "list" and gold.value in {",", "and"} and answer.op == "tuple" and answer.value == "()"
    if bare and not any(item.op in {"rel", "tuple", "list"} for item in (*gold.args, *answer.args)):
        return Node("tuple", gold.args, "()"), answer
    return gold, answer


def turned(chain: Node) -> Node:
    """Return the chain read from right to left."""
    mirrored = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    operators = [mirrored.get(operator, operator) for operator in reversed(str(chain.value).split())]
    return chain._replace(args=tuple(reversed(chain.args)), value=" ".join(operators))
