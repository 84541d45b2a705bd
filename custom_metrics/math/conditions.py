r"""Conditions behind a formula: `\frac{1}{4-\omega^2} \text{ for } \omega^2 \ne 4`.

They say where the formula makes sense, so one side may leave them out; where both sides give one,
both must agree. A condition on a letter that the formula lacks, or behind an inequality or a piece
(`if x > 0`), is part of the answer.
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
_COMMA = Token("op", ",")
_EQUALS = Token("op", "=")
_IN = Token("cmd", "in")
_OPENING = Token("op", "(")
_CLOSING = Token("op", ")")


def split(tokens: list[Token]) -> list[Token] | None:
    r"""Cuts the condition off the end of an answer and returns it, or None without one.

    A word announces it (`for`, `where`, `provided`); a comma or a bracket does so before `\ne`
    alone.
    """
    last = max((place for place, token in enumerate(tokens) if _is_sign(token)), default=0)
    if not last or last < len(tokens) - MAX_CONDITION:
        return None
    for place in range(last - 1, max(0, last - MAX_CONDITION), -1):
        announced = _announced(tokens, place)
        if announced is None:
            continue
        body, condition, word = announced
        if _fits(body, condition, word):
            tokens[:] = body
            return condition
    return None


def _announced(
    tokens: list[Token], place: int
) -> tuple[list[Token], list[Token], str | None] | None:
    """Splits an answer at a word, a comma or a bracket that may announce a condition.

    The parts are formula, condition and word.
    """
    token = tokens[place]
    spoken = _FOR.fullmatch(token.text) if token.kind == "text" else None
    if spoken is None and token not in {_COMMA, _OPENING}:
        return None
    body = _without_marks_at_end(tokens[:place])
    condition = tokens[place + 1 :]
    if spoken is not None:
        is_bracketed = tokens[place - 1] == _OPENING
        if is_bracketed and condition and condition[-1] == _CLOSING:
            condition = condition[:-1]
        return body, condition, spoken["word"].lower()
    if token == _COMMA:
        return body, condition, None
    if tokens[-1] == _CLOSING:
        return (body, condition[:-1], None)
    return None


def _without_marks_at_end(body: list[Token]) -> list[Token]:
    """The tokens without commas and opening brackets behind them."""
    end = len(body)
    while end and body[end - 1] in {_COMMA, _OPENING}:
        end -= 1
    return body[:end]


def _fits(body: list[Token], condition: list[Token], word: str | None) -> bool:
    """Tells whether a condition only says where the formula makes sense."""
    if not body or not _balanced(body) or not _balanced(condition):
        return False
    outside = _outside(body)
    if any(map(_is_more_than_formula, outside)):
        return False
    if word == "unless" or not _is_plain(condition):
        return False
    names = _names(condition)
    if not names or not names <= _names(body):
        return False
    return _says_where(condition, word, is_equation=_EQUALS in outside)


def _says_where(condition: list[Token], word: str | None, *, is_equation: bool) -> bool:
    """Tells whether a condition excludes points, or restricts what is no piece and no function.

    The domain of a function belongs to it.
    """
    signs = {token.text for token in condition if _is_sign(token)}
    if not signs:
        return False
    is_piece = word in {None, "if", "when"}
    return signs == {"ne"} or not (is_piece or is_equation)


def _is_plain(condition: list[Token]) -> bool:
    """Tells whether a condition begins with an operand and holds no words but `and` and `or`."""
    if condition and _is_sign(condition[0]):
        return False
    spoken = {token.text.strip().lower() for token in condition if token.kind == "text"}
    return spoken <= {"and", "or"}


def _names(tokens: list[Token]) -> set[str]:
    return {token.text for token in tokens if token.kind == "name"}


def _is_more_than_formula(token: Token) -> bool:
    """Tells whether what a token stands in is a list or a statement."""
    return token in {_COMMA, _IN} or _is_sign(token)


def _is_sign(token: Token) -> bool:
    return token.text in _SIGNS and token.kind in {"op", "cmd"}


def _balanced(tokens: list[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += token.nesting
        if depth < 0:
            return False
    return depth == 0


def _outside(tokens: list[Token]) -> list[Token]:
    """Tokens outside brackets."""
    depth = 0
    outside = []
    for token in tokens:
        depth += token.nesting
        if depth == 0 and token.nesting == 0:
            outside.append(token)
    return outside
