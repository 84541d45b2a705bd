"""From the text of a reply to a JSON value: end tokens off, then parse, then search."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import fraction

END_TOKENS = ("</s>", "<|eot_id|>", "<|im_end|>")
"""End tokens of the model families that the prompts are wrapped for."""

STATUSES = ("valid_json", "null_json", "extract_success", "extract_failure")

# All attempts on one text together may read this many characters: the search is quadratic on
# hostile text.
_MAX_READ = 8_000_000
# An error counts the lines before its place, so many characters in the time of one that is decoded.
_LINE_COUNT = 100


def strip_eos(text: str, mode: str = CORRECTED) -> str:
    """The reply without end-of-sequence tokens.

    Corrected: literal end tokens (`END_TOKENS`) at the end, repeated, with blanks around them.
    Compat: the characters `<`, `/`, `s` and `>` at both ends, which is what `str.strip("</s>")` of
        the original does.

    >>> strip_eos("three models </s></s>"), strip_eos("three models", mode="compat")
    ('three models', 'three model')
    """
    if is_compat(mode, "end_token"):
        return text.strip("</s>")
    end = len(text)
    while True:
        # Walked from behind, each character once: a pattern would try every blank and token as a
        # beginning.
        token = _before_blanks(text, end)
        suffix = next(
            (end_token for end_token in END_TOKENS if text.endswith(end_token, 0, token)), None
        )
        if suffix is None:
            return text[: token if end < len(text) else end]
        end = token - len(suffix)


def _before_blanks(text: str, end: int) -> int:
    """The place behind the last character before `end` that is no blank."""
    while end and text[end - 1].isspace():
        end -= 1
    return end


Found = tuple[int, int, Any]
"""Start, end and value of a JSON text within a reply."""


def _balanced_span(text: str, opener: str, closer: str) -> Found | None:
    """The original's scan: first span with balanced delimiters that parses.

    Quotes mean nothing to it.
    """
    depth, start = 0, -1
    for position, character in enumerate(text):
        if character == opener:
            if depth == 0:
                start = position
            depth += 1
        elif character == closer:
            depth -= 1
            if depth == 0 and start != -1:
                try:
                    return (start, position + 1, json.loads(text[start : position + 1]))
                except json.JSONDecodeError:
                    start = -1
    return None


def _decoded_spans(text: str, opener: str, before: int) -> Iterator[Found]:
    """JSON texts that a decoder reads at the openers before a place, left to right."""
    decoder = json.JSONDecoder()
    position = text.find(opener, 0, before)
    budget = _MAX_READ
    while position != -1 and budget > 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            # A string without its end was read to the end of the text, and the error names its
            # beginning.
            budget -= (
                len(text) if error.msg.startswith("Unterminated") else error.pos + 1 - position
            )
            budget -= error.pos // _LINE_COUNT
        except (ValueError, RecursionError):
            budget -= len(text)
        else:
            budget -= end - position
            yield position, end, value
        position = text.find(opener, position + 1, before)


def _delimiters(default: Any) -> tuple[str, str]:
    """Opener and closer of the values that are looked for.

    Raises:
        ValueError: `default` is neither a list nor an object.
    """
    if isinstance(default, dict):
        return "{", "}"
    if isinstance(default, list):
        return "[", "]"
    raise ValueError(
        "the default must be a list or an object, it says which delimiters to look for"
    )


def _mended(text: str, task: str | None) -> str:
    """The reply with the one fault mended that the original knows.

    The fault is a list of relations closed with `}`.
    """
    if task != "EvidenceInference":
        return text
    text = text.strip()
    return text[:-1] + "]" if text.endswith("}") else text


def json_values(text: str, default: Any, task: str | None = None) -> Iterator[Any]:
    """All complete JSON values of the default's type in a reply.

    They come from left to right, and none lies inside another.

    Args:
        text: The reply without end tokens.
        default: A list or an object, which says what to look for.
        task: Class name of the task in the original, see `json_parse`.

    Raises:
        ValueError: `default` is neither a list nor an object.

    >>> list(json_values('see [1, [2]], then ["a"]', default=[]))
    [[1, [2]], ['a']]
    """
    opener, _ = _delimiters(default)
    text = _mended(text, task)
    behind = 0
    for start, end, value in _decoded_spans(text, opener, len(text)):
        if start >= behind:
            behind = end
            yield value


def _search(text: str, opener: str, closer: str) -> Found | None:
    """The original's scan, mended where it finds nothing or a piece of something larger."""
    try:
        balanced = _balanced_span(text, opener, closer)
    except (ValueError, RecursionError):
        balanced = (
            None  # a number of thousands of digits, or nesting beyond the interpreter's stack
        )
    if balanced is None:
        return next(_decoded_spans(text, opener, len(text)), None)
    # A closer inside a string can make the scan take a list within the list that was meant.
    larger = (span for span in _decoded_spans(text, opener, balanced[0]) if span[1] >= balanced[1])
    return next(larger, balanced)


