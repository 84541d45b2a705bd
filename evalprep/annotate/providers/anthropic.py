"""Anthropic's messages."""

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

#: The interface demands a limit; a pack or the user sets a better one.
DEFAULT_MAX_TOKENS = 1024
_VERSION = "2023-06-01"


class Anthropic:
    """Messages: `POST {base_url}/messages`."""

    name = "anthropic"
    default_url = "https://api.anthropic.com/v1"
    key_variable = "ANTHROPIC_API_KEY"
    path = "/messages"
    output_limit = ("max_tokens",)

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of every request."""
        return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})

    def body(self, request: Request) -> dict[str, Any]:
        """A request as JSON; system messages go where this format has them."""
        system = "\n\n".join(
            message["content"] for message in request.messages if message["role"] == "system"
        )
        messages = [dict(message) for message in request.messages if message["role"] != "system"]
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": DEFAULT_MAX_TOKENS,
            "messages": messages,
        }
        if system:
            body["system"] = system
        if request.schema is not None:
            body["output_config"] = {
                "format": {"type": "json_schema", "schema": dict(request.schema)}
            }
        return body | dict(request.sampling)

    def answer(self, body: Any) -> Answer | None:
        """The reply in the body of a response; None where the body has none."""
        parts = body.get("content") if isinstance(body, Mapping) else None
        if not isinstance(parts, list):
            return None
        texts = [
            part["text"]
            for part in parts
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        ]
        ended = body.get("stop_reason")
        usage = body.get("usage")
        identity = body.get("id")
        usage = usage if isinstance(usage, Mapping) else {}
        status = {
            "refusal": "refused",
            "max_tokens": "truncated",
            "model_context_window_exceeded": "truncated",
        }
        answer_status = status.get(ended, "received") if isinstance(ended, str) else "received"
        return Answer(
            answer_status,
            "".join(texts) if texts else None,
            count(usage.get("input_tokens")),
            count(usage.get("output_tokens")),
            identity if isinstance(identity, str) else None,
            "refused by the service" if answer_status == "refused" else "",
        )

    def failure(self, status: int, body: Any) -> Failure:
        """Returns the failure that a response other than 200 states."""
        message, code = message_and_code(body)
        no_credit = code == "billing_error" or "credit balance is too low" in message
        return failure_of(status, message, code, no_credit=no_credit)
