"""The whole preparation: config in, work folder and command out. Everything is checked before anything is written."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.check import Finding, check_tree
from evalprep.config.schema import Config, section_for
from evalprep.errors import BadInput, Problems
from evalprep.packapi import Context
from evalprep.packs.manifest import manifest_data
from evalprep.packs.pack import Pack
from evalprep.prepare.commands import Command, build_command, model_location
from evalprep.prepare.selection import Selection, select
from evalprep.prepare.taskfiles import PlannedPack, write_groups, write_inline, write_tasks
from evalprep.prepare.workdir import MANIFEST, building, carry_over, check_place, swap_in, tree_files


@dataclass
class Preparation:
    """What one preparation made.

    Attributes:
        work_dir: The folder.
        commands: The command to paste; further ones where tasks need another back end.
        tasks: Task -> facts as in the manifest.
        notes: Sentences for the user.
        findings: Warnings and notes of the check of the built tree.
    """

    work_dir: Path
    commands: list[Command]
    tasks: dict[str, dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def plan(config: Config, packs: Mapping[str, Pack]) -> tuple[Selection, list[PlannedPack]]:
    """Decide which tasks will be prepared; reads no more of the data than the packs need to decide.

    Raises:
        BadInput: unknown tasks, tasks that the data do not have, missing keys of a pack, a foreign work folder.
    """
    problems = Problems()
    problems.extend(check_place(config.core.work_dir))
    selection = select(config, packs, problems)
    work: list[PlannedPack] = []
    for name, requested in selection.by_pack.items():
        pack = packs[name]
        try:
            context = Context(pack, config, section_for(config, pack), requested, problems)
            module = pack.module("prepare")
            with pack.failures_told("plan"):
                planned = module.plan(context) if module and hasattr(module, "plan") else context.static_plan()
            work.append(PlannedPack(pack, context, planned))
        except BadInput as error:
            problems.extend(error.problems)
    problems.raise_if_any()
    return selection, work


def prepare(config: Config, packs: Mapping[str, Pack], *, force: bool = False, check: bool = True) -> Preparation:
    """Prepare everything for one run.

    Args:
        config: The validated configuration.
        packs: All packs.
        force: Replace files that the user edited where the generated content changed too (theirs is kept beside it).
        check: Check the built tree before it is swapped in (`evalprep.check.check_tree`).

    Returns:
        The commands and facts.

    Raises:
        BadInput: anything wrong with config, data or templates; the old work folder is untouched then.
    """
    selection, work = plan(config, packs)
    work_dir = config.core.work_dir
    with building(work_dir) as build:
        tasks = write_tasks(work, build, work_dir)
        groups = write_groups(work, build)
        write_inline(selection, build, config.folder)
        commands, notes = make_commands(config, selection, work)
        write_commands(commands, build)
        files = tree_files(build)
        notes = [*(note for facts in tasks.values() for note in facts.pop("notes")), *notes]
        notes += carry_over(work_dir, build, force=force)
        write_manifest(build, config, work, tasks, groups, commands, files, notes)
        findings = check_tree(build, config) if check else []
        if errors := [one.as_problem() for one in findings if one.level == "error"]:
            raise BadInput(errors)
        swap_in(build, work_dir)
    return Preparation(work_dir, commands, tasks, notes, findings)


def make_commands(config: Config, selection: Selection, work: list[PlannedPack]) -> tuple[list[Command], list[str]]:
    """The main command, and one more for every back end that some tasks need instead."""
    model, local, notes = model_location(config.core, config.folder)
    main: list[str] = []
    other: dict[str, list[str]] = {}
    for item in work:
        for name in item.plan.request:
            members = item.plan.below(name)
            special = {member: item.spec(member).call.backend for member in members if item.spec(member).call.backend}
            special = {member: backend for member, backend in special.items() if backend != config.core.backend}
            if not special:
                main.append(name)
                continue
            main += [member for member in members if member not in special]
            for member, backend in special.items():
                other.setdefault(backend, []).append(member)
    main += [name for name in selection.order if name in selection.stock or name in selection.inline]
    local_only = local and not selection.stock and not selection.inline
    commands = [build_command(config.core, tasks=main, model=model, local_only=local_only)] if main else []
    commands += [
        build_command(config.core, tasks=names, model=model, backend=backend, local_only=local_only)
        for backend, names in sorted(other.items())
    ]
    return commands, notes + (commands[0].notes if commands else [])


def write_commands(commands: list[Command], build: Path) -> None:
    """Write command.sh and run.yaml."""
    import yaml

    lines = [
        "#!/bin/sh",
        "# The command that prepare_eval.py printed.",
        "set -e",
        *(command.text() for command in commands),
    ]
    script = build / "command.sh"
    script.write_text("\n".join([*lines, ""]), encoding="utf-8")
    script.chmod(0o755)
    for number, command in enumerate(commands):
        name = "run.yaml" if number == 0 else f"run-{command.model}.yaml"
        env = " ".join(f"{key}={shlex.quote(value)}" for key, value in command.env.items())
        head = f"# {env + ' ' if env else ''}lm_eval run --config {name}\n"
        (build / name).write_text(head + yaml.safe_dump(command.run_yaml(), sort_keys=False), encoding="utf-8")


def write_manifest(
    build: Path,
    config: Config,
    work: list[PlannedPack],
    tasks: dict[str, Any],
    groups: dict[str, list[str]],
    commands: list[Command],
    files: dict[str, str],
    notes: list[str],
) -> None:
    """Write manifest.json."""
    data = manifest_data(
        config={"config_file": config.path.name if config.path else None, **config.as_dict()},
        sources=_source_facts(work),
        tasks=tasks,
        groups=groups,
        commands=[{"argv": command.argv(), "env": command.env, "text": command.text()} for command in commands],
        files=files,
        packs={item.pack.name: {"folder": str(item.pack.folder)} for item in work},
        notes=notes,
    )
    (build / MANIFEST).write_text(
        json.dumps(data, indent=2, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8"
    )


def _source_facts(work: list[PlannedPack]) -> list[dict[str, Any]]:
    facts = [source.facts() for item in work for source in item.context.sources]
    return sorted(
        {json.dumps(fact, sort_keys=True): fact for fact in facts}.values(),
        key=lambda fact: json.dumps(fact, sort_keys=True),
    )
