r"""The boxed answer of a reply: which box counts, and what is in it.

A reply may hold several boxes; the last one is the answer. A box that is opened and never closed is
no answer, and it does not hand the decision back to an earlier box: the reply was cut off while the
model was changing its mind. An empty box behind a full one is a mention of the macro. Boxes that
one sentence lists (`coordinated`) are one answer together.
"""

from __future__ import annotations

import re

from custom_metrics.math import coordinated
from custom_metrics.math.coordinated import Box

MAX_REPLY = 2_000_000
"""Characters of a reply that are read, counted from its end; the last box decides, so the end
is what matters."""

_BOX = re.compile(r"\\f?box(?:ed)?(?![A-Za-z])")
_BARE_END = re.compile(r"\$|\\\)|\\\]|\n|\\f?boxed")
_NAMES = ("\\boxed", "\\fbox")
_FIRST_SIGNS = frozenset("0123456789\\-+")
"""Signs with which a value may begin right behind the macro."""
_INNER_FRAME = re.compile(r"\\boxed\s*(?=\{)|\\fbox\s*(?=\{)")
_EMPTY = re.compile(r"(?:\s|~|\\[,;:! ]|\\text\s*\{\s*\}|\.\.\.|…|\\[lc]?dots(?![A-Za-z]))*")
__all__ = ["MAX_REPLY", "Box", "extract_boxed", "last_box"]

_NEIGHBOURS = 20
"""Boxes before the last one that may be around it."""
_MENTIONS = 20
"""Mentions of the macro at the end of a reply that are passed over; a reply with more is a loop
and has no answer."""


def last_box(text: str) -> Box | None:
    r"""Finds the last box of a reply, whether it is complete or not.

    `\boxed{...}`, `\fbox{...}` and `\boxed 12` (no braces) are boxes; escaped braces do not count
    as braces; a bare mention of the macro (`\boxed.`, "the \boxed macro") is not a box. A box
    around other boxes counts as one box.

    Returns:
        The box, or None when the text has none.

    >>> last_box(r"First \boxed{3}, then \boxed{x^{2}}.").content
    'x^{2}'
    >>> last_box(r"\boxed{3} ... \boxed{4").content is None
    True
    """
    text = text[-MAX_REPLY:]
    return _last(text, _starts(text))[0]


def extract_boxed(text: str) -> str | None:
    r"""Returns the boxed answer of a reply, or None when there is no complete last box.

    That is the content of the last box. Boxes that the last sentence lists are joined: none alone
    is the answer.

    >>> extract_boxed(r"so the answer is $\boxed{\frac{1}{2}}$.")
    '\\frac{1}{2}'
    >>> extract_boxed(r"so $\boxed 12$")
    '12'
    >>> extract_boxed(r"The roots are $\boxed{2}$ and $\boxed{3}$.")
    '2 \\text{ or } 3'
    >>> extract_boxed("no box") is None
    True
    """
    text = text[-MAX_REPLY:]
    starts = _starts(text)
    box, before = _last(text, starts)
    if box is None:
        return None
    if box.content is None or not before:
        return box.content
    joined = coordinated.joined(text, [*before, box])
    return box.content if joined is None else joined


def _starts(text: str) -> list[re.Match[str]]:
    return [match for match in _BOX.finditer(text) if match.group() in _NAMES]


def _last(text: str, starts: list[re.Match[str]]) -> tuple[Box | None, list[Box]]:
    """The last box, and the boxes directly before it, in order."""
    if not starts:
        return None, []
    closing = _brace_pairs(text, starts[0].end())
    empty: Box | None = None
    last = len(starts) - 1
    for index in range(last, max(-1, last - _MENTIONS), -1):
        box = _read(text, starts[index], closing)
        if box is None:
            continue  # a mention of the macro
        if _is_blank(box):
            empty = empty or box
            continue
        if empty is not None and not _is_mention(text, empty, box):
            return empty, []
        widest = _outermost(text, starts[:index], closing, box)
        if widest is not box:
            return widest, []
        return box, _boxes_before(text, starts, index, closing)
    return empty, []


