"""JSON objects and numbers in the words of a judge."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

#: Longer replies are cut from the front: the verdict stands at the end, and the search stays short.
LONGEST = 200_000
#: Each brace that opens nothing costs as much as the deepest nesting.
MOST_BRACES = 2_000
#: A quote that opens or closes a text in Python's manner, as opposed to an apostrophe in a word.
_SINGLE_QUOTE = re.compile(r"(?<=[{\[,:\s])'|'(?=\s*[}\],:])")
_DECODER = json.JSONDecoder()


def turned_quotes(text: str) -> str:
    """The text with the single quotes of Python's manner as JSON's; all places stay the same.

    >>> turned_quotes("{'a': 1}")
    '{"a": 1}'
    """
    return _SINGLE_QUOTE.sub('"', text)


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text in order of appearance, an outer one before those inside it.

    At most `MOST_BRACES` braces are tried.

    >>> list(json_objects('So: {"a": {"b": 1}} and {"c": [{"d": 2}]}'))
    [{'a': {'b': 1}}, {'b': 1}, {'c': [{'d': 2}]}, {'d': 2}]
    """
    for _, _, value in json_spans(text):
        yield from nested_objects(value)


def json_spans(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yields where each outermost JSON object of a text begins and ends, and the object.

    >>> list(json_spans('So: {"a": 1}.'))
    [(4, 12, {'a': 1})]
    """
    position = text.find("{")
    tried = 0
    while position != -1 and tried < MOST_BRACES:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield position, end, value
        position = text.find("{", end)


def nested_objects(value: Any) -> Iterator[dict[str, Any]]:
    """The object and, last, those inside it; iterative, so that depth costs no stack.

    >>> list(nested_objects({"a": [{"b": 1}]}))
    [{'a': [{'b': 1}]}, {'b': 1}]
    """
    waiting: list[Any] = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            yield current
            waiting.extend(current.values())
        elif isinstance(current, list):
            waiting.extend(current)


def finite_number(value: Any) -> float | None:
    """A number, or a text that is one; None for anything else, truth values and infinity among it.

    >>> finite_number("7"), finite_number(True), finite_number("inf")
    (7.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
