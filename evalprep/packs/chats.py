"""Prompts that hold a chat: the messages that were logged before a chat template was applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

#: How logs begin a chat: as JSON, and as Python writes a list.
_OPENINGS = ('[{"role"', "[{'role'")


class ChatMessage(NamedTuple):
    """One message of a chat."""

    role: str
    text: str


def messages_of(prompt: str) -> list[ChatMessage]:
    r"""Returns the messages of a chat that was logged as JSON; none for any other prompt.

    >>> messages_of('[{"role": "user", "content": "Hello\\nthere"}]')
    [ChatMessage(role='user', text='Hello\nthere')]
    >>> messages_of("[1, 2]"), messages_of("What is 2 + 2?")
    ([], [])
    """
    if not prompt.lstrip().startswith("["):
        return []
    try:
        items = json.loads(prompt)
    except (ValueError, RecursionError):
        return []
    if not items or not all(map(_is_message, items)):
        return []
    return [ChatMessage(item["role"], _text_of(item["content"])) for item in items]


def is_chat(prompt: str) -> bool:
    """Tells by its first characters whether a prompt was logged as the messages of a chat.

    >>> is_chat('[{"role": "user", "content": "Hi"}]'), is_chat("Hi")
    (True, False)
    """
    return prompt.startswith(_OPENINGS)


def readable_prompt(prompt: str) -> str:
    r"""Returns a prompt as one text.

    A chat has each role above its message; anything else is unchanged.

    >>> readable_prompt('[{"role": "user", "content": "Hi"}, {"role": "tool", "content": "1"}]')
    '[user]\nHi\n\n[tool]\n1'
    """
    messages = messages_of(prompt)
    if not messages:
        return prompt
    return "\n\n".join(f"[{message.role}]\n{message.text}" for message in messages)


def _is_message(item: Any) -> bool:
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("role"), str)
        and isinstance(item.get("content"), str | list)
    )


def _text_of(content: str | list[Any]) -> str:
    """The text of a message; of parts that are no text, what they are."""
    if isinstance(content, str):
        return content
    return "\n".join(map(_text_of_part, content))


def _text_of_part(part: Any) -> str:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    return json.dumps(part, ensure_ascii=False, default=str)
