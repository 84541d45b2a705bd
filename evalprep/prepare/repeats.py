"""Several replies to each prompt: `repeats` of the config, written into the task files.

A task that the config asks to repeat gets lm-eval's key `repeats`, and the class that scores each
draw by the task's own filters and scorer (`custom_metrics.repeats`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalprep.backends import BACKENDS
from evalprep.check import (
    REPEATED,
    filter_steps,
    is_sampling,
    keeps_first,
    stock_tasks,
    yaml_mapping,
)
from evalprep.config import Core
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.files import as_mapping
from evalprep.packs import TaskPlan
from evalprep.prepare.joined import Joined, Repeats
from evalprep.prepare.shares import backend_of
from evalprep.results import choose_primary, metrics_of_filters
from evalprep.terminal import shortlist

_PLACEHOLDER = re.compile(r"\$\{\w+\}")
_KEY = re.compile(r"^repeats:.*\n?", re.MULTILINE)
_SAMPLING = "gen_kwargs: {do_sample: true, temperature: 0.7}"


def add_repeats(joined: Joined, problems: Problems) -> None:
    """Decide which tasks are repeated, and how.

    Fills `joined.repeats`, and sets the keys of tasks that come with lm-eval or stand in the
    config. A task whose own file asks for several replies keeps its own way of scoring them.
    """
    core = joined.config.core
    if core.pass_at and core.repeats is None:
        problems.add(
            "pass_at names the k of pass@k, and repeats is not set",
            where=joined.config.where("pass_at"),
            fix=f"add `repeats: {max(core.pass_at)}`",
        )
        return
    draws = _draws_of_config(joined, problems)
    refused = _Refused(joined, problems)
    for name, task in list(joined.plan.tasks.items()):
        if name in joined.plan.excluded:
            continue
        own_draws = _draws_of_entry(joined, name, task)
        count = own_draws or draws.get(name, 1)
        if count > 1:
            _repeat(joined, task, count, refused)
    refused.report()


def _draws_of_config(joined: Joined, problems: Problems) -> dict[str, int]:
    """Task -> draws, as the config's `repeats` says for all tasks or by name."""
    config, plan = joined.config, joined.plan
    repeats = config.core.repeats
    if repeats is None:
        return {}
    if isinstance(repeats, int):
        return dict.fromkeys(plan.tasks, repeats)
    draws: dict[str, int] = {}
    names = [*plan.tasks, *plan.groups]
    for name, count in repeats.items():
        if name not in names:
            what = f"repeats names {name!r}, which is no task of this config"
            where, known = config.where("repeats", name), ", ".join(names)
            problems.add(what, where=where, allowed=known, fix=near(name, names))
        draws |= dict.fromkeys(plan.below(name), count)
    return draws


def _draws_of_entry(joined: Joined, name: str, task: TaskPlan) -> int:
    """The `repeats` that an entry of the config's `tasks` has; 0 where it has none to act on."""
    entry = task.overrides if task.stock else joined.selection.inline.get(name, {})
    return _count(entry) if keeps_first(entry) else 0


def _count(settings: Mapping[str, Any]) -> int:
    """The `repeats` of a task file; 0 where it has none."""
    count = settings.get("repeats")
    return count if isinstance(count, int) else 0


class _Refused:
    """Mistakes around `repeats`, gathered over the tasks and told once for each kind."""

    def __init__(self, joined: Joined, problems: Problems) -> None:
        self._joined, self._problems = joined, problems
        self._likelihood: list[str] = []
        self._greedy: dict[str, list[str]] = {}
        self._alike: dict[str, list[str]] = {}
        self._few: dict[str, list[str]] = {}

    def likelihood(self, name: str) -> None:
        """A task that compares likelihoods, which no draw changes."""
        self._likelihood.append(name)

    def greedy(self, name: str, reason: str) -> None:
        """A task whose draws would all be the same reply."""
        self._greedy.setdefault(reason, []).append(name)

    def alike(self, name: str, backend: str) -> None:
        """A task on a back end that gives the same reply to each draw."""
        self._alike.setdefault(backend, []).append(name)

    def few(self, name: str, k: int, draws: int) -> None:
        """A task with fewer draws than a k of pass@k."""
        self._few.setdefault(f"{k} is more than the {draws} draws", []).append(name)

    def other(self, what: str, fix: str) -> None:
        """A mistake of one task alone."""
        self._problems.add(what, where=self._where(), fix=fix)

    def report(self) -> None:
        """Adds what was gathered to the problems."""
        config, add = self._joined.config, self._problems.add
        if self._likelihood:
            what = f"repeats on log-likelihood tasks: {shortlist(self._likelihood)}"
            fix = "name the tasks that generate, e.g. `repeats: {my_task: 8}`"
            add(what, where=self._where(), allowed="tasks that generate replies", fix=fix)
        for reason, names in self._greedy.items():
            what = f"the draws of {shortlist(names)} would all be the same reply: {reason}"
            add(what, where=self._where(), fix=f"sample, e.g. `{_SAMPLING}`")
        for backend, names in self._alike.items():
            what = f"{backend} gives the same reply to each draw of {shortlist(names)}"
            able = [name for name, known in BACKENDS.items() if "draws" in known.abilities]
            add(what, where=self._where(), allowed=", ".join(able), fix="choose another back end")
        for reason, names in self._few.items():
            what = f"pass_at: {reason} of {shortlist(names)}"
            add(what, where=config.where("pass_at"), fix="raise repeats, or take the k out")

    def _where(self) -> str:
        config = self._joined.config
        return config.where("tasks" if config.core.repeats is None else "repeats")


