"""Start the worker, follow it, stop it cleanly; leave no process behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Self

from evalprep.status.folder import FAILED, PENDING, RUNNING, RunFolder, State
from evalprep.status.job import Job
from evalprep.status.log import percent, speed

POLL_SECONDS = 0.5
GRACE_SECONDS = 20.0
INTERRUPTED = 130
#: Marks the worker and every process that comes of it; its value is the run folder.
MARK = "EVALPREP_RUN"
#: Takes the state, how far the engine is with what runs in per cent, and how fast.
Show = Callable[[State, "int | None", str], None]


def run_job(job: Job, folder: RunFolder, show: Show, *, shard_rows: int) -> int:
    """Run one command to its end.

    Args:
        job: The command.
        folder: Its run folder, already made.
        show: Called with the state and the per cent in the log, whenever something may have changed.
        shard_rows: Rows of one unit.

    Returns:
        0 when every unit is done, 1 when one failed, 130 when interrupted.

    Raises:
        BadInput: the run is under way elsewhere.
    """
    end_orphans(folder)
    with folder.lock() as lock, folder.log.open("ab") as log, _Signals() as signals:
        _begin(folder)
        process = _start(job, folder, log, lock, shard_rows)
        try:
            while process.poll() is None and not signals.count:
                show(folder.state(), percent(folder), speed(folder))
                time.sleep(POLL_SECONDS)
            interrupted = process.poll() is None
            if interrupted:
                state = folder.state()
                state.phase = "stopping (once more Ctrl-C ends the engine at once)"
                show(state, None, "")
        finally:
            stop(process, signals)
        state = folder.state()
        if interrupted:
            _mark(folder, "interrupted", "")
        elif process.returncode and state.phase not in {"failed", "interrupted", "done"}:
            _mark(folder, "failed", f"the process ended with {_reason(process.returncode)}")
        show(folder.state(), None, "")
    return INTERRUPTED if interrupted else int(folder.state().phase != "done")


def _begin(folder: RunFolder) -> None:
    """What failed or was cut off in an earlier start waits again."""
    state = folder.state()
    state.phase, state.message, state.pid, state.started = "starting", "", None, time.time()
    for unit in state.units:
        if unit.status in {RUNNING, FAILED}:
            unit.status, unit.message = PENDING, ""
    folder.save(state)


def _start(job: Job, folder: RunFolder, log: IO[bytes], lock: IO[str], shard_rows: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "evalprep.run.worker", str(folder.path), str(shard_rows)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1", **job.env}
    # A session of its own: Ctrl-C reaches this process alone, which then ends the worker and all that it started.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment | {MARK: str(folder.path)},
        start_new_session=True,
        pass_fds=[lock.fileno()],
    )


class _Signals:
    """Counts Ctrl-C, SIGTERM (a scheduler's end) and SIGHUP (a closed terminal) instead of raising in some line.

    A signal that is ignored stays so: that is what `nohup` and background jobs of shells ask for.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def _take(self, *_: object) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def stop(process: subprocess.Popen[bytes], signals: _Signals) -> None:
    """End the worker and everything that it started: first kindly, after a while or a second signal at once."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE_SECONDS
        while process.poll() is None and time.monotonic() < end and signals.count < 2:
            time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # also engine processes that outlived the worker
    process.wait()


def end_orphans(folder: RunFolder) -> None:
    """End processes of an engine whose worker was killed: they hold the device, and maybe the run's lock."""
    marked = list(_marked(str(folder.path)))
    if not any("evalprep.run.worker" in words for _, words in marked):
        for number, _ in marked:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


def _marked(folder: str) -> Iterator[tuple[int, list[str]]]:
    """Process number and command of what was started for a run, on this machine."""
    import psutil

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == folder:
                yield process.pid, process.cmdline()


def _mark(folder: RunFolder, phase: str, message: str) -> None:
    """Say in the state how the worker ended, when it could not do so itself."""
    state = folder.state()
    state.phase, state.message = phase, message or state.message
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status, unit.message = (FAILED, message) if message else (PENDING, "")
    folder.save(state)


def _reason(code: int) -> str:
    if code == -signal.SIGKILL:
        return "signal SIGKILL, as when the machine runs out of memory"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
