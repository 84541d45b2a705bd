r"""Conditions behind a formula: `\frac{1}{4-\omega^2} \text{ for } \omega^2 \ne 4`.

They say where the formula makes sense, so one side may leave them out; where both sides give one, both must agree. A
condition on a letter that the formula lacks, or behind an inequality or a piece (`if x > 0`), is part of the answer.
"""

from __future__ import annotations

import re

from custom_metrics.math.tokens import Token

MAX_CONDITION = 40
"""Tokens of a condition."""

_FOR = re.compile(
    r"[\s,(]*(?:and )?(?:is |are )?(?:valid |defined |true )?"
    r"(?P<word>for|where|provided|with|assuming|as long as|if|when|whenever|given|unless)"
    r"(?: that)?(?: all| any| every)?(?: real)?[\s,:]*",
    re.IGNORECASE,
)
_SIGNS = {"<", ">", "le", "ge", "ne"}
_OPEN, _CLOSE = {"(", "[", "{", "\\{"}, {")", "]", "}", "\\}"}
_COMMA, _EQUALS = Token("op", ","), Token("op", "=")


def split(tokens: list[Token]) -> list[Token] | None:
    r"""Cut the condition off the end of an answer and return it, or None without one.

    A word announces it (`for`, `where`, `provided`); a comma or a bracket does so before `\ne` alone.
    """
    last = max((place for place, token in enumerate(tokens) if _is_sign(token)), default=0)
    if not last or last < len(tokens) - MAX_CONDITION:
        return None
    for place in range(last - 1, max(0, last - MAX_CONDITION), -1):
        token = tokens[place]
        spoken = _FOR.fullmatch(token.text) if token.kind == "text" else None
        if spoken is None and token not in {_COMMA, Token("op", "(")}:
            continue
        end = len(tokens)
        if token == Token("op", "("):
            if tokens[-1] != Token("op", ")"):
                continue
            end -= 1
        body, condition = tokens[:place], tokens[place + 1 : end]
        while body and body[-1] in {_COMMA, Token("op", "(")}:
            body.pop()
        if condition and condition[-1] == Token("op", ")") and spoken and tokens[place - 1] == Token("op", "("):
            condition = condition[:-1]
        if _fits(body, condition, spoken["word"].lower() if spoken else None):
            tokens[:] = body
            return condition
    return None


def _fits(body: list[Token], condition: list[Token], word: str | None) -> bool:
    if not body or not _balanced(body) or not _balanced(condition):
        return False
    outside = _outside(body)
    if _COMMA in outside or any(_is_sign(token) or token == Token("cmd", "in") for token in outside):
        return False
    spoken = {token.text.strip().lower() for token in condition if token.kind == "text"}
    signs = {token.text for token in condition if _is_sign(token)}
    if word == "unless" or spoken - {"and", "or"} or not signs or _is_sign(condition[0]):
        return False
    if signs != {"ne"} and (word in {None, "if", "when"} or _EQUALS in outside):
        return False  # a piece; or the domain of a function, which belongs to it
    names = {token.text for token in condition if token.kind == "name"}
    return bool(names) and names <= {token.text for token in body if token.kind == "name"}


def _is_sign(token: Token) -> bool:
    return token.text in _SIGNS and token.kind in {"op", "cmd"}


def _balanced(tokens: list[Token]) -> bool:
    depth = 0
    for token in tokens:
        if token.kind == "op":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth < 0:
                return False
    return depth == 0


def _outside(tokens: list[Token]) -> list[Token]:
    """Tokens outside brackets."""
    depth, found = 0, []
    for token in tokens:
        if token.kind == "op" and token.text in _OPEN:
            depth += 1
        elif token.kind == "op" and token.text in _CLOSE:
            depth -= 1
        elif depth == 0:
            found.append(token)
    return found
