"""The commands of a preparation.

They follow from the tasks that share a call, and from the call of each share for each model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalprep.backends import BACKENDS
from evalprep.packs import DataFiles, Plan, first_stage
from evalprep.prepare.bos import written_bos
from evalprep.prepare.commands import Invocation, command, invocation
from evalprep.prepare.joined import Joined
from evalprep.prepare.models import Subject, with_run
from evalprep.prepare.script import Step
from evalprep.prepare.shares import Share, command_names, names_for, shares
from evalprep.prepare.taskfiles import write_overridden
from evalprep.yamltext import yaml_text, yaml_value


@dataclass(frozen=True)
class _NamedShare:
    """One share with the name of its command and the names that it asks lm-eval for."""

    name: str
    share: Share
    requested: list[str]


def make_steps(
    joined: Joined,
    final: Plan,
    tasks: Mapping[str, Mapping[str, Any]],
    subjects: list[Subject],
    build: Path,
) -> tuple[list[Subject], list[Step]]:
    """The models with the ids of their runs, and the commands in order, model by model.

    The id of a run covers what its commands ask, and stands in each of them.
    """
    core = joined.config.core
    rows = {name: facts.get("rows") for name, facts in tasks.items()}
    parts = shares(final, core, rows, lambda: [subject.tokenizer for subject in subjects])
    named = [
        _NamedShare(name, part, write_overridden(final, names_for(part.tasks, final), name, build))
        for name, part in zip(command_names(parts), parts, strict=True)
    ]
    # Are all rows that the run reads written by the preparation?
    other = joined.selection.stock or joined.selection.inline
    own_only = not other and not any(task.stock for task in final.tasks.values())
    # Command of a later stage -> its data, as the machine that runs the command names them.
    data: dict[str, list[DataFiles]] = {part.name: [] for part in named}
    for part in named:
        later = [name for name in part.share.tasks if part.share.depth and name in tasks]
        places = [core.on_run_machine(core.work_dir / tasks[name]["data"]) for name in later]
        data[part.name] = [DataFiles(Path(place)) for place in places]
    sole = len(named) * len(subjects) == 1
    content = first_stage(final, build, Path(joined.final))
    named_subjects: list[Subject] = []
    steps: list[Step] = []
    for subject in subjects:
        calls = [_call(part, subject, own_only=own_only) for part in named]
        # As the file of each command has it, from which the id is computed after an edit.
        written = [yaml_value(yaml_text(call.run_yaml())) for call in calls]
        runner = with_run(subject, written, final, content)
        named_subjects.append(runner)
        steps += [
            _step(part, call, runner, data[part.name], sole=sole)
            for part, call in zip(named, calls, strict=True)
        ]
    return named_subjects, steps


def _call(part: _NamedShare, subject: Subject, *, own_only: bool) -> Invocation:
    """The call of one share for one model, before its run has an id."""
    bos, bos_notes = _beginning(part.share, subject)
    call = invocation(
        subject.core,
        replace(part.share, add_bos_token=bos),
        names=part.requested,
        model=subject.model,
        local_only=subject.local and own_only,
        metadata={"run": "", "command": subject.command_name(part.name)},
    )
    call.notes += bos_notes
    return call


def _step(
    part: _NamedShare, call: Invocation, subject: Subject, data: list[DataFiles], *, sole: bool
) -> Step:
    """The command of one share with the id of its run."""
    name = subject.command_name(part.name)
    call.options["metadata"] = {"run": subject.run, "command": name}
    line = command(name, call, part.share, sole=sole)
    if subject.label:
        line = replace(line, run=subject.run, model=subject.label)
    return Step(line, call, data)


def _beginning(share: Share, subject: Subject) -> tuple[bool | None, list[str]]:
    """The `add_bos_token` that a command writes.

    With it comes a note where the tokenizer that decides it is not here.
    """
    backend = BACKENDS[share.backend]
    if not backend.sends_token_ids:
        return share.add_bos_token, []
    tokenizer = subject.tokenizer
    notes = []
    if tokenizer is None and backend.address:  # what such a server serves may have any name
        name = subject.core.model_args.get("tokenizer") or subject.model
        notes.append(
            f"{share.backend} needs the model's tokenizer, and {name} has none on this machine: "
            f"lm_eval asks the model hub for {name}; another one: model_args: {{tokenizer: hub id "
            "or folder}"
        )
    if tokenizer is None and share.add_bos_token is None and not share.chat:
        notes.append(
            "the tokenizer is not on this machine, so no begin-of-text token is sent; where it "
            "writes one by itself, set add_bos_token: true"
        )
    return written_bos(share.add_bos_token, backend, tokenizer, chat=share.chat), notes
