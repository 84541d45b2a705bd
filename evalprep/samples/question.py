"""What the row of a data set asks: its question, and its choices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Fields of a data set's row that hold its question, the most telling first.
_QUESTION_FIELDS = (
    *("question", "Question", "problem", "input_question", "input", "query", "prompt"),
)
_CHOICE_FIELDS = ("choices", "options", "input_choice_list")


def question_text(doc: Mapping[str, Any]) -> str:
    """Returns the question of a data set's row; empty where no field holds one."""
    for name in _QUESTION_FIELDS:
        value = doc.get(name)
        if isinstance(value, str) and value.strip():
            narrative = doc.get("narrative")
            return f"{narrative} {value}" if isinstance(narrative, str) else _last_turn(value)
    return ""


def _last_turn(text: str) -> str:
    """Returns what the user wrote last in a dialog that a field keeps as JSON.

    Any other text as it is.

    >>> _last_turn('{"dialog": [{"source": "user", "body": "Sing."}, {"source": "assistant"}]}')
    'Sing.'
    """
    if not text.startswith('{"dialog"'):
        return text
    try:
        turns = json.loads(text)["dialog"]
    except (ValueError, KeyError):
        return text
    bodies = [turn.get("body") for turn in turns if isinstance(turn, dict)]
    texts = [body for body in bodies if isinstance(body, str)]
    return texts[-1] if texts else text


def choice_texts(doc: Mapping[str, Any]) -> list[str]:
    """Returns the choices of a data set's row: a list of texts, or a mapping with one.

    A label without a text is no choice. Empty where no field holds choices.

    >>> choice_texts({"options": {"A": "red", "B": "blue", "C": None}})
    ['red', 'blue']
    """
    for name in _CHOICE_FIELDS:
        value = doc.get(name)
        if isinstance(value, Mapping):
            value = value.get("text", [item for item in value.values() if item is not None])
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return value
    return []
