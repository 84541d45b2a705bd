"""The data of later stages, made from the replies of earlier ones.

`evalprep prepare --continue` makes them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalprep.config import CORE_KEYS, Config, read_core, read_section, section_for
from evalprep.data import write_rows
from evalprep.errors import BadInput, Problem, Problems
from evalprep.files import as_mapping, write_atomically
from evalprep.packapi import Context
from evalprep.packs import (
    MANIFEST,
    TEMPLATES,
    Pack,
    Prepared,
    TaskPlan,
    limited,
    read_pack,
    remember_folder,
    require_prepared,
    why_foreign,
)
from evalprep.prepare.shares import whole_blocks
from evalprep.prepare.soundness import maker_of_rows
from evalprep.prepare.workdir import put_in_place
from evalprep.results import MADE_FROM, Run, load_run, made_from
from evalprep.run import reply_runs
from evalprep.status import calls_of, rows_of, runs_that_count
from evalprep.yamlfile import YamlFile


@dataclass(frozen=True)
class Stage:
    """The outcome for the data of one later task.

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
    """Makes the data of every later task whose earlier replies are all there.

    What is made already stays.

    The data of each task are renamed into their place before the manifest says so, so that a kill
    at any moment loses nothing.

    Args:
        work_dir: The prepared folder.
        run: Id of the run; by default, of the ids that count for the preparation, the one with the
            replies.

    Returns:
        One entry per later task, in the order of stages; none where the preparation has one stage.

    Raises:
        BadInput: no prepared folder, or a pack that cannot make its rows.
    """
    prepared = require_prepared(work_dir.resolve())
    plan = prepared.plan
    later = sorted((name for name, task in plan.tasks.items() if task.after), key=plan.depth)
    if not later:
        return []
    run_names = [run] if run else [*runs_that_count(prepared, prepared.run), *reply_runs(prepared)]
    runs = {run_name: _run_of(prepared, run_name) for run_name in run_names}
    stages = []
    for name in later:
        # The first run that has all rows which the task waits for, else the last.
        task = plan.tasks[name]
        missing = {run: _missing(task, prepared, run) for run in run_names}
        complete = [run for run, reason in missing.items() if not reason]
        run_name = complete[0] if complete else run_names[-1]
        reason = missing[run_name]
        earlier = None if reason else runs[run_name]
        if earlier is None:
            stages.append(Stage(name, "waiting", reason=reason))
        else:
            stage, prepared = _make(name, earlier, prepared)
            stages.append(stage)
    return stages


def _run_of(prepared: Prepared, run: str) -> Run | None:
    try:
        return load_run(str(prepared.output_path), run=run)
    except BadInput:
        return None


def _missing(task: TaskPlan, prepared: Prepared, run: str) -> str:
    """The rows that a task still waits for, with the command that brings them.

    Empty where none is missing.
    """
    parts = []
    for name in task.after:
        commands = [command for command in prepared.commands if name in command.tasks]
        calls = chain.from_iterable(calls_of(command, prepared, run) for command in commands)
        rows = rows_of(name, prepared, list(calls))
        if not rows.all_there:
            lines = " ".join(shlex.join(command.argv) for command in commands)
            parts.append(f"{name} has {rows.have} of {rows.expected or 'its'} rows; run: {lines}")
    return "; ".join(parts)


def _earlier_rows(
    task: TaskPlan, run: Run, pack: Pack
) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """Reads the replies of the tasks that a task waits for.

    Returns:
        Earlier task -> its rows with replies and annotations; the digest of both.
    """
    from evalprep.annotate import attach
    from evalprep.results import row_mappings

    rows: dict[str, list[dict[str, Any]]] = {}
    annotated: dict[str, list[Any]] = {}
    for name in task.after:
        rows[name] = row_mappings(run.tasks[name])
        attach(pack, run, name, rows[name])
        judged = [row for row in rows[name] if row.get("judgement")]
        if judged:
            annotated[name] = []
            for row in judged:
                # The values of a judge, without the words in which it gave them.
                values = {key: value for key, value in row["judgement"].items() if key != "reply"}
                annotated[name].append([row["sample_id"], values])
    return rows, made_from((run.tasks[name] for name in task.after), annotated)


