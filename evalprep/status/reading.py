"""The progress of a run, task by task, also for runs that were started by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from evalprep.errors import BadInput, Problem
from evalprep.packs import Prepared, TaskPlan, load_prepared, read_record, records_in
from evalprep.results import (
    DONE,
    FAILED,
    PENDING,
    RUNNING,
    State,
    Unit,
    last_start,
    output_of,
    runs_in,
)
from evalprep.status import manual_runs
from evalprep.status.folder import RunFolder
from evalprep.status.job import Job, located, read_jobs
from evalprep.status.lines import SYMBOLS, TaskStatus, in_order, table_lines, task_lines
from evalprep.status.log import failures
from evalprep.status.run_ids import runs_now, runs_that_count
from evalprep.status.shards import ShardSet, folder_of_whole, shard_sets
from evalprep.status.tries import folder_try

if TYPE_CHECKING:
    from evalprep.results import Run

_OWN_END = frozenset({"done", "failed", "interrupted"})
_NOT_STARTED = "not started"


@dataclass(frozen=True, kw_only=True)
class _CommandStatus:
    """The progress of one command.

    Attributes:
        phase: What it does, in words.
        lines: Its tasks.
        alive: Whether a process of it exists.
        has_failed: Whether it has ended without its results.
        reasons: Why, in sentences.
        log: Its log; None where there is none.
    """

    phase: str
    lines: list[TaskStatus]
    alive: bool = False
    has_failed: bool = False
    reasons: tuple[str, ...] = ()
    log: Path | None = None


@dataclass(frozen=True)
class _Started:
    """The folders of commands, of which any may have been started.

    Attributes:
        runs: The folder of each command.
        jobs: The commands, in the same order.
        others: Folders of runs of other preparations or configurations that lie there too.
    """

    runs: list[RunFolder]
    jobs: list[Job]
    others: list[Path] = field(default_factory=list)

    @cached_property
    def _folders(self) -> list[RunFolder]:
        """The folders of commands and of shards of them that were started."""
        folders = list(self.runs)
        for run, job in zip(self.runs, self.jobs, strict=True):
            for shard_set in shard_sets(run):
                folders += shard_set.folders.values()
            folders += _alone_folders(job)
        return [folder for folder in folders if (folder.path / "job.json").is_file()]

    @property
    def is_running(self) -> bool:
        """Returns whether a process of ours works on a command."""
        return any(folder.is_running() for folder in self._folders)

    def is_newest(self, output: Path, prepared: Prepared | None) -> bool:
        """Returns whether no call by hand began after the last start of ours.

        Args:
            output: The folder of results.
            prepared: The work folder that is asked about, of whose runs such a call must be.
        """
        if not self._folders:
            return False
        ours = {Path(folder.state().results) for folder in self._folders}
        last = max(last_start(folder.path) for folder in self._folders)
        runs: set[str] = set()
        if prepared is not None:
            for model in prepared.models:
                runs |= {*runs_that_count(prepared, model.run)}
        return manual_runs.newest_start(output, without=ours, runs=runs - {""}) <= last


@dataclass
class RunStatus:
    """The whole table.

    Attributes:
        where: The folder that was asked about.
        phase: What the run as a whole does, in words; one part per command.
        tasks: Lines, sorted by status, category and name.
        alive: Whether a process of this run exists.
        failed: Whether a task or a command failed.
        reasons: Why, in sentences.
        logs: Logs of the commands.
        other_runs: Folders of runs of other preparations or configurations that lie there too.
        notes: Tasks that are not as they were prepared.
    """

    where: Path
    phase: str
    tasks: list[TaskStatus]
    alive: bool
    failed: bool = False
    reasons: list[str] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    other_runs: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, part: _CommandStatus) -> None:
        """Adds a command to the whole."""
        self.tasks += part.lines
        self.alive |= part.alive
        has_failed_task = any(line.status == FAILED for line in part.lines)
        self.failed |= part.has_failed or has_failed_task
        self.reasons += part.reasons
        if part.log is not None:
            self.logs.append(part.log)

    def as_dict(self) -> dict[str, Any]:
        """The same as data, for `--json`."""
        return {
            **vars(self),
            "where": str(self.where),
            "tasks": [vars(task) for task in self.tasks],
            "logs": [str(path) for path in self.logs],
            "other_runs": [str(path) for path in self.other_runs],
        }

    def text(self, width: int | None = None) -> str:
        """The same for people.

        Args:
            width: Characters in a line of the table; None for as many as it wants.
        """
        now = datetime.now().astimezone()
        stamp = now.isoformat(sep=" ", timespec="seconds")
        lines = table_lines(self.tasks, width)
        lines += ["", f"{stamp}  {self.where}", self.phase]
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"log: {path}" for path in self.logs]
        if self.other_runs:
            names = ", ".join(path.name for path in self.other_runs)
            lines.append(f"older runs of other configurations: {names}")
        legend = [f"{symbol} {name}" for name, symbol in SYMBOLS.items()]
        lines.append("  ".join(legend))
        return "\n".join(lines)


def read_status(path: Path) -> RunStatus:
    """Look at an output folder, a work folder, or one run, as `_status_of` does.

    Tasks that are not as they were prepared are named.

    Raises:
        BadInput: nothing of a run is there, and no process writes there.
    """
    status = _status_of(path)
    if status.alive:
        return status
    run = _run_at(path.resolve())
    if run is None:
        return status
    from evalprep.results import notes_on_meant

    status.notes += notes_on_meant(run.meant)
    excluded = {} if run.record is None else run.record.excluded
    status.notes += [f"left out: {name}: {entry.reason}" for name, entry in excluded.items()]
    status.tasks = [
        line for line in status.tasks if not (line.status == PENDING and line.name in excluded)
    ]
    return status


def _run_at(place: Path) -> Run | None:
    """The run with results whose status is shown; None without one, or with several."""
    from evalprep.results import load_run

    prepared = load_prepared(place)
    output = place if prepared is None else prepared.output_path
    if output is None or not output.is_dir():
        return None
    run = ""
    if prepared is not None:
        first = _newest_replies(prepared, output)
        run = runs_now(prepared, first).get(prepared.run, "") if first else prepared.run
    try:
        return load_run(output, run=run)
    except BadInput:  # several models, or no results yet
        return None


def _status_of(path: Path) -> RunStatus:
    """Look at an output folder, a work folder, or one run.

    Of an output folder the newest run is shown, with all commands of its preparation. A run by hand
    is shown where it is under way, or newer.

    Raises:
        BadInput: nothing of a run is there, and no process writes there.
    """
    place = path.resolve()
    if (place / "job.json").is_file():
        run = RunFolder(place)
        return _of_runs(place, _Started([run], [run.job()]))
    prepared = load_prepared(place)
    output = place if prepared is None else prepared.output_here or place
    if prepared is None:
        started = _newest(place)
    else:
        jobs = _jobs_of(prepared, output, _newest_replies(prepared, output))
        started = _Started([RunFolder.of(job) for job in jobs], jobs)
    if started.is_running:
        return _of_runs(place, started)
    seconds_of_running = manual_runs.processes(output)
    if not seconds_of_running and started.is_newest(output, prepared):
        return _of_runs(place, started)
    if prepared is None:
        status = _of_results_by_hand(place, seconds_of_running)
    else:
        status = _of_prepared_by_hand(prepared, started.jobs, output, seconds_of_running)
        if prepared.is_moved:
            status.reasons.append(
                f"prepared as {prepared.named_folder}: its commands name that folder, and results "
                f"are looked for in {output}"
            )
    if not status.tasks:
        _refuse_empty(path)
    return status


def _of_results_by_hand(place: Path, seconds_of_running: Mapping[str, float]) -> RunStatus:
    """Returns what was started by hand and writes into a folder of results."""
    finished = manual_runs.finished_by_folder(place)
    lines = finished.lines | _running_lines(seconds_of_running)
    alive = bool(seconds_of_running)
    status = _of_lines(place, list(lines.values()), alive=alive)
    status.failed = any(line.status == FAILED for line in lines.values())
    status.reasons += finished.notes
    return status


def _of_prepared_by_hand(
    prepared: Prepared, jobs: list[Job], output: Path, seconds_of_running: Mapping[str, float]
) -> RunStatus:
    """Returns what was started by hand of a preparation, for one model or for several."""
    alive = bool(seconds_of_running)
    if any(job.label for job in jobs):
        return _of_models(prepared, jobs, alive=alive)
    runs = runs_that_count(prepared, prepared.run)
    finished = manual_runs.finished(output, runs=runs, prepared=prepared)
    lines = finished.lines | _running_lines(seconds_of_running)
    all_lines = _with_pending(lines, prepared, jobs)
    status = _of_lines(prepared.folder, list(all_lines.values()), alive=alive)
    status.reasons += [f"{name} {reason}" for name, reason in finished.reasons.items()]
    return status


def _with_pending(
    lines: Mapping[str, TaskStatus], prepared: Prepared, jobs: list[Job]
) -> dict[str, TaskStatus]:
    """Task -> its line, of all tasks of a preparation whose command was started by hand."""
    categories = _categories(prepared)
    every: dict[str, TaskStatus] = {}
    for name, line in lines.items():
        category = categories.get(name, line.category)
        every[name] = replace(line, category=category)
    names = chain.from_iterable(job.leaves for job in jobs)
    for task in manual_runs.resolve(names, prepared.groups):
        if task not in every:
            every[task] = _pending(task, categories)
    return every


def _pending(task: str, categories: Mapping[str, str]) -> TaskStatus:
    """The line of a task without results."""
    return TaskStatus(task, PENDING, category=categories.get(task, ""))


def _running_lines(seconds_of_running: Mapping[str, float]) -> dict[str, TaskStatus]:
    """Task -> its line, of tasks that a process by hand runs now."""
    return {
        task: TaskStatus(task, RUNNING, seconds) for task, seconds in seconds_of_running.items()
    }


def _of_lines(place: Path, lines: list[TaskStatus], *, alive: bool) -> RunStatus:
    """The command of one model that was started by hand."""
    statuses = {line.status for line in lines}
    if alive:
        phase = "running, started by hand"
    elif FAILED in statuses:
        phase = "no process; not all tasks have results, as some failed"
    elif statuses == {DONE, PENDING}:
        phase = "no process; not all tasks have results"
    elif statuses == {DONE}:
        phase = "done, started by hand"
    else:
        phase = _NOT_STARTED
    return RunStatus(place, phase, in_order(lines), alive=alive)


def _refuse_empty(path: Path) -> NoReturn:
    """Says why nothing can be shown of a place.

    Raises:
        BadInput: always; files that were not fetched are named first.
    """
    from evalprep.results import refuse_pointers

    refuse_pointers(path.resolve())
    raise BadInput(
        Problem(
            what="no run there and no lm_eval process that writes there",
            where=str(path),
            fix="name the output_path of the run, or the work folder",
        )
    )


def _of_models(prepared: Prepared, jobs: list[Job], *, alive: bool) -> RunStatus:
    """The commands of several models that were all started by hand."""
    categories = _categories(prepared)
    lines: list[TaskStatus] = []
    reasons: list[str] = []
    for job in jobs:
        names = manual_runs.resolve(job.leaves or job.tasks, prepared.groups)
        finished = _pasted(job, names, prepared)
        pending = [_pending(name, categories) for name in names if name not in finished.lines]
        lines += _named(job, [*finished.lines.values(), *pending])
        reasons += [f"{job.label}/{name} {why}" for name, why in finished.reasons.items()]
    done = sum(line.status == DONE for line in lines)
    if alive:
        process = "running, started by hand"
    elif done:
        process = "no process"
    else:
        process = _NOT_STARTED
    phase = f"{process}: {done} of {len(lines)} tasks of all models done"
    return RunStatus(prepared.folder, phase, in_order(lines), alive=alive, reasons=reasons)


def _named(job: Job, lines: list[TaskStatus]) -> list[TaskStatus]:
    """Lines with the name of the model in front, where a preparation has several."""
    if not job.label:
        return lines
    return [replace(line, name=f"{job.label}/{line.name}") for line in lines]


def _newest(place: Path) -> _Started:
    """The newest run below an output folder, and the runs beside it.

    With all commands of its preparation, where that is still there.
    """
    run_folders = _run_folders(place)
    if not run_folders:  # the folder of one model in an output folder
        beside = _run_folders(place.parent)
        run_folders = [run for run in beside if _writes_to(run, place)]
    run_folders.sort(key=_recency)
    if not run_folders:
        return _Started([], [])
    jobs = {run: located(RunFolder(run).job(), output_of(run)) for run in run_folders}
    last = jobs[run_folders[-1]]
    prepared = _jobs_beside(last)
    if prepared:
        others = [run for run, job in jobs.items() if not _is_among(job, prepared)]
        return _Started([RunFolder.of(job) for job in prepared], prepared, others)
    same: dict[Path, Job] = {}
    others = []
    for run, job in jobs.items():
        is_of_other_model = bool(job.label and last.label) and job.data == last.data
        if _is_among(job, [last]) or is_of_other_model:
            same.setdefault(folder_of_whole(run).path, job)
        else:
            others.append(run)
    return _Started(list(map(RunFolder, same)), list(same.values()), others)


def _recency(run: Path) -> tuple[bool, float, str]:
    """By which run folders stand in order: what runs is newer than what was started last.

    A start that found a finished run makes it no newer: its results keep their date, by which every
    other verb knows the newest run.
    """
    from evalprep.readers import read_head

    folder = RunFolder(run)
    state = folder.state()
    ended = read_head(Path(state.results)).settings.started if state.is_done else None
    return folder.is_running(), state.started if ended is None else ended, run.name


def _is_among(job: Job, commands: Iterable[Job]) -> bool:
    """Returns whether a command is of the run of one of some others."""
    return any(
        job.include_path == other.include_path
        and (job.run or job.data) == (other.run or other.data)
        for other in commands
    )


def _jobs_beside(last: Job) -> list[Job]:
    """All commands of the preparation that a command is of; none where that is gone."""
    prepared = load_prepared(Path(last.include_path))
    if prepared is None or not last.run:
        return []
    output = last.output_path
    replies = read_record(output, last.run).replies.first
    try:
        jobs = _jobs_of(prepared, last.output_path, replies)
    except BadInput:
        return []
    return jobs if any(job.run == last.run for job in jobs) else []


def _jobs_of(prepared: Prepared, output: Path, replies: str) -> list[Job]:
    """The commands of a work folder, whose results lie in a folder."""
    return [located(job, output) for job in read_jobs(prepared.folder, replies)]


def _newest_replies(prepared: Prepared, output: Path) -> str:
    """What another engine's replies began with, where the newest run of a work folder is theirs."""
    own = {model.run for model in prepared.models}
    first_of = {
        record.run: record.replies.first
        for record in records_in(output)
        if record.replies.first and record.prepared_as in own
    }
    if not first_of:
        return ""
    folders = sorted(_run_folders(output), key=_recency)
    runs = [job.run for job in map(_job_in, folders) if job is not None]
    of_folder = [run for run in runs if run in first_of or run in runs_now(prepared).values()]
    return first_of.get(of_folder[-1], "") if of_folder else ""


