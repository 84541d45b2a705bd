"""The state of one dialogue, and how its response is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Message = dict[str, str]
Stop = Callable[[Mapping[str, Any], str, str], bool]


class Dialogue:
    """One row on its way: what was said, and the user messages that are still to be answered.

    Args:
        messages: `role` and `content` each, in order; roles system, user, assistant in any case.
        doc: The row, for `stop`.
        stop: Tells whether the dialogue is over after a reply.
    """

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        doc: Mapping[str, Any] | None = None,
        stop: Stop | None = None,
    ) -> None:
        self._left = [
            {"role": str(message["role"]).lower(), "content": str(message["content"])}
            for message in messages
        ]
        self._doc = doc or {}
        self._stop = stop
        self.said: list[Message] = []
        self.replies: list[str] = []
        self._advance()

    def _advance(self) -> None:
        """Moves everything up to the next message for the model into what was said."""
        while self._left:
            message = self._left.pop(0)
            self.said.append(message)
            answered = bool(self._left) and self._left[0]["role"] == "assistant"
            if message["role"] == "user" and not answered:
                return
        self.over = True

    over = False

    def answer(self, reply: str) -> None:
        """Takes the model's reply to the last message; decides whether there is a next turn."""
        message = self.said[-1]["content"]
        text = reply.strip()
        self.said.append({"role": "assistant", "content": text})
        self.replies.append(text)
        if self._stop is not None and self._stop(self._doc, message, text):
            self.over = True
        else:
            self._advance()

    def dump(self) -> str:
        """The response: the replies as a JSON list."""
        return json.dumps(self.replies, ensure_ascii=False)


def replies(response: Any) -> list[str]:
    """Reads a response; what is no list of texts is one reply.

    >>> replies('["Hodor", "Hodor"]'), replies("Hodor")
    (['Hodor', 'Hodor'], ['Hodor'])
    """
    try:
        replies = json.loads(response)
    except (TypeError, ValueError, RecursionError):
        return [str(response)]
    if isinstance(replies, list):
        return [str(reply) for reply in replies]
    return [str(response)]


def without_system(messages: Sequence[Message]) -> list[Message]:
    r"""Puts system messages before the first user message, for templates that know no system role.

    >>> without_system([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])
    [{'role': 'user', 'content': 'S\n\nU'}]
    """
    system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    kept = [dict(message) for message in messages if message["role"] != "system"]
    if system and kept:
        kept[0]["content"] = f"{system}\n\n{kept[0]['content']}"
    return kept
