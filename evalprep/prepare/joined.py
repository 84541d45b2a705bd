"""One plan out of many: those of the packs, lm-eval's own tasks, and tasks written in the config."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from evalprep.backends import BACKENDS
from evalprep.config.schema import Config, Core
from evalprep.errors import Problems
from evalprep.packapi import Context
from evalprep.packs.entries import TaskSpec
from evalprep.packs.pack import Pack
from evalprep.packs.plan import Excluded, Plan, TaskPlan, closed, cycle
from evalprep.prepare.selection import Selection
from evalprep.prepare.shares import with_chat
from evalprep.terminal import shortlist

_OUTPUT_TYPE = re.compile(r"^output_type:\s*[\"']?(\w+)", re.MULTILINE)
_PREFIX = re.compile(r"^gen_prefix:", re.MULTILINE)
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
    "moments": "moments of the next-token distribution",
    "gradients": "gradients",
    "draws": "several different draws per prompt",
    "dialogue": "replies to replies",
}


@dataclass
class PlannedPack:
    """One pack's share of the run, planned but not yet written."""

    pack: Pack
    context: Context
    plan: Plan

    def spec(self, task: str) -> TaskSpec:
        """What pack.yaml says of a task, or nothing where the plan made it."""
        found = self.pack.tasks.get(task) or TaskSpec(name=task)
        made = self.plan.tasks[task]
        return replace(found, template=made.template or found.template, values=dict(made.values or found.values))


@dataclass
class Joined:
    """Everything that a preparation will write and run.

    Attributes:
        plan: All tasks, groups, scores and exclusions.
        packs: The packs' shares.
        selection: What the user asked for.
        named: Tasks that she named one by one.
    """

    plan: Plan
    packs: list[PlannedPack]
    selection: Selection
    named: list[str] = field(default_factory=list)


def join_plans(config: Config, selection: Selection, packs: list[PlannedPack], problems: Problems) -> Joined:
    """Join the plans, leave out what the back end cannot do, and close over `after`.

    A task that the user named herself and that cannot run, or a plan with nothing left, is a mistake in the config.
    """
    whole = Plan()
    for item in packs:
        whole.tasks |= item.plan.tasks
        whole.groups |= item.plan.groups
        whole.excluded |= item.plan.excluded
        for name, score in item.plan.scores.items():
            owned = replace(score, name=name, pack=item.pack.name)
            whole.scores[owned.id] = owned
    prompt = "chat" if config.core.apply_chat_template else "plain"
    for name in selection.order:
        if name in selection.stock:
            whole.tasks[name] = TaskPlan(name, stock="task", prompt=prompt)
        elif name in selection.inline:
            whole.tasks[name] = TaskPlan(name, prompt=prompt)
    where = config.where("tasks")
    _turn(whole, packs, where, problems)
    if circle := cycle(whole):
        problems.add(f"tasks wait for each other: {' > '.join(circle)}", where=where, fix="mend the pack's `after`")
        return Joined(whole, packs, selection)
    for name, task in whole.tasks.items():
        if unknown := [one for one in task.after if one not in whole.tasks and one not in whole.excluded]:
            problems.add(f"{name} waits for {', '.join(unknown)}", where=where, fix="mend the pack's `after`")
    _refuse_second_markup(config, whole, problems)
    _need_address(config, whole, problems)
    named = [name for name in selection.order if name in whole.tasks]
    templates = {name: _template(item, name) for item in packs for name in item.plan.tasks}
    for name, task in whole.tasks.items():
        if name not in whole.excluded and (reason := cannot(task, config.core, templates.get(name))):
            whole.excluded[name] = Excluded("ability", reason, task.tags)
    whole.excluded = closed(whole, named)
    for name in named:
        if name in whole.excluded:
            problems.add(
                f"{name} cannot run: {whole.excluded[name].reason}",
                where=where,
                allowed=_that_can(whole.tasks[name], config.core, templates.get(name)),
                fix="choose another task or back end",
            )
    told = any(name in whole.excluded for name in named)
    if whole.tasks and not told and all(name in whole.excluded for name in whole.tasks):
        reasons = dict.fromkeys(f"{name}: {one.reason}" for name, one in whole.excluded.items())
        problems.add(f"nothing is left to run; {'; '.join(reasons)}", where=where, fix="choose other tasks")
    return Joined(whole, packs, selection, named)


