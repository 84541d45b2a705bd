"""A folder of task YAMLs as lm-eval's index sees it, with what the index leaves out in silence.

lm-eval 0.4.13 reads `**/*.yaml` below each include path in path order; what it cannot parse it skips in silence. The
same rules are followed here without importing lm-eval or the functions that the files name, so that a tree is read in
milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evalprep.check.finding import Findings
from evalprep.yamlfile import NotYaml, compose, entries

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_IGNORED = {"__pycache__", ".ipynb_checkpoints"}
# Keys whose values are texts. `dataset_name: no` is Norwegian, and `doc_to_choice: [yes, no]` are two answers.
_TEXTS = {
    "dataset_name",
    "dataset_path",
    "description",
    "doc_to_choice",
    "doc_to_target",
    "doc_to_text",
    "gen_prefix",
    "group",
    "tag",
    "task",
    "until",
}


_GROUP_KEYS = {"group", "group_alias", "task", "tag", "task_list", "aggregate_metric_list", "metadata"}


@dataclass(frozen=True)
class FunctionRef:
    """A `!function module.name` that was not imported.

    Args:
        spec: The text after the tag.
        folder: Folder of the file in which it stands; lm-eval looks for the module there first.
    """

    spec: str
    folder: Path


@dataclass
class TaskFile:
    """One YAML file with its includes merged in.

    Args:
        path: The file.
        data: Its mapping; local keys win over included ones.
        lines: Line of each top-level key of the file itself.
        kind: `class`, `group`, `task`, or `other`.
        included: The files that it includes, also by way of others.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[str, int] = field(default_factory=dict)
    included: tuple[Path, ...] = ()

    @property
    def kind(self) -> str:
        """What lm-eval takes the file for."""
        return next((kind for kind in ("class", "group", "task") if kind in self.data), "other")

    @property
    def name(self) -> str:
        """The name under which it is registered, empty when it has none."""
        name = self.data.get("group" if self.kind == "group" else "task")
        return name if isinstance(name, str) else ""

    def where(self, key: str = "") -> str:
        """`file:line (key)`."""
        line = f":{self.lines[key]}" if key in self.lines else ""
        return f"{self.path}{line}" + (f" ({key})" if key else "")


@dataclass
class Leaf:
    """One task as it will run: its file, and what groups above it override.

    Args:
        name: Task name.
        file: Where it is declared.
        config: Its settings, functions as `FunctionRef`.
    """

    name: str
    file: TaskFile
    config: dict[str, Any]

    def where(self, key: str = "") -> str:
        """File, line and key."""
        return self.file.where(key)

    @property
    def output_type(self) -> str:
        """lm-eval's default is generate_until."""
        return str(self.config.get("output_type") or "generate_until")

    @property
    def generation(self) -> dict[str, Any]:
        """generation_kwargs, empty when absent."""
        found = self.config.get("generation_kwargs")
        return found if isinstance(found, dict) else {}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata mapping, empty when absent."""
        found = self.config.get("metadata")
        return found if isinstance(found, dict) else {}


@dataclass
class Tree:
    """Everything below the include paths.

    Args:
        roots: The include paths.
        index: Name -> file, as lm-eval would register it.
        tags: Tag -> task names.
    """

    roots: list[Path]
    index: dict[str, TaskFile] = field(default_factory=dict)
    tags: dict[str, list[str]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Every name that `--tasks` may have."""
        return [*self.index, *(tag for tag in self.tags if tag not in self.index)]


def read_file(path: Path, findings: Findings, *, seen: tuple[Path, ...] = ()) -> TaskFile | None:
    """Read one YAML file and what it includes; None when lm-eval would skip it."""
    path = path.resolve()
    try:
        data, node = compose(path.read_text(encoding="utf-8"), _Base, {"!function": _function_constructor(path.parent)})
    except (OSError, UnicodeDecodeError) as error:
        findings.add("EP101", str(path), f"cannot be read: {error}")
        return None
    except NotYaml as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        findings.add("EP101", place, f"is not valid YAML: {error.reason}")
        return None
    lines, repeated, words = _marks(node)
    for key, line in repeated:
        findings.add("EP118", f"{path}:{line}", f"the key {key!r} is written twice")
    for key, word, line in words:
        findings.add("EP123", f"{path}:{line} ({key})", f"{word} is read as {word.lower() in {'yes', 'on'}}".lower())
    if not isinstance(data, dict):
        findings.add("EP101", str(path), f"holds a {type(data).__name__}, not a mapping")
        return None
    merged: dict[str, Any] = {}
    included: list[Path] = []
    includes = data.pop("include", [])
    for include in includes if isinstance(includes, list) else [includes]:
        target = (path.parent / str(include)).resolve()
        if target in (*seen, path):
            findings.add("EP103", f"{path} (include)", f"{include} includes itself")
            return None
        if not target.is_file():
            findings.add("EP103", f"{path} (include)", f"{include} does not exist in {path.parent}")
            return None
        part = read_file(target, findings, seen=(*seen, path))
        if part is None:
            findings.add("EP103", f"{path} (include)", f"{include} cannot be read")
            return None
        part.data.pop("task_list", None)
        merged.update(part.data)
        included += [part.path, *part.included]
    merged.update(data)
    return TaskFile(path, {str(key): value for key, value in merged.items()}, lines, tuple(included))


