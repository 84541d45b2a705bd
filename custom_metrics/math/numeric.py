r"""Comparison of expressions by evaluation with many digits; runs in the worker only.

What `exact` cannot decide (nested and higher roots, exponentials, logarithms, trigonometry,
symbolic exponents) is evaluated with mpmath at fixed points. A first pass with 30 digits measures
the largest and smallest magnitude :math:`10^{\pm M}` of any intermediate result; the second pass
uses :math:`60 + 2M` digits, and two values are equal when they differ by less than
:math:`10^{-(30+M)}` of the larger of them and one. Symbols stand for real numbers of either sign;
points at which a step leaves the real numbers do not count unless the expression speaks of the
imaginary unit.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from typing import Any

from mpmath import mp, mpf  # type: ignore[import-untyped]  # no stubs are published

from custom_metrics.math.exact import NotExactError, UndefinedError
from custom_metrics.math.tree import Node, subtract, symbols

MAX_MAGNITUDE = 3_000
"""Decimal orders of magnitude of an intermediate result."""
_POINTS = 8
_FAR_POINTS = 16
_IN_PIECES = {"floor", "ceil", "max", "min"}
"""Points further out, every other one whole, for functions that are made of pieces."""
_EXTREMES: dict[str, Callable[..., Any]] = {"max": max, "min": min}
_TRIGONOMETRY = {"sin", "cos", "tan", "cot", "sec", "csc"}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "cot": mp.cot,
    "sec": mp.sec,
    "csc": mp.csc,
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arccot": lambda x: mp.pi / 2 - mp.atan(x),
    "arcsec": mp.asec,
    "arccsc": mp.acsc,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "coth": mp.coth,
    "floor": mp.floor,
    "ceil": mp.ceil,
    "Re": mp.re,
    "Im": mp.im,
    "arg": mp.arg,
}


class _Evaluation:
    """One evaluation of one expression at one point."""

    def __init__(self, point: int, log_base: str) -> None:
        self.point = point
        self.log_base = log_base
        self.magnitude = 0.0
        self.is_real = True

    def value(self, node: Node) -> Any:
        try:
            number = self._value(node)
        except ZeroDivisionError:
            raise UndefinedError("division by zero") from None
        except (OverflowError, ValueError) as error:
            raise NotExactError(str(error)) from error
        if not mp.isfinite(number):
            raise UndefinedError("no finite value")
        size = abs(number)
        if size:
            order = abs(float(mp.log10(size)))
            self.magnitude = max(self.magnitude, order)
            if order > MAX_MAGNITUDE:
                raise NotExactError("too large")
        if mp.im(number) and abs(mp.im(number)) > mpf(10) ** (8 - mp.dps) * max(1, size):
            self.is_real = False
        return number

    # A dispatch over the kinds of an expression.
    def _value(self, node: Node) -> Any:  # noqa: PLR0911 - one return for each kind of node
        match node.op:
            case "num":
                return mpf(node.value.numerator) / node.value.denominator  # type: ignore[union-attr]
            case "sym":
                return _coordinate(self.point, str(node.value))
            case "const":
                return _constant(str(node.value))
            case "add":
                return mp.fsum(map(self.value, node.args))
            case "neg" | "abs" | "fact":
                return _OF_ONE[node.op](self.value(node.args[0]))
            case "mul" | "pow" | "root":
                return _OF_TWO[node.op](self.value(node.args[0]), self.value(node.args[1]))
            case "div":
                below = _divisor(self.value(node.args[1]))
                return self.value(node.args[0]) / below
            case "log":
                return self._log(node)
            case "fn":
                return self._function(node)
        raise NotExactError(node.op)

    def _log(self, node: Node) -> Any:
        argument = self.value(node.args[0])
        if len(node.args) == 2:
            base = self.value(node.args[1])
        else:
            base = +mp.e if self.log_base == "e" else mpf(10)
        if argument == 0 or base in {0, 1}:
            raise UndefinedError("logarithm")
        return mp.log(argument) / mp.log(base)

    def _function(self, node: Node) -> Any:
        """Evaluates a named function at its arguments."""
        name = str(node.value)
        if name in _TRIGONOMETRY and node.args[0].op == "deg":
            return self._function_of_degrees(name, node.args[0].args[0])
        arguments = list(map(self.value, node.args))
        if name == "binom":
            return self._binomial(arguments)
        if name in _EXTREMES and not any(mp.im(argument) for argument in arguments):
            return _EXTREMES[name](arguments)
        if name not in _FUNCTIONS or len(arguments) != 1:
            raise NotExactError(name)
        if name in {"tanh", "coth"}:
            self._note_small_difference(arguments[0])
        return _FUNCTIONS[name](arguments[0])

    def _function_of_degrees(self, name: str, degrees: Node) -> Any:
        """Evaluates a trigonometric function at an angle in degrees."""
        argument = self.value(degrees) * mp.pi / 180
        if name in {"tan", "sec", "cot", "csc"}:
            # Poles lie at odd quarters of the circle, those of cot and csc at even ones.
            quarters = argument * 2 / mp.pi
            nearest = mp.nint(quarters)
            is_near = abs(quarters - nearest) < mpf(10) ** (8 - mp.dps)
            is_even = int(nearest) % 2 == 0
            if is_near and is_even == (name in {"cot", "csc"}):
                raise UndefinedError("a pole")
        return _FUNCTIONS[name](argument)

    def _binomial(self, arguments: list[Any]) -> Any:
        if max(abs(argument) for argument in arguments) > 1_000:
            raise NotExactError("too large")
        return mp.binomial(*arguments)

    def _note_small_difference(self, argument: Any) -> None:
        """Raises the magnitude for one minus something of the order exp(-2x)."""
        size = min(abs(mp.re(argument)), 10**6)
        self.magnitude = max(self.magnitude, float(size) * 0.87)
        if self.magnitude > MAX_MAGNITUDE:
            raise NotExactError("too large")


def _constant(name: str) -> Any:
    constants = {"pi": mp.pi, "e": mp.e, "i": mp.mpc(0, 1)}
    if name not in constants:
        raise NotExactError("infinity")
    return +constants[name]


def _divisor(value: Any) -> Any:
    if abs(value) < mpf(10) ** (10 - mp.dps):
        raise UndefinedError("division by zero")
    return value


def _power(base: Any, exponent: Any) -> Any:
    if base == 0:
        if mp.re(exponent) <= 0:
            raise UndefinedError("zero to a power that is not positive")
        return mpf(0)
    order = mp.re(exponent * mp.log(base)) / mp.log(10)
    if abs(exponent) > mpf(10) ** 12 or abs(order) > MAX_MAGNITUDE:
        raise NotExactError("too large")
    return mp.power(base, exponent)


def _root(radicand: Any, index: Any) -> Any:
    if index == 0:
        raise UndefinedError("zeroth root")
    odd = mp.isint(index) and int(mp.re(index)) % 2 == 1
    if odd and not mp.im(radicand) and mp.re(radicand) < 0:
        return -_power(-radicand, 1 / index)
    return mpf(0) if radicand == 0 else _power(radicand, 1 / index)


def _factorial(argument: Any) -> Any:
    if abs(argument) > 1_000:
        raise NotExactError("too large")
    return mp.gamma(argument + 1)


_OF_ONE: dict[str, Callable[[Any], Any]] = {"neg": operator.neg, "abs": abs, "fact": _factorial}
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {"mul": operator.mul, "pow": _power, "root": _root}


def _coordinate(point: int, name: str) -> Any:
    """A real number that depends on the point and the name; negative at some points.

    Its size is between 0.25 and 2.25, at the points further out 23 times as large and at every
    other of them whole.
    """
    seed = f"{point}:{name}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(seed, digest_size=9).digest()
    share = mpf(int.from_bytes(digest[:8], "big")) / 2**63
    size = share + mpf("0.25")
    negative = point % 4 == 2 or (point % 4 == 3 and digest[8] % 2 == 1)
    if point >= _POINTS:  # a far point, every second one whole
        size = size * 23 if point % 2 else mp.nint(size * 23)
    return -size if negative else size


def _pair(
    first: Node, second: Node, point: int, bases: tuple[str, str]
) -> tuple[Any, Any, Any, bool]:
    """Both values, the tolerance, and whether both stayed real, at one point."""
    # Large numbers on the way cost digits: the size of the largest sets the precision.
    with mp.workdps(30):
        magnitude = 0.0
        for node, base in ((first, bases[0]), (second, bases[1])):
            probe = _Evaluation(point, base)
            probe.value(node)
            magnitude = max(magnitude, probe.magnitude)
    with mp.workdps(int(60 + 2 * magnitude)):
        first_evaluation = _Evaluation(point, bases[0])
        second_evaluation = _Evaluation(point, bases[1])
        first_value = first_evaluation.value(first)
        second_value = second_evaluation.value(second)
        scale = max(1, abs(first_value), abs(second_value))
        tolerance = mpf(10) ** (-30 - int(magnitude)) * scale
        is_real = first_evaluation.is_real and second_evaluation.is_real
        return first_value, second_value, tolerance, is_real


def same(first: Node, second: Node) -> bool:
    """Decides whether two expressions are equal.

    A logarithm without a base is read as base ten or as natural, whichever makes the other side
    equal; when both sides have one, it is the same base on both.

    Raises:
        NotExactError: A function that is not known, or a value that is too large.
        UndefinedError: One of them has no value.
    """
    is_bare = _has_bare_log(first)
    is_other_bare = _has_bare_log(second)
    natural, base_ten = ("e", "e"), ("10", "10")
    if is_bare and is_other_bare:
        return _same(first, second, natural) and _same(first, second, base_ten)
    if is_bare or is_other_bare:
        return _same(first, second, natural) or _same(first, second, base_ten)
    return _same(first, second, natural)


def _has_bare_log(expression: Node) -> bool:
    return any(node.op == "log" and len(node.args) == 1 for node in expression.walk())


def _same(first: Node, second: Node, bases: tuple[str, str]) -> bool:
    """Decides whether two expressions agree at all points, with given bases of bare logarithms."""
    names = symbols(first) | symbols(second)
    if not names:
        first_value, second_value, tolerance, _ = _pair(first, second, 0, bases)
        return bool(abs(first_value - second_value) <= tolerance)
    nodes = [*first.walk(), *second.walk()]
    points = _POINTS + (_FAR_POINTS if any(map(_is_in_pieces, nodes)) else 0)
    agreement = _agreement(first, second, bases, points)
    if agreement is None:
        return False
    real_points, complex_agrees = agreement
    if real_points < 2 or Node("const", value="i") in nodes:
        return real_points + len(complex_agrees) >= 3 and all(complex_agrees)
    return True


def _is_in_pieces(node: Node) -> bool:
    """Tells whether a function follows other formulas at other places, as |x - 2| does."""
    return node.op == "abs" or (node.op == "fn" and node.value in _IN_PIECES)


def _agreement(
    first: Node, second: Node, bases: tuple[str, str], points: int
) -> tuple[int, list[bool]] | None:
    """Compares two expressions at points where both have a value.

    Returns:
        How many points had real values, all of them equal, and whether those with complex values
        were equal; None where two real values differ.
    """
    real_points = 0
    complex_agrees: list[bool] = []
    for point in range(points):
        try:
            first_value, second_value, tolerance, stayed_real = _pair(first, second, point, bases)
        except UndefinedError:
            continue
        except NotExactError:
            if point < _POINTS:
                raise
            continue  # far out values may be too large; the other points decide
        is_equal = bool(abs(first_value - second_value) <= tolerance)
        if not stayed_real:
            complex_agrees.append(is_equal)
        elif is_equal:
            real_points += 1
        else:
            return None
    return real_points, complex_agrees


def factor(first: Node, second: Node) -> int:
    """Returns the sign of the constant c with `first = c * second`, or 0 when there is none.

    Raises:
        NotExactError: A function that is not known, or a value that is too large.
    """
    ratio: Any = None
    used = 0
    for point in range(_POINTS):
        values = _usable_pair(first, second, point)
        if values is None:
            continue
        with mp.workdps(60):
            quotient = values[0] / values[1]
            if ratio is None:
                ratio = quotient
            elif abs(quotient - ratio) > mpf(10) ** -25 * abs(ratio):
                return 0
        used += 1
    if ratio is None or used < 2:
        return 0
    return 1 if ratio > 0 else -1


def _usable_pair(first: Node, second: Node, point: int) -> tuple[Any, Any] | None:
    """The values of two expressions at a point; None where one is undefined, not real or zero."""
    try:
        above, below, tolerance, stayed_real = _pair(first, second, point, ("e", "e"))
    except UndefinedError:
        return None
    if not stayed_real or abs(below) <= tolerance or abs(above) <= tolerance:
        return None
    return above, below


def order(first: Node, second: Node) -> int:
    """Compares two real constants: -1, 0 or 1.

    Raises:
        NotExactError: Not a real constant.
        UndefinedError: One of them has no value.
    """
    if symbols(subtract(first, second)):
        raise NotExactError("not constant")
    first_value, second_value, tolerance, stayed_real = _pair(first, second, 0, ("e", "e"))
    if not stayed_real:
        raise NotExactError("not real")
    if abs(first_value - second_value) <= tolerance:
        return 0
    return 1 if mp.re(first_value) > mp.re(second_value) else -1
