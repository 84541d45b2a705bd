"""What a wire format has to know, and what an exchange can come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evalprep.packs.annotator import Message

_LONGEST_REASON = 300


@dataclass(frozen=True)
class Request:
    """One thing to ask: what the wire formats write as a body."""

    model: str
    messages: Sequence[Message]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Answer:
    """A model's reply.

    Attributes:
        status: `received`, `refused` or `truncated`.
        text: The reply; None where there is none beside the refusal.
        tokens_in: Tokens that were billed as input; None where the service does not say.
        tokens_out: The same of the output.
        provider_id: The service's name of it.
        reason: Text of a refusal.
    """

    status: str
    text: str | None
    tokens_in: int | None = None
    tokens_out: int | None = None
    provider_id: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Failure:
    """What a service said instead of an answer.

    Attributes:
        reason: Its words.
        fatal: No request of ours will fare better: wrong key, unknown model, no credit.
        again: The same request may succeed later.
    """

    reason: str
    fatal: bool = False
    again: bool = False


class UnansweredError(Exception):
    """No answer to this request.

    Args:
        reason: For the user, without secrets.
        again: Whether the same request may succeed later.
        wait: Seconds that the server asks for; None where it does not say.
        billed: Whether the service may have worked on it, as after a lost connection.
    """

    def __init__(self, reason: str, *, again: bool, wait: float | None = None, billed: bool = False) -> None:
        super().__init__(reason)
        self.again, self.wait, self.billed = again, wait, billed


class RefusedError(Exception):
    """The service takes no request of ours."""


class Wire(Protocol):
    """One wire format."""

    @property
    def name(self) -> str:
        """As `--api` calls it."""

    @property
    def default_url(self) -> str:
        """The provider's own address."""

    @property
    def key_variable(self) -> str:
        """Environment variable of the key."""

    @property
    def path(self) -> str:
        """Where requests go, below the address."""

    @property
    def output_limit(self) -> Sequence[str]:
        """Names of the request parameters that bound the reply."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of every request."""

    def body(self, request: Request) -> dict[str, Any]:
        """A request as JSON."""

    def answer(self, body: Any) -> Answer | None:
        """The reply in the body of a response; None where the body has none."""

    def failure(self, status: int, body: Any) -> Failure:
        """What a response other than 200 says."""


#: Statuses after which nothing about the question helps, and those that pass.
FATAL = frozenset({401, 402, 403, 404})
PASSING = frozenset({408, 409, 425, 429})


def said(body: Any) -> tuple[str, str]:
    """Message and code in the body of an error, in any of the usual forms."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping):
        message = error.get("message") or error.get("detail") or ""
        code = error.get("code") or error.get("type") or ""
        return str(message), str(code)
    return (error, "") if isinstance(error, str) else ("", "")


def count(value: Any) -> int | None:
    """A number of tokens; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def one_line(text: str) -> str:
    """A reason on one line, not longer than a person reads."""
    text = " ".join(text[: 10 * _LONGEST_REASON].split())
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
