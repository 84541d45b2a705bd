"""Checks of things that a configuration must not do, although each of its keys is fine.

It must not destroy files, nor publish a credential.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.errors import Problems
from evalprep.packs import TEMPLATES
from evalprep.places import exists, flaw, is_folder
from evalprep.yamlfile import YamlFile

if TYPE_CHECKING:
    from evalprep.config.schema import Core


_UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")


def _inside(inner: Path, outer: Path) -> bool:
    return inner == outer or outer in inner.parents


def check_secrets(source: YamlFile, problems: Problems) -> None:
    """Notes every setting of a config that looks like a credential."""
    problems.refuse_secrets(source.data, lambda path: source.where(*path))


def check_paths(core: Core, source: YamlFile, problems: Problems) -> None:
    """The work folder is replaced whole, so nothing of value may share it.

    Both folders must be writable.

    lm_eval notices an output folder that it cannot write once everything is generated.
    """
    where = source.where
    for templates in (TEMPLATES, *core.template_dir):
        if _inside(core.work_dir, templates) or _inside(templates, core.work_dir):
            problems.add(
                f"work_dir {core.work_dir} and template_dir {templates} overlap",
                where=where("work_dir"),
                fix="choose a work_dir outside of the templates: it is replaced on every "
                "preparation",
            )
    if _inside(source.folder, core.work_dir) or core.work_dir == Path.home():
        problems.add(
            f"work_dir {core.work_dir} holds other things",
            where=where("work_dir"),
            fix="name a folder of its own",
        )
    elif _inside(core.output_path, core.work_dir):
        problems.add(
            f"output_path {core.output_path} lies in work_dir",
            where=where("output_path"),
            fix="choose an output_path outside of work_dir: work_dir is replaced on every "
            "preparation",
        )
    _check_task_folders(core, source, problems)
    for local_prefix, remote_prefix in core.path_prefix.items():
        if not remote_prefix.startswith("/"):
            problems.add(
                f"path_prefix leads from {local_prefix} to {remote_prefix!r}, "
                "which is not an absolute path",
                where=where("path_prefix"),
                allowed="{/home/me/project: /scratch/me/project}",
            )
    _check_writable(core, source, problems)


def _check_task_folders(core: Core, source: YamlFile, problems: Problems) -> None:
    """The folders of `include_path` are there, and none is replaced by a preparation."""
    where = source.where("include_path")
    for folder in core.include_path:
        if not is_folder(folder):
            is_file = exists(folder)
            problems.add(
                f"include_path {folder} " + ("is a file" if is_file else "does not exist"),
                where=where,
                fix=f"tasks: {folder.name}, or name its folder" if is_file else "name a folder",
            )
        elif _inside(folder, core.work_dir):
            problems.add(
                f"include_path {folder} lies in work_dir {core.work_dir}, which every preparation "
                "replaces",
                where=where,
                fix="name the folder of your own files, or choose another work_dir",
            )


def _check_writable(core: Core, source: YamlFile, problems: Problems) -> None:
    where = source.where
    for key, path in (("work_dir", core.work_dir), ("output_path", core.output_path)):
        if _UNPRINTABLE.search(str(path)):
            problems.add(
                f"{key} {str(path)!r} holds a control character, on which a shell acts when the "
                "command is pasted, or bytes that are not UTF-8",
                where=where(key),
                fix=f"choose another {key}",
            )
        elif reason := flaw(path):
            problems.add(
                f"{key} {path} cannot be written: {reason}",
                where=where(key),
                fix=f"choose another {key} or change the permissions",
            )
