"""Verdicts as other tools write them, as numbers; None is "no verdict"."""

from __future__ import annotations

import re
from typing import Any

from evalprep.readers.tools.texts import score_of

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_UNSURE = ("P", "N")  # partially correct, no answer
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_TABLE_WORDS = {**_WORDS, "correct": 1.0, "incorrect": 0.0, "right": 1.0, "wrong": 0.0}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+")


def inspect_value(value: Any, *, strict: bool = False) -> float | None:
    """Returns the value of an inspect_ai score as a number.

    inspect_ai counts what is no number, letter or word of its own as 0; here it is no verdict.

    Args:
        value: The value.
        strict: `P` (partially correct) and `N` (no answer) are no verdict.

    >>> [inspect_value(value) for value in ("C", "P", "no", "0.25", True, "unsure", [1], "nan")]
    [1.0, 0.5, 0.0, 0.25, 1.0, None, None, None]
    """
    if not isinstance(value, str):
        return score_of(value)
    word = value.strip()
    if word in _LETTERS:
        return None if strict and word in _UNSURE else _LETTERS[word]
    return _WORDS.get(word.lower(), _number(word))


def table_score(value: Any) -> float | None:
    """Returns the verdict in a cell of a table.

    >>> [table_score(value) for value in ("TRUE", "wrong", "0.5", "", "NaN", "0,5", "maybe", 1)]
    [1.0, 0.0, 0.5, None, None, None, None, 1.0]
    """
    if not isinstance(value, str):
        return score_of(value)
    word = value.strip()
    return _TABLE_WORDS.get(word.lower(), _number(word))


def has_decimal_comma(value: Any) -> bool:
    """Returns whether a cell is a number with a comma in place of the point."""
    return isinstance(value, str) and bool(_WITH_COMMA.fullmatch(value.strip()))


def _number(word: str) -> float | None:
    return score_of(float(word)) if _NUMBER.fullmatch(word) else None
