"""pack.yaml -> `Pack`; every mistake with its line, so that nothing that is declared fails later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.errors import Problems, near
from evalprep.packs.pack import ConfigKey, GroupSpec, Pack, TaskSpec
from evalprep.places import is_file
from evalprep.yamlfile import YamlFile, load_yaml

TYPES = ("str", "int", "float", "bool", "path", "list", "map", "any")
# Key -> what it holds. "names" is a list of words.
_PACK = {
    "name": "str",
    "title": "str",
    "description": "str",
    "config": "map",
    "tasks": "map",
    "groups": "map",
    "suite_scores": "map",
    "published": "str",
    "default_tasks": "names",
}
_TASK = {
    "template": "str",
    "source": "str or map",
    "columns": "map",
    "aliases": "names",
    "description": "str",
    "values": "map",
    "backend": "str",
    "tags": "map",
}
_SOURCE = {"path": "str", "config": "str", "split": "str", "revision": "str"}
_GROUP = {"tasks": "names", "aliases": "names", "description": "str"}
_CONFIG_KEY = {
    "type": "str or names",
    "default": "any",
    "required": "bool",
    "choices": "list",
    "min": "number",
    "max": "number",
    "top_level": "bool",
    "doc": "str",
}
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "map": (dict,),
    "str or map": (str, dict),
    "str or names": (str, list),
    "names": (list,),
    "list": (list,),
    "bool": (bool,),
    "number": (int, float),
    "any": (object,),
}
_DEFAULTS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "map": (dict,),
    "any": (object,),
}
_WORDS = {"str": "text", "map": "a mapping", "names": "a list of names", "bool": "true or false", "number": "a number"}


def read_pack(file: Path, problems: Problems) -> Pack:
    """Read one pack.yaml.

    Args:
        file: The file; its folder is the pack.
        problems: Gets every mistake.

    Raises:
        BadInput: the file is no YAML mapping at all.
    """
    source = load_yaml(file)
    folder = file.parent
    data = _typed(source.data, _PACK, source, problems)
    if data.get("name", folder.name) != folder.name:
        problems.add(
            f"name is {data['name']!r}, the folder is called {folder.name!r}",
            where=source.where("name"),
            fix="make them equal",
        )
    pack = Pack(
        name=folder.name,
        folder=folder,
        title=data.get("title", folder.name),
        description=data.get("description", ""),
        suite_scores=_mappings(data, "suite_scores", source, problems),
        published_file=data.get("published", ""),
        default_tasks=tuple(data.get("default_tasks", ())),
    )
    for name, spec in _mappings(data, "config", source, problems).items():
        _add_config_key(pack, name, spec, source, problems)
    for name, spec in _mappings(data, "tasks", source, problems).items():
        _add_task(pack, name, spec, source, problems)
    # `group: [a, b]` is short for `group: {tasks: [a, b]}`.
    groups = {
        name: {"tasks": spec} if isinstance(spec, list) else spec for name, spec in data.get("groups", {}).items()
    }
    for name, spec in _mappings({"groups": groups}, "groups", source, problems).items():
        _add_group(pack, name, spec, source, problems)
    _check_names(pack, source, problems)
    if pack.published_file and not is_file(folder / pack.published_file):
        problems.add(f"there is no {pack.published_file}", where=source.where("published"), fix=f"add it to {folder}")
    return pack


def _typed(
    data: Mapping[str, Any], kinds: Mapping[str, str], source: YamlFile, problems: Problems, *path: str
) -> dict[str, Any]:
    """The keys that are known and hold what they should; everything else is a problem, null counts as not given."""
    good: dict[str, Any] = {}
    for key, value in data.items():
        if key not in kinds:
            problems.add(
                f"unknown key {key!r}",
                where=source.where(*path, key),
                allowed=", ".join(kinds),
                fix=near(str(key), kinds),
            )
        elif value is None:
            continue
        elif not isinstance(value, _KINDS[kinds[key]]) or (
            "names" in kinds[key] and isinstance(value, list) and not all(isinstance(name, str) for name in value)
        ):
            words = " or ".join(_WORDS.get(kind, f"a {kind}") for kind in kinds[key].split(" or "))
            problems.add(f"{key} is {value!r}", where=source.where(*path, key), allowed=words)
        else:
            good[key] = value
    return good


def _mappings(data: Mapping[str, Any], key: str, source: YamlFile, problems: Problems) -> dict[str, dict[str, Any]]:
    """The entries under a key that are mappings with a name; the others are problems."""
    good: dict[str, dict[str, Any]] = {}
    for name, spec in data.get(key, {}).items():
        if isinstance(name, str) and isinstance(spec, dict):
            good[name] = spec
        else:
            problems.add(
                f"{name!r} under {key} is {spec!r}", where=source.where(key, str(name)), allowed="a name and a mapping"
            )
    return good


def _add_config_key(pack: Pack, name: str, given: dict[str, Any], source: YamlFile, problems: Problems) -> None:
    where = source.where("config", name)
    spec = _typed(given, _CONFIG_KEY, source, problems, "config", name)
    from pydantic import BaseModel  # a section becomes a model, whose own attributes are no names for keys

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or hasattr(BaseModel, name):
        problems.add(
            f"{name!r} cannot be a key",
            where=where,
            allowed="lower-case letters, digits and _, but no name of pydantic such as json or model_dump",
        )
        return
    types = spec.get("type", "str")
    types = tuple(types) if isinstance(types, list) else (types,)
    for kind in types:
        if kind not in TYPES:
            problems.add(f"type {kind!r} of config key {name} is unknown", where=where, allowed=", ".join(TYPES))
            return
    choices, default = tuple(spec.get("choices", ())), spec.get("default")
    if default is not None and not any(isinstance(default, _DEFAULTS[kind]) for kind in types):
        problems.add(f"the default {default!r} of {name} is not of its type", where=where, allowed=" or ".join(types))
    if choices and default is not None and default not in choices:
        problems.add(
            f"the default {default!r} is none of the choices", where=where, allowed=", ".join(map(str, choices))
        )
    if ("min" in spec or "max" in spec) and not {"int", "float"} & {*types}:
        problems.add("min and max are for numbers", where=where, allowed="type: int or type: float")
        return
    pack.config[name] = ConfigKey(
        name=name,
        types=types,
        default=default,
        required=spec.get("required", False),
        choices=choices,
        minimum=spec.get("min"),
        maximum=spec.get("max"),
        top_level=spec.get("top_level", False),
        doc=spec.get("doc", ""),
    )


def _add_task(pack: Pack, name: str, given: dict[str, Any], source: YamlFile, problems: Problems) -> None:
    where = source.where("tasks", name)
    spec = _typed(given, _TASK, source, problems, "tasks", name)
    if "template" not in spec:
        problems.add(f"task {name} names no template", where=where, allowed=f"{{template: {name}.yaml}}")
        return
    if not is_file(pack.folder / spec["template"]):
        problems.add(
            f"template {spec['template']} of task {name} does not exist", where=where, fix=f"add it to {pack.folder}"
        )
        return
    columns = spec.get("columns", {})
    for new, old in columns.items():
        if not isinstance(new, str) or not isinstance(old, str):
            problems.add(
                f"the column {new} is {old!r}",
                where=source.where("tasks", name, "columns"),
                allowed="{prompt: question}",
            )
    location = spec.get("source", {})
    if isinstance(location, dict):
        location = _typed(location, _SOURCE, source, problems, "tasks", name, "source")
    pack.tasks[name] = TaskSpec(
        name=name,
        template=spec["template"],
        source={"path": location} if isinstance(location, str) else location,
        columns=columns,
        aliases=tuple(spec.get("aliases", ())),
        description=spec.get("description", ""),
        values=spec.get("values", {}),
        backend=spec.get("backend", ""),
        tags=spec.get("tags", {}),
    )


def _add_group(pack: Pack, name: str, given: dict[str, Any], source: YamlFile, problems: Problems) -> None:
    spec = _typed(given, _GROUP, source, problems, "groups", name)
    if "tasks" not in spec:
        problems.add(f"group {name} has no list of tasks", where=source.where("groups", name), allowed="tasks: [a, b]")
        return
    pack.groups[name] = GroupSpec(
        name, tuple(spec["tasks"]), tuple(spec.get("aliases", ())), spec.get("description", "")
    )


def _check_names(pack: Pack, source: YamlFile, problems: Problems) -> None:
    """Names that are used are declared, and no group is part of itself."""
    known = pack.names()
    used: list[tuple[tuple[str, ...], str]] = [(("default_tasks",), name) for name in pack.default_tasks]
    used += [(("groups", group.name), name) for group in pack.groups.values() for name in group.tasks]
    for path, name in used:
        if name not in known and name not in source.at("tasks"):  # a task with mistakes is told once
            problems.add(
                f"{name!r} is no task or group of this pack",
                where=source.where(*path),
                allowed=", ".join(known),
                fix=near(name, known),
            )
    for name in pack.groups:
        if _reaches(pack, name, name, set()):
            problems.add(f"group {name} is part of itself", where=source.where("groups", name), fix="break the circle")


def _reaches(pack: Pack, start: str, goal: str, seen: set[str]) -> bool:
    for member in pack.groups[start].tasks:
        if member == goal:
            return True
        if member in pack.groups and member not in seen:
            seen.add(member)
            if _reaches(pack, member, goal, seen):
                return True
    return False
