"""Recursive-descent parser: tokens of an answer -> tree.

It is bounded in length, nesting, digits and exponents.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from custom_metrics.math import announcements, choices, conditions, names, ranges, words
from custom_metrics.math.expressions import ExpressionParser
from custom_metrics.math.rounding import is_rounded
from custom_metrics.math.token_stream import digits, plain, spell
from custom_metrics.math.tokens import Token, TooComplex, tokenise
from custom_metrics.math.tree import Node, negative, number, symbols

MAX_LENGTH = 4_000
"""Characters of an answer that is parsed; longer ones are compared as text only."""
MAX_TOKENS = 1_200
MAX_NESTING = 32

_RELATIONS = {
    "=": "=",
    "<": "<",
    ">": ">",
    "le": "<=",
    "ge": ">=",
    "ne": "!=",
    "approx": "~",
    "sim": "~",
    "equiv": "=",
    "in": "in",
}
_LOGICAL = {"land": "and", "lor": "or"}
_SEPARATORS = {",": ",", ";": ";", "\\\\": ","}
CALCULUS = {"sum", "prod", "int", "iint", "oint", "lim", "partial", "limsup", "liminf"}
"""Commands that only the algebra system reads."""


class NeedsAlgebraSystem(TooComplex):
    """The answer holds calculus (sums, integrals, limits) that only the algebra system reads."""


@lru_cache(maxsize=256)
def parse(answer: str, *, thousands: bool = True) -> Node:
    r"""Parses the content of a box.

    Args:
        answer: LaTeX, Unicode or plain notation.
        thousands: Read `1,234` outside brackets as one number; else as two.

    Returns:
        The tree.

    Raises:
        TooComplex: Past a bound, or not in the language: the caller compares such answers as text.
        NeedsAlgebraSystem: Calculus.

    >>> parse(r"3\frac{1}{2}").op, parse("[0,1)").value
    ('add', '[)')
    """
    if len(answer) > MAX_LENGTH:
        raise TooComplex("too long")
    choice = choices.split(answer)
    if choice is None:
        return _whole(answer, thousands=thousands)
    letter, rest = choice
    try:
        value = _whole(rest, thousands=thousands)
    except TooComplex:
        value = Node("text", value=words.text_form(rest))
    return Node("choice", (value,), letter)


def _whole(answer: str, *, thousands: bool) -> Node:
    span = ranges.read(answer)
    if span is not None:
        return span
    tokens = list(tokenise(answer, thousands=thousands))
    while tokens and tokens[-1] in {
        Token("op", "."),
        Token("op", ","),
        Token("op", ";"),
        Token("op", "\\\\"),
    }:
        tokens.pop()
    announcements.drop_announcement(tokens)
    announcements.name_gradient(tokens)
    if not tokens or len(tokens) > MAX_TOKENS:
        raise TooComplex("empty or too many tokens")
    condition = conditions.split(tokens)
    names.shorten(tokens)
    tree = _read(tokens)
    if condition is None:
        return tree
    try:
        return Node("given", (tree, _read(condition)))
    except TooComplex:
        return Node("given", (tree, Node("text", value=names.flat(condition))))


def _read(tokens: list[Token]) -> Node:
    if _is_too_deep(tokens):
        raise TooComplex("nesting")
    holds_calculus = any(token.kind == "cmd" and token.text in CALCULUS for token in tokens)
    if holds_calculus or names.holds_derivative(tokens):
        raise NeedsAlgebraSystem("calculus")
    parser = _AnswerParser(tokens)
    tree = parser.items()
    if parser.position != len(parser.tokens):
        raise TooComplex("not an expression")
    if tree.op == "list":
        return tree._replace(args=tuple(_named_set(item) for item in tree.args))
    return _named_set(tree)


def _is_too_deep(tokens: list[Token]) -> bool:
    """Tells whether brackets are nested too deep, or do not match."""
    depth = deepest = 0
    for token in tokens:
        depth += token.nesting
        deepest = max(deepest, depth)
    return deepest > MAX_NESTING or depth != 0


def _named_set(node: Node) -> Node:
    r"""Reads `x \in S` as a name for the set S, as `x = S` is; `x + 1 \in S` stays a statement."""
    if node.value == "in" and node.label:
        return node._replace(value="=")
    return node


def _words_of(node: Node) -> str:
    """The words of a text, empty for any other node."""
    return str(node.value) if node.op == "text" else ""


class _AnswerParser(ExpressionParser):
    def items(self) -> Node:
        """Items between separators; one item stands for itself."""
        groups: list[list[Node]] = [[]]
        kinds: set[str] = set()
        systems: list[list[Node]] = [[]]
        while True:
            groups[-1].append(self.item())
            systems[-1].append(groups[-1][-1])
            separator = self.separator()
            if separator is None:
                break
            kinds.add(separator)
            if separator == ";":
                groups.append([])
            if separator == "or":
                systems.append([])
            if self.peek().kind == "end" or self.is_op(")", "]", "}", "\\}"):
                break  # a trailing separator
        if _are_systems(systems):
            return Node("list", tuple(Node("list", tuple(system), ",") for system in systems), "or")
        return _list_of_groups(groups, kinds)

    def separator(self) -> str | None:
        """Consume one separator, however it is spelt: `,`, `;`, `and`, `, and`, a new line."""
        separator: str | None = None
        while True:
            token = self.peek()
            word = self.connective() if token.kind == "text" else None
            if word in {"and", "or"}:
                separator = word
            elif token.kind == "cmd" and token.text in _LOGICAL:
                separator = _LOGICAL[token.text]
            elif token.kind == "op" and token.text in _SEPARATORS:
                separator = separator or _SEPARATORS[token.text]
            else:
                return separator
            self.position += 1

    def item(self) -> Node:
        r"""Reads a relation chain; of `A \Rightarrow B` only B."""
        node = self.relation()
        while self.is_cmd("Rightarrow") and self.peek(1).kind != "end":
            if node.op not in {"rel", "list"}:
                raise TooComplex("a conclusion from what is no statement")
            self.position += 1
            node = self.relation()
        return _labelled_point(node)

    def relation(self) -> Node:
        start = self.position
        operands = [self.operand()]
        operators = list[str]()
        label = self.label(start)
        while (operator := self._relation_sign()) is not None:
            if self.is_cmd("sim") and not label:
                raise TooComplex("a range")
            self.position += 1
            right = self.operand()
            if operator == "~":
                names_value = label and not operators
                if not names_value and is_rounded(operands, right):
                    continue
                operator = "="
            operators.append(operator)
            operands.append(right)
        if not operators:
            return operands[0]
        label = label or _words_of(operands[0])
        return Node("rel", tuple(operands), " ".join(operators), label)

    def _relation_sign(self) -> str | None:
        """The relation that the token at hand stands for, None where it is no such sign."""
        token = self.peek()
        if token.kind in {"op", "cmd"}:
            return _RELATIONS.get(token.text)
        return None

    def label(self, start: int) -> str:
        """Text of the tokens since `start` when they only name a value."""
        if self.position - start > 24:
            return ""
        flat = names.flat(self.tokens[start : self.position])
        return flat if names.SHORT.fullmatch(flat) else ""

    def operand(self) -> Node:
        """Sets or a ratio, with its unit."""
        if (
            self.peek().kind == "text"
            and self.peek(1).kind in {"num", "op", "cmd"}
            and self.is_currency()
        ):
            currency = words.unit_form(self.peek().text).removeprefix("lb ")
            self.position += 1
            return self.unit(Node("quantity", (self.sets(),), currency))
        if self.is_op("-") and self.peek(1) == Token("text", "dollar"):
            self.position += 2
            return Node("quantity", (negative(self.sets()),), "$")
        if self.peek().kind == "text" and self.connective() is None:
            text = self.words()
            counted = words.counted(str(text.value)) if text.op == "text" else None
            if counted is None:
                return text
            return attach_unit(number(counted[0]), counted[1])
        return self.unit(self.sets())

    def is_currency(self) -> bool:
        return words.unit_form(self.peek().text).removeprefix("lb ") in words.CURRENCIES

    def unit(self, node: Node) -> Node:
        """Attaches what follows a value: unit, percent, base, modulus."""
        if self.take("bmod"):
            return Node("fn", (node, self.factor()), "mod")
        if self.take("pmod", "mod"):
            return Node(
                "quantity", (node,), "mod " + "".join(spell(token) for token in self.group_tokens())
            )
        parts: list[str] = []
        while self.unit_part(parts):
            pass
        return _with_unit(node, " ".join(parts)) if parts else node

    def unit_part(self, parts: list[str]) -> bool:
        """Consume one part of a unit; False where none follows."""
        token = self.peek()
        if parts and token == Token("op", "^") and self.peek(1).kind in {"num", "op"}:
            parts.append(self._power_of_unit())
            return True
        if token == Token("cmd", "frac") and self.peek(2).kind == "text":
            parts.append(self._quotient_of_units())
            return True
        if self.joins_units(token, begun=bool(parts)):
            parts.append("/" if token.text == "/" else " ")
            if self.peek(1).kind == "name":
                self.position += 1
                parts.append(self.peek().text)
        elif self._is_unit_name(token, parts):
            parts.append(token.text)
        else:
            return False
        self.position += 1
        return True

    def _power_of_unit(self) -> str:
        self.position += 1
        return "^" + "".join(spell(item) for item in self.group_tokens()).strip("{}")

    def _quotient_of_units(self) -> str:
        self.position += 1
        above = " ".join(plain(self.group_tokens()))
        below = " ".join(plain(self.group_tokens()))
        return f"{above}/{below}"

    def _is_unit_name(self, token: Token, parts: list[str]) -> bool:
        """Tells whether a token is a word of a unit, or the number behind `base`."""
        if token.kind == "text":
            return self.connective() is None
        if token.kind != "num" or not parts:
            return False
        return parts[-1].strip().lower().endswith("base")

    def joins_units(self, token: Token, *, begun: bool) -> bool:
        """Returns whether `/` or `*` stands before another unit, or `/` before the first one."""
        if token.kind != "op" or token.text not in {"/", "*"}:
            return False
        following = self.peek(1).kind
        if begun:
            return following in {"text", "name"}
        return token.text == "/" and following == "text"

    def sets(self) -> Node:
        node = self.ratio()
        while self.is_cmd("cup", "cap", "setminus") or self.is_letter_union():
            kind = {"cup": "union", "U": "union", "cap": "inter", "setminus": "minus"}[
                self.peek().text
            ]
            self.position += 1
            right = self.ratio()
            same = node.op == kind == "union"
            node = Node(kind, (*node.args, right) if same else (node, right))
        return node

    def ratio(self) -> Node:
        parts = [self.sum()]
        while (self.is_op(":") and not self.bar_separates) or (
            self.peek().kind == "text" and self.connective() == "to"
        ):
            self.position += 1
            parts.append(self.sum())
        if len(parts) == 1:
            return parts[0]
        return Node("ratio", tuple(parts))


def _labelled_point(node: Node) -> Node:
    """`P(3,4)` as `P = (3,4)`, with numbers in the brackets.

    N and U before a pair are distributions.
    """
    if node.op != "mul" or node.args[0].op != "sym" or node.args[1].op != "tuple":
        return node
    name, point = node.args
    if not re.fullmatch("[A-MO-TV-Z]'*", str(name.value)) or point.value != "()" or symbols(point):
        return node
    return Node("rel", node.args, "=", str(name.value))


def _with_unit(node: Node, phrase: str) -> Node:
    """Puts the unit, the base or the multiplier that words behind a value name on it."""
    based = _BASED.fullmatch(phrase)
    if based:
        base = words.NUMBER_WORDS.get(based.group(1).lower(), based.group(1))
        return Node("based", value=f"{digits(node)}_{base}")
    factor, phrase = words.multiplier(phrase)
    if words.is_qualified(phrase):
        raise TooComplex("words that change the value")
    if factor != 1 and node.op == "quantity":
        node = node._replace(args=(Node("mul", (node.args[0], number(factor))),))
    elif factor != 1:
        node = Node("mul", (node, number(factor)))
    return attach_unit(node, words.unit_form(phrase))


_BASED = re.compile(r"\s*\(?(?:in )?base[ -]+(\w+)\)?\s*", re.IGNORECASE)


def attach_unit(node: Node, unit: str) -> Node:  # noqa: PLR0911 - one return for each kind of value
    """Puts a unit on a value, inside a relation or list on its last part."""
    if not unit:
        return node
    if unit == "%":
        return Node("percent", (node,))
    if unit.startswith("% "):
        return Node("quantity", (Node("percent", (node,)),), unit[2:])
    if unit == "deg":
        return Node("deg", (node,))
    if node.op == "quantity" and unit in {"$", node.value}:
        return node
    if node.op == "quantity" and unit.startswith("/"):
        return node._replace(value=f"{node.value}{unit}")
    if node.op == "quantity":
        raise TooComplex("two units")
    return Node("quantity", (node,), unit)


def spelling(answer: str, *, thousands: bool = True) -> str:
    """The answer's tokens as one string: equal strings are equal answers."""
    tokens = list(tokenise(answer, thousands=thousands))
    while tokens and tokens[-1] in {Token("op", "."), Token("op", ","), Token("op", "\\\\")}:
        tokens.pop()
    pieces = []
    for index, token in enumerate(tokens):
        split = index and token.kind == "num" and tokens[index - 1].kind == "num"
        pieces.append((" " if split else "") + spell(token))
    return "".join(pieces)


def _list_of_groups(groups: list[list[Node]], kinds: set[str]) -> Node:
    """Puts the items between separators into a list.

    Those between semicolons go into lists of their own.
    """
    if "," not in kinds and len(groups) > 1:
        return Node("list", tuple(chain.from_iterable(groups)), ";")
    parts = [_list_of(group, kinds) for group in groups if group]
    if len(parts) == 1:
        return parts[0]
    return Node("list", tuple(parts), ";")


def _list_of(items: list[Node], kinds: set[str]) -> Node:
    if len(items) == 1:
        return items[0]
    return Node("list", tuple(items), _kind(kinds))


def _are_systems(groups: list[list[Node]]) -> bool:
    """Returns whether `x=1, y=2 or x=3, y=4` was read: several values for the same names."""
    names = [[item.label for item in group if item.op == "rel"] for group in groups]
    return (
        len(groups) > 1
        and len(names[0]) > 1
        and all(
            "" not in labels and len(set(labels)) == len(group) and set(labels) == set(names[0])
            for labels, group in zip(names, groups, strict=True)
        )
    )


def _kind(kinds: set[str]) -> str:
    if "or" in kinds:
        return "or"
    return "and" if kinds == {"and"} else ","