def _repeat(joined: Joined, task: TaskPlan, draws: int, refused: _Refused) -> None:
    """Repeat one task, or say why it cannot be."""
    core, name = joined.config.core, task.name
    leaves = _settings(joined, task)
    if not leaves:
        refused.other(
            f"repeats: what {name} consists of is not known",
            fix="name its tasks one by one in place of the group or tag",
        )
        return
    if any(_likelihood(settings) for settings in leaves):
        refused.likelihood(name)
        return
    if any(_is_own(settings) for settings in leaves):
        joined.notes.append(
            f"{name} keeps its own way of scoring several replies: repeats does not change it"
        )
        return
    _refuse_equal_draws(task, core, leaves, refused)
    for k in core.pass_at:
        if k > draws:
            refused.few(name, k, draws)
    ks = tuple(sorted(set(core.pass_at))) or (draws,)
    _write(joined, task, Repeats(draws, ks, _metric(leaves)))


def _refuse_equal_draws(
    task: TaskPlan, core: Core, leaves: Iterable[Mapping[str, Any]], refused: _Refused
) -> None:
    """Refuse repeats that would be the same reply again: of a back end or of greedy decoding."""
    backend = backend_of(task, core)
    if "draws" not in BACKENDS[backend].abilities:
        refused.alike(task.name, backend)
    reasons = (why_alike(settings, core.gen_kwargs) for settings in leaves)
    if reason := next(filter(None, reasons), ""):
        refused.greedy(task.name, reason)


def _settings(joined: Joined, task: TaskPlan) -> list[Mapping[str, Any]]:
    """The settings of a task as its YAML has them, of each task of a group that lm-eval brings.

    Placeholders of a template stand as texts.
    """
    if task.stock:
        return [{**settings, **task.overrides} for settings in stock_tasks(task.name)]
    inline = joined.selection.inline.get(task.name)
    if inline is not None:
        return [inline]
    for share in joined.packs:
        if task.name in share.plan.tasks:
            template = share.template(task.name)
            text = template() if template is not None else ""
            return [yaml_mapping(_PLACEHOLDER.sub("'${}'", text))]
    return []


def _likelihood(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("output_type") or "generate_until") != "generate_until"


def _is_own(settings: Mapping[str, Any]) -> bool:
    """Returns whether a task asks for requests of its own kind, or scores several replies."""
    functions = {str(step.get("function")) for _, step in filter_steps(settings)}
    several = _count(settings) > 1 and not keeps_first(settings)
    return "class" in settings or several or bool(functions & {"take_first_k", "majority_vote"})


def why_alike(settings: Mapping[str, Any], gen_kwargs: Mapping[str, Any]) -> str:
    """Returns why the draws of a task would be equal; empty where they can differ.

    Args:
        settings: The keys of the task's YAML; a placeholder is not known and no reason.
        gen_kwargs: Generation settings of the config, which overrule the task's.
    """
    kwargs = {**as_mapping(settings.get("generation_kwargs")), **gen_kwargs}
    if "seed" in kwargs:
        return "generation settings fix a seed"
    if any(_PLACEHOLDER.match(str(value)) or value == "${}" for value in kwargs.values()):
        return ""
    return "" if is_sampling(kwargs) else "decoding is greedy"


def _metric(leaves: Sequence[Mapping[str, Any]]) -> str:
    """The metric that stands for a task; empty where its settings name none."""
    settings = leaves[0]
    entries = settings.get("metric_list")
    entries = entries if isinstance(entries, list) else []
    named = [as_mapping(entry) for entry in entries]
    directions = {str(entry.get("metric")): entry.get("higher_is_better") for entry in named}
    metrics = metrics_of_filters(directions, ["none"], directions)
    return choose_primary(as_mapping(settings.get("metadata")), metrics).metric


def _write(joined: Joined, task: TaskPlan, repeats: Repeats) -> None:
    """Note the keys of a task where its file will be written."""
    joined.repeats[task.name] = repeats
    if task.stock:
        group = len(stock_tasks(task.name)) > 1
        keys = {**task.overrides, **repeats.keys, "class": REPEATED}
        stock = "group" if group else task.stock
        joined.plan.tasks[task.name] = replace(task, stock=stock, overrides=keys)


def with_repeats(text: str, repeats: Repeats, gen_kwargs: Mapping[str, Any], *, where: Path) -> str:
    """Returns the text of a task file with the keys that repeat its prompts.

    Raises:
        BadInput: with the values that the preparation gave its placeholders, decoding is greedy.
    """
    if reason := why_alike(yaml_mapping(text), gen_kwargs):
        what = f"{where.stem}: the draws would all be the same reply: {reason}"
        raise BadInput(Problem(what=what, where=str(where), fix=f"sample, e.g. `{_SAMPLING}`"))
    lines = [f"{key}: {json.dumps(value)}" for key, value in repeats.keys.items()]
    note = "# `repeats` of the config: each draw is scored by itself."
    plain = _KEY.sub("", text).rstrip("\n")
    return "\n".join([plain, note, f"class: !function {REPEATED}", *lines, ""])
