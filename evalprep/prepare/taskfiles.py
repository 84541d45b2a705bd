"""Write the task files of a run.

Parquet files and YAML per task, group YAMLs, tasks that the config holds inline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from evalprep.check import FunctionRef
from evalprep.data import HubFailure, is_data_file, named_rows
from evalprep.errors import BadInput, Problem, Problems
from evalprep.files import read_text
from evalprep.packapi import Context, TaskData
from evalprep.packs import (
    ANY_FUNCTION,
    STOCK_GROUPS,
    DataFiles,
    Plan,
    SourceSpec,
    TaskSpec,
    bring_modules,
    limited,
    settings_of,
    settings_of_task,
)
from evalprep.prepare.joined import Joined, PlannedPack
from evalprep.prepare.render import render
from evalprep.prepare.repeats import with_repeats
from evalprep.prepare.shares import whole_blocks

# Values that every template may use and none must.
_COMMON = ("task", "data_file", "pack_dir")


class Unreachable(BadInput):
    """Raised where data sets of some tasks can be had neither from the hub nor from its cache.

    Attributes:
        reasons: Task -> why, and what to do; other tasks can be prepared.
    """

    def __init__(self, failures: Mapping[str, HubFailure]) -> None:
        problems: list[Problem] = []
        reasons: dict[str, str] = {}
        for name, failure in failures.items():
            problems += failure.problems
            first = failure.problems[0]
            reasons[name] = f"{first.what}; {first.fix}"
        super().__init__(problems)
        self.reasons = reasons


@dataclass(frozen=True)
class Written:
    """What was written of tasks.

    Attributes:
        facts: Task -> its facts, as in the manifest.
        notes: Sentences for the user.
        origins: Path below the folder -> the file of the pack or the user that it was made from.
    """

    facts: dict[str, dict[str, Any]]
    notes: list[str]
    origins: dict[str, Path]


def write_tasks(joined: Joined, build: Path, progress: Callable[[str], None]) -> Written:
    """Write data and YAML of every task of the packs that is not left out.

    The data of later stages come later.

    Raises:
        BadInput: every mistake of data, templates and functions.
        Unreachable: nothing is wrong but that some data sets of the hub cannot be had.
    """
    problems = Problems()
    absent: dict[str, HubFailure] = {}
    facts: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    origins: dict[str, Path] = {}
    for share in joined.packs:
        folder = build / share.pack.name
        (folder / "data").mkdir(parents=True, exist_ok=True)
        final = Path(joined.final) / share.pack.name
        for name, task in share.plan.tasks.items():
            if task.stock or name in joined.plan.excluded:
                continue  # lm-eval's own tasks have their files there
            progress(f"{name}: rows")
            try:
                written = _write_task(share, name, folder, final, joined)
            except HubFailure as failure:
                absent[name] = failure
                continue
            except BadInput as error:
                problems.extend(error.problems)
                continue
            facts |= written.facts
            notes += written.notes
            origins |= {f"{share.pack.name}/{file}": path for file, path in written.origins.items()}
        share.context.drop_rows()  # the check that follows needs the memory
        for pack in (share.pack, *share.pack.extensions):
            problems.extend(bring_modules(pack.folder, folder))
            for path in folder.rglob("*.py"):
                module = path.relative_to(folder)
                if (pack.folder / module).is_file():
                    origins[path.relative_to(build).as_posix()] = pack.folder / module
    if absent and facts and not problems.found:
        raise Unreachable(absent)
    for unreachable in absent.values():
        problems.extend(unreachable.problems)
    problems.raise_if_any()
    return Written(facts, notes, origins)


def _write_task(
    share: PlannedPack, name: str, folder: Path, final: Path, joined: Joined
) -> Written:
    """Write data and YAML of one task; `final` is the folder in which they will lie."""
    spec, task = share.spec(name), share.plan.tasks[name]
    rows_per_file = joined.config.core.rows_per_file
    files = DataFiles.of_task(name, folder, several=rows_per_file is not None)
    data, count = TaskData(rows=()), None
    if not task.after:
        data, count = _write_data(share, spec, files, rows_per_file)
    template = share.pack.folder / (data.template or spec.template)
    values = {
        "task": name,
        "data_file": files.stated_in(final),
        "pack_dir": str(final),
        **spec.values,
        **data.values,
    }
    try:
        raw = read_text(template, own=True, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 text from byte {error.start + 1} on"
        problem = Problem(what=what, where=str(template), fix="save it as UTF-8")
        raise BadInput(problem) from None
    text, problems = render(raw, values, where=str(template), optional=_COMMON)
    if problems:
        raise BadInput(problems)
    text = _with_repeats_of_config(text, name, joined, where=template)
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    origins = {file.name: template}
    for module, origin in data.modules.items():
        text = read_text(origin.file, own=True, encoding="utf-8-sig").rstrip() + origin.added
        (folder / module).write_text(text, encoding="utf-8")
        origins[module] = origin.file
    from evalprep.results import digest_of_data  # numpy, which a refused config does not need

    settings = settings_of(file, structs.asdict(joined.config.core))
    rows = digest_of_data(files.path, settings) if settings and not task.after else None
    limit = whole_blocks(joined.config.core.limit, task.block, count)
    notes = list(data.notes)
    if data.join:
        notes += data.join.notes(where=name)
    pack = share.pack.name
    facts = {
        "pack": pack,
        "yaml": f"{pack}/{name}.yaml",
        "data": f"{pack}/{files.path.relative_to(folder).as_posix()}",
        "rows": count,
        "join": data.join.as_dict() if data.join else None,
        "previous": data.previous.as_dict() if data.previous else None,
        **({"settings": settings} if settings else {}),
        **({"row_digest": rows.to_dict()} if rows is not None else {}),
        "expected": None if count is None else limited(count, limit),
    }
    return Written({name: facts}, notes, origins)


def _with_repeats_of_config(text: str, name: str, joined: Joined, *, where: Path) -> str:
    """The text of a task file, with the keys that repeat its prompts where the config asks so."""
    if name not in joined.repeats:
        return text
    gen_kwargs = joined.config.core.gen_kwargs
    return with_repeats(text, joined.repeats[name], gen_kwargs, where=where)


def _write_data(
    share: PlannedPack, spec: TaskSpec, files: DataFiles, rows_per_file: int | None
) -> tuple[TaskData, int]:
    """Write the rows of one task; returns what the pack gave, and how many rows there are."""
    from evalprep.data import write_rows

    with share.pack.explained_failures(spec.name):
        data = _task_data(share, spec)
        try:
            count = write_rows(data.rows, files.path, task=spec.name, rows_per_file=rows_per_file)
        except BadInput:
            _refuse_bad_join(spec.name, data)  # gives the cause where no rows are left
            raise
    _refuse_bad_join(spec.name, data)
    return data, count


def _refuse_bad_join(name: str, data: TaskData) -> None:
    if data.join is None:
        return
    problems = data.join.problems(threshold=data.max_unmatched, where=name)
    if problems:
        raise BadInput(problems)


def _task_data(share: PlannedPack, spec: TaskSpec) -> TaskData:
    """Rows from the pack's own code, or from the source that pack.yaml names."""
    maker = share.pack.maker_of(spec.name)
    module = maker.module("prepare")
    if module is None or not hasattr(module, "prepare"):
        return _plain_data(share.context, spec)
    data = module.prepare(share.context, spec.name)
    if not isinstance(data, TaskData):
        what = f"prepare() returned {type(data).__name__} for {spec.name}"
        where = str(maker.folder / "prepare.py")
        raise BadInput(Problem(what=what, where=where, allowed="a TaskData"))
    return data


