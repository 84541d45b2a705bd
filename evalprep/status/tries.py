"""The tries of the commands of a run: the newest one, and what it has of the results.

A file that lm-eval itself wrote is one try. `evalprep run` numbers its tries: all that it writes
from the first start or a restart to the next restart is one, also where it completes what a pasted
command has written. The number stands in the metadata of each call, and beside the failures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.status.folder import RunFolder
from evalprep.status.job import Job
from evalprep.status.shards import shard_sets

if TYPE_CHECKING:
    from evalprep.results import Invocation

TRY = "try"
_ALONE = "-alone"  # added to the name of a command whose tasks are run by themselves


def with_try(job: Job, number: int) -> Job:
    """Returns a command with the number of its try in the metadata of its calls."""
    if not job.run:
        return job
    return replace(job, options={**job.options, "metadata": {**job.metadata, TRY: number}})


def begun_try(job: Job) -> int:
    """Returns the newest try of a command that has begun; 0 where none has.

    Results files, failures and the folders of its run state it, whichever of them are left.
    """
    from evalprep.results import failed_try, run_calls

    if not job.run:
        return 0
    calls = [call for call in run_calls(job.output_path, job.run) if _is_of(call, job.name)]
    plain = sum(call.attempt is None for call in calls)
    stated = [call.attempt for call in calls if call.attempt is not None]
    failed = failed_try(job.output_path, job.run, job.name).number
    numbers = [*stated, failed, *map(folder_try, folders_of(job))]
    newest = max(numbers, default=0)
    return newest or plain


def folders_of(job: Job) -> list[RunFolder]:
    """Returns the run folders of a command that were made: its own, and those of its shards."""
    whole = RunFolder.of(job)
    shards = chain.from_iterable(found.folders.values() for found in shard_sets(whole))
    return [folder for folder in (whole, *shards) if (folder.path / "job.json").is_file()]


def folder_try(folder: RunFolder) -> int:
    """Returns the try that a run folder is of; 0 for one that no command was begun in."""
    job = folder.kept_job()
    if job is None:
        return 0
    number = job.metadata.get(TRY)
    return number if isinstance(number, int) else 1


def of_newest_try(
    calls: Iterable[Invocation], command: str, output: Path, run: str
) -> list[Invocation]:
    """Returns those of some calls of a run that are of the newest try of a command.

    Args:
        calls: Calls; those of other commands and runs stay.
        command: Name of the command.
        output: The output folder.
        run: Id of the run.
    """
    from evalprep.results import failed_try

    listed = list(calls)
    own = [call for call in listed if call.run == run and _is_of(call, command)]
    failed = failed_try(output, run, command)
    newest = max([failed.number, *(call.attempt or 0 for call in own)])
    if newest < 2:
        return listed
    stamps = [call.stamp for call in own if call.attempt == newest]
    if failed.number == newest:
        stamps.append(failed.since)
    pasted_before = [call for call in own if call.attempt is None and call.stamp < min(stamps)]
    # Each pasted command was a try: a number beyond their count is that of a restart.
    is_restart = newest > len(pasted_before)
    older = [call for call in own if call.attempt is not None and call.attempt < newest]
    if is_restart:
        older += pasted_before
    return [call for call in listed if call not in older]


def _is_of(call: Invocation, command: str) -> bool:
    """Returns whether a call is of a command, or of some of its tasks by themselves."""
    return call.command.removesuffix(_ALONE) == command
