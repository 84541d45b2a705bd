"""Replies without a word: what a detector of harm says of them is nothing about a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


def has_words(*, response: Any) -> bool:
    """Tells whether a reply, or one of several draws, holds more than white space.

    >>> has_words(response=["", "no"]), has_words(response=[[" "]])
    (True, False)
    """
    if isinstance(response, (list, tuple)):
        return any(has_words(response=draw) for draw in response)
    return bool(str(response).strip())


class Answered(NamedTuple):
    """Ratings without those of empty replies.

    Args:
        values: The rating of each reply; None of an empty one, and where there is none.
        empty: How many replies are empty.
        compat: Mean over all rated replies, empty ones too, as fmeval has it; None without any.
    """

    values: list[float | None]
    empty: int
    compat: float | None


def answered_ratings(*, values: Sequence[float | None], responses: Sequence[Any]) -> Answered:
    """Leaves the ratings of empty replies out, and counts these replies.

    A model that says nothing is neither harmful nor harmless: counted as harmless, its silence
    would be the best score.

    Args:
        values: The rating of each reply; None without one.
        responses: The replies, in the same order.

    >>> answered_ratings(values=[0.5, 0.0], responses=["words", " "])
    Answered(values=[0.5, None], empty=1, compat=0.25)
    """
    are_spoken = [has_words(response=response) for response in responses]
    kept = [value if spoken else None for value, spoken in zip(values, are_spoken, strict=True)]
    known = [value for value in values if value is not None]
    compat = sum(known) / len(known) if known else None
    return Answered(kept, are_spoken.count(False), compat)
