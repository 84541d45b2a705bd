"""The mistakes of a plan that the code of a pack made, found before anything is built upon it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

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

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_ENTRIES = {"tasks": TaskPlan, "scores": ScoreSpec, "excluded": Excluded}


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


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The declared type of each field of a class."""
    hints = get_type_hints(kind)
    return {member.name: hints[member.name] for member in fields(kind)}


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)


def _fits(value: object, hint: Any) -> bool:
    """Returns whether a value is of a type beyond doubt.

    False leaves the question to pydantic, whose import costs more than a small preparation can
    spare.
    """
    if isinstance(hint, UnionType):
        return any(_fits(value, branch) for branch in get_args(hint))
    if hint in (str, int, NoneType):
        return type(value) is hint
    if get_origin(hint) is Mapping:
        return type(value) is dict and set(map(type, value)) <= {str}
    # The same for a tuple of any length or a set of items of one type.
    kind, inside = get_origin(hint), get_args(hint)
    is_uniform = kind is frozenset or (kind is tuple and inside[-1] is Ellipsis)
    if not is_uniform or not isinstance(value, tuple | frozenset) or type(value) is not kind:
        return False
    return all(_fits(item, inside[0]) for item in value)


def _misfit(value: object, hint: Any) -> str:
    """Returns what a value should be in place of what it is; empty where its type is right."""
    if _fits(value, hint):
        return ""
    from pydantic import ValidationError

    try:
        # "3" is no number, {} no Call.
        _adapter(hint).validate_python(value, strict=isinstance(value, str | dict))
    except ValidationError as error:
        return str(error.errors()[0]["msg"]).removeprefix("Input should be ")
    return ""


def _check_entry(name: str, entry: Any, where: str, problems: Problems) -> None:
    """Checks that the fields of one entry have the types that their class declares.

    Their values must fit into the manifest, too.
    """
    for key, hint in _hints(cast("Any", type(entry))).items():
        value = getattr(entry, key)
        if isinstance(value, Call):
            _check_entry(f"call of {name}", value, where, problems)
            continue
        allowed = _misfit(value, hint)
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
