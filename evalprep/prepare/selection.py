"""The selection of a run's tasks.

Names of pack tasks and groups, of lm-eval's own tasks, and whole tasks written inline.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from evalprep.check import FunctionRef, TaskFile, Tree, kind_of, tasks_behind
from evalprep.config import Config
from evalprep.errors import BadInput, Problems, near
from evalprep.packs import Pack, find_task, is_remembered, stock_names, stock_tagged
from evalprep.places import nearby
from evalprep.prepare.localdata import absolute_data, digest_of, local_files
from evalprep.prepare.ownfolders import OwnTasks, read_own_tasks
from evalprep.prepare.workdir import check_place
from evalprep.terminal import shortlist

INLINE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
NAME_FORM = "up to 100 letters, digits, _, - and ., a letter or digit first"
INLINE_REQUIRED = ("task", "dataset_path", "doc_to_text")


@dataclass
class Selection:
    """The requested tasks, sorted by where they come from.

    Attributes:
        by_pack: Pack name -> canonical task and group names, in order.
        stock: Names of tasks, groups and tags that are lm-eval's own or the user's.
        own: The user's own folders of task files.
        inline: Whole task definitions, by task name.
        overrides: Keys that the config sets of tasks in `stock`, by task name.
        order: All names as they were asked for.
        local_data: Digest of the local data of tasks that the config writes or changes, by name.
        notes: What local data change in tasks of lm-eval.
    """

    by_pack: dict[str, list[str]] = field(default_factory=dict)
    stock: list[str] = field(default_factory=list)
    own: OwnTasks = field(default_factory=OwnTasks)
    inline: dict[str, dict[str, Any]] = field(default_factory=dict)
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    local_data: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def select(config: Config, packs: Mapping[str, Pack], problems: Problems) -> Selection:
    """Sort the config's `tasks`.

    Adds to `problems` what is neither, with the nearest names.
    """
    selection = Selection(own=read_own_tasks(config, problems))
    planned = _made_names(config, packs, problems)
    ours = [*chain.from_iterable(pack.names() for pack in packs.values()), *planned]
    for number, entry in enumerate(config.core.tasks):
        if isinstance(entry, dict):
            _select_mapping(selection, entry, config, problems, number, ours)
            continue
        own_names = selection.own.names_of(entry)
        for name in own_names or ():
            _add_own(selection, name, config, packs)
        if own_names is not None:
            continue
        owned = [(planned[entry], entry)] if entry in planned else _of_packs(packs, entry)
        for pack, name in owned:
            selection.by_pack.setdefault(pack.name, []).append(name)
            selection.order.append(name)
        if not owned and entry in packs:
            problems.add(
                f"the pack {entry} has no task",
                where=config.where("tasks"),
                fix=f"add one under `tasks:` of {packs[entry].folder / 'pack.yaml'}",
            )
        elif not owned:
            known = [*selection.own.tree.names(), *ours, *packs]
            _add_stock(selection, entry, problems, config.where("tasks"), ours, known)
    return selection


def _select_mapping(
    selection: Selection,
    entry: dict[str, Any],
    config: Config,
    problems: Problems,
    number: int,
    ours: list[str],
) -> None:
    """Adds a task that the config writes or changes."""
    where = config.where("tasks", number)
    names = selection.own.names_of(str(entry.get("task")))
    if names is not None and len(names) != 1:
        if names:
            problems.add(
                f"{entry['task']} has several tasks: {shortlist(names)}",
                where=where,
                fix=f"name one of them, {{task: {names[0]}, ...}}, and its folder in include_path",
            )
        return
    if names:
        entry = {**entry, "task": names[0]}
    digest = digest_of(local_files(entry, config.folder))
    selection.local_data[str(entry.get("task"))] = digest
    # Keys of a task that is there, or a whole task.
    name = entry.get("task")
    own = isinstance(name, str) and selection.own.has(name)
    if own or (isinstance(name, str) and name not in ours and name in stock_names()):
        _add_override(selection, absolute_data(entry, config), problems, where)
    else:
        _add_inline(selection, absolute_data(entry, config), problems, where, ours)
    if str(entry.get("task")) in selection.overrides:
        # A group is left as it is: each task of it has splits of its own.
        from evalprep.prepare.localsplits import fit_to_local_data

        name = str(entry["task"])
        settings = tasks_behind(selection.own.tree, name)
        if len(settings) == 1:
            num_fewshot = config.core.num_fewshot
            fitted = fit_to_local_data(
                entry, settings[0], config.folder, num_fewshot=num_fewshot, where=where
            )
            selection.overrides[name] |= fitted.keys
            selection.notes += fitted.notes
            problems.extend(fitted.problems)
        changes = selection.overrides[str(entry["task"])]
        if names:
            _note_own(selection, names[0], config, changes)


def _add_own(selection: Selection, name: str, config: Config, packs: Mapping[str, Pack]) -> None:
    """Adds a task, group or tag of the user's own folders."""
    if name in selection.order:
        return
    selection.stock.append(name)
    selection.order.append(name)
    _note_own(selection, name, config, {})
    owner = find_task(packs, name)
    if owner is not None:
        file = nearby(selection.own.file_of(name) or "")
        note = f"{name} is the one of {file}, not that of the pack {owner[0].name}"
        selection.notes.append(note)


