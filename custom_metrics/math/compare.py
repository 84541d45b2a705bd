"""Equality of two parsed answers: shapes first, expressions through an oracle.

The comparison is symmetric and knows nothing of LaTeX. It asks an `Oracle` whether two expressions are equal.
"""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.math import constants, exact, leaves, matrices, realset, relations
from custom_metrics.math.exact import NotExactError, UndefinedError
from custom_metrics.math.oracle import Oracle
from custom_metrics.math.sets import as_real_set, is_set_like
from custom_metrics.math.signs import distribute, expand_signs
from custom_metrics.math.tree import INFINITY, SHAPES, Node, number, symbols

MAX_ITEMS = 40
"""Items of a list that are matched in any order; longer lists of numbers are sorted, others compared in order."""


def equal(left: Node, right: Node, oracle: Oracle) -> bool:
    """Decide whether two answers are equal.

    Raises:
        NotExactError: The oracle cannot decide an expression.
    """
    comparison = _Comparison(oracle)
    left, right = _spread(left), _spread(right)
    return any(comparison.equal(left, renamed) for renamed in constants.renamings(left, right))


class _Comparison:
    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle

    def equal(self, left: Node, right: Node) -> bool:
        if left == right:
            return True
        left, right = _unwrap(left), _unwrap(right)
        kinds = {left.op, right.op}
        if "given" in kinds:
            return self.conditions(left, right)
        if "range" in kinds:
            return left.op == right.op and self.tuples(left, right)
        if "rel" in kinds:
            left, right = relations.set_named(left, right), relations.set_named(right, left)
        if (left.op == "sym" and right.op == "named") or (left.op == "named" and right.op == "sym"):
            return left.value == right.value  # R for the reals
        kinds = {left.op, right.op}
        if "choice" in kinds:
            return self.choices(left, right)
        if "text" in kinds:
            return leaves.same_words(left, right)
        if leaves.is_numeral(left) or leaves.is_numeral(right):
            return leaves.same_numeral(left, right)
        maps = relations.assignments(left), relations.assignments(right)
        if any(maps) and not (maps[0] and maps[1]):
            return self.assignments(maps[0] or maps[1] or {}, right if maps[0] else left)
        if maps[0] and maps[1]:
            return self.two_assignments(maps[0], maps[1], left, right)
        if kinds == {"rel", "list"} and len(symbols(left)) > 1:
            chain, several = (left, right) if left.op == "rel" else (right, left)
            steps = relations.steps(chain)
            if several.value != "or" and len(steps) == len(several.args) > 1:
                return self.match(steps, list(several.args))
        if is_set_like(left) or is_set_like(right):
            return self.sets(left, right)
        if "rel" in kinds:
            return self.relations(left, right)
        if kinds & {"list", "set"}:
            return self.lists(left, right)
        if "tuple" in kinds and "matrix" in kinds:
            rows = [matrices.from_lists(node) for node in (left, right)]
            return None not in rows and self.matrices(*(row for row in rows if row is not None))
        if "tuple" in kinds:
            return left.op == right.op and self.tuples(left, right)
        if kinds & {"quantity", "deg"}:
            return self.quantities(left, right)
        if "percent" in kinds:
            return self.percents(left, right)
        if "ratio" in kinds:
            return self.ratios(left, right)
        if kinds == {"cases"}:
            return len(left.args) == len(right.args) and self.match(list(left.args), list(right.args))
        return self.matrices(left, right)

    def conditions(self, left: Node, right: Node) -> bool:
        """A formula with the condition under which it makes sense; the other side may leave that out, not change it."""
        formulas = (node.args[0] if node.op == "given" else node for node in (left, right))
        if not self.equal(*map(_spread, formulas)):
            return False
        return left.op != right.op or self.equal(_spread(left.args[1]), _spread(right.args[1]))

    # expressions

    def same(self, left: Node, right: Node) -> bool:
        if left == right:
            return True
        if any(node.op in SHAPES for side in (left, right) for node in side.walk()):
            return False
        if any(node == INFINITY for side in (left, right) for node in side.walk()):
            return False
        try:
            return self.oracle.same(leaves.plain(left), leaves.plain(right))
        except UndefinedError:
            return False

    def matrices(self, left: Node, right: Node) -> bool:
        values = matrices.value(left), matrices.value(right)
        if values[0] is None or values[1] is None:
            return values[0] is values[1] is None and self.same(left, right)
        rows = values[0].args, values[1].args
        return matrices.shape(values[0]) == matrices.shape(values[1]) and all(
            self.equal(one, other)
            for first, second in zip(*rows, strict=True)
            for one, other in zip(first.args, second.args, strict=True)
        )

    # words, units, ratios

    def choices(self, left: Node, right: Node) -> bool:
        """`(B) 12` against the letter or the value alone, or against another choice as a whole."""
        if left.op == right.op:
            return left.value == right.value and self.equal(left.args[0], right.args[0])
        choice, other = (left, right) if left.op == "choice" else (right, left)
        letter = leaves.letters(other)
        return (
            letter == str(choice.value)
            if letter is not None and len(letter) == 1
            else self.equal(choice.args[0], other)
        )

    def quantities(self, left: Node, right: Node) -> bool:
        units = [leaves.unit(node) for node in (left, right)]
        if not leaves.same_unit(units[0], units[1]):
            return False
        inner = [
            node.args[0] if unit is not None else leaves.without_letter(node, str(other))
            for node, unit, other in zip((left, right), units, reversed(units), strict=True)
        ]
        if "percent" in {left.op, right.op} and {node.op for node in inner} != {"percent"}:
            return False  # `5 cm` against `5%`
        if any(unit is not None and re.match("[ap] ?m", unit) for unit in units):
            return inner[0] == inner[1]  # a time of day is no ratio
        return self.equal(inner[0], inner[1])

    def percents(self, left: Node, right: Node) -> bool:
        if left.op == right.op:
            return self.equal(left.args[0], right.args[0])
        percent, other = (left, right) if left.op == "percent" else (right, left)
        if other.op in SHAPES:
            return False
        share = Node("div", (percent.args[0], number(100)))
        return self.same(percent.args[0], other) or self.same(share, other)

    def ratios(self, left: Node, right: Node) -> bool:
        if left.op != right.op:
            ratio, other = (left, right) if left.op == "ratio" else (right, left)
            return len(ratio.args) == 2 and other.op not in SHAPES and self.same(Node("div", ratio.args), other)
        if len(left.args) != len(right.args):
            return False
        if any(part == number(0) for part in (*left.args, *right.args)):  # times of day
            return all(self.same(one, other) for one, other in zip(left.args, right.args, strict=True))
        return all(
            self.same(Node("mul", (left.args[0], right.args[index])), Node("mul", (right.args[0], left.args[index])))
            for index in range(1, len(left.args))
        )

    # lists, tuples, sets

    def lists(self, left: Node, right: Node) -> bool:
        items = [list(node.args) if node.op in {"list", "set"} else [node] for node in (left, right)]
        if "tuple" in {left.op, right.op} and len(items[0]) != len(items[1]):
            return False
        unrepeated = {"set", "or"} & {left.op, right.op, left.value, right.value}
        as_set = unrepeated or all(item.op == "tuple" for side in items for item in side)
        if as_set:
            items = [self.distinct(side) for side in items]
        if len(items[0]) != len(items[1]):
            return False
        if all(self.equal(one, other) for one, other in zip(*items, strict=True)):
            return True
        numbers = [_rationals(side) for side in items]
        if numbers[0] is not None and numbers[1] is not None:
            return sorted(numbers[0]) == sorted(numbers[1])
        return len(items[0]) <= MAX_ITEMS and self.match(items[0], items[1])

    def distinct(self, items: list[Node]) -> list[Node]:
        kept: list[Node] = []
        for item in dict.fromkeys(items):
            if len(items) > MAX_ITEMS or not any(self.equal(item, other) for other in kept):
                kept.append(item)
        return kept

    def match(self, first: list[Node], second: list[Node]) -> bool:
        rest = list(second)
        for item in first:
            found = next((other for other in rest if self.equal(item, other)), None)
            if found is None:
                return False
            rest.remove(found)
        return True

    def tuples(self, left: Node, right: Node) -> bool:
        if len(left.args) != len(right.args) or (len(left.args) == 2 and left.value != right.value):
            return False
        return all(self.equal(one, other) for one, other in zip(left.args, right.args, strict=True))

    def sets(self, left: Node, right: Node) -> bool:
        """Sets of real numbers, whichever way they are written; two inequalities must speak of one variable."""
        variables = [symbols(node) for node in (left, right) if node.op in {"rel", "list"}]
        if len(variables) == 2 and variables[0] != variables[1]:
            return False
        found = as_real_set(left, self.oracle.order), as_real_set(right, self.oracle.order)
        if found[0] is not None and found[1] is not None:
            return realset.equal(found[0], found[1], self.oracle.order)
        if found[0] is not None or found[1] is not None:
            return False
        if left.op == right.op == "rel":
            return self.relations(left, right)
        if left.op != right.op or left.op not in {"union", "inter", "minus"} or len(left.args) != len(right.args):
            return False
        pairs = zip(left.args, right.args, strict=True)
        return all(self.equal(one, other) for one, other in pairs) or (
            left.op != "minus" and self.match(list(left.args), list(right.args))
        )

    # equations and inequalities

    def relations(self, left: Node, right: Node) -> bool:
        if left.op != right.op:
            relation, other = (left, right) if left.op == "rel" else (right, left)
            value = relations.value_of(relation)
            return value is not None and self.equal(value, other)
        values = relations.value_of(left), relations.value_of(right)
        if values[0] is not None and values[1] is not None and relations.same_label(left.label, right.label, values[0]):
            return self.equal(values[0], values[1])
        operators = [str(node.value).split() for node in (left, right)]
        if len(operators[0]) != len(operators[1]):
            return False
        if operators[0] == operators[1] and all(self.equal(a, b) for a, b in zip(left.args, right.args, strict=True)):
            return True
        return self.chains(relations.links(left), relations.links(right)) or self.chains(
            relations.links(left), relations.links(relations.turned(right))
        )

    def chains(self, first: list[tuple[str, Node]], second: list[tuple[str, Node]]) -> bool:
        return all(self.links(one, other) for one, other in zip(first, second, strict=True))

    def links(self, first: tuple[str, Node], second: tuple[str, Node]) -> bool:
        (left_operator, left), (right_operator, right) = first, second
        if left_operator != right_operator or any(node.op in SHAPES for side in (left, right) for node in side.walk()):
            return False
        left, right = leaves.plain(left), leaves.plain(right)
        try:
            if left_operator in {"=", "!="}:
                return self.oracle.same_equation(left, right)
            return self.oracle.factor(left, right) > 0
        except UndefinedError:
            return False

    def assignments(self, assigned: dict[str, Node], other: Node) -> bool:
        """`x = 3, y = 4` against `(3, 4)` or `3, 4`: in alphabetical order, or as written.

        As written counts when the names are longer than a letter, and without brackets.
        """
        if other.op == "list" and all(item.op == "rel" for item in other.args):
            return self.numbered(assigned, other)
        written = list(assigned)
        names = sorted(assigned) if all(len(name) == 1 for name in assigned) else written
        if (
            other.op not in {"tuple", "list"}
            or len(other.args) != len(names)
            or other.value not in {"()", ",", "and", ";"}
        ):
            return False
        orders = [names] if names == written or other.op == "tuple" else [names, written]
        return any(
            all(self.equal(assigned[name], value) for name, value in zip(order, other.args, strict=True))
            for order in orders
        )

    def numbered(self, assigned: dict[str, Node], other: Node) -> bool:
        """`x_1 = 1, x_2 = -3` against `x = 1 or x = -3`."""
        labels = {item.label for item in other.args}
        values = [relations.value_of(item) for item in other.args]
        known = [value for value in values if value is not None]
        if len(labels) != 1 or "" in labels or not len(known) == len(values) == len(assigned):
            return False
        pattern = re.escape(labels.pop()) + r"_\{?\d+\}?"
        return all(re.fullmatch(pattern, name) for name in assigned) and self.match(list(assigned.values()), known)

    def two_assignments(self, first: dict[str, Node], second: dict[str, Node], left: Node, right: Node) -> bool:
        if first.keys() == second.keys():
            return all(self.equal(value, second[name]) for name, value in first.items())
        return (
            left.op == right.op == "list"
            and len(left.args) == len(right.args)
            and self.match(list(left.args), list(right.args))
        )


def _spread(node: Node) -> Node:
    """An answer with its double signs written out; of a formula and its condition each by itself."""
    return node if node.op == "given" else expand_signs(distribute(node))


def _unwrap(node: Node) -> Node:
    """A set, list or matrix of one element is the element, but a set of a set is not that set."""
    while node.op in {"list", "set"} and len(node.args) == 1 and not (node.op == "set" and node.args[0].op in _SETS):
        node = node.args[0]
    return node.args[0].args[0] if node.op == "matrix" and matrices.shape(node) == (1, 1) else node


def _rationals(items: list[Node]) -> list[Fraction] | None:
    try:
        return [exact.rational(item) for item in items]
    except (NotExactError, UndefinedError):
        return None


_SETS = {"set", "named", "union", "inter", "minus", "builder"}
