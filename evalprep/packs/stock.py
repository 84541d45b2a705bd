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
from functools import cache
from pathlib import Path

from evalprep.files import write_atomically
from evalprep.places import caches

_TAGS = re.compile(
    rb"""^["']?tag["']?:[ \t]*(\[[^\]]*\]|(?:\r?\n[ \t]*- [^\r\n]+)+)""", re.MULTILINE
)
_NAME = re.compile(
    rb"""^["']?(?:task|group|tag)["']?:[ \t]*(?:\r?\n[ \t]*- )?([^\r\n#]+)""", re.MULTILINE
)


@cache
def stock_names() -> frozenset[str]:
    """Task, group and tag names that lm-eval's own YAML files declare.

    Empty when lm-eval is not installed.
    """
    remembered = _cache_file()
    if remembered is None:
        return frozenset()
    with contextlib.suppress(OSError, ValueError):
        return frozenset(json.loads(remembered.read_text(encoding="utf-8")))
    names = _scan()
    # A cache that cannot be written only costs the half second again.
    with contextlib.suppress(OSError):
        remembered.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(remembered, json.dumps(sorted(names)))
    return frozenset(names)


def is_remembered() -> bool:
    """Returns whether asking for the names costs next to nothing."""
    file = _cache_file()
    return file is not None and file.is_file()


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


def _cache_file() -> Path | None:
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
    return caches() / "evalprep" / f"lm-eval-names-2-{stamp}.json"


@cache
def stock_file(name: str) -> Path | None:
    """The file of lm-eval that declares a task or group; None where there is none, as for a tag."""
    quoted = rb"""["']?""" + re.escape(name.encode()) + rb"""["']?"""
    line = rb"""^["']?(?:task|group)["']?:[ \t]*""" + quoted + rb"""[ \t\r]*(?:#.*)?$"""
    declared = re.compile(line, re.MULTILINE)
    for folder, _, files in os.walk(_tasks_folder() or ""):
        for file in files:
            path = Path(folder, file)
            if path.suffix == ".yaml" and declared.search(path.read_bytes()):
                return path
    return None


def _scan() -> set[str]:
    names: set[str] = set()
    for folder, _, files in os.walk(_tasks_folder() or ""):
        for file in files:
            # What is only included bears names like _arc_yaml, and may hold the tags.
            if file.endswith((".yaml", "yaml")):
                # For speed, too.
                with open(os.path.join(folder, file), "rb") as handle:  # noqa: PTH118, PTH123
                    text = handle.read()
                names |= _names_in(text, only_tags=not file.endswith(".yaml"))
    return names


def _names_in(text: bytes, *, only_tags: bool) -> set[str]:
    """The names that the text of one YAML file declares."""
    raw_names = [] if only_tags else _NAME.findall(text)
    for block in _TAGS.findall(text):
        raw_names += re.split(rb"[\[\],\n]+(?:[ \t]*- )?", block)
    names = {name.strip().strip(b"\"'").decode("utf-8", "replace") for name in raw_names}
    return names - {""}
