"""What is wrong with a plan that the code of a pack made, told before anything is built upon it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import Any, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from evalprep.backends import BACKENDS
from evalprep.credentials import secret_paths
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.packs.pack import Pack
from evalprep.packs.plan import ABILITIES, EXCLUDED_KINDS, Call, Excluded, Plan, Prompt, ScoreSpec, TaskPlan
from evalprep.prepare.selection import INLINE_NAME

_ENTRIES = {"tasks": TaskPlan, "scores": ScoreSpec, "excluded": Excluded}


def maker_of_rows(pack: Pack, task: TaskPlan) -> ModuleType:
    """The module of a pack that makes the rows of a task with `after`.

    Raises:
        BadInput: there is none, so that the replies of the earlier tasks would be asked for in vain.
    """
    module = pack.module("prepare")
    if module is None or not hasattr(module, "continue_rows"):
        raise BadInput(
            Problem(
                what=f"{task.name} waits for {', '.join(task.after)}, and the pack has no continue_rows",
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
        found = getattr(plan, kind)
        if not isinstance(found, dict):
            problems.add(f"the {kind} of plan() are {_kind(found)}", where=where, allowed=f"name -> {entry.__name__}")
            continue
        for name, one in found.items():
            if not isinstance(one, entry):
                problems.add(f"{name!r} of plan() is {_kind(one)}", where=where, allowed=f"a {entry.__name__}")
            else:
                _check_entry(str(name), one, where, problems)
    for reason in _groups(plan.groups):
        problems.add(reason, where=where, allowed="name -> list of names, without circles")
    if not problems.found:
        for name, task in plan.tasks.items():
            _check_task(name, task, pack, where, problems, left_out=name in plan.excluded)
        for name, one in plan.excluded.items():
            if one.kind not in EXCLUDED_KINDS:
                what = f"{name} is left out for {one.kind!r}"
                problems.add(what, where=where, allowed=", ".join(EXCLUDED_KINDS), fix=near(one.kind, EXCLUDED_KINDS))
    return problems


def _kind(value: object) -> str:
    return f"{type(value).__name__}: {str(value)[:60]!r}"


@cache
def _adapters(kind: Any) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(kind)
    return {one.name: TypeAdapter(hints[one.name]) for one in fields(kind)}


def _check_entry(name: str, entry: Any, where: str, problems: Problems) -> None:
    """The fields of one entry have the types that their class declares, and their values fit into the manifest."""
    for key, adapter in _adapters(cast("Any", type(entry))).items():
        value = getattr(entry, key)
        if isinstance(value, Call):
            _check_entry(f"call of {name}", value, where, problems)
            continue
        try:
            adapter.validate_python(value, strict=isinstance(value, str | dict))  # "3" is no number, {} no Call
        except ValidationError as error:
            what = f"{key} of {name} is {_kind(value)}"
            problems.add(what, where=where, allowed=str(error.errors()[0]["msg"]).removeprefix("Input should be "))
            continue
        if isinstance(value, Mapping) and (reason := _unwritable(value)):
            problems.add(f"{key} of {name} cannot be written: {reason}", where=where, allowed="what JSON can hold")


def _unwritable(value: Mapping[str, Any]) -> str:
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        return str(error).splitlines()[0]
    return ""


def _groups(groups: object) -> Iterator[str]:
    if not isinstance(groups, dict):
        yield f"the groups of plan() are {_kind(groups)}"
        return
    for name, members in groups.items():
        if not isinstance(members, list | tuple) or not all(isinstance(one, str) for one in members):
            yield f"the group {name!r} of plan() is {_kind(members)}"
            return
    for name in groups:
        waiting, seen = list(groups[name]), set()
        while waiting:
            one = waiting.pop()
            if one == name:
                yield f"the group {name} of plan() is part of itself"
                break
            if one not in seen:
                seen.add(one)
                waiting += groups.get(one, ())


def _check_task(name: str, task: TaskPlan, pack: Pack, where: str, problems: Problems, *, left_out: bool) -> None:
    if task.name != name:
        problems.add(f"the task {name!r} of plan() calls itself {task.name!r}", where=where, fix="use one name")
    if not INLINE_NAME.fullmatch(name):
        allowed = "up to 100 letters, digits, _, - and ., a letter or digit first"
        problems.add(f"plan() makes a task {name!r}", where=where, allowed=allowed)
    if task.prompt not in get_args(Prompt):
        allowed = ", ".join(get_args(Prompt))
        problems.add(f"prompt of {name} is {task.prompt!r}", where=where, allowed=allowed)
    for need in sorted((task.needs or frozenset()) - set(ABILITIES)):
        fix = near(need, ABILITIES)
        problems.add(f"{name} needs {need!r}", where=where, allowed=", ".join(ABILITIES), fix=fix)
    if task.block < 1:
        problems.add(f"block of {name} is {task.block}", where=where, allowed="1 or more")
    if task.call.backend not in {"", *BACKENDS}:
        fix = near(task.call.backend, BACKENDS)
        problems.add(f"back end of {name} is {task.call.backend!r}", where=where, allowed=", ".join(BACKENDS), fix=fix)
    for path in secret_paths(dict(task.call.model_args)):
        label = ".".join(map(str, path))
        problems.add(f"model_args.{label} of {name} looks like a credential", where=where, fix="take it out")
    if task.stock not in {"", "task", "group"}:
        problems.add(f"stock of {name} is {task.stock!r}", where=where, allowed="task, group, or nothing")
    if task.stock or left_out:
        return
    declared = pack.tasks.get(name)
    template = task.template or (declared.template if declared else "")
    inside = os.path.relpath(os.path.normpath(pack.folder / template), pack.folder)
    if not template or inside.startswith("..") or not (pack.folder / template).is_file():
        what = f"template of {name} is {template!r}" if template else f"{name} has no template"
        problems.add(what, where=where, allowed=f"a YAML file in {pack.folder}")
