"""Write the task files of a run: parquet and YAML per task, group YAMLs, tasks that the config holds inline."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.config.schema import Config
from evalprep.errors import BadInput, Problem, Problems
from evalprep.packapi import TaskData
from evalprep.packs.entries import TaskSpec
from evalprep.packs.manifest import STOCK_GROUPS
from evalprep.packs.plan import Plan
from evalprep.places import exists
from evalprep.prepare.joined import Joined, PlannedPack
from evalprep.prepare.ownmodules import bring_modules
from evalprep.prepare.plain import plain_data
from evalprep.prepare.render import render
from evalprep.prepare.selection import Selection

# Values that every template may use and none must.
_COMMON = ("task", "data_file", "pack_dir")


def write_tasks(
    joined: Joined, build: Path, work_dir: Path, progress: Callable[[str], None] = lambda _: None
) -> dict[str, dict[str, Any]]:
    """Write parquet and YAML of every task of the packs that is not left out; the data of later stages come later."""
    problems = Problems()
    facts: dict[str, dict[str, Any]] = {}
    for item in joined.packs:
        folder = build / item.pack.name
        (folder / "data").mkdir(parents=True, exist_ok=True)
        for name, task in item.plan.tasks.items():
            if name in joined.plan.excluded or task.stock:
                continue
            progress(f"{name}: rows")
            try:
                facts[name] = _write_task(item, name, folder, work_dir / item.pack.name)
            except BadInput as error:
                problems.extend(error.problems)
        problems.extend(bring_modules(item.pack.folder, folder))
    problems.raise_if_any()
    return facts


def _write_task(item: PlannedPack, name: str, folder: Path, final: Path) -> dict[str, Any]:
    spec, task = item.spec(name), item.plan.tasks[name]
    data_file = folder / "data" / f"{name}.parquet"
    data, count = (TaskData(rows=()), None) if task.after else _write_data(item, spec, data_file)
    bad_rows = data.join.notes(where=name) if data.join else []
    template = item.pack.folder / (data.template or spec.template)
    values = {
        "task": name,
        "data_file": str(final / "data" / data_file.name),
        "pack_dir": str(final),
        **spec.values,
        **data.values,
    }
    text, problems = render(_template_text(template), values, where=str(template), optional=_COMMON)
    if problems:
        raise BadInput(problems)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return {
        "pack": item.pack.name,
        "yaml": f"{item.pack.name}/{name}.yaml",
        "data": f"{item.pack.name}/data/{data_file.name}",
        "rows": count,
        "join": data.join.as_dict() if data.join else None,
        "previous": data.previous.as_dict() if data.previous else None,
        "notes": [*data.notes, *bad_rows],
    }


def _write_data(item: PlannedPack, spec: TaskSpec, data_file: Path) -> tuple[TaskData, int]:
    from evalprep.data.prepared import write_rows

    with item.pack.failures_told(spec.name):
        data = _task_data(item, spec)
        try:
            count = write_rows(data.rows, data_file, task=spec.name)
        except BadInput:
            _refuse_bad_join(spec.name, data)  # says more than that no rows are left
            raise
    _refuse_bad_join(spec.name, data)
    return data, count


def _refuse_bad_join(name: str, data: TaskData) -> None:
    if data.join is not None and (found := data.join.problems(threshold=data.max_unmatched, where=name)):
        raise BadInput(found)


def _template_text(template: Path) -> str:
    try:
        return template.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            Problem(what=f"is not UTF-8 text: {error}", where=str(template), fix="save it as UTF-8")
        ) from None


def _task_data(item: PlannedPack, spec: TaskSpec) -> TaskData:
    """Rows from the pack's own code, or from the source that pack.yaml names."""
    module = item.pack.module("prepare")
    if module is not None and hasattr(module, "prepare"):
        data = module.prepare(item.context, spec.name)
        if not isinstance(data, TaskData):
            what = f"prepare() returned {type(data).__name__} for {spec.name}"
            raise BadInput(Problem(what=what, where=str(item.pack.folder / "prepare.py"), allowed="a TaskData"))
        return data
    return plain_data(item.context, spec)


def write_groups(joined: Joined, groups: Mapping[str, Sequence[str]], build: Path) -> None:
    """Write a group YAML for every group, with the members that are left."""
    for item in joined.packs:
        for name in item.plan.groups:
            if name in groups:
                head = f"# {item.pack.title}: members that exist for this configuration."
                text = _group_text(head, name, groups[name], joined.plan)
                (build / item.pack.name / f"{name}.yaml").write_text(text, encoding="utf-8")


def write_overridden(plan: Plan, names: Sequence[str], command: str, build: Path) -> list[str]:
    """Write a group for lm-eval's own tasks that a command asks for with settings of their own.

    Returns:
        The names for `--tasks`, with that group in place of its members.
    """
    changed = [name for name in names if name in plan.tasks and plan.tasks[name].overrides]
    if not changed:
        return list(names)
    group = f"evalprep_{command.replace('-', '_')}"
    folder = build / STOCK_GROUPS
    folder.mkdir(exist_ok=True)
    text = _group_text("# lm-eval's own tasks, with settings of the pack.", group, changed, plan)
    (folder / f"{group}.yaml").write_text(text, encoding="utf-8")
    return [*(name for name in names if name not in changed), group]


def _group_text(head: str, name: str, members: Sequence[str], plan: Plan) -> str:
    lines = [head, f"group: {name}", "task:"]
    for member in members:
        task = plan.tasks.get(member)
        if task is not None and task.overrides:
            # A group named as a task would become one task of that name, and the other way round an empty group.
            entry = {task.stock: member, **task.overrides}
            lines.append(f"  - {json.dumps(entry, ensure_ascii=False)}")
        else:
            lines.append(f"  - {member}")
    return "\n".join([*lines, ""])


def write_inline(selection: Selection, build: Path, config: Config) -> None:
    """Write each inline task of the config as a task YAML; its local data files become absolute."""
    import yaml

    for name, given in selection.inline.items():
        task = dict(given)
        kwargs = task.get("dataset_kwargs")
        if isinstance(kwargs, dict) and "data_files" in kwargs:
            task["dataset_kwargs"] = {**kwargs, "data_files": _absolute_files(kwargs["data_files"], config)}
        folder = build / "inline"
        folder.mkdir(exist_ok=True)
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        (folder / f"{name}.yaml").write_text(f"# Written in the config under `tasks`.\n{text}", encoding="utf-8")


def _absolute_files(files: Any, config: Config) -> Any:
    """Paths that exist beside the config as absolute ones: the harness looks from wherever it is started."""
    if isinstance(files, dict):
        return {split: _absolute_files(value, config) for split, value in files.items()}
    if isinstance(files, list):
        return [_absolute_files(value, config) for value in files]
    if isinstance(files, str) and exists(config.folder / files):
        return config.core.there((config.folder / files).resolve())
    return files
