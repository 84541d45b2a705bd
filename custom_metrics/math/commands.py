"""The part of the grammar that begins with a LaTeX command.

Fractions, roots, functions, matrices.
"""

from __future__ import annotations

from collections.abc import Callable

from custom_metrics.math import matrices
from custom_metrics.math.token_stream import TokenStream, spell
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import INFINITY, Node, negative, number

FUNCTIONS = {
    "sin",
    "cos",
    "tan",
    "cot",
    "sec",
    "csc",
    "arcsin",
    "arccos",
    "arctan",
    "arccot",
    "arcsec",
    "arccsc",
    "sinh",
    "cosh",
    "tanh",
    "coth",
    "ln",
    "log",
    "lg",
    "exp",
    "gcd",
    "lcm",
    "max",
    "min",
    "Re",
    "Im",
    "arg",
    "cis",
    "abs",
    "det",
}
_INVERSE = {
    "sin": "arcsin",
    "cos": "arccos",
    "tan": "arctan",
    "cot": "arccot",
    "sec": "arcsec",
    "csc": "arccsc",
}
ACCENTS = {
    "vec",
    "hat",
    "tilde",
    "overline",
    "dot",
    "ddot",
    "widehat",
    "widetilde",
    "overleftrightarrow",
    "acute",
    "check",
}
MATRICES = {
    "begin:matrix",
    "begin:pmatrix",
    "begin:bmatrix",
    "begin:Bmatrix",
    "begin:array",
    "begin:smallmatrix",
    "begin:vmatrix",
}
_MARKS = {"+": ">0", ">0": ">0", "-": "<0", "<0": "<0", "<ge>0": ">=0", "<le>0": "<=0"}
_ALIGNED = {
    "begin:cases",
    "begin:aligned",
    "begin:align",
    "begin:gathered",
    "begin:gather",
    "begin:split",
    "begin:equation",
}
_ROW = Token("op", "\\\\")
_CELL = Token("op", "&")
_CONDITION_WORDS = {"if", "for", "when", "where", "otherwise if", "else if"}
_STOPS = {Token("op", ","), Token("op", ";"), Token("op", ".")}
_NUMBER_SETS = {"mathbb:R": "R", "mathbb:Z": "Z", "mathbb:N": "N", "mathbb:Q": "Q", "mathbb:C": "C"}


