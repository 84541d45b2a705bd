"""Removal of the thinking traces that reasoning models write before their answer."""

from __future__ import annotations

import re
from typing import Literal

from custom_metrics.patterns import any_of

TraceStatus = Literal["none", "stripped", "unclosed"]

# The marks that open-weight reasoning models use; a chat template may already have opened the trace
# in the prompt, so a closing mark can come without its opening one.
_TAG = any_of(
    "think thinking thought thoughts reasoning reflection scratchpad seed:think longcat_think"
)
_OPENING = (
    rf"<{_TAG}>|\[THINK\]|◁think▷"
    r"|<\|(?:begin_of_thought|START_THINKING|think_start)\|>"
    r"|<\|channel\|>(?:analysis|commentary)(?:<\|message\|>|\b)"
)
_CLOSING = (
    rf"</{_TAG}>|\[/THINK\]|◁/think▷"
    r"|<\|(?:end_of_thought|END_THINKING|think_end)\|>"
    r"|<\|channel\|>final(?:<\|message\|>|\b)|(?-i:assistantfinal(?=[A-Z]|\W|\Z))"
)
_MARK = re.compile(rf"(?P<opens>{_OPENING})|(?P<closes>{_CLOSING})", re.IGNORECASE)
_FRAMES = any_of(
    r"start\|>assistant (?:begin|end)_of_solution\|> (?:START|END)_RESPONSE\|> return\|> end\|>"
)
# What frames the answer itself in the same chat formats.
_FRAME = re.compile(rf"<\|{_FRAMES}", re.IGNORECASE)


def strip_thinking(text: str) -> tuple[str, TraceStatus]:
    """Cuts thinking traces out of a reply.

    They stand in `<think>...</think>` and the marks of other reasoning models.

    What stands before a closing mark without an opening one is a trace as well. A trace that never
    closes (the token limit was reached while thinking) leaves only what stands before it, usually
    nothing. Nesting is not a thing here: models mention their own tags while thinking, so the first
    closing tag ends a trace and a stray later one ends it again.

    Args:
        text: A model's reply.

    Returns:
        The reply without traces and surrounding blanks, and what was found: `none`, `stripped` or
        `unclosed`. A text without traces comes back unchanged.

    >>> strip_thinking("<think>It is (A). No, (B).</think> The answer is (B).")
    ('The answer is (B).', 'stripped')
    >>> strip_thinking("<think>It could be (A)")
    ('', 'unclosed')
    """
    kept: list[str] = []
    position = 0
    inside = False
    has_marks = False
    for mark in _MARK.finditer(text):
        has_marks = True
        if mark.group("closes"):
            if not inside:
                kept.clear()
            inside = False
            position = mark.end()
        elif not inside:
            kept.append(text[position : mark.start()])
            inside = True
    if not has_marks:
        return text, "none"
    if not inside:
        kept.append(text[position:])
    answer = _FRAME.sub("", "".join(kept)).strip()
    return answer, "unclosed" if inside else "stripped"


METRICS = {"extract.strip_thinking": strip_thinking}
