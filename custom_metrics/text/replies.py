"""Replies as the harness and other tools keep them: texts, and lists of draws."""

from __future__ import annotations

from typing import Any


def first_reply(response: Any) -> str:
    """The text of a reply, the first of several draws; "" where there is none.

    >>> first_reply([["yes", "no"]]), first_reply([]), first_reply(None)
    ('yes', '', '')
    """
    while isinstance(response, (list, tuple)):
        response = response[0] if response else None
    return "" if response is None else str(response)