def _make(name: str, run: Run, prepared: Prepared) -> tuple[Stage, Prepared]:
    """Writes the data of one later task, unless they are made from the same replies already.

    Returns:
        The outcome, and the preparation as it is then.
    """
    prepared_task = prepared.tasks[name]
    task = prepared.plan.tasks[name]
    pack, context = _context(prepared, prepared_task.pack)
    earlier_rows, origin = _earlier_rows(task, run, pack)
    data = prepared.data_files(name)
    if prepared_task.made_from == origin and data.files():
        return Stage(name, "unchanged", prepared_task.rows or 0), prepared
    module = maker_of_rows(pack, task)
    part = data.path.with_name(f"{data.path.name}.part")
    core = context.config.core
    with pack.explained_failures(name):
        later_rows = module.continue_rows(context, name, earlier_rows)
        stamped = ({**row, MADE_FROM: origin} for row in later_rows)
        rows = write_rows(stamped, part, task=name, rows_per_file=core.rows_per_file)
    put_in_place(part, data.path)
    limit = whole_blocks(core.limit, task.block, rows)
    expected = limited(rows, limit)
    prepared = prepared.with_rows(name, rows=rows, expected=expected, made_from=origin)
    # Write the manifest anew; a folder of the user's own stays hers at every moment.
    work_dir = prepared.folder
    own = not why_foreign(work_dir)
    text = prepared.manifest.text()
    if own:
        remember_folder(work_dir, coming=text)
    write_atomically(work_dir / MANIFEST, text)
    if own:
        remember_folder(work_dir)
    return Stage(name, "made", rows), prepared


def _context(prepared: Prepared, name: str) -> tuple[Pack, Context]:
    """The pack and its view of the configuration, as they were at preparation.

    Raises:
        BadInput: the pack is gone, or its keys are others now.
    """
    problems = Problems()
    pack = read_pack(_pack_folder(prepared, name) / "pack.yaml", problems)
    problems.raise_if_any()
    work_dir, keys = prepared.folder, dict(prepared.config)
    base = prepared.config_folder or work_dir.parent
    source = YamlFile(keys, "", name=str(work_dir / MANIFEST), folder=base, path=None)
    section = as_mapping(keys.get(name))
    core, mistakes = read_core({key: value for key, value in keys.items() if key in CORE_KEYS})
    sections: dict[str, Struct] = {}
    if section:
        own, refused = read_section(pack, section)
        mistakes += refused
        if own is not None:
            sections[name] = own
    if mistakes:
        label = ".".join(map(str, mistakes[0].keys))
        raise BadInput(
            Problem(
                what=f"was prepared with other keys: {label}",
                where=source.name,
                fix="prepare again with this version",
            )
        )
    assert core is not None
    config = Config(core, sections, source)
    return pack, Context(pack, config, section_for(config, pack), [], problems)


def _pack_folder(prepared: Prepared, name: str) -> Path:
    """The folder of a pack, which may be run.

    It is the project's own, or the work folder is the user's.
    """
    folder = prepared.pack_folders.get(name, Path())
    if not (folder / "pack.yaml").is_file():
        what = f"the pack {name} is no longer in {folder}"
        raise BadInput(Problem(what=what, fix="prepare again"))
    reason = why_foreign(prepared.folder)
    if folder.resolve().parent != TEMPLATES.resolve() and reason:
        what = f"{prepared.folder} names code of a pack in {folder}, and {reason}"
        fix = "prepare it again from its config, which names that folder"
        raise BadInput(Problem(what=what, fix=fix))
    return folder
