"""The tasks behind the names of `--tasks`: groups and tags resolved as lm-eval resolves them."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.tree import Leaf, TaskFile, Tree, read_tree
from evalprep.errors import near
from evalprep.packs.stock import stock_names

_GROUP_KEYS = {"group", "group_alias", "task", "aggregate_metric_list", "metadata"}


def select_leaves(
    tree: Tree, requested: Iterable[str], findings: Findings, stock: Collection[str] = frozenset()
) -> list[Leaf]:
    """The tasks behind the requested names, groups and tags resolved; what is requested twice is reported.

    Args:
        tree: The include paths.
        requested: Names as for `--tasks`, patterns too.
        findings: Gets what is wrong with names and groups.
        stock: Names that come with lm-eval; a run finds them too, they are not looked into.
    """
    leaves: dict[str, Leaf] = {}
    origin: dict[str, str] = {}
    selection = _Selection(tree, findings, stock)
    for entry in requested:
        names = fnmatch.filter(tree.names(), entry) if any(sign in entry for sign in "*?[") else [entry]
        if not names or (names == [entry] and entry not in tree.index and entry not in tree.tags):
            if entry in stock:
                findings.add("EP117", entry, "comes with lm-eval", task=entry)
            else:
                fix = (
                    near(entry, tree.names())
                    or f"there are: {', '.join(sorted(tree.names())[:12]) or 'no tasks at all'}"
                )
                findings.add("EP108", entry, "is no task, group or tag of the folder", task=entry, fix=fix)
            continue
        for name in names:
            for leaf in selection.expand(name, {}, ()):
                if leaf.name in leaves and origin[leaf.name] != name:
                    findings.add(
                        "EP111",
                        entry,
                        f"{leaf.name} is requested through {origin[leaf.name]} and through {name}",
                        task=leaf.name,
                    )
                leaves[leaf.name] = leaf
                origin[leaf.name] = name
    return list(leaves.values())


def _overrides(data: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a group that are none of a group's own: settings of all its members."""
    return {key: value for key, value in data.items() if key not in _GROUP_KEYS | {"tag", "task_list"}}


@dataclass(frozen=True)
class _Selection:
    tree: Tree
    findings: Findings
    stock: Collection[str]

    def expand(self, name: str, override: Mapping[str, Any], path: tuple[str, ...]) -> list[Leaf]:
        """The tasks behind one name; `path` are the groups above it."""
        tree = self.tree
        if name in tree.tags and name not in tree.index:
            return [leaf for member in tree.tags[name] for leaf in self.expand(member, override, (*path, name))]
        file = tree.index[name]
        if file.kind != "group":
            config = {
                key: value
                for key, value in {**file.data, **override}.items()
                if key not in {"tag", "group", "task_list"}
            }
            return [Leaf(name, file, {**config, "task": name})]
        if name in path:
            what = f"the group {name} contains itself: {' > '.join((*path, name))}"
            if name in tree.tags:
                what += f"; the tag of that name, in {tree.index[tree.tags[name][0]].path}, comes later and is not seen"
            self.findings.add("EP116", file.where("task"), what, task=name)
            return []
        return self._members(file, file.data, {**_overrides(file.data), **override}, (*path, name))

    def _members(
        self, file: TaskFile, data: Mapping[str, Any], override: Mapping[str, Any], path: tuple[str, ...]
    ) -> list[Leaf]:
        """The tasks of a group; what the groups above say overrules what this one says."""
        members, name = data.get("task"), path[-1]
        if not isinstance(members, list) or not members:
            self.findings.add("EP109", file.where("task"), f"`task` of the group {name} is {members!r}", task=name)
            return []
        leaves: list[Leaf] = []
        for member in members:
            if isinstance(member, str):
                leaves += self._named(file, name, member, override, path)
            elif isinstance(member, dict) and "group" in member:
                inner = str(member["group"])
                if inner in self.tree.index:
                    merged = {**override, **{key: value for key, value in member.items() if key != "group"}}
                    leaves += self.expand(inner, merged, path)
                elif "task" not in member:
                    leaves += self._named(file, name, inner, override, path)
                else:
                    merged = {**_overrides(member), **override}
                    leaves += self._members(file, member, merged, (*path, f"{name}::{inner}"))
            elif isinstance(member, dict) and isinstance(member.get("task"), str):
                leaves += self._inline(file, name, member, override, path)
            else:
                self.findings.add(
                    "EP109",
                    file.where("task"),
                    f"a member of the group {name} has neither `task` nor `group`: {str(member)[:80]}",
                    task=name,
                    fix="give it a name with `task:`",
                )
        return leaves

    def _named(
        self, file: TaskFile, group: str, member: str, override: Mapping[str, Any], path: tuple[str, ...]
    ) -> list[Leaf]:
        if member in self.tree.index or member in self.tree.tags:
            return self.expand(member, override, path)
        if member in self.stock:
            self.findings.add("EP117", file.where("task"), f"{member} comes with lm-eval", task=member)
            return []
        self.findings.add(
            "EP110",
            file.where("task"),
            f"the group {group} names {member!r}, which does not exist",
            task=group,
            fix=near(member, self.tree.names()),
        )
        return []

    def _inline(
        self,
        file: TaskFile,
        group: str,
        member: Mapping[str, Any],
        override: Mapping[str, Any],
        path: tuple[str, ...],
    ) -> list[Leaf]:
        """A member with settings of its own: a change to a known task, or a task that exists in this group alone."""
        inner, merged = str(member["task"]), {**override, **member}
        if inner in self.tree.index or inner in self.tree.tags or inner in self.stock:
            merged.pop("task")
            return self._named(file, group, inner, merged, path)
        if "include" in member:
            self.findings.add(
                "EP110",
                file.where("task"),
                f"{inner!r} in the group {group} has `include`, which lm-eval reads at the top of a file only",
                task=group,
                fix="move it into a file of its own",
            )
            return []
        if "dataset_path" in merged or "custom_dataset" in merged:
            return [Leaf(f"{group}::{inner}", file, {**merged, "task": f"{group}::{inner}"})]
        return self._named(file, group, inner, merged, path)


def files_behind(tree: Tree, requested: Iterable[str]) -> set[Path]:
    """The files of the tasks and groups behind some names, with what they include."""
    found: set[Path] = set()
    seen: set[str] = set()
    waiting = [name for entry in requested for name in (fnmatch.filter(tree.names(), entry) or [entry])]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting += tree.tags.get(name, [])
        if (file := tree.index.get(name)) is None:
            continue
        found |= {file.path, *file.included}
        members = file.data.get("task") if file.kind == "group" else None
        for member in members if isinstance(members, list) else []:
            given = member if isinstance(member, dict) else {"task": member}
            waiting += [given[key] for key in ("task", "group") if isinstance(given.get(key), str)]
            inner = given.get("task")
            waiting += [one for one in inner if isinstance(one, str)] if isinstance(inner, list) else []
    return found


def asks_stock(folder: Path, requested: Iterable[str]) -> bool:
    """Whether some of the tasks behind the names come with lm-eval and not from the folder."""
    strangers = Findings()
    select_leaves(read_tree([folder], Findings()), requested, strangers, stock_names())
    return any(one.code in {"EP108", "EP110", "EP117"} for one in strangers.sorted())
