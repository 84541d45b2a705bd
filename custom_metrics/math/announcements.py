"""Words before an answer: announcements, labels with a colon, the name of a gradient."""

from __future__ import annotations

from itertools import takewhile

from custom_metrics.math import words
from custom_metrics.math.tokens import Token

_COLON = Token("op", ":")
_EQUALS = Token("op", "=")


def drop_announcement(tokens: list[Token]) -> None:
    """Removes `The answer is` and the like from the front.

    Of `Total cost: 16` it makes `Total cost = 16`.

    Words that change the value (`at least: 5`) stay, and the answer is then compared as text.
    """
    spoken = _words_in_front(tokens)
    end = len(spoken)
    if not 0 < end < len(tokens):
        return
    has_value = end + 1 < len(tokens)
    if words.is_announcement(" ".join(spoken)):
        has_mark = tokens[end] in {_COLON, _EQUALS} and has_value
        del tokens[: end + has_mark]
        return
    labelled = _end_of_label(spoken)
    label = " ".join(spoken[:labelled])
    if words.is_qualified(label):
        return
    is_equation = _EQUALS in tokens
    if label.endswith(":"):
        name = [Token("text", label.rstrip(": ")), _EQUALS]
        # before an equation the words say nothing; before a value they name it
        tokens[:labelled] = [] if is_equation else name
    elif tokens[end] == _COLON and has_value and not is_equation:
        tokens[end] = _EQUALS


def _words_in_front(tokens: list[Token]) -> list[str]:
    texts = takewhile(lambda token: token.kind == "text", tokens)
    return [token.text.strip() for token in texts]


def _end_of_label(spoken: list[str]) -> int:
    """The number of texts up to the first that ends with a colon, all of them without one."""
    for place, text in enumerate(spoken, 1):
        if text.endswith(":"):
            return place
    return len(spoken)


def name_gradient(tokens: list[Token]) -> None:
    r"""Reads `\nabla f` before an equals sign as a name."""
    equals = tokens.index(_EQUALS) if _EQUALS in tokens else 0
    if equals < 2:
        return
    is_gradient = tokens[0] == Token("cmd", "nabla") and tokens[1].kind == "name"
    has_arguments = tokens[2].text == "(" and tokens[equals - 1].text == ")"
    if is_gradient and (equals == 2 or has_arguments):
        name = tokens[1].text.removeprefix("\\")
        tokens[:2] = [Token("name", f"\\nabla{name}")]
