"""Folders for the time of a process, which a later verb removes where that process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path

from evalprep.files import is_alive

_NAME = re.compile(r"evalprep-[a-z]+-(\d+)-\w{8}")


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A new folder among the temporary ones, which is gone when its process has ended well.

    It is locked for as long, and its name has the number of the process.

    Args:
        kind: Its use, in one word of small letters.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(prefix=f"evalprep-{kind}-{os.getpid()}-")
        held = os.open(self.name, os.O_RDONLY)
        weakref.finalize(self, os.close, held)
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_folders_of_killed() -> None:
    """Removes the user's folders whose processes were killed."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match is None or is_alive(int(match[1])):
                continue
            with contextlib.suppress(OSError):
                is_own = entry.stat(follow_symlinks=False).st_uid == os.getuid()
                if is_own and entry.is_dir(follow_symlinks=False):
                    _remove_unlocked(Path(entry.path))


def _remove_unlocked(folder: Path) -> None:
    """Removes a folder that no process has locked: one of another machine or container may run.

    Raises:
        OSError: a process has it locked.
    """
    held = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)
