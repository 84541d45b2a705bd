"""Files that may be packed with gzip, and members of zip archives that Python cannot unpack."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evalprep.errors import BadInput, Problem
from evalprep.files import open_file

GZIP = b"\x1f\x8b"
_ZSTD = 93  # compression method of a zip member; Python reads it from 3.14
_LARGEST_MEMBER = 2**29  # bytes of one sample
_HEADER = struct.Struct("<26xHH")  # lengths of name and extra field in a member's own header


class NotUnpacked(BadInput, gzip.BadGzipFile):
    """Raised for a file whose gzip data are damaged or cut off, while it is read."""

    def __init__(self, path: Path, reason: str) -> None:
        what, fix = f"is damaged gzip data: {reason}", "fetch it again"
        super().__init__(Problem(what=what, where=str(path), fix=fix))


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file for reading; one that is packed with gzip is unpacked on the way.

    Raises:
        NotRead: it is not a regular file, or a link out of the place that the user named.
        NotUnpacked: what it is packed with is damaged; an OSError, too.
        OSError: it cannot be opened.
    """
    with open_file(path) as raw:
        is_packed = raw.read(2) == GZIP
        raw.seek(0)
        if not is_packed:
            yield raw
            return
        try:
            with gzip.open(raw) as file:
                yield file  # type: ignore[misc]  # a GzipFile reads and seeks as an IO does
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise NotUnpacked(path, str(error)) from error


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Reads a member of a zip archive, whichever way it is compressed.

    Raises:
        BadInput: it is compressed with zstd, and nothing here unpacks that.
        zipfile.BadZipFile: it is damaged.
    """
    info = archive.getinfo(name)
    if info.file_size > _LARGEST_MEMBER:
        raise zipfile.BadZipFile(f"{name} has over {_LARGEST_MEMBER:,} bytes")
    try:
        return archive.read(info)
    except NotImplementedError:
        if info.compress_type != _ZSTD:
            raise zipfile.BadZipFile(f"compression method {info.compress_type}") from None
    except (zlib.error, RuntimeError, ValueError) as error:  # a password; a place before the file
        raise zipfile.BadZipFile(str(error)) from error
    return _unpacked(_raw_member(archive, info), info.file_size, str(archive.filename))


def _raw_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The compressed bytes of a member."""
    with open_file(Path(str(archive.filename))) as file:
        file.seek(info.header_offset)
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise zipfile.BadZipFile("cut off")
        file.seek(sum(_HEADER.unpack(header)), io.SEEK_CUR)
        content: bytes = file.read(info.compress_size)
    return content


def _unpacked(raw: bytes, size: int, where: str) -> bytes:
    """The content of zstd frames, of which a member may have several."""
    try:
        import zstandard
    except ImportError as error:
        raise BadInput(
            Problem(
                what="the archive is compressed with zstd, which this Python cannot unpack",
                where=where,
                fix="pip install zstandard (or: pip install 'evalprep[zstd]')",
            )
        ) from error
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw), read_across_frames=True)
    try:
        return bytes(reader.read(size))  # never more than the archive states
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile("damaged zstd data") from error


def damaged(path: Path, why: str) -> BadInput:
    """Returns the error for a file that cannot be read at all."""
    return BadInput(
        Problem(what=f"the file is damaged: {why}", where=str(path), fix="fetch or write it again")
    )
