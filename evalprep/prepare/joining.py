"""Joins the plans of all packs with lm-eval's own tasks and tasks written in the config.

What a back end cannot do is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain

from evalprep.backends import BACKENDS, VLLM_PORT, is_here
from evalprep.check import kind_of
from evalprep.config import Config, Core
from evalprep.errors import Problems
from evalprep.packs import Excluded, Plan, TaskPlan, closed, cycle
from evalprep.prepare.bos import without_overruled_bos
from evalprep.prepare.joined import Joined, PlannedPack
from evalprep.prepare.repeats import add_repeats
from evalprep.prepare.selection import Selection
from evalprep.prepare.shares import backend_of, with_chat
from evalprep.terminal import shortlist

_BY_TYPE = {
    "generate_until": "generate",
    "loglikelihood": "loglikelihood",
    "multiple_choice": "loglikelihood",
    "loglikelihood_rolling": "rolling",
}
#: What a task needs, in words.
WORDS = {
    "generate": "generated replies",
    "plain": "raw prompts",
    "chat": "chat messages",
    "system": "system messages",
    "prefill": "replies that begin with given words",
    "loglikelihood": "log-likelihoods",
    "rolling": "log-likelihoods of whole texts",
    "token_logprobs": "log-probabilities of prompt tokens",
    "first_token": "log-probabilities of the first token of a reply",
    "moments": "moments of the next-token distribution",
    "gradients": "gradients",
    "draws": "several different draws per prompt",
    "dialogue": "replies to replies",
}


def join_plans(
    config: Config,
    selection: Selection,
    packs: list[PlannedPack],
    problems: Problems,
    *,
    unreachable: Collection[str],
) -> Joined:
    """Joins the plans, leaves out what the back end cannot do, and closes over `after`.

    A task that the user named herself and that cannot run, or a plan with nothing left, is a
    mistake in the config. A task whose data set cannot be had at the moment is left out, also where
    she named it: the others can be prepared.
    """
    # The plans of the packs in one; each score knows its pack.
    whole = Plan()
    for share in packs:
        whole.tasks |= share.plan.tasks
        whole.groups |= share.plan.groups
        whole.excluded |= share.plan.excluded
        whole.published |= {
            f"{share.pack.name}/{name}": values for name, values in share.plan.published.items()
        }
        for name, score in share.plan.scores.items():
            owned = replace(score, name=name, pack=share.pack.name)
            whole.scores[owned.id] = owned
    _add_other_tasks(whole, selection, config.core)
    joined = Joined(config, whole, packs, selection)
    joined.notes += selection.notes
    joined.notes += dict.fromkeys(chain.from_iterable(share.context.notes for share in packs))
    _turn(joined, problems)
    if circle := cycle(whole):
        problems.add(
            f"tasks wait for each other: {' > '.join(circle)}",
            where=config.where("tasks"),
            fix="correct the pack's `after`",
        )
        return joined
    joined.named = [name for name in selection.order if name in whole.tasks]
    without_overruled_bos(whole, config.core)
    turned = _turn_into_chat(joined)
    _check_order(joined, problems)
    _refuse_second_markup(joined, problems)
    _check_addresses(joined, problems)
    _check_nodes(joined, problems)
    _refuse_messages_as_text(joined, problems)
    _leave_out(joined, problems, unreachable)
    add_repeats(joined, problems)
    _note_turned(joined, turned)
    return joined


def _add_other_tasks(whole: Plan, selection: Selection, core: Core) -> None:
    """Adds lm-eval's own tasks and those that are written in the config."""
    prompt = "chat" if core.apply_chat_template else "plain"
    others = {*selection.stock, *selection.inline}
    for name in (name for name in selection.order if name in others):
        if name in selection.stock:
            # The plan of a task, group or tag whose file is there: lm-eval's own, or the user's.
            own, overrides = selection.own, selection.overrides.get(name, {})
            file = own.file_of(name)
            is_changed_group = overrides and kind_of(own.tree, name) == "group"
            task = TaskPlan(
                name,
                stock="group" if is_changed_group else "task",
                overrides=overrides,
                prompt=prompt,
                file="" if file is None else str(file),
                file_digest="" if file is None else own.digest(name),
                replaces=tuple(own.replaced_by(name)),
            )
        else:
            task = TaskPlan(name, prompt=prompt)
        whole.tasks[name] = replace(task, local_data=selection.local_data.get(name, ""))


