"""The tasks behind the names of `--tasks`: groups and tags resolved as lm-eval resolves them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.tree import GROUP_KEYS, Leaf, TaskFile, Tree, read_file
from evalprep.errors import near
from evalprep.packs import member_names, stock_file, stock_tagged


def select_leaves(tree: Tree, requested: Iterable[str], findings: Findings) -> list[Leaf]:
    """The tasks behind the requested names, groups and tags resolved.

    A name that the include paths do not have is looked for among lm-eval's own tasks. What is
    requested twice is reported.

    Args:
        tree: The include paths.
        requested: Names as for `--tasks`, patterns too.
        findings: Gets what is wrong with names and groups.
    """
    leaves: dict[str, Leaf] = {}
    origin: dict[str, str] = {}
    selection = _Selection(tree, findings)
    for entry in requested:
        for name in _names_of(entry, selection):
            for leaf in selection.expand(name, {}, ()):
                if leaf.name in leaves and origin[leaf.name] != name:
                    ways = f"{origin[leaf.name]} and through {name}"
                    what = f"{leaf.name} is requested through {ways}"
                    findings.add("EP111", entry, what, task=leaf.name)
                leaves[leaf.name] = leaf
                origin[leaf.name] = name
    return list(leaves.values())


def _names_of(entry: str, selection: _Selection) -> list[str]:
    """The names of the tree that one entry of `--tasks` means; a finding where it means none."""
    tree, findings = selection.tree, selection.findings
    if any(sign in entry for sign in "*?["):
        names = fnmatch.filter(tree.names(), entry)
    else:
        names = [entry] if selection.has(entry) else []
    if not names:
        some = ", ".join(sorted(tree.names())[:12]) or "no tasks at all"
        fix = near(entry, tree.names()) or f"there are: {some}"
        what = "is not a task, group or tag of the folder"
        findings.add("EP108", entry, what, task=entry, fix=fix)
    return names


def _overrides(data: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a group that are none of a group's own: settings of all its members."""
    return {key: value for key, value in data.items() if key not in GROUP_KEYS}


