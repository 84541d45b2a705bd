"""pack.yaml -> `Pack`; every mistake with its line, so that nothing that is declared fails later."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from evalprep.errors import Problems, near
from evalprep.packs.entries import ConfigKey, GroupSpec, PackEntry, ScoreEntry, TaskSpec
from evalprep.packs.mistakes import read_entry
from evalprep.packs.pack import Pack
from evalprep.packs.stock import is_remembered, stock_names
from evalprep.places import is_file
from evalprep.yamlfile import YamlFile, load_yaml

Entry = TypeVar("Entry", ConfigKey, TaskSpec, GroupSpec, ScoreEntry)
_DEFAULTS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "source": (str, dict),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "map": (dict,),
    "any": (object,),
}
# What a stock task is; only another template would change it.
_NO_OVERRIDES = ("task", "group", "metadata", "task_list")


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
    data = read_entry(PackEntry, source.data, source, (), problems) or PackEntry()
    if (data.name or folder.name) != folder.name:
        problems.add(
            f"name is {data.name!r}, the folder is called {folder.name!r}",
            where=source.where("name"),
            fix="make them equal",
        )
    groups = {name: {"tasks": one} if isinstance(one, list) else one for name, one in data.groups.items()}
    pack = Pack(
        name=folder.name,
        folder=folder,
        title=data.title or folder.name,
        description=data.description,
        config=_entries(ConfigKey, data.config, "config", source, problems),
        tasks=_entries(TaskSpec, data.tasks, "tasks", source, problems),
        groups=_entries(GroupSpec, groups, "groups", source, problems),
        suite_scores=_entries(ScoreEntry, data.suite_scores, "suite_scores", source, problems),
        published_file=data.published,
        default_tasks=data.default_tasks,
        better={**data.better},
        rules=data.rules,
        leaderboard=data.leaderboard,
    )
    pack.config = {key: one for key, one in pack.config.items() if _check_config_key(one, source, problems)}
    for task in pack.tasks.values():
        _check_task(pack, task, source, problems)
    _check_names(pack, source, problems)
    _check_scores(pack, source, problems)
    _check_board(pack, source, problems)
    _check_rules(pack, source, problems)
    if pack.published_file:
        _check_published(pack, source, problems)
    return pack


def _check_published(pack: Pack, source: YamlFile, problems: Problems) -> None:
    """Published scores are a YAML mapping in the pack's own folder."""
    where, file = source.where("published"), pack.folder / pack.published_file
    if not is_file(file):
        problems.add(f"there is no {pack.published_file}", where=where, fix=f"add it to {pack.folder}")
    elif not file.resolve().is_relative_to(pack.folder.resolve()):
        problems.add(
            f"{pack.published_file} lies outside of the pack", where=where, allowed=f"a YAML file in {pack.folder}"
        )


def _entries(
    kind: type[Entry], given: dict[Any, Any], key: str, source: YamlFile, problems: Problems
) -> dict[str, Entry]:
    """The entries under a key of pack.yaml, by name; what is no mapping with a name is a problem."""
    good: dict[str, Entry] = {}
    for name, one in given.items():
        if not isinstance(name, str) or not isinstance(one, dict):
            problems.add(
                f"{name!r} under {key} is {one!r}", where=source.where(key, str(name)), allowed="a name and a mapping"
            )
            continue
        entry = read_entry(kind, one, source, (key, name), problems, without=["name"])
        if entry is not None:
            good[name] = replace(entry, name=name)
    return good


def _check_config_key(key: ConfigKey, source: YamlFile, problems: Problems) -> bool:
    """Whether a key can stand in a config; a doubtful default is told, and the key still stands."""
    where = source.where("config", key.name)
    from pydantic import BaseModel  # a section becomes a model, whose own attributes are no names for keys

    if not re.fullmatch(r"[a-z][a-z0-9_]*", key.name) or hasattr(BaseModel, key.name):
        problems.add(
            f"{key.name!r} cannot be a key",
            where=where,
            allowed="lower-case letters, digits and _, but no name of pydantic such as json or model_dump",
        )
        return False
    default, types = key.default, key.types
    if odd := [one for one in key.choices or () if not isinstance(one, str | int | float)]:
        problems.add(
            f"the choice {odd[0]!r} of {key.name} cannot be compared",
            where=where,
            allowed="texts, numbers, true and false",
        )
        return False
    if default is not None and not any(isinstance(default, _DEFAULTS[kind]) for kind in types):
        problems.add(
            f"the default {default!r} of {key.name} is not of its type", where=where, allowed=" or ".join(types)
        )
    if key.choices and default is not None and default not in key.choices:
        problems.add(
            f"the default {default!r} is none of the choices", where=where, allowed=", ".join(map(str, key.choices))
        )
    if (key.minimum is not None or key.maximum is not None) and not {"int", "float"} & {*types}:
        problems.add("min and max are for numbers", where=where, allowed="type: int or type: float")
        return False
    return True


