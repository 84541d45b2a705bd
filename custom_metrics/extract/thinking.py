"""Removal of the thinking traces that reasoning models write before their answer."""

from __future__ import annotations

import re
from typing import Literal

TraceStatus = Literal["none", "stripped", "unclosed"]

# The tags that open-weight reasoning models use; a chat template may already have opened the trace in the prompt, so
# a closing tag can come without its opening one.
_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def strip_thinking(text: str) -> tuple[str, TraceStatus]:
    """Cut `<think>...</think>` traces out of a reply.

    What stands before a closing tag without an opening one is a trace as well. A trace that never closes (the token
    limit was reached while thinking) leaves only what stands before it, usually nothing. Nesting is not a thing here:
    models mention their own tags while thinking, so the first closing tag ends a trace and a stray later one ends it
    again.

    Args:
        text: A model's reply.

    Returns:
        The reply without traces and surrounding blanks, and what was found: `none`, `stripped` or `unclosed`. A
        text without traces comes back unchanged.

    >>> strip_thinking("<think>It is (A). No, (B).</think> The answer is (B).")
    ('The answer is (B).', 'stripped')
    >>> strip_thinking("<think>It could be (A)")
    ('', 'unclosed')
    """
    kept: list[str] = []
    position = 0
    inside = False
    found = False
    for tag in _TAG.finditer(text):
        found = True
        closes = bool(tag.group(1))
        if closes:
            if not inside:
                kept.clear()
            inside = False
            position = tag.end()
        elif not inside:
            kept.append(text[position : tag.start()])
            inside = True
    if not found:
        return text, "none"
    if inside:
        return "".join(kept).strip(), "unclosed"
    kept.append(text[position:])
    return "".join(kept).strip(), "stripped"


METRICS = {"extract.strip_thinking": strip_thinking}
