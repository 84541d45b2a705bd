"""A work folder built for a configuration, before it takes its place.

The user's edits are in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from evalprep.check import Finding
from evalprep.config import Config
from evalprep.data import moved, read_lock, source_lines
from evalprep.errors import BadInput, Problem
from evalprep.packs import MANIFEST, Command, Excluded, Manifest, Plan, asked_for, made_manifest
from evalprep.prepare.calls import make_steps
from evalprep.prepare.joined import Joined
from evalprep.prepare.models import Subject, check_tokenizers, fingerprints_of, subjects_of
from evalprep.prepare.ownfolders import write_own_tasks
from evalprep.prepare.script import Step, run_configuration, script
from evalprep.prepare.taskfiles import meant_of_others, write_groups, write_inline, write_tasks
from evalprep.prepare.workdir import carry_over, of_commands, tree_files
from evalprep.results import turned_notes
from evalprep.temporary import OwnFolder


@dataclass(frozen=True)
class Preparation:
    """A built folder, which takes its place once nothing is wrong with it.

    Attributes:
        joined: What it was built from.
        folder: Where it lies; its files name each other under `joined.final`.
        plan: What runs, without the tasks and groups that are left out.
        tasks: Task -> facts as in the manifest; of tasks whose rows the preparation wrote or will
            write.
        origins: Path below the folder -> the file that the user wrote it in, or its pack.
        subjects: The models.
        steps: The commands in order, with the calls that they write.
        files: Path below the folder -> digest of what was generated, before edits were carried
            over.
        notes: Sentences for the user.
        sources: The facts of each source that was read.
        manifest: What is in manifest.json.
        findings: Warnings and notes of the check of the folder.
    """

    joined: Joined = field(repr=False)
    folder: Path
    plan: Plan
    tasks: dict[str, dict[str, Any]]
    origins: dict[str, Path] = field(repr=False)
    subjects: list[Subject] = field(repr=False)
    steps: list[Step] = field(repr=False)
    files: dict[str, str] = field(repr=False)
    notes: list[str]
    sources: list[dict[str, Any]]
    manifest: Manifest = field(repr=False)
    findings: list[Finding] = field(default_factory=list)

    @property
    def work_dir(self) -> Path:
        """The work folder on this machine."""
        return self.joined.work_dir

    @property
    def excluded(self) -> Mapping[str, Excluded]:
        """Tasks, groups and scores that are left out, and why."""
        return self.joined.plan.excluded

    @property
    def read(self) -> list[str]:
        """The sources that were read, in sentences."""
        return source_lines(self.joined.sources, folder=self.joined.config.folder)

    @property
    def commands(self) -> list[Command]:
        """The commands in the order in which they run."""
        return [step.command for step in self.steps]

    @property
    def lines(self) -> list[str]:
        """The lines to paste, in order; a line that answers for several models once."""
        lines = chain.from_iterable(step.lines(self.joined.final) for step in self.steps)
        return [line for line, _ in groupby(lines)]

    @property
    def quick_lines(self) -> list[str]:
        """The same commands without lm-eval's index, where there is such a form."""
        final = Path(self.joined.final)
        lines = []
        for step in self.steps:
            path = final / step.command.file
            line = step.call.quick_text(str(path))
            if line:
                lines.append(line)
        return lines

    @property
    def requested(self) -> list[str]:
        """The names that the commands ask lm-eval for."""
        names: dict[str, None] = {}
        for command in self.commands:
            names |= dict.fromkeys(asked_for(command))
        return list(names)


