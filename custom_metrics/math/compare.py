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
from custom_metrics.math.relations import Link
from custom_metrics.math.sets import as_real_set, is_set_like
from custom_metrics.math.signs import distribute, expand_signs
from custom_metrics.math.tree import INFINITY, SHAPES, Node, number, symbols

MAX_ITEMS = 40
"""Items of a list that are matched in any order; longer lists of numbers are sorted, others
compared in order."""


def equal(first: Node, second: Node, oracle: Oracle) -> bool:
    """Decides whether two answers are equal.

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
        """Compares two answers, or parts of answers, by the shapes that they have."""
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
            named = relations.set_named(first, second)
            other_named = relations.set_named(second, first)
            first, second = named, other_named
        for compare in (self.words, self.named_values, self.shapes):
            verdict = compare(first, second)
            if verdict is not None:
                return verdict
        return self.matrices(first, second)

    def words(self, first: Node, second: Node) -> bool | None:
        """Compares what needs no arithmetic.

        That is letters of sets, choices, texts, and numerals with a base.
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
        """Compares `x = 3, y = 4` with values or other names, and a chain with its steps."""
        first_values = relations.assignments(first)
        second_values = relations.assignments(second)
        if first_values and second_values:
            return self.two_assignments(first_values, second_values, first, second)
        if first_values:
            return self.assignments(first_values, second)
        if second_values:
            return self.assignments(second_values, first)
        if {first.op, second.op} == {"rel", "list"} and len(symbols(first)) > 1:
            chain, statements = _by_shape(first, second, "rel")
            return self.steps(chain, statements)
        return None

    def steps(self, chain: Node, statements: Node) -> bool | None:
        """Compares `a < b < c` with the list `a < b, b < c`."""
        steps = relations.steps(chain)
        if statements.value == "or" or len(steps) < 2:
            return None
        if len(steps) != len(statements.args):
            return None
        return self.match(steps, list(statements.args))

    def shapes(self, first: Node, second: Node) -> bool | None:
        """Compares by the first shape of `_BY_SHAPE` that one side has."""
        if is_set_like(first) or is_set_like(second):
            return self.sets(first, second)
        for shape, compare in _BY_SHAPE.items():
            if shape in {first.op, second.op}:
                return compare(self, first, second)
        return None

    def pairs(self, first: Node, second: Node) -> bool:
        """Compares a tuple with a tuple, or with a matrix of one row or column."""
        if "matrix" not in {first.op, second.op}:
            return first.op == second.op and self.tuples(first, second)
        first_matrix = matrices.from_lists(first)
        second_matrix = matrices.from_lists(second)
        if first_matrix is None or second_matrix is None:
            return False
        return self.matrices(first_matrix, second_matrix)

    def cases(self, first: Node, second: Node) -> bool:
        """Compares the pieces of two functions in any order."""
        if first.op != second.op:
            return self.matrices(first, second)
        if len(first.args) != len(second.args):
            return False
        return self.match(list(first.args), list(second.args))

    def conditions(self, first: Node, second: Node) -> bool:
        """A formula with the condition under which it makes sense.

        The other side may leave that out, not change it.
        """
        formula = _spread(_without_condition(first))
        other_formula = _spread(_without_condition(second))
        if not self.equal(formula, other_formula):
            return False
        if first.op != second.op:
            return True
        condition = _spread(first.args[1])
        other_condition = _spread(second.args[1])
        return self.equal(condition, other_condition)

    # expressions

    def same(self, first: Node, second: Node) -> bool:
        if first == second:
            return True
        for node in (*first.walk(), *second.walk()):
            if node.op in SHAPES or node == INFINITY:
                return False
        try:
            formula = units_and_words.plain(first)
            other_formula = units_and_words.plain(second)
            return self.oracle.same(formula, other_formula)
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
        rows = zip(first_matrix.args, second_matrix.args, strict=True)
        return all(self.same_items(row.args, other.args) for row, other in rows)

    # words, units, ratios

    def choices(self, first: Node, second: Node) -> bool:
        """`(B) 12` against the letter or the value alone, or against another choice as a whole."""
        if first.op == second.op:
            if first.value != second.value:
                return False
            return self.equal(first.args[0], second.args[0])
        choice, other = _by_shape(first, second, "choice")
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
        if _is_time_of_day(first_unit) or _is_time_of_day(second_unit):
            return first_value == second_value  # a time of day is no ratio
        return self.equal(first_value, second_value)

    def percents(self, first: Node, second: Node) -> bool:
        if first.op == second.op:
            return self.equal(first.args[0], second.args[0])
        percent, other = _by_shape(first, second, "percent")
        if other.op in SHAPES:
            return False
        value = percent.args[0]
        share = Node("div", (value, number(100)))
        return self.same(value, other) or self.same(share, other)

    def ratios(self, first: Node, second: Node) -> bool:
        if first.op != second.op:
            ratio, other = _by_shape(first, second, "ratio")
            if len(ratio.args) != 2 or other.op in SHAPES:
                return False
            return self.same(Node("div", ratio.args), other)
        if len(first.args) != len(second.args):
            return False
        if number(0) in (*first.args, *second.args):  # times of day
            return all(map(self.same, first.args, second.args))
        for part, other_part in zip(first.args[1:], second.args[1:], strict=True):
            product = Node("mul", (first.args[0], other_part))
            other_product = Node("mul", (second.args[0], part))
            if not self.same(product, other_product):
                return False
        return True

    # lists, tuples, sets

    def lists(self, first: Node, second: Node) -> bool:
        """Compares items in any order; in sets and alternatives each counts once."""
        first_items = _items(first)
        second_items = _items(second)
        has_tuple = "tuple" in {first.op, second.op}
        if has_tuple and len(first_items) != len(second_items):
            return False
        kinds = {first.op, second.op, first.value, second.value}
        is_unrepeated = "set" in kinds or "or" in kinds
        all_items = (*first_items, *second_items)
        if is_unrepeated or all(item.op == "tuple" for item in all_items):
            first_items = self.distinct(first_items)
            second_items = self.distinct(second_items)
        if len(first_items) != len(second_items):
            return False
        if self.same_items(first_items, second_items):
            return True
        return self.same_unordered(first_items, second_items)

    def same_items(self, first: Sequence[Node], second: Sequence[Node]) -> bool:
        """Compares item by item."""
        return len(first) == len(second) and all(map(self.equal, first, second))

    def same_unordered(self, first: list[Node], second: list[Node]) -> bool:
        """Compares items in any order; many numbers by sorting."""
        numbers = _rationals(first)
        other_numbers = _rationals(second)
        if numbers is not None and other_numbers is not None:
            return sorted(numbers) == sorted(other_numbers)
        return len(first) <= MAX_ITEMS and self.match(first, second)

    def distinct(self, items: list[Node]) -> list[Node]:
        is_long = len(items) > MAX_ITEMS
        kept: list[Node] = []
        for item in dict.fromkeys(items):
            if is_long or self.partner(item, kept) is None:
                kept.append(item)
        return kept

    def match(self, first: list[Node], second: list[Node]) -> bool:
        rest = list(second)
        for item in first:
            partner = self.partner(item, rest)
            if partner is None:
                return False
            rest.remove(partner)
        return True

    def partner(self, item: Node, others: list[Node]) -> Node | None:
        """Returns the first of some items that equals an item."""
        for other in others:
            if self.equal(item, other):
                return other
        return None

    def tuples(self, first: Node, second: Node) -> bool:
        if len(first.args) != len(second.args):
            return False
        # A pair may be an interval, with brackets of two kinds.
        is_pair = len(first.args) == 2
        if is_pair and first.value != second.value:
            return False
        return self.same_items(first.args, second.args)

    def sets(self, first: Node, second: Node) -> bool:
        """Sets of real numbers, whichever way they are written.

        Two inequalities must speak of one variable.
        """
        are_inequalities = {first.op, second.op} <= {"rel", "list"}
        if are_inequalities and symbols(first) != symbols(second):
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

        The operands of a union may stand in any order.
        """
        if first.op not in {"union", "inter", "minus"}:
            return False
        if len(first.args) != len(second.args):
            return False
        if self.same_items(first.args, second.args):
            return True
        if first.op == "minus":
            return False
        return self.match(list(first.args), list(second.args))

    # equations and inequalities

    def relations(self, first: Node, second: Node) -> bool:
        """Compares two statements, or a statement that names a value with that value."""
        if first.op != second.op:
            relation, other = _by_shape(first, second, "rel")
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
        """Compares two chains link by link, the second one in either direction."""
        links = relations.links(first)
        forwards = relations.links(second)
        backwards = relations.links(relations.turned(second))
        return self.chains(links, forwards) or self.chains(links, backwards)

    def same_sides(self, first: Node, second: Node) -> bool:
        """Tells whether two relations have the same signs between equal sides."""
        if first.value != second.value:
            return False
        return self.same_items(first.args, second.args)

    def chains(self, first: list[Link], second: list[Link]) -> bool:
        pairs = zip(first, second, strict=True)
        return all(self.links(link, other) for link, other in pairs)

    def links(self, link: Link, other: Link) -> bool:
        if link.operator != other.operator:
            return False
        nodes = (*link.difference.walk(), *other.difference.walk())
        if any(node.op in SHAPES for node in nodes):
            return False
        difference = units_and_words.plain(link.difference)
        other_difference = units_and_words.plain(other.difference)
        try:
            if link.operator in {"=", "!="}:
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
        if not _is_row(other) or len(other.args) != len(assigned):
            return False
        if self.same_items(_in_usual_order(assigned), other.args):
            return True
        as_written = list(assigned.values())
        return other.op == "list" and self.same_items(as_written, other.args)

    def numbered(self, assigned: dict[str, Node], other: Node) -> bool:
        """`x_1 = 1, x_2 = -3` against `x = 1 or x = -3`."""
        labels = {item.label for item in other.args}
        if len(labels) != 1 or "" in labels:
            return False
        values = [relations.value_of(item) for item in other.args]
        known = [value for value in values if value is not None]
        if not len(known) == len(values) == len(assigned):
            return False
        indexed_name = re.escape(labels.pop()) + r"_\{?\d+\}?"
        if not all(re.fullmatch(indexed_name, name) for name in assigned):
            return False
        return self.match(list(assigned.values()), known)

    def two_assignments(
        self,
        first_values: dict[str, Node],
        second_values: dict[str, Node],
        first: Node,
        second: Node,
    ) -> bool:
        if first_values.keys() == second_values.keys():
            in_first_order = [second_values[name] for name in first_values]
            return self.same_items(list(first_values.values()), in_first_order)
        if not first.op == second.op == "list":
            return False
        if len(first.args) != len(second.args):
            return False
        return self.match(list(first.args), list(second.args))


def _by_shape(first: Node, second: Node, shape: str) -> tuple[Node, Node]:
    """Returns two answers of which one has a shape: that one, then the other."""
    if first.op == shape:
        return first, second
    return second, first


def _without_condition(node: Node) -> Node:
    if node.op == "given":
        return node.args[0]
    return node


def _is_time_of_day(unit: str | None) -> bool:
    return unit is not None and _TIME_OF_DAY.match(unit) is not None


def _is_row(node: Node) -> bool:
    """Tells whether a node is a tuple in brackets, or a list without brackets."""
    if node.op not in {"tuple", "list"}:
        return False
    return node.value in {"()", ",", "and", ";"}


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

    Where a name is longer than a letter, they stay in the order in which they are written.
    """
    if all(len(name) == 1 for name in assigned):
        return [assigned[name] for name in sorted(assigned)]
    return list(assigned.values())


def _spread(node: Node) -> Node:
    """An answer with its double signs written out.

    Those of a formula and of its condition are each written out by themselves.
    """
    if node.op == "given":
        return node
    return expand_signs(distribute(node))


def _unwrap(node: Node) -> Node:
    """A set, list or matrix of one element is the element, but a set of a set is not that set."""
    while _holds_its_value(node):
        node = node.args[0]
    if node.op == "matrix" and matrices.shape(node) == (1, 1):
        return node.args[0].args[0]
    return node


def _holds_its_value(node: Node) -> bool:
    """Tells whether a node is a list or set of one element, and not the set of a set."""
    if node.op not in {"list", "set"} or len(node.args) != 1:
        return False
    return node.op == "list" or node.args[0].op not in _SETS


def _rationals(items: list[Node]) -> list[Fraction] | None:
    try:
        return [exact.rational(item) for item in items]
    except (NotExactError, UndefinedError):
        return None


def _items(node: Node) -> list[Node]:
    """Lists the items of a list or set; any other node is one item."""
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
