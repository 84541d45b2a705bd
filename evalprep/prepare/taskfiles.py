"""Write the task files of a run: parquet and YAML per task, group YAMLs, tasks that the config holds inline."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, Problems
from evalprep.packapi import Context, Plan, TaskData
from evalprep.packs.entries import TaskSpec
from evalprep.packs.pack import Pack
from evalprep.places import exists
from evalprep.prepare.plain import plain_data
from evalprep.prepare.render import render
from evalprep.prepare.selection import Selection

# Values that every template may use and none must.
_COMMON = ("task", "data_file", "pack_dir")


@dataclass
class PlannedPack:
    """One pack's share of the run, planned but not yet written."""

    pack: Pack
    context: Context
    plan: Plan

    def spec(self, task: str) -> TaskSpec:
        """What a task is made from: as pack.yaml declares it, or as the plan made it."""
        return self.plan.specs.get(task) or self.pack.tasks[task]


def write_tasks(work: list[PlannedPack], build: Path, work_dir: Path) -> dict[str, dict[str, Any]]:
    """Write parquet and YAML of every planned task."""
    problems = Problems()
    facts: dict[str, dict[str, Any]] = {}
    for item in work:
        folder = build / item.pack.name
        (folder / "data").mkdir(parents=True, exist_ok=True)
        for name in item.plan.tasks:
            try:
                facts[name] = _write_task(item, name, folder, work_dir / item.pack.name)
            except BadInput as error:
                problems.extend(error.problems)
        for code in sorted(item.pack.folder.glob("utils*.py")):
            shutil.copyfile(code, folder / code.name)
    problems.raise_if_any()
    return facts


def _write_task(item: PlannedPack, name: str, folder: Path, final: Path) -> dict[str, Any]:
    from evalprep.data.prepared import write_rows

    spec = item.spec(name)
    data_file = folder / "data" / f"{name}.parquet"
    with item.pack.failures_told(name):
        data = _task_data(item, spec)
        try:
            count = write_rows(data.rows, data_file, task=name)
        except BadInput:
            _refuse_bad_join(item, name, data)  # says more than that no rows are left
            raise
    _refuse_bad_join(item, name, data)
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
        "notes": data.notes,
    }


def _refuse_bad_join(item: PlannedPack, name: str, data: TaskData) -> None:
    threshold = getattr(item.context.section, "max_unmatched", 0.01)
    if data.join is not None and (found := data.join.problems(threshold=threshold, where=name)):
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
        data: TaskData = module.prepare(item.context, spec.name)
        return data
    return plain_data(item.context, spec)


def write_groups(work: list[PlannedPack], build: Path) -> dict[str, list[str]]:
    """Write a group YAML for every requested group."""
    groups: dict[str, list[str]] = {}
    for item in work:
        for name, members in item.plan.groups.items():
            groups[name] = members
            lines = [f"# {item.pack.title}: members that exist for this configuration.", f"group: {name}", "task:"]
            lines += [f"  - {member}" for member in members]
            (build / item.pack.name / f"{name}.yaml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return groups


def write_inline(selection: Selection, build: Path, base: Path) -> None:
    """Write each inline task of the config as a task YAML; its local data files become absolute."""
    import yaml

    for name, given in selection.inline.items():
        task = dict(given)
        kwargs = task.get("dataset_kwargs")
        if isinstance(kwargs, dict) and "data_files" in kwargs:
            task["dataset_kwargs"] = {**kwargs, "data_files": _absolute_files(kwargs["data_files"], base)}
        folder = build / "inline"
        folder.mkdir(exist_ok=True)
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        (folder / f"{name}.yaml").write_text(f"# Written in the config under `tasks`.\n{text}", encoding="utf-8")


def _absolute_files(files: Any, base: Path) -> Any:
    """Paths that exist beside the config as absolute ones: the harness looks from wherever it is started."""
    if isinstance(files, dict):
        return {split: _absolute_files(value, base) for split, value in files.items()}
    if isinstance(files, list):
        return [_absolute_files(value, base) for value in files]
    return str((base / files).resolve()) if isinstance(files, str) and exists(base / files) else files
