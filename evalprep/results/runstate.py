"""The state that `evalprep run` records of a command: its units, and how far each is.

<output_path>/.evalprep/runs/<id>/state.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from evalprep.files import NotRead, is_stray, read_json, write_atomically

PENDING, RUNNING, DONE, FAILED = "pending", "running", "done", "failed"

_RUNS = ".evalprep/runs"
_STATE = "state.json"


@dataclass
class Unit:
    """One call of lm-eval.

    Attributes:
        name: Folder name.
        task: Task name.
        rows: Number of rows.
        first: Position of the first row; the unit is `rows` rows from there.
        whole: The unit is the whole task.
        status: One of PENDING, RUNNING, DONE, FAILED.
        seconds: How long it took; None before its end, and where replies of an earlier start were
            used again.
        requests: Requests that the model answered; None before its end.
        started: Unix time, None before its start.
        score: The task's primary metric over the unit.
        metric: Its name and filter.
        message: Why it failed.
        versions: Packages that made and scored the responses.
    """

    name: str
    task: str
    rows: int
    first: int = 0
    whole: bool = True
    status: str = PENDING
    seconds: float | None = None
    started: float | None = None
    score: float | None = None
    metric: str = ""
    message: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    requests: int | None = None

    @property
    def is_done(self) -> bool:
        """Returns whether it is finished."""
        return self.status == DONE

    @property
    def cut(self) -> tuple[str, int, int]:
        """Returns which rows it holds."""
        return self.task, self.first, self.rows


@dataclass
class State:
    """The content of state.json.

    Attributes:
        phase: starting, loading, running, merging, done, failed or interrupted.
        pid: The worker, None when none was started.
        started: Unix time of this start.
        units: All units in order; empty before the tasks are loaded.
        results: Published results file.
        scores: Task -> score and name of its primary metric, over all of its rows.
        message: Why it failed.
        loads: Seconds that loading the model took.
        log_start: Where in the log this start begins.
        mark: What marks the processes of this start.
        notes: Sentences for the user.
    """

    phase: str = "starting"
    pid: int | None = None
    started: float = 0.0
    units: list[Unit] = field(default_factory=list)
    results: str = ""
    scores: dict[str, tuple[float | None, str]] = field(default_factory=dict)
    message: str = ""
    loads: float | None = None
    log_start: int = 0
    mark: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Returns whether the command has its results, or the units of its shard."""
        return self.phase == DONE

    def count(self, status: str) -> int:
        """Returns how many units have a status."""
        return sum(unit.status == status for unit in self.units)

    def outcome(self, tasks: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """Task -> why it is not finished, and the finished tasks.

        Args:
            tasks: What the command was to run, for where it did not get so far as to load them.
        """
        failed = [unit for unit in self.units if unit.status == FAILED]
        # Of several units of a task the first to fail gives the reason.
        reasons = {unit.task: unit.message for unit in reversed(failed)}
        unfinished = {unit.task for unit in self.units if not unit.is_done}
        finished = {unit.task for unit in self.units} - unfinished
        if self.message:
            without_result = unfinished if self.units else tasks
            for name in without_result:
                reasons.setdefault(name, self.message)
        return reasons, finished


def runs_in(output: Path) -> Path:
    """Returns the folder that holds the run folders of an output folder."""
    return output / _RUNS


def output_of(run: Path) -> Path:
    """Returns the output folder that a run folder lies in.

    >>> output_of(runs_in(Path("out")) / "7c3f9a2b1d04").as_posix()
    'out'
    """
    return run.parents[2]


def last_start(run: Path) -> float:
    """Returns when a command was last started in a run folder, in seconds since the epoch.

    0 for a folder in which none has begun.
    """
    state = read_state(run)
    return 0.0 if state is None else state.started


def read_state(run: Path) -> State | None:
    """Returns the state that lies in a run folder; None where none can be read."""
    try:
        return msgspec.convert(read_json(run / _STATE), State)
    except (NotRead, OSError, ValueError):
        return None


def read_unit(file: Path) -> Unit | None:
    """Returns the finished unit that a file is of; None where none can be read."""
    try:
        return msgspec.convert(read_json(file), Unit)
    except (NotRead, OSError, ValueError):
        return None


def write_state(run: Path, state: State) -> None:
    """Replaces the state in a run folder in one step."""
    write_atomically(run / _STATE, json.dumps(asdict(state), indent=1))


def recorded_states(output: Path) -> Iterator[State]:
    """Yields the states of the runs that wrote into an output folder."""
    for run in sorted(runs_in(output).glob("*")):
        state = None if is_stray(run / _STATE, output) else read_state(run)
        if state is not None:
            yield state


def unpublished_runs(output: Path) -> Iterator[Path]:
    """Yields the folders of runs that have not written any results file yet."""
    for run in sorted(runs_in(output).glob("*")):
        state = None if is_stray(run / _STATE, output) else read_state(run)
        if state is not None and not state.results and not state.is_done:
            yield run
