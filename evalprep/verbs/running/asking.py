"""The requests of a work folder for another engine, and which of them lack a reply."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.backends import find_backend
from evalprep.check import quiet
from evalprep.errors import BadInput, Problem
from evalprep.packs import Prepared, require_prepared
from evalprep.status import Job, read_jobs, refuse_moved
from evalprep.terminal import counted

if TYPE_CHECKING:
    from evalprep.run import Asked, Reply, ReplySet

#: In place of a file of replies: those that stand in the prepared rows.
ROWS = "rows"


@dataclass
class Askable:
    """The commands of a work folder whose requests can be made now.

    Attributes:
        jobs: The commands, without tasks that wait for earlier replies or can have none.
        notes: What is left out, and why.
    """

    jobs: list[Job] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def askable(work_dir: Path) -> Askable:
    """Finds the commands that another engine can answer.

    Raises:
        BadInput: no prepared folder, or no such command in it.
    """
    from evalprep.run import unanswerable

    refuse_moved(work_dir)
    prepared = require_prepared(work_dir)
    commands = Askable()
    reasons = unanswerable(prepared.plan.tasks)
    for job in read_jobs(work_dir):
        if not job.model:
            commands.notes.append(f"{job.name}: its replies stand in the rows")
            continue
        waiting = [name for name in job.leaves if _waits(name, prepared)]
        if waiting:
            commands.notes.append(
                f"{', '.join(waiting)}: the prompts are made from earlier replies; "
                "run `evalprep prompts` again after `evalprep run --replies`"
            )
        beyond = [name for name in job.leaves if name in reasons]
        commands.notes += [f"{name}: left out; {reasons[name]}" for name in beyond]
        ready = only(job, set(job.leaves) - {*waiting, *beyond})
        if ready.leaves:
            commands.jobs.append(ready)
    if not commands.jobs:
        raise BadInput(
            Problem(what="no prompt can be made", where=str(work_dir), fix=" ".join(commands.notes))
        )
    return commands


def ready_jobs(work_dir: Path, jobs: Iterable[Job]) -> list[Job]:
    """The commands without tasks whose rows are made from replies that are not there yet."""
    prepared = require_prepared(work_dir)
    parts = [only(job, [name for name in job.leaves if not _waits(name, prepared)]) for job in jobs]
    return [job for job in parts if job.leaves]


def _waits(name: str, prepared: Prepared) -> bool:
    """Returns whether the rows of a task are made from replies that are not there yet."""
    planned = prepared.plan.tasks.get(name)
    task = prepared.tasks.get(name)
    if planned is None or task is None or not planned.after:
        return False
    return not prepared.data_files(name).files()


def only(job: Job, tasks: Collection[str]) -> Job:
    """A command for some of its own tasks, which nobody takes for the whole one."""
    if set(tasks) == set(job.leaves):
        return job
    leaves = [name for name in job.leaves if name in tasks]
    metadata = {**(job.options.get("metadata") or {}), "command": f"{job.name}-alone"}
    options = {**job.options, "metadata": metadata}
    return replace(job, tasks=leaves, leaves=tuple(leaves), options=options)


def open_requests(jobs: Iterable[Job], replies: Mapping[str, Reply]) -> Iterator[Asked]:
    """Yields the requests of commands that have no reply yet, each with its back end's interface.

    Args:
        jobs: The commands.
        replies: Id of a request -> its reply, where some are known: the turns of dialogues that
            they answer are followed by the next ones.
    """
    from evalprep.run import interface_of, is_answer, requests_of

    for job in jobs:
        interface = interface_of(job)
        blocks = requests_of(job, interface, replies)
        while True:
            with quiet():
                block = next(blocks, None)
            if block is None:
                break
            for request in block:
                if not is_answer(request.kind, replies.get(request.id)):
                    yield request, interface


def next_words(
    jobs: list[Job], path: Path, form: str, work_dir: Path, earlier: Sequence[Path] = ()
) -> Iterator[list[str]]:
    """Yields the commands that answer the requests and take the replies back.

    Args:
        jobs: The commands that the requests are of.
        path: The file with the requests.
        form: Its format.
        work_dir: The prepared folder.
        earlier: Files with replies to other requests.
    """
    from evalprep.backends import engine_words
    from evalprep.run import OPENAI_BATCH, VERBATIM_TEMPLATE

    replies = f"{path.with_suffix('')}-replies{path.suffix}"
    if form == OPENAI_BATCH and _is_for_vllm(jobs[0].model):
        engine = engine_words(jobs[0].model_args)
        batch = ["vllm", "run-batch", "-i", str(path), "-o", replies, *engine]
        yield [*batch, "--chat-template", VERBATIM_TEMPLATE, "--generation-config", "vllm"]
    files = ",".join([*map(str, earlier), replies])
    yield ["evalprep", "run", str(work_dir), "--replies", files]


def words_for_open(work_dir: Path, replies: Iterable[Path]) -> list[str]:
    """The command that writes the requests which some replies leave open."""
    files = ",".join(map(str, replies))
    return ["evalprep", "prompts", str(work_dir), "--replies", files, "--out", "open.parquet"]


def _is_for_vllm(model_type: str) -> bool:
    """Returns whether vLLM could load the model of a back end and answer its requests."""
    record = find_backend(model_type)
    return record is None or not (record.chat_only or record.stands_in)


def reply_files(args: argparse.Namespace) -> list[Path]:
    """The files that `--replies` names."""
    return [Path(name) for name in args.replies or [] if name != ROWS]


def check_replies(args: argparse.Namespace) -> None:
    """Refuses a place for missing requests that nothing is written to, or that holds replies.

    Raises:
        BadInput: `--missing_to` without reply files, or with one of them.
    """
    files = reply_files(args)
    if args.missing_to is not None and not files:
        raise BadInput(
            Problem(what="--missing_to needs --replies", fix="name the files with replies")
        )
    if args.missing_to is not None and args.missing_to.resolve() in {
        path.resolve() for path in files
    }:
        raise BadInput(
            Problem(
                what="would be overwritten by the missing requests",
                where=str(args.missing_to),
                fix="--missing_to needs another file than --replies",
            )
        )


def write_missing(work_dir: Path, args: argparse.Namespace, given: ReplySet) -> None:
    """Writes the requests that have no reply, and prints how many there are of each task."""
    from evalprep.run import beyond_kind, format_of, read_replies, write_requests

    repeats = len(given.places) == len(reply_files(args))
    replies = given.replies if repeats else read_replies(given.places)
    pairs = open_requests(askable(work_dir).jobs, replies)
    missing = (pair for pair in pairs if not beyond_kind(pair[0].kind))
    first = next(missing, None)
    if first is None:
        print("no reply is missing", file=sys.stderr, flush=True)
        return
    requests = chain([first], missing)
    counts = write_requests(requests, args.missing_to, format_of(args.missing_to)).counts
    tasks = ", ".join(f"{task} {count}" for task, count in counts.items())
    total = counted(counts.total(), "request")
    print(f"{args.missing_to}: {total} without a reply ({tasks})", file=sys.stderr, flush=True)
