r"""Roundings behind an `\approx`: right sides that only round the exact value before them."""

from __future__ import annotations

import math
from collections.abc import Callable

from custom_metrics.math.tree import Node, symbols

_NEAR = 0.2
"""The largest relative distance of a rounding: `1/3 \\approx 0.3` is one, `83 \\approx 229` is
none."""
_CONSTANTS = {"pi": math.pi, "e": math.e}
_Operation = Callable[..., float]
_OPERATIONS: dict[str, _Operation] = {
    "add": lambda *terms: math.fsum(terms),
    "mul": lambda *factors: math.prod(factors),
    "div": lambda top, bottom: top / bottom,
    "neg": lambda term: -term,
    "pow": math.pow,
    "root": lambda radicand, index: math.pow(radicand, 1 / index),
    "abs": abs,
    "quantity": lambda value: value,
    "percent": lambda share: share / 100,
}


def is_rounded(operands: list[Node], right: Node) -> bool:
    r"""Tells whether the side behind an `\approx` is a rounding of the exact value before it.

    The exact value then is the answer.

    `1/3 \approx 0.33` and `r = 2\pi a \approx 6.28a` are rounded. `x + y \approx 3` says what the
    sum is, and so does `E = hf \approx 3`.

    Args:
        operands: What stands before the sign; several in a chain.
        right: What stands behind it.
    """
    exact = operands[-1]
    if symbols(exact):
        return len(operands) > 1 and bool(symbols(right))
    return not symbols(right) and may_be_near(exact, right)


def may_be_near(exact: Node, right: Node) -> bool:
    """Tells whether two constants lie near each other.

    Units are not converted, so two of them may.
    """
    if exact.op == right.op == "quantity" and exact.value != right.value:
        return True
    try:
        first = _estimate(exact)
        second = _estimate(right)
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return True  # outside what is estimated here
    if "percent" in {exact.op, right.op}:
        return any(_is_near(first, scale * second) for scale in (0.01, 1, 100))
    return _is_near(first, second)


def _is_near(first: float, second: float) -> bool:
    return abs(first - second) <= _NEAR * max(abs(first), abs(second))


def _estimate(node: Node) -> float:
    """The value of a constant as a float.

    Raises:
        KeyError: The node holds an operation that has no estimate.
    """
    if node.op == "num":
        return float(node.value or 0)
    if node.op == "const":
        return _CONSTANTS[str(node.value)]
    return _OPERATIONS[node.op](*(_estimate(arg) for arg in node.args))
