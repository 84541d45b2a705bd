"""The whole preparation: config in, work folder and commands out. Everything is checked before anything is written."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalprep.check import Finding, Findings, check_annotators, check_tree
from evalprep.config.schema import Config, section_for
from evalprep.data.lock import lock_text, moved, read_lock
from evalprep.data.sources import told
from evalprep.errors import BadInput, Problem, Problems
from evalprep.files import write_atomically
from evalprep.packapi import Context, Plan
from evalprep.packs.manifest import manifest_data, records_of
from evalprep.packs.own import remember_folder
from evalprep.packs.pack import Pack
from evalprep.packs.plan import Command, Excluded, asked_for, limited
from evalprep.prepare.checked import check_built, raise_errors
from evalprep.prepare.commands import command, invocation
from evalprep.prepare.joined import Joined, PlannedPack, groups_to_write, join_plans
from evalprep.prepare.models import Subject, check_models, check_tokenizers, subjects_of
from evalprep.prepare.scores import check_scores
from evalprep.prepare.script import Step, run_configuration, script
from evalprep.prepare.selection import Selection, select
from evalprep.prepare.shares import command_names, names_for, shares, whole_blocks
from evalprep.prepare.soundness import check_plan, maker_of_rows
from evalprep.prepare.taskfiles import write_groups, write_inline, write_overridden, write_tasks
from evalprep.prepare.workdir import MANIFEST, building, carry_over, check_place, of_commands, swap_in, tree_files
from evalprep.results.primary import turned_notes


@dataclass
class Preparation:
    """What one preparation made.

    Attributes:
        work_dir: The folder.
        commands: The commands in the order in which they run.
        lines: What to paste, in order: the commands, and between stages what makes the data of the next.
        tasks: Task -> facts as in the manifest.
        excluded: What was left out, and why.
        notes: Sentences for the user.
        findings: Warnings and notes of the check of the built tree.
        models: How many models will be run.
        sources: What was read, as in the manifest.
        read: The same in sentences.
    """

    work_dir: Path
    commands: list[Command]
    lines: list[str]
    tasks: dict[str, dict[str, Any]]
    excluded: Mapping[str, Excluded] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    models: int = 1
    sources: list[dict[str, Any]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)


def plan(config: Config, packs: Mapping[str, Pack]) -> Joined:
    """Decide which tasks will be prepared; reads no more of the data than the packs need to decide.

    Raises:
        BadInput: unknown tasks, tasks that the data do not have or the back end cannot run, missing keys of a pack, a
            foreign work folder.
    """
    problems = Problems()
    problems.extend(check_place(config.core.work_dir))
    selection = select(config, packs, problems)
    work: list[PlannedPack] = []
    for name, requested in selection.by_pack.items():
        pack = packs[name]
        try:
            context = Context(pack, config, section_for(config, pack), requested, problems)
            work.append(PlannedPack(pack, context, planned(pack, context)))
            check_scores(pack, work[-1].plan)
            for later in [task for task in work[-1].plan.tasks.values() if task.after]:
                maker_of_rows(pack, later)
        except BadInput as error:
            problems.extend(error.problems)
    problems.raise_if_any()
    joined = join_plans(config, selection, work, problems)
    problems.raise_if_any()
    check_models(config, joined.plan)
    return joined


def planned(pack: Pack, context: Context) -> Plan:
    """What a pack's own `plan` says, or pack.yaml where it has none.

    Raises:
        BadInput: its code fails, or gives something else than a Plan.
    """
    module = pack.module("prepare")
    if module is None or not hasattr(module, "plan"):
        return context.static_plan()
    with pack.failures_told("plan"):
        made = module.plan(context)
    if not isinstance(made, Plan):
        raise BadInput(
            Problem(
                what=f"plan() returned {type(made).__name__}",
                where=str(pack.folder / "prepare.py"),
                allowed="a Plan, e.g. that of context.static_plan()",
            )
        )
    check_plan(made, pack).raise_if_any()
    return made


def prepare(
    config: Config,
    packs: Mapping[str, Pack],
    *,
    force: bool = False,
    check: bool = True,
    full: bool = False,
    stop: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Preparation:
    """Prepare everything for one run.

    Args:
        config: The validated configuration.
        packs: All packs.
        force: Replace files that the user edited where the generated content changed too (theirs is kept beside it).
        check: Check the built tree before it is swapped in (`evalprep.check.check_tree`).
        full: Then check it through lm-eval too (`evalprep.prepare.checked`).
        stop: Raise what the check calls an error; else it is among the findings.
        progress: Told what is being done.

    Returns:
        The commands and facts.

    Raises:
        BadInput: anything wrong with config, data or templates; the old work folder is untouched then.
    """
    joined = plan(config, packs)
    work_dir = config.core.work_dir
    with building(work_dir) as build:
        there = config.core.there(work_dir)
        tasks = write_tasks(joined, build, Path(there), progress)
        left = {name: task for name, task in joined.plan.tasks.items() if name not in joined.plan.excluded}
        final = Plan(left, dict(groups_to_write(joined.plan)), joined.plan.scores, joined.plan.excluded)
        write_groups(joined, final.groups, build)
        write_inline(joined.selection, build, config)
        files = tree_files(build)
        # Edits of tasks first: they are part of what the run is called by, and the commands carry its name.
        carried = carry_over(work_dir, build, force=force, wanted=lambda name: not of_commands(name))
        subjects = subjects_of(config, final, build, Path(there))
        shared = check_tokenizers(config, subjects, [item.context for item in joined.packs])
        expect_rows(tasks, final, config)
        steps = make_commands(config, joined.selection, final, tasks, subjects, build)
        (build / "command.sh").write_text(script(steps, there), encoding="utf-8")
        (build / "command.sh").chmod(0o755)
        for step in steps:
            (build / step.command.file).write_text(run_configuration(step), encoding="utf-8")
        files |= {name: digest for name, digest in tree_files(build).items() if of_commands(name)}
        of_calls = carry_over(work_dir, build, force=force, wanted=of_commands)
        notes = [note for facts in tasks.values() for note in facts.pop("notes")]
        notes += turned_notes({name: task.better for name, task in left.items() if task.better})
        notes += [*(note for one in subjects for note in one.notes), *shared]
        notes += [*dict.fromkeys(note for step in steps for note in step.call.notes), *carried.notes, *of_calls.notes]
        locked = {} if config.lock_file is None else read_lock(config.lock_file)
        sources = [source for item in joined.packs for source in item.context.sources]
        notes += moved(locked, sources)
        manifest = manifest_data(
            run=subjects[0].run,
            model=config.core.there(subjects[0].model),
            models=[one.as_dict() for one in subjects],
            folder=config.core.there(config.folder),
            config={"config_file": config.path.name if config.path else None, **_config_there(config)},
            sources=_source_facts(joined.packs),
            tasks=tasks,
            plan=final,
            commands=[step.command for step in steps],
            files=files,
            shelf={**carried.shelf, **of_calls.shelf},
            packs={item.pack.name: {"folder": config.core.there(item.pack.folder)} for item in joined.packs},
            notes=notes,
        )
        text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=False) + "\n"
        (build / MANIFEST).write_text(text, encoding="utf-8")
        names = list(dict.fromkeys(name for step in steps for name in asked_for(step.command)))
        findings = check_tree(build, config, names) if check else []
        if stop:
            raise_errors(findings)
        if check and full:
            findings = check_built(build, config, final, names, progress)
            if stop:
                raise_errors(findings)
        if check:
            lacking = Findings()
            check_annotators(manifest, packs, lacking)
            findings += lacking.sorted()
        swap_in(build, work_dir)
        remember_folder(work_dir)
    if config.lock_file is not None:
        write_atomically(config.lock_file, lock_text(locked, sources))
    if check:
        keep_record(config.core.output_path, manifest)
    lines = [line for step in steps for line in step.lines(there)]
    return Preparation(
        work_dir,
        [step.command for step in steps],
        lines,
        tasks,
        joined.plan.excluded,
        notes,
        findings,
        models=len(subjects),
        sources=manifest["sources"],
        read=told(sources, folder=config.folder),
    )


def expect_rows(tasks: Mapping[str, dict[str, Any]], final: Plan, config: Config) -> None:
    """Note how many rows of each task the run will have under the limit."""
    for name, facts in tasks.items():
        rows = facts["rows"]
        limit = whole_blocks(config.core.limit, final.tasks[name].block, rows)
        facts["expected"] = None if rows is None else limited(rows, limit)


def keep_record(output_path: Path, manifest: Mapping[str, Any]) -> None:
    """Keep what was meant to be run beside the results, for the day when the work folder is another one's."""
    with contextlib.suppress(OSError):  # the results may go to a place that is not there yet
        output_path.mkdir(parents=True, exist_ok=True)
        for run, record in records_of(manifest).items():
            text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
            write_atomically(output_path / f"run_{run}.json", text)


