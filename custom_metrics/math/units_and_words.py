"""Comparisons without algebra: words, units, and numerals with a base."""

from __future__ import annotations

import re

from custom_metrics.math.tree import Node, number
from custom_metrics.math.words import CURRENCIES

_NUMERAL = re.compile(r"[a-z]|i{1,3}|iv|vi{0,3}|ix")

_UNIT_LETTERS = {"\\Omega": "ohm", "T": "tesla", "F": "f", "C": "c", "K": "k"}
"""Letters of units that are one symbol where no text macro marks them, and their names."""


def letters(node: Node) -> str | None:
    """The text of a text answer, or of letters that were read as a product: `ABC`."""
    if node.op in {"text", "sym", "const"}:
        return str(node.value).lower()
    parts = [letters(arg) for arg in node.args] if node.op == "mul" else [None]
    if None in parts:
        return None
    return "".join(str(part) for part in parts)


def same_words(first: Node, second: Node) -> bool:
    """Returns whether two texts say the same: the same words, or the same names joined by `and`."""
    forms = letters(first), letters(second)
    if forms[0] is None or forms[1] is None:
        return False
    if forms[0] == forms[1]:
        return True
    items = [_items(form) for form in forms if form is not None]
    return len(items[0]) > 1 and items[0] == items[1]


def _items(form: str) -> list[str]:
    """`bob and carol` as two names in order, and so `i ii`.

    A series of words without `and` may be a ranking.
    """
    words = form.split()
    if all(_NUMERAL.fullmatch(word) or word in {"and", "or"} for word in words):
        return sorted(word for word in words if word not in {"and", "or"})
    return sorted(re.split(" and | or ", form))


def unit(node: Node) -> str | None:
    """The unit of a value, None without one."""
    if node.op == "quantity":
        return str(node.value)
    return "deg" if node.op == "deg" else None


def same_unit(first: str | None, second: str | None) -> bool:
    """Tells whether two units agree.

    A missing unit agrees with any, and so does a missing part such as `per hour` after a price.
    """
    if first == second or first is None or second is None:
        return True
    return any(
        (part == "deg" and whole in {"°C", "°F"})
        or (part in CURRENCIES and whole.startswith(f"{part}/"))
        for part, whole in ((first, second), (second, first))
    )


def without_unit(node: Node, other_unit: str | None) -> Node:
    """The value of a quantity; of `5m` the 5 where the other side has the unit m."""
    if unit(node) is not None:
        return node.args[0]
    return _without_letter(node, str(other_unit))


def _without_letter(node: Node, other_unit: str) -> Node:
    """`5m` without its last factor where the other side has the unit m."""
    if node.op != "mul":
        return node
    last = node.args[1]
    power = ""
    if last.op == "pow":
        last, power = last.args[0], f"^{last.args[1].value}"
    letter = str(last.value)
    units = {f"{letter}{power}", f"{_UNIT_LETTERS.get(letter, letter)}{power}"}
    if last.op == "sym" and other_unit in units:
        return node.args[0]
    return node


def same_numeral(first: Node, second: Node) -> bool:
    """Numerals with a base: the same sign and digits, and the same base unless one has no mark."""
    first_sign, first_size = _sign_and_size(first)
    second_sign, second_size = _sign_and_size(second)
    if first_size.op == second_size.op:
        return first_sign == second_sign and first_size.value == second_size.value
    if first_size.op == "based":
        sign, based, number_without_base = first_sign, first_size, second_size
    else:
        sign, based, number_without_base = second_sign, second_size, first_size
    digits = str(based.value).rpartition("_")[0]
    return number_without_base.op == "num" and str(number_without_base.value) == sign + digits


def _sign_and_size(node: Node) -> tuple[str, Node]:
    """A minus or nothing, and the node without its minus."""
    if node.op == "neg":
        return "-", node.args[0]
    return "", node


def is_numeral(node: Node) -> bool:
    """Returns whether the node is a numeral with a base, with or without a sign."""
    return node.op == "based" or (node.op == "neg" and node.args[0].op == "based")


_TRIGONOMETRY = {"sin", "cos", "tan", "cot", "sec", "csc"}


def plain(node: Node) -> Node:
    """Returns an expression in which a percentage is its share.

    Degrees count in trigonometric functions only.
    """
    if not node.args:
        return node
    if node.op == "percent":
        return Node("div", (plain(node.args[0]), number(100)))
    if node.op == "deg":
        return plain(node.args[0])
    if node.op == "fn" and node.value in _TRIGONOMETRY:
        angle = node.args[0]
        if any(item.op == "deg" for item in angle.walk()):
            in_degrees = Node("deg", (plain(angle),))
            return node._replace(args=(in_degrees,))
    return node._replace(args=tuple(plain(arg) for arg in node.args))