def _alone_folders(job: Job) -> list[RunFolder]:
    """The folders of the tasks of a command that were run by themselves, in its newest try."""
    is_whole = job.run and job.metadata.get("command") == job.name
    folders = runs_in(job.output_path).glob("*/job.json") if is_whole else []
    parts = [RunFolder(path.parent) for path in folders]
    alone = [part for part in parts if _is_part(_job_in(part.path), job)]
    newest = max((folder_try(part) for part in alone), default=0)
    own = folder_try(RunFolder.of(job))
    return [part for part in alone if folder_try(part) == newest >= own]


def _job_in(run: Path) -> Job | None:
    """The command of a run folder; None where it is damaged."""
    try:
        return RunFolder(run).job()
    except BadInput:
        return None


def _is_part(part: Job | None, whole: Job) -> bool:
    """Returns whether a call is of some tasks of a command by themselves."""
    return (
        part is not None
        and (part.run, part.name) == (whole.run, whole.name)
        and part.leaves != whole.leaves
    )


def _writes_to(run: Path, place: Path) -> bool:
    """Returns whether the results of a run lie in a folder."""
    results = Path(RunFolder(run).state().results)
    return results.parent.name == place.name and output_of(run) == place.parent


def _run_folders(output: Path) -> list[Path]:
    return [job.parent for job in runs_in(output).glob("*/job.json")]


