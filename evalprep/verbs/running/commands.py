"""The commands of a work folder: run in their order, those of one engine on one loaded model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.packs import require_prepared
from evalprep.results import DONE, State
from evalprep.run import (
    INTERRUPTED,
    Cluster,
    Cut,
    Holder,
    ReplySet,
    engine_key,
    gather_shards,
    not_tried,
    run_job,
    run_on_ray,
    shard_folder,
    showing,
    silence,
    unanswerable,
)
from evalprep.status import (
    TRY,
    Job,
    RunFolder,
    begun_try,
    failures,
    folder_try,
    is_done,
    keep_edited_runs,
    read_jobs,
    refuse_moved,
    shard_sets,
    tasks_left,
    with_try,
)
from evalprep.terminal import counted, shortlist
from evalprep.verbs.running.asking import only, ready_jobs


class Commands:
    """The commands of a work folder, stage by stage.

    Attributes:
        outcomes: What came of each command, JSON-ready.
        of_models: The folder of the results of several models; None where there is one.
    """

    def __init__(
        self, work_dir: Path, args: argparse.Namespace, holder: Holder, cut: Cut, given: ReplySet
    ) -> None:
        self.work_dir = work_dir
        self.args = args
        self.holder = holder
        self.cut = cut
        self.given = given
        self.outcomes: list[dict[str, Any]] = []
        self.of_models: Path | None = None
        self._broken: dict[str, str] = {}
        self._tries: dict[str, int] = {}

    def all(self) -> int:
        """Run them; the worst exit code."""
        code = depth = 0
        refuse_moved(self.work_dir)
        jobs = read_jobs(self.work_dir, self.given.first)
        keep_edited_runs(self.work_dir)
        self.given.keep(require_prepared(self.work_dir))
        # The commands with their tries: the newest that has begun, a new one for a restart. A
        # server that is not there refuses a restart before it begins, as does a command that is
        # under way elsewhere.
        if self.args.restart:
            for job in jobs:
                self._refuse_restart(job)
        for job in jobs:
            begun = begun_try(job)
            is_new = self.args.restart and begun and self._is_of_try(job, begun)
            number = begun + 1 if is_new else max(begun, 1)
            self._tries[job.name] = number
            if is_new:
                from evalprep.results import NOT_RUN_YET

                # Wherever it ends, the values of the try before are not those of this one.
                if job.output_path.is_dir():
                    note_failed_tasks(
                        with_try(job, number), dict.fromkeys(job.leaves, NOT_RUN_YET), ()
                    )
        jobs = [with_try(job, self._tries[job.name]) for job in jobs]
        self.of_models = next((job.output_path for job in jobs if job.label), None)
        while stage := [job for job in jobs if job.depth == depth]:
            code = max(code, self._run_stage(stage))
            depth += 1
            if code == INTERRUPTED or not any(job.depth == depth for job in jobs):
                break
            if not self.cut.is_whole:  # `evalprep merge` makes the data of the next stage
                jobs = ready_jobs(self.work_dir, jobs)
                continue
            waiting = _next_stage(self.work_dir, jobs[0], self.args)
            code = max(code, int(bool(waiting)))
            jobs = read_jobs(self.work_dir, self.given.first)
            # Tasks whose data are not made cost no other task of their command.
            parts = [only(job, set(job.leaves) - waiting) for job in jobs]
            jobs = [with_try(job, self._tries[job.name]) for job in parts if job.leaves]
        return code

    def _refuse_restart(self, job: Job) -> None:
        """Refuses to begin a command anew that is under way, or whose server is not there.

        Raises:
            BadInput: one of both.
        """
        folder = shard_folder(job, self.cut)
        if folder.is_running():
            with folder.lock():
                pass
        if job.model and not self.holder.replies:
            _need_server(job)

    def _is_of_try(self, job: Job, number: int) -> bool:
        """Returns whether what a restart empties is of a try; another shard may have begun it."""
        if self.cut.is_whole:
            return True
        return folder_try(shard_folder(job, self.cut)) == number

    def _run_stage(self, stage: list[Job]) -> int:
        """Run the commands of one stage, until one is interrupted; the worst exit code."""
        code = 0
        first = {engine_key(job): number for number, job in reversed(list(enumerate(stage)))}
        for job in sorted(
            stage, key=lambda job: (not self.holder.has(job), first[engine_key(job)])
        ):
            code = max(code, self._run(job))
            if code == INTERRUPTED:
                break
        return code

    def _run(self, prepared: Job) -> int:
        """Run one command, unless all its results are there already; its exit code."""
        if not prepared.model:
            self.outcomes.append(_score_stored(prepared, silent=self.args.json))
            note_failed_tasks(prepared, {}, set(prepared.leaves))
            return 0
        if self.args.replies and not self.holder.replies:
            return 0
        job = self._open_part(prepared)
        # The folder of a command, emptied where it is to begin anew.
        folder = shard_folder(job, self.cut)
        if self.args.restart or 0 < folder_try(folder) < self._tries[job.name]:
            with folder.lock():
                folder.restart()
        if self.args.restart:
            if self.cut.is_whole:
                _discard_shards(folder)
        elif self.cut.is_whole and not self.holder.replies:
            self._take_shards(job, folder)
        before = folder.state()
        if self._is_done(prepared, job):
            self._note_kept(prepared.leaves)
            done = _done_already(prepared)
            if done is not None:
                self.outcomes.append(
                    {"run": job.run, "log": "", "phase": "done", "results": str(done)}
                )
                if not self.args.json:
                    print(f"{job.name}: done already, its results are in {done}", flush=True)
            return 0
        self._note_kept([unit.task for unit in before.units if unit.status == DONE])
        code = self._work(job, folder, before)
        state = folder.state()
        if code != INTERRUPTED and self.cut.is_whole:
            note_failed_tasks(job, *state.outcome(job.leaves))
        self.outcomes.append({"run": str(folder.path), "log": str(folder.log), **asdict(state)})
        if not self.args.json:
            _conclude(state, folder, code)
        return code

    def _take_shards(self, job: Job, folder: RunFolder) -> None:
        """Begins a command with the rows of its shards, where all of them are done."""
        begun = self._tries[job.name]
        sets = [
            shards
            for shards in shard_sets(folder)
            if all(folder_try(part) == begun for part in shards.folders.values())
        ]
        if not sets or folder.state() != State():
            return
        best = sets[0]
        done = best.shards - len(best.missing)
        if not best.missing:
            gather_shards(job, best)
        if done and best.missing:
            print(
                f"note: {job.name}: {done} of {best.shards} shards are done, and are not used; "
                f"to use them, run --shard {best.missing[0]}/{best.shards} and what else lacks, "
                "then evalprep merge",
                file=sys.stderr,
                flush=True,
            )

    def _is_done(self, prepared: Job, job: Job) -> bool:
        """Returns whether a command has all its results; a shard is a part of a whole one."""
        if not job.leaves or self.cut.is_whole or self.args.restart:
            return not job.leaves
        return is_done(self.work_dir, prepared.name, prepared.run)

    def _open_part(self, job: Job) -> Job:
        """The command with the tasks that still lack results.

        Whole where it has begun, or is to begin anew; without tasks that no file of replies can
        answer, where files answer.
        """
        if self.holder.replies:
            # The command without the tasks that no file of replies can answer, which are named.
            reasons = unanswerable(require_prepared(self.work_dir).plan.tasks)
            beyond = [name for name in job.leaves if name in reasons]
            if not self.args.json:
                for name in beyond:
                    print(f"note: {name}: left out; {reasons[name]}", file=sys.stderr, flush=True)
            job = only(job, set(job.leaves) - set(beyond))
        if self.args.restart or not self.cut.is_whole or RunFolder.of(job).state().units:
            return job
        return only(job, tasks_left(self.work_dir, job.name, job.leaves, job.run))

    def _note_kept(self, tasks: Sequence[str]) -> None:
        """Says which tasks keep their results of an earlier call with the same replies."""
        if not (self.holder.replies and tasks):
            return
        names = shortlist(list(dict.fromkeys(tasks)))
        print(
            f"note: {names}: done before from the same replies, which are not scored again",
            file=sys.stderr,
            flush=True,
        )

    def _work(self, job: Job, folder: RunFolder, before: State) -> int:
        """Let the engine work on a command, unless it failed for an earlier one; the exit code."""
        silent, engine = self.args.json, engine_key(job)
        broken = self._broken.get(engine, "")
        if broken:
            folder.create(job)
            if not silent:
                print(f"run {job.id}: {', '.join(job.tasks)}", flush=True)
            return not_tried(folder, broken)
        if not before.is_done and not self.holder.replies:
            _need_server(job)
        is_read_anew = before.is_done and folder.is_read_otherwise(job)
        folder.create(job)
        if is_read_anew and not silent:
            print(
                "note: filters, metrics or scorers have changed: the saved replies are scored anew"
            )
        if not silent:
            _announce(job, folder, before, loaded=self.holder.has(job))
            if not self.cut.is_whole:
                print(f"shard {self.cut.shard} of {self.cut.shards}", flush=True)
        # What is there already needs no units that a crash could spare.
        cut = replace(self.cut, rows=0) if self.holder.replies else self.cut
        if self.args.engine == "local":
            elsewhere = None
        else:
            elsewhere = run_on_ray(Cluster(self.args.address, self.args.replicas, cut.rows))
        with showing(silent=silent) as show:
            code, reason = run_job(
                job, folder, show, cut=cut, holder=self.holder, elsewhere=elsewhere
            )
        if reason:
            self._broken[engine] = reason
        return code


def note_failed_tasks(job: Job, failed: Mapping[str, str], finished: Collection[str]) -> None:
    """Writes beside the results why tasks of a command failed, and takes out those that did not.

    Args:
        job: The command, with its try.
        failed: Task -> why it failed.
        finished: Tasks that failed no longer.
    """
    from evalprep.results import note_failures  # numpy, which --help need not wait for

    attempt = int(job.metadata.get(TRY, 1))
    note_failures(job.output_path, job.run, failed, finished, command=job.name, attempt=attempt)


def _discard_shards(whole: RunFolder) -> None:
    """Empties the folders of a command's shards, but for those that are under way."""
    for shards in shard_sets(whole):
        for folder in shards.folders.values():
            if not folder.is_running():
                folder.restart()