def json_parse(
    text: str, default: Any, task: str | None = None, mode: str = CORRECTED
) -> dict[str, Any]:
    """The JSON value of a reply, with how it was found.

    A text that is JSON is taken whatever its type (`valid_json`); `null` or `"null"` gives the
    default (`null_json`). Otherwise the first balanced span that parses is taken
    (`extract_success`), delimiters `[ ]` for a list default and `{ }` for an object default.
    Nothing found gives the default (`extract_failure`). Corrected mode then also tries a JSON
    decoder at each opener from left to right, which finds what the scan loses: JSON after an
    unmatched closer, with delimiters inside strings, or inside a larger span that does not parse.
    So prose without brackets, or a fence, around JSON of the task's own type never changes what is
    read; `answer.read_answer` also copes with prose that holds JSON.

    Args:
        text: The reply without end tokens.
        default: Value for failures: a list or an object, which also says what to look for.
        task: Class name of the task in the original; "EvidenceInference" mends lists closed with
            `}`.
        mode: "corrected" or "compat".

    Returns:
        `{"status": one of STATUSES, "value": the JSON value}`.

    Raises:
        ValueError: `default` is neither a list nor an object; in compat mode also what the original
            raises on numbers of more than 4,300 digits (ValueError) and on extreme nesting
            (RecursionError).

    >>> json_parse('Sure: ["a"] as asked', default=[])
    {'status': 'extract_success', 'value': ['a']}
    """
    compat = is_compat(mode, "json_search")
    opener, closer = _delimiters(default)
    text = _mended(text, task)
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        pass
    except (ValueError, RecursionError):
        if compat:
            raise
    else:
        if value is None or value == "null":
            return {"status": "null_json", "value": copy.deepcopy(default)}
        return {"status": "valid_json", "value": value}
    span = _balanced_span(text, opener, closer) if compat else _search(text, opener, closer)
    if span is not None:
        return {"status": "extract_success", "value": span[2]}
    return {"status": "extract_failure", "value": copy.deepcopy(default)}


def count_statuses(statuses: Iterable[str]) -> dict[str, float]:
    """Number of replies by status, with the share of `valid_json` and `extract_success`."""
    counts: dict[str, float] = dict.fromkeys(STATUSES, 0)
    for status in statuses:
        counts[status] += 1
    usable = counts["valid_json"] + counts["extract_success"]
    return counts | {"frac_success": fraction(usable, sum(counts.values()))}


def json_counts(
    texts: Iterable[str], default: Any, task: str | None = None, mode: str = CORRECTED
) -> dict[str, float]:
    """Number of replies by parse status.

    `frac_success` in [0, 1] is 0 for no replies, higher is better.

    >>> json_counts(["[1]", "none"], default=[])["frac_success"]
    0.5
    """
    return count_statuses(json_parse(text, default, task, mode)["status"] for text in texts)


METRICS: dict[str, Callable[..., Any]] = {
    "science.json_counts": json_counts,
    "science.json_parse": json_parse,
    "science.strip_eos": strip_eos,
}
