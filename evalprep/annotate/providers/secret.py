"""The key of a service: from the environment or from a file that nobody else can read.

It is never taken from the command line.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from evalprep.errors import Problems

_LONGEST = 4096


def read_key(
    variable: str, file: Path | None, problems: Problems, *, needed: bool, named: bool
) -> str | None:
    """The key, without its blanks; its text is in no message.

    Args:
        variable: Environment variable.
        file: A file that holds the key and nothing else; goes before the variable.
        problems: Gets what is wrong.
        needed: The service takes nobody without one.
        named: The user named the variable.
    """
    if file is not None:
        return _from_file(file, problems)
    key = os.environ.get(variable, "").strip() or None
    if key is None and needed:
        problems.add(
            f"{'the variable that --key_from names' if named else variable} is not set in the "
            "environment",
            fix="export it, or name a file with --key_from FILE; a key is never given as "
            "an argument",
        )
    if key is not None and not _sendable(key):
        problems.add(
            f"the value of {variable} is not an API key: "
            "it has spaces or characters that a header cannot hold"
        )
        return None
    return key


def _from_file(file: Path, problems: Problems) -> str | None:
    try:
        # Without waiting: a pipe in its place must not stop the program.
        # `Path.open` takes no descriptor.
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as handle:  # noqa: PTH123
            mode = os.fstat(handle.fileno()).st_mode
            if not stat.S_ISREG(mode):
                problems.add("is not a regular file", where=str(file))
                return None
            if mode & 0o077:
                problems.add(
                    f"others may read it (mode {stat.S_IMODE(mode):03o})",
                    where=str(file),
                    fix=f"chmod 600 {file}",
                )
                return None
            content = handle.read(_LONGEST + 1)
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", where=str(file))
        return None
    key = content.decode("utf-8", "replace").strip()
    if not key or len(content) > _LONGEST or not _sendable(key):
        problems.add(
            "holds no key", where=str(file), allowed="the key on one line, and nothing else"
        )
        return None
    return key


def _sendable(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key