def _of_runs(place: Path, started: _Started) -> RunStatus:
    """The commands that we started, or of which another one was."""
    whole = RunStatus(place, phase="", tasks=[], alive=False, other_runs=started.others)
    phases = []
    for run, job in zip(started.runs, started.jobs, strict=True):
        part = _of_command(run, job)
        phases.append(part.phase)
        whole.add(part)
    whole.phase = "; ".join(phases)
    whole.tasks = in_order(whole.tasks)
    return whole


def _of_command(run: RunFolder, job: Job) -> _CommandStatus:
    """One command that we started, or one beside it that we did not."""
    state, alive = run.state(), run.is_running()
    prepared = load_prepared(Path(job.include_path))
    if state == State() and (sets := shard_sets(run)):
        return _of_shards(sets[0], job, prepared)
    if not state.units:
        names = _expect_all(state, job, prepared)
        pasted: dict[str, TaskStatus] = {}
        if prepared is not None and state.phase == _NOT_STARTED:
            pasted = _pasted(job, names, prepared).lines
        if alone := sorted(_alone_folders(job), key=lambda folder: last_start(folder.path)):
            return _of_parts(alone[-1], job, names, pasted, prepared)
        if len(pasted) == len(names):
            lines = _named(job, list(pasted.values()))
            return _CommandStatus(phase="done, started by hand", lines=lines)
    if not alive and state.phase not in {*_OWN_END, _NOT_STARTED}:
        _bury(state)
    categories = {} if prepared is None else _categories(prepared)
    has_failed = state.phase == "failed" and not alive
    units_done = f"{state.count(DONE)} of {len(state.units)} units done"
    lines = task_lines(state.units, categories, state.scores)
    return _CommandStatus(
        phase=f"{state.phase}, {units_done}",
        lines=_named(job, lines),
        alive=alive,
        has_failed=has_failed,
        reasons=tuple(failures(run, state)) if has_failed else (),
        log=run.log if run.log.exists() else None,
    )


