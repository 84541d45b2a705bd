"""The shards of every command of a work folder, put together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.run import Cut, Holder, gather_shards, run_job, showing
from evalprep.status import (
    Job,
    RunFolder,
    begun_try,
    is_done,
    read_jobs,
    refuse_moved,
    shard_sets,
    with_try,
)
from evalprep.verbs.running.asking import ready_jobs
from evalprep.verbs.running.commands import note_failed_tasks


@dataclass(frozen=True)
class Outcome:
    """The outcome of one command.

    Attributes:
        command: Its name.
        results: The results file; empty where there is none.
        missing: Shards that are not finished.
        shards: Into how many parts the command was cut; 0 where it was not.
        reason: Why it has no results though no shard is missing.
    """

    command: str
    results: str = ""
    missing: tuple[int, ...] = ()
    shards: int = 0
    reason: str = ""

    @property
    def is_incomplete(self) -> bool:
        """True where a shard is missing, or the command failed."""
        return bool(self.missing or self.reason)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    def text(self, work_dir: Path) -> str:
        """A line for the terminal."""
        if self.missing:
            numbers = ", ".join(map(str, self.missing))
            is_one = len(self.missing) == 1
            which = f"shard {numbers}" if is_one else f"shards {numbers}"
            return (
                f"{self.command}: {which} of {self.shards} {'is' if is_one else 'are'} not "
                "finished; next: "
                f"evalprep run {work_dir} --shard {self.missing[0]}/{self.shards}"
            )
        return f"{self.command}: {self.reason or f'results: {self.results}'}"


@dataclass(frozen=True)
class Merged:
    """The outcome of all commands.

    Attributes:
        outcomes: One per command that could have been started.
        code: The exit code.
        next_stage: Tasks whose data were made from the merged replies.
    """

    outcomes: Sequence[Outcome]
    code: int = 0
    next_stage: Sequence[str] = ()


def merge_commands(work_dir: Path, *, silent: bool) -> Merged:
    """Merges the commands whose data are there, then makes the data of the next stage.

    Raises:
        BadInput: no prepared folder, or no command of it was run in shards.
    """
    from evalprep.prepare import continue_stages

    refuse_moved(work_dir)
    ready = [job for job in ready_jobs(work_dir, read_jobs(work_dir)) if job.model]
    jobs = [with_try(job, max(begun_try(job), 1)) for job in ready]
    outcomes = []
    with Holder() as holder:
        for job in jobs:
            outcome = _merge(work_dir, job, holder, silent=silent)
            outcomes.append(outcome)
            if not silent:
                stream = sys.stderr if outcome.is_incomplete else sys.stdout
                print(outcome.text(work_dir), file=stream, flush=True)
    if not any(outcome.shards or outcome.results for outcome in outcomes):
        raise BadInput(
            Problem(
                what="no command was run in shards",
                where=str(work_dir),
                fix=f"evalprep run {work_dir} --shard 1/8, and so on to 8/8",
            )
        )
    if any(outcome.is_incomplete for outcome in outcomes):
        return Merged(outcomes, code=1)
    stages = continue_stages(work_dir, jobs[0].run)
    return Merged(outcomes, next_stage=[stage.task for stage in stages if stage.state == "made"])


def _merge(work_dir: Path, job: Job, holder: Holder, *, silent: bool) -> Outcome:
    """Merges one command; its results stay where it is whole already."""
    if is_done(work_dir, job.name, job.run):
        from evalprep.results import run_calls

        return Outcome(job.name, results=str(run_calls(job.output_path, job.run)[-1].results))
    sets = shard_sets(RunFolder.of(job))
    if not sets:
        return Outcome(job.name, reason="was not run in shards")
    best = sets[0]
    if best.missing:
        return Outcome(job.name, missing=tuple(best.missing), shards=best.shards)
    folder = gather_shards(job, best)
    with showing(silent=silent) as show:
        run_job(job, folder, show, cut=Cut(0), holder=holder, elsewhere=_nothing)
    state = folder.state()
    note_failed_tasks(job, *state.outcome(job.leaves))
    reason = "" if state.is_done else state.message or state.phase
    return Outcome(job.name, results=state.results, shards=best.shards, reason=reason)


def _nothing(*_: object) -> None:
    """The units were run by the shards."""
