"""Answers that denote sets of real numbers.

Intervals, unions, inequalities, set-builder notation, named sets.
"""

from __future__ import annotations

from custom_metrics.math import realset
from custom_metrics.math.exact import UndefinedError
from custom_metrics.math.realset import Order, RealSet
from custom_metrics.math.tree import INFINITY, Node, number, symbols

_NAMED = {
    "R": "R",
    "R>0": ">",
    "R<0": "<",
    "empty": "",
    "R>=0": ">=",
    "R<=0": "<=",
    "R^{+}": ">",
    "R^+": ">",
    "R^-": "<",
}


def is_set_like(node: Node) -> bool:
    """Returns whether the node can only be read as a set of numbers.

    A pair in brackets can be a point as well.
    """
    if node.op == "tuple":
        return len(node.args) == 2 and node.value in {"[)", "(]"}
    if node.op == "rel":
        return bool(set(str(node.value).split()) & {"<", ">", "<=", ">=", "!="})
    if node.op == "list":
        return len(node.args) > 1 and all(
            item.op == "rel" and is_set_like(item) for item in node.args
        )
    return node.op in {"union", "inter", "minus", "named", "builder"}


def as_real_set(node: Node, order: Order) -> RealSet | None:
    """Returns the set of real numbers that the node denotes; None where none is known.

    Raises:
        NotExactError: The order cannot compare two endpoints.
    """
    try:
        return _read(node, order)
    except UndefinedError:
        return None


# One return for each kind of value.
def _read(node: Node, order: Order) -> RealSet | None:  # noqa: PLR0911 - one return for each kind of node
    match node.op:
        case "tuple":
            return _interval(node, order)
        case "set" if all(item.op == "rel" for item in node.args):
            return _combine(node._replace(op="list"), order)
        case "set":
            return _points(node, order)
        case "named":
            return _named(str(node.value))
        case "rel":
            return _solve(node, order)
        case "builder":
            return _read(node.args[1], order) if _is_real_variable(node.args[0]) else None
        case "union" | "inter" | "minus" | "list":
            return _combine(node, order)
    return None


def _points(node: Node, order: Order) -> RealSet | None:
    """The set of some numbers; None where an element holds a letter."""
    points = [realset.point(item) for item in node.args if not symbols(item)]
    if len(points) == len(node.args):
        return realset.union(points, order)
    return None


def _is_real_variable(node: Node) -> bool:
    return node.op == "sym" or node == Node("named", value="R")


def _interval(node: Node, order: Order) -> RealSet | None:
    if len(node.args) != 2 or any(symbols(arg) for arg in node.args):
        return None
    low, high = node.args
    brackets = str(node.value)
    interval = realset.interval(
        low, high, low_closed=brackets[0] == "[", high_closed=brackets[1] == "]"
    )
    if realset.compare(interval[0][0], interval[0][1], order) < 0:
        return interval
    return None


def _named(name: str) -> RealSet | None:
    relation = _NAMED.get(name)
    if relation is None:
        return None
    if relation == "R":
        return realset.REALS
    if relation:
        return _half_line(relation, number(0))
    return realset.EMPTY


def _combine(node: Node, order: Order) -> RealSet | None:
    parts = [_read(arg, order) for arg in node.args]
    known = [part for part in parts if part is not None]
    if len(known) != len(parts):
        return None
    if node.op == "list":
        return _joined(node, known, order)
    if node.op == "union":
        return realset.union(known, order)
    if node.op == "minus":
        known = [known[0], realset.complement(known[1], order)]
    return realset.intersection(known, order)


def _joined(node: Node, parts: list[RealSet], order: Order) -> RealSet | None:
    """Returns what the items of a list describe together: cases, or conditions that all hold."""
    if all(item.op != "rel" or item.value == "=" for item in node.args):
        return realset.union(parts, order)  # intervals or solutions one after the other
    if len({symbols(item) for item in node.args}) != 1:
        return None
    if node.value == "or":
        return realset.union(parts, order)
    common = realset.intersection(parts, order)
    # a bare comma joins conditions, unless no number could meet them: then it joins cases
    if common or node.value == "and":
        return common
    return realset.union(parts, order)


def _half_line(operator: str, bound: Node) -> RealSet:
    minus_infinity = Node("neg", (INFINITY,))
    if operator in {"<", "<="}:
        return realset.interval(
            minus_infinity, bound, low_closed=False, high_closed=operator == "<="
        )
    return realset.interval(bound, INFINITY, low_closed=operator == ">=", high_closed=False)


