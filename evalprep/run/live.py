"""Start the worker, follow it, stop it cleanly."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO

from evalprep.run.folder import RunFolder, State
from evalprep.run.job import Job

POLL_SECONDS = 0.5
GRACE_SECONDS = 20.0
_PERCENT = re.compile(rb"(\d{1,3})%\|")
Show = Callable[[State, "int | None"], None]


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
    with folder.lock() as lock, folder.log.open("ab") as log:
        process = _start(job, folder, log, lock, shard_rows)
        try:
            with _stop_signals():
                while process.poll() is None:
                    show(folder.state(), log_percent(folder))
                    time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            stop(process)
            _mark(folder, "interrupted", "")
            show(folder.state(), None)
            return 130
        finally:
            if process.poll() is None:
                stop(process)
        state = folder.state()
        if process.returncode and state.phase not in {"failed", "interrupted", "done"}:
            _mark(folder, "failed", f"the process ended with {_reason(process.returncode)}; see {folder.log}")
        show(folder.state(), None)
    return 0 if folder.state().phase == "done" else 1


def _start(job: Job, folder: RunFolder, log: IO[bytes], lock: IO[str], shard_rows: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "evalprep.run.worker", str(folder.path), str(shard_rows)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1", **job.env}
    # A session of its own: Ctrl-C reaches this process alone, which then ends the worker and all that it started.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
        pass_fds=[lock.fileno()],
    )


@contextlib.contextmanager
def _stop_signals() -> Iterator[None]:
    """Take SIGTERM and SIGHUP (a closed terminal, a scheduler's end) like Ctrl-C."""

    def stop_now(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop_now) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the worker and everything that it started; first kindly."""
    for number, patience in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # engine processes that outlived the worker


def _mark(folder: RunFolder, phase: str, message: str) -> None:
    """Say in the state how the worker ended, when it could not do so itself."""
    state = folder.state()
    state.phase, state.message = phase, message or state.message
    for unit in state.units:
        if unit.status == "running":
            unit.status, unit.message = "pending" if phase == "interrupted" else "failed", message
    folder.save(state)


def _reason(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def log_percent(folder: RunFolder) -> int | None:
    """The last progress bar that lm-eval or the engine wrote into the log."""
    try:
        with folder.log.open("rb") as handle:
            handle.seek(max(0, handle.seek(0, os.SEEK_END) - 4096))
            found = _PERCENT.findall(handle.read())
    except OSError:
        return None
    return int(found[-1]) if found else None