def _turn(joined: Joined, problems: Problems) -> None:
    """Lets tasks of lm-eval point the way that the packs beside them give them."""
    for name, task in joined.plan.tasks.items():
        if not task.stock:
            continue
        directions = [
            (share.pack.better[name], share.pack.name)
            for share in joined.packs
            if name in share.pack.better
        ]
        if len({better for better, _ in directions}) > 1:
            ways = ", ".join(f"{better} for {pack}" for better, pack in directions)
            problems.add(
                f"better of {name} is {ways}",
                where=joined.config.where("tasks"),
                fix="prepare the packs by themselves",
            )
        elif directions:
            joined.plan.tasks[name] = replace(task, better=directions[0])


def _turn_into_chat(joined: Joined) -> dict[str, str]:
    """Sends plain prompts as chat messages to a back end that takes nothing else.

    A config that decides it otherwise is followed.

    Returns:
        Task -> its back end, for those that were turned.
    """
    core, tasks = joined.config.core, joined.plan.tasks
    turned: dict[str, str] = {}
    if core.apply_chat_template is not None:
        return turned
    for name, task in tasks.items():
        backend = BACKENDS.get(backend_of(task, core))
        if task.prompt == "plain" and backend is not None and backend.chat_only:
            tasks[name] = replace(task, prompt="chat")
            turned[name] = backend.name
    return turned


def _note_turned(joined: Joined, turned: Mapping[str, str]) -> None:
    """Notes which prompts are sent as messages though their tasks ask for plain text."""
    for backend_name in dict.fromkeys(turned.values()):
        names = [name for name, owner in turned.items() if owner == backend_name]
        running = [name for name in names if name not in joined.plan.excluded]
        if running:
            joined.notes.append(
                f"{backend_name} takes chat messages alone: each prompt of {shortlist(running)} is "
                "sent as one message of the user, as with apply_chat_template: true"
            )


def _check_order(joined: Joined, problems: Problems) -> None:
    """Refuses a task that waits for a task that nobody has."""
    plan = joined.plan
    for name, task in plan.tasks.items():
        unknown = [
            earlier
            for earlier in task.after
            if earlier not in plan.tasks and earlier not in plan.excluded
        ]
        if unknown:
            problems.add(
                f"{name} waits for {', '.join(unknown)}",
                where=joined.config.where("tasks"),
                fix="correct the pack's `after`",
            )


def _refuse_second_markup(joined: Joined, problems: Problems) -> None:
    """Refuses a chat template or a system message on prompts that are chats.

    They hold their chat turns; every reply would be spoiled.
    """
    config = joined.config
    rendered = [name for name, task in joined.plan.tasks.items() if task.prompt == "rendered"]
    if not rendered:
        return
    shown = shortlist(rendered)
    if config.core.apply_chat_template:
        problems.add(
            f"apply_chat_template is true, and the prompts of {shown} hold the chat turns already",
            where=config.where("apply_chat_template"),
            allowed="null, which leaves it to each task, or false",
            fix="leave the key out",
        )
    if config.core.system_instruction is not None:
        problems.add(
            f"system_instruction would be put before the chat turns that the prompts of {shown} "
            "hold already",
            where=config.where("system_instruction"),
            fix="leave the key out, or prepare those tasks by themselves",
        )


def _check_addresses(joined: Joined, problems: Problems) -> None:
    """Refuses a server of one's own without its address, which cannot be guessed."""
    config = joined.config
    url = str(config.core.model_args.get("base_url") or "")
    used = dict.fromkeys(backend_of(task, config.core) for task in joined.plan.tasks.values())
    for backend in (BACKENDS[name] for name in used if name in BACKENDS):
        if backend.address and not url:
            problems.add(
                f"{backend.name} needs the address of the server",
                where=config.where("model_args"),
                allowed=f"model_args: {{base_url: {backend.address}}}",
                fix="add it; `backend: vllm-server` has the usual one of `vllm serve`",
            )


