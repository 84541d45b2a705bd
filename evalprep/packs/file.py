"""pack.yaml -> `Pack`; every mistake with its line.

What is declared and passes here does not fail later.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from evalprep.errors import Problems, near
from evalprep.packs.entries import ConfigKey, GroupSpec, PackEntry, ScoreEntry, TaskSpec
from evalprep.packs.mistakes import read_entry
from evalprep.packs.pack import Pack
from evalprep.packs.stock import is_remembered, stock_names
from evalprep.places import is_file
from evalprep.yamlfile import YamlFile, load_remembered_yaml

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


def read_pack(file: Path, problems: Problems, packs: Mapping[str, Pack] | None = None) -> Pack:
    """Reads one pack.yaml.

    Args:
        file: The file; its folder is the pack.
        problems: Gets every mistake.
        packs: The packs that it may extend.

    Raises:
        BadInput: the file is not a YAML mapping at all.
    """
    source = load_remembered_yaml(file)
    folder = file.parent
    data = read_entry(PackEntry, source.data, source, (), problems) or PackEntry()
    if (data.name or folder.name) != folder.name:
        problems.add(
            f"name is {data.name!r}, the folder is called {folder.name!r}",
            where=source.where("name"),
            fix="make them equal",
        )
    known = packs or {}
    groups = {
        name: {"tasks": group} if isinstance(group, list) else group
        for name, group in data.groups.items()
    }
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
        replaces=data.replaces,
        extends=data.extends,
        better={**data.better},
        rules=data.rules,
        leaderboard=data.leaderboard,
        conclusion=None if data.conclusion is None else tuple(data.conclusion),
    )
    base = known.get(pack.extends)
    if pack.extends and base is None:
        problems.add(
            f"extends the unknown pack {pack.extends!r}",
            where=source.where("extends"),
            allowed=", ".join(known),
            fix=near(pack.extends, known),
        )
    _Checks(pack, source, problems, base or Pack("", folder)).check_all()
    return pack


def _entries(
    kind: type[Entry], contents: dict[Any, Any], key: str, source: YamlFile, problems: Problems
) -> dict[str, Entry]:
    """The entries under a key of pack.yaml, by name.

    What is not a mapping with a name is a problem.
    """
    good: dict[str, Entry] = {}
    for name, content in contents.items():
        if not isinstance(name, str) or not isinstance(content, dict):
            problems.add(
                f"{name!r} under {key} is {content!r}",
                where=source.where(key, str(name)),
                allowed="a name and a mapping",
            )
            continue
        entry = read_entry(kind, content, source, (key, name), problems, without=["name"])
        if entry is not None:
            good[name] = replace(entry, name=name)
    return good


@dataclass
class _Checks:
    """The rules of a pack.yaml whose entries are well formed by themselves."""

    pack: Pack
    source: YamlFile
    problems: Problems
    base: Pack

    def _declared(self, kind: str) -> dict[str, Any]:
        """The entries of a kind, with mistakes or not, and those of the pack that is extended."""
        return {**self.source.at(kind), **getattr(self.base, kind)}

    def check_all(self) -> None:
        """Notes every mistake; a key of the config that cannot be one is taken out."""
        pack = self.pack
        pack.config = {name: key for name, key in pack.config.items() if self._is_usable(key)}
        for task in pack.tasks.values():
            self._check_task(task)
        self._check_names()
        for name in pack.suite_scores:
            self._check_score(name)
        self._check_board()
        self._check_conclusion()
        self._check_published()

    def _add(self, what: str, *keys: str, allowed: str = "", fix: str = "") -> None:
        """Notes a mistake under a path of keys; its line is looked for only now."""
        self.problems.add(what, where=self.source.where(*keys), allowed=allowed, fix=fix)

    def _is_usable(self, key: ConfigKey) -> bool:
        """Returns whether a key can stand in a config.

        A doubtful default is a mistake, and the key still stands.
        """
        path = ("config", key.name)
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key.name):
            allowed = "lower-case letters, digits and _"
            self._add(f"{key.name!r} cannot be a key", *path, allowed=allowed)
            return False
        unusual = [choice for choice in key.choices if not isinstance(choice, str | int | float)]
        if unusual:
            self._add(
                f"the choice {unusual[0]!r} of {key.name} cannot be compared",
                *path,
                allowed="texts, numbers, true and false",
            )
            return False
        self._check_default(key)
        bounded = key.minimum is not None or key.maximum is not None
        if bounded and not {"int", "float"} & {*key.types}:
            allowed = "type: int or type: float"
            self._add("min and max are for numbers", *path, allowed=allowed)
            return False
        return True

    def _check_default(self, key: ConfigKey) -> None:
        """A default has the type of its key and is one of the choices."""
        if key.default is None:
            return
        if not any(isinstance(key.default, _DEFAULTS[kind]) for kind in key.types):
            self._add(
                f"the default {key.default!r} of {key.name} is not of its type",
                "config",
                key.name,
                allowed=" or ".join(key.types),
            )
        if key.choices and key.default not in key.choices:
            self._add(
                f"the default {key.default!r} is none of the choices",
                "config",
                key.name,
                allowed=", ".join(map(str, key.choices)),
            )

    def _check_task(self, task: TaskSpec) -> None:
        """A task is an own one, a stock one, or one that nobody can run.

        Each has keys of its own.
        """
        if task.stock:
            self._check_stock_task(task)
        else:
            name = task.name
            if not task.template and not task.unavailable:
                allowed = f"template: {name}.yaml, or stock: task for a task of lm-eval's own"
                self._add(f"task {name} names no template", "tasks", name, allowed=allowed)
            elif task.overrides:
                template = task.template or "its template"
                self._add(
                    f"overrides of {name} are for lm-eval's own tasks",
                    "tasks",
                    name,
                    "overrides",
                    fix=f"write them into {template}, or add `stock: task`",
                )
        folder = self.pack.folder
        folders = (folder, self.base.folder)
        if task.template and not any(is_file(place / task.template) for place in folders):
            self._add(
                f"template {task.template} of task {task.name} does not exist",
                "tasks",
                task.name,
                fix=f"add it to {folder}",
            )
        # A task waits for tasks of its own pack.
        for earlier in task.after:
            if earlier not in self._declared("tasks"):
                self._add(
                    f"{task.name} waits for {earlier!r}, but this pack has no such task",
                    "tasks",
                    task.name,
                    "after",
                    allowed=", ".join(self.pack.tasks),
                    fix=near(earlier, self.pack.tasks),
                )
        if task.annotators and not is_file(folder / "annotators.py"):
            self._add(
                f"{task.name} names annotators, and there is no annotators.py",
                "tasks",
                task.name,
                "annotators",
                fix=f"add it to {folder}",
            )

    def _check_stock_task(self, task: TaskSpec) -> None:
        name = task.name
        for key in ("template", "source", "columns", "values"):
            if getattr(task, key):
                self._add(
                    f"{key} of {name} is for own tasks, and {name} is lm-eval's",
                    "tasks",
                    name,
                    key,
                    allowed="overrides: {num_fewshot: 5, ...}, or a template without `stock`",
                )
        for key in _NO_OVERRIDES:
            if key in task.overrides:
                self._add(
                    f"{key} of the stock task {name} cannot be overridden",
                    "tasks",
                    name,
                    "overrides",
                    key,
                    allowed="keys such as num_fewshot, generation_kwargs, repeats, description",
                )

    def _check_names(self) -> None:
        """Names that are used are declared here or by lm-eval, and no group is part of itself."""
        pack = self.pack
        known = [*pack.names(), *self.base.names()]
        declared = {*known, *self.source.at("tasks")}
        for path, name in self._used_names():
            # A task with mistakes is told once.
            if name not in declared and not _is_stock(name, known):
                self._add(
                    f"{name!r} is not a task or group of this pack or of lm-eval",
                    *path,
                    allowed=", ".join(known),
                    fix=near(name, known),
                )
        for name in pack.better:
            if name in declared:
                self._add(
                    f"{name} is a task or group of this pack, whose own YAML says which way is "
                    "better",
                    "better",
                    name,
                    allowed="names of lm-eval's own tasks and groups",
                )
        for name in pack.groups:
            if _reaches(pack, name, name, set()):
                self._add(f"group {name} is part of itself", "groups", name, fix="break the circle")

    def _used_names(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yields where a task or group is named, and its name."""
        for name in self.pack.default_tasks:
            yield ("default_tasks",), name
        for group in self.pack.groups.values():
            for name in group.tasks:
                yield ("groups", group.name), name
        for name in self.pack.better:
            yield ("better", name), name

    def _check_score(self, name: str) -> None:
        """Checks how a score is computed.

        It needs declared scores, and follows a rule that the pack lists.
        """
        score, rules = self.pack.suite_scores[name], self.pack.rules
        declared = self._declared("suite_scores")  # a score with mistakes is told once
        # A score is computed by one function, or by counts and a value of their sums.
        by_counts = bool(score.counts) or bool(score.value)
        is_partial = by_counts and not (score.counts and score.value)
        if is_partial or by_counts == bool(score.function):
            missing = f"{score.name}: function is missing"
            self._add(
                f"{score.name} says only in part, or twice, how" if by_counts else missing,
                "suite_scores",
                score.name,
                allowed="`function`, or `counts` with `value`",
            )
        relatives = {
            "needs": score.needs,
            "reference": score.reference,
            "finetuned": score.finetuned,
        }
        for kind, parents in relatives.items():
            for parent in (parent for parent in parents if parent not in declared):
                self._add(
                    f"{name} asks in `{kind}` for the unknown score {parent!r}",
                    "suite_scores",
                    name,
                    kind,
                    allowed=", ".join(declared),
                    fix=near(parent, declared),
                )
        if rules and score.rule and score.rule not in rules:
            self._add(
                f"{name} follows the unknown rule {score.rule!r}",
                "suite_scores",
                name,
                "rule",
                allowed=", ".join(rules),
                fix=near(score.rule, rules),
            )

    def _check_board(self) -> None:
        """The leaderboard names scores of the pack."""
        declared, board = self._declared("suite_scores"), self.pack.leaderboard
        shown = [("columns", name) for name in board.columns]
        shown += [("pictures", name) for name in chain.from_iterable(board.pictures)]
        shown += [("tables", name) for name in chain.from_iterable(board.tables.values())]
        for key, name in shown:
            if name not in declared:
                self._add(
                    f"the leaderboard shows the unknown score {name!r}",
                    "leaderboard",
                    key,
                    allowed=", ".join(declared),
                    fix=near(name, declared),
                )

    def _check_conclusion(self) -> None:
        """A comparison concludes on scores of the pack."""
        declared = self.source.at("suite_scores")
        for name in self.pack.conclusion or ():
            if name not in declared:
                self._add(
                    f"the conclusion names the unknown score {name!r}",
                    "conclusion",
                    allowed=", ".join(declared),
                    fix=near(name, declared),
                )

    def _check_published(self) -> None:
        """Published scores are a YAML mapping in the pack's own folder."""
        name, folder = self.pack.published_file, self.pack.folder
        if not name:
            return
        file = folder / name
        if not is_file(file):
            self._add(f"there is no {name}", "published", fix=f"add it to {folder}")
        elif not file.resolve().is_relative_to(folder.resolve()):
            self._add(
                f"{name} lies outside of the pack", "published", allowed=f"a YAML file in {folder}"
            )


def _is_stock(name: str, known: list[str]) -> bool:
    """Returns whether lm-eval may have the name.

    Looking costs half a second the first time, and every config reads every pack.

    Until its names are known, a slip of the pen is told here, and any other name when the group is
    asked for.
    """
    if is_remembered():
        return name in stock_names()
    return not difflib.get_close_matches(name, known, n=1, cutoff=0.85)


def _reaches(pack: Pack, start: str, goal: str, seen: set[str]) -> bool:
    """Returns whether a group has a member, itself or through groups that are not yet seen."""
    for member in pack.groups[start].tasks:
        if member == goal:
            return True
        if member in pack.groups and member not in seen:
            seen.add(member)
            if _reaches(pack, member, goal, seen):
                return True
    return False
