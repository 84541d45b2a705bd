"""OpenAI's chat completions, and everything that speaks like them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalprep.annotate.providers.wire import (
    Answer,
    Failure,
    Request,
    count,
    failure_of,
    message_and_code,
)

#: Sent where no key is needed; servers on one's own machine take any.
NO_KEY = "EMPTY"
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})


class OpenAI:
    """Chat completions: `POST {base_url}/chat/completions`."""

    name = "openai"
    default_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    path = "/chat/completions"
    output_limit = ("max_tokens", "max_completion_tokens")

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of every request."""
        return {"Authorization": f"Bearer {key or NO_KEY}"}

    def body(self, request: Request) -> dict[str, Any]:
        """A request as JSON."""
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [dict(message) for message in request.messages],
        }
        if request.schema is not None:
            form = {"name": "rating", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body | dict(request.sampling)

    def answer(self, body: Any) -> Answer | None:
        """The reply in the body of a response; None where the body has none."""
        # The first reply of a response; empty where it has none.
        choices = body.get("choices") if isinstance(body, Mapping) else None
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
            choice = choices[0]
        else:
            choice = {}
        message = choice.get("message")
        if not isinstance(message, Mapping):
            return None
        content = message.get("content")
        text = content if isinstance(content, str) else _joined(content)
        status, reason = _ending(message.get("refusal"), choice.get("finish_reason"))
        usage = body.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        identity = body.get("id")
        return Answer(
            status,
            text,
            count(usage.get("prompt_tokens")),
            count(usage.get("completion_tokens")),
            identity if isinstance(identity, str) else None,
            reason,
        )

    def failure(self, status: int, body: Any) -> Failure:
        """Returns the failure that a response other than 200 states."""
        message, code = message_and_code(body)
        return failure_of(status, message, code, no_credit=code in _NO_CREDIT)


def _joined(parts: Any) -> str | None:
    """Text of a message whose content is a list of parts."""
    if not isinstance(parts, list):
        return None
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    return "".join(texts) or None


def _ending(refusal: Any, finish_reason: Any) -> tuple[str, str]:
    """The status of a reply, and the reason of a refusal."""
    if isinstance(refusal, str) and refusal:
        return "refused", refusal
    if finish_reason == "content_filter":
        return "refused", "content filter"
    return ("truncated" if finish_reason == "length" else "received"), ""