@dataclass(frozen=True)
class _Selection:
    tree: Tree
    findings: Findings

    def file(self, name: str) -> TaskFile | None:
        """The file of a task or group: of the include paths, else of lm-eval's own."""
        return self.tree.index.get(name) or stock_task_file(name)

    def tagged(self, tag: str) -> list[str]:
        """The tasks that have a tag; one of the include paths takes the place of lm-eval's own."""
        return self.tree.tags.get(tag) or stock_tagged(tag)

    def has(self, name: str) -> bool:
        """Returns whether a task, group or tag has this name."""
        return bool(self.file(name) or self.tagged(name))

    def expand(self, name: str, override: Mapping[str, Any], path: tuple[str, ...]) -> list[Leaf]:
        """The tasks behind one name; `path` are the groups above it."""
        tree, file = self.tree, self.file(name)
        if file is None:
            below = (*path, name)
            leaves = (self.expand(member, override, below) for member in self.tagged(name))
            return list(chain.from_iterable(leaves))
        if file.kind != "group":
            config = {
                key: value
                for key, value in {**file.data, **override}.items()
                if key not in {"tag", "group", "task_list"}
            }
            return [Leaf(name, file, {**config, "task": name}, override)]
        if name in path:
            what = f"the group {name} contains itself: {' > '.join((*path, name))}"
            if name in tree.tags:
                what += (
                    f"; the tag of that name, in {tree.index[tree.tags[name][0]].path}, comes "
                    "later and is not seen"
                )
            self.findings.add("EP116", file.where("task"), what, task=name)
            return []
        return self._members(file, file.data, {**_overrides(file.data), **override}, (*path, name))

    def _members(
        self,
        file: TaskFile,
        data: Mapping[str, Any],
        override: Mapping[str, Any],
        path: tuple[str, ...],
    ) -> list[Leaf]:
        """The tasks of a group; what the groups above say overrules what this one says."""
        members, name = data.get("task"), path[-1]
        if not isinstance(members, list) or not members:
            what = f"`task` of the group {name} is {members!r}"
            self.findings.add("EP109", file.where("task"), what, task=name)
            return []
        leaves: list[Leaf] = []
        for member in members:
            leaves += self._member(file, member, override, path)
        return leaves

    def _member(
        self, file: TaskFile, member: Any, override: Mapping[str, Any], path: tuple[str, ...]
    ) -> list[Leaf]:
        """The tasks of one member of a group, the last of `path`.

        A name, a group inside of it, or a task with settings of its own: a change to a known task,
        or a task that exists in this group alone.
        """
        group, where = path[-1], file.where("task")
        if isinstance(member, str):
            name, settings = member, dict(override)
        elif isinstance(member, dict) and "group" in member:
            name, settings = str(member["group"]), dict(override)
            if self.file(name) is not None:
                settings |= {key: value for key, value in member.items() if key != "group"}
            elif "task" in member:
                merged = {**_overrides(member), **override}
                return self._members(file, member, merged, (*path, f"{group}::{name}"))
        elif isinstance(member, dict) and isinstance(member.get("task"), str):
            name = member["task"]
            settings = {**override, **member}
            del settings["task"]
            if not self.has(name) and "include" in member:
                what = (
                    f"{name!r} in the group {group} has `include`, which lm-eval reads at the top "
                    "of a file only"
                )
                fix = "move it into a file of its own"
                self.findings.add("EP110", where, what, task=group, fix=fix)
                return []
            if not self.has(name) and {"dataset_path", "custom_dataset"} & settings.keys():
                alone = f"{group}::{name}"
                return [Leaf(alone, file, {**settings, "task": alone})]
        else:
            what = (
                f"a member of the group {group} has neither `task` nor `group`: {str(member)[:80]}"
            )
            fix = "give it a name with `task:`"
            self.findings.add("EP109", where, what, task=group, fix=fix)
            return []
        if self.has(name):
            return self.expand(name, settings, path)
        what = f"the group {group} names {name!r}, which does not exist"
        fix = near(name, self.tree.names())
        self.findings.add("EP110", where, what, task=group, fix=fix)
        return []


def is_known(tree: Tree, name: str) -> bool:
    """Returns whether the include paths or lm-eval have a task, group or tag of this name."""
    return _Selection(tree, Findings()).has(name)


def names_behind(tree: Tree, requested: Iterable[str]) -> list[str]:
    """Some names, patterns of names too, and those of the members of groups and tags below them."""
    names: dict[str, None] = {}
    waiting: list[str] = []
    for entry in requested:
        waiting += fnmatch.filter(tree.names(), entry) or [entry]
    while waiting:
        name = waiting.pop()
        if name in names:
            continue
        names[name] = None
        waiting += tree.tags.get(name, [])
        file = tree.index.get(name)
        if file is not None and file.kind == "group":
            waiting += member_names(file.data)
    return list(names)


def files_behind(tree: Tree, requested: Iterable[str]) -> set[Path]:
    """The files of the tasks and groups behind some names, with what they include."""
    known = [name for name in names_behind(tree, requested) if name in tree.index]
    files = [tree.index[name] for name in known]
    included = chain.from_iterable(file.included for file in files)
    return {*(file.path for file in files), *included}


@cache
def stock_task_file(name: str) -> TaskFile | None:
    """The file of a task or group that comes with lm-eval; None where none declares that name."""
    path = stock_file(name)
    # What is wrong with its files is for the authors of lm-eval.
    return None if path is None else read_file(path, Findings())


def tasks_behind(tree: Tree, name: str) -> list[dict[str, Any]]:
    """The settings of a task of a folder or of lm-eval, or of each task of a group or tag."""
    return [leaf.config for leaf in select_leaves(tree, [name], Findings())]


def kind_of(tree: Tree, name: str) -> str:
    """Returns what a name of a folder or of lm-eval is: `group`, `task`, `class` or `tag`."""
    file = _Selection(tree, Findings()).file(name)
    return "tag" if file is None else file.kind
