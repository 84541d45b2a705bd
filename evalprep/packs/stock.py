"""The tasks, groups and tags that the installed lm-eval ships, without importing it.

lm-eval's own index parses 14,000 YAML files in 10 s. Names, files and tags are found by searching
the files' text in half a second, and remembered in the user's cache folder for the installed
version, so that a config check stays instant.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from evalprep.files import write_atomically
from evalprep.packs.commits import installed_version
from evalprep.places import caches

#: Line of a task or group with its name, not that of a group's members.
_DECLARED = re.compile(rb"""^["']?(?:task|group)["']?:[ \t]*([^\r\n#\[]+)""", re.MULTILINE)
#: Tags: one, a list in brackets, or one on each line.
_TAGS = re.compile(
    rb"""^["']?tag["']?:[ \t]*(\[[^\]]*\]|(?:\r?\n[ \t]*- [^\r\n#]+)+|[^\r\n#]+)""", re.MULTILINE
)
_BETWEEN_TAGS = re.compile(rb"[\[\],\n]+(?:[ \t]*- )?")
#: Files that a task file takes keys from: one, or a list in brackets or on lines of its own.
_INCLUDES = re.compile(
    rb"""^["']?include["']?:[ \t]*(\[[^\]]*\]|(?:\r?\n[ \t]*- [^\r\n#]+)+|[^\r\n#]+)""",
    re.MULTILINE,
)
_IS_TASK = re.compile(rb"""^["']?task["']?:[ \t]*[^\s\[#-]""", re.MULTILINE)
_IS_GROUP = re.compile(rb"""^["']?group["']?:""", re.MULTILINE)
#: The scan that is kept; another number is another format.
_SCAN = "index-1"


class _Scan(TypedDict):
    """What a search of lm-eval's files gives.

    Attributes:
        files: The name of each task and group -> its file below the tasks folder.
        tags: Each tag -> the tasks that have it, in the order of their files.
    """

    files: dict[str, str]
    tags: dict[str, list[str]]


@cache
def stock_names() -> frozenset[str]:
    """Task, group and tag names that lm-eval's own YAML files declare.

    Empty when lm-eval is not installed.
    """
    scan = _scan()
    return frozenset(scan["files"]) | frozenset(scan["tags"])


def stock_file(name: str) -> Path | None:
    """The file of lm-eval that declares a task or group; None where there is none, as for a tag."""
    file = _scan()["files"].get(name)
    return None if file is None else Path(_tasks_folder() or "", file)


def stock_tagged(tag: str) -> list[str]:
    """The tasks of lm-eval's own that have a tag, in the order of their files."""
    return list(_scan()["tags"].get(tag, ()))


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
    file = _cache_file()
    return file is not None and file.is_file()


@cache
def _scan() -> _Scan:
    """The outcome of a search of lm-eval, kept for the installed version; empty without one."""
    file = _cache_file()
    if file is None:
        return {"files": {}, "tags": {}}
    with contextlib.suppress(OSError, ValueError):
        kept: _Scan = json.loads(file.read_text(encoding="utf-8"))
        return kept
    scanned = _search_files()
    # A cache that cannot be written only costs the half second again.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(scanned))
    return scanned


@cache
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
    return installed_version("lm_eval")


def _cache_file() -> Path | None:
    """The file that keeps the scan; None without lm-eval, or where its version is not known."""
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
    return caches() / "evalprep" / f"lm-eval-{_SCAN}-{stamp}.json"


def _search_files() -> _Scan:
    """Finds each name with the first file that declares it, in the order of lm-eval, and tags."""
    root = Path(_tasks_folder() or "")
    files: dict[str, str] = {}
    tags: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.yaml"), key=Path.as_posix):
        text = path.read_bytes()
        is_first = False
        for declared in map(_as_name, _DECLARED.findall(text)):
            if declared and declared not in files:
                files[declared] = path.relative_to(root).as_posix()
                is_first = True
        if is_first and _IS_TASK.search(text) and not _IS_GROUP.search(text):
            name = _as_name(_DECLARED.findall(text)[0])
            for tag in _tags_of(path, text):
                tags.setdefault(tag, []).append(name)
    return {"files": files, "tags": tags}


def _tags_of(path: Path, text: bytes, seen: frozenset[Path] = frozenset()) -> list[str]:
    """The tags of a task file: its own, else those of the last file that it includes with any."""
    own = _TAGS.search(text)
    if own is not None:
        return _listed_names(own[1])
    tags: list[str] = []
    for included in _INCLUDES.findall(text)[:1]:
        for name in _listed_names(included):
            file = path.parent / name
            if file in seen or not file.is_file():
                continue
            tags = _tags_of(file, file.read_bytes(), seen | {path}) or tags
    return tags


def _listed_names(text: bytes) -> list[str]:
    """The names in a value of YAML: one, or a list in brackets or on lines of its own."""
    names = map(_as_name, _BETWEEN_TAGS.split(text))
    return [name for name in names if name]


def _as_name(text: bytes) -> str:
    """A name as YAML reads it."""
    return text.strip().strip(b"\"'").decode("utf-8", "replace")
