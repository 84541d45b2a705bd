"""Files: replaced in one step, known again by a digest, read where they may be broken, locked against a second process.

A reader sees the old content of a file or the new, whatever is killed when. Locks are advisory and sit on open files,
which the system gives back however a process ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from evalprep.errors import BadInput, Problem


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


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def unchanged_sha256(path: Path) -> str:
    """`file_sha256`, read once as long as size and time of change stay: for files that are asked about often."""
    state = path.stat()
    return _sha256_of(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _sha256_of(path: Path, _size: int, _changed: int) -> str:
    return file_sha256(path)


def as_mapping(value: Any) -> dict[str, Any]:
    """A mapping out of a file that may be somebody else's; empty where it is something else."""
    return value if isinstance(value, dict) else {}


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; empty where there is none that can be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return as_mapping(data)


def lock(handle: IO[Any], taken: Problem) -> None:
    """Lock an open file until it is closed, here and in every child process that inherited it.

    Args:
        handle: The file.
        taken: What to tell the user when another process has it.

    Raises:
        BadInput: another process has it, or the file system knows no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(taken) from None
    except OSError as error:
        raise BadInput(
            Problem(what=f"cannot be locked: {error.strerror}", where=str(handle.name), fix="choose a local disk")
        ) from None


def is_locked(path: Path) -> bool:
    """Whether some process has the file or folder locked; False where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
