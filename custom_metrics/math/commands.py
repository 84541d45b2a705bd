"""The part of the grammar that begins with a LaTeX command: fractions, roots, functions, matrices."""

from __future__ import annotations

from custom_metrics.math import matrices
from custom_metrics.math.stream import TokenStream, spell
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import INFINITY, Node, negative, number

FUNCTIONS = {
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "sinh",
    "cosh", "tanh", "coth", "ln", "log", "lg", "exp", "gcd", "lcm", "max", "min", "Re", "Im", "arg", "cis", "abs",
    "det",
}  # fmt: skip
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot", "sec": "arcsec", "csc": "arccsc"}
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
    "begin:cases", "begin:aligned", "begin:align", "begin:gathered", "begin:gather", "begin:split", "begin:equation",
}  # fmt: skip
_ROW, _CELL = Token("op", "\\\\"), Token("op", "&")
_CONDITION_WORDS = {"if", "for", "when", "where", "otherwise if", "else if"}
_STOPS = {Token("op", ","), Token("op", ";"), Token("op", ".")}
_NUMBER_SETS = {"mathbb:R": "R", "mathbb:Z": "Z", "mathbb:N": "N", "mathbb:Q": "Q", "mathbb:C": "C"}


class CommandParser(TokenStream):
    """What begins with a command."""

    def command(self, name: str) -> Node:
        """What begins with a LaTeX command."""
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
        if name in MATRICES:
            matrix = self.matrix()
            return matrices.determinant(matrix) if name == "begin:vmatrix" else matrix
        if name in _ALIGNED:
            return self.aligned(separate_cells=name == "begin:cases")
        if name in {"angle", "triangle"}:
            letters = ""
            while self.peek().kind == "name":
                letters += self.peek().text
                self.position += 1
            return Node("sym", value=f"{name} {letters}")
        if name in ACCENTS:
            return Node("sym", value=name + "{" + "".join(spell(token) for token in self.group_tokens()) + "}")
        if name == "ldots":
            return Node("sym", value="...")
        if name in FUNCTIONS:
            return self.function(name)
        raise TooComplex(f"command {name}")

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
        """Lines below each other: the pieces of a function with their conditions, or the equations of a system."""
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
            if not (token.kind == "text" and token.text.strip(" ,").lower() in _CONDITION_WORDS)
            and not (token in _STOPS and following in {_CELL, _ROW})
            and not (token == _ROW and following == Token("op", "="))  # the chain goes on in the next line
        ]
        self.tokens = [*self.tokens[:start], *kept, *self.tokens[self.position :]]
        self.position = start
        rows = self.rows()
        if all(len(row) == 1 for row in rows):
            items = tuple(row[0] for row in rows)
            return items[0] if len(items) == 1 else Node("list", items, "and")
        return Node("cases", tuple(Node("tuple", tuple(row), "()") for row in rows))

    def function(self, name: str) -> Node:
        """A named function with the marks between its name and its argument."""
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
        """The argument: a bracket, or factors up to an operator or the next function."""
        if self.is_op("(", "{", "["):
            return self.atom()
        sign = self.sign()
        factors = [self.factor()]
        while self.starts_factor() and not self.is_op("(", "[", "\\{") and not self.is_cmd(*FUNCTIONS):
            factors.append(self.factor())
        node = factors[0]
        for factor in factors[1:]:
            node = Node("mul", (node, factor))
        while self.is_op("/") and self.peek(1).kind == "num":
            self.position += 1
            node = Node("div", (node, self.factor()))
        return negative(node) if sign == "-" else node
