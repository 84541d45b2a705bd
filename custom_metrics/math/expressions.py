"""Recursive-descent parser of expressions; the shapes around them are in `parse`."""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.math import matrices, words
from custom_metrics.math.commands import ACCENTS, FUNCTIONS, MATRICES
from custom_metrics.math.numerals import NumeralParser
from custom_metrics.math.token_stream import digits, plain, spell
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import INFINITY, Node, add, negative, number


class ExpressionParser(NumeralParser):
    """Sums, products, powers, numerals and brackets."""

    def words(self) -> Node:
        """Words that stand where an expression is expected.

        A name of a set, a number word, or a text answer.
        """
        phrase = self._phrase()
        named = words.set_named(phrase)
        if named:
            return Node("named", value=named)
        form = words.text_form(phrase)
        if form.removeprefix("positive ").removeprefix("negative ") == "infinity":
            return negative(INFINITY) if form.startswith("negative") else INFINITY
        without = words.EXCEPT.fullmatch(phrase)
        whole = words.set_named(without["set"]) if without else None
        if whole and self.peek().kind != "end":
            return self._set_without(whole)
        if form in {"negative", "minus"} and self.starts_factor():
            return negative(self.term())
        value = words.number_named(phrase)
        if value is None:
            return Node("text", value=form)
        return number(value)

    def _phrase(self) -> str:
        """Consumes the words at hand up to a connective.

        Raises:
            TooComplex: There are none. Every parse consumes a token or ends, so that no loop can
                stand still.
        """
        spoken: list[str] = []
        while self.peek().kind == "text" and self.connective() is None:
            spoken.append(self.peek().text)
            self.position += 1
        if not spoken:
            raise TooComplex("an operand is missing")
        return " ".join(spoken)

    def _set_without(self, whole: str) -> Node:
        """Reads the elements behind "all real numbers except"."""
        excluded = self.inner_items()
        items = excluded.args if excluded.op == "list" else (excluded,)
        elements = Node("set", tuple(_value(item) for item in items))
        return Node("minus", (Node("named", value=whole), elements))

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
                node = Node("pm", (add(*terms), term) if terms else (term,), sign)
                terms = [node]
                continue
            if sign == "-" and node is not None and node.op in {"named", "set", "union"}:
                return Node("minus", (node, term))
            term = negative(term) if sign == "-" else term
            terms.append(term)
            node = term
        return self._with_line_below(add(*terms))

    def _with_line_below(self, above: Node) -> Node:
        r"""A sum with the one behind `\over` or `\choose`, where it follows."""
        if not self.is_cmd("choose", "over"):
            return above
        command = self.peek().text
        self.position += 1
        below = self.sum()
        if command == "over":
            return Node("div", (above, below))
        return Node("fn", (above, below), "binom")

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
            elif self.is_op("/") and self.peek(1).kind != "text":
                self.position += 1
                node = Node("div", (node, self.signed_factor()))
            elif self.starts_factor():
                if self.peek().kind == "num" and not self.may_precede_number(node):
                    raise TooComplex("two numbers side by side")
                grouped = self.is_op("{")
                right = self.factor()
                if grouped and node.op == right.op == "num":  # `{1}{2}` looks like 12
                    raise TooComplex("two numbers side by side")
                node = Node("mul", (node, right))
            else:
                return node

    def may_precede_number(self, node: Node) -> bool:
        r"""Returns whether a number after this factor multiplies it: `5!5!`, `n2^n`, `\pi4`.

        It does not in `1 2` and `x2`.
        """
        last = self.tokens[self.position - 1]
        if node.op == "num" or last.kind == "num":
            return False
        return last.kind != "name" or last.text == "i" or self.peek(1) == Token("op", "^")

    def signed_factor(self) -> Node:
        """The factor after `*` or `/`, which may carry a sign."""
        sign = self.sign()
        if sign in {"+-", "-+"}:
            return Node("pm", (self.factor(),), sign)
        if sign == "-":
            return negative(self.factor())
        return self.factor()

    def is_letter_union(self) -> bool:
        """Returns whether the letter U stands between two brackets, for a union."""
        brackets = {Token("op", bracket) for bracket in "()[]"}
        return (
            self.peek() == Token("name", "U")
            and self.tokens[self.position - 1] in brackets
            and self.peek(1) in brackets
        )

    def starts_factor(self) -> bool:
        """Returns whether the token at hand can begin a factor without an operator before it."""
        token = self.peek()
        if token.kind in {"num", "name"}:
            return not self.is_letter_union()
        if token.kind == "op":
            if token.text in {"|", "||"}:
                return not self.bar_closes and not self.bar_separates
            return token.text in {"(", "[", "{", "\\{"}
        if token.kind == "cmd" and token.text == "frac":
            return self.peek(2).kind != "text"
        return token.kind == "cmd" and (
            token.text
            in FUNCTIONS
            | ACCENTS
            | MATRICES
            | {"sqrt", "binom", "lfloor", "lceil", "langle", "pi", "infty", "angle"}
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
                node = self._with_subscript(node)
            elif self.is_cmd("circ") and node.op == "num":
                self.position += 1
                node = self.temperature(node)
            else:
                return node

    def _with_subscript(self, node: Node) -> Node:
        """An accented letter with its index, or a numeral with its base."""
        tokens = self.group_tokens()
        subscript = "".join(spell(token) for token in tokens).strip("{}")
        name = str(node.value)
        is_accented = node.op == "sym" and "{" in name and "_" not in name
        if is_accented:
            return node._replace(value=f"{name}_{{{subscript}}}")
        base = words.NUMBER_WORDS.get(subscript.strip('"'), subscript)
        return Node("based", value=f"{digits(node)}_{str(base).strip('()')}")

    def power(self, base: Node) -> Node:
        """Returns what follows `^`: a degree mark, an ordinal ending, or an exponent."""
        if self.is_cmd("circ"):
            self.position += 1
            return self.temperature(base)
        if (
            self.is_op("{")
            and self.peek(1) == Token("cmd", "circ")
            and self.peek(2) == Token("op", "}")
        ):
            self.position += 3
            return self.temperature(base)
        if base.op == "named":
            spelt = "".join(spell(token) for token in self.group_tokens()).strip("{}")
            return Node("named", value=f"{base.value}^{spelt}")
        spelt = "".join(plain(self.tokens[self.position : self.position + 4])).replace(" ", "")
        mark = re.match(r"\{?(?:th|st|nd|rd|(?P<degree>o))(?![a-z])\}?", spelt)
        if mark and base.op == "num":
            self.group_tokens()
            return self.temperature(base) if mark["degree"] else base
        return Node("pow", (base, self.argument()))

    def temperature(self, base: Node) -> Node:
        """A degree mark, with the letter of a temperature scale when the answer ends with it."""
        token = self.peek()
        scale = token.text.strip()
        if token.kind in {"text", "name"} and scale in {"C", "F"} and self.peek(1).kind == "end":
            self.position += 1
            return Node("quantity", (base,), "°" + scale)
        return Node("deg", (self.sexagesimal(base),))

    def sexagesimal(self, degrees: Node) -> Node:
        r"""Minutes and seconds of arc behind whole degrees, `22^\circ 30' 15''`."""
        total = degrees.value
        if not isinstance(total, Fraction) or total.denominator != 1:
            return degrees
        for marks in (1, 2):
            start = self.position
            if self.peek().kind != "num" or "e" in self.peek().text.lower():
                break
            part = self.numeral().value
            if not isinstance(part, Fraction) or part >= 60 or self.primes() != marks:
                self.position = start
                break
            total += part / 60**marks
        return number(total)

    def primes(self) -> int:
        """Consume the primes at hand, raised or not, and count them."""
        raised = self.take("^")
        grouped = raised and self.take("{")
        count = 0
        while self.take("'"):
            count += 1
        return 0 if grouped and not self.take("}") else count

    def argument(self, *, single_digit: bool = False) -> Node:
        r"""The operand of `^`, `\frac` or `\sqrt`: a group or one item, as TeX reads it."""
        if self.is_op("{"):
            self.position += 1
            node = self.inner_items()
            self.expect("}")
            return node
        sign = self.sign()
        if (
            single_digit
            and self.peek().kind == "num"
            and len(self.peek().text) > 1
            and self.peek().text.isdigit()
        ):
            digits = self.peek().text
            rest = self.position + 1
            self.tokens = [
                *self.tokens[: self.position],
                Token("num", digits[1:]),
                *self.tokens[rest:],
            ]
            node = number(int(digits[0]))
        else:
            node = self.numeral() if self.peek().kind == "num" else self.atom()
        return negative(node) if sign == "-" else node

    def atom(self) -> Node:
        """A numeral, a name, a bracket or a command."""
        token = self.peek()
        if token.kind == "num":
            repeating = self.repeating()
            if repeating is not None:
                return repeating
            return self.based() or self.numeral()
        if token.kind == "name":
            return self.name()
        if token.kind == "text":
            return self.words()
        if token.kind == "op":
            return self.bracket(token.text)
        if token.kind == "cmd":
            return self.command(token.text)
        raise TooComplex("an operand is missing")

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

    def inner_items(self) -> Node:
        r"""Items inside a bracket, in which `x \in S` stands for S."""
        inner = self.items()
        if inner.op == "list":
            return inner._replace(args=tuple(_value_if_member(item) for item in inner.args))
        return _value_if_member(inner)

    def bracket(self, opening: str) -> Node:
        """Returns what begins with an opening bracket."""
        if opening in {"|", "||"}:
            return self.bars(opening)
        if opening not in {"(", "[", "{", "\\{"}:
            raise TooComplex("an operand is missing")
        self.position += 1
        bars, self.bar_closes = self.bar_closes, 0
        separates = self.bar_separates
        self.bar_separates = opening == "\\{"
        try:
            return self.bracketed(opening)
        finally:
            self.bar_closes = bars
            self.bar_separates = separates

    def bracketed(self, opening: str) -> Node:
        """The inside of a bracket: a group, a set, a tuple, an interval, or one expression."""
        if opening == "\\{" and self.take("\\}"):
            return Node("named", value="empty")
        inner = self.inner_items()
        if opening == "{":
            self.expect("}")
            return inner
        if opening == "\\{":
            if self.is_op("|", ":"):
                self.position += 1
                self.bar_separates = False
                condition = self.inner_items()
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
        """An absolute value, or between double bars the norm of a vector."""
        self.position += 1
        self.bar_closes += 1
        inner = self.sum()
        self.bar_closes -= 1
        self.expect(opening)
        entries = matrices.vector(inner) if opening == "||" else None
        if entries:
            return Node(
                "root",
                (add(*(Node("pow", (Node("abs", (x,)), number(2))) for x in entries)), number(2)),
            )
        return Node("abs", (inner,))


def _value_if_member(item: Node) -> Node:
    if item.op == "rel" and item.value == "in":
        return item.args[-1]
    return item


def _value(item: Node) -> Node:
    """The right side of `x = 2`, or the item itself."""
    return item.args[-1] if item.op == "rel" and item.label else item
