"""The commands of a plan, and the tasks that share one.

Their order is decided here, and the names by which they ask for their tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from evalprep.config import Core
from evalprep.model import Tokenizer
from evalprep.packs import Call, Plan, TaskPlan
from evalprep.prepare.bos import ARGUMENT, bos_of, effects


@dataclass(frozen=True)
class Share:
    """Tasks of equal call and equal depth, which one command runs.

    Attributes:
        call: The call that they ask for.
        backend: Our name of the back end.
        chat: The chat template is applied at run time.
        limit: Rows of each task, None for all, a share below 1.
        depth: How many stages come before.
        tasks: The tasks, in order.
        add_bos_token: True, false, or None for what the tokenizer does by itself.
    """

    call: Call
    backend: str
    chat: bool
    limit: float | None
    depth: int
    tasks: tuple[str, ...]
    add_bos_token: bool | None = None

    def joined_by(self, name: str, add_bos_token: bool | None) -> Share:
        """The same with one more task, whose `add_bos_token` gives the same tokens."""
        if self.add_bos_token is not None:
            add_bos_token = self.add_bos_token
        tasks = (*self.tasks, name)
        return replace(self, tasks=tasks, add_bos_token=add_bos_token)


def shares(
    plan: Plan,
    core: Core,
    rows: Mapping[str, int | None],
    tokenizers: Callable[[], Sequence[Tokenizer | None]] = tuple,
) -> list[Share]:
    """Sorts the tasks of a plan into commands: by stage, then in the order of their first task.

    Args:
        plan: Everything that runs; what is excluded is left out.
        core: The configuration.
        rows: Task -> prepared rows, where they are known, to round a share up to whole blocks.
        tokenizers: Gives those of the models, to see which values of `add_bos_token` are equal.
    """
    tasks = {name: task for name, task in plan.tasks.items() if name not in plan.excluded}
    beginnings = {bos_of(task, core) for task in tasks.values()}
    loaded = tokenizers() if len(beginnings) > 1 else ()
    by_key: dict[str, Share] = {}
    for name, task in tasks.items():
        new_share = Share(
            call=task.call,
            backend=backend_of(task, core),
            chat=with_chat(task, core),
            limit=whole_blocks(core.limit, task.block, rows.get(name)),
            depth=plan.depth(name),
            tasks=(),
        )
        beginning = bos_of(task, core)
        key = _key(new_share, effects(beginning, loaded) or beginning)
        share = by_key.get(key, new_share)
        by_key[key] = share.joined_by(name, beginning)
    return sorted(by_key.values(), key=lambda share: share.depth)


def _key(share: Share, beginning: object) -> str:
    """Equal for tasks that can share a command."""
    model_args = share.call.model_args.items()
    arguments = sorted((key, value) for key, value in model_args if key != ARGUMENT)
    call = (share.backend, arguments, share.call.seed)
    return repr((*call, share.chat, share.limit, share.depth, beginning))


def backend_of(task: TaskPlan, core: Core) -> str:
    """Our name of the back end that runs a task."""
    return task.call.backend or core.backend


def with_chat(task: TaskPlan, core: Core) -> bool:
    """Returns whether a task gets the chat template at run time.

    The config decides; where it does not, the task.
    """
    if core.apply_chat_template is None:
        return task.prompt == "chat"
    return core.apply_chat_template


def whole_blocks(limit: float | None, block: int, rows: int | None) -> float | None:
    """A limit rounded up to whole blocks of rows.

    >>> whole_blocks(4, 6, 60), whole_blocks(4, 1, 60), whole_blocks(0.15, 6, 60)
    (6, 4, 12)
    >>> whole_blocks(None, 6, 60)
    """
    if limit is None or block <= 1:
        return limit
    count = int(limit) if limit >= 1 else math.ceil((rows or 0) * limit)
    if not count:
        return limit
    return math.ceil(count / block) * block


def names_for(tasks: Sequence[str], plan: Plan) -> list[str]:
    """The names after `--tasks`.

    A group that lies whole in the command by its name, other tasks by theirs.

    lm-eval refuses a call that names a group and one of its members, so no task is named twice.
    """
    groups = _outermost(tasks, plan)
    covered: set[str] = set()
    names: list[str] = []
    for task in tasks:
        if task in covered:
            continue
        # The first group that holds the task and none that is covered.
        holding = (name for name, members in groups.items() if task in members)
        group = next((name for name in holding if groups[name].isdisjoint(covered)), "")
        if group:
            covered |= groups[group]
            names.append(group)
        else:
            covered.add(task)
            names.append(task)
    return list(dict.fromkeys(names))


def _outermost(tasks: Sequence[str], plan: Plan) -> dict[str, set[str]]:
    """The groups that lie whole in the command and in no other such group, with their tasks."""
    available = set(tasks)
    whole: dict[str, set[str]] = {}
    for name in plan.groups:
        members = set(plan.below(name))
        if members and members <= available:
            whole[name] = members
    inner: set[str] = set()
    for name in whole:
        inner |= _groups_below(name, plan)
    return {name: members for name, members in whole.items() if name not in inner}


def _groups_below(name: str, plan: Plan) -> set[str]:
    below: set[str] = set()
    for member in plan.groups.get(name, []):
        if member in plan.groups:
            below.add(member)
            below |= _groups_below(member, plan)
    return below


def command_names(parts: Sequence[Share]) -> list[str]:
    """`c1-plain`, `c2-chat`, ... in the order in which they run."""
    kinds = ["chat" if share.chat else "plain" for share in parts]
    return [f"c{number}-{kind}" for number, kind in enumerate(kinds, 1)]
