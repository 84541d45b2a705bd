"""Numerals: decimals, repeating decimals, mixed numbers, digits with a base."""

from __future__ import annotations

from fractions import Fraction

from custom_metrics.math import words
from custom_metrics.math.commands import CommandParser
from custom_metrics.math.token_stream import plain
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import Node, number

_PERIOD_MARKS = {Token("cmd", mark) for mark in ("overline", "dot", "ldots")}
MAX_DIGITS = 400
MAX_EXPONENT = 400
"""Largest power of ten in scientific notation."""


class NumeralParser(CommandParser):
    """The parser of what begins with a digit."""

    def mixed(self) -> Node | None:
        r"""Reads `3\frac{1}{2}` or `3 1/2`.

        Such a numeral is a whole number directly before a proper fraction of whole numbers.
        """
        whole = self.peek()
        if whole.kind != "num" or not whole.text.isdigit():
            return None
        start, tokens = self.position, self.tokens
        self.position += 1
        fraction = self._fraction_of_numerals()
        if fraction is not None and not self.is_power():
            share = _proper_share(*fraction)
            if share is not None:
                return Node("add", (number(_integer(whole.text)), number(share)))
        self.position = start
        self.tokens = tokens
        return None

    def _fraction_of_numerals(self) -> tuple[Node, Node] | None:
        r"""Reads the parts of `\frac{1}{2}` or `1/2`; None where neither stands here."""
        if self.is_cmd("frac"):
            self.position += 1
            try:
                return self.argument(single_digit=True), self.argument(single_digit=True)
            except TooComplex:
                return None
        has_numerals = self.peek().kind == self.peek(2).kind == "num"
        if not has_numerals or self.peek(1) != Token("op", "/"):
            return None
        top = self.numeral()
        self.position += 1
        return top, self.numeral()

    def is_power(self) -> bool:
        """Returns whether an operator follows that would bind to the fraction alone.

        A degree mark does not.
        """
        degrees = Token("cmd", "circ") in {self.peek(1), self.peek(2)}
        return self.is_op("!") or (self.is_op("^") and not degrees)

    def numeral(self) -> Node:
        """A decimal numeral, exactly."""
        text = self.peek().text
        self.position += 1
        mantissa, _, exponent = text.lower().partition("e")
        if len(text) > MAX_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MAX_EXPONENT:
            raise TooComplex("digits")
        return number(Fraction(mantissa.rstrip(".")) * Fraction(10) ** int(exponent or 0))

    def repeating(self) -> Node | None:
        r"""`0.1\overline{6}`, `0.\dot{3}`, `0.\dot{1}2\dot{3}`, `0.1666\ldots`."""
        token = self.peek()
        following = self.peek(1)
        if "." not in token.text or following not in _PERIOD_MARKS:
            return None
        if "e" in token.text.lower() or len(token.text) > MAX_DIGITS:
            raise TooComplex("a repeating decimal")
        whole, _, fixed = token.text.partition(".")
        self.position += 2
        if following.text == "ldots":
            start, length = _period(fixed)
            period = fixed[start : start + length]
            fixed = fixed[:start]
        else:
            period = self._marked_period(following.text)
        if not period.isdigit() or len(period) > MAX_DIGITS:
            raise TooComplex("a repeating decimal")
        # 0.(142857) is 142857 / 999999, moved behind the digits that do not repeat.
        repeated = Fraction(int(period), 10 ** len(period) - 1)
        scale = Fraction(1, 10 ** len(fixed))
        return number(Fraction(f"{whole or '0'}.{fixed or '0'}") + scale * repeated)

    def _marked_period(self, mark: str) -> str:
        """Reads the digits under a line, or from one dot to another."""
        period = self.marked_digits()
        if mark == "dot":
            return period + self._digits_to_second_dot()
        return period

    def _digits_to_second_dot(self) -> str:
        r"""Reads the rest of a period between two dots: `2\dot{3}` of `0.\dot{1}2\dot{3}`."""
        middle = self.peek().text if self.peek().kind == "num" else ""
        tokens = 1 if middle else 0
        if self.peek(tokens) != Token("cmd", "dot"):
            return ""
        self.position += tokens + 1
        return middle + self.marked_digits()

    def marked_digits(self) -> str:
        """The digits under a bar or a dot."""
        return "".join(item.text for item in self.group_tokens() if item.kind == "num")

    def based(self) -> Node | None:
        """`2516_8` keeps its digits."""
        digits = self.peek().text
        if self.peek(1) != Token("op", "_") or len(digits) > MAX_DIGITS:
            return None
        self.position += 2
        base = "".join(plain(self.group_tokens())).lower().strip("()")
        return Node(
            "based", value=f"{digits.lstrip('0') or '0'}_{words.NUMBER_WORDS.get(base, base)}"
        )


def _period(digits: str) -> tuple[int, int]:
    """Returns where the period of the written digits of an endless decimal starts, and its length.

    A period must be seen at least twice.
    """
    best: tuple[int, int] | None = None
    for length in range(1, len(digits) // 2 + 1):
        start = len(digits) - length
        while start and digits[start - 1] == digits[start - 1 + length]:
            start -= 1
        stands_twice = len(digits) - start >= 2 * length
        if stands_twice and (best is None or start < best[0]):
            best = start, length
    if best is None:
        raise TooComplex("a decimal without end")
    return best


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise TooComplex("digits")
    return int(text)


def _proper_share(top: Node, bottom: Node) -> Fraction | None:
    """Returns the value of a proper fraction of whole numbers, None for any other."""
    above, below = top.value, bottom.value
    if not isinstance(above, Fraction) or not isinstance(below, Fraction):
        return None
    is_whole = above.denominator == below.denominator == 1
    return above / below if is_whole and 0 < above < below else None
