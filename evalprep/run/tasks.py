"""lm-eval's objects of a command's tasks: all at once, or one by one where that fails."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.data import hub_problem
from evalprep.files import as_mapping
from evalprep.packs import Plan, load_prepared
from evalprep.results import Unit
from evalprep.status import Job


@dataclass
class Loaded:
    """The outcome for the tasks of a command.

    Attributes:
        tasks: Task name -> lm-eval's object.
        failures: Name -> why it could not be loaded.
    """

    tasks: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def whole(self, units: Iterable[Unit]) -> list[str]:
        """The tasks of which all units are done."""
        unfinished = {unit.task for unit in units if not unit.is_done}
        known = {unit.task for unit in units}
        return [name for name in self.tasks if name in known - unfinished]


def manager_of(config: Any, **metadata: str) -> Any:
    """lm-eval's manager of tasks, with what the command writes into their metadata."""
    from evalprep.packs import RequestedTasks

    merged = {**config.metadata, **metadata}
    return RequestedTasks(include_path=config.include_path, metadata=merged)


def load_tasks(manager: Any, job: Job) -> Loaded:
    """Loads the tasks of a command; one that cannot be loaded costs no other.

    lm-eval loads all or none. A group of the preparation that fails is loaded by its members; a
    group of lm-eval's own stands or falls as a whole.
    """
    try:
        return Loaded(manager.load(list(job.tasks))["tasks"])
    except Exception:  # noqa: BLE001 - whose fault it is is found out below
        traceback.print_exc()
    loaded = Loaded()
    prepared = load_prepared(Path(job.include_path))
    plan = Plan() if prepared is None else prepared.plan
    for name in job.tasks:
        _load(name, manager, plan, loaded)
    return loaded


def _load(name: str, manager: Any, plan: Plan, loaded: Loaded) -> None:
    try:
        loaded.tasks |= manager.load([name])["tasks"]
    except Exception as error:  # noqa: BLE001 - whatever a task does when it is loaded
        members = plan.groups.get(name, [])
        for member in members:
            planned = plan.tasks.get(member)
            if planned is not None and planned.overrides:
                # They stand in the file of the group alone.
                loaded.failures[member] = _reason(error, member, manager)
            else:
                _load(member, manager, plan, loaded)
        if not members:
            loaded.failures[name] = _reason(error, name, manager)


def _reason(error: Exception, name: str, manager: Any) -> str:
    """Returns why a task cannot be loaded, with the fix where the hub is to blame."""
    entry = getattr(manager, "task_index", {}).get(name)
    settings = as_mapping(None if entry is None else entry.cfg)
    problem = hub_problem(error, str(settings.get("dataset_path") or name))
    if problem is not None:
        return f"{problem.what}; {problem.fix}"[:500]
    return f"cannot be loaded: {type(error).__name__}: {error}"[:500]