def _check_task(pack: Pack, task: TaskSpec, source: YamlFile, problems: Problems) -> None:
    """A task is an own one, a stock one, or one that nobody can run; each has keys of its own."""
    name = task.name
    where = source.where("tasks", name)
    if task.stock:
        for key in ("template", "source", "columns", "values"):
            if getattr(task, key):
                problems.add(
                    f"{key} of {name} is for own tasks, and {name} is lm-eval's",
                    where=source.where("tasks", name, key),
                    allowed="overrides: {num_fewshot: 5, ...}, or a template without `stock`",
                )
    elif not task.template and not task.unavailable:
        problems.add(
            f"task {name} names no template",
            where=where,
            allowed=f"template: {name}.yaml, or stock: task for a task of lm-eval's own",
        )
    elif task.overrides:
        problems.add(
            f"overrides of {name} are for lm-eval's own tasks",
            where=source.where("tasks", name, "overrides"),
            fix=f"write them into {task.template or 'its template'}, or add `stock: task`",
        )
    if task.template and not is_file(pack.folder / task.template):
        problems.add(
            f"template {task.template} of task {name} does not exist", where=where, fix=f"add it to {pack.folder}"
        )
    for key in _NO_OVERRIDES:
        if key in task.overrides:
            problems.add(
                f"{key} of the stock task {name} cannot be overridden",
                where=source.where("tasks", name, "overrides", key),
                allowed="keys such as num_fewshot, generation_kwargs, repeats, description",
            )
    for one in task.after:
        if one not in source.at("tasks"):
            problems.add(
                f"{name} waits for {one!r}, which is no task of this pack",
                where=source.where("tasks", name, "after"),
                allowed=", ".join(pack.tasks),
                fix=near(one, pack.tasks),
            )
    if task.annotators and not is_file(pack.folder / "annotators.py"):
        problems.add(
            f"{name} names annotators, and there is no annotators.py",
            where=source.where("tasks", name, "annotators"),
            fix=f"add it to {pack.folder}",
        )


def _check_names(pack: Pack, source: YamlFile, problems: Problems) -> None:
    """Names that are used are declared here or by lm-eval, and no group is part of itself."""
    known = pack.names()
    used: list[tuple[tuple[str, ...], str]] = [(("default_tasks",), name) for name in pack.default_tasks]
    used += [(("groups", group.name), name) for group in pack.groups.values() for name in group.tasks]
    used += [(("better", name), name) for name in pack.better]
    for path, name in used:
        # A task with mistakes is told once.
        if name not in known and name not in source.at("tasks") and not _is_stock(name, known):
            problems.add(
                f"{name!r} is no task or group of this pack, nor of lm-eval",
                where=source.where(*path),
                allowed=", ".join(known),
                fix=near(name, known),
            )
    for name in pack.better:
        if name in known or name in source.at("tasks"):
            problems.add(
                f"{name} is a task or group of this pack, whose own YAML says which way is better",
                where=source.where("better", name),
                allowed="names of lm-eval's own tasks and groups",
            )
    for name in pack.groups:
        if _reaches(pack, name, name, set()):
            problems.add(f"group {name} is part of itself", where=source.where("groups", name), fix="break the circle")


def _check_scores(pack: Pack, source: YamlFile, problems: Problems) -> None:
    """Scores that a score needs are declared, and each says how it is computed."""
    declared = source.at("suite_scores")  # a score with mistakes is told once
    for name, score in pack.suite_scores.items():
        by_counts = [bool(score.counts), bool(score.value)]
        if any(by_counts) == bool(score.function) or any(by_counts) != all(by_counts):
            problems.add(
                f"{name}: function is missing" if not any(by_counts) else f"{name} says only in part, or twice, how",
                where=source.where("suite_scores", name),
                allowed="`function`, or `counts` with `value`",
            )
        for kind, parents in (("needs", score.needs), ("reference", score.reference)):
            for parent in parents:
                if parent not in declared:
                    problems.add(
                        f"{name} asks in `{kind}` for the unknown score {parent!r}",
                        where=source.where("suite_scores", name, kind),
                        allowed=", ".join(declared),
                        fix=near(parent, declared),
                    )


def _check_board(pack: Pack, source: YamlFile, problems: Problems) -> None:
    """The leaderboard names scores of the pack."""
    declared = source.at("suite_scores")
    for key, names in (("columns", pack.leaderboard.columns), ("pictures", sum(pack.leaderboard.pictures, ()))):
        for name in names:
            if name not in declared:
                problems.add(
                    f"the leaderboard shows the unknown score {name!r}",
                    where=source.where("leaderboard", key),
                    allowed=", ".join(declared),
                    fix=near(name, declared),
                )


def _check_rules(pack: Pack, source: YamlFile, problems: Problems) -> None:
    """A score that follows a rule by name follows one that the pack lists, where it lists any."""
    for name, score in pack.suite_scores.items():
        if pack.rules and score.rule and score.rule not in pack.rules:
            problems.add(
                f"{name} follows the unknown rule {score.rule!r}",
                where=source.where("suite_scores", name, "rule"),
                allowed=", ".join(pack.rules),
                fix=near(score.rule, pack.rules),
            )


def _is_stock(name: str, known: list[str]) -> bool:
    """Whether lm-eval may have the name: looking costs half a second the first time, and every config reads every pack.

    Until its names are known, a slip of the pen is told here, and any other name when the group is asked for.
    """
    if is_remembered():
        return name in stock_names()
    return not difflib.get_close_matches(name, known, n=1, cutoff=0.85)


def _reaches(pack: Pack, start: str, goal: str, seen: set[str]) -> bool:
    for member in pack.groups[start].tasks:
        if member == goal:
            return True
        if member in pack.groups and member not in seen:
            seen.add(member)
            if _reaches(pack, member, goal, seen):
                return True
    return False
