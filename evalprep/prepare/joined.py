"""One plan out of many.

They are those of the packs, lm-eval's own tasks, and tasks written in the config.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from evalprep.check import tasks_behind, yaml_mapping
from evalprep.config import Config
from evalprep.data import Source
from evalprep.files import read_text
from evalprep.packapi import Context
from evalprep.packs import Pack, Plan, TaskPlan, TaskSpec
from evalprep.prepare.selection import Selection

_PLACEHOLDER = re.compile(r"\$\{\w+\}")
#: A setting whose value a placeholder gives.
UNKNOWN = "${}"


@dataclass
class PlannedPack:
    """One pack's share of the run, planned but not yet written."""

    pack: Pack
    context: Context
    plan: Plan

    def spec(self, task: str) -> TaskSpec:
        """The entry of pack.yaml for a task, with what the plan changes.

        An empty one where the plan made the task.
        """
        declared = self.pack.tasks.get(task) or TaskSpec(name=task)
        task_plan = self.plan.tasks[task]
        return msgspec.structs.replace(
            declared,
            template=task_plan.template or declared.template,
            values=dict(task_plan.values or declared.values),
        )

    def settings(self, task: str) -> dict[str, Any]:
        """The keys of the template of an own task; placeholders stand as texts.

        Empty where it cannot be read, which is reported when it is rendered.
        """
        path = self.pack.folder / self.spec(task).template
        try:
            text = read_text(path, own=True, encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return {}
        return yaml_mapping(_PLACEHOLDER.sub(f"'{UNKNOWN}'", text))


@dataclass(frozen=True)
class Repeats:
    """The number of replies to each prompt of a task, and the scores of them together.

    Attributes:
        draws: Replies to each prompt.
        ks: The k of pass@k and maj@k; those up to the draws of the task count.
        metric: The metric that they are about; empty for the first of the task.
    """

    draws: int
    ks: tuple[int, ...]
    metric: str = ""

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of the task's YAML, without its class."""
        about = {"metric": self.metric} if self.metric else {}
        return {"repeats": self.draws, "repeated": {**about, "k": list(self.ks)}}


@dataclass
class Joined:
    """Everything that a preparation will write and run.

    Attributes:
        config: The configuration.
        plan: All tasks, groups, scores and exclusions.
        packs: The packs' shares.
        selection: The tasks that the user asked for.
        named: Tasks that she named one by one.
        notes: Sentences for the user.
        repeats: Task -> how it asks its prompts several times, where it does.
    """

    config: Config
    plan: Plan
    packs: list[PlannedPack]
    selection: Selection
    named: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repeats: dict[str, Repeats] = field(default_factory=dict)

    @property
    def work_dir(self) -> Path:
        """The work folder on this machine."""
        return self.config.core.work_dir

    @property
    def final(self) -> str:
        """The work folder as the machine that runs the commands has it."""
        return self.config.core.on_run_machine(self.work_dir)

    @property
    def output_path(self) -> Path:
        """The folder of the results on this machine."""
        return self.config.core.output_path

    @property
    def sources(self) -> list[Source]:
        """Every source that the packs have opened so far."""
        return list(chain.from_iterable(share.context.sources for share in self.packs))

    def settings(self, task: TaskPlan) -> Sequence[Mapping[str, Any]]:
        """The keys of a task's YAML; of each of its tasks where lm-eval brings a group or tag."""
        if task.stock:
            return [{**settings, **task.overrides} for settings in self.files_of(task)]
        inline = self.selection.inline.get(task.name)
        if inline is not None:
            return [inline]
        owners = [share for share in self.packs if task.name in share.plan.tasks]
        return [share.settings(task.name) for share in owners[:1]]

    def files_of(self, task: TaskPlan) -> Sequence[Mapping[str, Any]]:
        """The keys in the files of one of lm-eval's or the user's tasks, or of each of a group."""
        return tasks_behind(self.selection.own.tree, task.name)

    def running(self) -> Plan:
        """The plan without the tasks that are left out and the groups that have no member left."""
        plan = self.plan
        tasks = {name: task for name, task in plan.tasks.items() if name not in plan.excluded}
        return replace(plan, tasks=tasks, groups=groups_to_write(plan))


def groups_to_write(plan: Plan) -> dict[str, list[str]]:
    """The groups with the members that run; a group without any is left out."""
    groups = {
        name: [member for member in members if _runs(member, plan)]
        for name, members in plan.groups.items()
    }
    return {name: members for name, members in groups.items() if members}


def _runs(member: str, plan: Plan) -> bool:
    """Returns whether a member of a group is a task that runs, or a group with one."""
    if member in plan.excluded:
        return False
    return member not in plan.groups or any(
        leaf not in plan.excluded for leaf in plan.below(member)
    )
