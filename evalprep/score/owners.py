"""The packs that the tasks of a run belong to."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from evalprep.packs import Pack
from evalprep.results import Run


def packs_of(run: Run, packs: Mapping[str, Pack]) -> list[Pack]:
    """The packs that a run's tasks belong to, by their metadata or by their names."""
    named = {str(task.metadata.get("pack")) for task in run.tasks.values()}
    named |= {name.partition("/")[0] for name in run.stated}
    return [pack for name, pack in packs.items() if name in named or _has_task_of(pack, run)]


def _has_task_of(pack: Pack, run: Run) -> bool:
    """Returns whether a run has a task of a pack, or one that a score of it is made of."""
    if any(task in run.tasks for task in pack.tasks):
        return True
    for spec in pack.suite_scores.values():
        tasks = (*spec.task, *spec.tasks)
        if any(task in run.tasks for task in tasks):
            return True
        if spec.of_stored and any(task in run.stored for task in tasks):
            return True
    return False


def _close_names(name: str, packs: Mapping[str, Pack]) -> list[str]:
    """Tasks of packs that a name may stand for."""
    known: list[str] = []
    for pack in packs.values():
        canonical = pack.canonical(name)
        if canonical:
            return [canonical]
        known += pack.tasks
    return get_close_matches(name, known, 1, 0.8) or [task for task in known if task in name]


def without_pack(run: Run, packs: Mapping[str, Pack]) -> str:
    """Returns why there are no suite scores, and the ids that the tasks may be meant to have."""
    meant: dict[str, str] = {}
    for name in run.tasks:
        close = _close_names(name, packs)
        if close:
            meant[name] = max(close, key=len)
    text = "no pack has these tasks, so there is no suite score"
    if not meant:
        return text
    shown = ", ".join(f"{name} means {task}" for name, task in list(meant.items())[:3])
    more = f" ({len(meant) - 3} more)" if len(meant) > 3 else ""
    return f"{text}; rename samples_<task>_<time>.jsonl where {shown}{more}"
