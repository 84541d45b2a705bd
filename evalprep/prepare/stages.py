"""The data of later stages, made from the replies of earlier ones: `evalprep prepare --continue`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evalprep.config.schema import Config, Core, section_for, section_model
from evalprep.data.prepared import write_rows
from evalprep.errors import BadInput, Problem, Problems
from evalprep.files import as_mapping, file_sha256, write_atomically
from evalprep.packapi import Context
from evalprep.packs.file import read_pack
from evalprep.packs.finding import TEMPLATES
from evalprep.packs.manifest import commands_of, plan_of, require_manifest
from evalprep.packs.own import remember_folder, why_foreign
from evalprep.packs.pack import Pack
from evalprep.packs.plan import Plan, TaskPlan, limited
from evalprep.places import is_file
from evalprep.prepare.shares import whole_blocks
from evalprep.prepare.soundness import maker_of_rows
from evalprep.results import Run, load_run
from evalprep.results.stages import MADE_FROM, made_from
from evalprep.status.done import calls_of, rows_of
from evalprep.yamlfile import YamlFile


@dataclass(frozen=True)
class Stage:
    """What became of the data of one later task.

    Attributes:
        task: The task.
        state: `made`, `unchanged` or `waiting`.
        rows: Rows of its data; None while it waits.
        reason: Why it waits.
    """

    task: str
    state: str
    rows: int | None = None
    reason: str = ""


def continue_stages(work_dir: Path, run: str = "") -> list[Stage]:
    """Make the data of every later task whose earlier replies are all there; what is made already stays.

    Each parquet file is renamed into its place before the manifest says so, so that a kill at any moment loses nothing.

    Args:
        work_dir: The prepared folder.
        run: Id of the run; that of the preparation by default.

    Returns:
        One entry per later task, in the order of stages; none where the preparation has one stage.

    Raises:
        BadInput: no prepared folder, or a pack that cannot make its rows.
    """
    work_dir = work_dir.resolve()
    manifest = require_manifest(work_dir)
    plan = plan_of(manifest)
    later = sorted((name for name, task in plan.tasks.items() if task.after), key=plan.depth)
    if not later:
        return []
    found = _run_of(manifest, run or str(manifest.get("run", "")))
    made = []
    for name in later:
        reason = _missing(plan.tasks[name], manifest, run or str(manifest.get("run", "")))
        if reason or found is None:
            made.append(Stage(name, "waiting", reason=reason))
        else:
            made.append(_make(name, plan, found, manifest, work_dir))
    return made


def _run_of(manifest: Mapping[str, Any], run: str) -> Run | None:
    output = as_mapping(manifest.get("config")).get("output_path")
    try:
        return load_run(str(output), run=run)
    except BadInput:
        return None


def _missing(task: TaskPlan, manifest: Mapping[str, Any], run: str) -> str:
    """What the rows of a task still wait for, with the command that brings it; empty where nothing is missing."""
    parts = []
    for name in task.after:
        of_it = [one for one in commands_of(manifest) if name in one.tasks]
        rows = rows_of(name, manifest, [call for one in of_it for call in calls_of(one, manifest, run)])
        if not rows.all_there:
            lines = [shlex.join(one.argv) for one in of_it]
            parts.append(f"{name} has {rows.have} of {rows.wanted or 'its'} rows; run: {' '.join(lines)}")
    return "; ".join(parts)


def _values(judgement: Mapping[str, Any]) -> dict[str, Any]:
    """What a later stage is made from: the values, and not the words in which a judge gave them."""
    return {key: value for key, value in judgement.items() if key != "reply"}


def _make(name: str, plan: Plan, run: Run, manifest: dict[str, Any], work_dir: Path) -> Stage:
    from evalprep.annotate.attach import attach
    from evalprep.results.rows import row_mappings

    facts = manifest["tasks"][name]
    pack, context = _context(manifest, str(facts["pack"]), work_dir)
    task = plan.tasks[name]
    before: dict[str, list[dict[str, Any]]] = {}
    for one in task.after:
        before[one] = row_mappings(run.tasks[one])
        attach(pack, run, one, before[one])
    annotated = {
        one: [[row["sample_id"], _values(judgement)] for row in rows if (judgement := row.get("judgement"))]
        for one, rows in before.items()
    }
    origin = made_from(
        (run.tasks[one] for one in task.after), {key: value for key, value in annotated.items() if value}
    )
    target = work_dir / str(facts["data"])
    if facts.get("made_from") == origin and is_file(target):
        return Stage(name, "unchanged", int(facts.get("rows") or 0))
    module = maker_of_rows(pack, task)
    part = target.with_name(f"{target.name}.part")
    with pack.failures_told(name):
        rows = write_rows(_stamped(module.continue_rows(context, name, before), origin), part, task=name)
    part.replace(target)
    limit = whole_blocks(context.config.core.limit, task.block, rows)
    facts |= {"rows": rows, "expected": limited(rows, limit), "made_from": origin}
    manifest["files"][target.relative_to(work_dir).as_posix()] = file_sha256(target)
    own = not why_foreign(work_dir)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    if own:
        remember_folder(work_dir, coming=text)
    write_atomically(work_dir / "manifest.json", text)
    if own:
        remember_folder(work_dir)
    return Stage(name, "made", rows)


def _stamped(rows: Any, origin: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {**row, MADE_FROM: origin}


def _context(manifest: Mapping[str, Any], name: str, work_dir: Path) -> tuple[Pack, Context]:
    """The pack and its view of the configuration, as they were at preparation.

    Raises:
        BadInput: the pack is gone, or its keys are others now.
    """
    folder = Path(str(as_mapping(as_mapping(manifest.get("packs")).get(name)).get("folder", "")))
    problems = Problems()
    if not (folder / "pack.yaml").is_file():
        raise BadInput(Problem(what=f"the pack {name} is no longer in {folder}", fix="prepare again"))
    if folder.resolve().parent != TEMPLATES.resolve() and (reason := why_foreign(work_dir)):
        what = f"{work_dir} names code of a pack in {folder}, and {reason}"
        raise BadInput(Problem(what=what, fix="prepare it again from its config, which names that folder"))
    pack = read_pack(folder / "pack.yaml", problems)
    problems.raise_if_any()
    given = dict(as_mapping(manifest.get("config")))
    base = Path(str(manifest.get("folder") or work_dir.parent))
    source = YamlFile(given, {}, name=str(work_dir / "manifest.json"), folder=base, path=None)
    try:
        core = Core.model_validate({key: value for key, value in given.items() if key in Core.model_fields})
        section = as_mapping(given.get(name))
        sections = {name: section_model(pack).model_validate(dict(section))} if section else {}
    except ValidationError as error:
        raise BadInput(
            Problem(
                what=f"was prepared with other keys: {error.errors()[0]['loc']}",
                where=source.name,
                fix="prepare again with this version",
            )
        ) from None
    config = Config(core, sections, source)
    return pack, Context(pack, config, section_for(config, pack), [], problems)