def _solve(node: Node, order: Order) -> RealSet | None:
    """Solves `a < x <= b`, `x != c`, `|x| < c` for the one operand that is a name."""
    operators = str(node.value).split()
    variable = [index for index, arg in enumerate(node.args) if symbols(arg)]
    if len(variable) != 1:
        return None
    index = variable[0]
    if _is_name(node.args[index]):
        return _bounds(node, operators, index, order)
    if len(operators) == 2 and index == 1:
        return _solve_both(node, operators, order)
    return _solve_linear(node, order)


def _solve_both(chain: Node, operators: list[str], order: Order) -> RealSet | None:
    """Solves the two links of `-1 < 2x + 1 <= 5`."""
    low, middle, high = chain.args
    first = _solve_linear(Node("rel", (low, middle), operators[0]), order)
    second = _solve_linear(Node("rel", (middle, high), operators[1]), order)
    if first is None or second is None:
        return None
    return realset.intersection([first, second], order)


def _bounds(chain: Node, operators: list[str], index: int, order: Order) -> RealSet | None:
    """Reads the bounds that stand directly beside the name in a chain."""
    sets: list[RealSet] = []
    for place, operator in enumerate(operators):
        if place == index - 1:
            bounded = _bounded(_TURNED.get(operator, operator), chain.args[place], order)
        elif place == index:
            bounded = _bounded(operator, chain.args[place + 1], order)
        else:
            return None  # more than one bound on a side
        if bounded is None:
            return None
        sets.append(bounded)
    return realset.intersection(sets, order)


def _bounded(operator: str, bound: Node, order: Order) -> RealSet | None:
    """The numbers that stand to a bound as an operator says, the number on its left side."""
    if operator == "!=":
        return realset.complement(realset.point(bound), order)
    if operator in _TURNED:
        return _half_line(operator, bound)
    return realset.point(bound) if operator == "=" else None


_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _is_name(node: Node) -> bool:
    if node.op == "mul":  # f(x)
        return (
            node.args[0].op == "sym"
            and str(node.args[0].value) in set("fghFGHPQW")
            and node.args[1].op == "sym"
        )
    return node.op == "sym"


def _solve_linear(node: Node, order: Order) -> RealSet | None:
    """`-x > -1`, `2x - 3 <= 5`, `|x| < 2` and `|x - 1| >= 2`.

    One operand with a slope of a rational number.
    """
    operators = str(node.value).split()
    if len(operators) != 1:
        return None
    unknown, constant = node.args
    operator = operators[0]
    if symbols(constant):
        unknown, constant = constant, unknown
        operator = _TURNED.get(operator, operator)
    if unknown.op == "abs" and operator in {"<", "<=", ">", ">="}:
        return _solve_absolute(unknown.args[0], operator, constant, order)
    line = _line(unknown)
    if line is None or operator not in {"<", "<=", ">", ">=", "!="}:
        return None
    slope, offset, name = line
    bound = Node("div", (Node("add", (constant, Node("neg", (offset,)))), slope))
    if order(slope, number(0)) < 0:
        operator = _TURNED.get(operator, operator)
    return _solve(Node("rel", (Node("sym", value=name), bound), operator), order)


def _solve_absolute(inner: Node, operator: str, bound: Node, order: Order) -> RealSet | None:
    if order(bound, number(0)) < 0:
        if operator in {"<", "<="}:
            return realset.EMPTY
        return realset.REALS
    other = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[operator]
    sides = [
        _solve(Node("rel", (inner, bound), operator), order),
        _solve(Node("rel", (inner, Node("neg", (bound,))), other), order),
    ]
    known = [side for side in sides if side is not None]
    if len(known) != 2:
        return None
    if operator in {"<", "<="}:
        return realset.intersection(known, order)
    return realset.union(known, order)


def _line(node: Node) -> tuple[Node, Node, str] | None:
    """Returns slope, offset and names of `slope * name + offset`."""
    if node.op == "sym":
        return number(1), number(0), str(node.value)
    place = _only_place_with_letters(node)
    line = None if place is None else _line(node.args[place])
    if place is None or line is None or len(symbols(node)) != 1:
        return None
    slope, offset, name = line
    rest = (*node.args[:place], *node.args[place + 1 :])
    match node.op:
        case "neg":
            return Node("neg", (slope,)), Node("neg", (offset,)), name
        case "add":
            return slope, Node("add", (offset, *rest)), name
        case "mul" | "div" if node.op == "mul" or place == 0:
            new_slope = Node(node.op, (slope, rest[0]))
            new_offset = Node(node.op, (offset, rest[0]))
            return new_slope, new_offset, name
    return None


def _only_place_with_letters(node: Node) -> int | None:
    """The index of the only part that holds letters; None where none or several do."""
    places = [index for index, part in enumerate(node.args) if symbols(part)]
    return places[0] if len(places) == 1 else None
