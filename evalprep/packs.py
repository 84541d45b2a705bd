"""Find packs: a folder under `task_templates/` with a `pack.yaml` is one, there is no other registry."""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.yamlfile import YamlFile, load_yaml

TYPES = ("str", "int", "float", "bool", "path", "list", "map", "any")
PACK_KEYS = (
    "name",
    "title",
    "description",
    "config",
    "tasks",
    "groups",
    "suite_scores",
    "published",
    "default_tasks",
)
TASK_KEYS = ("template", "source", "columns", "aliases", "description", "values", "backend", "tags")


@dataclass(frozen=True)
class ConfigKey:
    """One key that a pack adds to eval_config.yaml."""

    name: str
    types: tuple[str, ...]
    default: Any = None
    required: bool = False
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    top_level: bool = False
    doc: str = ""


@dataclass(frozen=True)
class TaskSpec:
    """One task of a pack: its template and, for packs without `prepare.py`, where its rows are."""

    name: str
    template: str
    source: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    description: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    backend: str = ""
    tags: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupSpec:
    """A named set of tasks."""

    name: str
    tasks: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    description: str = ""


@dataclass
class Pack:
    """Everything that a pack folder declares.

    Attributes:
        name: Folder name, also the name of its section in eval_config.yaml.
        folder: The folder.
        suite_scores: Score name -> declaration, see docs/architecture.md.
        published: Published scores (content of the file that `published:` names), or an empty mapping.
    """

    name: str
    folder: Path
    title: str = ""
    description: str = ""
    config: dict[str, ConfigKey] = field(default_factory=dict)
    tasks: dict[str, TaskSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    suite_scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    published_file: str = ""
    default_tasks: tuple[str, ...] = ()

    @property
    def published(self) -> dict[str, Any]:
        """Published scores with their sources; read on demand."""
        return load_yaml(self.folder / self.published_file).data if self.published_file else {}

    def canonical(self, name: str) -> str | None:
        """The task or group that a name or alias means, None when the pack has no such name."""
        if name in self.tasks or name in self.groups:
            return name
        specs: list[TaskSpec | GroupSpec] = [*self.tasks.values(), *self.groups.values()]
        return next((spec.name for spec in specs if name in spec.aliases), None)

    def names(self) -> list[str]:
        """Tasks and groups, without aliases."""
        return [*self.groups, *self.tasks]

    def module(self, stem: str) -> ModuleType | None:
        """Load `<stem>.py` of the pack, None when the pack has no such file.

        Raises:
            BadInput: the file cannot be imported.
        """
        if not (self.folder / f"{stem}.py").is_file():
            return None
        # The folder becomes a package under a name of its own, so that a pack's modules may import each other
        # (`from .rows import ...`) and two packs of one name in two template folders stay apart.
        package = f"_evalprep_pack_{self.name}_{zlib.crc32(str(self.folder).encode()):08x}"
        if package not in sys.modules:
            parent = ModuleType(package)
            parent.__path__ = [str(self.folder)]
            sys.modules[package] = parent
        try:
            return importlib.import_module(f"{package}.{stem}")
        except BadInput:
            raise
        except Exception as error:
            raise BadInput(
                Problem(
                    what=f"cannot be imported: {type(error).__name__}: {error}",
                    where=str(self.folder / f"{stem}.py"),
                    fix="mend the pack's module",
                )
            ) from error


def find_packs(template_dir: Path) -> dict[str, Pack]:
    """Load every pack under a folder, in name order.

    Raises:
        BadInput: a pack.yaml with mistakes (all of them, over all packs), or two packs that share a task name.
    """
    problems = Problems()
    packs: dict[str, Pack] = {}
    owner: dict[str, str] = {}
    for file in sorted(template_dir.glob("*/pack.yaml")):
        try:
            pack = _read_pack(file, problems)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        packs[pack.name] = pack
        for name in pack.names():
            if name in owner:
                problems.add(
                    f"{name!r} is also a task or group of the pack {owner[name]}",
                    where=str(file),
                    fix="give it another name; a prefix with the pack's name is the habit",
                )
            owner[name] = pack.name
    problems.raise_if_any()
    return packs


def find_task(packs: Mapping[str, Pack], name: str) -> tuple[Pack, str] | None:
    """The pack that a task, group or alias belongs to, and its canonical name."""
    for pack in packs.values():
        canonical = pack.canonical(name)
        if canonical is not None:
            return pack, canonical
    return None


def _read_pack(file: Path, problems: Problems) -> Pack:
    source = load_yaml(file)
    data = source.data
    _refuse_unknown(data, PACK_KEYS, source, problems)
    folder = file.parent
    if data.get("name", folder.name) != folder.name:
        problems.add(
            f"name is {data['name']!r}, the folder is called {folder.name!r}",
            where=source.where("name"),
            fix="make them equal",
        )
    pack = Pack(
        name=folder.name,
        folder=folder,
        title=str(data.get("title", folder.name)),
        description=str(data.get("description", "")),
        suite_scores=data.get("suite_scores") or {},
        published_file=str(data.get("published") or ""),
        default_tasks=tuple(data.get("default_tasks") or ()),
    )
    for name, spec in source.at("config").items():
        _add_config_key(pack, name, spec, source, problems)
    for name, spec in source.at("tasks").items():
        _add_task(pack, name, spec, source, problems)
    for name, spec in source.at("groups").items():
        members = spec.get("tasks") if isinstance(spec, dict) else spec
        extra = spec if isinstance(spec, dict) else {}
        if not isinstance(members, list):
            problems.add(
                f"group {name} has no list of tasks", where=source.where("groups", name), allowed="tasks: [a, b]"
            )
            continue
        pack.groups[name] = GroupSpec(
            name, tuple(members), tuple(extra.get("aliases", ())), str(extra.get("description", ""))
        )
    return pack


def _refuse_unknown(
    data: Mapping[str, Any], known: tuple[str, ...], source: YamlFile, problems: Problems, *path: str
) -> None:
    for key in data:
        if key not in known:
            problems.add(
                f"unknown key {key!r}", where=source.where(*path, key), allowed=", ".join(known), fix=near(key, known)
            )


def _add_config_key(pack: Pack, name: str, spec: Any, source: YamlFile, problems: Problems) -> None:
    where = source.where("config", name)
    if not isinstance(spec, dict):
        problems.add(f"config key {name} is not a mapping", where=where, allowed="{type: str, default: ..., doc: ...}")
        return
    known = ("type", "default", "required", "choices", "min", "max", "top_level", "doc")
    _refuse_unknown(spec, known, source, problems, "config", name)
    types = spec.get("type", "str")
    types = tuple(types) if isinstance(types, list) else (str(types),)
    for kind in types:
        if kind not in TYPES:
            problems.add(f"type {kind!r} of config key {name} is unknown", where=where, allowed=", ".join(TYPES))
            return
    pack.config[name] = ConfigKey(
        name=name,
        types=types,
        default=spec.get("default"),
        required=bool(spec.get("required", False)),
        choices=tuple(spec.get("choices", ())),
        minimum=spec.get("min"),
        maximum=spec.get("max"),
        top_level=bool(spec.get("top_level", False)),
        doc=str(spec.get("doc", "")),
    )


def _add_task(pack: Pack, name: str, spec: Any, source: YamlFile, problems: Problems) -> None:
    where = source.where("tasks", name)
    if not isinstance(spec, dict) or not isinstance(spec.get("template"), str):
        problems.add(f"task {name} names no template", where=where, allowed=f"{{template: {name}.yaml}}")
        return
    _refuse_unknown(spec, TASK_KEYS, source, problems, "tasks", name)
    if not (pack.folder / spec["template"]).is_file():
        problems.add(
            f"template {spec['template']} of task {name} does not exist", where=where, fix=f"add it to {pack.folder}"
        )
        return
    location = spec.get("source") or {}
    pack.tasks[name] = TaskSpec(
        name=name,
        template=spec["template"],
        source={"path": location} if isinstance(location, str) else location,
        columns=spec.get("columns") or {},
        aliases=tuple(spec.get("aliases", ())),
        description=str(spec.get("description", "")),
        values=spec.get("values") or {},
        backend=str(spec.get("backend", "")),
        tags=spec.get("tags") or {},
    )
