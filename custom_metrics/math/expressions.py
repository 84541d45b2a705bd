"""Recursive-descent parser of expressions; the shapes around them are in `parse`."""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.math import words
from custom_metrics.math.commands import ACCENTS, FUNCTIONS, MATRICES, CommandParser
from custom_metrics.math.stream import digits, plain, spell
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import INFINITY, Node, add, negative, number

MAX_DIGITS = 400
MAX_EXPONENT = 400
"""Largest power of ten in scientific notation."""


class ExpressionParser(CommandParser):
    """Sums, products, powers, numerals and brackets."""

    def words(self) -> Node:
        """Words that stand where an expression is expected: a name of a set, a number word, or a text answer."""
        found: list[str] = []
        while self.peek().kind == "text" and (self.connective() is None):
            found.append(self.peek().text)
            self.position += 1
        if not found:  # a connective: every parse consumes a token or ends, so that no loop can stand still
            raise TooComplex("an operand is missing")
        phrase = " ".join(found)
        named = words.set_named(phrase)
        if named:
            return Node("named", value=named)
        form = words.text_form(phrase)
        if form.removeprefix("positive ").removeprefix("negative ") == "infinity":
            return negative(INFINITY) if form.startswith("negative") else INFINITY
        value = words.NUMBER_WORDS.get(form)
        return Node("text", value=form) if value is None else number(value)

    def sum(self) -> Node:
        """Terms with signs between them; a double sign keeps both readings."""
        terms: list[Node] = []
        node: Node | None = None
        while True:
            sign = self.sign()
            if sign is None and node is not None:
                break
            term = self.term()
            if sign in {"+-", "-+"}:
                left = None if node is None else add(*terms)
                node = Node("pm", (term,) if left is None else (left, term), sign)
                terms = [node]
                continue
            if sign == "-" and node is not None and node.op in {"named", "set", "union"}:
                return Node("minus", (node, term))
            term = negative(term) if sign == "-" else term
            terms.append(term)
            node = term
        if self.is_cmd("choose"):
            self.position += 1
            return Node("fn", (add(*terms), self.sum()), "binom")
        return add(*terms)

    def sign(self) -> str | None:
        """Consume signs and return their product, or None without one."""
        sign: str | None = None
        while True:
            if self.is_op("+"):
                sign = sign or "+"
            elif self.is_op("-"):
                sign = "+" if sign == "-" else "-"
            elif self.is_cmd("pm", "mp"):
                sign = "+-" if self.peek().text == "pm" else "-+"
            else:
                return sign
            self.position += 1

    def term(self) -> Node:
        """Factors with or without an operator between them."""
        node = self.factor()
        while True:
            if self.is_op("*"):
                self.position += 1
                node = Node("mul", (node, self.signed_factor()))
            elif self.is_op("/"):
                self.position += 1
                node = Node("div", (node, self.signed_factor()))
            elif self.starts_factor():
                if self.peek().kind == "num":
                    raise TooComplex("two numbers side by side")
                node = Node("mul", (node, self.factor()))
            else:
                return node

    def signed_factor(self) -> Node:
        """The factor after `*` or `/`, which may carry a sign."""
        sign = self.sign()
        if sign in {"+-", "-+"}:
            return Node("pm", (self.factor(),), sign)
        return negative(self.factor()) if sign == "-" else self.factor()

    def mixed(self) -> Node | None:
        r"""`3\frac{1}{2}` and `3 1/2`: a whole number directly before a proper fraction of whole numbers."""
        whole = self.peek()
        if whole.kind != "num" or not whole.text.isdigit():
            return None
        start, tokens = self.position, self.tokens
        self.position += 1
        if self.is_cmd("frac"):
            self.position += 1
            try:
                top, bottom = self.argument(single_digit=True), self.argument(single_digit=True)
            except TooComplex:
                top = bottom = number(1)
        elif self.peek().kind == "num" and self.peek(1) == Token("op", "/") and self.peek(2).kind == "num":
            top, bottom = self.numeral(), number(1)
            self.position += 1
            bottom = self.numeral()
        else:
            self.position = start
            return None
        values = (top.value, bottom.value)
        if all(isinstance(value, Fraction) and value.denominator == 1 for value in values) and not self.is_power():
            above, below = values
            assert isinstance(above, Fraction)
            assert isinstance(below, Fraction)
            if 0 < above < below:
                return Node("add", (number(_integer(whole.text)), number(above / below)))
        self.position, self.tokens = start, tokens
        return None

    def is_power(self) -> bool:
        """Whether an operator follows that would bind to the fraction alone; a degree mark does not."""
        degrees = Token("cmd", "circ") in {self.peek(1), self.peek(2)}
        return self.is_op("!") or (self.is_op("^") and not degrees)

    def starts_factor(self) -> bool:
        """Whether the token at hand can begin a factor without an operator before it."""
        token = self.peek()
        if token.kind in {"num", "name"}:
            return True
        if token.kind == "op":
            if token.text in {"|", "||"}:
                return not self.bar_closes and not self.bar_separates
            return token.text in {"(", "[", "{", "\\{"}
        if token.kind == "cmd" and token.text == "frac":
            return self.peek(2).kind != "text"
        return token.kind == "cmd" and (
            token.text
            in FUNCTIONS | ACCENTS | MATRICES | {"sqrt", "binom", "lfloor", "lceil", "langle", "pi", "infty", "angle"}
        )

    def factor(self) -> Node:
        """A mixed number or an atom with its powers, factorials, percent and degree marks."""
        node = self.mixed() or self.atom()
        while True:
            if self.is_op("^"):
                self.position += 1
                node = self.power(node)
            elif self.is_op("!"):
                self.position += 1
                node = Node("fact", (node,))
            elif self.is_op("%"):
                self.position += 1
                node = Node("percent", (node,))
            elif self.is_op("_"):
                self.position += 1
                subscript = "".join(spell(token) for token in self.group_tokens()).strip("{}")
                base = words.NUMBER_WORDS.get(subscript.strip('"'), subscript)
                node = Node("based", value=f"{digits(node)}_{base}")
            else:
                return node

    def power(self, base: Node) -> Node:
        """What follows `^`: a degree mark, an ordinal ending, or an exponent."""
        if self.is_cmd("circ"):
            self.position += 1
            return self.temperature(base)
        if self.is_op("{") and self.peek(1) == Token("cmd", "circ") and self.peek(2) == Token("op", "}"):
            self.position += 3
            return self.temperature(base)
        if base.op == "named":
            spelt = "".join(spell(token) for token in self.group_tokens()).strip("{}")
            return Node("named", value=f"{base.value}^{spelt}")
        spelt = "".join(plain(self.tokens[self.position : self.position + 4])).replace(" ", "")
        ordinal = re.match(r"\{?(?:th|st|nd|rd)(?![a-z])\}?", spelt)
        if ordinal and base.op == "num":
            self.group_tokens()
            return base
        return Node("pow", (base, self.argument()))

    def temperature(self, base: Node) -> Node:
        """A degree mark, with the letter of a temperature scale when the answer ends with it."""
        token = self.peek()
        scale = token.text.strip()
        if token.kind in {"text", "name"} and scale in {"C", "F"} and self.peek(1).kind == "end":
            self.position += 1
            return Node("quantity", (base,), "°" + scale)
        return Node("deg", (base,))

    def argument(self, *, single_digit: bool = False) -> Node:
        r"""The operand of `^`, `\frac` or `\sqrt`: a group or one item, as TeX reads it."""
        if self.is_op("{"):
            self.position += 1
            node = self.items()
            self.expect("}")
            return node
        sign = self.sign()
        if single_digit and self.peek().kind == "num" and len(self.peek().text) > 1 and self.peek().text.isdigit():
            digits = self.peek().text
            rest = self.position + 1
            self.tokens = [*self.tokens[: self.position], Token("num", digits[1:]), *self.tokens[rest:]]
            node = number(int(digits[0]))
        else:
            node = self.numeral() if self.peek().kind == "num" else self.atom()
        return negative(node) if sign == "-" else node

    def numeral(self) -> Node:
        """A decimal numeral, exactly."""
        text = self.peek().text
        self.position += 1
        mantissa, _, exponent = text.lower().partition("e")
        if len(text) > MAX_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MAX_EXPONENT:
            raise TooComplex("digits")
        return number(Fraction(mantissa.rstrip(".")) * Fraction(10) ** int(exponent or 0))

    def atom(self) -> Node:
        """A numeral, a name, a bracket or a command."""
        token = self.peek()
        if token.kind == "num":
            repeating = self.repeating()
            return repeating if repeating is not None else self.based() or self.numeral()
        if token.kind == "name":
            return self.name()
        if token.kind == "text":
            return self.words()
        if token.kind == "op":
            return self.bracket(token.text)
        if token.kind == "cmd":
            return self.command(token.text)
        raise TooComplex("an operand is missing")

    def repeating(self) -> Node | None:
        r"""`0.1\overline{6}`, `0.\dot{3}`."""
        token, following = self.peek(), self.peek(1)
        if "." not in token.text or following.kind != "cmd" or following.text not in {"overline", "dot"}:
            return None
        self.position += 2
        period = "".join(item.text for item in self.group_tokens() if item.kind == "num")
        if not period.isdigit() or len(period) + len(token.text) > MAX_DIGITS or "e" in token.text.lower():
            raise TooComplex("a repeating decimal")
        whole, _, fixed = token.text.partition(".")
        scale = Fraction(1, 10 ** len(fixed))
        return number(Fraction(f"{whole or '0'}.{fixed or '0'}") + scale * Fraction(int(period), 10 ** len(period) - 1))

    def based(self) -> Node | None:
        """`2516_8` keeps its digits."""
        digits = self.peek().text
        if self.peek(1) != Token("op", "_") or len(digits) > MAX_DIGITS:
            return None
        self.position += 2
        base = "".join(plain(self.group_tokens())).lower()
        return Node("based", value=f"{digits.lstrip('0') or '0'}_{words.NUMBER_WORDS.get(base, base)}")

    def name(self) -> Node:
        """A letter with its subscript and primes; `e` and `i` are constants."""
        name = self.peek().text
        self.position += 1
        if self.is_op("_"):
            self.position += 1
            name += "_{" + "".join(spell(token) for token in self.group_tokens()).strip("{}") + "}"
        while self.is_op("'"):
            self.position += 1
            name += "'"
        if name in {"e", "i"}:
            return Node("const", value=name)
        return Node("sym", value=name)

    def bracket(self, opening: str) -> Node:
        """What begins with an opening bracket."""
        if opening in {"|", "||"}:
            return self.bars(opening)
        if opening not in {"(", "[", "{", "\\{"}:
            raise TooComplex("an operand is missing")
        self.position += 1
        bars, self.bar_closes = self.bar_closes, 0
        separates, self.bar_separates = self.bar_separates, opening == "\\{"
        try:
            return self.bracketed(opening)
        finally:
            self.bar_closes, self.bar_separates = bars, separates

    def bracketed(self, opening: str) -> Node:
        """The inside of a bracket: a group, a set, a tuple, an interval, or one expression."""
        if opening == "\\{" and self.take("\\}"):
            return Node("named", value="empty")
        inner = self.items()
        if opening == "{":
            self.expect("}")
            return inner
        if opening == "\\{":
            if self.is_op("|", ":"):
                self.position += 1
                self.bar_separates = False
                condition = self.items()
                self.expect("\\}")
                return Node("builder", (inner, condition))
            self.expect("\\}")
            return Node("set", inner.args if inner.op == "list" else (inner,))
        if not self.is_op(")", "]"):
            raise TooComplex("a bracket is open")
        closing = self.peek().text
        self.position += 1
        if inner.op == "list":
            return Node("tuple", inner.args, opening + closing)
        if opening + closing not in {"()", "[]"}:
            raise TooComplex("brackets do not match")
        return inner

    def bars(self, opening: str) -> Node:
        """An absolute value."""
        self.position += 1
        self.bar_closes += 1
        inner = self.sum()
        self.bar_closes -= 1
        self.expect(opening)
        return Node("abs", (inner,))


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise TooComplex("digits")
    return int(text)