def _turn(whole: Plan, packs: list[PlannedPack], where: str, problems: Problems) -> None:
    """Let tasks of lm-eval point the way that the packs beside them give them."""
    for name, task in whole.tasks.items():
        said = [(item.pack.better[name], item.pack.name) for item in packs if task.stock and name in item.pack.better]
        if len({better for better, _ in said}) > 1:
            ways = ", ".join(f"{better} for {pack}" for better, pack in said)
            problems.add(f"better of {name} is {ways}", where=where, fix="prepare the packs by themselves")
        elif said:
            whole.tasks[name] = replace(task, better=said[0])


def _refuse_second_markup(config: Config, whole: Plan, problems: Problems) -> None:
    """A chat template or a system message on prompts that hold their chat turns would spoil every reply."""
    rendered = [name for name, task in whole.tasks.items() if task.prompt == "rendered"]
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
            f"system_instruction would be put before the chat turns that the prompts of {shown} hold already",
            where=config.where("system_instruction"),
            fix="leave the key out, or prepare those tasks by themselves",
        )


def _need_address(config: Config, whole: Plan, problems: Problems) -> None:
    """A server of one's own has no address that anybody could guess, and one that is given must be a whole one."""
    given = str(config.core.model_args.get("base_url") or "")
    used = dict.fromkeys(task.call.backend or config.core.backend for task in whole.tasks.values())
    for name in used:
        record = BACKENDS.get(name)
        if record is not None and given and (meant := record.whole_address(given)) != given:
            problems.add(  # without the address itself, which may hold a password
                f"{name} posts its requests to base_url as it is, and nothing answers them at that path",
                where=config.where("model_args", "base_url"),
                fix=f"let it end in {urlsplit(meant).path}",
            )
        if record is not None and record.address and not given:
            problems.add(
                f"{name} needs the address of the server",
                where=config.where("model_args"),
                allowed=f"model_args: {{base_url: {record.address}}}",
                fix="add it; `backend: vllm-server` has the usual one of `vllm serve`",
            )


def needs_of(task: TaskPlan, core: Core, template: Callable[[], str] | None = None) -> frozenset[str]:
    """Abilities that a task needs: those that it declares, else those that its template tells."""
    if task.needs is not None:
        return task.needs
    if template is None:
        # One of lm-eval's own, which is not looked into: how it is called says as much.
        return frozenset({"chat" if with_chat(task, core) else "plain"})
    text = template()
    match = _OUTPUT_TYPE.search(text)
    need = _BY_TYPE.get(match[1] if match else "generate_until", "generate")
    if need != "generate":
        return frozenset({need})
    prefill = {"prefill"} if _PREFIX.search(text) else set()
    return frozenset({"generate", "chat" if with_chat(task, core) else "plain", *prefill})


def cannot(task: TaskPlan, core: Core, template: Callable[[], str] | None = None) -> str:
    """Why a task cannot run on its back end, in words; empty where it can."""
    backend = task.call.backend or core.backend
    missing = sorted(needs_of(task, core, template) - BACKENDS[backend].abilities) if backend in BACKENDS else []
    return f"{backend} gives no {', no '.join(WORDS[name] for name in missing)}" if missing else ""


def _that_can(task: TaskPlan, core: Core, template: Callable[[], str] | None) -> str:
    needs = needs_of(task, core, template)
    return ", ".join(name for name, one in BACKENDS.items() if needs <= one.abilities)


def _template(item: PlannedPack, task: str) -> Callable[[], str] | None:
    if item.plan.tasks[task].stock:
        return None
    path = item.pack.folder / item.spec(task).template

    def text() -> str:
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return ""  # told when it is rendered

    return text


def groups_to_write(plan: Plan) -> Mapping[str, list[str]]:
    """The groups with the members that are left; a group without any is left out."""
    found: dict[str, list[str]] = {}
    for name, members in plan.groups.items():
        left = [
            one
            for one in members
            if one not in plan.excluded
            and (one not in plan.groups or any(leaf not in plan.excluded for leaf in plan.below(one)))
        ]
        if left:
            found[name] = left
    return found
