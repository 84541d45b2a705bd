r"""LaTeX and plain words -> one stream of tokens; the first normal form of an answer.

What does not change the meaning is gone afterwards: spacing, `\left` and `\right`, fonts, display
style, dollar signs around formulas, thousands separators. What may change it is kept as a token.
Two answers with the same stream are the same answer.
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
        kind: `num`, `name` (a letter or Greek symbol), `cmd` (a LaTeX command with a meaning),
            `text`, or `op`.
        text: Digits, letter, command name without backslash, words, or the operator.
    """

    kind: str
    text: str

    @property
    def nesting(self) -> int:
        """The change of depth at a bracket: 1 where it opens, -1 where it closes; else 0."""
        if self.kind != "op":
            return 0
        if self.text in _OPENING:
            return 1
        return -1 if self.text in _CLOSING else 0


_OPENING = {"(", "[", "{", "\\{"}
_CLOSING = {")", "]", "}", "\\}"}
_SCAN = re.compile(
    r"""(?P<newline>\\\\(?:\s*\[[^\]]{0,20}\])?|\\cr(?![A-Za-z])|\\newline(?![A-Za-z]))
      | \\(?P<cmd>[A-Za-z]+\*?|.)
      | (?P<num>(?:\d+(?:\.\d+|\.(?=\s*\\(?:overline|bar|dot)(?![A-Za-z])))?|\.\d+)
             (?:[eE][+-]?\d+(?![\dA-Za-z]|\.\d))?)
      | (?P<word>[A-Za-z]+)
      | (?P<op><=|>=|!=|/=|==|\*\*|:=|->|=>|[^\sA-Za-z\d])
      | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_ARGUMENT = re.compile(r"\s*\{")
_INNER_SPACING = re.compile(r"\\(?:[,;:! ]|cdot(?![A-Za-z]))|~")
_FORMULA_MARK = re.compile(r"(?<!\\)\$")
_FUNCTION_WORDS = {
    "lcm",
    "gcd",
    "cis",
    "sin",
    "cos",
    "tan",
    "log",
    "ln",
    "exp",
    "arcsin",
    "arccos",
    "arctan",
    "arccot",
}
_FACTORS = set("abcdkmnprstuvwxyz")
_WORDS = words.PLAIN_UNITS | words.SHORT_WORDS | set(words.CONNECTIVES)
_PRODUCT_OF_TWO = re.compile(r"[A-Z][A-Za-z]")
"""Behind a number `Km` is a unit in careless spelling, elsewhere a product of two letters."""
_BEGINS_NUMBER = re.compile(r"[-+(]?\s*\d")
_PERCENTAGE = re.compile(r"[-+]?[\d.,]+\s*(?:%|\\%)?")
_LETTERS = re.compile(r"\(?[A-Z]\)?(?:\s*(?:,\s*and|,|and|or)\s*\(?[A-Z]\)?)+")
"""Several choices in one text: `A, C and D`."""


class TooComplex(Exception):  # noqa: N818 - a verdict about the input, not a failure of the program
    """The answer is past a bound or not in the language of the parser."""


@lru_cache(maxsize=256)
def tokenise(answer: str, *, thousands: bool = True) -> tuple[Token, ...]:
    """Turns an answer into tokens.

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
        kind = str(match.lastgroup)
        value = match[kind]
        if kind == "num":
            tokens.append(Token("num", value))
        elif kind == "newline":
            tokens.append(Token("op", "\\\\"))
        elif kind == "word":
            tokens.extend(_word(value, follows_value=_ends_value(tokens)))
        elif kind == "op":
            if value == "!=" and _follows_number(tokens, text, match.start()):
                tokens.extend((Token("op", "!"), Token("op", "=")))  # a factorial
            else:
                tokens.extend(_operator(value))
        elif kind == "cmd":
            position = _command(value, text, position, tokens)
    return tokens


def _follows_number(tokens: list[Token], text: str, position: int) -> bool:
    """Tells whether a number stands directly before a position of the text."""
    return _ends_number(tokens) and not text[position - 1].isspace()


def _ends_number(tokens: list[Token]) -> bool:
    """Returns whether a number that is no index or exponent stands at the end.

    A `!` behind it is a factorial, as in `3!=6`.
    """
    marks = {Token("op", "^"), Token("op", "_")}
    return (
        bool(tokens) and tokens[-1].kind == "num" and (len(tokens) < 2 or tokens[-2] not in marks)
    )


def _ends_value(tokens: list[Token]) -> bool:
    """Returns whether a number or a fraction ends the text, so that `min` means minutes."""
    return bool(tokens) and (tokens[-1].kind == "num" or tokens[-1] == Token("op", "}"))


def _operator(value: str) -> list[Token]:
    if value in {"$", "~", "`", '"'}:
        return []
    same = {"<=": "le", ">=": "ge", "!=": "ne", "/=": "ne"}
    if value in same:
        return [Token("cmd", same[value])]
    return [
        Token("op", {"==": "=", ":=": "=", "**": "^", "->": "to", "=>": "to"}.get(value, value))
    ]


def _word(value: str, *, follows_value: bool) -> list[Token]:
    """A run of letters is a function, a unit, a word or a product of letters."""
    if len(value) > 1 and value in WORD_COMMANDS and not (value == "min" and follows_value):
        return _named(WORD_COMMANDS[value])
    if len(value) == 1 or _is_product(value, follows_value=follows_value):
        return [Token("name", letter) for letter in value]
    return [Token("text", value)]


def _is_product(value: str, *, follows_value: bool) -> bool:
    """Tells whether a run of letters is a product of them, and neither a unit nor a word."""
    lower = value.lower()
    if lower in words.PLAIN_UNITS and _PRODUCT_OF_TWO.fullmatch(value):
        return value == "GM" or not follows_value
    if lower in _WORDS or (value == "min" and follows_value):
        return False
    return _is_in_capitals(value) or (len(value) < 4 and _are_usual_factors(lower))


def _is_in_capitals(value: str) -> bool:
    """Tells whether letters are all capitals, or few with a capital behind the first: `GMm`."""
    return value.isupper() or (len(value) <= 4 and not value[1:].islower())


def _are_usual_factors(letters: str) -> bool:
    """Tells whether letters are usual for factors, or all different."""
    different = set(letters)
    return different <= _FACTORS or len(different) == len(letters)


def _named(name: str) -> list[Token]:
    if name in GREEK:
        return [Token("name", "\\" + name)]
    return [Token("cmd", name)]


def _command(name: str, text: str, position: int, tokens: list[Token]) -> int:
    """Append the tokens of one command; returns where to go on."""
    name = name if name == "*" else name.rstrip("*")
    if name in _SIGNS:
        tokens.append(Token("op", _SIGNS[name]))
    elif name in CURRENCIES:
        tokens.append(Token("text", CURRENCIES[name]))
    elif name in _DROPPED_WITH_ARGUMENT:
        return _argument(text, position)[1]
    elif name in TEXTS:
        content, position = _argument(text, position)
        tokens.extend(_text_macro(name, content, follows_value=_ends_value(tokens)))
    elif name in {"begin", "end", "mathbb"}:
        content, position = _argument(text, position)
        content = content.strip()
        tokens.append(Token("cmd", f"{name}:{content.rstrip('*')}"))
        if (name, content) in _WITH_COLUMNS:
            position = _argument(text, position)[1]
    elif name not in SPACING and name not in FONTS:
        tokens.append(_symbol(SAME.get(name, name)))
    return position


_SIGNS = {"%": "%", "_": "_", "#": "#", "&": "&", "{": "\\{", "}": "\\}"}
_WITH_COLUMNS = {("begin", "array"), ("begin", "tabular")}
"""Commands that a description of columns follows."""
_DROPPED_WITH_ARGUMENT = {
    *WITH_ARGUMENT,
    *("textcolor", "colorbox", "stackrel", "overset", "underset"),
}


def _symbol(name: str) -> Token:
    """The token of a command without an argument.

    It is a bracket, an operator, a letter or a command of the grammar.
    """
    if name in {"{", "}"}:
        return Token("op", "\\" + name)
    if name in OPERATORS:
        return Token("op", name)
    if len(name) == 1:
        return Token("name", name)
    if name in GREEK:
        return Token("name", "\\" + name)
    return Token("cmd", name)


def _text_macro(name: str, content: str, *, follows_value: bool) -> list[Token]:
    if content.strip(" ~") == "min" and follows_value:
        return [Token("text", "min")]
    return _text(content, upright=name in {"mathrm", "operatorname"})


def _argument(text: str, position: int) -> tuple[str, int]:
    opening = _ARGUMENT.match(text, position)
    if opening is None:
        following = re.compile(r"\s*(\S?)").match(text, position)
        assert following is not None
        return following.group(1), following.end()
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, opening.end()):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
        if depth == 0:
            return text[opening.end() : match.start()], match.end()
    raise TooComplex("an argument is not closed")


def _text(content: str, *, upright: bool) -> list[Token]:
    r"""Returns the tokens of `\text{...}`.

    Mathematics written in it is mathematics, the rest is one text token.
    """
    if content.strip() == r"\$":
        return [Token("text", "dollar")]
    stripped = _FORMULA_MARK.sub("", _INNER_SPACING.sub(" ", content)).strip()
    if not stripped:
        return []
    if len(stripped) == 1 and (upright or not stripped.isalnum()):
        return _scan(stripped)
    if stripped in WORD_COMMANDS and (upright or stripped in _FUNCTION_WORDS):
        return _named(WORD_COMMANDS[stripped])
    return _announced_value(stripped)


def _announced_value(text: str) -> list[Token]:
    """The tokens of a number behind its announcement, of a formula, or of words."""
    announced = words.after_announcement(text)
    if _BEGINS_NUMBER.match(announced):
        return _scan(announced)
    return _scan(text) if _is_formula(text) else [Token("text", text)]


def _is_formula(text: str) -> bool:
    """Tells whether a text is a percentage, letters of choices, or holds a command."""
    if "\\" in text or _PERCENTAGE.fullmatch(text):
        return True
    return _LETTERS.fullmatch(text) is not None
