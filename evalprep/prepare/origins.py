"""The files that a user wrote, behind the files of a built folder that were made from them.

A finding names the former: the latter are not there when a preparation is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from evalprep.check import Finding
from evalprep.config import Config
from evalprep.files import file_sha256, read_text
from evalprep.packs import TEMPLATES
from evalprep.prepare.build import Preparation


def named_by_origin(built: Preparation, finding: Finding) -> Finding:
    """The same finding at the place that the user wrote.

    A file of the folder that the user edited stays, and so do those of a shipped pack, in which she
    would change the copy.

    Args:
        built: The folder; the paths of the finding are those after the swap.
        finding: The finding.
    """
    folder = re.escape(str(built.joined.work_dir))
    made_file = re.compile(rf"{folder}/([^:\s]+\.(?:yaml|py))(?::(\d+)(?: \((\w+)\))?)?")

    def place(found: re.Match[str]) -> str:
        return _place(built, *found.groups()) or found.group()

    return finding.rewritten(lambda text: made_file.sub(place, text))


def _place(built: Preparation, name: str, number: str | None, key: str | None) -> str:
    """The place that the user wrote; empty where the file is not made from another.

    Args:
        built: The folder.
        name: Path of the file below it.
        number: A line of it.
        key: The key that the line is of.
    """
    file = built.folder / name
    if not file.is_file() or file_sha256(file) != built.files.get(name):
        return ""
    if name.startswith("inline/"):
        return _in_config(built.joined.config, file.stem, key)
    origin = built.origins.get(name)
    if origin is None or origin.is_relative_to(TEMPLATES):
        return ""
    line = _line_of(file, origin, int(number)) if number else None
    of_line = "" if line is None else f":{line}"
    return f"{origin}{of_line}" + (f" ({key})" if key else "")


def _in_config(config: Config, task: str, key: str | None) -> str:
    """The place of a task, or of one of its keys, that the config holds inline."""
    for number, entry in enumerate(config.core.tasks):
        if not isinstance(entry, str) and entry.get("task") == task:
            return config.where("tasks", number, *([key] if key else []))
    return ""


def _line_of(made: Path, origin: Path, number: int) -> int | None:
    """The line of a file that a line of the file made from it comes from; None without one."""
    made_lines, lines = _lines(made), _lines(origin)
    if not 0 < number <= len(made_lines):
        return None
    text = made_lines[number - 1]
    added = len(made_lines) - len(lines)
    for candidate in (number, number - added):
        if 0 < candidate <= len(lines) and lines[candidate - 1] == text:
            return candidate
    # The value of a key was filled in; the key stands where it stood.
    key = _key(text)
    if 0 < number <= len(lines) and _key(lines[number - 1]) == key:
        return number
    same_key = (place for place, line in enumerate(lines, 1) if key and _key(line) == key)
    return next(same_key, None)


def _lines(file: Path) -> Sequence[str]:
    return read_text(file, own=True, encoding="utf-8-sig").splitlines()


def _key(line: str) -> str:
    """The key of a line of YAML with its indent; empty where it has none."""
    key, colon, _ = line.partition(":")
    return key if colon else ""
