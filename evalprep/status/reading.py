"""The progress of a run, task by task, also for runs that were started by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from evalprep.errors import BadInput, Problem
from evalprep.packs import Prepared, TaskPlan, load_prepared
from evalprep.results import DONE, FAILED, PENDING, RUNNING, State, Unit, runs_in, state_changed
from evalprep.status import manual_runs
from evalprep.status.folder import RunFolder
from evalprep.status.job import Job, read_jobs
from evalprep.status.lines import SYMBOLS, TaskStatus, in_order, table_lines, task_lines
from evalprep.status.log import failures
from evalprep.status.run_ids import runs_that_count

_OWN_END = frozenset({"done", "failed", "interrupted"})
_NOT_STARTED = "not started"
#: A run of ours writes its results a moment before it says that it is done.
_MOMENT = 60.0


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
    """

    where: Path
    phase: str
    tasks: list[TaskStatus]
    alive: bool
    failed: bool = False
    reasons: list[str] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    other_runs: list[Path] = field(default_factory=list)

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
        lines += [f"log: {path}" for path in self.logs]
        if self.other_runs:
            names = ", ".join(path.name for path in self.other_runs)
            lines.append(f"older runs of other configurations: {names}")
        legend = [f"{symbol} {name}" for name, symbol in SYMBOLS.items()]
        lines.append("  ".join(legend))
        return "\n".join(lines)


def read_status(path: Path) -> RunStatus:
    """Look at an output folder, a work folder, or one run.

    Of an output folder the newest run is shown, with all commands of its preparation. A run by hand
    is shown where it is under way, or newer.

    Raises:
        BadInput: nothing of a run is there, and no process writes there.
    """
    place = path.resolve()
    if (place / "job.json").is_file():
        return _of_runs(place, [RunFolder(place)], [])
    prepared = load_prepared(place)
    jobs = [] if prepared is None else read_jobs(place)
    runs, others = _runs_at(place, jobs)
    if _is_any_running(runs):
        return _of_runs(place, runs, others, jobs)
    output = place if prepared is None else prepared.output_path or place
    seconds_of_running = manual_runs.processes(output)
    if not seconds_of_running and _is_newest(_started(runs), output):
        return _of_runs(place, runs, others, jobs)
    if prepared is None:
        status = _of_results_by_hand(place, seconds_of_running)
    else:
        status = _of_prepared_by_hand(prepared, jobs, output, seconds_of_running)
    if not status.tasks:
        _refuse_empty(path)
    return status


def _of_results_by_hand(place: Path, seconds_of_running: Mapping[str, float]) -> RunStatus:
    """Returns what was started by hand and writes into a folder of results."""
    finished = manual_runs.finished_by_folder(place)
    lines = finished | _running_lines(seconds_of_running)
    alive = bool(seconds_of_running)
    return _of_lines(place, list(lines.values()), alive=alive)


def _of_prepared_by_hand(
    prepared: Prepared, jobs: list[Job], output: Path, seconds_of_running: Mapping[str, float]
) -> RunStatus:
    """Returns what was started by hand of a preparation, for one model or for several."""
    alive = bool(seconds_of_running)
    if any(job.label for job in jobs):
        return _of_models(prepared, jobs, alive=alive)
    runs = runs_that_count(prepared, prepared.run)
    finished = manual_runs.finished(output, since=prepared.changed, runs=runs)
    outdated = []
    lines = {}
    for name, line in finished.items():
        if _is_outdated(line, prepared):
            outdated.append(name)
        else:
            lines[name] = line
    lines |= _running_lines(seconds_of_running)
    all_lines = _with_pending(lines, prepared, jobs)
    status = _of_lines(prepared.folder, list(all_lines.values()), alive=alive)
    status.reasons += [f"{name} was edited after its last results" for name in outdated]
    return status


def _is_outdated(line: TaskStatus, prepared: Prepared) -> bool:
    """Returns whether a task was edited after its results were written."""
    return line.written is not None and prepared.edited_since(line.name, line.written)


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


def _runs_at(place: Path, jobs: list[Job]) -> tuple[list[RunFolder], list[Path]]:
    """The runs of the commands of a preparation.

    Else the newest below a folder; and those beside them.
    """
    if not jobs:
        return _newest(place)
    return [RunFolder.of(job) for job in jobs], []


def _started(runs: list[RunFolder]) -> list[RunFolder]:
    return [run for run in runs if (run.path / "job.json").is_file()]


