"""The batch interfaces of OpenAI and Anthropic.

What is sent, what their states mean, how results are read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from evalprep.annotate.providers.body import BODY_LIMIT
from evalprep.annotate.providers.service import Service
from evalprep.annotate.providers.wire import Answer, UnansweredError, one_line
from evalprep.files import open_file

#: Bytes of all results of a batch. They go to a file, line by line.
RESULTS_LIMIT = 8 * 2**30
#: Seconds for sending or fetching the file of a batch.
TRANSFER = 3600.0
_PIECE = 2**20


@dataclass(frozen=True)
class Remote:
    """The state of a batch at its service.

    Attributes:
        state: `in_progress`, `completed`, `failed`, `expired` or `cancelled`.
        counts: Its counts of requests.
        reason: Why it failed.
        results: Paths of what it has to fetch.
    """

    state: str
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    results: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One line of the results: an answer, or why there is none.

    Attributes:
        identity: The key that was sent with the request; empty where the line has none.
        answer: The answer.
        status: `failed` or `expired` where there is no answer.
        reason: Why.
    """

    identity: str
    answer: Answer | None
    status: str = "failed"
    reason: str = ""


class Batches(Protocol):
    """A batch interface.

    Attributes:
        most: Requests of one batch.
        largest: Bytes of one batch.
    """

    most: int
    largest: int

    def write(
        self, service: Service, requests: Iterable[tuple[str, dict[str, Any]]], into: BinaryIO
    ) -> None:
        """Writes the file of a batch."""

    async def upload(self, service: Service, file: Path) -> str | None:
        """Brings the file there, where that is a step of its own; its id."""

    async def create(self, service: Service, file: Path, file_id: str | None, tag: str) -> str:
        """Starts the batch; its id."""

    async def find(self, service: Service, tag: str, count: int, since: str) -> list[str]:
        """Ids of batches that may be one whose creation was not noted."""

    async def look(self, service: Service, batch_id: str) -> Remote:
        """Asks how a batch is doing."""

    async def cancel(self, service: Service, batch_id: str) -> None:
        """Asks to end a batch early."""

    def result(self, service: Service, line: Any) -> Result | None:
        """One line of the results; None where it is none."""


class OpenAIBatches:
    """`/files` and `/batches` of OpenAI."""

    most, largest = 50_000, 200 * 10**6

    _STATES: Mapping[str, str] = {
        "completed": "completed",
        "failed": "failed",
        "expired": "expired",
        "cancelled": "cancelled",
    }

    def write(
        self, service: Service, requests: Iterable[tuple[str, dict[str, Any]]], into: BinaryIO
    ) -> None:
        """One JSON object per line."""
        for identity, body in requests:
            line = {
                "custom_id": identity,
                "method": "POST",
                "url": "/v1" + service.wire.path,
                "body": body,
            }
            into.write(_bytes(line) + b"\n")

    async def upload(self, service: Service, file: Path) -> str | None:
        """Brings the file there."""
        response = await service.http.upload(
            "/files", file, {"purpose": "batch"}, deadline=TRANSFER
        )
        if response.status != 200:
            raise service.failed(response)
        return _identity(service.data(response))

    async def create(self, service: Service, file: Path, file_id: str | None, tag: str) -> str:  # noqa: ARG002
        """Starts the batch, with a mark by which it is found again."""
        body = {
            "input_file_id": file_id,
            "endpoint": "/v1" + service.wire.path,
            "completion_window": "24h",
            "metadata": {"evalprep": tag},
        }
        response = await service.http.post_json("/batches", body, {"Idempotency-Key": tag})
        if response.status != 200:
            raise service.failed(response)
        return _identity(service.data(response))

    async def find(self, service: Service, tag: str, count: int, since: str) -> list[str]:  # noqa: ARG002
        """Batches with our mark, among the last hundred."""
        batches = await _listed(service, "/batches?limit=100")
        return [
            batch["id"]
            for batch in batches
            if isinstance(batch.get("metadata"), dict) and batch["metadata"].get("evalprep") == tag
        ]

    async def look(self, service: Service, batch_id: str) -> Remote:
        """Asks how a batch is doing."""
        data = await _object(service, f"/batches/{batch_id}")
        files = [data.get(name) for name in ("output_file_id", "error_file_id")]
        errors = data.get("errors")
        listed = errors.get("data") if isinstance(errors, dict) else None
        reasons = [
            str(error.get("message") or error.get("code"))
            for error in listed or []
            if isinstance(error, dict)
        ]
        return Remote(
            self._STATES.get(str(data.get("status")), "in_progress"),
            _counts(data.get("request_counts")),
            one_line("; ".join(reasons)),
            tuple(f"/files/{_safe(file)}/content" for file in files if file),
        )

    async def cancel(self, service: Service, batch_id: str) -> None:
        """Asks to end a batch early."""
        await _post(service, f"/batches/{batch_id}/cancel")

    def result(self, service: Service, line: Any) -> Result | None:
        """One line of the output or of the error file."""
        if not isinstance(line, Mapping) or not isinstance(line.get("custom_id"), str):
            return None
        identity = line["custom_id"]
        response = line.get("response")
        error = line.get("error")
        if isinstance(response, Mapping):
            status = response.get("status_code")
            body = response.get("body")
            answer = service.wire.answer(body) if status == 200 else None
            if answer is not None:
                return Result(identity, answer)
            number = status if isinstance(status, int) else 0
            failure = service.wire.failure(number, body)
            return Result(identity, None, reason=one_line(failure.reason))
        if not isinstance(error, Mapping):
            return Result(identity, None, "failed", "no response in the line")
        code = str(error.get("code"))
        reason = one_line(str(error.get("message") or code))
        state = "expired" if code == "batch_expired" else "failed"
        return Result(identity, None, state, reason)


