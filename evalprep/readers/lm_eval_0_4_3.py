"""Results of lm-eval 0.4.3 and later.

They have one part for each kind of fact, with an entry per task or group.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import msgspec

from evalprep.readers.logged import (
    DamagedPart,
    GroupResults,
    RowCounts,
    RunResults,
    TaskResults,
    stored_values,
)
from evalprep.readers.parts import (
    STORED,
    WireRescored,
    call_settings,
    declared_metrics,
    decode_parts,
    directions_of,
    rescored_of,
    stored_metrics,
    task_settings,
)
from evalprep.samples import Metric

_Entries = dict[str, dict[str, Any]]


class _File(msgspec.Struct, kw_only=True):
    results: _Entries = {}
    groups: _Entries = {}
    group_subtasks: dict[str, list[str] | None] = {}
    configs: _Entries = {}
    versions: dict[str, Any] = {}
    n_shot: dict[str, int | str | None] = msgspec.field(default_factory=dict, name="n-shot")
    higher_is_better: dict[str, dict[str, bool | None] | None] = {}
    n_samples: dict[str, RowCounts] = msgspec.field(default_factory=dict, name="n-samples")
    task_hashes: dict[str, str] = {}
    rescored: WireRescored = msgspec.field(default_factory=WireRescored)


_PARTS = frozenset(field.encode_name for field in msgspec.structs.fields(_File))


def recognises(content: dict[str, Any]) -> bool:
    """Returns whether a results file has this layout."""
    return "configs" in content


def _members_of_groups(wire: _File, tasked: Container[str]) -> dict[str, tuple[str, ...]]:
    """Group -> its members; without a list of them, a group is what has values and no settings."""
    members = {name: tuple(names) for name, names in wire.group_subtasks.items() if names}
    for name in (*wire.groups, *wire.results):
        if name not in tasked:
            members.setdefault(name, ())
    return members


def decode(content: dict[str, Any], file: str) -> RunResults:
    """Decodes a results file of this layout; parts that it lacks are unknown."""
    wire, damage = decode_parts(content, _File, file)
    configured = content.get("configs")
    tasked = configured if isinstance(configured, dict) and configured else wire.results
    members = _members_of_groups(wire, tasked)
    tasks = {}
    for name in tasked:
        if name not in members:
            tasks[name], more = _task(wire, name, file)
            damage += more
    return RunResults(
        settings=call_settings(content),
        tasks=tasks,
        groups={name: _group(wire, name, names) for name, names in members.items()},
        rescored=rescored_of(wire.rescored),
        damage=tuple(damage),
        other={key: value for key, value in content.items() if key not in _PARTS},
        read=True,
    )


def _task(wire: _File, name: str, file: str) -> tuple[TaskResults, list[DamagedPart]]:
    entry = wire.configs.get(name, {})
    settings, damage = task_settings(entry, file, name)
    shots = wire.n_shot.get(name)
    stated = wire.higher_is_better.get(name) or {}
    declared = declared_metrics(entry)
    values = wire.results.get(name, {})
    task = TaskResults(
        name=name,
        metrics=stored_metrics(values, stated, declared, settings.output_type or ""),
        directions=directions_of(stated, declared),
        settings=settings,
        version=wire.versions.get(name),
        num_fewshot=shots if isinstance(shots, int) else settings.num_fewshot,
        rows=wire.n_samples.get(name) or _rows_beside_values(values),
        hash=wire.task_hashes.get(name, ""),
    )
    return task, damage


def _rows_beside_values(values: Mapping[str, Any]) -> RowCounts:
    """The rows that a run had of a task, which lm-eval also writes beside the task's values."""
    rows = values.get("sample_len")
    return RowCounts(effective=rows if isinstance(rows, int) and rows >= 0 else None)


def _group(wire: _File, name: str, members: tuple[str, ...]) -> GroupResults:
    entry = wire.groups.get(name) or wire.results.get(name, {})
    directions = wire.higher_is_better.get(name) or {}
    return GroupResults(name=name, members=members, metrics=stored_metrics(entry, directions, {}))


def encode(run: RunResults) -> dict[str, Any]:
    """Returns a run as the content of a results file of this layout."""
    tasks = run.tasks
    content: dict[str, Any] = {
        **run.other,
        "results": {},
        "group_subtasks": {name: list(group.members) for name, group in run.groups.items()},
        "configs": {},
        "versions": {},
        "n-shot": {},
        "higher_is_better": {},
        "n-samples": {},
        "task_hashes": {},
    }
    for name, task in tasks.items():
        content["results"][name] = _entry(task)
        content["configs"][name] = dict(task.settings.as_logged)
        content["versions"][name] = task.version
        content["n-shot"][name] = task.num_fewshot
        content["higher_is_better"][name] = _directions(task.metrics)
        content["n-samples"][name] = msgspec.structs.asdict(task.rows)
        if task.hash:
            content["task_hashes"][name] = task.hash
    if run.rescored is not None:
        content["rescored"] = {
            "from": str(run.rescored.folder),
            "stamp": run.rescored.stamp,
            "run": run.rescored.run,
            "left_out": dict(run.rescored.left_out),
        }
    return content


def stored_call(
    *, model: str, folder: str, limit: float | None, started: float, evalprep_version: str | None
) -> dict[str, Any]:
    """Returns the parts of a results file that describe a call over stored replies.

    Args:
        model: Whose replies they are.
        folder: Name of the folder of the results, as lm-eval makes it out of the model's name.
        limit: Rows of each task, or a share of them.
        started: Seconds since the epoch.
        evalprep_version: Version of the program; None where it is not installed.
    """
    return {
        "config": {"model": STORED, "model_args": {}, "limit": limit},
        "date": started,
        "evalprep_version": evalprep_version,
        "model_source": STORED,
        "model_name": model,
        "model_name_sanitized": folder,
    }


def _entry(task: TaskResults) -> dict[str, Any]:
    entry: dict[str, Any] = {"alias": task.name}
    if task.rows.effective is not None:
        entry["sample_len"] = task.rows.effective
    return entry | stored_values(task.metrics)


def _directions(metrics: tuple[Metric, ...]) -> Mapping[str, bool | None]:
    values = {"up": True, "down": False, "unknown": None}
    return {metric.metric: values[metric.direction] for metric in metrics}