def _check_nodes(joined: Joined, problems: Problems) -> None:
    """Checks that a server can be spread over the nodes that the config describes."""
    config, core = joined.config, joined.config.core
    nodes = 1 if core.target is None else core.target.nodes
    if nodes == 1:
        return
    where = config.where("target", "nodes")
    if not BACKENDS[core.backend].is_served:
        problems.add(
            f"target.nodes is {nodes}, and {core.backend} prints a command for one node",
            where=where,
            allowed="backend: vllm-server, one server on all nodes",
            fix="leave nodes out; `evalprep launch` writes jobs that use several nodes",
        )
        return
    if core.data_parallel_size % nodes:
        problems.add(
            f"data_parallel_size is {core.data_parallel_size}, on {nodes} nodes: each node holds "
            "the same number of whole copies of the model",
            where=where,
            fix=f"set data_parallel_size to a multiple of {nodes}",
        )
    if is_here(core):
        problems.add(
            f"a server on {nodes} nodes needs the address of its first node, by which the others "
            "find it",
            where=config.where("model_args"),
            fix=f"model_args: {{base_url: http://FIRST_NODE:{VLLM_PORT}/v1/completions}}",
        )


def _refuse_messages_as_text(joined: Joined, problems: Problems) -> None:
    """Refuses chat messages without token ids for a server of raw completions.

    lm-eval would send a list of messages where the server expects text.
    """
    config = joined.config
    core = config.core
    if core.model_args.get("tokenized_requests", True) is not False:
        return
    names = [
        name
        for name, task in joined.plan.tasks.items()
        if with_chat(task, core) and BACKENDS[backend_of(task, core)].sends_token_ids
    ]
    if names:
        problems.add(
            "tokenized_requests is false: lm-eval would send the chat messages of "
            f"{shortlist(names)} as the prompt",
            where=config.where("model_args", "tokenized_requests"),
            fix="leave the key out, or take `backend: local-chat-completions`",
        )


def _leave_out(joined: Joined, problems: Problems, unreachable: Collection[str]) -> None:
    """Leaves out what cannot run, and what is of no use without it."""
    plan, core = joined.plan, joined.config.core
    for name, task in plan.tasks.items():
        backend = backend_of(task, core)
        if name in plan.excluded or backend not in BACKENDS:
            continue
        missing = sorted(_needs_of(task, joined) - BACKENDS[backend].abilities)
        if missing:
            reason = f"{backend} gives no {', no '.join(WORDS[need] for need in missing)}"
            plan.excluded[name] = Excluded("ability", reason, task.tags)
    plan.excluded = closed(plan, joined.named)
    unavailable = [name for name in joined.named if name in plan.excluded]
    for name in unavailable:
        if name in unreachable:
            continue
        task = plan.tasks[name]
        needs = _needs_of(task, joined)
        problems.add(
            f"{name} cannot run: {plan.excluded[name].reason}",
            where=joined.config.where("tasks"),
            allowed=", ".join(
                name for name, backend in BACKENDS.items() if needs <= backend.abilities
            ),
            fix=_other_choice(plan.tasks[name], core, "choose another task or back end"),
        )
    if plan.tasks and not unavailable and set(plan.tasks) <= set(plan.excluded):
        # Nothing that was asked for by a group can run.
        reasons = dict.fromkeys(f"{name}: {entry.reason}" for name, entry in plan.excluded.items())
        first = next(iter(plan.tasks.values()))
        problems.add(
            f"no task can run on this back end; {'; '.join(reasons)}",
            where=joined.config.where("tasks"),
            fix=_other_choice(first, core, "choose other tasks or another back end"),
        )


def _other_choice(task: TaskPlan, core: Core, otherwise: str) -> str:
    """The fix for a task that cannot run.

    The chat template, where the config forbids it to a chat-only back end.
    """
    backend = BACKENDS.get(backend_of(task, core))
    forbidden = core.apply_chat_template is False and task.prompt != "rendered"
    if forbidden and backend is not None and backend.chat_only:
        return "apply_chat_template: true"
    return otherwise


def _needs_of(task: TaskPlan, joined: Joined) -> frozenset[str]:
    """Abilities that a task needs: those that it declares, else those that its YAML implies."""
    if task.needs is not None:
        return task.needs
    way = "chat" if with_chat(task, joined.config.core) else "plain"
    needs: set[str] = set()
    for settings in joined.settings(task):
        if "class" in settings and "output_type" not in settings:
            needs.add(way)  # its class makes the requests
            continue
        output_type = str(settings.get("output_type") or "generate_until")
        need = _BY_TYPE.get(output_type, "generate")
        needs |= {"generate", way} if need == "generate" else {need}
        if need == "generate" and "gen_prefix" in settings:
            needs.add("prefill")
    return frozenset(needs or {way})