def _is_blank(box: Box) -> bool:
    """Tells whether a complete box holds nothing but space."""
    return box.content is not None and _EMPTY.fullmatch(box.content[:80]) is not None


def _is_mention(text: str, empty: Box, box: Box) -> bool:
    r"""Tells whether an empty box behind another one is a mention of the macro.

    Words between them make it one; `\boxed{5} \boxed{}` states nothing.
    """
    if box.content is None:
        return False
    return bool(text[box.end : empty.start].strip())


def _boxes_before(
    text: str, starts: list[re.Match[str]], index: int, closing: dict[int, int]
) -> list[Box]:
    """The boxes before one of them, as many as a sentence may list."""
    matches = starts[max(0, index - coordinated.MAX_BOXES) : index]
    boxes = (_read(text, match, closing) for match in matches)
    return [box for box in boxes if box is not None]


def _brace_pairs(text: str, start: int) -> dict[int, int]:
    """Positions of opening braces -> positions of their closing braces, in one pass.

    Escaped braces are skipped.
    """
    pairs: dict[int, int] = {}
    open_at: list[int] = []
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        brace = match.group()
        if brace == "{":
            open_at.append(match.start())
        elif brace == "}" and open_at:
            pairs[open_at.pop()] = match.start()
    return pairs


def _read(text: str, match: re.Match[str], closing: dict[int, int]) -> Box | None:
    position = match.end()
    while position < len(text) and text[position].isspace():
        position += 1
    if position < len(text) and text[position] == "{":
        end = closing.get(position)
        if end is None:
            return Box(None, match.start(), len(text))
        return Box(text[position + 1 : end].strip(), match.start(), end + 1)
    return _read_bare(text, match, position)


def _read_bare(text: str, match: re.Match[str], position: int) -> Box | None:
    r"""Reads `\boxed 12`: to the end of the formula when it stands in one, else one word."""
    is_glued = position == match.end()
    if is_glued and text[position : position + 1] not in _FIRST_SIGNS:
        return None  # `\boxed.` or `\boxed,`
    stop = _BARE_END.search(text, position)
    end = stop.start() if stop else len(text)
    content = text[position:end].strip()
    line_start = text.rfind("\n", 0, match.start()) + 1
    before = text[line_start : match.start()]
    closer = stop.group() if stop else ""
    if not _is_open_formula(before, closer):
        content = _first_word(content)
        if not re.search(r"\d|\\", content) and len(content) != 1:
            return None  # "the \boxed macro"
        end = position + len(content)
    if not content:
        return None
    return Box(content, match.start(), end)


def _is_open_formula(before: str, closer: str) -> bool:
    """Tells whether the formula that a mark closes is opened in the text before."""
    if closer == "$":
        return before.count("$") % 2 == 1
    opener = {r"\)": r"\(", r"\]": r"\["}.get(closer)
    return opener is not None and before.count(opener) > before.count(closer)


def _first_word(text: str) -> str:
    """The first word without the marks behind it, empty where there is none."""
    parts = text.split(maxsplit=1)
    return parts[0].rstrip(".,;:") if parts else ""


def _outermost(text: str, earlier: list[re.Match[str]], closing: dict[int, int], box: Box) -> Box:
    """Widens to a box that contains the last one, as long as it is one formula.

    Drop the inner frames.
    """
    widest = box
    for match in earlier[:-_NEIGHBOURS:-1]:
        opening = text.find("{", match.end())
        end = closing.get(opening, -1)
        if text[match.end() : opening].strip() or end < widest.end:
            continue  # closed before the last box, or never
        content = text[opening + 1 : end].strip()
        if "$" in content or "\n\n" in content:
            break
        widest = Box(content, match.start(), end + 1)
    if widest is box or widest.content is None:
        return box
    without_frames = _INNER_FRAME.sub("", widest.content)
    return widest._replace(content=without_frames)