def _of_parts(
    alone: RunFolder,
    job: Job,
    names: list[str],
    pasted: Mapping[str, TaskStatus],
    prepared: Prepared | None,
) -> _CommandStatus:
    """One command of which some tasks were done, and the others run by themselves."""
    part = _of_command(alone, alone.job())
    own = {line.name for line in part.lines}
    categories = {} if prepared is None else _categories(prepared)
    rest = [pasted.get(name) or _pending(name, categories) for name in names]
    lines = [line for line in _named(job, rest) if line.name not in own]
    return replace(part, lines=[*part.lines, *lines])


def _of_shards(shard_set: ShardSet, job: Job, prepared: Prepared | None) -> _CommandStatus:
    """One command of which shards were started, and which nobody has merged yet."""
    units: list[Unit] = []
    reasons: list[str] = []
    running = 0
    for number, folder in sorted(shard_set.folders.items()):
        state = folder.state()
        if folder.is_running():
            running += 1
        elif state.phase not in _OWN_END:
            _bury(state)
        if state.phase == "failed":
            reasons += [f"shard {number}: {reason}" for reason in failures(folder, state)]
        units += state.units
    units += _rest_of(job, prepared, units)
    done = shard_set.shards - len(shard_set.missing)
    phases = [f"{done} of {shard_set.shards} shards done"]
    phases += [f"{running} running"] if running else []
    phases += ["next: evalprep merge"] if not shard_set.missing else []
    categories = {} if prepared is None else _categories(prepared)
    return _CommandStatus(
        phase=", ".join(phases),
        lines=_named(job, task_lines(units, categories)),
        alive=bool(running),
        has_failed=bool(reasons),
        reasons=tuple(reasons),
    )