def _done_already(job: Job) -> Path | None:
    """The newest results file of a command that has all its rows, whoever ran it.

    None where all its tasks are left out.
    """
    from evalprep.results import run_calls

    calls = run_calls(job.output_path, job.run)
    own = [call.results for call in calls if call.command == job.name]
    results = own or [call.results for call in calls]
    return results[-1] if results else None


def _next_stage(work_dir: Path, job: Job, args: argparse.Namespace) -> set[str]:
    """Make the data of the next stages; the tasks that still wait."""
    from evalprep.prepare import continue_stages

    stages = continue_stages(work_dir, job.run)
    if not args.json:
        for stage in stages:
            reason = f"; {stage.reason}" if stage.reason else ""
            print(f"{stage.task}: {stage.state}{reason}", flush=True)
    return {stage.task for stage in stages if stage.state == "waiting"}


def _score_stored(job: Job, *, silent: bool) -> dict[str, Any]:
    """Score the tasks of a command whose replies stand in the rows."""
    from evalprep.run import score_stored

    prepared = require_prepared(Path(job.include_path))
    command = next(command for command in prepared.commands if command.name == job.name)
    results = score_stored(
        {task: prepared.folder / prepared.tasks[task].yaml for task in command.tasks},
        output_path=job.output_path,
        model=command.model or Path(prepared.model or "replies").name,
        metadata=job.options.get("metadata") or {},
        limit=job.options.get("limit"),
        label=command.model,
    )
    if not silent:
        print(f"scored stored replies: {', '.join(command.tasks)}\nresults: {results}", flush=True)
    return {"phase": "done", "results": str(results)}


