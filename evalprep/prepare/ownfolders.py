"""The user's own folders of lm-eval task files: what `include_path` and paths in `tasks` name.

The files stay where they are. The work folder gets one file for each task and group that runs,
which includes the user's: lm-eval then finds functions beside the file that names them, and an
edit counts at the next run.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from evalprep.check import (
    Finding,
    Findings,
    TaskFile,
    Tree,
    add_files,
    files_behind,
    function_refs,
    names_behind,
    read_tree,
    tasks_behind,
    yaml_files,
)
from evalprep.config import Config
from evalprep.errors import Problem, Problems, near
from evalprep.packs import stock_names
from evalprep.places import exists, is_folder, nearby, place
from evalprep.prepare.localdata import absolute_data, digest_of, local_files

#: Folder of the work folder with the files that include the user's.
FOLDER = "include"
_SUFFIXES = (".yaml", ".yml")
_UNUSUAL = re.compile(r"[^\w.-]", re.ASCII)
_SHOWN = 5  # mistakes in files of a folder that one message names


@dataclass
class OwnTasks:
    """The tasks and groups of the user's own folders, as lm-eval indexes them.

    Attributes:
        tree: The tasks and groups.
        paths: Path in `tasks`, as it is written -> the names that it stands for.
        mistakes: What is wrong with the files that could not be read.
    """

    tree: Tree = field(default_factory=lambda: Tree([]))
    paths: dict[str, list[str]] = field(default_factory=dict)
    mistakes: list[Finding] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Returns whether a task, group or tag of the folders has this name."""
        return name in self.tree.index or name in self.tree.tags

    def names_of(self, text: str) -> list[str] | None:
        """The names that an entry of `tasks` stands for; None where the folders have none."""
        if text in self.paths:
            return self.paths[text]
        return [text] if self.has(text) else None

    def file_of(self, name: str) -> Path | None:
        """The file that declares a task or group; of a tag, that of its first task."""
        first = self.tree.tags.get(name, [name])[0] if name not in self.tree.index else name
        file = self.tree.index.get(first)
        return None if file is None else file.path

    def behind(self, names: Iterable[str]) -> dict[str, TaskFile]:
        """The files of some names and of the members of groups and tags among them."""
        index = self.tree.index
        return {name: index[name] for name in names_behind(self.tree, names) if name in index}

    def replaced_by(self, name: str) -> dict[str, TaskFile]:
        """The files behind a name that have the names of tasks and groups of lm-eval."""
        behind = self.behind([name])
        return {known: file for known, file in behind.items() if known in stock_names()}

    def digest(self, name: str) -> str:
        """Returns one digest over the task files behind a name and the modules beside them."""
        files = files_behind(self.tree, [name])
        modules = chain.from_iterable(map(_modules_of, self.behind([name]).values()))
        beside = chain.from_iterable(file.parent.glob("*.py") for file in files)
        return digest_of(sorted({*files, *modules, *beside}))

    def data_digest(self, name: str, changes: Mapping[str, Any], folder: Path) -> str:
        """Returns one digest over the local data of the tasks behind a name.

        Args:
            name: The name.
            changes: Keys that the config sets of them.
            folder: The folder from which paths count.
        """
        tasks = ({**task, **changes} for task in tasks_behind(self.tree, name))
        files = chain.from_iterable(local_files(task, folder) for task in tasks)
        return digest_of(sorted(set(files)))

    def problems(self) -> list[Problem]:
        """The mistakes in files, as those of a config."""
        return [finding.as_problem() for finding in self.mistakes[:_SHOWN]]


def read_own_tasks(config: Config, problems: Problems) -> OwnTasks:
    """Reads the folders and files that a config names.

    Args:
        config: The configuration.
        problems: Gets what is wrong with the paths among `tasks`.
    """
    core, findings = config.core, Findings()
    generated = (core.work_dir, core.output_path)
    own = OwnTasks(read_tree(core.include_path, findings, without=generated))
    for entry in core.tasks:
        text = str(entry.get("task")) if isinstance(entry, dict) else entry
        if _is_path(text, own, config.folder):
            own.paths[text] = _read_path(text, own, config, problems)
    own.mistakes = [finding for finding in findings.sorted() if finding.level == "error"]
    return own


