"""Names of the tasks that the installed lm-eval ships, without importing it.

lm-eval's own index parses 14,000 YAML files in 10 s. Names alone are found by searching the files'
text in half a second, and remembered in the user's cache folder for the installed version, so that
a config check stays instant.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from evalprep.files import write_atomically
from evalprep.places import caches

#: Line of a task or group with its name, not that of a group's members.
_DECLARED = re.compile(rb"""^["']?(?:task|group)["']?:[ \t]*([^\r\n#\[]+)""", re.MULTILINE)
#: Tags: one, a list in brackets, or one on each line.
_TAGS = re.compile(
    rb"""^["']?tag["']?:[ \t]*(\[[^\]]*\]|(?:\r?\n[ \t]*- [^\r\n#]+)+|[^\r\n#]+)""", re.MULTILINE
)
_BETWEEN_TAGS = re.compile(rb"[\[\],\n]+(?:[ \t]*- )?")
#: Scans that are kept; another number is another format.
_NAMES, _FILES = "names-3", "files-1"
T = TypeVar("T")


@cache
def stock_names() -> frozenset[str]:
    """Task, group and tag names that lm-eval's own YAML files declare.

    Empty when lm-eval is not installed.
    """
    return frozenset(_remembered(_NAMES, _scan_names) or ())


def stock_file(name: str) -> Path | None:
    """The file of lm-eval that declares a task or group; None where there is none, as for a tag."""
    file = _files().get(name)
    return None if file is None else Path(_tasks_folder() or "", file)


@cache
def _files() -> dict[str, str]:
    """The name of each task and group of lm-eval's own -> its file below the tasks folder."""
    return _remembered(_FILES, _scan_files) or {}


def member_names(group: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names in the list of a group of lm-eval, and in the lists of groups within it."""
    members = group.get("task")
    if not isinstance(members, list):
        return
    for member in members:
        if isinstance(member, str):
            yield member
        elif isinstance(member, Mapping):
            named = (member.get("group"), member.get("task"))
            yield from (name for name in named if isinstance(name, str))
            yield from member_names(member)


def is_remembered() -> bool:
    """Returns whether asking for the names costs next to nothing."""
    file = _cache_file(_NAMES)
    return file is not None and file.is_file()


def _remembered(kind: str, scan: Callable[[], T]) -> T | None:
    """The outcome of a scan of lm-eval, kept for the installed version; None without one."""
    file = _cache_file(kind)
    if file is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        kept: T = json.loads(file.read_text(encoding="utf-8"))
        return kept
    scanned = scan()
    # A cache that cannot be written only costs the half second again.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(scanned))
    return scanned


def _tasks_folder() -> str | None:
    spec = importlib.util.find_spec("lm_eval")
    if spec is None or spec.origin is None:
        return None
    # 14,000 files: os.walk is twice as fast.
    return os.path.join(os.path.dirname(spec.origin), "tasks")  # noqa: PTH118, PTH120


@cache
def _version(folder: str) -> str:
    """The version of the installed lm-eval, empty where it is not known.

    The name of its metadata folder says it; importlib.metadata would cost three times as much as
    all other imports of a config check.
    """
    site = Path(folder).parent.parent
    names = [path.name for path in site.glob("lm_eval-*.dist-info")]
    if len(names) == 1:
        return names[0].removeprefix("lm_eval-").removesuffix(".dist-info")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("lm_eval")
    except PackageNotFoundError:
        return ""


def _cache_file(kind: str) -> Path | None:
    """The file that keeps a scan; None without lm-eval, or where its version is not known."""
    folder = _tasks_folder()
    if folder is None:
        return None
    try:
        changed = os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return None
    installed = _version(folder)
    if not installed:
        return None
    stamp = f"{installed}-{changed}"
    return caches() / "evalprep" / f"lm-eval-{kind}-{stamp}.json"


def _scan_names() -> list[str]:
    """Names of tasks and groups, and the tags in their files and in those that they include."""
    names = set(_files())
    for folder, _, files in os.walk(_tasks_folder() or ""):
        for file in files:
            # What is only included bears names like _arc_yaml and afrimmlu_direct.
            if file.endswith("yaml") or "." not in file:
                # For speed, too.
                with open(os.path.join(folder, file), "rb") as handle:  # noqa: PTH118, PTH123
                    names |= _tags_in(handle.read())
    return sorted(names)


def _tags_in(text: bytes) -> set[str]:
    """The tags that the text of one YAML file gives."""
    tags: set[str] = set()
    for block in _TAGS.findall(text):
        tags |= set(map(_as_name, _BETWEEN_TAGS.split(block)))
    return tags - {""}


def _scan_files() -> dict[str, str]:
    """Each name with the first file that declares it, in the order in which lm-eval reads them."""
    tasks = Path(_tasks_folder() or "")
    files: dict[str, str] = {}
    for path in sorted(tasks.rglob("*.yaml"), key=Path.as_posix):
        for declared in _DECLARED.findall(path.read_bytes()):
            files.setdefault(_as_name(declared), path.relative_to(tasks).as_posix())
    files.pop("", None)
    return files


def _as_name(text: bytes) -> str:
    """A name as YAML reads it."""
    return text.strip().strip(b"\"'").decode("utf-8", "replace")
