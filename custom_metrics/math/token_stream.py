"""The token stream of the parser, and the entry points by which its parts call each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from custom_metrics.math import words
from custom_metrics.math.tokens import Token, TooComplex
from custom_metrics.math.tree import Node


class TokenStream(ABC):
    """Tokens and a position.

    The grammar is one recursive cycle spread over `commands`, `expressions` and `parse`; the
    methods at the end are its entry points, defined there.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.bar_closes = 0  # inside |...|, a bar ends it
        self.bar_separates = False  # directly inside \{...\}, a bar or colon starts the condition

    # the stream

    def peek(self, ahead: int = 0) -> Token:
        """Returns the token at hand, or one further on; past the end a token of kind `end`."""
        index = self.position + ahead
        if index < len(self.tokens):
            return self.tokens[index]
        return Token("end", "")

    def is_op(self, *texts: str) -> bool:
        """Returns whether the token at hand is one of these operators."""
        token = self.peek()
        return token.kind == "op" and token.text in texts

    def is_cmd(self, *texts: str) -> bool:
        """Returns whether the token at hand is one of these commands."""
        token = self.peek()
        return token.kind == "cmd" and token.text in texts

    def take(self, *texts: str) -> bool:
        """Consume the token at hand when it is one of these operators or commands."""
        if self.peek().kind in {"op", "cmd"} and self.peek().text in texts:
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Consume this operator or command; anything else ends the parse."""
        if not self.take(text):
            raise TooComplex(f"expected {text}")

    def group_tokens(self) -> list[Token]:
        """Tokens of a group or one token, uninterpreted."""
        if not self.is_op("{"):
            token = self.peek()
            if token.kind == "end":
                raise TooComplex("an operand is missing")
            self.position += 1
            if token == Token("op", "-"):
                return [token, *self.group_tokens()]
            return [token]
        depth, start = 0, self.position
        while True:
            depth += self.is_op("{") - self.is_op("}")
            if self.peek().kind == "end":
                raise TooComplex("a group is open")
            self.position += 1
            if depth == 0:
                return self.tokens[start + 1 : self.position - 1]

    def connective(self) -> str | None:
        """Returns `and`, `or` or `to` when the token at hand is that word."""
        return words.CONNECTIVES.get(self.peek().text.strip().strip(",").strip().lower())

    # entry points of the grammar

    @abstractmethod
    def items(self) -> Node:
        """Items between separators (`parse`)."""

    @abstractmethod
    def item(self) -> Node:
        """One relation chain (`parse`)."""

    @abstractmethod
    def sum(self) -> Node:
        """An expression (`expressions`)."""

    @abstractmethod
    def sign(self) -> str | None:
        """Signs (`expressions`)."""

    @abstractmethod
    def factor(self) -> Node:
        """A factor (`expressions`)."""

    @abstractmethod
    def atom(self) -> Node:
        """A factor without what follows it (`expressions`)."""

    @abstractmethod
    def argument(self, *, single_digit: bool = False) -> Node:
        """The operand of a command (`expressions`)."""

    @abstractmethod
    def starts_factor(self) -> bool:
        """Returns whether a factor can begin here (`expressions`)."""


def spell(token: Token) -> str:
    """Returns a token as text, words in their normal form."""
    if token.kind == "cmd":
        return f"<{token.text}>"
    if token.kind == "text":
        return f'"{words.text_form(token.text)}"'
    return token.text


def plain(tokens: list[Token]) -> list[str]:
    """Returns the texts of some tokens."""
    return [token.text for token in tokens]


def digits(node: Node) -> str:
    """Returns the digits of a whole number."""
    if node.op == "num" and isinstance(node.value, Fraction) and node.value.denominator == 1:
        return str(node.value)
    raise TooComplex("a base on something that is no numeral")
