"""What a run is doing or has done, task by task, also for runs that were started by hand."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.run.folder import DONE, FAILED, PENDING, RUNNING, RunFolder, State, Unit

SYMBOLS = {
    DONE: "\N{CHECK MARK}",
    FAILED: "\N{BALLOT X}",
    PENDING: "\N{BULLET OPERATOR}",
    RUNNING: "\N{WHITE CIRCLE WITH UPPER RIGHT QUADRANT}",
}
_CUT = 60


@dataclass
class TaskStatus:
    """One line of the table.

    Attributes:
        name: Task.
        status: done, failed, pending or running.
        seconds: Measured time, of a running task since its start.
        estimate: Expected time, None when nothing is known.
        score: Primary metric.
        metric: Its name.
        category: Pack or family, from the task's metadata.
        message: Why it failed.
        progress: `done/all` units of a task that is cut.
    """

    name: str
    status: str
    seconds: float | None = None
    estimate: float | None = None
    score: float | None = None
    metric: str = ""
    category: str = ""
    message: str = ""
    progress: str = ""

    def runtime(self) -> str:
        """The time in words, as a measured or an estimated one."""
        if self.status == RUNNING and self.seconds is not None:
            return f"(running) {duration(self.seconds)}" + (f" / {duration(self.estimate)}" if self.estimate else "")
        if self.status == DONE and self.seconds is not None:
            return duration(self.seconds)
        return f"(estimated) {duration(self.estimate)}" if self.estimate else ""

    def result(self) -> str:
        """The score, or the end of the error."""
        if self.status == FAILED:
            last = self.message.strip().splitlines()[-1] if self.message.strip() else "no message"
            return last[:_CUT] + ("..." if len(last) > _CUT else "")
        return f"{self.score:.4f}" if self.score is not None else ""


@dataclass
class RunStatus:
    """The whole table.

    Attributes:
        where: The folder that was asked about.
        phase: What the run as a whole does, in words.
        tasks: Lines, sorted by status, category and name.
        alive: Whether a process of this run exists.
    """

    where: Path
    phase: str
    tasks: list[TaskStatus]
    alive: bool

    def as_dict(self) -> dict[str, Any]:
        """The same as data, for `--json`."""
        return {
            "where": str(self.where),
            "phase": self.phase,
            "alive": self.alive,
            "tasks": [vars(task) for task in self.tasks],
        }


def duration(seconds: float) -> str:
    """Time for people, rounded up.

    >>> duration(12.2), duration(61), duration(5700)
    ('13 s', '2 min', '1 hr, 35 min')
    """
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} hr, {minutes % 60} min"


def read_status(path: Path) -> RunStatus:
    """Look at an output folder, a work folder, or one run.

    Raises:
        BadInput: nothing of a run is there, and no process writes there.
    """
    place = path.resolve()
    folder = _own_run(place)
    if folder is not None:
        return _of_state(place, folder)
    files = _finished_by_hand(place)
    processes = harness_processes(place)
    if not files and not processes:
        raise BadInput(
            Problem(
                what="no run there and no lm_eval process that writes there",
                where=str(path),
                fix="name the output_path of the run, or the work folder",
            )
        )
    tasks = [*files, *(TaskStatus(name, RUNNING, seconds=seconds) for names, seconds in processes for name in names)]
    names = {task.name: task for task in tasks if task.status == DONE}
    running = [task for task in tasks if task.status == RUNNING]
    return RunStatus(
        place,
        "running, started by hand" if processes else "done, started by hand",
        _sorted([*names.values(), *running]),
        alive=bool(processes),
    )


def _own_run(place: Path) -> RunFolder | None:
    """The newest run of ours: the folder itself, below it, or the output folder of a prepared work folder."""
    if (place / "state.json").is_file() and (place / "job.json").is_file():
        return RunFolder(place)
    roots = [place, place.parent]
    manifest = _json(place / "manifest.json")
    output = manifest.get("config", {}).get("output_path") if manifest else None
    if isinstance(output, str):
        roots = [Path(output)]
    found = [job.parent for root in roots for job in root.glob(".evalprep/runs/*/job.json")]
    if roots[0] == place and not list(place.glob(".evalprep/runs/*/job.json")):
        found = [one for one in found if _published_at(one, place)]
    # Results that somebody made by hand after our newest run are newer news.
    newest = max(found, key=_changed, default=None)
    if (
        newest is None
        or max((one.stat().st_mtime for one in place.glob("*/results_*.json")), default=0.0) > _changed(newest) + 60
    ):
        return None
    return RunFolder(newest)


def _published_at(run: Path, place: Path) -> bool:
    return str(_json(run / "state.json").get("results", "")).startswith(str(place))


def _changed(run: Path) -> float:
    state = run / "state.json"
    return state.stat().st_mtime if state.exists() else run.stat().st_mtime


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _of_state(place: Path, folder: RunFolder) -> RunStatus:
    state, alive = folder.state(), folder.is_running()
    job = folder.job()
    categories = _categories(Path(job.include_path))
    units = state.units or [Unit(name=name, task=name, rows=0) for name in job.tasks]
    if not alive and state.phase not in {"done", "failed", "interrupted"}:
        state.phase = "ended without a word" if state.units or state.pid else "not started"
        for unit in units:
            if unit.status == RUNNING:
                unit.status, unit.message = (
                    FAILED,
                    f"the process is gone; `evalprep run` goes on from here (log: {folder.log})",
                )
    return RunStatus(place, _phase(state), _sorted(task_lines(units, categories)), alive)


def _phase(state: State) -> str:
    done = sum(unit.status == DONE for unit in state.units)
    text = f"{state.phase}, {done} of {len(state.units)} units done" if state.units else state.phase
    return f"{text}: {state.message}" if state.message else text


def task_lines(units: Iterable[Unit], categories: dict[str, str] | None = None) -> list[TaskStatus]:
    """Units as one line per task, with estimates from the rows per second of what is done."""
    by_task: dict[str, list[Unit]] = {}
    for unit in units:
        by_task.setdefault(unit.task, []).append(unit)
    measured = [
        unit for group in by_task.values() for unit in group if unit.status == DONE and unit.seconds and unit.rows
    ]
    pace = sum(unit.seconds or 0.0 for unit in measured) / sum(unit.rows for unit in measured) if measured else None
    lines = []
    for name, group in by_task.items():
        done = [unit for unit in group if unit.status == DONE]
        running = next((unit for unit in group if unit.status == RUNNING), None)
        failed = next((unit for unit in group if unit.status == FAILED), None)
        status = RUNNING if running else FAILED if failed else DONE if len(done) == len(group) else PENDING
        spent = sum(unit.seconds or 0.0 for unit in done) if done else None
        if running is not None and running.started is not None:
            spent = (spent or 0.0) + max(0.0, time.time() - running.started)
        own = [unit for unit in done if unit.seconds and unit.rows]
        rate = sum(unit.seconds or 0.0 for unit in own) / sum(unit.rows for unit in own) if own else pace
        rows = sum(unit.rows for unit in group)
        scored = [unit for unit in done if unit.score is not None]
        weight = sum(unit.rows for unit in scored)
        lines.append(
            TaskStatus(
                name,
                status,
                spent,
                rate * rows if rate is not None and rows else None,
                sum((unit.score or 0.0) * unit.rows for unit in scored) / weight
                if weight and len(done) == len(group)
                else None,
                scored[0].metric if scored else "",
                (categories or {}).get(name, ""),
                failed.message if failed else "",
                f"{len(done)}/{len(group)}" if len(group) > 1 else "",
            )
        )
    return lines


def _sorted(lines: list[TaskStatus]) -> list[TaskStatus]:
    """By symbol, category and name, descending, so that what needs attention comes first."""
    return sorted(lines, key=lambda line: (SYMBOLS[line.status], line.category, line.name), reverse=True)


def _categories(work_dir: Path) -> dict[str, str]:
    tasks = _json(work_dir / "manifest.json").get("tasks")
    return {name: str(facts.get("pack", "")) for name, facts in (tasks if isinstance(tasks, dict) else {}).items()}


def _finished_by_hand(place: Path) -> list[TaskStatus]:
    """Tasks in the newest results file of each kind below a folder."""
    lines: dict[str, TaskStatus] = {}
    files = [path for pattern in ("results_*.json", "*/results_*.json") for path in place.glob(pattern)]
    for path in sorted(files, key=lambda one: one.stat().st_mtime):
        data = _json(path)
        seconds = data.get("total_evaluation_time_seconds")
        found = data.get("configs")
        configs: dict[str, Any] = found if isinstance(found, dict) else {}
        for name, values in data.get("results", {}).items():
            if name not in configs:
                continue  # a group
            metadata = configs[name].get("metadata") or {}
            scores = {
                key: value
                for key, value in values.items()
                if "," in key and "_stderr" not in key and isinstance(value, int | float)
            }
            wanted = f"{metadata.get('primary_metric')},{metadata.get('primary_filter')}"
            key = wanted if wanted in scores else next(iter(scores), "")
            # lm-eval measures the call as a whole; it is the task's own time only when it ran alone.
            alone = len(configs) == 1 and seconds is not None
            lines[name] = TaskStatus(
                name,
                DONE,
                float(seconds or 0) if alone else None,
                None,
                scores.get(key),
                key,
                str(metadata.get("pack", "")),
            )
    return list(lines.values())


def harness_processes(place: Path) -> list[tuple[list[str], float]]:
    """Live lm_eval processes that write to a folder: their task names, and how long they have run."""
    import psutil

    found: list[tuple[list[str], float]] = []
    for process in psutil.process_iter(["cmdline", "cwd", "create_time", "ppid"]):
        words = process.info.get("cmdline") or []
        if not any(
            Path(word).name in {"lm_eval", "lm-eval"} or word in {"lm_eval", "lm_eval.__main__"} for word in words[:4]
        ):
            continue
        output, tasks = _argument(words, "--output_path", "-o"), _argument(words, "--tasks", "-t")
        if (config := _argument(words, "--config", "-C")) is not None:
            output, tasks = _from_config(Path(process.info.get("cwd") or "/") / config, output, tasks)
        if output is None or tasks is None:
            continue
        target = (Path(process.info.get("cwd") or "/") / output).resolve()
        if target == place or place in target.parents or target in place.parents:
            names = [name for name in tasks.replace(" ", ",").split(",") if name]
            found.append((names, time.time() - float(process.info["create_time"])))
    return found


def _argument(words: list[str], *names: str) -> str | None:
    for number, word in enumerate(words):
        if word in names and number + 1 < len(words):
            return words[number + 1]
        for name in names:
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
    return None


def _from_config(path: Path, output: str | None, tasks: str | None) -> tuple[str | None, str | None]:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return output, tasks
    data = data if isinstance(data, dict) else {}
    names = data.get("tasks")
    listed = ",".join(map(str, names)) if isinstance(names, list) else names
    return output or data.get("output_path"), tasks or listed


def table_text(status: RunStatus) -> str:
    """The table as plain lines."""
    rows = [("", "name", "runtime", "result", "category")]
    rows += [
        (
            SYMBOLS[task.status],
            task.name + (f" ({task.progress})" if task.progress else ""),
            task.runtime(),
            task.result(),
            task.category,
        )
        for task in status.tasks
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    legend = "  ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items())
    return "\n".join([*lines, "", f"{stamp}  {status.where}", status.phase, legend])
