"""Arguments of the checkers.

Mended after their way through a table, and refused where a checker would draw its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXTS = ("letter", "keyword", "keywords", "forbidden_words")
"""Arguments for which a checker puts random ones where they are empty."""
_MAY_BE_NEGATIVE = ("capital_frequency",)
"""The one count that the checkers take as it is; they replace every other negative count by a
random one."""


def clean_arguments(arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Mends checker arguments that came through a table.

    Nulls (not zeros or false) are dropped, floats become integers again.

    >>> clean_arguments({"nth_paragraph": 2.0, "num_words": None, "capital_frequency": 0})
    {'nth_paragraph': 2, 'capital_frequency': 0}
    """
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in (arguments or {}).items()
        # NaN, which pandas writes for an absent number.
        if value is not None and value == value  # noqa: PLR0124
    }


def refusal(arguments: Mapping[str, Any]) -> str | None:
    """Says why no verdict follows from arguments.

    lm-eval's checkers draw others by lot in their place.

    Args:
        arguments: Cleaned arguments of one instruction.

    Returns:
        What is wrong with the first bad one, or None.

    >>> refusal({"num_paragraphs": 2, "nth_paragraph": 3})
    'nth_paragraph is 3 of 2 paragraphs'
    >>> refusal({"letter": "#"}) is None
    True
    """
    for name, value in arguments.items():
        if name in _TEXTS and not value:
            return f"{name} is empty"
        if isinstance(value, (int, float)) and value < 0 and name not in _MAY_BE_NEGATIVE:
            return f"{name} is {value}, below zero"
    letter = arguments.get("letter")
    if letter is not None and not (isinstance(letter, str) and len(letter) == 1):
        return f"letter is {letter!r}, not one character"
    place = arguments.get("nth_paragraph")
    paragraphs = arguments.get("num_paragraphs")
    if place is None or paragraphs is None or place in range(1, int(paragraphs) + 1):
        return None
    return f"nth_paragraph is {place} of {paragraphs} paragraphs"


def official_refusal(arguments: Mapping[str, Any]) -> str | None:
    """Says why lm-eval's own checkers have no verdict.

    The reasons are those of `refusal`, and letters outside a to z, for which they draw one.

    >>> official_refusal({"letter": "#"})
    "letter is '#', outside a to z"
    """
    letter = arguments.get("letter")
    if isinstance(letter, str) and len(letter) == 1 and not "a" <= letter.lower() <= "z":
        return f"letter is {letter!r}, outside a to z"
    return refusal(arguments)