def _need_server(job: Job) -> None:
    """Refuses to start against a server that is not there.

    lm-eval would first try each task for a while.

    Raises:
        BadInput: nothing answers.
    """
    if reason := silence(job):
        raise BadInput(
            Problem(
                what=reason,
                where=str(job.model_args["base_url"]),
                fix="start the server, wait until it is ready, and run again; or correct base_url "
                "in model_args and prepare again",
            )
        )


def _announce(job: Job, folder: RunFolder, before: State, *, loaded: bool) -> None:
    print(f"run {job.id}: {', '.join(job.tasks)}", flush=True)
    if loaded:
        print("it shares the engine of the command before", flush=True)
    print(f"log: {folder.log}", flush=True)
    if done := before.count(DONE):
        print(
            f"resumed: {done} of {len(before.units)} parts were finished before and are kept",
            flush=True,
        )


def _conclude(state: State, folder: RunFolder, code: int) -> None:
    for note in state.notes:
        print(f"note: {note}", flush=True)
    if state.is_done and state.results:
        print(f"results: {state.results}", flush=True)
    elif state.is_done:
        print(f"finished {counted(state.count(DONE), 'unit')} of this shard", flush=True)
    if code == INTERRUPTED:
        print("interrupted; `evalprep run` goes on from here", flush=True)
    elif not state.is_done:
        reason, *details = failures(folder, state) or ["the log names no reason"]
        print(f"failed: {reason}", file=sys.stderr)
        for line in details:
            print(f"  {line}", file=sys.stderr)
        print(
            f"log: {folder.log}\n`evalprep run` tries the unfinished tasks again", file=sys.stderr
        )
