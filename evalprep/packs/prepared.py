"""Prepared work as one record: the manifest of a work folder, and what the user edited in it since.

The room `prepare` makes the folder; whoever works with it afterwards loads it here, so that all of
them see the same edits.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import NotRead, as_mapping, read_file, unchanged_sha256
from evalprep.packs.datafiles import DataFiles, names_below
from evalprep.packs.manifest import (
    MANIFEST,
    Edit,
    Manifest,
    PreparedModel,
    PreparedSource,
    PreparedTask,
    read_manifest,
)
from evalprep.packs.plan import Command, Plan
from evalprep.packs.tasksettings import asking_modules
from evalprep.yamltext import NotYaml, yaml_value

#: Folder of edited files that the preparation at hand does not ask for.
SHELF = ".shelf"
#: What lm-eval reads or imports of a folder.
YAML_SUFFIXES = frozenset({".yaml", ".yml"})
CODE_SUFFIXES = YAML_SUFFIXES | {".py"}


@dataclass(frozen=True)
class Prepared:
    """A work folder as it stands.

    Attributes:
        folder: The folder.
        manifest: Its manifest.
    """

    folder: Path
    manifest: Manifest

    @property
    def run(self) -> str:
        """Id of the run; of several models, of the first."""
        return self.manifest.run

    @property
    def model(self) -> str:
        """Id or folder of the model; of several, of the first. Empty where none is named."""
        return self.manifest.model

    @property
    def created(self) -> str:
        """Returns when it was prepared, in ISO format; empty where that is not known."""
        return self.manifest.created

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration that it was prepared with, without secrets."""
        return self.manifest.config

    @property
    def config_folder(self) -> Path | None:
        """Folder of the configuration, from which its paths count; None where it is not known."""
        return Path(self.manifest.folder) if self.manifest.folder else None

    @property
    def output_path(self) -> Path | None:
        """Folder of the results; None where the configuration names none."""
        path = self.config.get("output_path")
        return Path(str(path)) if path else None

    @property
    def output_here(self) -> Path | None:
        """Folder of the results; of a copied project that of the copy, where it is there."""
        output = self.output_path
        if output is None or not self.is_moved:
            return output
        beside = self.folder / os.path.relpath(output, self.named_folder)
        return beside.resolve() if beside.is_dir() else output

    @property
    def named_folder(self) -> Path:
        """Returns the folder that its task files and commands name."""
        return Path(str(self.config.get("work_dir") or self.folder))

    @property
    def is_moved(self) -> bool:
        """Returns whether its task files and commands name another folder than its own."""
        if self.named_folder == self.folder:
            return False
        try:
            return not self.named_folder.samefile(self.folder)
        except OSError:
            return True

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.manifest.plan

    @property
    def commands(self) -> list[Command]:
        """The commands, in the order in which they run."""
        return self.manifest.commands

    @property
    def models(self) -> list[PreparedModel]:
        """The models, in the order of the configuration."""
        return self.manifest.models

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """Path of a model, as the commands name it -> its fingerprint at preparation."""
        return self.manifest.fingerprints

    @property
    def sources(self) -> list[PreparedSource]:
        """The data sets and files that were read."""
        return self.manifest.sources

    @property
    def tasks(self) -> dict[str, PreparedTask]:
        """Task -> what was made of it."""
        return self.manifest.tasks

    @property
    def groups(self) -> Mapping[str, list[str]]:
        """Group -> its tasks and groups."""
        return self.plan.groups

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of programs at preparation."""
        return self.manifest.versions

    @property
    def pack_folders(self) -> Mapping[str, Path]:
        """Pack -> its folder on the machine that runs the commands."""
        return self.manifest.pack_folders

    @property
    def pack_digests(self) -> Mapping[str, str]:
        """Pack -> digest of its files at preparation, of the packs of which the manifest has it."""
        return self.manifest.pack_digests

    @property
    def files(self) -> Mapping[str, str]:
        """Path below the folder -> digest of each file as it was prepared."""
        return self.manifest.files

    @property
    def shelf(self) -> Mapping[str, str]:
        """Edited files that the preparation did not ask for.

        File -> digest of what it was edited from.
        """
        return self.manifest.shelf

    def edits(self, *, code_only: bool = True) -> list[Edit]:
        """Returns the files that are not as they were prepared, in order of their paths.

        Args:
            code_only: Task YAMLs and Python files alone; else data files too, which are read for
                their digests.
        """
        here = {name: path for name, path in _tree(self.folder) if _counts(name, code_only)}
        prepared = {name: digest for name, digest in self.files.items() if _counts(name, code_only)}
        edits = [
            Edit(name, "edited" if name in prepared else "added")
            for name, path in here.items()
            if prepared.get(name) != content_digest(path)
        ]
        edits += [Edit(name, "removed") for name in prepared if name not in here]
        return sorted(edits, key=lambda edit: edit.name)

    @cached_property
    def _digests(self) -> Mapping[str, str]:
        """Path -> digest of each file when it was prepared, with the edits that were kept then."""
        return {**self.files, **self.manifest.kept_edits}

    def edited_files(self, task: str) -> list[str]:
        """Returns which files that decide what a task asks were edited, below the folder.

        They are its YAML, its data, a YAML that it may include, and a module beside it of which it
        uses a function. Edits that the preparation kept are in the id of its run, and do not count.
        """
        return [name for name in self._files_of(task) if self._is_edited(name)]

    def _files_of(self, task: str) -> list[str]:
        """The prepared files that decide what a task asks, below the folder."""
        prepared = self.tasks.get(task)
        if prepared is None:
            return []
        own = [prepared.yaml] if prepared.yaml in self.files else []
        own += names_below(prepared.data, self.files)
        if not prepared.yaml:
            return own
        beside = Path(prepared.yaml).parent
        own += [name for name in self._shared_yamls if Path(name).parent == beside]
        modules = (beside / f"{name}.py" for name in asking_modules(self.folder / prepared.yaml))
        return own + [path.as_posix() for path in modules if path.as_posix() in self.files]

    @cached_property
    def _shared_yamls(self) -> list[str]:
        """The YAMLs that are of no single task or group, which tasks beside them may include."""
        own = {task.yaml for task in self.tasks.values()}
        shared = [name for name in self.files if Path(name).suffix in YAML_SUFFIXES]
        return [name for name in shared if name not in own and Path(name).stem not in self.groups]

    def _is_edited(self, name: str) -> bool:
        try:
            return content_digest(self.folder / name) != self._digests[name]
        except OSError:
            return True  # removed

    def with_rows(self, task: str, *, rows: int, expected: int, made_from: str) -> Prepared:
        """Returns the record after the data of a later task were written.

        Args:
            task: The task.
            rows: Rows of its data.
            expected: Rows that the run will have under the limit.
            made_from: Digest of the earlier replies that they were made from.
        """
        facts = {"rows": rows, "expected": expected, "made_from": made_from}
        place, data = self.tasks[task].data, self.data_files(task)
        paths = {f"{place}/{path.name}" if data.is_folder else place: path for path in data.files()}
        former = set(names_below(place, self.files)) - paths.keys()
        files = {name: digest for name, digest in self.files.items() if name not in former}
        files |= {name: content_digest(path) for name, path in paths.items()}
        return Prepared(
            self.folder, self.manifest.with_tasks({task: facts}).with_parts(files=files)
        )

    def data_files(self, task: str) -> DataFiles:
        """Returns where the rows of a task lie that has data of its own."""
        return DataFiles(self.folder / self.tasks[task].data)

    def configuration(self, command: Command) -> dict[str, Any]:
        """Returns the run configuration of a command as it stands, edits included.

        Empty where it cannot be read, which whoever runs it says.
        """
        try:
            text = read_file(self.folder / command.file).decode("utf-8")
            return as_mapping(yaml_value(text))
        except (NotRead, OSError, UnicodeDecodeError, NotYaml):
            return {}

    def commands_of(self, run: str) -> list[Command]:
        """Returns the commands of a prepared run, in the order in which they run."""
        return [command for command in self.commands if (command.run or self.run) == run]

    def task_file(self, task: str) -> Path | None:
        """Returns the YAML of a task as it stands, edits included.

        None where the folder has none of its own.
        """
        pack = self.tasks[task].pack if task in self.tasks else ""
        places = [self.folder / pack / f"{task}.yaml", *self.folder.rglob(f"{task}.yaml")]
        return next((place for place in places if place.is_file()), None)


def load_prepared(folder: Path) -> Prepared | None:
    """Returns the work in a folder; None where there is no manifest that we can read."""
    manifest = read_manifest(folder)
    return Prepared(folder, manifest) if manifest is not None else None


def require_prepared(folder: Path, *, fix: str = "run `evalprep prepare` first") -> Prepared:
    """Returns the work in a folder.

    Raises:
        BadInput: there is no manifest that we can read.
    """
    prepared = load_prepared(folder)
    if prepared is None:
        is_there = folder.is_dir()
        absent = "no such file" if folder.suffix in {".yaml", ".yml"} else "no such folder"
        what = "holds no manifest of a preparation" if is_there else absent
        raise BadInput(Problem(what=what, where=str(folder), fix=fix))
    return prepared


def prepared_above(file: Path, *, levels: int) -> Prepared | None:
    """Returns the work in the nearest folder above a file that holds some; None without one."""
    above: Iterable[Path] = list(file.parents)[:levels]
    loaded = (load_prepared(folder) for folder in above)
    return next((prepared for prepared in loaded if prepared is not None), None)


def content_digest(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes; of a link to a folder or to nothing, of its target."""
    if path.is_file():
        return unchanged_sha256(path)
    return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()


def _tree(folder: Path) -> Iterator[tuple[str, Path]]:
    """Path below a folder -> each file or link in it.

    The manifest, caches and the shelf are left out.
    """
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        skipped = "__pycache__" in inside.parts or inside.parts[0] == SHELF
        if not skipped and inside.name != MANIFEST and (path.is_file() or path.is_symlink()):
            yield inside.as_posix(), path


def _counts(name: str, code_only: bool) -> bool:
    if name.startswith(f"{SHELF}/"):
        return False
    return not code_only or Path(name).suffix in CODE_SUFFIXES
