r"""A JSON value out of a reply that may wrap, decorate or damage it.

Three steps, the first success wins, and the status says which it was: the whole text as strict
JSON; the longest complete value that a JSON decoder finds at an opening bracket; json-repair on
what looks like the value. A value that was cut off at its end is mended as a whole, and no part of
it is an answer; values inside program text are none either. Callers that must not profit from
repair look at the status. The rule of the SciRIFF evaluation, which differs (first value instead of
longest, no repair), is `custom_metrics.science.reply.json_parse`.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import Any, Literal, NamedTuple, NoReturn

Kind = Literal["object", "array", "any"]
JsonStatus = Literal["valid", "null", "extracted", "repaired", "failed"]

MAX_CHARS = 1_000_000
"""Longer texts are `failed` without a look."""
MAX_REPAIR_CHARS = 20_000
MAX_DEPTH = 200
"""Deeper nesting is no answer to any question; json-repair recurses on it."""
# A failed attempt reads up to the place of its error; all attempts on one text together may read
# this much.
_MAX_DECODED_CHARS = 4_000_000
_MAX_ATTEMPTS = 20_000

_OPENER = re.compile(r"[\[{]")
# Prose in brackets ("[see above]", "{x | x > 0}") is not a damaged value.
_LIKE_OBJECT = re.compile(r"\{\s{0,200}(?:[\"'“”]|(?:#|//|/\*)|[A-Za-z_]\w{0,80}\s{0,8}:|\})")
_LIKE_ARRAY = re.compile(
    r"\[\s{0,200}(?:[\"'“”\[{\]]|(?:#|//|/\*)|-?\d|(?:true|false|null|None|True|False)\b)"
)


_BEGINS_VALUE = re.compile(r"\{\s{0,200}(?:\"|\Z)|\[\s{0,200}(?:[\"\[{]|-?\d|\Z)")
_HALF = r"-|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?"
_HALF_LITERAL = re.compile(_HALF)
_HALF_LITERAL_MAX = "false "
_OPEN_KEY = r"\{\s{0,40}\"[^\"\n]{0,200}"
_KEY_ALONE = rf"\"[^\"\n]{{0,200}}\"\s{{0,40}}:\s{{0,40}}(?:{_HALF})?"
# A key without its value, or the half of one, at the end of a text that was cut off.
_DANGLING = re.compile(rf",?\s{{0,40}}(?:{_OPEN_KEY}|{_KEY_ALONE})\s{{0,40}}\Z")
_MAX_DANGLING = 400
# Program text: statements at the beginning of a line, in a fenced block or a paragraph of its own.
_PROGRAM_LINE = re.compile(
    r"^[ \t]*(?:def\s+\w+\s*\(|class\s+\w+|import\s+[\w.]+|from\s+[\w.]+\s+import\b|return\b"
    r"|print\s*\(|function\b[^\n]{0,80}\("
    r"|(?:const|let|var)\s+\w+\s*=|console\.log|public\s+|#include\b|[A-Za-z_]\w*\s*=\s*[\[{(\w])",
    re.MULTILINE,
)
_DEFINITION_LINE = re.compile(
    r"^[ \t]*(?:def\s+\w+\s*\([^\n]*:\s*$|class\s+\w[^\n]*:\s*$|import\s+[\w.]+\s*$"
    r"|from\s+[\w.]+\s+import\b"
    r"|function\s+(?:\w+\s*)?\(|(?:const|let|var)\s+\w+\s*=|#include\b)",
    re.MULTILINE,
)
_FENCE = "```"
_DATA_FENCE = re.compile(r"(?:json5?|jsonc|jsonl)?\s*[\[{]", re.IGNORECASE)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _is(value: Any, kind: Kind) -> bool:
    if kind == "object":
        return isinstance(value, dict)
    if kind == "array":
        return isinstance(value, list)
    return isinstance(value, (dict, list))


class _Search(NamedTuple):
    """The values that a JSON decoder finds at the opening brackets of a text.

    Attributes:
        best: The longest complete value of a kind, or None.
        spans: Start and end of every complete value.
        unfinished: Where a value begins that the end of the text cuts off, or None.
    """

    best: Any
    spans: list[tuple[int, int]]
    unfinished: int | None


def _search(text: str, kind: Kind) -> _Search:
    """Decodes at each opening bracket that is not part of a complete value before it."""
    best, best_length = None, 0
    spans: list[tuple[int, int]] = []
    budget = _MAX_DECODED_CHARS
    text_end = len(text.rstrip())
    opener = _OPENER.search(text)
    attempts = 0
    while opener and budget > 0 and attempts < _MAX_ATTEMPTS:
        attempts += 1
        start = opener.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if _is_cut_off(error, text_end) and _BEGINS_VALUE.match(text, start):
                return _Search(best, spans, start)
            budget -= max(error.pos - start, 1)
            end = start + 1
        except (ValueError, RecursionError):
            # NaN, a number of thousands of digits, nesting beyond the stack
            budget -= 10_000
            end = start + 1
        else:
            spans.append((start, end))
            if end - start > best_length and _is(value, kind):
                best = value
                best_length = end - start
        opener = _OPENER.search(text, end)
    return _Search(best, spans, None)


def _is_cut_off(error: json.JSONDecodeError, text_end: int) -> bool:
    """Tells whether a value is in order up to the end of the text.

    A literal or a string at the end may be half written.
    """
    if error.pos >= text_end or error.msg.startswith("Unterminated string"):
        return True
    rest = error.doc[error.pos : error.pos + len(_HALF_LITERAL_MAX)]
    return error.pos + len(rest) >= text_end and _HALF_LITERAL.fullmatch(rest.strip()) is not None


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


def _without_programs(text: str) -> str:
    """Blank out program text, whose objects are no answers; places stay as they are."""
    pieces = text.split(_FENCE)
    for place, piece in enumerate(pieces):
        is_fenced = place % 2 == 1
        if is_fenced and not _DATA_FENCE.match(piece) and _PROGRAM_LINE.search(piece):
            pieces[place] = " " * len(piece)
        elif not is_fenced and _DEFINITION_LINE.search(piece):
            paragraphs = piece.split("\n\n")
            pieces[place] = "\n\n".join(
                " " * len(paragraph) if _DEFINITION_LINE.search(paragraph) else paragraph
                for paragraph in paragraphs
            )
    return _FENCE.join(pieces)


_PATTERNS = {"object": (_LIKE_OBJECT,), "array": (_LIKE_ARRAY,), "any": (_LIKE_OBJECT, _LIKE_ARRAY)}


def _damaged_region(text: str, kind: Kind, search: _Search) -> str | None:
    """Cuts out what looks like a damaged value.

    A region inside a complete value is part of that value.
    """
    if search.unfinished is not None:
        region = text[search.unfinished :]
        return region[:-_MAX_DANGLING] + _DANGLING.sub("", region[-_MAX_DANGLING:])
    starts = []
    for pattern in _PATTERNS[kind]:
        places = (match.start() for match in pattern.finditer(text))
        first = next((place for place in places if _is_outside(place, search.spans)), None)
        if first is not None:
            starts.append(first)
    if not starts:
        return None
    start = min(starts)
    last_closer = max(text.rfind("}"), text.rfind("]"))
    # Without a closing bracket behind it the value was cut off, and everything up to the end
    # belongs to it.
    if last_closer > start:
        return text[start : last_closer + 1]
    return text[start:]


def _repaired(text: str, kind: Kind, search: _Search) -> Any:
    """Returns what json-repair makes of the region that looks like a value of a kind, or None.

    Raises:
        Exception: json-repair failed, in whatever way, or found NaN.
    """
    import json_repair

    region = _damaged_region(text, kind, search)
    if region is None or len(region) > MAX_REPAIR_CHARS or _too_deep(region):
        return None
    value = json_repair.loads(region)
    if not _is(value, kind) or not value:
        return None
    json.dumps(value, allow_nan=False)  # ValueError for NaN and Infinity, which are not JSON
    return value


def extract_json(text: str, kind: Kind = "any") -> tuple[Any, JsonStatus]:
    r"""Reads the JSON value of a reply.

    Args:
        text: A reply without thinking traces and end tokens.
        kind: What the question asked for: an `object`, an `array`, or `any` of the two. A value of
            the other kind is not an answer; with `any`, a whole text that is a JSON number, string
            or boolean is valid too.

    Returns:
        The value and a status: `valid` (the text is JSON), `null` (it is JSON's null, or the string
        "null"), `extracted` (found in the text), `repaired` (by json-repair), `failed`. The value
        is None for `null` and `failed`.

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
    text = _without_programs(text)
    search = _search(text, kind)
    if search.best is not None:
        return search.best, "extracted"
    try:
        value = _repaired(text, kind, search)
    except Exception:  # noqa: BLE001
        # json-repair promises no exception classes, and a reply must not stop a run.
        value = None
    if value is not None:
        return (value, "repaired")
    return (None, "failed")


METRICS = {"extract.json": extract_json}
