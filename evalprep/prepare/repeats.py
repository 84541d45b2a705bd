"""Several replies to each prompt: `repeats` of the config, written into the task files.

A task that the config asks to repeat gets lm-eval's key `repeats`, and the class that scores each
draw by the task's own filters and scorer (`custom_metrics.repeats`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evalprep.backends import BACKENDS
from evalprep.check import REPEATED, filter_steps, is_sampling, keeps_first, yaml_mapping
from evalprep.config import Core
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
    mistakes: dict[_Mistake, list[str]] = {}
    for name, task in list(joined.plan.tasks.items()):
        if name in joined.plan.excluded:
            continue
        entry = task.overrides if task.stock else joined.selection.inline.get(name, {})
        own_draws = _count(entry) if keeps_first(entry) else 0
        count = own_draws or draws.get(name, 1)
        if count <= 1:
            continue
        leaves = joined.settings(task)
        if own_mistakes := _mistakes_of(task, leaves, core, count):
            for mistake in own_mistakes:
                mistakes.setdefault(mistake, []).append(name)
        elif any(map(_is_own, leaves)):
            own_way = f"{name} keeps its own way of scoring several replies"
            joined.notes.append(f"{own_way}: repeats does not change it")
        else:
            _repeat(joined, task, leaves[0], count)
    for mistake, names in mistakes.items():
        key = mistake.key or ("tasks" if core.repeats is None else "repeats")
        problems.add(
            f"{mistake.before}{shortlist(names)}{mistake.after}",
            where=joined.config.where(key),
            allowed=mistake.allowed,
            fix=mistake.fix,
        )


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


class _Mistake(NamedTuple):
    """A mistake around `repeats`, which is told once for all tasks that share it.

    Attributes:
        before, after: What is said before and after the names of the tasks.
        fix: What to do.
        allowed: What `repeats` is for.
        key: Of the config; empty for the one that asks for the repeats.
    """

    before: str
    after: str
    fix: str
    allowed: str = ""
    key: str = ""


def _mistakes_of(
    task: TaskPlan, leaves: Sequence[Mapping[str, Any]], core: Core, draws: int
) -> list[_Mistake]:
    """Returns why a task cannot be repeated; a task that keeps its own way has no mistake."""
    if not leaves:
        fix = "name its tasks one by one in place of the group or tag"
        return [_Mistake("repeats: what ", " consists of is not known", fix)]
    types = {str(leaf.get("output_type") or "generate_until") for leaf in leaves}
    if types != {"generate_until"}:
        fix = "name the tasks that generate, e.g. `repeats: {my_task: 8}`"
        allowed = "tasks that generate replies"
        return [_Mistake("repeats on log-likelihood tasks: ", "", fix, allowed)]
    if any(map(_is_own, leaves)):
        return []
    mistakes = []
    reason = next(filter(None, (why_alike(leaf, core.gen_kwargs) for leaf in leaves)), "")
    if reason:
        after = f" would all be the same reply: {reason}"
        mistakes.append(_Mistake("the draws of ", after, _SAMPLE))
    backend = backend_of(task, core)
    if "draws" not in BACKENDS[backend].abilities:
        able = [name for name, record in BACKENDS.items() if "draws" in record.abilities]
        before = f"{backend} gives the same reply to each draw of "
        mistakes.append(_Mistake(before, "", "choose another back end", ", ".join(able)))
    for k in core.pass_at:
        if k > draws:
            before = f"pass_at: {k} is more than the {draws} draws of "
            fix = "raise repeats, or take the k out"
            mistakes.append(_Mistake(before, "", fix, key="pass_at"))
    return mistakes


def _repeat(joined: Joined, task: TaskPlan, settings: Mapping[str, Any], draws: int) -> None:
    """Repeats one task, whose first leaf has these settings."""
    core = joined.config.core
    ks = tuple(sorted(set(core.pass_at))) or (draws,)
    # The metric that stands for a task; empty where its settings name none.
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