def write_groups(joined: Joined, groups: Mapping[str, Sequence[str]], build: Path) -> None:
    """Write a group YAML for every group, with the members that are left."""
    for share in joined.packs:
        folder = build / share.pack.name
        head = f"# {share.pack.title}: members that exist for this configuration."
        for name in share.plan.groups:
            if name in groups:
                text = _group_text(head, name, groups[name], joined.plan)
                (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


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
    head = "# lm-eval's own tasks, with settings of the pack or the config."
    text = _group_text(head, group, changed, plan)
    (folder / f"{group}.yaml").write_text(text, encoding="utf-8")
    unchanged = [name for name in names if name not in changed]
    return [*unchanged, group]


def _group_text(head: str, name: str, members: Sequence[str], plan: Plan) -> str:
    lines = [head, f"group: {name}", "task:"]
    for member in members:
        task = plan.tasks.get(member)
        if task is not None and task.overrides:
            # A group named as a task would become one task of that name, and the other way round an
            # empty group.
            entry = {task.stock: member, **task.overrides}
            lines.append(f"  - {_flow_mapping(entry)}")
        else:
            lines.append(f"  - {member}")
    return "\n".join([*lines, ""])


def _flow_mapping(entry: Mapping[str, Any]) -> str:
    """A mapping on one line of YAML; `class` names the function that gives it."""
    parts = []
    for key, value in entry.items():
        text = json.dumps(value, ensure_ascii=False)
        if key == "class":
            text = f"!function {value}"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ", ".join(parts) + "}"


def write_inline(joined: Joined, build: Path) -> None:
    """Write each inline task of the config as a task YAML."""
    import yaml

    for name, entry in joined.selection.inline.items():
        folder = build / "inline"
        folder.mkdir(exist_ok=True)
        text = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True)
        file = folder / f"{name}.yaml"
        text = _with_repeats_of_config(text, name, joined, where=file)
        file.write_text(f"# Written in the config under `tasks`.\n{text}", encoding="utf-8")


