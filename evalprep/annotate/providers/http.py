"""An HTTP client that trusts no server: exchanges have a deadline, bodies a limit, and redirects stay at the origin.

httpx does the protocol; what it leaves open is closed here. Its timeouts are per read, so a server that drips a byte a
second would hold it for ever, and its bodies are as large as the server likes, compressed ones a thousand times larger.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import email.utils
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from urllib.parse import urljoin, urlsplit

from evalprep.annotate.providers.wire import UnansweredError, one_line

if TYPE_CHECKING:
    import ssl

    import httpx

#: Bytes of a reply, unpacked. A reply of a million tokens has about 5 MB.
BODY_LIMIT = 16 * 2**20
#: Bytes of the body of an error that are read; the rest is dropped.
ERROR_LIMIT = 64 * 2**10
_PIECE = 64 * 2**10
_REDIRECTS = 3
_KEEPS_METHOD = frozenset({307, 308})
_COMPRESSED = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # window bits for zlib: gzip; zlib or gzip by its header


@dataclass(frozen=True)
class Response:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as data.

        Raises:
            ValueError: it is not JSON, or nested too deeply to be read.
        """
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


class Http:
    """Requests to one address; use it as an async context.

    Args:
        base_url: Up to and without the path of a request.
        headers: Of every request.
        secret: The key; replaced by `***` in everything that is returned or raised.
        connections: At most so many at a time.
        deadline: Seconds for one exchange, from connecting to the last byte.
        limit: Bytes of a body.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        secret: str | None,
        connections: int = 8,
        deadline: float = 120.0,
        limit: int = BODY_LIMIT,
    ) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {**headers, "Accept-Encoding": "gzip, deflate"}
        self._secret, self._connections = secret, connections
        self._deadline, self._limit = deadline, limit
        self._idle: list[httpx.AsyncClient] = []
        self._made: list[httpx.AsyncClient] = []
        self._free: asyncio.Semaphore | None = None
        self._context: ssl.SSLContext | None = None

    async def __aenter__(self) -> Self:
        self._free = asyncio.Semaphore(self._connections)
        return self

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client for one exchange at a time.

        Each has one connection: the common pool of httpx looks through all connections at every request, which with 32
        of them takes longer than the request itself.
        """
        import httpx

        assert self._free is not None
        async with self._free:
            if not self._idle:
                # Proxies and certificates come from the environment, as everywhere else; they are read once. The
                # deadline replaces its timeouts.
                if self._context is None:
                    self._context = httpx.create_ssl_context()
                client = httpx.AsyncClient(timeout=None, follow_redirects=False, verify=self._context)  # noqa: S113
                self._made.append(client)
                self._idle.append(client)
            client = self._idle.pop()
            try:
                yield client
            finally:
                self._idle.append(client)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._made:
            await client.aclose()
        self._made, self._idle = [], []

    async def post_json(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Response:
        """Post data as JSON.

        Raises:
            UnansweredError: no response, a late one, one that is too large, or a redirect elsewhere.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return await self.request("POST", path, content, {"Content-Type": "application/json", **(headers or {})})

    async def request(
        self,
        method: str,
        path: str,
        content: bytes | AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        deadline: float | None = None,
    ) -> Response:
        """One exchange; a body beyond the limit ends it.

        Raises:
            UnansweredError: see `post_json`.
        """
        import io

        into = io.BytesIO()
        seconds = self._deadline if deadline is None else deadline
        status, found = await self._exchange(method, path, content, headers or {}, into, self._limit, seconds)
        return Response(status, found, self._without_secret(into.getvalue()))

    async def download(self, path: str, into: BinaryIO, *, limit: int, deadline: float) -> Response:
        """Write the body of a response into a file, as it comes; the response has no body unless it is an error.

        Raises:
            UnansweredError: see `post_json`.
        """
        status, found = await self._exchange("GET", path, None, {}, into, limit, deadline)
        if status == 200:
            return Response(status, found, b"")
        into.seek(0)
        body = into.read(ERROR_LIMIT)
        into.seek(0)
        into.truncate()
        return Response(status, found, self._without_secret(body))

    async def upload(self, path: str, file: Path, fields: Mapping[str, str], *, deadline: float) -> Response:
        """Post a file as a form, read as it is sent.

        Raises:
            UnansweredError: see `post_json`.
        """
        import io
        import secrets

        mark = secrets.token_hex(16)
        head = "".join(
            f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        )
        head += (
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        tail = f"\r\n--{mark}--\r\n"

        async def parts() -> AsyncIterator[bytes]:
            yield head.encode()
            with file.open("rb") as handle:
                while piece := handle.read(_PIECE):
                    yield piece
            yield tail.encode()

        size = file.stat().st_size  # noqa: ASYNC240 - a name on a local disk
        length = len(head.encode()) + size + len(tail.encode())
        headers = {"Content-Type": f"multipart/form-data; boundary={mark}", "Content-Length": str(length)}
        into = io.BytesIO()
        status, found = await self._exchange("POST", path, parts(), headers, into, self._limit, deadline)
        return Response(status, found, self._without_secret(into.getvalue()))

    async def _exchange(
        self,
        method: str,
        path: str,
        content: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str],
        into: BinaryIO,
        limit: int,
        deadline: float,
    ) -> tuple[int, Mapping[str, str]]:
        import httpx

        try:
            async with asyncio.timeout(deadline), self._connected() as client:
                return await self._follow(client, method, self._base + path, content, headers, into, limit)
        except TimeoutError:
            raise UnansweredError(f"no whole answer within {deadline:g} s", again=True, billed=True) from None
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise UnansweredError(self.clean(f"cannot connect: {error}"), again=True) from None
        except httpx.HTTPError as error:
            raise UnansweredError(self.clean(f"connection lost: {_words(error)}"), again=True, billed=True) from None
        except (OSError, ValueError, httpx.StreamError) as error:
            raise UnansweredError(self.clean(_words(error)), again=True, billed=True) from None

    async def _follow(
        self,
        client: httpx.AsyncClient,
        method: str,
        url: str,
        content: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str],
        into: BinaryIO,
        limit: int,
    ) -> tuple[int, Mapping[str, str]]:
        for _ in range(_REDIRECTS):
            request = client.build_request(method, url, content=content, headers={**self._headers, **headers})
            response = await client.send(request, stream=True)
            try:
                if not 300 <= response.status_code < 400:
                    whole = response.status_code == 200
                    await _read(response, into, limit if whole else min(limit, ERROR_LIMIT), whole=whole)
                    return response.status_code, response.headers
                goal = urljoin(url, response.headers.get("location", ""))
                kept = response.status_code in _KEEPS_METHOD or method == "GET"
                if not kept or _origin(goal) != _origin(url) or not isinstance(content, bytes | None):
                    shown = urlsplit(goal)
                    raise UnansweredError(
                        self.clean(
                            f"HTTP {response.status_code}: redirected to {shown.scheme}://{shown.netloc}, which is not "
                            "followed; if that is the right place, name it as --base_url"
                        ),
                        again=False,
                    )
                url = goal
            finally:
                await response.aclose()
        raise UnansweredError("redirected in a circle", again=False)

    def _without_secret(self, body: bytes) -> bytes:
        return body.replace(self._secret.encode(), b"***") if self._secret else body

    def clean(self, text: str) -> str:
        """A reason without the key, in case a server repeats what it was sent, on one line."""
        return one_line(text.replace(self._secret, "***") if self._secret else text)


async def _read(response: httpx.Response, into: BinaryIO, limit: int, *, whole: bool) -> None:
    """Copy a body, unpacked; what lies beyond the limit is an error where the whole is wanted, else dropped."""
    kind = response.headers.get("content-encoding", "").strip().lower()
    if kind not in {"", "identity"} and kind not in _COMPRESSED:
        raise UnansweredError(
            f"the body is packed with {kind[:20]!r}, which was not asked for", again=True, billed=True
        )
    unpack = zlib.decompressobj(_COMPRESSED[kind]) if kind in _COMPRESSED else None
    room = limit

    def put(piece: bytes) -> bool:
        nonlocal room
        if len(piece) > room:
            if whole:
                raise UnansweredError(f"the body is larger than {limit:,} bytes", again=False, billed=True)
            into.write(piece[:room])
            return False
        into.write(piece)
        room -= len(piece)
        return True

    async for raw in response.aiter_raw(_PIECE):
        if unpack is None:
            if not put(raw):
                return
            continue
        waiting = raw
        while waiting:
            try:
                piece = unpack.decompress(waiting, _PIECE)
            except zlib.error as error:
                raise UnansweredError(f"the packed body is damaged: {error}", again=True, billed=True) from None
            waiting = unpack.unconsumed_tail
            if not put(piece):
                return
            if not piece and not waiting:
                break
    if unpack is not None and not unpack.eof:
        raise UnansweredError("the packed body is cut", again=True, billed=True)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait, None where it does not say.

    `retry-after-ms` is OpenAI's; `Retry-After` has seconds or a date (RFC 9110, section 10.2.3).

    >>> retry_after({"retry-after": "3"}), retry_after({"retry-after-ms": "250"}), retry_after({"retry-after": "soon"})
    (3.0, 0.25, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        when = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=dt.UTC)
    return max(0.0, (when - dt.datetime.now(dt.UTC)).total_seconds())
