r"""A JSON value out of a reply that may wrap, decorate or damage it.

Three steps, the first success wins, and the status says which it was: the whole text as strict JSON; the longest
complete value that a JSON decoder finds at an opening bracket; json-repair on what looks like the value. Callers that
must not profit from repair look at the status. The rule of the SciRIFF evaluation, which differs (first value instead
of longest, no repair), is `custom_metrics.science.reply.json_parse`.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import Any, Literal, NoReturn

Kind = Literal["object", "array", "any"]
JsonStatus = Literal["valid", "null", "extracted", "repaired", "failed"]

MAX_CHARS = 1_000_000
"""Longer texts are `failed` without a look."""
MAX_REPAIR_CHARS = 20_000
MAX_DEPTH = 200
"""Deeper nesting is no answer to any question; json-repair recurses on it."""
# A failed attempt reads up to the place of its error; all attempts on one text together may read this much.
_MAX_DECODED_CHARS = 4_000_000
_MAX_ATTEMPTS = 20_000

_OPENER = re.compile(r"[\[{]")
# Prose in brackets ("[see above]", "{x | x > 0}") is not a damaged value.
_LIKE_OBJECT = re.compile(r"\{\s{0,200}(?:[\"'“”]|(?:#|//|/\*)|[A-Za-z_]\w{0,80}\s{0,8}:|\})")
_LIKE_ARRAY = re.compile(r"\[\s{0,200}(?:[\"'“”\[{\]]|(?:#|//|/\*)|-?\d|(?:true|false|null|None|True|False)\b)")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _is(value: Any, kind: Kind) -> bool:
    if kind == "object":
        return isinstance(value, dict)
    if kind == "array":
        return isinstance(value, list)
    return isinstance(value, (dict, list))


def _complete(text: str, kind: Kind) -> tuple[Any, list[tuple[int, int]]]:
    """Decode at each opening bracket that is not part of a complete value before it.

    Returns:
        The longest complete value of a kind, or None, and start and end of every complete value.
    """
    best, best_length = None, 0
    spans: list[tuple[int, int]] = []
    budget = _MAX_DECODED_CHARS
    opener = _OPENER.search(text)
    attempts = 0
    while opener and budget > 0 and attempts < _MAX_ATTEMPTS:
        attempts += 1
        start = opener.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            budget -= max(error.pos - start, 1)
            end = start + 1
        except (ValueError, RecursionError):  # NaN, a number of thousands of digits, nesting beyond the stack
            budget -= 10_000
            end = start + 1
        else:
            spans.append((start, end))
            if end - start > best_length and _is(value, kind):
                best, best_length = value, end - start
        opener = _OPENER.search(text, end)
    return best, spans


def _too_deep(text: str) -> bool:
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _is_outside(position: int, spans: list[tuple[int, int]]) -> bool:
    before = bisect.bisect_right(spans, position, key=lambda span: span[0])
    return before == 0 or position >= spans[before - 1][1]


def _repaired(text: str, kind: Kind, complete: list[tuple[int, int]]) -> Any:
    """Return what json-repair makes of the first region that looks like a value of a kind, or None.

    A region that begins inside a complete value is part of that value and not damaged.

    Raises:
        Exception: json-repair failed, in whatever way, or found NaN.
    """
    import json_repair

    patterns = {"object": (_LIKE_OBJECT,), "array": (_LIKE_ARRAY,), "any": (_LIKE_OBJECT, _LIKE_ARRAY)}[kind]
    first = [
        next((found.start() for found in pattern.finditer(text) if _is_outside(found.start(), complete)), None)
        for pattern in patterns
    ]
    start = min((position for position in first if position is not None), default=None)
    if start is None:
        return None
    last_closer = max(text.rfind("}"), text.rfind("]"))
    # Without a closing bracket behind it the value was cut off, and everything up to the end belongs to it.
    region = text[start : last_closer + 1] if last_closer > start else text[start:]
    if len(region) > MAX_REPAIR_CHARS or _too_deep(region):
        return None
    value = json_repair.loads(region)
    if not _is(value, kind) or not value:
        return None
    json.dumps(value, allow_nan=False)  # a repaired value is JSON too: ValueError for NaN and Infinity
    return value


def extract_json(text: str, kind: Kind = "any") -> tuple[Any, JsonStatus]:
    r"""Read the JSON value of a reply.

    Args:
        text: A reply without thinking traces and end tokens.
        kind: What the question asked for: an `object`, an `array`, or `any` of the two. A value of the other kind is
            not an answer; with `any`, a whole text that is a JSON number, string or boolean is valid too.

    Returns:
        The value and a status: `valid` (the text is JSON), `null` (it is JSON's null, or the string "null"),
        `extracted` (found in the text), `repaired` (by json-repair), `failed`. The value is None for `null` and
        `failed`.

    >>> extract_json('Here you are:\n```json\n{"a": [1, 2]}\n```', "object")
    ({'a': [1, 2]}, 'extracted')
    >>> extract_json("{'a': 1,}", "object")
    ({'a': 1}, 'repaired')
    >>> extract_json("I cannot answer [see above].")
    (None, 'failed')
    """
    if len(text) > MAX_CHARS:
        return None, "failed"
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass
    else:
        if value is None or value == "null":
            return None, "null"
        return (value, "valid") if kind == "any" or _is(value, kind) else (None, "failed")
    value, complete = _complete(text, kind)
    if value is not None:
        return value, "extracted"
    try:
        value = _repaired(text, kind, complete)
    except Exception:  # noqa: BLE001 - json-repair promises no exception classes, and a reply must not stop a run
        value = None
    return (value, "repaired") if value is not None else (None, "failed")


METRICS = {"extract.json": extract_json}
