"""The ids of the rows of a table, in little memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np
from numpy.typing import NDArray

_DIGEST = 0xFF  # before the bytes of a digest: no text in UTF-8 has this one
_BYTES = 32  # of a digest
_MARKED = np.dtype([("mark", np.uint8), ("words", np.uint64, _BYTES // 8)])


@dataclass(frozen=True, eq=False)
class Ids:
    """Texts as bytes: of a million digests 41 MB, which are 121 MB as texts of Python.

    Attributes:
        data: The ids one behind the other: of a digest `_DIGEST` and its bytes, any other text in
            UTF-8.
        bounds: Where each begins, and where the last one ends.
    """

    data: bytes
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Ids:
        """Some texts."""
        digests = digests_in(texts)
        if digests is not None:
            marked = np.empty(len(texts), dtype=_MARKED)
            marked["mark"] = _DIGEST
            marked["words"] = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 4)
            return cls(marked.tobytes(), np.arange(len(texts) + 1) * _MARKED.itemsize)
        pieces = list(map(_piece, texts))
        bounds = accumulate(map(len, pieces), initial=0)
        return cls(b"".join(pieces), np.fromiter(bounds, dtype=np.int64, count=len(pieces) + 1))

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """Some ids one behind the other."""
        data = b"".join(part.data for part in parts)
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.bounds) for part in parts)])
        return cls(data, np.cumsum(lengths, out=lengths))

    def __len__(self) -> int:
        """Returns how many there are."""
        return self.bounds.size - 1

    def __getitem__(self, row: int) -> str:
        """Returns the id of a row."""
        return _text(self.data[self.bounds[row] : self.bounds[row + 1]])

    def __iter__(self) -> Iterator[str]:
        """Yields the id of each row."""
        return map(_text, self._pieces())

    def at(self, rows: NDArray[np.int64] | Sequence[int]) -> list[str]:
        """Returns the ids of some rows."""
        starts = np.asarray(rows, dtype=np.int64)
        bounds = self.bounds[starts].tolist(), self.bounds[starts + 1].tolist()
        return list(map(_text, map(self.data.__getitem__, map(slice, *bounds))))

    def __eq__(self, other: object) -> bool:
        """Returns whether other rows have these ids in this order."""
        if not isinstance(other, Ids):
            return NotImplemented
        return self.data == other.data and np.array_equal(self.bounds, other.bounds)

    def __hash__(self) -> int:
        """Returns one hash of all of them."""
        return hash(self.data)

    def hashes(self) -> NDArray[np.uint64]:
        """Returns a hash of each id, of this process alone; never 0."""
        if np.array_equal(self.bounds, np.arange(len(self) + 1) * _MARKED.itemsize):
            digests = np.frombuffer(self.data, dtype=_MARKED)
            if np.all(digests["mark"] == _DIGEST):
                return _without_0(_hashes_of(digests))
        hash_of = _hash if _DIGEST in self.data else hash
        hashes = np.fromiter(map(hash_of, self._pieces()), dtype=np.int64, count=len(self))
        return _without_0(hashes.view(np.uint64))

    def _pieces(self) -> Iterator[bytes]:
        bounds = self.bounds.tolist()
        return map(self.data.__getitem__, map(slice, bounds, islice(bounds, 1, None)))


def _piece(text: str) -> bytes:
    digest = digests_in([text]) if len(text) == 2 * _BYTES else None
    if digest is not None:
        return bytes([_DIGEST]) + digest
    return text.encode("utf-8", "surrogatepass")  # an id of a file may hold half a pair


def _is_digest(piece: bytes) -> bool:
    return len(piece) > _BYTES and piece[0] == _DIGEST


def _text(piece: bytes) -> str:
    return piece[1:].hex() if _is_digest(piece) else piece.decode("utf-8", "surrogatepass")


def _hash(piece: bytes) -> int:
    """The hash of one id, as a number with a sign."""
    if not _is_digest(piece):
        return hash(piece)
    digest = np.frombuffer(piece, dtype=_MARKED)
    return int(_hashes_of(digest).view(np.int64)[0])


def _hashes_of(digests: NDArray[np.void]) -> NDArray[np.uint64]:
    hashes: NDArray[np.uint64] = np.bitwise_xor.reduce(digests["words"], axis=1)
    return hashes


def _without_0(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.where(hashes == 0, np.uint64(1), hashes)


def digests_in(texts: Sequence[str]) -> bytes | None:
    """Returns the bytes of digests (sha256); None where a text is not one as lm-eval writes it."""
    together = " ".join(texts)
    with contextlib.suppress(ValueError):
        whole = bytes.fromhex(together)
        if whole and len(whole) == _BYTES * len(texts) and whole.hex(" ", _BYTES) == together:
            return whole
    return None