def _is_any_running(runs: list[RunFolder]) -> bool:
    return any(run.is_running() for run in _started(runs))


def _is_newest(started: list[RunFolder], output: Path) -> bool:
    """Tells whether no results were written by hand after the runs that we started had ended."""
    if not started:
        return False
    files = manual_runs.results_files(output)
    newest = max((file.stat().st_mtime for file in files), default=0.0)
    last_end = max(state_changed(run.path) for run in started)
    return newest < last_end + _MOMENT


def _of_lines(place: Path, lines: list[TaskStatus], *, alive: bool) -> RunStatus:
    """The command of one model that was started by hand."""
    statuses = {line.status for line in lines}
    if alive:
        phase = "running, started by hand"
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
    for job in jobs:
        names = manual_runs.resolve(job.leaves or job.tasks, prepared.groups)
        pasted = _pasted(job, names, prepared)
        pending = [_pending(name, categories) for name in names if name not in pasted]
        lines += _named(job, [*pasted.values(), *pending])
    done = sum(line.status == DONE for line in lines)
    if alive:
        process = "running, started by hand"
    elif done:
        process = "no process"
    else:
        process = _NOT_STARTED
    phase = f"{process}: {done} of {len(lines)} tasks of all models done"
    return RunStatus(prepared.folder, phase, in_order(lines), alive=alive)


def _named(job: Job, lines: list[TaskStatus]) -> list[TaskStatus]:
    """Lines with the name of the model in front, where a preparation has several."""
    if not job.label:
        return lines
    return [replace(line, name=f"{job.label}/{line.name}") for line in lines]


def _newest(place: Path) -> tuple[list[RunFolder], list[Path]]:
    """The newest run below an output folder, and the runs beside it.

    With the other commands of its preparation.
    """
    run_folders = _run_folders(place)
    if not run_folders:  # the folder of one model in an output folder
        beside = _run_folders(place.parent)
        run_folders = [run for run in beside if _writes_to(run, place)]
    run_folders.sort(key=state_changed)
    if not run_folders:
        return [], []
    jobs = {run: RunFolder(run).job() for run in run_folders}
    last = jobs[run_folders[-1]]
    same: list[RunFolder] = []
    others: list[Path] = []
    for run, job in jobs.items():
        if job.data == last.data and job.include_path == last.include_path:
            same.append(RunFolder(run))
        else:
            others.append(run)
    return same, others


def _writes_to(run: Path, place: Path) -> bool:
    """Returns whether the results of a run lie in a folder."""
    results = Path(RunFolder(run).state().results)
    return results.parent == place


def _run_folders(output: Path) -> list[Path]:
    return [job.parent for job in runs_in(output).glob("*/job.json")]


def _of_runs(
    place: Path, runs: list[RunFolder], others: list[Path], jobs: list[Job] | None = None
) -> RunStatus:
    """The commands that we started, or of which another one was."""
    jobs = jobs or [run.job() for run in runs]
    whole = RunStatus(place, phase="", tasks=[], alive=False, other_runs=others)
    phases = []
    for run, job in zip(runs, jobs, strict=True):
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
    if not state.units:
        names = _expect_all(state, job, prepared)
        pasted = _pasted(job, names, prepared) if state.phase == _NOT_STARTED else {}
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


def _expect_all(state: State, job: Job, prepared: Prepared | None) -> list[str]:
    """Gives a run that has not yet cut its tasks one unit per task, and returns their names."""
    groups = {} if prepared is None else prepared.groups
    names = manual_runs.resolve(job.leaves or job.tasks, groups)
    state.units = [Unit(name=name, task=name, rows=0) for name in names]
    if state == State(units=state.units):
        state.phase = _NOT_STARTED
    return names


def _pasted(job: Job, names: list[str], prepared: Prepared | None) -> dict[str, TaskStatus]:
    """Lines of tasks whose results lie there without our start.

    The results are of this run, although we did not start their command.
    """
    if not job.run or prepared is None:
        return {}
    prepared_as = {command.name: command.run or prepared.run for command in prepared.commands}
    runs = runs_that_count(prepared, prepared_as.get(job.name, job.run))
    lines = manual_runs.finished(job.output_path, since=math.inf, runs=runs)
    return {
        name: lines[name]
        for name in names
        if name in lines and not _is_outdated(lines[name], prepared)
    }


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
