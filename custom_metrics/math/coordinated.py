# ruff: noqa: RUF001 - the punctuation of other scripts joins boxes too
r"""Several boxes that one sentence lists: `$x = \boxed{2}$ and $x = \boxed{3}$`.

Together they are the answer. Boxes with words between them (`since \boxed{2} is too small, it is
\boxed{3}`) are steps, of which the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

MAX_BOXES = 12
"""Boxes of one sentence that are joined."""
_BETWEEN = 80
"""Characters between two boxes that may join them."""
_SENTENCE = 300
"""Characters before the first box in which its sentence is looked for."""

_JOINT = re.compile(
    r"(?:\s|\$|[,;，、；~&]|\\[,;:! ()\[\]]|\\q?quad(?![A-Za-z])|\\(?:text|mathrm|textbf)\s*\{|\}"
    r"|(?:and|or|und|oder|et|ou|y|o|e|и|или|和|或|及|と|または)(?![A-Za-z])"
    r"|[A-Za-z](?:_(?:\{\w{1,3}\}|\w))?\s*=)*"
)
_JOINS = re.compile(
    r"[,;，、；&]|(?<![A-Za-z])(?:and|or|und|oder|et|ou|y|o|e)(?![A-Za-z])|[и和或及と]"
)
_NAME = re.compile(r"(?<![A-Za-z\\])([A-Za-z](?:_(?:\{\w{1,3}\}|\w))?)\s*=\s*(?:\$\s*)?$")
_END_OF_SENTENCE = re.compile(r"[.!?。！？](?=\s|$)|\n\s*\n")
_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_]{2,}")


class Box(NamedTuple):
    """One box of a reply.

    Attributes:
        content: What is in the box, without surrounding blanks; None when the box is never closed.
        start: Position of the backslash.
        end: Position after the box.
    """

    content: str | None
    start: int
    end: int


def joined(text: str, boxes: Sequence[Box]) -> str | None:
    r"""Joins the boxes that stand with the last one in a list; None when it stands alone.

    Args:
        text: The reply.
        boxes: Boxes in order; the last one is the last of the reply.

    Returns:
        The values with `or` between them; `x=2, y=3` when they are named by different letters; a
        tuple when the brackets of one stand around them.
    """
    listed = _joined_with_last(text, boxes)
    contents = [box.content or "" for box in listed]
    if len(set(contents)) == 1 or not _is_said(text[: listed[0].start]):
        return None
    if _in_brackets(text, listed[0].start, listed[-1].end):
        return f"({', '.join(contents)})"
    names = _names_before(text, listed)
    base_names = {name.partition("_")[0] for name in names}
    if len(base_names) == len(listed):
        pairs = zip(names, contents, strict=True)
        return ", ".join(f"{name}={content}" for name, content in pairs)
    return r" \text{ or } ".join(contents)


def _joined_with_last(text: str, boxes: Sequence[Box]) -> Sequence[Box]:
    """The last box and those before it that are joined with it."""
    first = len(boxes) - 1
    while first and _are_joined(text, boxes[first - 1], boxes[first]):
        first -= 1
    return boxes[first:]


def _names_before(text: str, boxes: Sequence[Box]) -> list[str]:
    """Lists the letters that name boxes directly before them."""
    matches = (_NAME.search(text[max(0, box.start - 12) : box.start]) for box in boxes)
    return [match.group(1) for match in matches if match]


def _are_joined(text: str, box: Box, other: Box) -> bool:
    between = text[box.end : other.start]
    return (
        box.content is not None
        and box.end <= other.start <= box.end + _BETWEEN
        and "\n\n" not in between
        and _JOINT.fullmatch(between) is not None
        and _JOINS.search(between) is not None
    )


def _is_said(before: str) -> bool:
    """Returns whether words lead up to the boxes; bare boxes in a row are no sentence."""
    recent = before[-_SENTENCE:]
    ends = [match.end() for match in _END_OF_SENTENCE.finditer(recent)]
    return _WORD.search(recent[ends[-1] if ends else 0 :]) is not None


def _in_brackets(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 12) : start].rstrip(" $")
    behind = text[end : end + 12].lstrip(" $")
    return (
        before.endswith(("(", r"\left("))
        and not before.endswith(r"\(")
        and behind.startswith((")", r"\right)"))
    )
