"""What a configuration must not do, although each of its keys is fine: destroy files, or publish a credential."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.credentials import is_secret
from evalprep.errors import Problems
from evalprep.yamlfile import YamlFile

if TYPE_CHECKING:
    from evalprep.config import Core


def _inside(inner: Path, outer: Path) -> bool:
    return inner == outer or outer in inner.parents


def check_secrets(core: Core, source: YamlFile, problems: Problems) -> None:
    """A command line is public on its machine, and lm-eval writes model arguments into every result file."""
    for name in ("model_args", "gen_kwargs"):
        for key, value in getattr(core, name).items():
            if is_secret(str(key), value):
                problems.add(
                    f"{name}.{key} looks like a credential, which would end up on the command line and in result files",
                    where=source.where(name, key),
                    fix="remove it and set the environment variable instead (HF_TOKEN, OPENAI_API_KEY, ...)",
                )


def check_paths(core: Core, source: YamlFile, problems: Problems) -> None:
    """The work folder is replaced whole, so nothing of value may share it."""
    where, templates = source.where, core.template_dir
    assert templates is not None
    if not templates.is_dir():
        problems.add(
            f"template_dir {templates} is not a folder",
            where=where("template_dir"),
            allowed="a folder with one sub-folder per pack",
        )
    elif _inside(core.work_dir, templates) or _inside(templates, core.work_dir):
        problems.add(
            f"work_dir {core.work_dir} and template_dir {templates} overlap",
            where=where("work_dir"),
            fix="choose a work_dir outside of the templates: it is replaced on every preparation",
        )
    if _inside(core.output_path, core.work_dir) or core.output_path == core.work_dir:
        problems.add(
            f"output_path {core.output_path} lies in work_dir",
            where=where("output_path"),
            fix="choose an output_path outside of work_dir: work_dir is replaced on every preparation",
        )
    if core.work_dir in {Path.home(), Path("/"), source.folder}:
        problems.add(
            f"work_dir {core.work_dir} holds other things", where=where("work_dir"), fix="name a folder of its own"
        )
    parent = next(p for p in core.work_dir.parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        problems.add(
            f"cannot write in {parent}, where work_dir would be made",
            where=where("work_dir"),
            fix="choose another work_dir or change the permissions",
        )
