"""A folder of task YAMLs as lm-eval's index sees it, with what the index leaves out in silence.

lm-eval 0.4.13 reads `**/*.yaml` below each include path in path order; what it cannot parse it
skips in silence. The same rules are followed here without importing lm-eval or the functions that
the files name, so that a tree is read in milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evalprep.check.finding import Findings
from evalprep.files import as_mapping, read_text
from evalprep.yamltext import NotYaml, compose, entries

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_IGNORED = {"__pycache__", ".ipynb_checkpoints"}
# Keys whose values are texts. `dataset_name: no` is Norwegian, and `doc_to_choice: [yes, no]` are
# two answers.
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

#: Keys of a group itself; others are settings of all its members.
GROUP_KEYS = {
    "group",
    "group_alias",
    "task",
    "tag",
    "task_list",
    "aggregate_metric_list",
    "metadata",
}


#: The class that scores each draw of a task by itself; its prompts are those of any task.
REPEATED = "custom_metrics.repeats.RepeatedTask"


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
        places: `file:line` of each top-level key that only an included file has.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[str, int] = field(default_factory=dict)
    included: tuple[Path, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of file that lm-eval takes it for."""
        kinds = ("group", "task") if self.is_repeated else ("class", "group", "task")
        return next((kind for kind in kinds if kind in self.data), "other")

    @property
    def is_repeated(self) -> bool:
        """Returns whether each draw of the task is scored by itself."""
        own_class = self.data.get("class")
        return isinstance(own_class, FunctionRef) and own_class.spec == REPEATED

    @property
    def name(self) -> str:
        """The name under which it is registered, empty when it has none."""
        name = self.data.get("group" if self.kind == "group" else "task")
        return name if isinstance(name, str) else ""

    def where(self, key: str = "") -> str:
        """`file:line (key)`, of the included file where the key stands there alone."""
        place = str(self.path)
        if key in self.lines:
            place = f"{self.path}:{self.lines[key]}"
        elif key in self.places:
            place = self.places[key]
        return place + (f" ({key})" if key else "")