def _note_own(selection: Selection, name: str, config: Config, changes: Mapping[str, Any]) -> None:
    """Notes the data of an own task, and which of lm-eval's tasks it replaces."""
    own = selection.own
    selection.local_data[name] = own.data_digest(name, changes, config.folder)
    selection.notes += [_replaced(*entry) for entry in own.replaced_by(name).items()]


def _replaced(name: str, file: TaskFile) -> str:
    """Says that a file of the user takes the place of one of lm-eval, and what it changes."""
    stock = tasks_behind(Tree([]), name)
    before = stock[0] if len(stock) == 1 else {}
    keys = [key for key in dict.fromkeys([*file.data, *before]) if key not in _OF_NO_NUMBER]
    changed = [key for key in keys if _plain(file.data.get(key)) != _plain(before.get(key))]
    edits = f" in {shortlist(changed)}" if changed and before else ""
    return (
        f"{name} is edited: {nearby(file.path)} takes the place of lm-eval's own{edits}; its "
        "numbers are not those of other runs of this name"
    )


#: Keys of a task file that change no number.
_OF_NO_NUMBER = frozenset({"metadata", "tag", "task_alias"})


def _plain(value: Any) -> Any:
    """A setting in which functions of one name are equal, whatever folder they are in."""
    if isinstance(value, FunctionRef):
        return value.spec
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def refuse_unknown_tasks(config: Config, packs: Mapping[str, Pack]) -> None:
    """Refuses misspelt tasks before the rest of this room is imported.

    Where tasks of a pack are asked for too, `plan` reports its mistakes together with these.

    Raises:
        BadInput: no task of a pack is asked for, and a name is unknown.
    """
    problems = Problems()
    problems.extend(check_place(config.core.work_dir))
    if not select(config, packs, problems).by_pack:
        problems.raise_if_any()


def _of_packs(packs: Mapping[str, Pack], entry: str) -> list[tuple[Pack, str]]:
    """The task or group of that name, or all tasks of the pack of that name; empty without such."""
    task = find_task(packs, entry)
    if task is not None:
        return [task]
    pack = packs.get(entry)
    if pack is None:
        return []
    whole = [name for name in (f"{entry}_all",) if name in pack.groups]
    return [(pack, name) for name in whole or pack.default_tasks or pack.tasks]


