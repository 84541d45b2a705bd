"""The mistakes of a plan that the code of a pack made, found before anything is built upon it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from evalprep.backends import BACKENDS
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.packs import (
    ABILITIES,
    EXCLUDED_KINDS,
    Call,
    Excluded,
    Pack,
    Plan,
    Prompt,
    ScoreSpec,
    TaskPlan,
)
from evalprep.prepare.selection import INLINE_NAME, NAME_FORM
from evalprep.structs import misfit

_ENTRIES = {"tasks": TaskPlan, "scores": ScoreSpec, "excluded": Excluded}
_hints = cache(get_type_hints)


def maker_of_rows(pack: Pack, task: TaskPlan) -> ModuleType:
    """The module of a pack that makes the rows of a task with `after`.

    Raises:
        BadInput: there is none, so that the replies of the earlier tasks would be asked for in
            vain.
    """
    module = pack.module("prepare")
    if module is None or not hasattr(module, "continue_rows"):
        raise BadInput(
            Problem(
                what=f"{task.name} waits for {', '.join(task.after)}, and the pack has no "
                "continue_rows",
                where=str(pack.folder / "prepare.py"),
                allowed="continue_rows(context, task, before) -> Iterator[row]",
            )
        )
    return module


def check_plan(plan: Plan, pack: Pack) -> Problems:
    """Every mistake of a plan: types, names, files, circles, values that no file can hold.

    Args:
        plan: What the pack's `plan` returned.
        pack: The pack.
    """
    problems = Problems()
    where = str(pack.folder / "prepare.py")
    for kind, entry in _ENTRIES.items():
        _check_entries(kind, getattr(plan, kind), entry, where, problems)
    for reason in _groups(plan.groups):
        problems.add(reason, where=where, allowed="name -> list of names, without circles")
    if not problems.found:
        for name, task in plan.tasks.items():
            _check_task(name, task, pack, where, problems, left_out=name in plan.excluded)
        for name, exclusion in plan.excluded.items():
            if exclusion.kind not in EXCLUDED_KINDS:
                what = f"{name} is left out for {exclusion.kind!r}"
                problems.add(
                    what,
                    where=where,
                    allowed=", ".join(EXCLUDED_KINDS),
                    fix=near(exclusion.kind, EXCLUDED_KINDS),
                )
    return problems


def _check_entries(kind: str, entries: Any, entry: type, where: str, problems: Problems) -> None:
    """Checks one mapping of a plan.

    It is a mapping, with values of one class and fields of the declared types.
    """
    if not isinstance(entries, dict):
        what = f"the {kind} of plan() are {_kind(entries)}"
        problems.add(what, where=where, allowed=f"name -> {entry.__name__}")
        return
    for name, value in entries.items():
        if isinstance(value, entry):
            _check_entry(str(name), value, where, problems)
        else:
            what = f"{name!r} of plan() is {_kind(value)}"
            problems.add(what, where=where, allowed=f"a {entry.__name__}")


def _kind(value: object) -> str:
    return f"{type(value).__name__}: {str(value)[:60]!r}"


def _check_entry(name: str, entry: Any, where: str, problems: Problems) -> None:
    """Checks that the fields of one entry have the types that their class declares.

    Their values must fit into the manifest, too.
    """
    for key, hint in _hints(entry.__class__).items():
        value = getattr(entry, key)
        if isinstance(value, Call):
            _check_entry(f"call of {name}", value, where, problems)
            continue
        allowed = "a Call" if hint is Call else misfit(value, hint)
        if allowed:
            problems.add(f"{key} of {name} is {_kind(value)}", where=where, allowed=allowed)
            continue
        reason = _unwritable(value) if isinstance(value, Mapping) else ""
        if reason:
            problems.add(
                f"{key} of {name} cannot be written: {reason}",
                where=where,
                allowed="what JSON can hold",
            )


def _unwritable(value: Mapping[str, Any]) -> str:
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        return str(error).splitlines()[0]
    return ""


def _groups(groups: object) -> Iterator[str]:
    """Mistakes of the groups: no names, or circles."""
    if not isinstance(groups, dict):
        yield f"the groups of plan() are {_kind(groups)}"
        return
    for name, members in groups.items():
        are_names = isinstance(members, list | tuple) and all(
            isinstance(member, str) for member in members
        )
        if not are_names:
            yield f"the group {name!r} of plan() is {_kind(members)}"
            return
    for name in groups:
        if _holds_itself(name, groups):
            yield f"the group {name} of plan() is part of itself"


def _holds_itself(group: str, groups: Mapping[str, Any]) -> bool:
    waiting, seen = list(groups[group]), set()
    while waiting:
        member = waiting.pop()
        if member == group:
            return True
        if member not in seen:
            seen.add(member)
            waiting += groups.get(member, ())
    return False


def _check_task(
    name: str, task: TaskPlan, pack: Pack, where: str, problems: Problems, *, left_out: bool
) -> None:
    """The values of one task of a plan."""

    def refuse(what: str, *, allowed: str = "", fix: str = "") -> None:
        problems.add(what, where=where, allowed=allowed, fix=fix)

    if task.name != name:
        refuse(f"the task {name!r} of plan() calls itself {task.name!r}", fix="use one name")
    if not INLINE_NAME.fullmatch(name):
        refuse(f"plan() makes a task {name!r}", allowed=NAME_FORM)
    prompts = get_args(Prompt)
    if task.prompt not in prompts:
        refuse(f"prompt of {name} is {task.prompt!r}", allowed=", ".join(prompts))
    for need in sorted((task.needs or frozenset()) - set(ABILITIES)):
        fix = near(need, ABILITIES)
        refuse(f"{name} needs {need!r}", allowed=", ".join(ABILITIES), fix=fix)
    if task.block < 1:
        refuse(f"block of {name} is {task.block}", allowed="1 or more")
    if task.stock not in {"", "task", "group"}:
        refuse(f"stock of {name} is {task.stock!r}", allowed="task, group, or nothing")
    if task.call.backend not in {"", *BACKENDS}:
        what = f"back end of {name} is {task.call.backend!r}"
        refuse(what, allowed=", ".join(BACKENDS), fix=near(task.call.backend, BACKENDS))
    problems.refuse_secrets(
        {"model_args": dict(task.call.model_args)}, lambda _: f"{where}, task {name}"
    )
    if not task.stock and not left_out:
        _check_template(name, task, pack, refuse)


def _check_template(name: str, task: TaskPlan, pack: Pack, refuse: Callable[..., None]) -> None:
    """The template of an own task: a file of the pack."""
    declared = pack.tasks.get(name)
    template = task.template or (declared.template if declared else "")
    allowed = f"a YAML file in {pack.folder}"
    if not template:
        refuse(f"{name} has no template", allowed=allowed)
        return
    path = Path(os.path.normpath(pack.folder / template))
    folders = [pack.folder, *(extension.folder for extension in pack.extensions)]
    is_inside = any(path.is_relative_to(folder) for folder in folders)
    if not is_inside or not path.is_file():
        refuse(f"template of {name} is {template!r}", allowed=allowed)