def make_commands(
    config: Config,
    selection: Selection,
    final: Plan,
    tasks: Mapping[str, Mapping[str, Any]],
    subjects: list[Subject],
    build: Path,
) -> list[Step]:
    """The commands in order, model by model, each with the call that it writes."""
    core = config.core
    own_only = not selection.stock and not selection.inline
    own_only = own_only and not any(task.stock for task in final.tasks.values())
    rows = {name: facts.get("rows") for name, facts in tasks.items()}
    parts = shares(final, core, rows)
    named = list(zip(command_names(parts), parts, strict=True))
    asked = {name: write_overridden(final, names_for(share.tasks, final), name, build) for name, share in named}
    sole = len(parts) * len(subjects) == 1
    steps = []
    for subject in subjects:
        for name, share in named:
            own_name = subject.command_name(name)
            call = invocation(
                subject.core,
                share,
                names=asked[name],
                model=subject.model,
                local_only=subject.local and own_only,
                metadata={"run": subject.run, "command": own_name},
            )
            made = command(own_name, call, share, sole=sole)
            if subject.label:
                made = replace(made, run=subject.run, model=subject.label)
            data = [
                core.there(core.work_dir / tasks[one]["data"]) for one in share.tasks if share.depth and one in tasks
            ]
            steps.append(Step(made, call, data))
    return steps


def _config_there(config: Config) -> dict[str, Any]:
    """The configuration with the paths of the machine that runs the command."""
    paths = {key: config.core.there(getattr(config.core, key)) for key in ("work_dir", "output_path")}
    return {**config.as_dict(), **paths}


def _source_facts(work: list[PlannedPack]) -> list[dict[str, Any]]:
    facts = [source.facts() for item in work for source in item.context.sources]
    return sorted(
        {json.dumps(fact, sort_keys=True): fact for fact in facts}.values(),
        key=lambda fact: json.dumps(fact, sort_keys=True),
    )
