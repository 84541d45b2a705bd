"""What a preparation replaces: the commands of the one before that have not been run.

They name the same work folder, and whoever pastes one now asks for what the new preparation wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evalprep.packs import Command, content_of, load_prepared, task_of
from evalprep.terminal import shortlist


def replaced_notes(work_dir: Path, build: Path, runs: Iterable[str]) -> list[str]:
    """Returns a note on each run of a work folder that a new preparation replaces unrun.

    Args:
        work_dir: The folder as it is now.
        build: What will take its place.
        runs: Ids of the new runs.
    """
    before = load_prepared(work_dir)
    if before is None or not before.run:
        return []
    replaced = [model for model in before.models if model.run not in set(runs)]
    if not replaced:
        return []
    from evalprep.results import run_calls

    old = content_of(before.folder, before.named_folder)
    new = content_of(build, before.named_folder)
    changed = {task_of(name) for name, digest in old.items() if new.get(name) != digest}
    notes = []
    for model in replaced:
        calls = run_calls(before.output_path or Path(), model.run)
        done = {call.command.removesuffix("-alone") for call in calls}
        commands = [entry for entry in before.commands_of(model.run) if entry.name not in done]
        if commands:
            notes.append(_note(model.run, model.model, commands, changed))
    return notes


def _note(run: str, model: str, unrun: list[Command], changed: set[str]) -> str:
    names = shortlist([command.name for command in unrun])
    which = "command" if len(unrun) == 1 else "commands"
    text = f"replaces run {run} of {model}, with no results yet from {which} {names}"
    others = [command for command in unrun if changed & set(command.tasks)]
    if not others:
        return text
    words = shortlist([f"--metadata run={run},command={command.name}" for command in others])
    return f"{text}; do not start the old command any more ({words}): it would measure other tasks"
