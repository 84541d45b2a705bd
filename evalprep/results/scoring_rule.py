"""The scoring rule by which runs are read, where a pack has several; the one owner of that choice.

A pack lists its rules (`rules:` in pack.yaml) with the metric of a row that follows each. A run
that is read by a rule has that metric in place of the primary one, so that tables, comparisons,
gates, reports and leaderboards follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from msgspec import structs

from evalprep.errors import BadInput, Problem, near
from evalprep.packs import Pack
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.results.unscored import with_metric


def rules_of(packs: Iterable[Pack]) -> list[str]:
    """Every rule that one of the packs knows."""
    return list(dict.fromkeys(chain.from_iterable(pack.rules for pack in packs)))


def by_rule(
    runs: Sequence[Run], rule: str, packs: Mapping[str, Pack], *, where: str = "--rule"
) -> list[Run]:
    """Runs as they are read by a rule; without one, as they are.

    Tasks of packs that know no such rule are scored in one way alone, and are left as they are.

    Args:
        runs: The runs.
        rule: Name of the rule.
        packs: All packs.
        where: What named the rule, for messages.

    Raises:
        BadInput: no pack of these runs has the rule, or the rows cannot be scored by it.
    """
    if not rule:
        return list(runs)
    names = chain.from_iterable(run.tasks for run in runs)
    owners = (_owner(packs, name) for name in names)
    check_rule(rule, filter(None, owners), where)
    runs_by_rule = []
    for run in runs:
        tasks = {
            name: _read_by(task, rule, _owner(packs, name), where)
            for name, task in run.tasks.items()
        }
        others = [name for name, task in tasks.items() if task.chosen is None]
        notes = [f"by the rule {rule!r}"]
        if others:
            notes.append(f"{', '.join(others)}: scored in one way alone, whatever the rule")
        runs_by_rule.append(replace(run, tasks=tasks, rule=rule, notes=[*run.notes, *notes]))
    return runs_by_rule


def check_rule(rule: str, packs: Iterable[Pack], where: str) -> None:
    """Refuses a rule that none of some packs knows.

    Raises:
        BadInput: it is unknown.
    """
    known = rules_of(packs)
    if rule not in known:
        raise BadInput(
            Problem(
                what=f"no task is scored by a rule {rule!r}",
                where=where,
                allowed=", ".join(known) or "nothing: these tasks are scored in one way alone",
                fix=near(rule, known),
            )
        )


def _owner(packs: Mapping[str, Pack], task: str) -> Pack | None:
    """The pack of a task, where it has rules."""
    return next((pack for pack in packs.values() if pack.rules and task in pack.tasks), None)


def _read_by(task: TaskRun, rule: str, pack: Pack | None, where: str) -> TaskRun:
    if pack is None or rule not in pack.rules:
        return task
    metric = pack.rules[rule]
    own = task if metric == task.primary.metric else with_metric(task, metric)
    if own is None:
        raise BadInput(
            Problem(
                what=f"the rows of {task.name} cannot be scored by the rule {rule!r}",
                where=where,
                fix="`evalprep rescore` the run, or leave the rule out",
            )
        )
    chosen = structs.replace(own.metric(metric, task.primary.filter), declared=True)
    return replace(own, chosen=chosen, _tables={})