@dataclass
class Leaf:
    """One task as it will run: its file, and what groups above it override.

    Args:
        name: Task name.
        file: Where it is declared.
        config: Its settings, functions as `FunctionRef`.
        override: Those of the settings that groups above it give.
    """

    name: str
    file: TaskFile
    config: dict[str, Any]
    override: Mapping[str, Any] = field(default_factory=dict)

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
        return as_mapping(self.config.get("generation_kwargs"))

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata mapping, empty when absent."""
        return as_mapping(self.config.get("metadata"))

    @property
    def filter_steps(self) -> list[tuple[str, dict[str, Any]]]:
        """Name of the filter and step, for every step of `filter_list` that is a mapping."""
        return filter_steps(self.config)


def filter_steps(settings: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Name of the filter and step, for every step of `filter_list` that is a mapping."""
    entries = settings.get("filter_list")
    filters = (
        [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
    steps: list[tuple[str, dict[str, Any]]] = []
    for entry in filters:
        name = str(entry.get("name"))
        steps += [(name, step) for step in entry.get("filter") or [] if isinstance(step, dict)]
    return steps


def keeps_first(settings: Mapping[str, Any]) -> bool:
    """Returns whether the filters of a task keep one reply of several.

    A task without filters has lm-eval's own, which keeps the first.
    """
    names = {str(step.get("function")) for _, step in filter_steps(settings)}
    return not names or ("take_first" in names and not names & {"take_first_k", "majority_vote"})


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


def yaml_mapping(text: str) -> dict[str, Any]:
    """The mapping of a task file, functions as `FunctionRef`; empty where it is none."""
    try:
        data, _ = compose(text, _Base, {"!function": _function_constructor(Path())})
    except NotYaml:
        return {}
    return {str(key): value for key, value in as_mapping(data).items()}


def read_file(path: Path, findings: Findings, *, seen: tuple[Path, ...] = ()) -> TaskFile | None:
    """Reads one YAML file and what it includes; None when lm-eval would skip it."""
    path = path.resolve()
    try:
        data, node = compose(
            read_text(path, own=True), _Base, {"!function": _function_constructor(path.parent)}
        )
    except (OSError, UnicodeDecodeError) as error:
        findings.add("EP101", str(path), f"cannot be read: {error}")
        return None
    except NotYaml as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        findings.add("EP101", place, f"is not valid YAML: {error.reason}")
        return None
    lines = _check_marks(path, node, findings)
    if not isinstance(data, dict):
        findings.add("EP101", str(path), f"holds a {type(data).__name__}, not a mapping")
        return None
    merged: dict[str, Any] = {}
    included: list[Path] = []
    places: dict[str, str] = {}
    includes = data.pop("include", [])
    for include in includes if isinstance(includes, list) else [includes]:
        part = _included(str(include), path, findings, seen)
        if part is None:
            return None
        merged.update(part.data)
        included += [part.path, *part.included]
        own_lines = {key: f"{part.path}:{line}" for key, line in part.lines.items()}
        places |= {**part.places, **own_lines}
    merged.update(data)
    keyed = {str(key): value for key, value in merged.items()}
    return TaskFile(path, keyed, lines, tuple(included), places)


def _check_marks(path: Path, node: Any, findings: Findings) -> dict[str, int]:
    """Reports keys that are written twice and words that are no texts.

    Returns the line of each top-level key.
    """
    lines: dict[str, int] = {}
    repeated: list[tuple[str, int]] = []
    switches: list[tuple[str, yaml.ScalarNode]] = []
    for key_path, line, is_again, value in entries(node):
        key = key_path[-1]
        if not isinstance(key, str):
            continue
        if is_again:
            repeated.append((key, line))
        if len(key_path) == 1:
            lines.setdefault(key, line)
        if key in _TEXTS:
            switches += [(key, switch) for switch in _switches(value)]
    for key, line in repeated:
        findings.add("EP118", f"{path}:{line}", f"the key {key!r} is written twice")
    for key, switch in switches:
        line = switch.start_mark.line + 1
        word = switch.value.lower()
        meaning = "true" if word in {"yes", "on"} else "false"
        findings.add("EP123", f"{path}:{line} ({key})", f"{word} is read as {meaning}")
    return lines


def _included(
    include: str, path: Path, findings: Findings, seen: tuple[Path, ...]
) -> TaskFile | None:
    """A file that another one includes.

    None, and a finding, where lm-eval would skip the other for it.
    """
    target = (path.parent / include).resolve()
    where = f"{path} (include)"
    if target in (*seen, path):
        findings.add("EP103", where, f"{include} includes itself")
        return None
    if not target.is_file():
        findings.add("EP103", where, f"{include} does not exist in {path.parent}")
        return None
    part = read_file(target, findings, seen=(*seen, path))
    if part is None:
        findings.add("EP103", where, f"{include} cannot be read")
        return None
    part.data.pop("task_list", None)
    return part


def _switches(node: Any) -> list[Any]:
    """Bare `yes`, `no`, `on` and `off` in a scalar or a list, which YAML 1.1 reads as booleans."""
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


def yaml_files(
    root: Path, suffix: str = ".yaml", *, without: Collection[Path] = ()
) -> Iterator[Path]:
    """Files of a suffix below a folder, in lm-eval's order.

    Args:
        root: The folder.
        suffix: How their names end.
        without: Folders that are passed over.
    """
    paths: list[Path] = []
    for folder, folders, names in os.walk(root):
        inner = [name for name in folders if name not in _IGNORED]
        folders[:] = [name for name in inner if Path(folder, name) not in without]
        paths += [Path(folder, name) for name in names if name.endswith(suffix)]
    yield from sorted(paths, key=lambda path: path.as_posix())


def read_tree(roots: Iterable[Path], findings: Findings, *, without: Collection[Path] = ()) -> Tree:
    """Index the include paths as lm-eval does; a later path overrides an earlier one.

    Args:
        roots: The include paths.
        findings: Gets what is found.
        without: Folders below them that are passed over.
    """
    tree = Tree([Path(root).resolve() for root in roots])
    for root in tree.roots:
        add_files(tree, yaml_files(root, without=without), findings)
    return tree


def add_files(tree: Tree, paths: Iterable[Path], findings: Findings) -> list[str]:
    """Adds the tasks and groups of some files to a tree, which they override.

    Returns:
        Their names.
    """
    own: dict[str, TaskFile] = {}
    tagged: dict[str, TaskFile] = {}  # tags that came before any file of their name
    for file in [read_file(path, findings) for path in paths]:
        if file is not None and _is_registered(file, own, tagged, findings):
            own[file.name] = file
            # lm-eval registers the tags of tasks, not those of groups.
            if file.kind != "group":
                tags = file.data.get("tag")
                for tag in map(str, [tags] if isinstance(tags, str) else tags or []):
                    tree.tags.setdefault(tag, []).append(file.name)
                    if tag not in own:
                        tagged.setdefault(tag, file)
    tree.index.update(own)
    return list(own)


def _is_registered(
    file: TaskFile, own: dict[str, TaskFile], tagged: dict[str, TaskFile], findings: Findings
) -> bool:
    """Returns whether lm-eval registers a file under its name; a finding says why not."""
    name = file.name
    key = "group" if file.kind == "group" else "task"
    old = _old_group(file)
    if old:
        what = f"`group: {old}` stands beside `task: {file.data['task']}`"
        findings.add("EP125", file.where("group"), what, task=str(file.data["task"]))
    elif not name and {"model", "tasks"} <= set(file.data):
        pass  # a run configuration of lm-eval may lie beside tasks, and is no mistake
    elif not name:
        has_key = file.kind != "other"
        words = f"`{file.kind}` is not a text" if has_key else "has neither `task` nor `group`"
        findings.add("EP107", str(file.path), f"{words}; it will not be registered")
    elif name in own:
        what = f"the name {name!r} is already taken by {own[name].path}"
        findings.add("EP104", file.where(key), what, task=name)
    elif name in tagged:
        what = f"{name!r} is already a tag of {tagged[name].path}; this file is skipped"
        # A group's tasks run through the tag all the same; a task is gone, and its name runs
        # others.
        code = "EP126" if file.kind == "group" else "EP106"
        findings.add(code, file.where(key), what, task=name)
    else:
        return True
    return False


def _old_group(file: TaskFile) -> str:
    """The value of `group:` in a file of one task, as lm-eval allowed before 0.4.4; else empty."""
    group, task = file.data.get("group"), file.data.get("task")
    if file.kind != "group" or not isinstance(task, str) or set(file.data) <= GROUP_KEYS:
        return ""
    return ", ".join(map(str, group)) if isinstance(group, list) else str(group or "")
