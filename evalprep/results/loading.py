"""Opening a run: its results files put together, and the task of each samples file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping
from evalprep.packs.manifest import plan_of
from evalprep.packs.plan import Plan, TaskPlan, leaves
from evalprep.results.files import NEWEST, find_run
from evalprep.results.record import read_record
from evalprep.results.run import Run
from evalprep.results.task import TaskRun, task_of

#: Parts of a results file that have one entry per task or group.
TABLES = ("results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples")


def _merged(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """The newer results file with the tasks and groups that only the older one has."""
    tables = {
        key: {**older[key], **newer.get(key, {})}
        for key in TABLES
        if isinstance(older.get(key), dict) and isinstance(newer.get(key, {}), dict)
    }
    return {**newer, **tables}


def _brief(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def _as_chosen(results: dict[str, Any], sources: Mapping[str, Path], decoded: Mapping[Path, dict[str, Any]]) -> None:
    """Give every task the entries of the call that its samples are from, where a newer call has fewer rows of it."""
    for task, file in sources.items():
        for key in TABLES:
            own = decoded.get(file, {}).get(key)
            if isinstance(own, dict) and task in own and isinstance(results.get(key), dict):
                results[key][task] = own[task]


def load_run(path: str | os.PathLike[str], *, timestamp: str = NEWEST, run: str = "") -> Run:
    """Open a run that lm-eval 0.4.9 or later wrote.

    Args:
        path: Output folder, model folder, results file or one samples file.
        timestamp: `newest`, `each` (the newest samples of each task) or the beginning of a time stamp.
        run: Id of the run that is wanted, instead of the newest.

    Returns:
        The run; samples are read when asked for.

    Raises:
        BadInput: no run there.
    """
    files = find_run(path, timestamp=timestamp, run=run)
    notes = list(files.notes)
    results: dict[str, Any] = {}
    if files.results is None:
        notes.append("no results file of this time stamp: metric and filter of each task are guessed from its lines")
    decoded_files: dict[Path, dict[str, Any]] = {}
    for file in (*files.earlier, *filter(None, [files.results])):
        try:
            decoded = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            notes.append(f"{file.name} is damaged ({_brief(error)}); metric and filter of each task are guessed")
        else:
            # Whoever ran it may have passed credentials, which lm-eval writes into config and metadata.
            decoded_files[file] = without_secrets(decoded) if isinstance(decoded, dict) else {}
            results = _merged(results, decoded_files[file])
    _as_chosen(results, files.sources, decoded_files)

    record = read_record(files.folder, files.run)
    plan = plan_of(record) if record else None
    planned = _planned(plan, results) if plan is not None else {}
    tasks = {name: task_of(results, name, file, planned.get(name)) for name, file in files.samples.items()}
    if plan is not None:
        notes += _without_earlier_replies(tasks, plan)
    configured = as_mapping(results.get("configs"))
    missing = [] if Path(path).is_file() else [str(name) for name in configured if name not in tasks]
    if missing:
        notes.append(
            f"no samples file of {', '.join(missing)}: run without --log_samples, or the harness could not write it"
        )
    if packed := sorted(path.name for path in files.folder.glob("samples_*.jsonl.*")):
        some = f"{packed[0]} and {len(packed) - 1} more" if len(packed) > 1 else packed[0]
        notes.append(f"compressed samples are not read, unpack them first: {some}")
    expected = {
        name: facts["expected"]
        for name, facts in as_mapping(record.get("tasks")).items()
        if isinstance(facts, dict) and type(facts.get("expected")) is int
    }
    return Run(files, results, tasks, notes, record=plan, expected=expected)


def _planned(plan: Plan, results: Mapping[str, Any]) -> dict[str, TaskPlan]:
    """Task -> its plan; the members of one of lm-eval's groups share that of the group."""
    subtasks = as_mapping(results.get("group_subtasks"))
    groups = {name: [str(one) for one in members] for name, members in subtasks.items() if isinstance(members, list)}
    found: dict[str, TaskPlan] = {}
    for name, task in plan.tasks.items():
        for leaf in leaves(name, groups) if task.stock else [name]:
            found[leaf] = task
    return found


def _without_earlier_replies(tasks: dict[str, TaskRun], plan: Plan) -> list[str]:
    """Take out tasks whose rows were made from other replies than those that count."""
    from evalprep.results.stages import is_made_from

    notes = []
    for name, task in plan.tasks.items():
        before = [tasks[one] for one in task.after if one in tasks]
        if name in tasks and before and not is_made_from(tasks[name], before):
            del tasks[name]
            notes.append(f"{name} is left out: its rows were made from earlier replies of {', '.join(task.after)}")
    return notes