class CommandParser(TokenStream):
    """The parser of what begins with a command."""

    def command(self, name: str) -> Node:  # noqa: PLR0911 - one return for each kind of value
        """Returns what begins with a LaTeX command."""
        self.position += 1
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _READERS:
            return _READERS[name](self)
        if name in _NUMBER_SETS:
            return self.number_set(_NUMBER_SETS[name])
        if name in MATRICES:
            matrix = self.matrix()
            if name == "begin:vmatrix":
                return matrices.determinant(matrix)
            return matrix
        if name in _ALIGNED:
            return self.aligned(separate_cells=name == "begin:cases")
        if name in ACCENTS:
            spelt = "".join(spell(token) for token in self.group_tokens())
            return Node("sym", value=f"{name}{{{spelt}}}")
        if name in FUNCTIONS:
            return self.function(name)
        raise TooComplex(f"command {name}")

    def fraction(self) -> Node:
        r"""Operands of `\frac`."""
        return Node("div", (self.argument(single_digit=True), self.argument(single_digit=True)))

    def binomial(self) -> Node:
        r"""Operands of `\binom`."""
        operands = (self.argument(single_digit=True), self.argument(single_digit=True))
        return Node("fn", operands, "binom")

    def root(self) -> Node:
        r"""Index and radicand of `\sqrt`."""
        index = number(2)
        if self.is_op("["):
            self.position += 1
            index = self.sum()
            self.expect("]")
        return Node("root", (self.argument(), index))

    def floor(self) -> Node:
        """The inside of a floor."""
        return self.rounded("floor", "rfloor")

    def ceiling(self) -> Node:
        """The inside of a ceiling."""
        return self.rounded("ceil", "rceil")

    def rounded(self, name: str, closing: str) -> Node:
        """The inside of a floor or ceiling, up to its end."""
        inner = self.sum()
        self.expect(closing)
        return Node("fn", (inner,), name)

    def angle_brackets(self) -> Node:
        """The entries of a vector between angle brackets."""
        inner = self.items()
        self.expect("rangle")
        return Node("tuple", inner.args if inner.op == "list" else (inner,), "()")

    def angle(self) -> Node:
        """The letters of an angle."""
        return self.figure("angle")

    def triangle(self) -> Node:
        """The letters of a triangle."""
        return self.figure("triangle")

    def figure(self, name: str) -> Node:
        """The letters that name a figure."""
        letters = ""
        while self.peek().kind == "name":
            letters += self.peek().text
            self.position += 1
        return Node("sym", value=f"{name} {letters}")

    def number_set(self, name: str) -> Node:
        """A blackboard letter with its mark, such as the positive reals."""
        if self.is_op("_", "^"):
            self.position += 1
            mark = "".join(spell(token) for token in self.group_tokens())
            return Node("named", value=name + _MARKS.get(mark, "^" + mark))
        return Node("named", value=name)

    def rows(self) -> list[list[Node]]:
        """Rows and cells up to the end of the environment."""
        rows: list[list[Node]] = [[]]
        while True:
            if self.peek().kind == "cmd" and self.peek().text.startswith("end:"):
                self.position += 1
                return [row for row in rows if row]
            if self.is_op("\\\\"):
                self.position += 1
                rows.append([])
            elif self.is_op("&"):
                self.position += 1
            else:
                rows[-1].append(self.item())

    def matrix(self) -> Node:
        """A matrix, whatever its brackets."""
        kept = [Node("row", tuple(row)) for row in self.rows()]
        if not kept or len({len(row.args) for row in kept}) != 1:
            raise TooComplex("a ragged matrix")
        return Node("matrix", tuple(kept))

    def aligned(self, *, separate_cells: bool) -> Node:
        """Reads lines below each other.

        They are the pieces of a function with their conditions, or the equations of a system.
        """
        self._drop_layout(separate_cells=separate_cells)
        rows = self.rows()
        if all(len(row) == 1 for row in rows):
            items = tuple(row[0] for row in rows)
            if len(items) == 1:
                return items[0]
            return Node("list", items, "and")
        return Node("cases", tuple(Node("tuple", tuple(row), "()") for row in rows))

    def _drop_layout(self, *, separate_cells: bool) -> None:
        """Removes the marks of layout from the environment at hand."""
        start = self.position
        while not (self.peek().kind == "cmd" and self.peek().text.startswith("end:")):
            if self.peek().kind == "end":
                raise TooComplex("an environment is open")
            self.position += 1
        inside = self.tokens[start : self.position]
        if not separate_cells:
            inside = [token for token in inside if token != _CELL]
        kept = [
            token
            for token, following in zip(inside, [*inside[1:], _ROW], strict=True)
            if not _is_layout(token, following)
        ]
        self.tokens = [*self.tokens[:start], *kept, *self.tokens[self.position :]]
        self.position = start

    def function(self, name: str) -> Node:
        """A named function with the marks between its name and its argument."""
        power, base = self.function_marks()
        if name in _OF_SEVERAL:
            inner = self.atom()
            return Node("fn", inner.args if inner.op in {"tuple", "set"} else (inner,), name)
        if power == number(-1) and name in _INVERSE:
            name = _INVERSE[name]
            power = None
        inner = self.function_argument()
        if name == "det":
            return matrices.determinant(inner)
        if base is not None and name not in _LOGARITHMS:
            raise TooComplex("a subscript")
        node = _applied(name, inner, base)
        return node if power is None else Node("pow", (node, power))

    def function_marks(self) -> tuple[Node | None, Node | None]:
        """Power and base between the name of a function and its argument."""
        power: Node | None = None
        base: Node | None = None
        while self.is_op("^", "_"):
            mark = self.peek().text
            self.position += 1
            if mark == "^":
                power = self.argument()
            else:
                is_digit = self.peek().kind == "num" and not self.follows_argument()
                base = self.argument(single_digit=is_digit)
        return power, base

    def follows_argument(self) -> bool:
        """Returns whether something that can be an argument follows the subscript at hand."""
        self.position += 1
        follows = self.starts_factor()
        self.position -= 1
        return follows

    def function_argument(self) -> Node:
        """Reads the argument: a bracket, or factors up to an operator or the next function.

        A division belongs to it where a number follows: `sin x/2` is `sin(x/2)`.
        """
        if self.is_op("(", "{", "["):
            return self.atom()
        sign = self.sign()
        factors = [self.factor()]
        while (
            self.starts_factor() and not self.is_op("(", "[", "\\{") and not self.is_cmd(*FUNCTIONS)
        ):
            factors.append(self.factor())
        node = factors[0]
        for factor in factors[1:]:
            node = Node("mul", (node, factor))
        while self.is_op("/") and self.peek(1).kind == "num":
            self.position += 1
            node = Node("div", (node, self.factor()))
        return negative(node) if sign == "-" else node


def _is_layout(token: Token, following: Token) -> bool:
    """Tells whether a token of aligned lines ends an item.

    Such are a word of a condition, a stop, and a line break within a chain.
    """
    if token.kind == "text" and token.text.strip(" ,").lower() in _CONDITION_WORDS:
        return True
    if token in _STOPS and following in {_CELL, _ROW}:
        return True
    return token == _ROW and following == Token("op", "=")


def _applied(name: str, inner: Node, base: Node | None) -> Node:
    """A function with its argument, as a node of its own kind where there is one."""
    if name in _LOGARITHMS:
        known_base = _LOGARITHMS[name] or base
        return Node("log", (inner,) if known_base is None else (inner, known_base))
    if name == "exp":
        return Node("pow", (_E, inner))
    if name == "abs":
        return Node("abs", (inner,))
    if name == "cis":
        return Node("pow", (_E, Node("mul", (Node("const", value="i"), inner))))
    return Node("fn", (inner,), name)


_E = Node("const", value="e")
_OF_SEVERAL = {"gcd", "lcm", "max", "min"}
_LOGARITHMS = {"log": None, "lg": number(10), "ln": _E}
"""Name -> its base; of `log` the base is what stands below it, if anything."""
_CONSTANTS = {
    "pi": Node("const", value="pi"),
    "infty": INFINITY,
    "emptyset": Node("named", value="empty"),
    "ldots": Node("sym", value="..."),
}
_READERS: dict[str, Callable[[CommandParser], Node]] = {
    "frac": CommandParser.fraction,
    "sqrt": CommandParser.root,
    "binom": CommandParser.binomial,
    "lfloor": CommandParser.floor,
    "lceil": CommandParser.ceiling,
    "langle": CommandParser.angle_brackets,
    "angle": CommandParser.angle,
    "triangle": CommandParser.triangle,
}
