"""Equality of two parsed answers: shapes first, expressions through an oracle.

The comparison is symmetric and knows nothing of LaTeX. It asks an `Oracle` whether two expressions
are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from custom_metrics.math import constants, exact, matrices, realset, relations, units_and_words
from custom_metrics.math.exact import NotExactError, UndefinedError
from custom_metrics.math.oracle import Oracle
from custom_metrics.math.sets import as_real_set, is_set_like
from custom_metrics.math.signs import distribute, expand_signs
from custom_metrics.math.tree import INFINITY, SHAPES, Node, number, symbols

MAX_ITEMS = 40
"""Items of a list that are matched in any order; longer lists of numbers are sorted, others
compared in order."""


def equal(first: Node, second: Node, oracle: Oracle) -> bool:
    """Decide whether two answers are equal.

    Raises:
        NotExactError: The oracle cannot decide an expression.
    """
    comparison = _Comparison(oracle)
    first = _spread(first)
    second = _spread(second)
    return any(comparison.equal(first, renamed) for renamed in constants.renamings(first, second))


class _Comparison:
    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle

    def equal(self, first: Node, second: Node) -> bool:
        """Compare two answers, or parts of answers, by the shapes that they have."""
        if first == second:
            return True
        first = _unwrap(first)
        second = _unwrap(second)
        kinds = {first.op, second.op}
        if "given" in kinds:
            return self.conditions(first, second)
        if "range" in kinds:
            return first.op == second.op and self.tuples(first, second)
        if "rel" in kinds:
            first, second = (relations.set_named(first, second), relations.set_named(second, first))
        for compare in (self.words, self.named_values, self.shapes):
            verdict = compare(first, second)
            if verdict is not None:
                return verdict
        return self.matrices(first, second)

    def words(self, first: Node, second: Node) -> bool | None:
        """Compare what needs no arithmetic.

        Letters of sets, choices, texts, numerals with a base.
        """
        kinds = {first.op, second.op}
        if kinds == {"sym", "named"}:
            return first.value == second.value  # R for the reals
        if "choice" in kinds:
            return self.choices(first, second)
        if "text" in kinds:
            return units_and_words.same_words(first, second)
        if units_and_words.is_numeral(first) or units_and_words.is_numeral(second):
            return units_and_words.same_numeral(first, second)
        return None

    def named_values(self, first: Node, second: Node) -> bool | None:
        """Compare `x = 3, y = 4` with values or other names, and a chain with its steps."""
        first_values = relations.assignments(first)
        second_values = relations.assignments(second)
        if first_values and second_values:
            return self.two_assignments(first_values, second_values, first, second)
        if first_values:
            return self.assignments(first_values, second)
        if second_values:
            return self.assignments(second_values, first)
        if {first.op, second.op} == {"rel", "list"} and len(symbols(first)) > 1:
            chain, several = (first, second) if first.op == "rel" else (second, first)
            steps = relations.steps(chain)
            if several.value != "or" and len(steps) == len(several.args) > 1:
                return self.match(steps, list(several.args))
        return None

    def shapes(self, first: Node, second: Node) -> bool | None:
        """Compare by the first shape of `_BY_SHAPE` that one side has."""
        if is_set_like(first) or is_set_like(second):
            return self.sets(first, second)
        for shape, compare in _BY_SHAPE.items():
            if shape in {first.op, second.op}:
                return compare(self, first, second)
        return None

    def pairs(self, first: Node, second: Node) -> bool:
        """Compare a tuple with a tuple, or with a matrix of one row or column."""
        if "matrix" not in {first.op, second.op}:
            return first.op == second.op and self.tuples(first, second)
        first_matrix = matrices.from_lists(first)
        second_matrix = matrices.from_lists(second)
        if first_matrix is None or second_matrix is None:
            return False
        return self.matrices(first_matrix, second_matrix)

    def cases(self, first: Node, second: Node) -> bool:
        """Compare the pieces of two functions in any order."""
        if first.op != second.op:
            return self.matrices(first, second)
        if len(first.args) != len(second.args):
            return False
        return self.match(list(first.args), list(second.args))

    def conditions(self, first: Node, second: Node) -> bool:
        """A formula with the condition under which it makes sense.

        The other side may leave that out, not change it.
        """
        formulas = (node.args[0] if node.op == "given" else node for node in (first, second))
        if not self.equal(*map(_spread, formulas)):
            return False
        return first.op != second.op or self.equal(_spread(first.args[1]), _spread(second.args[1]))

    # expressions

    def same(self, first: Node, second: Node) -> bool:
        if first == second:
            return True
        for node in (*first.walk(), *second.walk()):
            if node.op in SHAPES or node == INFINITY:
                return False
        try:
            return self.oracle.same(units_and_words.plain(first), units_and_words.plain(second))
        except UndefinedError:
            return False

    def matrices(self, first: Node, second: Node) -> bool:
        first_matrix = matrices.value(first)
        second_matrix = matrices.value(second)
        if first_matrix is None and second_matrix is None:
            return self.same(first, second)
        if first_matrix is None or second_matrix is None:
            return False
        if matrices.shape(first_matrix) != matrices.shape(second_matrix):
            return False
        for row, other_row in zip(first_matrix.args, second_matrix.args, strict=True):
            for item, other in zip(row.args, other_row.args, strict=True):
                if not self.equal(item, other):
                    return False
        return True

    # words, units, ratios

    def choices(self, first: Node, second: Node) -> bool:
        """`(B) 12` against the letter or the value alone, or against another choice as a whole."""
        if first.op == second.op:
            return first.value == second.value and self.equal(first.args[0], second.args[0])
        choice, other = (first, second) if first.op == "choice" else (second, first)
        letter = units_and_words.letters(other)
        if letter is not None and len(letter) == 1:
            return letter == str(choice.value)
        return self.equal(choice.args[0], other)

    def quantities(self, first: Node, second: Node) -> bool:
        first_unit = units_and_words.unit(first)
        second_unit = units_and_words.unit(second)
        if not units_and_words.same_unit(first_unit, second_unit):
            return False
        first_value = units_and_words.without_unit(first, second_unit)
        second_value = units_and_words.without_unit(second, first_unit)
        is_percent = {first_value.op, second_value.op} == {"percent"}
        if "percent" in {first.op, second.op} and not is_percent:
            return False  # `5 cm` against `5%`
        if _TIME_OF_DAY.match(first_unit or "") or _TIME_OF_DAY.match(second_unit or ""):
            return first_value == second_value  # a time of day is no ratio
        return self.equal(first_value, second_value)

    def percents(self, first: Node, second: Node) -> bool:
        if first.op == second.op:
            return self.equal(first.args[0], second.args[0])
        percent, other = (first, second) if first.op == "percent" else (second, first)
        if other.op in SHAPES:
            return False
        share = Node("div", (percent.args[0], number(100)))
        return self.same(percent.args[0], other) or self.same(share, other)

    def ratios(self, first: Node, second: Node) -> bool:
        if first.op != second.op:
            ratio, other = (first, second) if first.op == "ratio" else (second, first)
            if len(ratio.args) != 2 or other.op in SHAPES:
                return False
            return self.same(Node("div", ratio.args), other)
        if len(first.args) != len(second.args):
            return False
        if any(part == number(0) for part in (*first.args, *second.args)):  # times of day
            return all(
                self.same(item, other) for item, other in zip(first.args, second.args, strict=True)
            )
        return all(
            self.same(
                Node("mul", (first.args[0], second.args[index])),
                Node("mul", (second.args[0], first.args[index])),
            )
            for index in range(1, len(first.args))
        )

    # lists, tuples, sets

    def lists(self, first: Node, second: Node) -> bool:
        """Compare items in any order; in sets and alternatives each counts once."""
        first_items = _items(first)
        second_items = _items(second)
        if "tuple" in {first.op, second.op} and len(first_items) != len(second_items):
            return False
        unrepeated = {"set", "or"} & {first.op, second.op, first.value, second.value}
        if unrepeated or all(item.op == "tuple" for item in (*first_items, *second_items)):
            first_items = self.distinct(first_items)
            second_items = self.distinct(second_items)
        if len(first_items) != len(second_items):
            return False
        if self.same_items(first_items, second_items):
            return True
        return self.same_unordered(first_items, second_items)

    def same_items(self, first: Sequence[Node], second: Sequence[Node]) -> bool:
        """Compare item by item."""
        return len(first) == len(second) and all(map(self.equal, first, second))

    def same_unordered(self, first: list[Node], second: list[Node]) -> bool:
        """Compare items in any order; many numbers by sorting."""
        numbers = _rationals(first)
        other_numbers = _rationals(second)
        if numbers is not None and other_numbers is not None:
            return sorted(numbers) == sorted(other_numbers)
        return len(first) <= MAX_ITEMS and self.match(first, second)

    def distinct(self, items: list[Node]) -> list[Node]:
        kept: list[Node] = []
        for item in dict.fromkeys(items):
            if len(items) > MAX_ITEMS or not any(self.equal(item, other) for other in kept):
                kept.append(item)
        return kept

    def match(self, first: list[Node], second: list[Node]) -> bool:
        rest = list(second)
        for item in first:
            equal = next((other for other in rest if self.equal(item, other)), None)
            if equal is None:
                return False
            rest.remove(equal)
        return True

    def tuples(self, first: Node, second: Node) -> bool:
        is_pair = len(first.args) == 2  # which may be an interval, with brackets of two kinds
        if len(first.args) != len(second.args) or (is_pair and first.value != second.value):
            return False
        return self.same_items(first.args, second.args)

    def sets(self, first: Node, second: Node) -> bool:
        """Sets of real numbers, whichever way they are written.

        Two inequalities must speak of one variable.
        """
        if {first.op, second.op} <= {"rel", "list"} and symbols(first) != symbols(second):
            return False
        order = self.oracle.order
        first_set = as_real_set(first, order)
        second_set = as_real_set(second, order)
        if first_set is not None and second_set is not None:
            return realset.equal(first_set, second_set, order)
        if first.op == second.op == "rel":
            return self.relations(first, second)
        return first.op == second.op and self.set_operations(first, second)

    def set_operations(self, first: Node, second: Node) -> bool:
        """Unions and the like of sets that are not numbers, operand by operand.

        Those of a union in any order.
        """
        if first.op not in {"union", "inter", "minus"} or len(first.args) != len(second.args):
            return False
        if self.same_items(first.args, second.args):
            return True
        return first.op != "minus" and self.match(list(first.args), list(second.args))

    # equations and inequalities

    def relations(self, first: Node, second: Node) -> bool:
        """Compare two statements, or a statement that names a value with that value."""
        if first.op != second.op:
            relation, other = (first, second) if first.op == "rel" else (second, first)
            value = relations.value_of(relation)
            return value is not None and self.equal(value, other)
        if _names_nothing(first) and _names_nothing(second):
            # `1 < 2` and `3 < 4` are both true, and say different things
            turned = relations.turned(second)
            return self.same_sides(first, second) or self.same_sides(first, turned)
        values = _values_of_one_name(first, second)
        if values is not None:
            return self.equal(*values)
        if len(first.args) != len(second.args):
            return False
        return self.same_sides(first, second) or self.same_chains(first, second)

    def same_chains(self, first: Node, second: Node) -> bool:
        """Compare two chains link by link, the second one in either direction."""
        links = relations.links(first)
        backwards = relations.links(relations.turned(second))
        return self.chains(links, relations.links(second)) or self.chains(links, backwards)

    def same_sides(self, first: Node, second: Node) -> bool:
        """Tell whether two relations have the same signs between equal sides."""
        return (
            first.value == second.value
            and len(first.args) == len(second.args)
            and all(self.equal(a, b) for a, b in zip(first.args, second.args, strict=True))
        )

    def chains(self, first: list[tuple[str, Node]], second: list[tuple[str, Node]]) -> bool:
        return all(self.links(item, other) for item, other in zip(first, second, strict=True))

    def links(self, link: tuple[str, Node], other_link: tuple[str, Node]) -> bool:
        operator, difference = link
        other_operator, other_difference = other_link
        nodes = [*difference.walk(), *other_difference.walk()]
        if operator != other_operator or any(node.op in SHAPES for node in nodes):
            return False
        difference = units_and_words.plain(difference)
        other_difference = units_and_words.plain(other_difference)
        try:
            if operator in {"=", "!="}:
                return self.oracle.same_equation(difference, other_difference)
            return self.oracle.factor(difference, other_difference) > 0
        except UndefinedError:
            return False

    def assignments(self, assigned: dict[str, Node], other: Node) -> bool:
        """`x = 3, y = 4` against `(3, 4)` or `3, 4`: in alphabetical order, or as written.

        As written counts when the names are longer than a letter, and without brackets.
        """
        if other.op == "list" and all(item.op == "rel" for item in other.args):
            return self.numbered(assigned, other)
        is_row = other.op in {"tuple", "list"} and other.value in {"()", ",", "and", ";"}
        if not is_row or len(other.args) != len(assigned):
            return False
        if self.same_items(_in_usual_order(assigned), other.args):
            return True
        return other.op == "list" and self.same_items(list(assigned.values()), other.args)

    def numbered(self, assigned: dict[str, Node], other: Node) -> bool:
        """`x_1 = 1, x_2 = -3` against `x = 1 or x = -3`."""
        labels = {item.label for item in other.args}
        values = [relations.value_of(item) for item in other.args]
        known = [value for value in values if value is not None]
        if len(labels) != 1 or "" in labels or not len(known) == len(values) == len(assigned):
            return False
        pattern = re.escape(labels.pop()) + r"_\{?\d+\}?"
        return all(re.fullmatch(pattern, name) for name in assigned) and self.match(
            list(assigned.values()), known
        )

    def two_assignments(
        self,
        first_values: dict[str, Node],
        second_values: dict[str, Node],
        first: Node,
        second: Node,
    ) -> bool:
        if first_values.keys() == second_values.keys():
            names = list(first_values)
            return all(self.equal(first_values[name], second_values[name]) for name in names)
        if not first.op == second.op == "list" or len(first.args) != len(second.args):
            return False
        return self.match(list(first.args), list(second.args))


def _names_nothing(relation: Node) -> bool:
    return not symbols(relation) and not relation.label


def _values_of_one_name(first: Node, second: Node) -> tuple[Node, Node] | None:
    """The values that two relations give to the same name; None where they do not."""
    first_value = relations.value_of(first)
    second_value = relations.value_of(second)
    if first_value is None or second_value is None:
        return None
    if relations.same_label(first.label, second.label, first_value):
        return (first_value, second_value)
    return None


def _in_usual_order(assigned: dict[str, Node]) -> list[Node]:
    """The values by the alphabet of their names.

    As written where a name is longer than a letter.
    """
    if all(len(name) == 1 for name in assigned):
        return [assigned[name] for name in sorted(assigned)]
    return list(assigned.values())


def _spread(node: Node) -> Node:
    """An answer with its double signs written out.

    Of a formula and its condition each by itself.
    """
    if node.op == "given":
        return node
    return expand_signs(distribute(node))


def _unwrap(node: Node) -> Node:
    """A set, list or matrix of one element is the element, but a set of a set is not that set."""
    while (
        node.op in {"list", "set"}
        and len(node.args) == 1
        and not (node.op == "set" and node.args[0].op in _SETS)
    ):
        node = node.args[0]
    if node.op == "matrix" and matrices.shape(node) == (1, 1):
        return node.args[0].args[0]
    return node


def _rationals(items: list[Node]) -> list[Fraction] | None:
    try:
        return [exact.rational(item) for item in items]
    except (NotExactError, UndefinedError):
        return None


def _items(node: Node) -> list[Node]:
    """List the items of a list or set; any other node is one item."""
    return list(node.args) if node.op in {"list", "set"} else [node]


_BY_SHAPE: dict[str, Callable[[_Comparison, Node, Node], bool]] = {
    "rel": _Comparison.relations,
    "list": _Comparison.lists,
    "set": _Comparison.lists,
    "tuple": _Comparison.pairs,
    "quantity": _Comparison.quantities,
    "deg": _Comparison.quantities,
    "percent": _Comparison.percents,
    "ratio": _Comparison.ratios,
    "cases": _Comparison.cases,
}
"""How answers are compared of which one side has a shape; the first shape in this order decides."""
_TIME_OF_DAY = re.compile("[ap] ?m(?![a-z])")
_SETS = {"set", "named", "union", "inter", "minus", "builder"}
