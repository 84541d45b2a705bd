"""An HTTP client that trusts no server.

Exchanges have a deadline, bodies a limit, and redirects stay at the origin.

aiohttp does the protocol; what it leaves open is closed here. Its bodies are as large as the server
likes, compressed ones a thousand times larger, so it unpacks none; it follows no redirect and keeps
no cookie.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from urllib.parse import urljoin, urlsplit

from evalprep.annotate.providers.body import BODY_LIMIT, ERROR_LIMIT, PIECE, Response, read_body
from evalprep.annotate.providers.route import proxy_for
from evalprep.annotate.providers.wire import UnansweredError, one_line
from evalprep.files import open_file

if TYPE_CHECKING:
    import ssl

    import aiohttp

_REDIRECTS = 3
_KEEPS_METHOD = frozenset({307, 308})
_ENCODER = json.JSONEncoder(ensure_ascii=False)


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
        self._secret = secret
        self._connections = connections
        self._deadline = deadline
        self._limit = limit
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None

    async def __aenter__(self) -> Self:
        import aiohttp

        # The proxy is taken from the environment here and not by aiohttp, which would take a
        # password from ~/.netrc as well.
        self._proxy = proxy_for(self._base)
        encrypted = "https" in {urlsplit(url or "").scheme for url in (self._base, self._proxy)}
        connector = aiohttp.TCPConnector(
            limit=self._connections, ssl=_certificates() if encrypted else True
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            # The deadline of an exchange stands in its place.
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None),
            auto_decompress=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def post_json(
        self, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Posts data as JSON.

        Raises:
            UnansweredError: no response, a late one, one that is too large, or a redirect
                elsewhere.
        """
        content = _ENCODER.encode(body).encode("utf-8", "replace")
        return await self.request(
            "POST", path, content, {"Content-Type": "application/json", **(headers or {})}
        )

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
        status, response_headers = await self._exchange(
            method, path, content, headers or {}, into, self._limit, seconds
        )
        return Response(status, response_headers, self._without_secret(into.getvalue()))

    async def download(self, path: str, into: BinaryIO, *, limit: int, deadline: float) -> Response:
        """Writes the body of a response into a file, as it comes.

        The response has no body unless it is an error.

        Raises:
            UnansweredError: see `post_json`.
        """
        status, response_headers = await self._exchange(
            "GET", path, None, {}, into, limit, deadline
        )
        if status == 200:
            return Response(status, response_headers, b"")
        into.seek(0)
        body = into.read(ERROR_LIMIT)
        into.seek(0)
        into.truncate()
        return Response(status, response_headers, self._without_secret(body))

    async def upload(
        self, path: str, file: Path, fields: Mapping[str, str], *, deadline: float
    ) -> Response:
        """Posts a file as a form, read as it is sent.

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
            with open_file(file, own=True) as handle:
                while piece := handle.read(PIECE):
                    yield piece
            yield tail.encode()

        size = file.stat().st_size  # noqa: ASYNC240 - a name on a local disk
        length = len(head.encode()) + size + len(tail.encode())
        headers = {
            "Content-Type": f"multipart/form-data; boundary={mark}",
            "Content-Length": str(length),
        }
        into = io.BytesIO()
        status, response_headers = await self._exchange(
            "POST", path, parts(), headers, into, self._limit, deadline
        )
        return Response(status, response_headers, self._without_secret(into.getvalue()))

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
        import aiohttp

        try:
            async with asyncio.timeout(deadline):
                return await self._follow(method, self._base + path, content, headers, into, limit)
        except TimeoutError:
            raise UnansweredError(
                f"no whole answer within {deadline:g} s", again=True, billed=True
            ) from None
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise UnansweredError(
                self.clean(f"cannot connect: {_words(error)}"), again=True
            ) from None
        except aiohttp.ClientError as error:
            raise UnansweredError(
                self.clean(f"connection lost: {_words(error)}"), again=True, billed=True
            ) from None
        except (OSError, ValueError) as error:
            raise UnansweredError(self.clean(_words(error)), again=True, billed=True) from None

    async def _follow(
        self,
        method: str,
        url: str,
        content: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str],
        into: BinaryIO,
        limit: int,
    ) -> tuple[int, Mapping[str, str]]:
        assert self._session is not None
        for _ in range(_REDIRECTS):
            async with self._session.request(
                method, url, data=content, headers=headers, proxy=self._proxy, allow_redirects=False
            ) as response:
                if not 300 <= response.status < 400:
                    is_whole = response.status == 200
                    most = limit if is_whole else min(limit, ERROR_LIMIT)
                    await read_body(response, into, most, whole=is_whole)
                    return response.status, response.headers
                goal = urljoin(url, response.headers.get("location", ""))
                keeps_method = response.status in _KEEPS_METHOD or method == "GET"
                is_same_server = _origin(goal) == _origin(url)
                can_send_again = isinstance(content, bytes | None)
                if not (keeps_method and is_same_server and can_send_again):
                    raise self._not_followed(response.status, goal)
                url = goal
        raise UnansweredError("redirected in a circle", again=False)

    def _not_followed(self, status: int, goal: str) -> UnansweredError:
        place = urlsplit(goal)
        reason = (
            f"HTTP {status}: redirected to {place.scheme}://{place.netloc}, which is not followed; "
            "if that is the right place, name it as --base_url"
        )
        return UnansweredError(self.clean(reason), again=False)

    def _without_secret(self, body: bytes) -> bytes:
        return body.replace(self._secret.encode(), b"***") if self._secret else body

    def clean(self, text: str) -> str:
        """A reason without the key, in case a server repeats what it was sent, on one line."""
        return one_line(text.replace(self._secret, "***") if self._secret else text)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _words(error: Exception) -> str:
    """The reason of an error of the client, without the client's own names."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorError):
        code = error.os_error.errno or 0
        return os.strerror(code) if code > 0 else str(error.os_error)
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body ended early, or is damaged"
    if isinstance(error, aiohttp.ClientResponseError):
        return " ".join(f"{error.status} {error.message}".split())
    return str(error) or type(error).__name__


def _certificates() -> ssl.SSLContext:
    """The certificates that are trusted: those that the environment names, else certifi's."""
    import ssl

    import certifi

    file = os.environ.get("SSL_CERT_FILE")
    folder = os.environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file, capath=folder)
    return ssl.create_default_context(cafile=certifi.where())
