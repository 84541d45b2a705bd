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

from evalprep.config import Config
from evalprep.errors import BadInput, Problems, near
from evalprep.packs import Pack, find_task, is_remembered, stock_names
from evalprep.places import exists
from evalprep.prepare.localdata import digest_of, local_files
from evalprep.prepare.workdir import check_place

INLINE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
NAME_FORM = "up to 100 letters, digits, _, - and ., a letter or digit first"
INLINE_REQUIRED = ("task", "dataset_path", "doc_to_text")


@dataclass
class Selection:
    """The requested tasks, sorted by where they come from.

    Attributes:
        by_pack: Pack name -> canonical task and group names, in order.
        stock: Names of lm-eval's own tasks, groups and tags.
        inline: Whole task definitions, by task name.
        overrides: Keys that the config sets of lm-eval's own tasks, by task name.
        order: All names as they were asked for.
        local_data: Digest of the local data of tasks that the config writes or changes, by name.
        notes: What local data change in tasks of lm-eval.
    """

    by_pack: dict[str, list[str]] = field(default_factory=dict)
    stock: list[str] = field(default_factory=list)
    inline: dict[str, dict[str, Any]] = field(default_factory=dict)
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    local_data: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def select(config: Config, packs: Mapping[str, Pack], problems: Problems) -> Selection:
    """Sort the config's `tasks`.

    Adds to `problems` what is neither, with the nearest names.
    """
    selection = Selection()
    planned = _made_names(config, packs, problems)
    ours = [*chain.from_iterable(pack.names() for pack in packs.values()), *planned]
    for number, entry in enumerate(config.core.tasks):
        if isinstance(entry, dict):
            mapping = with_absolute_files(entry, config)
            digest = digest_of(local_files(entry, config.folder))
            selection.local_data[str(entry.get("task"))] = digest
            where = config.where("tasks", number)
            _add_mapping(selection, mapping, problems, where, ours)
            if str(entry.get("task")) in selection.overrides:
                _fit_local_data(selection, entry, config, problems, where)
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
            names = _Known(ours, list(packs))
            _add_stock(selection, entry, problems, config.where("tasks"), names)
    return selection


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


@dataclass(frozen=True)
class _Known:
    """Names that are no lm-eval's: of tasks and groups, and of packs."""

    tasks: list[str]
    packs: list[str]


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
    selection: Selection, name: str, problems: Problems, where: str, known: _Known
) -> None:
    """Add a name of lm-eval's own, or the mistake that it is none."""
    if not is_remembered() and difflib.get_close_matches(name, known.tasks, n=1, cutoff=0.85):
        # One letter off a name of ours: answered at once, before half a second goes into lm-eval's
        # names.
        problems.add(f"unknown task {name!r}", where=where, fix=near(name, known.tasks))
    elif name in stock_names():
        selection.stock.append(name)
        selection.order.append(name)
    else:
        problems.add(
            f"unknown task {name!r}",
            where=where,
            fix=near(name, [*known.tasks, *known.packs, *stock_names()]) or "see `evalprep list`",
            allowed="a task, group or pack of `evalprep list`, a task of lm-eval, or a mapping "
            "with a whole task",
        )


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


def _add_mapping(
    selection: Selection, entry: dict[str, Any], problems: Problems, where: str, ours: list[str]
) -> None:
    """Add a whole task, or one of lm-eval's own with keys of the config."""
    if _is_stock(entry, ours):
        _add_override(selection, entry, problems, where)
    else:
        _add_inline(selection, entry, problems, where, ours)


def _is_stock(entry: dict[str, Any], ours: list[str]) -> bool:
    """Returns whether a mapping names one of lm-eval's own tasks, whose other keys then stay."""
    name = entry.get("task")
    return isinstance(name, str) and name not in ours and name in stock_names()


def _add_override(
    selection: Selection, entry: dict[str, Any], problems: Problems, where: str
) -> None:
    """Add a task of lm-eval's own with keys of the config, such as local data."""
    name = str(entry["task"])
    if name in selection.overrides or name in selection.stock:
        problems.add(f"{name} is named twice", where=where, fix="name it once")
        return
    if "metadata" in entry:
        problems.add(
            f"metadata of lm-eval's own task {name} cannot be set",
            where=where,
            fix="leave the key out",
        )
        return
    selection.overrides[name] = {key: value for key, value in entry.items() if key != "task"}
    selection.stock.append(name)
    selection.order.append(name)


def _fit_local_data(
    selection: Selection, entry: Mapping[str, Any], config: Config, problems: Problems, where: str
) -> None:
    """Fits one of lm-eval's own tasks to the splits of the local data that the config gives it."""
    from evalprep.check import stock_tasks
    from evalprep.prepare.localsplits import fit_to_local_data

    name = str(entry["task"])
    settings = stock_tasks(name)
    if len(settings) != 1:  # a group: each task of it has splits of its own
        return
    num_fewshot = config.core.num_fewshot
    fitted = fit_to_local_data(
        entry, settings[0], config.folder, num_fewshot=num_fewshot, where=where
    )
    selection.overrides[name] |= fitted.keys
    selection.notes += fitted.notes
    problems.extend(fitted.problems)


def with_absolute_files(entry: dict[str, Any], config: Config) -> dict[str, Any]:
    """Returns a task with absolute paths in place of those that exist beside the config.

    lm-eval looks from wherever it is started.
    """
    changed = dict(entry)
    kwargs = entry.get("dataset_kwargs")
    if isinstance(kwargs, dict) and "data_files" in kwargs:
        files = _absolute(kwargs["data_files"], config)
        changed["dataset_kwargs"] = {**kwargs, "data_files": files}
    if "dataset_path" in entry:
        changed["dataset_path"] = _absolute(entry["dataset_path"], config)
    return changed


def _absolute(files: Any, config: Config) -> Any:
    if isinstance(files, dict):
        return {split: _absolute(value, config) for split, value in files.items()}
    if isinstance(files, list):
        return [_absolute(value, config) for value in files]
    if isinstance(files, str) and exists(config.folder / files):
        return config.core.on_run_machine((config.folder / files).resolve())
    return files


def _add_inline(
    selection: Selection, entry: dict[str, Any], problems: Problems, where: str, ours: list[str]
) -> None:
    missing = [key for key in INLINE_REQUIRED if key not in entry]
    name = entry.get("task")
    if missing:
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
