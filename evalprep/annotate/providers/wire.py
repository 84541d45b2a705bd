"""The interface of a wire format, and the outcomes of an exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evalprep.packs import Message

_LONGEST_REASON = 300
#: What a ledger's column of whole numbers holds.
_MOST_TOKENS = 2**63 - 1


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
    """The failure that a service stated instead of an answer.

    Attributes:
        reason: Its words.
        fatal: No request of ours will fare better: wrong key, unknown model, no credit.
        again: The same request may succeed later.
        schema: What it does not take is the JSON schema; nothing was billed.
    """

    reason: str
    fatal: bool = False
    again: bool = False
    schema: bool = False


class UnansweredError(Exception):
    """No answer to this request.

    Args:
        reason: For the user, without secrets.
        again: Whether the same request may succeed later.
        wait: Seconds that the server asks for; None where it does not say.
        billed: Whether the service may have worked on it, as after a lost connection.
        schema: What it does not take is the JSON schema.
        broke: It broke down over the request (500), as opposed to being busy or away.
    """

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        wait: float | None = None,
        billed: bool = False,
        schema: bool = False,
        broke: bool = False,
    ) -> None:
        super().__init__(reason)
        self.again = again
        self.wait = wait
        self.billed = billed
        self.schema = schema
        self.broke = broke


class RefusedError(Exception):
    """The service takes no request of ours."""


class Wire(Protocol):
    """One wire format."""

    @property
    def name(self) -> str:
        """The name of the format for `--api`."""

    @property
    def default_url(self) -> str:
        """The provider's own address."""

    @property
    def key_variable(self) -> str:
        """Environment variable of the key."""

    @property
    def path(self) -> str:
        """Returns where requests go, below the address."""

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
        """Returns the failure that a response other than 200 states."""


#: Statuses after which nothing about the question helps, and those that pass.
FATAL = frozenset({401, 402, 403, 404})
PASSING = frozenset({408, 409, 425, 429})


#: Begins the reason of a request whose JSON schema a service did not take; the ledger is searched
# for it.
NO_SCHEMA = "takes no JSON schema"
#: With these statuses services decline a parameter; 0 is a line of a batch, which has none.
_DECLINING = frozenset({0, 400, 404, 415, 422, 501})
_SCHEMA_WORDS = (
    "response_format",
    "response format",
    "json_schema",
    "json schema",
    "output_config",
    "output_format",
    "output format",
    "structured output",
    "structured_output",
    "guided",
    "grammar",
)
#: Parameters that models do without: those that reason take no temperature, and another limit.
_LIMIT, _TEMPERATURE = "'max_tokens'", "temperature"


def failure_of(status: int, message: str, code: str, *, no_credit: bool) -> Failure:
    """Returns the failure that a status and the words beside it mean.

    Statuses are those of HTTP, words those of the usual services.
    """
    reason = f"HTTP {status}: {message or code or 'no reason given'}"
    lower = f"{message} {code}".lower()
    if status in _DECLINING and any(word in lower for word in _SCHEMA_WORDS):
        return Failure(f"{NO_SCHEMA}: {reason}", schema=True)
    # Every question has the same parameters: none of them would fare better.
    unusable, advice = _unusable_parameters(message, code) if status == 400 else (False, "")
    return Failure(
        reason + advice,
        fatal=status in FATAL or no_credit or unusable,
        again=status in PASSING or status >= 500,
    )


def _unusable_parameters(message: str, code: str) -> tuple[bool, str]:
    """Returns whether a service refuses the parameters for good, and what to change."""
    if _LIMIT in message and "max_completion_tokens" in message:
        return True, " (--gen_kwargs max_tokens=null,max_completion_tokens=N)"
    unusable = code in {"unsupported_parameter", "unsupported_value"}
    advice = " (--gen_kwargs temperature=null leaves it out)" if _TEMPERATURE in message else ""
    return unusable, advice


def message_and_code(body: Any) -> tuple[str, str]:
    """Message and code in the body of an error, in any of the usual forms."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping):
        message = error.get("message") or error.get("detail") or ""
        code = error.get("code") or error.get("type") or ""
        return str(message), str(code)
    return (error, "") if isinstance(error, str) else ("", "")


def count(value: Any) -> int | None:
    """A number of tokens; None for anything else, and for more than any context holds."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def one_line(text: str) -> str:
    """A reason on one line, not longer than a person reads."""
    text = " ".join(text[: 10 * _LONGEST_REASON].split())
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