def _is_path(text: str, own: OwnTasks, folder: Path) -> bool:
    """Returns whether an entry of `tasks` is a path, by the rules of lm-eval.

    A folder with the name of a task is none.
    """
    if text.endswith(_SUFFIXES) or "/" in text:
        return True
    if own.has(text) or not is_folder(folder / text):
        return False
    return text not in stock_names() and any(yaml_files(folder / text))


def _read_path(text: str, own: OwnTasks, config: Config, problems: Problems) -> list[str]:
    """Adds the tasks of a file, of a pattern of files, or of a folder; returns their names."""
    path = place(text, config.folder).resolve()
    findings, part = Findings(), Tree([])
    if is_folder(path):
        part = read_tree([path], findings, without=(config.core.work_dir, config.core.output_path))
        direct = [name for name, file in part.index.items() if file.path.parent == path]
        names = _without_members(direct or list(part.index), part)
    else:
        pattern = glob.escape(str(path)) if exists(path) else str(path)
        files = [Path(file) for file in sorted(glob.glob(pattern))]  # noqa: PTH207 - of any root
        for folder in dict.fromkeys(file.parent for file in files):
            # Members of a group in one of the files may stand in files beside it.
            add_files(part, sorted(folder.glob("*.yaml")), Findings())
        names = _without_members(add_files(part, files, findings), part)
    behind = names_behind(part, names)
    own.tree.index.update({name: part.index[name] for name in behind if name in part.index})
    own.tree.tags.update({name: part.tags[name] for name in behind if name in part.tags})
    if not names:
        problems.extend(_nothing_in(text, path, config, findings))
    return names


def _without_members(names: Iterable[str], tree: Tree) -> list[str]:
    """Some names, without those that a group among them asks for already."""
    groups = [name for name in names if tree.index[name].kind == "group"]
    members = {name: set(names_behind(tree, [name])) - {name} for name in groups}
    return [name for name in names if not any(name in inner for inner in members.values())]


def _nothing_in(text: str, path: Path, config: Config, findings: Findings) -> list[Problem]:
    """Returns why a path of `tasks` gives no task."""
    errors = [finding for finding in findings.sorted() if finding.level == "error"]
    if errors:
        return [finding.as_problem() for finding in errors[:_SHOWN]]
    where = config.where("tasks")
    if exists(path):
        what = f"{text} has no task or group"
        fix = "name a file with `task: NAME`, or a folder of such files"
        return [Problem(what=what, where=where, fix=fix)]
    beside = [file.name for file in yaml_files(path.parent)] if is_folder(path.parent) else []
    what = f"{text} does not exist" + ("" if is_folder(path.parent) else ", nor its folder")
    fix = near(path.name, beside) or f"paths start at {nearby(config.folder)}"
    return [Problem(what=what, where=where, fix=fix)]


def _modules_of(file: TaskFile) -> Iterator[Path]:
    """The modules that a task file names beside or below itself."""
    for ref in function_refs(file.data):
        module = ref.folder / f"{ref.spec.rpartition('.')[0].replace('.', '/')}.py"
        if module.is_file():
            yield module


def write_own_tasks(
    own: OwnTasks, names: Iterable[str], config: Config, build: Path
) -> dict[str, Path]:
    """Writes a file that includes the user's for each task and group behind some names.

    Returns:
        Path below the folder -> the user's file.
    """
    origins: dict[str, Path] = {}
    for name, file in own.behind(names).items():
        (build / FOLDER).mkdir(exist_ok=True)
        base = _UNUSUAL.sub("_", name)
        same = sum(made.startswith(f"{FOLDER}/{base}.") for made in origins)
        made = f"{FOLDER}/{base}.{same + 1}.yaml" if same else f"{FOLDER}/{base}.yaml"
        # The text of a file that includes another; local data are named by absolute paths.
        included = json.dumps(config.core.on_run_machine(file.path), ensure_ascii=False)
        lines = [f"# The file stays in {nearby(file.path.parent)}.", f"include: {included}"]
        absolute = absolute_data(file.data, config)
        changed = {key: value for key, value in absolute.items() if value != file.data[key]}
        lines += (
            f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in changed.items()
        )
        (build / made).write_text("\n".join([*lines, ""]), encoding="utf-8")
        origins[made] = file.path
    return origins
