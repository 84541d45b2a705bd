"""A text from which a regular expression reads a given answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from evalprep.check.automaton import CATEGORIES

#: Letters that stand for a class of characters, the first that fits.
_SAMPLES = "a0 .A\n"
_LOOPS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT})


def text_with(pattern: str, answer: str) -> str | None:
    r"""Returns a short text in which the first group of a pattern is the answer; None without one.

    Loops take as few rounds as they may, and alternatives are tried in their order.

    Args:
        pattern: The regular expression, as `re.findall` gets it.
        answer: What its first group should hold, blanks around it apart.

    >>> text_with(r"capital is (\w+)", "Paris"), text_with(r"<a>(.*?)</a>", "B")
    ('capital is Paris', '<a>B</a>')
    >>> text_with(r"answer is (\d+)", "Paris") is None
    True
    """
    try:
        tree, compiled = parser.parse(pattern), re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
    if not compiled.groups:
        return None
    text = _Writer(answer).write(tree)
    match = compiled.search(text)
    if match is None:
        return None
    groups = [group for group in match.groups() if group]
    return text if groups and groups[0].strip() == answer.strip() else None


def can_write(pattern: str) -> bool:
    r"""Returns whether texts for a pattern can be made here; not where it rests on context.

    >>> can_write(r"capital is (\w+)"), can_write(r"(?!a)(?=b|a)(\w)(?<!b)")
    (True, False)
    """
    try:
        tree, compiled = parser.parse(pattern), re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return compiled.search(_Writer(None).write(tree)) is not None


class _Writer:
    """Writes what a parsed pattern matches.

    Args:
        answer: The content of its first group; None for what the group itself matches.
    """

    def __init__(self, answer: str | None) -> None:
        self._answer = answer
        self._groups: dict[int, str] = {}

    def write(self, tree: Iterable[tuple[Any, Any]]) -> str:
        """The text of a sequence."""
        return "".join(self._part(code, argument) for code, argument in tree)

    def _part(self, code: Any, argument: Any) -> str:
        if code is op.SUBPATTERN:
            return self._group(argument[0], argument[-1])
        if code in _LOOPS:
            least, _, inner = argument
            rounds: int = max(least, 1) if not self._groups and _has_group(inner) else least
            return self.write(inner) * rounds
        if code is op.GROUPREF:
            return self._groups.get(argument, "")
        inner = _sequence_in(code, argument)
        return _character(code, argument) if inner is None else self.write(inner)

    def _group(self, number: int | None, inner: Any) -> str:
        if number is None:
            return self.write(inner)
        if not self._groups and self._answer is not None:
            self._groups[number] = self._answer  # an inner group is part of it
            return self._answer
        self._groups[number] = self.write(inner)
        return self._groups[number]


def _sequence_in(code: Any, argument: Any) -> Any:
    """The sequence that stands in an item: of alternatives the first that captures, else the first.

    None for an item without any.
    """
    if code is op.BRANCH:
        return next(filter(_has_group, argument[1]), argument[1][0])
    if code is op.ASSERT:
        return argument[1]
    return argument if code is op.ATOMIC_GROUP else None


def _character(code: Any, argument: Any) -> str:
    """One character that an item matches; nothing for a place such as the end of a line."""
    named = [chr(number) for number in _numbers(code, argument)]
    return next((letter for letter in [*named, *_SAMPLES] if _fits(code, argument, letter)), "")


def _numbers(code: Any, argument: Any) -> list[int]:
    """The characters that an item names, in its order."""
    if code is op.LITERAL:
        return [argument]
    if code is op.RANGE:
        return [argument[0]]
    items = argument if code is op.IN else []
    return list(chain.from_iterable(_numbers(kind, value) for kind, value in items))


def _fits(code: Any, argument: Any, letter: str) -> bool:
    """Returns whether an item of one character matches a letter."""
    if code is op.IN:
        is_negated = argument[0][0] is op.NEGATE
        items = argument[1:] if is_negated else argument
        return any(_fits(kind, value, letter) for kind, value in items) is not is_negated
    if code is op.RANGE:
        return bool(argument[0] <= ord(letter) <= argument[1])
    if code is op.CATEGORY:
        return re.match(CATEGORIES[argument], letter) is not None
    if code in {op.LITERAL, op.NOT_LITERAL}:
        return (ord(letter) == argument) is (code is op.LITERAL)
    return code is op.ANY and letter != "\n"


def _has_group(tree: Any) -> bool:
    """Returns whether a sequence holds a group that captures."""
    for code, argument in tree:
        if code is op.SUBPATTERN and (argument[0] is not None or _has_group(argument[-1])):
            return True
        if code is op.BRANCH and any(map(_has_group, argument[1])):
            return True
        if code in _LOOPS and _has_group(argument[2]):
            return True
    return False
