"""Environment variables that a command needs.

They are written as words of a shell line, or as the environment of a process.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

# Lists of folders, which what is there already must not lose: clusters set them for the packages of
# a module.
_LISTS = frozenset({"PYTHONPATH"})


def shell_words(needed: Mapping[str, str]) -> list[str]:
    """`NAME=value` for each, quoted; a list of folders goes before the one that the shell has."""
    return [
        f"{name}={shlex.quote(value)}" + (f'"${{{name}:+:${name}}}"' if name in _LISTS else "")
        for name, value in needed.items()
    ]


def environment(before: Mapping[str, str], needed: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that the same line would start."""
    joined = {
        name: value + os.pathsep + before[name] if name in _LISTS and before.get(name) else value
        for name, value in needed.items()
    }
    return {**before, **joined}