class AnthropicBatches:
    """`/messages/batches` of Anthropic."""

    most, largest = 100_000, 256 * 10**6

    def write(
        self,
        service: Service,  # noqa: ARG002
        requests: Iterable[tuple[str, dict[str, Any]]],
        into: BinaryIO,
    ) -> None:
        """One JSON object with all requests."""
        into.write(b'{"requests":[')
        comma = b""
        for identity, body in requests:
            into.write(comma + _bytes({"custom_id": identity, "params": body}))
            comma = b","
        into.write(b"]}")

    async def upload(self, service: Service, file: Path) -> str | None:  # noqa: ARG002
        """Not a step of its own here."""
        return None

    async def create(self, service: Service, file: Path, file_id: str | None, tag: str) -> str:  # noqa: ARG002
        """Sends the requests."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": tag}
        # The file lies on a local disk.
        headers["Content-Length"] = str(file.stat().st_size)  # noqa: ASYNC240
        response = await service.http.request(
            "POST", "/messages/batches", _pieces(file), headers, deadline=TRANSFER
        )
        if response.status != 200:
            raise service.failed(response)
        return _identity(service.data(response))

    async def find(self, service: Service, tag: str, count: int, since: str) -> list[str]:  # noqa: ARG002
        """Batches of as many requests that were made since.

        They carry no mark, but their results carry our keys.
        """
        batches = await _listed(service, "/messages/batches?limit=100")
        return [
            batch["id"]
            for batch in batches
            if sum(_counts(batch.get("request_counts")).values()) == count
            and str(batch.get("created_at", "")) >= since[:19]
        ]

    async def look(self, service: Service, batch_id: str) -> Remote:
        """Asks how a batch is doing."""
        data = await _object(service, f"/messages/batches/{batch_id}")
        counts = _counts(data.get("request_counts"))
        if data.get("processing_status") != "ended":
            return Remote("in_progress", counts)
        results = (f"/messages/batches/{batch_id}/results",)
        return Remote(_state_at_end(counts), counts, results=results)

    async def cancel(self, service: Service, batch_id: str) -> None:
        """Asks to end a batch early."""
        await _post(service, f"/messages/batches/{batch_id}/cancel")

    def result(self, service: Service, line: Any) -> Result | None:
        """One line of the results."""
        if not isinstance(line, Mapping) or not isinstance(line.get("custom_id"), str):
            return None
        identity, result = line["custom_id"], line.get("result")
        result = result if isinstance(result, Mapping) else {}
        kind = result.get("type")
        if kind == "succeeded":
            answer = service.wire.answer(result.get("message"))
            if answer is not None:
                return Result(identity, answer)
        if kind == "errored":
            failure = service.wire.failure(0, result.get("error"))
            return Result(identity, None, reason=one_line(failure.reason))
        if kind == "expired":
            return Result(identity, None, "expired", "the batch ended before its turn")
        return Result(identity, None, reason=str(kind or "no result in the line"))


BATCHES: Mapping[str, Batches] = {"openai": OpenAIBatches(), "anthropic": AnthropicBatches()}


def read_lines(file: BinaryIO) -> Iterator[Any]:
    """The data of each line of a file of results.

    None for a line that is cut, damaged or too long.
    """
    while line := file.readline(BODY_LIMIT):
        if len(line) >= BODY_LIMIT and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.readline(BODY_LIMIT)
            yield None
            continue
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            yield None


def _bytes(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with open_file(file, own=True) as handle:
        while piece := handle.read(_PIECE):
            yield piece


async def _object(service: Service, path: str) -> dict[str, Any]:
    response = await service.http.request("GET", path)
    if response.status != 200:
        raise service.failed(response)
    data = service.data(response)
    if not isinstance(data, dict):
        raise UnansweredError("the response does not have the format of this API", again=True)
    return data


async def _listed(service: Service, path: str) -> list[dict[str, Any]]:
    data = (await _object(service, path)).get("data")
    if not isinstance(data, list):
        return []
    return [row for row in data if isinstance(row, dict) and isinstance(row.get("id"), str)]


async def _post(service: Service, path: str) -> None:
    response = await service.http.post_json(path, {})
    if response.status != 200:
        raise service.failed(response)


def _identity(data: Any) -> str:
    identity = data.get("id") if isinstance(data, Mapping) else None
    if not isinstance(identity, str) or not identity:
        raise UnansweredError("the answer names no id", again=False)
    return _safe(identity)


def _safe(identity: Any) -> str:
    """An id that a path may hold: a service must not lead us elsewhere on its host."""
    text = str(identity)
    if not text.replace("-", "").replace("_", "").isalnum() or len(text) > 200:
        raise UnansweredError(f"no id that can be used: {text[:50]!r}", again=False)
    return text


def _state_at_end(counts: Mapping[str, int]) -> str:
    """The state of a batch that has ended: any result makes it complete."""
    if counts.get("succeeded", 0) + counts.get("errored", 0):
        return "completed"
    if counts.get("expired"):
        return "expired"
    return "cancelled" if counts.get("canceled") else "completed"


def _counts(data: Any) -> dict[str, int]:
    """State -> requests of a batch in it, as a provider reports them; their sum is left out."""
    if not isinstance(data, Mapping):
        return {}
    counts = {str(name): value for name, value in data.items() if isinstance(value, int)}
    counts.pop("total", None)
    return counts
