"""One process at a time: advisory locks on open files, which the system gives back however a process ends."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO, Any

from evalprep.errors import BadInput, Problem


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
    """Whether some process has the file locked; False where there is no such file."""
    try:
        with path.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
