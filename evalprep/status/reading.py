"""What a run is doing or has done, task by task, also for runs that were started by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping, read_object
from evalprep.packs.manifest import plan_of, read_manifest
from evalprep.status import by_hand
from evalprep.status.folder import DONE, FAILED, PENDING, RUNNING, RunFolder, State, Unit
from evalprep.status.job import Job, read_jobs
from evalprep.status.lines import SYMBOLS, TaskStatus, in_order, table_lines, task_lines
from evalprep.status.log import failures

_OWN_END = frozenset({"done", "failed", "interrupted"})
#: A run of ours writes its results a moment before it says that it is done.
_MOMENT = 60.0


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
        stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        lines = [*table_lines(self.tasks, width), "", f"{stamp}  {self.where}", self.phase]
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"log: {path}" for path in self.logs]
        if self.other_runs:
            lines.append(f"older runs of other configurations: {', '.join(path.name for path in self.other_runs)}")
        return "\n".join([*lines, "  ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items())])


def read_status(path: Path) -> RunStatus:
    """Look at an output folder, a work folder, or one run.

    Of an output folder the newest run is shown, with all commands of its preparation. A run by hand is shown where it
    is under way, or newer.

    Raises:
        BadInput: nothing of a run is there, and no process writes there.
    """
    place = path.resolve()
    if (place / "job.json").is_file():
        return _of_runs(place, [RunFolder(place)], [])
    manifest = read_manifest(place)
    output = Path(str(manifest["config"].get("output_path") or place)) if manifest else place
    jobs = read_jobs(place) if manifest else []
    wanted = [RunFolder.of(job) for job in jobs]
    runs, others = (wanted, []) if jobs else _newest(place)
    started = [run for run in runs if (run.path / "job.json").is_file()]
    if any(run.is_running() for run in started):
        return _of_runs(place, runs, others, jobs)
    since = (place / "manifest.json").stat().st_mtime if manifest else 0.0
    running = by_hand.processes(output)
    newest = max((file.stat().st_mtime for file in by_hand.results_files(output)), default=0.0)
    if started and not running and newest < max(_changed(run.path) for run in started) + _MOMENT:
        return _of_runs(place, runs, others, jobs)
    if any(job.label for job in jobs):
        return _of_models(place, jobs, alive=bool(running))
    lines = by_hand.finished(output, since=since, run=str((manifest or {}).get("run", "")))
    lines |= {name: TaskStatus(name, RUNNING, seconds) for name, seconds in running.items()}
    if manifest:
        categories = _categories(place)
        for name in by_hand.resolve((name for job in jobs for name in job.leaves), manifest.get("groups") or {}):
            lines.setdefault(name, TaskStatus(name, PENDING, category=categories.get(name, "")))
    if not lines:
        raise BadInput(
            Problem(
                what="no run there and no lm_eval process that writes there",
                where=str(path),
                fix="name the output_path of the run, or the work folder",
            )
        )
    what = {line.status for line in lines.values()}
    phase = "running, started by hand" if running else "done, started by hand" if what == {DONE} else "not started"
    if not running and what == {DONE, PENDING}:
        phase = "no process; not all tasks have results"
    return RunStatus(place, phase, in_order(list(lines.values())), alive=bool(running))


def _of_models(place: Path, jobs: list[Job], *, alive: bool) -> RunStatus:
    """The commands of several models that were all started by hand."""
    groups = (read_manifest(place) or {}).get("groups") or {}
    categories = _categories(place)
    lines: list[TaskStatus] = []
    for job in jobs:
        names = by_hand.resolve(job.leaves or job.tasks, groups)
        found = _pasted(job, names)
        pending = [TaskStatus(name, PENDING, category=categories.get(name, "")) for name in names if name not in found]
        lines += _named(job, [*found.values(), *pending])
    done = sum(line.status == DONE for line in lines)
    how = "running, started by hand" if alive else "no process" if done else "not started"
    phase = f"{how}: {done} of {len(lines)} tasks of all models done"
    return RunStatus(place, phase, in_order(lines), alive=alive)


def _named(job: Job, lines: list[TaskStatus]) -> list[TaskStatus]:
    """Lines with the name of the model in front, where a preparation has several."""
    return [replace(line, name=f"{job.label}/{line.name}") for line in lines] if job.label else lines


def _newest(place: Path) -> tuple[list[RunFolder], list[Path]]:
    """The newest run below an output folder with the other commands of its preparation, and the runs beside them."""
    found = [job.parent for job in place.glob(".evalprep/runs/*/job.json")]
    if not found:  # the folder of one model in an output folder
        found = [job.parent for job in place.parent.glob(".evalprep/runs/*/job.json")]
        found = [run for run in found if Path(RunFolder(run).state().results).parent == place]
    found.sort(key=_changed)
    if not found:
        return [], []
    jobs = {run: RunFolder(run).job() for run in found}
    last = jobs[found[-1]]
    same = [run for run in found if (jobs[run].data, jobs[run].include_path) == (last.data, last.include_path)]
    return [RunFolder(run) for run in same], [run for run in found if run not in same]


def _changed(run: Path) -> float:
    state = run / "state.json"
    return state.stat().st_mtime if state.exists() else run.stat().st_mtime


def _of_runs(place: Path, runs: list[RunFolder], others: list[Path], jobs: list[Job] | None = None) -> RunStatus:
    lines: list[TaskStatus] = []
    phases: list[str] = []
    whole = RunStatus(place, "", [], alive=False, other_runs=others)
    for number, run in enumerate(runs):
        job = jobs[number] if jobs else run.job()
        state, alive = run.state(), run.is_running()
        if not state.units:
            groups = read_object(Path(job.include_path) / "manifest.json").get("groups") or {}
            names = by_hand.resolve(job.leaves or job.tasks, groups)
            state.units = [Unit(name=name, task=name, rows=0) for name in names]
            state.phase = "not started" if state == State(units=state.units) else state.phase
            pasted = _pasted(job, names) if state.phase == "not started" else {}
            if len(pasted) == len(names):
                lines += _named(job, list(pasted.values()))
                phases.append("done, started by hand")
                continue
        if not alive and state.phase not in {*_OWN_END, "not started"}:
            _bury(state)
        lines += _named(job, task_lines(state.units, _categories(Path(job.include_path)), state.scores))
        phases.append(f"{state.phase}, {state.count(DONE)} of {len(state.units)} units done")
        whole.alive |= alive
        if state.phase == "failed" and not alive:
            whole.failed = True
            whole.reasons += failures(run, state)
        if run.log.exists():
            whole.logs.append(run.log)
    whole.phase, whole.tasks = "; ".join(phases), in_order(lines)
    whole.failed |= any(line.status == FAILED for line in lines)
    return whole


def _pasted(job: Job, names: list[str]) -> dict[str, TaskStatus]:
    """Lines of tasks whose results of this run lie there although we did not start their command."""
    found = by_hand.finished(job.output_path, since=math.inf, run=job.run) if job.run else {}
    return {name: found[name] for name in names if name in found}


def _bury(state: State) -> None:
    """A worker that is gone without having said how it ended: killed, or its machine went down."""
    state.phase, state.message = "failed", "the process is gone; `evalprep run` goes on from here"
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status, unit.message = FAILED, state.message


#: Tags of a task by which people sort a table, the first that it has; else its pack.
_CATEGORY_TAGS = ("principle", "family", "category")


def _categories(work_dir: Path) -> dict[str, str]:
    manifest = read_manifest(work_dir) or {}
    packs = {name: str(facts.get("pack", "")) for name, facts in as_mapping(manifest.get("tasks")).items()}
    tasks = plan_of(manifest).tasks
    tagged = {
        name: next((str(task.tags[tag]) for tag in _CATEGORY_TAGS if tag in task.tags), "")
        for name, task in tasks.items()
    }
    return {name: tagged.get(name) or pack for name, pack in packs.items()}
