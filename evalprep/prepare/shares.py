"""Which tasks of a plan share a command, in which order commands run, and by which names they ask for their tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalprep.config.schema import Core
from evalprep.packs.plan import Call, Plan, TaskPlan


@dataclass(frozen=True)
class Share:
    """Tasks of equal call and equal depth, which one command runs.

    Attributes:
        call: What they ask for.
        backend: Our name of the back end.
        chat: The chat template is applied at run time.
        limit: Rows of each task, None for all, a share below 1.
        depth: How many stages come before.
        tasks: The tasks, in order.
    """

    call: Call
    backend: str
    chat: bool
    limit: float | None
    depth: int
    tasks: tuple[str, ...]


def shares(plan: Plan, core: Core, rows: Mapping[str, int | None]) -> list[Share]:
    """Sort the tasks of a plan into commands: by stage, then in the order of their first task.

    Args:
        plan: Everything that runs; what is excluded is left out.
        core: The configuration.
        rows: Task -> prepared rows, where they are known, to round a share up to whole blocks.
    """
    found: dict[str, tuple[Share, list[str]]] = {}
    for name, task in plan.tasks.items():
        if name in plan.excluded:
            continue
        backend = task.call.backend or core.backend
        limit = whole_blocks(core.limit, task.block, rows.get(name))
        one = Share(task.call, backend, with_chat(task, core), limit, plan.depth(name), ())
        key = repr((backend, sorted(task.call.model_args.items()), task.call.seed, one.chat, limit, one.depth))
        found.setdefault(key, (one, []))[1].append(name)
    ordered = sorted(found.values(), key=lambda item: item[0].depth)
    return [Share(one.call, one.backend, one.chat, one.limit, one.depth, tuple(names)) for one, names in ordered]


def with_chat(task: TaskPlan, core: Core) -> bool:
    """Whether a task gets the chat template at run time: as the config says, else as the task wants it."""
    return task.prompt == "chat" if core.apply_chat_template is None else core.apply_chat_template


def whole_blocks(limit: float | None, block: int, rows: int | None) -> float | None:
    """A limit rounded up to whole blocks of rows.

    >>> whole_blocks(4, 6, 60), whole_blocks(4, 1, 60), whole_blocks(0.15, 6, 60), whole_blocks(None, 6, 60)
    (6, 4, 12, None)
    """
    if limit is None or block <= 1:
        return limit
    wanted = int(limit) if limit >= 1 else math.ceil((rows or 0) * limit)
    return math.ceil(wanted / block) * block if wanted else limit


def names_for(tasks: Sequence[str], plan: Plan) -> list[str]:
    """What goes after `--tasks`: a group that lies whole in the command by its name, other tasks by theirs.

    lm-eval refuses a call that names a group and one of its members, so no task is named twice.
    """
    here, named = set(tasks), set[str]()
    whole = [name for name in plan.groups if (below := plan.below(name)) and set(below) <= here]
    inside = {one for name in whole for one in _groups_below(name, plan)}
    found: dict[str, None] = {}
    for task in tasks:
        if task in named:
            continue
        group = next(
            (
                name
                for name in whole
                if name not in inside and task in (below := plan.below(name)) and not named & set(below)
            ),
            "",
        )
        named |= set(plan.below(group)) if group else {task}
        found[group or task] = None
    return list(found)


def _groups_below(name: str, plan: Plan) -> set[str]:
    members = [one for one in plan.groups.get(name, []) if one in plan.groups]
    return {*members, *(below for one in members for below in _groups_below(one, plan))}


def command_names(parts: Sequence[Share]) -> list[str]:
    """`c1-plain`, `c2-chat`, ... in the order in which they run."""
    return [f"c{number}-{'chat' if one.chat else 'plain'}" for number, one in enumerate(parts, 1)]
