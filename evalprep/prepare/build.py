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

from evalprep.config import Config
from evalprep.data import moved, read_lock
from evalprep.errors import BadInput, Problem
from evalprep.packs import MANIFEST, Command, Manifest, Plan, asked_for, limited, made_manifest
from evalprep.prepare.calls import make_steps
from evalprep.prepare.joined import Joined
from evalprep.prepare.models import Subject, check_tokenizers, fingerprints_of, subjects_of
from evalprep.prepare.ownfolders import write_own_tasks
from evalprep.prepare.script import Step, run_configuration, script
from evalprep.prepare.shares import whole_blocks
from evalprep.prepare.taskfiles import meant_of_others, write_groups, write_inline, write_tasks
from evalprep.prepare.workdir import Carried, carry_over, of_commands, tree_files
from evalprep.results import turned_notes
from evalprep.temporary import OwnFolder


@dataclass
class Built:
    """A built folder.

    Attributes:
        joined: What it was built from.
        folder: Where it lies now; its files name each other under `joined.final`.
        plan: What runs, without the tasks and groups that are left out.
        tasks: Task -> facts as in the manifest.
        meant: Task that no pack writes -> its settings as in the manifest.
        origins: Path below the folder -> the file that the user wrote it in, or its pack.
        subjects: The models.
        steps: The commands in order, with the calls that they write.
        files: Path below the folder -> digest of what was generated, before edits were carried
            over.
        carried: The user's own work that was brought over: of tasks, then of commands.
        notes: Sentences for the user.
        sources: The facts of each source that was read.
        manifest: What is in manifest.json.
    """

    joined: Joined
    folder: Path
    plan: Plan
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    meant: dict[str, dict[str, Any]] = field(default_factory=dict)
    origins: dict[str, Path] = field(default_factory=dict)
    subjects: list[Subject] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    carried: list[Carried] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    manifest: Manifest = field(default_factory=Manifest)

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
) -> Built:
    """Build the work folder of a configuration in an empty folder.

    Args:
        joined: The joined plans.
        folder: The empty folder.
        force: Replace files that the user edited where the generated content changed too.
        progress: Gets the name of each step.

    Raises:
        BadInput: data or templates that cannot be used, edits that no longer fit.
    """
    built = Built(joined, folder, joined.running())
    _write_tasks(built, progress)
    # Edits of tasks first: the id of the run depends on them, and the commands carry that id.
    _carry_edits(built, force=force, applies=lambda name: not of_commands(name))
    shared = _write_commands(built)
    _carry_edits(built, force=force, applies=of_commands)
    built.notes = _notes(built, shared)
    # Each source once, in an order that does not depend on the tasks'.
    by_text: dict[str, dict[str, Any]] = {}
    for source in joined.sources:
        facts = dict(source.facts())
        text = json.dumps(facts, sort_keys=True)
        by_text[text] = facts
    built.sources = [by_text[text] for text in sorted(by_text)]
    built.manifest = _manifest(built)
    (folder / MANIFEST).write_text(built.manifest.text(), encoding="utf-8")
    return built


@contextmanager
def build_aside(joined: Joined) -> Iterator[Built]:
    """Builds, in a temporary place, the folder that the next preparation would leave.

    It includes the user's edits.
    """
    with OwnFolder("build") as temporary:
        folder = Path(temporary).resolve() / joined.work_dir.name
        folder.mkdir()
        yield build_folder(joined, folder)


def _write_tasks(built: Built, progress: Callable[[str], None]) -> None:
    """Write data and YAML of every task, and the groups."""
    joined, core = built.joined, built.joined.config.core
    written = write_tasks(joined, built.folder, progress)
    built.tasks, built.origins = written.facts, written.origins
    for name, facts in built.tasks.items():
        rows = facts["rows"]
        block = built.plan.tasks[name].block
        limit = whole_blocks(core.limit, block, rows)
        facts["expected"] = None if rows is None else limited(rows, limit)
    write_groups(joined, built.plan.groups, built.folder)
    write_inline(joined, built.folder)
    requested = [name for name in joined.selection.stock if name in built.plan.tasks]
    own = joined.selection.own
    built.origins |= write_own_tasks(own, requested, joined.config, built.folder)
    built.meant = meant_of_others(joined, built.folder)
    built.files = tree_files(built.folder)


