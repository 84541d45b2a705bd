"""Files that are replaced in one step: a reader sees the old content or the new, whatever is killed when."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write beside the place, bring it to the disk, rename.

    Raises:
        OSError: it could not be written; the old content is still there and nothing is left beside it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as handle:
            handle.write(content.encode() if isinstance(content, str) else content)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # The system does not say where when it is the disk that is full.
        raise OSError(error.errno, error.strerror, str(path)) from error


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