def _add_stock(
    selection: Selection,
    name: str,
    problems: Problems,
    where: str,
    ours: list[str],
    known: list[str],
) -> None:
    """Add a name of lm-eval's own, or the mistake that it is none."""
    if not is_remembered() and difflib.get_close_matches(name, ours, n=1, cutoff=0.85):
        # One letter off a name of ours: answered at once, before half a second goes into lm-eval's
        # names.
        problems.add(f"unknown task {name!r}", where=where, fix=near(name, ours))
    elif name in stock_names():
        selection.stock.append(name)
        selection.order.append(name)
    else:
        problems.add(
            f"unknown task {name!r}",
            where=where,
            fix=near(name, [*known, *stock_names()]) or "see `evalprep list`",
            allowed="a task, group or pack of `evalprep list`, a task of lm-eval, a task file "
            "(mytasks/a.yaml), a name in a folder of include_path, or a mapping with a whole task",
        )
        problems.extend(selection.own.problems())


def _made_names(config: Config, packs: Mapping[str, Pack], problems: Problems) -> dict[str, Pack]:
    """Names beside those of pack.yaml that packs make from their sections of the config.

    A pack returns them from its function `names`.
    """
    owner: dict[str, Pack] = {}
    for pack_name, section in config.sections.items():
        pack = packs[pack_name]
        try:
            names = _names_by_code(pack, section)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        for name in names:
            others = (other for other in packs.values() if other.canonical(str(name)))
            taken = owner.get(str(name)) or next(others, None)
            if taken is None and isinstance(name, str) and INLINE_NAME.fullmatch(name):
                owner[name] = pack
            else:
                where = config.where(pack_name)
                owned = f", which {taken.name} has" if taken else ""
                problems.add(
                    f"the pack {pack_name} makes a task {name!r}{owned}",
                    where=where,
                    allowed="" if taken else NAME_FORM,
                    fix="choose another name in the config",
                )
    return owner


def _names_by_code(pack: Pack, section: Any) -> list[Any]:
    """The names that a pack's own `names` gives for its section.

    None where it has no such function.
    """
    with pack.explained_failures("names"):
        module = pack.module("prepare")
        if module is None or not hasattr(module, "names"):
            return []
        return list(module.names(section))


def _add_override(
    selection: Selection, entry: dict[str, Any], problems: Problems, where: str
) -> None:
    """Add a task that is there with keys of the config, such as local data."""
    name = str(entry["task"])
    tree = selection.own.tree
    tagged = tree.tags.get(name) or stock_tagged(name)
    # lm-eval would give all tasks of a tag with keys of its own the name of the tag.
    names = tagged if kind_of(tree, name) == "tag" else [name]
    if any(known in selection.stock for known in names):
        problems.add(f"{name} is named twice", where=where, fix="name it once")
        return
    if "metadata" in entry:
        owner = "" if selection.own.has(name) else "lm-eval's own "
        problems.add(
            f"metadata of {owner}task {name} cannot be set", where=where, fix="leave the key out"
        )
        return
    for known in names:
        selection.overrides[known] = {key: value for key, value in entry.items() if key != "task"}
        selection.stock.append(known)
        selection.order.append(known)


def _add_inline(
    selection: Selection, entry: dict[str, Any], problems: Problems, where: str, ours: list[str]
) -> None:
    missing = [key for key in INLINE_REQUIRED if key not in entry]
    name = entry.get("task")
    if "include" in entry:
        problems.add(
            f"the inline task {name or entry!r} has `include`, which belongs into a task file",
            where=where,
            fix=f"write it into a file, such as mytasks/{name}.yaml, and name that under tasks",
        )
    elif missing:
        problems.add(
            f"the inline task {name or entry!r} lacks {', '.join(missing)}",
            where=where,
            allowed="a mapping as in an lm-eval task YAML: task, dataset_path, doc_to_text, ...; "
            "or keys of a task of lm-eval",
            fix=near(str(name), stock_names()) if name else "",
        )
    elif not isinstance(name, str) or not INLINE_NAME.fullmatch(name):
        problems.add(
            f"the inline task's name {name!r} is not a valid task name",
            where=where,
            allowed=NAME_FORM,
        )
    elif name in ours or name in selection.inline:
        problems.add(
            f"the inline task {name!r} has the name of another task",
            where=where,
            fix="give it another name",
        )
    else:
        selection.inline[name] = entry
        selection.order.append(name)
