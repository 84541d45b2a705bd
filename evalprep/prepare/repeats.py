"""Several replies to each prompt: `repeats` of the config, written into the task files.

A task that the config asks to repeat gets lm-eval's key `repeats`, and the class that scores each
draw by the task's own filters and scorer (`custom_metrics.repeats`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalprep.backends import BACKENDS
from evalprep.check import REPEATED, filter_steps, is_sampling, keeps_first, yaml_mapping
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.files import as_mapping
from evalprep.packs import TaskPlan
from evalprep.prepare.joined import UNKNOWN, Joined, Repeats
from evalprep.prepare.shares import backend_of
from evalprep.results import choose_primary, metrics_of_filters
from evalprep.terminal import shortlist

_KEY = re.compile(r"^repeats:.*\n?", re.MULTILINE)
_SAMPLE = "sample, e.g. `gen_kwargs: {do_sample: true, temperature: 0.7}`"


def add_repeats(joined: Joined, problems: Problems) -> None:
    """Decides which tasks are repeated, and how.

    Fills `joined.repeats`, and sets the keys of tasks that come with lm-eval or stand in the
    config. A task whose own file asks for several replies keeps its own way of scoring them.
    """
    core = joined.config.core
    if core.pass_at and core.repeats is None:
        what = "pass_at names the k of pass@k, and repeats is not set"
        where = joined.config.where("pass_at")
        fix = f"add `repeats: {max(core.pass_at)}`"
        problems.add(what, where=where, fix=fix)
        return
    draws = _draws_of_config(joined, problems)
    refused = _Refused(joined, problems)
    for name, task in list(joined.plan.tasks.items()):
        if name in joined.plan.excluded:
            continue
        entry = task.overrides if task.stock else joined.selection.inline.get(name, {})
        own_draws = _count(entry) if keeps_first(entry) else 0
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
            what = f"repeats names {name!r}, but the config has no such task"
            where = config.where("repeats", name)
            allowed = ", ".join(names)
            problems.add(what, where=where, allowed=allowed, fix=near(name, names))
        draws |= dict.fromkeys(plan.below(name), count)
    return draws


def _count(settings: Mapping[str, Any]) -> int:
    """The `repeats` of a task file; 0 where it has none."""
    count = settings.get("repeats")
    return count if isinstance(count, int) else 0


class _Refused:
    """Mistakes around `repeats`, gathered over the tasks and told once for each kind."""

    def __init__(self, joined: Joined, problems: Problems) -> None:
        self._joined = joined
        self._problems = problems
        self._likelihood: list[str] = []
        self._greedy: dict[str, list[str]] = {}
        self._alike: dict[str, list[str]] = {}
        self._few: dict[str, list[str]] = {}

    def likelihood(self, name: str) -> None:
        """A task that compares likelihoods, which no draw changes."""
        self._likelihood.append(name)

    def greedy(self, name: str, reason: str) -> None:
        """A task whose draws would all be the same reply."""
        names = self._greedy.setdefault(reason, [])
        names.append(name)

    def alike(self, name: str, backend: str) -> None:
        """A task on a back end that gives the same reply to each draw."""
        names = self._alike.setdefault(backend, [])
        names.append(name)

    def few(self, name: str, k: int, draws: int) -> None:
        """A task with fewer draws than a k of pass@k."""
        reason = f"{k} is more than the {draws} draws"
        names = self._few.setdefault(reason, [])
        names.append(name)

    def other(self, what: str, fix: str) -> None:
        """A mistake of one task alone."""
        self._problems.add(what, where=self._where(), fix=fix)

    def report(self) -> None:
        """Adds what was gathered to the problems."""
        add, where = self._problems.add, self._where()
        if self._likelihood:
            what = f"repeats on log-likelihood tasks: {shortlist(self._likelihood)}"
            allowed = "tasks that generate replies"
            fix = "name the tasks that generate, e.g. `repeats: {my_task: 8}`"
            add(what, where=where, allowed=allowed, fix=fix)
        for reason, names in self._greedy.items():
            what = f"the draws of {shortlist(names)} would all be the same reply: {reason}"
            add(what, where=where, fix=_SAMPLE)
        for backend, names in self._alike.items():
            what = f"{backend} gives the same reply to each draw of {shortlist(names)}"
            able = [name for name, record in BACKENDS.items() if "draws" in record.abilities]
            add(what, where=where, allowed=", ".join(able), fix="choose another back end")
        where = self._joined.config.where("pass_at")
        for reason, names in self._few.items():
            what = f"pass_at: {reason} of {shortlist(names)}"
            add(what, where=where, fix="raise repeats, or take the k out")

    def _where(self) -> str:
        config = self._joined.config
        key = "tasks" if config.core.repeats is None else "repeats"
        return config.where(key)


def _repeat(joined: Joined, task: TaskPlan, draws: int, refused: _Refused) -> None:
    """Repeats one task, or says why it cannot be."""
    core, name = joined.config.core, task.name
    leaves = joined.settings(task)
    if not leaves:
        what = f"repeats: what {name} consists of is not known"
        fix = "name its tasks one by one in place of the group or tag"
        refused.other(what, fix=fix)
        return
    if any(map(_likelihood, leaves)):
        refused.likelihood(name)
        return
    if any(map(_is_own, leaves)):
        own_way = f"{name} keeps its own way of scoring several replies"
        joined.notes.append(f"{own_way}: repeats does not change it")
        return
    # Repeats that would be the same reply again: of a back end, or of greedy decoding.
    backend = backend_of(task, core)
    if "draws" not in BACKENDS[backend].abilities:
        refused.alike(name, backend)
    reasons = [why_alike(leaf, core.gen_kwargs) for leaf in leaves]
    if any(reasons):
        refused.greedy(name, next(filter(None, reasons)))
    for k in core.pass_at:
        if k > draws:
            refused.few(name, k, draws)
    ks = tuple(sorted(set(core.pass_at))) or (draws,)
    # The metric that stands for a task; empty where its settings name none.
    settings = leaves[0]
    metric_list = settings.get("metric_list")
    directions: dict[str, Any] = {}
    for item in metric_list if isinstance(metric_list, list) else []:
        entry = as_mapping(item)
        name = str(entry.get("metric"))
        directions[name] = entry.get("higher_is_better")
    metrics = metrics_of_filters(directions, ["none"], directions)
    metadata = as_mapping(settings.get("metadata"))
    repeats = Repeats(draws, ks, choose_primary(metadata, metrics).metric)
    joined.repeats[task.name] = repeats
    if task.stock:
        is_group = len(joined.files_of(task)) > 1
        stock = "group" if is_group else task.stock
        keys = {**task.overrides, **repeats.keys, "class": REPEATED}
        joined.plan.tasks[task.name] = replace(task, stock=stock, overrides=keys)


def _likelihood(settings: Mapping[str, Any]) -> bool:
    output_type = settings.get("output_type") or "generate_until"
    return str(output_type) != "generate_until"


def _is_own(settings: Mapping[str, Any]) -> bool:
    """Returns whether a task asks for requests of its own kind, or scores several replies."""
    if "class" in settings:
        return True
    if _count(settings) > 1 and not keeps_first(settings):
        return True
    functions = {str(step.get("function")) for _, step in filter_steps(settings)}
    return bool(functions & {"take_first_k", "majority_vote"})


def why_alike(settings: Mapping[str, Any], gen_kwargs: Mapping[str, Any]) -> str:
    """Returns why the draws of a task would be equal; empty where they can differ.

    Args:
        settings: The keys of the task's YAML; a placeholder is not known and no reason.
        gen_kwargs: Generation settings of the config, which overrule the task's.
    """
    of_task = as_mapping(settings.get("generation_kwargs"))
    kwargs = {**of_task, **gen_kwargs}
    if "seed" in kwargs:
        return "generation settings fix a seed"
    is_known = UNKNOWN not in kwargs.values()
    return "decoding is greedy" if is_known and not is_sampling(kwargs) else ""


def with_repeats(text: str, repeats: Repeats, gen_kwargs: Mapping[str, Any], *, where: Path) -> str:
    """Returns the text of a task file with the keys that repeat its prompts.

    Raises:
        BadInput: with the values that the preparation gave its placeholders, decoding is greedy.
    """
    reason = why_alike(yaml_mapping(text), gen_kwargs)
    if reason:
        what = f"{where.stem}: the draws would all be the same reply: {reason}"
        raise BadInput(Problem(what=what, where=str(where), fix=_SAMPLE))
    lines = [f"{key}: {json.dumps(value)}" for key, value in repeats.keys.items()]
    note = "# `repeats` of the config: each draw is scored by itself."
    plain = _KEY.sub("", text).rstrip("\n")
    return "\n".join([plain, note, f"class: !function {REPEATED}", *lines, ""])
