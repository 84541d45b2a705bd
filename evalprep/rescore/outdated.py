"""Changes of a pack since a work folder was prepared from it.

The folder has the earlier scorer then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalprep.files import read_text
from evalprep.packs import Prepared, as_copied, content_digest
from evalprep.readers import SCORER_KEYS
from evalprep.rescore.placeholders import PLACEHOLDER, filled
from evalprep.yamltext import Loader, NotYaml, compose


def change_of_pack(prepared: Prepared, task: str) -> str:
    """Returns what of a task's pack is not as it was at preparation.

    Empty where nothing is, or nothing tells.

    Files of the work folder that the user edited are hers, and are not held against the pack.
    """
    if task not in prepared.tasks:
        return ""
    pack = prepared.tasks[task].pack
    folder = prepared.pack_folders.get(pack)
    if folder is None or not folder.is_dir():
        return ""
    return _changed_module(prepared, pack, folder) or _changed_template(prepared, task, folder)


def _changed_module(prepared: Prepared, pack: str, folder: Path) -> str:
    """A Python file of the pack that reads otherwise than its copy in the work folder."""
    for name in prepared.files:
        inside, _, module = name.partition("/")
        copy, original = prepared.folder / name, folder / module
        if inside != pack or copy.suffix != ".py" or not original.is_file():
            continue
        if _is_as_prepared(prepared, name) and _text(copy) != as_copied(original):
            return f"{original} was changed after the preparation"
    return ""


def _changed_template(prepared: Prepared, task: str, folder: Path) -> str:
    """The template of a task, where its scorer reads otherwise than in the task file."""
    planned = prepared.plan.tasks.get(task)
    file = prepared.task_file(task)
    if planned is None or not planned.template or file is None:
        return ""
    template = folder / planned.template
    name = file.relative_to(prepared.folder).as_posix()
    if not template.is_file() or not _is_as_prepared(prepared, name):
        return ""
    now, then = _scorer_of(template), _scorer_of(file)
    for key in SCORER_KEYS:
        value = filled(now.get(key), planned.values)
        if value != then.get(key) and not PLACEHOLDER.search(str(value)):
            return f"{key} of {template} was changed after the preparation"
    return ""


def _is_as_prepared(prepared: Prepared, name: str) -> bool:
    file = prepared.folder / name
    return file.is_file() and prepared.files.get(name) == content_digest(file)


def _text(file: Path) -> str:
    return read_text(file, own=True, errors="replace")


def _scorer_of(file: Path) -> dict[str, Any]:
    """The parts of a task file that score.

    Functions by their names, empty for a file that is not a YAML mapping.
    """
    try:
        content, _ = compose(_text(file), Loader, {"!function": lambda _, node: str(node.value)})
    except NotYaml:
        return {}
    return content if isinstance(content, dict) else {}
