"""Files as they are in a compressed file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from evalprep.errors import BadInput, Problem
from evalprep.files import check_regular, open_file


def _open_zst(path: Path) -> Any:
    import pyarrow as pa

    return io.BufferedReader(pa.CompressedInputStream(str(path), "zstd"))


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}
#: What reading a damaged file raises.
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)


def unpacked_name(path: Path) -> str:
    """The name of what is in a compressed file, in small letters."""
    name = path.name.lower()
    return name.removesuffix(next((ending for ending in _OPENERS if name.endswith(ending)), ""))


def open_packed(path: Path) -> IO[bytes]:
    """Opens a file, compressed or not, for reading what is in it.

    Raises:
        NotRead: it is not a regular file.
        OSError: it cannot be opened.
    """
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        return open_file(path, own=True)
    check_regular(path, own=True)
    return cast("IO[bytes]", opener(path))


def damaged(path: Path, error: Exception) -> BadInput:
    """Returns the error for a file that cannot be read to its end."""
    return BadInput(Problem(what=f"is damaged: {error}", where=str(path), fix="fetch it again"))
