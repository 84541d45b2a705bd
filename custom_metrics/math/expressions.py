"""Recursive-descent parser of expressions; the shapes around them are in `parse`."""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.math import matrices, words
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import INFINITY, Node, add, negative, number

MAX_DIGITS = 400
MAX_EXPONENT = 400
"""Largest power of ten in scientific notation."""
_FUNCTIONS = {"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "sinh", "cosh",
              "tanh", "coth", "ln", "log", "lg", "exp", "gcd", "lcm", "max", "min", "Re", "Im", "arg", "cis", "abs", "det"}  # fmt: skip
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot", "sec": "arcsec", "csc": "arccsc"}
_ACCENTS = {"vec", "hat", "tilde", "overline", "dot", "widehat", "widetilde", "overleftrightarrow", "acute", "check"}
_MATRICES = {
    "begin:matrix",
    "begin:pmatrix",
    "begin:bmatrix",
    "begin:Bmatrix",
    "begin:array",
    "begin:smallmatrix",
    "begin:vmatrix",
}
_NUMBER_SETS = {"mathbb:R": "R", "mathbb:Z": "Z", "mathbb:N": "N", "mathbb:Q": "Q", "mathbb:C": "C"}


class ExpressionParser:
    """The stream of tokens and the grammar of expressions."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.bar_closes = 0  # inside |...|, a bar ends it
        self.bar_separates = False  # directly inside \{...\}, a bar or colon starts the condition

    # the stream

    def peek(self, ahead: int = 0) -> Token:
        index = self.position + ahead
        return self.tokens[index] if index < len(self.tokens) else Token("end", "")

    def is_op(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "op" and token.text in texts

    def is_cmd(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "cmd" and token.text in texts

    def take(self, *texts: str) -> bool:
        if self.peek().kind in {"op", "cmd"} and self.peek().text in texts:
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise TooComplex(f"expected {text}")

    def items(self) -> Node:
        """Items between separators: the grammar of shapes."""
        raise NotImplementedError

    def connective(self) -> str | None:
        return words.CONNECTIVES.get(self.peek().text.strip().strip(",").strip().lower())

    def words(self) -> Node:
        """Words that stand where an expression is expected: a name of a set, a number word, or a text answer."""
        found: list[str] = []
        while self.peek().kind == "text" and (self.connective() is None):
            found.append(self.peek().text)
            self.position += 1
        phrase = " ".join(found)
        named = words.set_named(phrase)
        if named:
            return Node("named", value=named)
        value = words.NUMBER_WORDS.get(words.text_form(phrase))
        return Node("text", value=words.text_form(phrase)) if value is None else number(value)

    def sum(self) -> Node:
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
            in _FUNCTIONS
            | _ACCENTS
            | _MATRICES
            | {"sqrt", "binom", "lfloor", "lceil", "langle", "pi", "infty", "angle"}
        )

    def factor(self) -> Node:
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
        text = self.peek().text
        self.position += 1
        mantissa, _, exponent = text.lower().partition("e")
        if len(text) > MAX_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MAX_EXPONENT:
            raise TooComplex("digits")
        return number(Fraction(mantissa.rstrip(".")) * Fraction(10) ** int(exponent or 0))

    def atom(self) -> Node:
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

    def group_tokens(self) -> list[Token]:
        """Tokens of a group or one token, uninterpreted."""
        if not self.is_op("{"):
            token = self.peek()
            if token.kind == "end":
                raise TooComplex("an operand is missing")
            self.position += 1
            return [token, *self.group_tokens()] if token == Token("op", "-") else [token]
        depth, start = 0, self.position
        while True:
            depth += self.is_op("{") - self.is_op("}")
            if self.peek().kind == "end":
                raise TooComplex("a group is open")
            self.position += 1
            if depth == 0:
                return self.tokens[start + 1 : self.position - 1]

    def bracket(self, opening: str) -> Node:
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
        self.position += 1
        self.bar_closes += 1
        inner = self.sum()
        self.bar_closes -= 1
        self.expect(opening)
        return Node("abs", (inner,))

    def command(self, name: str) -> Node:
        self.position += 1
        if name == "frac":
            return Node("div", (self.argument(single_digit=True), self.argument(single_digit=True)))
        if name == "sqrt":
            index = number(2)
            if self.is_op("["):
                self.position += 1
                index = self.sum()
                self.expect("]")
            return Node("root", (self.argument(), index))
        if name == "binom":
            return Node("fn", (self.argument(single_digit=True), self.argument(single_digit=True)), "binom")
        if name in {"lfloor", "lceil"}:
            inner = self.sum()
            self.expect("rfloor" if name == "lfloor" else "rceil")
            return Node("fn", (inner,), "floor" if name == "lfloor" else "ceil")
        if name == "langle":
            inner = self.items()
            self.expect("rangle")
            return Node("tuple", inner.args if inner.op == "list" else (inner,), "()")
        if name == "pi":
            return Node("const", value="pi")
        if name == "infty":
            return INFINITY
        if name == "emptyset":
            return Node("named", value="empty")
        if name in _NUMBER_SETS:
            return self.number_set(_NUMBER_SETS[name])
        if name in _MATRICES:
            matrix = self.matrix()
            return matrices.determinant(matrix) if name == "begin:vmatrix" else matrix
        if name in {"angle", "triangle"}:
            letters = ""
            while self.peek().kind == "name":
                letters += self.peek().text
                self.position += 1
            return Node("sym", value=f"{name} {letters}")
        if name in _ACCENTS:
            return Node("sym", value=name + "{" + "".join(spell(token) for token in self.group_tokens()) + "}")
        if name == "ldots":
            return Node("sym", value="...")
        if name in _FUNCTIONS:
            return self.function(name)
        raise TooComplex(f"command {name}")

    def number_set(self, name: str) -> Node:
        if self.is_op("_", "^"):
            self.position += 1
            mark = "".join(spell(token) for token in self.group_tokens())
            return Node("named", value=name + {"+": ">0", ">0": ">0", "-": "<0", "<0": "<0"}.get(mark, "^" + mark))
        return Node("named", value=name)

    def matrix(self) -> Node:
        rows: list[list[Node]] = [[]]
        while True:
            if self.peek().kind == "cmd" and self.peek().text.startswith("end:"):
                self.position += 1
                break
            if self.is_op("\\\\"):
                self.position += 1
                rows.append([])
            elif self.is_op("&"):
                self.position += 1
            else:
                rows[-1].append(self.item())
        kept = [Node("row", tuple(row)) for row in rows if row]
        if not kept or len({len(row.args) for row in kept}) != 1:
            raise TooComplex("a ragged matrix")
        return Node("matrix", tuple(kept))

    def function(self, name: str) -> Node:
        power: Node | None = None
        base: Node | None = None
        while self.is_op("^", "_"):
            mark = self.peek().text
            self.position += 1
            if mark == "^":
                power = self.argument()
            else:
                base = self.argument(single_digit=self.peek().kind == "num" and not self.follows_argument())
        if name in {"gcd", "lcm", "max", "min"}:
            inner = self.atom()
            return Node("fn", inner.args if inner.op in {"tuple", "set"} else (inner,), name)
        if power is not None and power == number(-1) and name in _INVERSE:
            name, power = _INVERSE[name], None
        inner = self.function_argument()
        if name == "det":
            return matrices.determinant(inner)
        if name in {"log", "lg", "ln"}:
            known = {"ln": Node("const", value="e"), "lg": number(10)}.get(name, base)
            node = Node("log", (inner,) if known is None else (inner, known))
        elif base is not None:
            raise TooComplex("a subscript")
        elif name == "exp":
            node = Node("pow", (Node("const", value="e"), inner))
        elif name == "abs":
            node = Node("abs", (inner,))
        elif name == "cis":
            node = Node("pow", (Node("const", value="e"), Node("mul", (Node("const", value="i"), inner))))
        else:
            node = Node("fn", (inner,), name)
        return node if power is None else Node("pow", (node, power))

    def follows_argument(self) -> bool:
        """Whether something that can be an argument follows the subscript at hand."""
        self.position += 1
        found = self.starts_factor()
        self.position -= 1
        return found

    def function_argument(self) -> Node:
        if self.is_op("(", "{", "["):
            return self.atom()
        sign = self.sign()
        factors = [self.factor()]
        while self.starts_factor() and not self.is_op("(", "[", "\\{") and not self.is_cmd(*_FUNCTIONS):
            factors.append(self.factor())
        node = factors[0]
        for factor in factors[1:]:
            node = Node("mul", (node, factor))
        while self.is_op("/") and self.peek(1).kind == "num":
            self.position += 1
            node = Node("div", (node, self.factor()))
        return negative(node) if sign == "-" else node


def spell(token: Token) -> str:
    if token.kind == "cmd":
        return f"<{token.text}>"
    if token.kind == "text":
        return f'"{words.text_form(token.text)}"'
    return token.text


def plain(tokens: list[Token]) -> list[str]:
    return [token.text for token in tokens]


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise TooComplex("digits")
    return int(text)


def digits(node: Node) -> str:
    if node.op == "num" and isinstance(node.value, Fraction) and node.value.denominator == 1:
        return str(node.value)
    raise TooComplex("a base on something that is no numeral")
