r"""Exact comparison of expressions without a computer algebra system.

Two means. Constants that are rational are evaluated in `Fraction`. Everything built from rationals,
symbols, the imaginary unit, :math:`\pi` and square roots of small positive integers is mapped into
a prime field and evaluated at random points (Schwartz 1980, Zippel 1979): the map is a ring
homomorphism, so different images prove different expressions, and equal images at every point of
two fields of 110 bits leave a chance below :math:`10^{-60}` of a wrong "equal". Both cost
microseconds, are bounded by the size of the tree, and give the same answer on every machine.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from custom_metrics.math.tree import Node, number, subtract

MAX_BITS = 20_000
"""Bits of an intermediate rational result."""
MAX_POWER = 10**6
"""Largest exponent of a symbolic power in a prime field."""

_SMALL_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59)
_PRODUCT = 8 * math.prod(_SMALL_PRIMES)
# Primes p = k * 8 * 3 * 5 * ... * 59 + 1. By quadratic reciprocity -1, 2 and every odd prime up to
# 59 are squares modulo p, so the imaginary unit and square roots of smooth integers have images in
# the field.
_FIELDS = tuple(k * _PRODUCT + 1 for k in (378958212153, 1008619717278))
_POINTS = 3


class NotExactError(Exception):
    """The expression is outside what these means decide."""


class UndefinedError(Exception):
    """The expression has no value, such as 1/0."""


def rational(node: Node) -> Fraction:
    """Evaluates a rational constant exactly.

    Raises:
        NotExactError: Not rational, not recognised as such, or too large.
        UndefinedError: Division by zero.
    """
    match node.op:
        case "num":
            assert isinstance(node.value, Fraction)
            return node.value
        case "add":
            return _bounded(sum((rational(arg) for arg in node.args), Fraction(0)))
        case "neg" | "abs" | "fact":
            return _OF_ONE[node.op](rational(node.args[0]))
        case "mul" | "pow" | "root":
            return _OF_TWO[node.op](rational(node.args[0]), rational(node.args[1]))
        case "div":
            below = _divisor(rational(node.args[1]))
            return _bounded(rational(node.args[0]) / below)
        case "fn":
            return _function(str(node.value), [rational(arg) for arg in node.args])
    raise NotExactError(node.op)


def _divisor(value: Fraction) -> Fraction:
    if value == 0:
        raise UndefinedError("division by zero")
    return value


def _product(first: Fraction, second: Fraction) -> Fraction:
    return _bounded(first * second)


def _factorial(value: Fraction) -> Fraction:
    return Fraction(math.factorial(_whole(value, 2_000)))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise NotExactError("too large")
    return value


def _whole(value: Fraction, largest: int) -> int:
    if value.denominator != 1 or not 0 <= value <= largest:
        raise NotExactError("not a small whole number")
    return value.numerator


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if base < 0:
            raise NotExactError("a complex power")
        return _power(_root(base, Fraction(exponent.denominator)), Fraction(exponent.numerator))
    if base == 0 and exponent <= 0:
        raise UndefinedError("zero to a power that is not positive")
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if base not in {0, 1, -1} and size * abs(exponent) > MAX_BITS:
        raise NotExactError("too large")
    if base in {1, -1}:
        exponent = exponent % 2
    return base ** int(exponent)


def _root(radicand: Fraction, index: Fraction) -> Fraction:
    """The real root when it is rational."""
    if index.denominator != 1 or not 1 <= index <= 64:
        raise NotExactError("index")
    degree = int(index)
    if radicand < 0:
        if degree % 2 == 0:
            raise NotExactError("a complex root")
        return -_root(-radicand, index)
    parts = [_integer_root(part, degree) for part in (radicand.numerator, radicand.denominator)]
    return Fraction(parts[0], parts[1])


_OF_ONE: dict[str, Callable[[Fraction], Fraction]] = {
    "neg": operator.neg,
    "abs": abs,
    "fact": _factorial,
}
_OF_TWO: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "mul": _product,
    "pow": _power,
    "root": _root,
}


def _integer_root(value: int, degree: int) -> int:
    if value.bit_length() > MAX_BITS:
        raise NotExactError("too large")
    low = 0
    high = 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= value:
            low = middle
        else:
            high = middle - 1
    if low**degree != value:
        raise NotExactError("irrational")
    return low


def _function(name: str, values: list[Fraction]) -> Fraction:
    if name not in _FUNCTIONS:
        raise NotExactError(name)
    return _FUNCTIONS[name](values)


def _binomial(values: list[Fraction]) -> Fraction:
    total, drawn = (_whole(value, 10**12) for value in values)
    if min(drawn, abs(total - drawn)) * total.bit_length() > MAX_BITS:
        raise NotExactError("too large")
    return Fraction(math.comb(total, drawn))


def _remainder(values: list[Fraction]) -> Fraction:
    dividend, divisor = values
    if divisor <= 0:
        raise NotExactError("mod")
    return dividend - divisor * math.floor(dividend / divisor)


def _wholes(values: list[Fraction]) -> list[int]:
    return [_whole(value, 10**100) for value in values]


_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "floor": lambda values: Fraction(math.floor(values[0])),
    "ceil": lambda values: Fraction(math.ceil(values[0])),
    "binom": _binomial,
    "mod": _remainder,
    "max": max,
    "min": min,
    "gcd": lambda values: Fraction(math.gcd(*_wholes(values))),
    "lcm": lambda values: Fraction(math.lcm(*_wholes(values))),
}


def _sum(images: list[tuple[int, int]], prime: int) -> tuple[int, int]:
    """The sum of fractions in a prime field, not cancelled."""
    total_above, total_below = 0, 1
    for above, below in images:
        total_above = (total_above * below + above * total_below) % prime
        total_below = total_below * below % prime
    return total_above, total_below


def _image_of_number(node: Node, prime: int) -> tuple[int, int]:
    assert isinstance(node.value, Fraction)
    return node.value.numerator % prime, node.value.denominator % prime


def _divisor_image(image: tuple[int, int]) -> tuple[int, int]:
    """The numerator and denominator of a divisor.

    Raises:
        UndefinedError: The divisor is zero.
    """
    if image[0] == 0:
        raise UndefinedError("division by zero")
    return image


class _Field:
    """Images of expressions in one prime field at one point, as numerator and denominator."""

    def __init__(self, prime: int, point: int) -> None:
        self.prime = prime
        self.point = point

    # A dispatch over the kinds of an expression.
    def image(self, node: Node) -> tuple[int, int]:  # noqa: PLR0911 - one return for each kind of node
        """Returns the image as a fraction that is not cancelled.

        Zeros of denominators stay visible.
        """
        prime = self.prime
        match node.op:
            case "num":
                return _image_of_number(node, prime)
            case "sym" | "const":
                return self._letter(node), 1
            case "neg":
                above, below = self.image(node.args[0])
                return -above % prime, below
            case "add":
                return _sum(list(map(self.image, node.args)), prime)
            case "mul":
                (above, below), (other_above, other_below) = map(self.image, node.args)
                return above * other_above % prime, below * other_below % prime
            case "div":
                (above, below), divisor = map(self.image, node.args)
                other_above, other_below = _divisor_image(divisor)
                return above * other_below % prime, below * other_above % prime
            case "pow":
                return self._power(node)
            case "root":
                return self._root(node)
            case "abs" | "fact" | "fn":
                value = rational(node)
                return value.numerator % prime, value.denominator % prime
        raise NotExactError(node.op)

    def _letter(self, node: Node) -> int:
        name = str(node.value)
        if node.op == "sym":
            return _random(self.prime, self.point, name)
        return self._constant(name)

    def _constant(self, name: str) -> int:
        if name == "i":
            return _square_root(self.prime - 1, self.prime)
        if name == "pi":  # transcendental (Lindemann 1882): as free as a symbol
            return _random(self.prime, self.point, "pi")
        raise NotExactError(name)

    def _power(self, node: Node) -> tuple[int, int]:
        base, exponent = node.args
        power = rational(exponent)
        if power.denominator == 2:
            return self.image(
                Node("pow", (Node("root", (base, number(2))), number(power.numerator)))
            )
        if power.denominator != 1 or abs(power) > MAX_POWER:
            raise NotExactError("exponent")
        above, below = self.image(base)
        if power < 0:
            above, below = below, above
        if power <= 0 and below == 0:
            raise UndefinedError("zero to a power that is not positive")
        return pow(above, abs(int(power)), self.prime), pow(below, abs(int(power)), self.prime)

    def _root(self, node: Node) -> tuple[int, int]:
        radicand = rational(node.args[0])
        index = rational(node.args[1])
        if index != 2:
            value = _root(radicand, index)
            return value.numerator % self.prime, value.denominator % self.prime
        root = self._integer_root(abs(radicand.numerator) * radicand.denominator)
        if radicand < 0:
            root = root * self._constant("i") % self.prime
        return root, radicand.denominator % self.prime

    def _integer_root(self, value: int) -> int:
        """The image of the positive square root.

        It is the product of the images of the roots of its prime factors.
        """
        if value.bit_length() > 400:
            raise NotExactError("too large")
        root, rest = 1, value
        for factor in (2, *_SMALL_PRIMES):
            while rest and rest % factor == 0:
                rest //= factor
                root = root * _square_root(factor, self.prime) % self.prime
        if rest == 0:
            return 0
        return (
            root
            * (math.isqrt(rest) if math.isqrt(rest) ** 2 == rest else _refuse(rest))
            % self.prime
        )


def _refuse(value: int) -> int:
    raise NotExactError(f"square root of {value}")


@lru_cache(maxsize=4096)
def _random(prime: int, point: int, name: str) -> int:
    digest = hashlib.blake2b(
        f"{point}:{name}".encode("utf-8", "surrogatepass"), digest_size=32
    ).digest()
    return int.from_bytes(digest, "big") % prime


@lru_cache(maxsize=256)
def _square_root(value: int, prime: int) -> int:
    """One fixed square root modulo a prime (Tonelli and Shanks)."""
    odd = prime - 1
    twos = 0
    while odd % 2 == 0:
        odd //= 2
        twos += 1
    non_residue = 2
    while pow(non_residue, (prime - 1) // 2, prime) != prime - 1:
        non_residue += 1
    order = twos
    step = pow(non_residue, odd, prime)
    rest = pow(value, odd, prime)
    root = pow(value, (odd + 1) // 2, prime)
    while rest != 1:
        exponent = 0
        square = rest
        while square != 1:
            square = square * square % prime
            exponent += 1
        factor = pow(step, 1 << (order - exponent - 1), prime)
        order = exponent
        step = factor * factor % prime
        rest = rest * step % prime
        root = root * factor % prime
    return root


def same(first: Node, second: Node) -> bool:
    """Decides whether two expressions are equal.

    Raises:
        NotExactError: Outside what these means decide.
        UndefinedError: One of them has no value.
    """
    for prime in _FIELDS:
        for point in range(_POINTS):
            field = _Field(prime, point)
            numerator, denominator = field.image(first)
            other_numerator, other_denominator = field.image(second)
            if denominator == 0 or other_denominator == 0:
                raise UndefinedError("division by zero")
            if (numerator * other_denominator - other_numerator * denominator) % prime:
                return False
    return True


def same_equation(first: Node, second: Node) -> bool:
    """Decides whether `first = 0` and `second = 0` are one equation, up to a factor.

    The factor is a constant that is not zero.

    Denominators are multiplied out first, so that `y = 1/x` is `xy = 1`.

    Raises:
        NotExactError: Outside what these means decide.
        UndefinedError: One of them has no value.
    """
    for prime in _FIELDS:
        numerators = [
            (_Field(prime, point).image(first)[0], _Field(prime, point).image(second)[0])
            for point in range(_POINTS)
        ]
        (first_value, second_value), *further = numerators
        if first_value == 0 or second_value == 0:
            return all(value == other == 0 for value, other in numerators)
        if any((first_value * other - second_value * value) % prime for value, other in further):
            return False
    return True


def order(first: Node, second: Node) -> int:
    """Compares two rational constants: -1, 0 or 1.

    Raises:
        NotExactError: Not rational.
        UndefinedError: One of them has no value.
    """
    difference = rational(subtract(first, second))
    return (difference > 0) - (difference < 0)