def _carry_edits(built: Built, *, force: bool, applies: Callable[[str], bool]) -> None:
    work_dir = built.joined.work_dir
    carried = carry_over(work_dir, built.folder, force=force, applies=applies)
    built.carried.append(carried)


def _write_commands(built: Built) -> list[str]:
    """Write command.sh and the run configurations.

    Returns notes on models that share the prompts.
    """
    joined, folder = built.joined, built.folder
    subjects = subjects_of(joined.config)
    shared = check_tokenizers(joined, subjects)
    built.subjects, built.steps = make_steps(joined, built.plan, built.tasks, subjects, folder)
    if not built.steps:
        raise BadInput(
            Problem(
                what="there is no task to run",
                where=joined.config.where("tasks"),
                fix="name a task, or a group that has some",
            )
        )
    shell_script = folder / "command.sh"
    shell_script.write_text(script(built.steps, joined.final), encoding="utf-8")
    shell_script.chmod(0o755)
    for step in built.steps:
        path = folder / step.command.file
        path.write_text(run_configuration(step), encoding="utf-8")
    for name, digest in tree_files(folder).items():
        if of_commands(name):
            built.files[name] = digest
    return shared


def _notes(built: Built, shared: list[str]) -> list[str]:
    """Every sentence for the user.

    They are on tasks, models, commands, edits and moved branches, in this order.
    """
    joined = built.joined
    notes: list[str] = []
    for facts in built.tasks.values():
        notes += facts.pop("notes")
    turned = {name: task.better for name, task in built.plan.tasks.items() if task.better}
    notes += turned_notes(turned)
    notes += joined.notes
    for subject in built.subjects:
        notes += subject.notes
    notes += shared
    call_notes: dict[str, None] = {}
    for step in built.steps:
        call_notes |= dict.fromkeys(step.call.notes)
    notes += call_notes
    for carried in built.carried:
        notes += carried.notes
    locked = {} if joined.config.lock_file is None else read_lock(joined.config.lock_file)
    return notes + moved(locked, joined.sources)


def _manifest(built: Built) -> Manifest:
    joined, config = built.joined, built.joined.config
    on_run_machine = config.core.on_run_machine
    first = built.subjects[0]
    config_file = config.path.name if config.path else None
    shelf: dict[str, str] = {}
    edits: dict[str, str] = {}
    for carried in built.carried:
        shelf |= carried.shelf
        edits |= carried.edits
    packs = {}
    for share in joined.packs:
        pack = share.pack
        folder = on_run_machine(pack.folder)
        packs[pack.name] = {"folder": folder, "digest": pack.content_digest}
    return made_manifest(
        run=first.run,
        model=on_run_machine(first.model),
        models=[subject.as_dict() for subject in built.subjects],
        fingerprints=fingerprints_of(built.subjects),
        folder=on_run_machine(config.folder),
        config={"config_file": config_file, **config_on_run_machine(config)},
        sources=built.sources,
        tasks={**built.meant, **built.tasks},
        plan=built.plan,
        commands=built.commands,
        files=built.files,
        shelf=shelf,
        edits=edits,
        packs=packs,
        notes=built.notes,
    )


def config_on_run_machine(config: Config) -> Mapping[str, Any]:
    """The configuration with the paths of the machine that runs the command."""
    core = config.core
    return {
        **config.as_dict(),
        "work_dir": core.on_run_machine(core.work_dir),
        "output_path": core.on_run_machine(core.output_path),
    }