def _rest_of(job: Job, prepared: Prepared | None, units: Iterable[Unit]) -> Iterator[Unit]:
    """Yields a unit for the rows of each task that are in no shard that was started."""
    tasks = {} if prepared is None else prepared.tasks
    rows: Counter[str] = Counter()
    for unit in units:
        rows[unit.task] += unit.rows
    groups = {} if prepared is None else prepared.groups
    for name in manual_runs.resolve(job.leaves or job.tasks, groups):
        expected = tasks[name].expected if name in tasks else None
        rest = None if expected is None else expected - rows[name]
        if rows[name] == 0 or (rest is not None and rest > 0):
            yield Unit(name=name, task=name, rows=rest or 0)


def _expect_all(state: State, job: Job, prepared: Prepared | None) -> list[str]:
    """Gives a run that has not yet cut its tasks one unit per task, and returns their names."""
    groups = {} if prepared is None else prepared.groups
    names = manual_runs.resolve(job.leaves or job.tasks, groups)
    state.units = [Unit(name=name, task=name, rows=0) for name in names]
    if state == State(units=state.units):
        state.phase = _NOT_STARTED
    return names


def _pasted(job: Job, names: list[str], prepared: Prepared) -> manual_runs.Finished:
    """Tasks of a command whose results lie there without our start.

    The results are of this run, although we did not start their command.
    """
    if not job.run:
        return manual_runs.Finished()
    prepared_as = {command.name: command.run or prepared.run for command in prepared.commands}
    runs = runs_that_count(prepared, prepared_as.get(job.name, job.run))
    place = job.output_path
    finished = manual_runs.finished(place, runs=runs, prepared=prepared)
    return manual_runs.Finished(
        {name: finished.lines[name] for name in names if name in finished.lines},
        {name: finished.reasons[name] for name in names if name in finished.reasons},
    )


def _bury(state: State) -> None:
    """A worker that is gone without having said how it ended: killed, or its machine went down."""
    state.phase = "failed"
    state.message = "the process has ended; `evalprep run` continues"
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status = FAILED
            unit.message = state.message


#: Tags of a task by which people sort a table, the first that it has; else its pack.
_CATEGORY_TAGS = ("principle", "family", "category")


def _categories(prepared: Prepared) -> dict[str, str]:
    """Task -> the category that a table is sorted by."""
    categories = {}
    for name, task in prepared.tasks.items():
        planned = prepared.plan.tasks[name]
        categories[name] = _tagged(planned) or task.pack
    return categories


def _tagged(task: TaskPlan) -> str:
    """The first category that a task's tags name; empty where none does."""
    for tag in _CATEGORY_TAGS:
        if tag in task.tags:
            return str(task.tags[tag])
    return ""
