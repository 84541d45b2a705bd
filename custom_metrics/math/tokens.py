r"""LaTeX and plain words -> one stream of tokens; the first normal form of an answer.

What does not change the meaning is gone afterwards: spacing, `\left` and `\right`, fonts, display style, dollar signs
around formulas, thousands separators. What may change it is kept as a token. Two answers with the same stream are the
same answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from custom_metrics.math import words
from custom_metrics.math.notation import (
    CURRENCIES,
    FONTS,
    GREEK,
    OPERATORS,
    SAME,
    SPACING,
    TEXTS,
    WITH_ARGUMENT,
    WORD_COMMANDS,
)
from custom_metrics.math.rewrite import rewrite


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: `num`, `name` (a letter or Greek symbol), `cmd` (a LaTeX command with a meaning), `text`, or `op`.
        text: Digits, letter, command name without backslash, words, or the operator.
    """

    kind: str
    text: str


_SCAN = re.compile(
    r"""(?P<newline>\\\\(?:\s*\[[^\]]{0,20}\])?|\\cr(?![A-Za-z])|\\newline(?![A-Za-z]))
      | \\(?P<cmd>[A-Za-z]+\*?|.)
      | (?P<num>(?:\d+(?:\.\d+|\.(?=\s*\\(?:overline|bar|dot)(?![A-Za-z])))?|\.\d+)(?:[eE][+-]?\d+(?![\dA-Za-z]|\.\d))?)
      | (?P<word>[A-Za-z]+)
      | (?P<op><=|>=|!=|/=|==|\*\*|:=|->|=>|[^\sA-Za-z\d])
      | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_ARGUMENT = re.compile(r"\s*\{")
_INNER_SPACING = re.compile(r"\\(?:[,;:! ]|cdot(?![A-Za-z]))|~")
_FORMULA_MARK = re.compile(r"(?<!\\)\$")
_FUNCTION_WORDS = {"lcm", "gcd", "cis", "sin", "cos", "tan", "log", "ln", "exp", "arcsin", "arccos", "arctan", "arccot"}
_LETTERS = re.compile(r"\(?[A-Z]\)?(?:\s*(?:,\s*and|,|and|or)\s*\(?[A-Z]\)?)+")
"""Several choices in one text: `A, C and D`."""


class TooComplex(Exception):  # noqa: N818 - a verdict about the input, not a failure of the program
    """The answer is past a bound or not in the language of the parser."""


@lru_cache(maxsize=256)
def tokenise(answer: str, *, thousands: bool = True) -> tuple[Token, ...]:
    """Turn an answer into tokens.

    Args:
        answer: Content of a box.
        thousands: Read `1,234` outside brackets as one number; else as two.

    Returns:
        The tokens.

    Raises:
        TooComplex: An argument is missing, or braces do not match.
    """
    return tuple(_scan(rewrite(answer, thousands=thousands)))


def _scan(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _SCAN.match(text, position)
        if match is None:  # a lone backslash at the end
            position += 1
            continue
        position = match.end()
        kind = match.lastgroup
        value = match.group(kind) if kind else ""
        if kind == "num":
            tokens.append(Token("num", value))
        elif kind == "newline":
            tokens.append(Token("op", "\\\\"))
        elif kind == "word":
            tokens.extend([Token("text", value)] if value == "min" and _ends_value(tokens) else _word(value))
        elif kind == "op":
            factorial = value == "!=" and _ends_number(tokens) and not text[match.start() - 1].isspace()
            tokens.extend([Token("op", "!"), Token("op", "=")] if factorial else _operator(value))
        elif kind == "cmd":
            position = _command(value, text, position, tokens)
    return tokens


def _ends_number(tokens: list[Token]) -> bool:
    """Whether a number that is no index or exponent stands at the end, so that `3!=6` is a factorial."""
    marks = {Token("op", "^"), Token("op", "_")}
    return bool(tokens) and tokens[-1].kind == "num" and (len(tokens) < 2 or tokens[-2] not in marks)


def _ends_value(tokens: list[Token]) -> bool:
    """Whether a number or a fraction stands at the end, so that `min` behind it means minutes."""
    return bool(tokens) and (tokens[-1].kind == "num" or tokens[-1] == Token("op", "}"))


def _operator(value: str) -> list[Token]:
    if value in {"$", "~", "`", '"'}:
        return []
    same = {"<=": "le", ">=": "ge", "!=": "ne", "/=": "ne"}
    if value in same:
        return [Token("cmd", same[value])]
    return [Token("op", {"==": "=", ":=": "=", "**": "^", "->": "to", "=>": "to"}.get(value, value))]


def _word(value: str) -> list[Token]:
    """A run of letters is a function, a unit, a word or a product of letters."""
    if len(value) == 1:
        return [Token("name", value)]
    if value in WORD_COMMANDS:
        return _named(WORD_COMMANDS[value])
    lower = value.lower()
    if lower in words.CONNECTIVES or lower in words.PLAIN_UNITS or lower in words.SHORT_WORDS:
        return [Token("text", value)]
    if len(value) <= 4 and any(letter.isupper() for letter in value[1:]) and not value.isupper():  # GMm
        return [Token("name", letter) for letter in value]
    product = set(lower) <= set("abcdkmnprstuvwxyz") - set("e") and len(value) < 4
    if not product and (len(value) >= 4 or len(set(lower)) < len(lower)) and not value.isupper():
        return [Token("text", value)]
    return [Token("name", letter) for letter in value]


def _named(name: str) -> list[Token]:
    return [Token("name", "\\" + name)] if name in GREEK else [Token("cmd", name)]


def _command(name: str, text: str, position: int, tokens: list[Token]) -> int:
    """Append the tokens of one command; returns where to go on."""
    name = name if name == "*" else name.rstrip("*")
    if name == "%":
        tokens.append(Token("op", "%"))
    elif name in CURRENCIES:
        tokens.append(Token("text", CURRENCIES[name]))
    elif name in {"_", "#", "&"}:
        tokens.append(Token("op", name))
    elif name in {"{", "}"}:
        tokens.append(Token("op", "\\" + name))
    elif name in SPACING:
        pass
    elif name in WITH_ARGUMENT or name in {"textcolor", "colorbox", "stackrel", "overset", "underset"}:
        return _argument(text, position)[1]
    elif name in FONTS:
        pass
    elif name in TEXTS:
        content, position = _argument(text, position)
        minutes = content.strip(" ~") == "min" and _ends_value(tokens)
        upright = name in {"mathrm", "operatorname"}
        tokens.extend([Token("text", "min")] if minutes else _text(content, upright=upright))
    elif name in {"begin", "end", "mathbb"}:
        content, position = _argument(text, position)
        tokens.append(Token("cmd", f"{name}:{content.strip().rstrip('*')}"))
        if name == "begin" and content.strip() in {"array", "tabular"}:
            position = _argument(text, position)[1]
    else:
        same = SAME.get(name, name)
        if same in {"{", "}"}:
            tokens.append(Token("op", "\\" + same))
        elif same in OPERATORS:
            tokens.append(Token("op", same))
        elif same in GREEK or len(same) == 1:
            tokens.append(Token("name", same if len(same) == 1 else "\\" + same))
        else:
            tokens.append(Token("cmd", same))
    return position


def _argument(text: str, position: int) -> tuple[str, int]:
    opening = _ARGUMENT.match(text, position)
    if opening is None:
        following = re.compile(r"\s*(\S?)").match(text, position)
        assert following is not None
        return following.group(1), following.end()
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, opening.end()):
        depth += (match.group() == "{") - (match.group() == "}")
        if depth == 0:
            return text[opening.end() : match.start()], match.end()
    raise TooComplex("an argument is not closed")


def _text(content: str, *, upright: bool) -> list[Token]:
    r"""Tokens of `\text{...}`: mathematics written in it is mathematics, the rest is one text token."""
    if content.strip() == r"\$":
        return [Token("text", "dollar")]
    stripped = _FORMULA_MARK.sub("", _INNER_SPACING.sub(" ", content)).strip()
    if not stripped:
        return []
    if len(stripped) == 1 and (upright or not stripped.isalnum()):
        return _scan(stripped)
    if stripped in WORD_COMMANDS and (upright or stripped in _FUNCTION_WORDS):
        return _named(WORD_COMMANDS[stripped])
    announced = words.after_announcement(stripped)
    if re.match(r"[-+(]?\s*\d", announced):
        stripped = announced
    if re.fullmatch(r"[-+]?[\d.,]+\s*(?:%|\\%)?", stripped) or re.match(r"[-+(]?\s*\d", stripped) or "\\" in stripped:
        return _scan(stripped)
    if _LETTERS.fullmatch(stripped):
        return _scan(stripped)
    return [Token("text", stripped)]
