"""A model behind an address: a request in, an answer or the reason why there is none out."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from evalprep.annotate.providers.anthropic import Anthropic
from evalprep.annotate.providers.body import BODY_LIMIT, Response, retry_after
from evalprep.annotate.providers.http import Http
from evalprep.annotate.providers.openai import OpenAI
from evalprep.annotate.providers.wire import (
    Answer,
    RefusedError,
    Request,
    UnansweredError,
    Wire,
    one_line,
)

WIRES: Mapping[str, Wire] = {"openai": OpenAI(), "anthropic": Anthropic()}


class Service:
    """A provider's address with our key; use it as an async context.

    Args:
        wire: The wire format.
        base_url: Up to and without the path.
        key: The secret; None where none is needed. It appears in nothing that this class returns.
        connections: Requests at a time.
        deadline: Seconds for one request, whatever the server does.
        limit: Bytes of a body.
    """

    def __init__(
        self,
        wire: Wire,
        base_url: str,
        key: str | None,
        *,
        connections: int = 4,
        deadline: float = 120.0,
        limit: int = BODY_LIMIT,
    ) -> None:
        self.wire = wire
        self.base_url = base_url
        self._key = key
        self.http = Http(
            base_url,
            headers=wire.headers(key),
            secret=key,
            connections=connections,
            deadline=deadline,
            limit=limit,
        )

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.__aexit__(kind, error, trace)

    async def ask(self, request: Request, identity: str) -> Answer:
        """Sends one request.

        Args:
            request: What is asked.
            identity: The same for every repetition of a request whose answer never came, so that a
                service that knows idempotency keys answers again and bills once.

        Raises:
            UnansweredError: no answer this time.
            RefusedError: there will never be one.
        """
        response = await self.http.post_json(
            self.wire.path, self.wire.body(request), {"Idempotency-Key": identity}
        )
        if response.status != 200:
            raise self.failed(response)
        answer = self.wire.answer(self.data(response))
        if answer is None:
            raise UnansweredError(
                "the response does not have the format of this API", again=True, billed=True
            )
        return answer

    def data(self, response: Response) -> Any:
        """The data of a response with status 200.

        Raises:
            UnansweredError: it has none.
        """
        try:
            return response.json()
        except ValueError as error:
            raise UnansweredError(
                one_line(f"the answer is not JSON: {error}"), again=True, billed=True
            ) from None

    def failed(self, response: Response) -> UnansweredError | RefusedError:
        """Returns the error for a response other than 200."""
        try:
            body = response.json()
        except ValueError:
            body = response.body.decode("utf-8", "replace")
        failure = self.wire.failure(response.status, body)
        reason = one_line(failure.reason)
        if failure.fatal:
            return RefusedError(reason)
        return UnansweredError(
            reason,
            again=failure.again,
            wait=retry_after(response.headers),
            schema=failure.schema,
            broke=response.status == 500,
        )