def meant_of_others(joined: Joined, build: Path) -> dict[str, dict[str, Any]]:
    """Returns what the manifest keeps of tasks that no pack writes: what lm-eval will log of them.

    Of a group of lm-eval's own tasks these are the settings of each of its tasks.
    """
    core = structs.asdict(joined.config.core)
    meant: dict[str, dict[str, Any]] = {}
    for name in joined.selection.inline:
        place = f"inline/{name}.yaml"
        settings = settings_of(build / place, core)
        meant[name] = {"yaml": place, **({"settings": settings} if settings else {})}
    for name, task in joined.plan.tasks.items():
        if task.stock:
            leaves = {
                str(stated.get("task")): settings_of_task(_with_places(stated), core)
                for stated in joined.settings(task)
            }
            meant[name] = {"leaves": {leaf: own for leaf, own in leaves.items() if own}}
    return meant


def _with_places(value: Any) -> Any:
    """Settings of lm-eval's own, whose functions have other names in its code than in its files."""
    if isinstance(value, FunctionRef):
        return ANY_FUNCTION
    if isinstance(value, Mapping):
        return {key: _with_places(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_with_places(entry) for entry in value]
    return value


def _in_pack(context: Context, source: SourceSpec) -> SourceSpec:
    """The source; a file that is nowhere is looked for in the pack, so that messages name it."""
    path = Path(source.path)
    if "://" in source.path or source.path.startswith("~") or not is_data_file(path):
        return source
    is_missing = context.locate(source.path) == source.path
    return source.changed(path=str(context.pack.folder / path)) if is_missing else source


def _plain_data(context: Context, spec: TaskSpec) -> TaskData:
    """The rows of a task of a pack that has no code, from the source that pack.yaml names.

    Raises:
        BadInput: the task names no source, or the source lacks a column.
    """
    if spec.source is None:
        what = f"task {spec.name} has no source"
        where = str(context.pack.folder / "pack.yaml")
        fix = "name one under `source:`, or write prepare.py"
        raise BadInput(Problem(what=what, where=where, fix=fix))
    source = context.open(_in_pack(context, spec.source), columns=spec.columns)
    source.require(list(source.renamed.values()))
    return TaskData(rows=named_rows(source.batches() or source.rows()))
