"""The folder of one run: state, units, log.

Whatever is killed at whatever moment, what is in it is whole.

    <output_path>/.evalprep/runs/<id>/
        job.json                  the command
        state.json                what runs, what is done; replaced in one step
        log.txt                   everything that lm-eval and the engine print
        units/<unit>/             a finished unit: responses and lm-eval's files
        units/<unit>.part/        a unit under way: responses only
        merged/                   the files of the whole run, before they are published

A unit is finished when its folder has its final name; that is one rename, after everything in it
reached the disk. What it holds, its score and its time are in it too, as `unit.json`, so that
nothing depends on state.json.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO

from evalprep.errors import BadInput, Problem
from evalprep.files import (
    check_tree,
    is_locked,
    lock,
    make_folder,
    read_json,
    sync,
    write_atomically,
)
from evalprep.results import State, Unit, output_of, read_state, read_unit, runs_in, write_state
from evalprep.status.job import Job


class RunFolder:
    """Reads and writes one run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units = path / "units"
        self.log = path / "log.txt"
        self.merged = path / "merged"

    @classmethod
    def of(cls, job: Job) -> RunFolder:
        """The folder of a command."""
        return cls(runs_in(job.output_path) / job.id)

    def create(self, job: Job) -> None:
        """Makes the folder, or finds it as an earlier start left it.

        Raises:
            BadInput: the place cannot be written.
        """
        try:
            make_folder(self.units, within=job.output_path)
            check_tree(self.path)
            if self.is_read_otherwise(job):
                self._discard_merged()  # the saved replies are read anew
            write_atomically(self.path / "job.json", json.dumps(job.as_dict(), indent=2))
        except OSError as error:
            raise BadInput(
                Problem(
                    what=f"cannot be written: {error.strerror}",
                    where=str(self.path),
                    fix="choose another output_path",
                )
            ) from None

    def is_read_otherwise(self, job: Job) -> bool:
        """Returns whether filters, metrics or scorers were changed since an earlier start."""
        before = self.kept_job()
        return before is not None and before.reading not in ("", job.reading)

    def kept_job(self) -> Job | None:
        """The command of an earlier start; None where none can be read."""
        with contextlib.suppress(BadInput):
            return self.job()
        return None

    def job(self) -> Job:
        """The command.

        Raises:
            BadInput: the file is damaged, or none that evalprep wrote.
        """
        file = self.path / "job.json"
        try:
            return Job.from_dict(read_json(file))
        except (OSError, ValueError) as error:
            raise BadInput(
                Problem(
                    what=f"is not a command that evalprep started: {error}",
                    where=str(file),
                    fix=f"remove {self.path}; it is made anew by the next start",
                )
            ) from None

    def state(self) -> State:
        """The state of the run.

        The unit folders show what is finished; after a kill they are right where the file is not.
        """
        state = read_state(self.path) or State()
        state.units = [self._as_it_lies(unit) for unit in state.units]
        return state

    def _as_it_lies(self, unit: Unit) -> Unit:
        """The unit as it was finished, where its folder says so; else the unit itself."""
        if unit.is_done or not self.folder(unit).is_dir():
            return unit
        return self.finished(unit) or unit

    def save(self, state: State) -> None:
        """Replaces state.json in one step."""
        write_state(self.path, state)

    def folder(self, unit: Unit) -> Path:
        """Folder of a finished unit."""
        return self.units / unit.name

    def part(self, unit: Unit) -> Path:
        """Folder of a unit under way."""
        return self.units / f"{unit.name}.part"

    def finished(self, unit: Unit) -> Unit | None:
        """The unit as it was finished, None where it was not, or holds other rows."""
        done = read_unit(self.folder(unit) / "unit.json")
        return done if done is not None and done.cut == unit.cut else None

    def finish(self, unit: Unit) -> None:
        """Gives a unit's folder its final name, after its content reached the disk."""
        part = self.part(unit)
        write_atomically(part / "unit.json", json.dumps(asdict(unit)))
        for path in part.rglob("*"):
            if path.is_file():
                sync(path)
        part.rename(self.folder(unit))
        sync(self.units)

    def discard(self, unit: Unit) -> None:
        """Removes what a unit finished, if anything, and the merged files that it went into."""
        self._discard_merged()
        shutil.rmtree(self.folder(unit), ignore_errors=True)

    def _discard_merged(self) -> None:
        for merged in self.path.glob("merged*"):
            shutil.rmtree(merged, ignore_errors=True)

    def restart(self) -> None:
        """Forgets everything."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[IO[str]]:
        """Keeps two runs of one command apart.

        The worker inherits the lock, so that it holds until both have ended.

        Raises:
            BadInput: it is running already.
        """
        make_folder(self.path, within=output_of(self.path))
        check_tree(self.path)
        with (self.path / "lock").open("w") as handle:
            lock(
                handle,
                Problem(
                    what="this run is under way in another process",
                    where=str(self.path),
                    fix="`evalprep status` shows it",
                ),
            )
            yield handle

    def is_running(self) -> bool:
        """Returns whether somebody holds the lock."""
        return is_locked(self.path / "lock")
