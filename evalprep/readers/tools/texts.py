"""Texts, labels and numbers as other tools write them, in one form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalprep.numbers import finite_number

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: An option on a line of its own.
_LISTED = re.compile(r"^[ \t]*\(?([A-Z])[).:][ \t]+(\S.*)$", re.MULTILINE)


def as_list(value: Any) -> list[Any]:
    """Returns a list as it is; an empty one for anything else."""
    return value if isinstance(value, list) else []


def mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """Returns the mappings of a list; none of anything else.

    >>> mappings_in([{"a": 1}, "b", {}]), mappings_in(None)
    ([{'a': 1}, {}], [])
    """
    return [item for item in as_list(value) if isinstance(item, Mapping)]


def text_or_none(value: Any) -> str | None:
    """Returns a text or number as text, else None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def whole_or_none(value: Any) -> int | None:
    """Returns a whole number, else None; true and false are none."""
    return value if type(value) is int else None


def count_or_none(value: Any) -> int | None:
    """Returns a whole number from 0 on, else None."""
    return value if type(value) is int and value >= 0 else None


def first_text(values: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """Returns the first text or number of some keys that is not empty, else that of the last key.

    >>> first_text({"model_path": "", "model": "gpt2"}, ("model_path", "model"))
    'gpt2'
    """
    text = None
    for key in keys:
        text = text_or_none(values.get(key))
        if text:
            return text
    return text


def texts_of(value: Any) -> list[str]:
    """Returns the texts of a list, or of a single text.

    >>> texts_of(["a", None, 2]), texts_of("b"), texts_of(None)
    (['a', '2'], ['b'], [])
    """
    items = value if isinstance(value, list) else [value]
    texts = []
    for item in items:
        text = text_or_none(item)
        if text is not None:
            texts.append(text)
    return texts


def stripped(choices: Any) -> list[str] | None:
    """Returns choices without the blanks around them; None without any."""
    texts = [text.strip() for text in texts_of(choices)]
    return texts or None


def score_of(value: Any) -> float | None:
    """Returns a verdict or number as a number; None for anything else, NaN among it."""
    if isinstance(value, bool):
        return float(value)
    return finite_number(value)


def numbers_of(values: Any) -> dict[str, float | None]:
    """Returns the numbers of a mapping; a text, a list or a mapping in it is no verdict."""
    if not isinstance(values, Mapping):
        return {}
    return {str(name): score_of(value) for name, value in values.items()}


def index_of(label: Any, choices: Sequence[str] | None) -> int | None:
    """Returns the place of a choice that a letter names; None where it names none.

    >>> index_of("B", ["yes", "no"]), index_of("C", ["yes", "no"]), index_of("B", ["B", "A"])
    (1, None, 0)
    """
    if not choices or not isinstance(label, str):
        return None
    word = label.strip()
    if word in choices:
        return list(choices).index(word)
    if len(word) != 1:
        return None
    place = _LETTERS.find(word)
    return place if 0 <= place < len(choices) else None


def resolved(label: str | None, choices: Sequence[str] | None) -> str | None:
    """Returns the choice that a letter names; a text that names none stays as it is."""
    place = index_of(label, choices)
    if place is None or choices is None:
        return label
    return choices[place]


def chosen(choices: Sequence[str] | None, place: int | None) -> str | None:
    """Returns the choice at a place; None where there is none."""
    if not choices or place is None:
        return None
    return choices[place] if 0 <= place < len(choices) else None


def listed_choices(labels: Sequence[str] | None, question: str) -> list[str] | None:
    r"""Returns the texts of choices that are scored as letters, from the lines of the question.

    None where the choices are no letters in order, or the last such lines list other ones.

    >>> listed_choices(["A", "B"], "Which animal barks?\nA. Cat\nB. Dog\nAnswer:")
    ['Cat', 'Dog']
    >>> listed_choices(["A", "B"], "Which animal barks?"), listed_choices(["Cat", "Dog"], "A. Cat")
    (None, None)
    """
    letters = [_bare(label) for label in labels or ()]
    expected = list(_LETTERS[: len(letters)])
    if len(letters) < 2 or letters != expected:
        return None
    options = _LISTED.findall(question)[-len(letters) :]
    if [letter for letter, _ in options] != letters:
        return None
    return [text.rstrip(" \t") for _, text in options]


def _bare(label: str) -> str:
    return label.strip().strip("().")


def first_maximum(values: Sequence[float]) -> int | None:
    """Returns the place of the first of the largest numbers; None without numbers."""
    if not values:
        return None
    return max(range(len(values)), key=lambda place: (values[place], -place))


def best_choice(
    logprobs: Sequence[float], choices: Sequence[str] | None, *, by_length: bool
) -> int | None:
    """Returns the choice of greatest log-probability.

    Args:
        logprobs: One for each choice.
        choices: The choices without leading blanks.
        by_length: Divide by the characters of the choice, as `acc_norm` does.
    """
    if not by_length or not choices or len(choices) != len(logprobs):
        return first_maximum(logprobs)
    pairs = zip(logprobs, choices, strict=True)
    by_character = [logprob / max(len(choice), 1) for logprob, choice in pairs]
    return first_maximum(by_character)


def content_text(content: Any) -> str:
    """Returns the text of a message, which may be a list of parts.

    >>> content_text([{"type": "text", "text": "a"}, {"type": "image", "image": "x"}])
    'a'
    """
    if not isinstance(content, list):
        return text_or_none(content) or ""
    parts = [_text_of_part(part) for part in content]
    return "\n".join(texts_of(parts))


def _text_of_part(part: Any) -> Any:
    return part.get("text") if isinstance(part, Mapping) else part


def last_turn(messages: Any, role: str) -> str | None:
    """Returns the text of the last message of a role; None without one."""
    turns = [turn for turn in mappings_in(messages) if turn.get("role") == role]
    if not turns:
        return None
    content = turns[-1].get("content")
    return content_text(content)


def before_reply(messages: Any) -> list[Mapping[str, Any]]:
    """Returns the messages before the first reply."""
    before: list[Mapping[str, Any]] = []
    for turn in mappings_in(messages):
        if turn.get("role") == "assistant":
            break
        before.append(turn)
    return before


def chat_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """Returns a chat as a JSON list of roles and texts."""
    turns = []
    for turn in messages:
        content = content_text(turn.get("content"))
        turns.append({"role": turn.get("role"), "content": content})
    return json.dumps(turns, ensure_ascii=False)


def prompt_text(prompt: Any) -> str | None:
    """Returns a text or number as text, a chat as a JSON list, texts as lines; else None."""
    if not isinstance(prompt, list):
        return text_or_none(prompt)
    turns = mappings_in(prompt)
    if turns:
        return chat_text(turns)
    text = "\n".join(texts_of(prompt))
    return text or None


def question_in(prompt: Any) -> str | None:
    """Returns the last user turn of a chat; None for a prompt that is a text."""
    if not isinstance(prompt, list):
        return None
    return last_turn(prompt, "user")