def build_folder(
    joined: Joined,
    folder: Path,
    *,
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Preparation:
    """Build the work folder of a configuration in an empty folder.

    Args:
        joined: The joined plans.
        folder: The empty folder.
        force: Replace files that the user edited where the generated content changed too.
        progress: Gets the name of each step.

    Raises:
        BadInput: data or templates that cannot be used, edits that no longer fit.
    """
    plan, work_dir, core = joined.running(), joined.work_dir, joined.config.core
    written = write_tasks(joined, folder, progress)
    tasks = written.facts
    write_groups(joined, plan.groups, folder)
    write_inline(joined, folder)
    requested = [name for name in joined.selection.stock if name in plan.tasks]
    own_files = write_own_tasks(joined.selection.own, requested, joined.config, folder)
    meant = meant_of_others(joined, folder)
    files = tree_files(folder)
    # Edits of tasks first: the id of the run depends on them, and the commands carry that id.
    of_tasks = carry_over(work_dir, folder, force=force, applies=lambda name: not of_commands(name))
    subjects = subjects_of(joined.config)
    shared_notes = check_tokenizers(joined, subjects)
    subjects, steps = make_steps(joined, plan, tasks, subjects, folder)
    _write_commands(joined, steps, folder)
    written_files = tree_files(folder)
    files |= {name: digest for name, digest in written_files.items() if of_commands(name)}
    carried = [of_tasks, carry_over(work_dir, folder, force=force, applies=of_commands)]
    # Each source once, in an order that does not depend on the tasks'.
    read = [source.facts() for source in joined.sources]
    by_text = {json.dumps(facts, sort_keys=True): facts for facts in read}
    sources = [by_text[text] for text in sorted(by_text)]
    # On tasks, models, commands, edits and moved branches, in this order.
    locked = {} if joined.config.lock_file is None else read_lock(joined.config.lock_file)
    turned = {name: task.better for name, task in plan.tasks.items() if task.better}
    call_notes = dict.fromkeys(chain.from_iterable(step.call.notes for step in steps))
    notes = [
        *written.notes,
        *turned_notes(turned),
        *joined.notes,
        *chain.from_iterable(subject.notes for subject in subjects),
        *shared_notes,
        *call_notes,
        *chain.from_iterable(part.notes for part in carried),
        *moved(locked, joined.sources),
    ]
    on_run_machine = core.on_run_machine
    packs = [share.pack for share in joined.packs]
    path = joined.config.path
    manifest = made_manifest(
        run=subjects[0].run,
        model=on_run_machine(subjects[0].model),
        models=[subject.as_dict() for subject in subjects],
        fingerprints=fingerprints_of(subjects),
        folder=on_run_machine(joined.config.folder),
        config={"config_file": path.name if path else None, **config_on_run_machine(joined.config)},
        sources=sources,
        tasks={**meant, **tasks},
        plan=plan,
        commands=[step.command for step in steps],
        files=files,
        shelf=carried[0].shelf | carried[1].shelf,
        edits=carried[0].edits | carried[1].edits,
        packs={
            pack.name: {"folder": on_run_machine(pack.folder), "digest": pack.content_digest}
            for pack in packs
        },
        notes=notes,
    )
    (folder / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    return Preparation(
        joined=joined,
        folder=folder,
        plan=plan,
        tasks=tasks,
        origins=written.origins | own_files,
        subjects=subjects,
        steps=steps,
        files=files,
        notes=notes,
        sources=sources,
        manifest=manifest,
    )


@contextmanager
def build_aside(joined: Joined) -> Iterator[Preparation]:
    """Builds, in a temporary place, the folder that the next preparation would leave.

    It includes the user's edits.
    """
    with OwnFolder("build") as temporary:
        folder = Path(temporary).resolve() / joined.work_dir.name
        folder.mkdir()
        yield build_folder(joined, folder)


def _write_commands(joined: Joined, steps: list[Step], folder: Path) -> None:
    """Writes command.sh and the run configurations."""
    if not steps:
        raise BadInput(
            Problem(
                what="there is no task to run",
                where=joined.config.where("tasks"),
                fix="name a task, or a group that has some",
            )
        )
    shell_script = folder / "command.sh"
    shell_script.write_text(script(steps, joined.final), encoding="utf-8")
    shell_script.chmod(0o755)
    for step in steps:
        path = folder / step.command.file
        path.write_text(run_configuration(step), encoding="utf-8")


def config_on_run_machine(config: Config) -> Mapping[str, Any]:
    """The configuration with the paths of the machine that runs the command."""
    core = config.core
    return {
        **config.as_dict(),
        "work_dir": core.on_run_machine(core.work_dir),
        "output_path": core.on_run_machine(core.output_path),
    }
