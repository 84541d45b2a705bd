"""One request to an OpenAI-compatible chat endpoint, and what its failures mean."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalprep.errors import BadInput, Problem

#: Sent where no key is needed; servers on one's own machine take any.
NO_KEY = "EMPTY"
#: Nothing about the question makes these go away.
_FATAL = frozenset({401, 403, 404})
_PASSING = frozenset({408, 409, 425, 429})
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Reply:
    """The judge's message: its text, why it ended, and the refusal that a service sends apart from the text."""

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None


def request_body(model: str, prompt: str, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """One chat completion as JSON, as it is sent or written into a file of requests."""
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **sampling}


def completion(body: Any) -> Reply | None:
    """The message in the body of a chat completion; None where the body is none."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return None
    text, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    return Reply(
        text if isinstance(text, str) else None,
        reason if isinstance(reason, str) else None,
        refusal if isinstance(refusal, str) and refusal else None,
    )


class UnansweredError(Exception):
    """No answer to this request.

    Args:
        reason: For the user, without secrets.
        again: Whether the same request may succeed later.
        wait: Seconds that the server asks for; None where it does not say.
    """

    def __init__(self, reason: str, *, again: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.again, self.wait = again, wait


class RefusedError(Exception):
    """The service takes no request of ours: wrong key, unknown model, no credit."""


class Endpoint:
    """A chat endpoint; `ask` may be called from several threads.

    Args:
        model: The judge's name there.
        base_url: Up to and without `/chat/completions`.
        api_key: The secret; None where the service needs none. It appears in no text that this class returns.
        timeout: Seconds for one request.

    Raises:
        BadInput: the `openai` package is not installed.
    """

    def __init__(self, model: str, base_url: str, api_key: str | None, *, timeout: float) -> None:
        try:
            import openai
        except ImportError as error:
            raise BadInput(
                Problem(what="the openai package is not installed", fix="pip install 'evalprep[judge]'")
            ) from error
        self._model, self._key = model, api_key
        # Its own retries would hide how often was asked, and could not be interrupted.
        self._client = openai.OpenAI(api_key=api_key or NO_KEY, base_url=base_url, timeout=timeout, max_retries=0)

    def ask(self, prompt: str, sampling: Mapping[str, Any]) -> Reply:
        """Send one message and return the reply.

        Raises:
            UnansweredError: no answer this time.
            RefusedError: there will never be one.
        """
        import openai

        body = request_body(self._model, prompt, sampling)
        try:
            # As extra body, so that parameters which this client does not know reach the server too.
            answer: Any = self._client.chat.completions.create(
                model=body.pop("model"), messages=body.pop("messages"), extra_body=body
            )
        except openai.APIStatusError as error:
            raise self._failure(error.status_code, error) from None
        except openai.APIError as error:  # no connection, timeout, a body that is not JSON
            reason = "timeout" if isinstance(error, openai.APITimeoutError) else str(error)
            cause = f" ({error.__cause__})" if error.__cause__ and reason != "timeout" else ""
            raise UnansweredError(self._clean(reason + cause), again=True) from None
        except ValueError as error:
            raise UnansweredError(self._clean(f"the answer is not JSON: {error}"), again=True) from None
        reply = completion(answer.to_dict() if isinstance(answer, openai.BaseModel) else None)
        if reply is None:
            raise UnansweredError("the answer is no chat completion", again=True)
        return Reply(
            None if reply.text is None else self._without_key(reply.text),
            reply.finish_reason,
            reply.refusal and self._clean(reply.refusal),
        )

    def _failure(self, status: int, error: Any) -> Exception:
        said = error.body.get("message") if isinstance(error.body, Mapping) else error.body
        reason = self._clean(f"HTTP {status}: {said or error.message}")
        if status in _FATAL or getattr(error, "code", None) == "insufficient_quota":
            return RefusedError(reason)
        wait = None
        with contextlib.suppress(ValueError, TypeError):
            wait = max(0.0, float(error.response.headers.get("retry-after")))
        return UnansweredError(reason, again=status in _PASSING or status >= 500, wait=wait)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text

    def _clean(self, text: str) -> str:
        """One line without the key, in case a server repeats what it was sent."""
        text = " ".join(self._without_key(text).split())
        return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
