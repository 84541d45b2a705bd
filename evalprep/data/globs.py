"""File patterns over a list of names, as fsspec matches them.

`*` within a name, `**` over folders, `[...]`, `?`.

A list of names is enough: a hub's listing and a local folder are matched alike, without a call per
pattern.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

_MAGIC = re.compile(r"[*?\[]")
#: Files of a repository that hold no rows.
NO_DATA = frozenset(
    (
        "README.md",
        "config.json",
        "dataset_info.json",
        "dataset_infos.json",
        "dummy_data.zip",
        "dataset_dict.json",
    )
)


def has_magic(pattern: str) -> bool:
    """Returns whether a pattern is more than one file's name."""
    return _MAGIC.search(pattern) is not None


def matching(names: Iterable[str], pattern: str, folder: str = "") -> list[str]:
    """The names that a pattern means, sorted.

    Hidden files, and files in folders that begin with two underscores, are meant only by patterns
    that say so; of the files that describe a data set, only the ones that are named.

    Args:
        names: Paths of files, with `/`, relative to the data set.
        pattern: Relative to `folder`.
        folder: A folder of the data set.

    Raises:
        ValueError: `**` beside other characters.

    >>> matching(["data/train-0.csv", "data/test-0.csv", "README.md"], "**/train*")
    ['data/train-0.csv']
    """
    whole = posixpath.normpath(posixpath.join(folder, pattern)) if pattern else folder
    rule = _compiled(whole)
    skipped = NO_DATA - {posixpath.basename(pattern)}
    hidden, special = _counts(whole)
    matches = []
    for name in names:
        if not rule.fullmatch(name) or posixpath.basename(name) in skipped:
            continue
        if _counts(name) == (hidden, special):
            matches.append(name)
    return sorted(matches)


def _counts(path: str) -> tuple[int, int]:
    """Returns how many parts are hidden, and how many folders special."""
    parts = PurePosixPath(path).parts
    return (
        sum(part.startswith(".") and set(part) != {"."} for part in parts),
        sum(part.startswith("__") for part in parts[:-1]),
    )


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = pattern.split("/")
    regex_parts: list[str] = []
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            regex_parts.append(".+" if last else "(?:.+/)?")
        elif "**" in part:
            raise ValueError(f"** in {pattern!r} stands beside other characters")
        else:
            regex_parts.append(_part(part) + ("" if last else "/"))
    return re.compile("".join(regex_parts), re.DOTALL)


def _part(part: str) -> str:
    regex_parts: list[str] = []
    at = 0
    while at < len(part):
        character = part[at]
        at += 1
        end = part.find("]", at + 1) if character == "[" else -1
        if character == "*":
            regex_parts.append("[^/]*")
        elif character == "?":
            regex_parts.append("[^/]")
        elif end > 0:
            inside = part[at:end].replace("\\", "\\\\")
            regex_parts.append(
                f"[^{inside[1:]}]"
                if inside.startswith("!")
                else f"[{inside}]".replace("[^", "[\\^")
            )
            at = end + 1
        else:
            regex_parts.append(re.escape(character))
    return "".join(regex_parts)


def first_with(names: Sequence[str], patterns: Iterable[str], folder: str = "") -> bool:
    """Returns whether any of the patterns means a file."""
    return any(matching(names, pattern, folder) for pattern in patterns)