def _marks(node: Any) -> tuple[dict[str, int], list[tuple[str, int]], list[tuple[str, str, int]]]:
    """Line of each top-level key, keys that occur twice in a mapping with their line, words that are no texts."""
    lines: dict[str, int] = {}
    repeated: list[tuple[str, int]] = []
    words: list[tuple[str, str, int]] = []
    for path, line, again, value in entries(node):
        key = path[-1]
        if not isinstance(key, str):
            continue
        if again:
            repeated.append((key, line))
        if len(path) == 1:
            lines.setdefault(key, line)
        if key in _TEXTS:
            words += [(key, item.value, item.start_mark.line + 1) for item in _switches(value)]
    return lines, repeated, words


def _switches(node: Any) -> list[Any]:
    """Bare `yes`, `no`, `on` and `off` in a scalar or a list, which YAML 1.1 reads as true and false."""
    items = node.value if isinstance(node, yaml.SequenceNode) else [node]
    return [
        item
        for item in items
        if isinstance(item, yaml.ScalarNode)
        and item.tag == "tag:yaml.org,2002:bool"
        and item.value.lower() in {"yes", "no", "on", "off"}
    ]


def _function_constructor(folder: Path) -> Any:
    def construct(loader: Any, node: Any) -> FunctionRef:
        return FunctionRef(str(loader.construct_scalar(node)), folder)

    return construct


def yaml_files(root: Path, suffix: str = ".yaml") -> Iterator[Path]:
    """Files of a suffix below a folder, in lm-eval's order."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _IGNORED]
        found += [Path(folder, name) for name in names if name.endswith(suffix)]
    yield from sorted(found, key=lambda path: path.as_posix())


def read_tree(roots: Iterable[Path], findings: Findings) -> Tree:
    """Index the include paths as lm-eval does; a later path overrides an earlier one."""
    tree = Tree([Path(root).resolve() for root in roots])
    for root in tree.roots:
        files = [file for path in yaml_files(root) if (file := read_file(path, findings)) is not None]
        own: dict[str, TaskFile] = {}
        tagged: dict[str, TaskFile] = {}  # tags that came before any file of their name
        for file in files:
            name = file.name
            old = _old_group(file)
            if old or not name:
                if old:
                    what = f"`group: {old}` stands beside `task: {file.data['task']}`"
                    findings.add("EP125", file.where("group"), what, task=str(file.data["task"]))
                else:
                    _explain_nameless(file, findings)
                continue
            key = "group" if file.kind == "group" else "task"
            if name in own:
                what = f"the name {name!r} is already taken by {own[name].path}"
                findings.add("EP104", file.where(key), what, task=name)
                continue
            if name in tagged:
                what = f"{name!r} is already a tag of {tagged[name].path}; this file is skipped"
                # A group's tasks run through the tag all the same; a task is gone, and its name runs others.
                findings.add("EP126" if file.kind == "group" else "EP106", file.where(key), what, task=name)
                continue
            own[name] = file
            if file.kind == "group":
                continue  # lm-eval registers the tags of tasks alone
            tag = file.data.get("tag")
            for one in [tag] if isinstance(tag, str) else tag or []:
                tree.tags.setdefault(str(one), []).append(name)
                if str(one) not in own:
                    tagged.setdefault(str(one), file)
        tree.index.update(own)
    return tree


def _old_group(file: TaskFile) -> str:
    """What stands behind `group:` in a file that declares one task, as lm-eval allowed before 0.4.4; else nothing."""
    group, task = file.data.get("group"), file.data.get("task")
    if file.kind != "group" or not isinstance(task, str) or set(file.data) <= _GROUP_KEYS:
        return ""
    return ", ".join(map(str, group)) if isinstance(group, list) else str(group or "")


def _explain_nameless(file: TaskFile, findings: Findings) -> None:
    """A file that lm-eval skips; its own run configurations may lie beside tasks and are no mistake."""
    if {"model", "tasks"} <= set(file.data):
        return
    what = f"`{file.kind}` is not a text" if file.kind != "other" else "has neither `task` nor `group`"
    findings.add("EP107", str(file.path), f"{what}; it will not be registered")
