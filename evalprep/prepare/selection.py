"""Which tasks a run has: names of pack tasks and groups, of lm-eval's own tasks, and whole tasks written inline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalprep.config.schema import Config
from evalprep.errors import BadInput, Problems, near
from evalprep.packs.finding import find_task
from evalprep.packs.pack import Pack
from evalprep.packs.stock import is_remembered, stock_names

INLINE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
INLINE_REQUIRED = ("task", "dataset_path", "doc_to_text")


@dataclass
class Selection:
    """The requested tasks, sorted by where they come from.

    Attributes:
        by_pack: Pack name -> canonical task and group names, in order.
        stock: Names of lm-eval's own tasks, groups and tags.
        inline: Whole task definitions, by task name.
        order: All names as they were asked for.
    """

    by_pack: dict[str, list[str]] = field(default_factory=dict)
    stock: list[str] = field(default_factory=list)
    inline: dict[str, dict[str, Any]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)


def select(config: Config, packs: Mapping[str, Pack], problems: Problems) -> Selection:
    """Sort the config's `tasks`.

    Adds to `problems` what is neither, with the nearest names.
    """
    selection = Selection()
    where = config.where("tasks")
    ours = [name for pack in packs.values() for name in pack.names()]
    made = _made_names(config, packs, problems)
    ours += made
    for number, entry in enumerate(config.core.tasks):
        if isinstance(entry, dict):
            _add_inline(selection, entry, problems, config.where("tasks", number), ours)
            continue
        found = (made[entry], entry) if entry in made else find_task(packs, entry)
        if found is not None:
            pack, name = found
            selection.by_pack.setdefault(pack.name, []).append(name)
            selection.order.append(name)
            continue
        slip = difflib.get_close_matches(entry, ours, n=1, cutoff=0.85)
        if slip and not is_remembered():
            # One letter off a name of ours: answered at once, before half a second goes into lm-eval's names.
            problems.add(f"unknown task {entry!r}", where=where, fix=near(entry, ours))
        elif entry in stock_names():
            selection.stock.append(entry)
            selection.order.append(entry)
        else:
            problems.add(
                f"unknown task {entry!r}",
                where=where,
                fix=near(entry, [*ours, *stock_names()]) or "see `evalprep list`",
                allowed=f"{', '.join(ours)}, or a task of lm-eval, or a mapping with a whole task",
            )
    return selection


def _made_names(config: Config, packs: Mapping[str, Pack], problems: Problems) -> dict[str, Pack]:
    """Names beside those of pack.yaml that packs make from their sections of the config, which they tell by `names`."""
    owner: dict[str, Pack] = {}
    for name, section in config.sections.items():
        pack = packs[name]
        try:
            with pack.failures_told("names"):
                module = pack.module("prepare")
                told = list(module.names(section)) if module is not None and hasattr(module, "names") else []
        except BadInput as error:
            problems.extend(error.problems)
            continue
        for one in told:
            taken = owner.get(str(one)) or next((other for other in packs.values() if other.canonical(str(one))), None)
            if not isinstance(one, str) or not INLINE_NAME.fullmatch(one) or taken is not None:
                problems.add(
                    f"the pack {name} makes a task {one!r}" + (f", which {taken.name} has" if taken else ""),
                    where=config.where(name),
                    allowed="" if taken else "up to 100 letters, digits, _, - and ., a letter or digit first",
                    fix="choose another name in the config",
                )
            else:
                owner[one] = pack
    return owner


def _add_inline(selection: Selection, entry: dict[str, Any], problems: Problems, where: str, ours: list[str]) -> None:
    missing = [key for key in INLINE_REQUIRED if key not in entry]
    name = entry.get("task")
    if missing:
        problems.add(
            f"the inline task {name or entry!r} lacks {', '.join(missing)}",
            where=where,
            allowed="a mapping as in an lm-eval task YAML: task, dataset_path, doc_to_text, ...",
        )
    elif not isinstance(name, str) or not INLINE_NAME.fullmatch(name):
        problems.add(
            f"the inline task's name {name!r} is no name for a file and the command line",
            where=where,
            allowed="up to 100 letters, digits, _, - and ., a letter or digit first",
        )
    elif name in ours or name in selection.inline:
        problems.add(f"the inline task {name!r} has the name of another task", where=where, fix="give it another name")
    else:
        selection.inline[name] = entry
        selection.order.append(name)
