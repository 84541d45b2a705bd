"""Responses and their bodies.

A body is unpacked piece by piece and bounded, so that no server fills the memory.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from evalprep.annotate.providers.wire import UnansweredError

if TYPE_CHECKING:
    import aiohttp

#: Bytes of a reply, unpacked. A reply of a million tokens has about 5 MB.
BODY_LIMIT = 16 * 2**20
#: Bytes of the body of an error that are read; the rest is dropped.
ERROR_LIMIT = 64 * 2**10
#: Bytes that are read or sent at a time.
PIECE = 64 * 2**10
#: Window bits for zlib: gzip; zlib or gzip by its header.
_COMPRESSED = {"gzip": 31, "x-gzip": 31, "deflate": 47}


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


async def read_body(
    response: aiohttp.ClientResponse, into: BinaryIO, limit: int, *, whole: bool
) -> None:
    """Copies a body, unpacked, up to a limit.

    What lies beyond the limit is an error where the whole body is needed, else it is dropped.
    """
    kind = ", ".join(response.headers.getall("content-encoding", ())).strip().lower()
    if kind not in {"", "identity"} and kind not in _COMPRESSED:
        raise UnansweredError(
            f"the body is packed with {kind[:20]!r}, which was not asked for",
            again=True,
            billed=True,
        )
    unpacker = _Unpacker(kind)
    bounded = _Bounded(into, limit, whole=whole)
    async for raw in response.content.iter_chunked(PIECE):
        for piece in unpacker.pieces(raw):
            if not bounded.put(piece):
                return
    if unpacker.is_cut:
        raise UnansweredError("the packed body is cut", again=True, billed=True)


class _Bounded:
    """A file that takes a limited number of bytes."""

    def __init__(self, into: BinaryIO, limit: int, *, whole: bool) -> None:
        self._into = into
        self._limit = limit
        self._room = limit
        self._whole = whole

    def put(self, piece: bytes) -> bool:
        """Writes a piece; False where a part of it lies beyond the limit."""
        if len(piece) <= self._room:
            self._into.write(piece)
            self._room -= len(piece)
            return True
        if self._whole:
            raise UnansweredError(
                f"the body is larger than {self._limit:,} bytes", again=False, billed=True
            )
        self._into.write(piece[: self._room])
        return False


class _Unpacker:
    """Unpacks a body piece by piece; a body that is not packed passes as it is."""

    def __init__(self, kind: str) -> None:
        packed = kind in _COMPRESSED
        self._stream = zlib.decompressobj(_COMPRESSED[kind]) if packed else None

    @property
    def is_cut(self) -> bool:
        """Returns whether the end of a packed body is missing."""
        return self._stream is not None and not self._stream.eof

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yields what some bytes unpack to, `PIECE` bytes at a time at most."""
        if self._stream is None:
            yield raw
            return
        waiting = raw
        while waiting:
            try:
                piece = self._stream.decompress(waiting, PIECE)
            except zlib.error as error:
                raise UnansweredError(
                    f"the packed body is damaged: {error}", again=True, billed=True
                ) from None
            waiting = self._stream.unconsumed_tail
            yield piece


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait, None where it does not say.

    `retry-after-ms` is OpenAI's; `Retry-After` has seconds or a date (RFC 9110, section 10.2.3).

    >>> retry_after({"retry-after": "3"}), retry_after({"retry-after-ms": "250"})
    (3.0, 0.25)
    >>> retry_after({"retry-after": "soon"})
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
