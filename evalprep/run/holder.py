"""The process that holds the model, seen from `evalprep run`.

It is started once per engine and gets command after command.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from evalprep.backends import environment, find_backend
from evalprep.run.channel import Channel
from evalprep.run.engine import engine_key
from evalprep.run.units import Cut
from evalprep.status import Job, RunFolder

GRACE_SECONDS = 20.0
#: Marks the worker and every process that comes of it; its value is the run folder for which it
# was started.
MARK = "EVALPREP_RUN"
_SETTLING_SECONDS = 5.0


@dataclass(frozen=True)
class Ended:
    """The end of a worker's work on a command.

    Attributes:
        code: 0 when every unit is done, else 1; of a process that ended without a word its exit
            code.
        broken: Why the engine is of no use any more; empty where it is.
        crashed: It ended under its work; another start may do better.
        phase: In which phase of the command.
    """

    code: int
    broken: str = ""
    crashed: bool = False
    phase: str = ""


class Worker:
    """One such process.

    Args:
        job: The command that it is started for.
        folder: Its run folder.
        replies: Files with the replies, where no model is to be loaded.
    """

    def __init__(self, job: Job, folder: RunFolder, replies: Sequence[Path] = ()) -> None:
        self.key = engine_key(job)
        self.mark = str(folder.path)
        self._ended = False
        ours, theirs = socket.socketpair()
        record = find_backend(job.model)
        fatal = record.fails_with if record is not None else frozenset()
        before = {name: value for name, value in os.environ.items() if name not in fatal}
        quiet = {"TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1"}
        # Python files of the current folder, such as a `random.py`, are none of the run's: not in
        # the worker, and not in what an engine starts.
        quiet["PYTHONSAFEPATH"] = "1"
        with theirs:
            # A session of its own: Ctrl-C reaches us alone, who then end the worker and all that it
            # started.
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "evalprep.run.worker", str(theirs.fileno())),
                    *map(str, replies),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment(before, quiet | job.env | {MARK: self.mark}),
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        self._channel = Channel(ours)
        assert self.process.stdout is not None
        self._log = _Log(self.process.stdout, folder.log)

    def begin(self, folder: RunFolder, lock: IO[str], cut: Cut, *, merge_only: bool) -> None:
        """Tells it to work on a command; it holds the lock of the folder until it is through."""
        self._log.go_on_in(folder.log)
        request = {"folder": str(folder.path), "cut": cut.as_list(), "merge_only": merge_only}
        with contextlib.suppress(OSError):  # it has ended; whoever waits for it will see
            self._channel.send(request, [lock.fileno()])

    def wait(self, seconds: float) -> Ended | None:
        """Waits for the end of the command; None where it goes on."""
        ready, _, _ = select.select([self._channel], [], [], seconds)
        if not ready:
            return None
        message = self._channel.receive()
        if message is not None:
            self._log.settle()
            return Ended(**message[0])
        self.end(lambda: False)
        code = self.process.returncode
        return Ended(code, f"the process ended with {_reason(code)}", crashed=True)

    def end(self, at_once: Callable[[], bool]) -> None:
        """Ends it and everything that it started: first kindly, then, or when asked, at once."""
        if self._ended:
            return
        self._ended = True
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            end = time.monotonic() + GRACE_SECONDS
            while self.process.poll() is None and time.monotonic() < end and not at_once():
                time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            # Also engine processes that outlived the worker.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._channel.socket.close()
        self._log.end()


def _reason(code: int) -> str:
    if code == -signal.SIGKILL:
        return "signal SIGKILL, as when the machine runs out of memory"
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


class _Log(threading.Thread):
    """Carries what a worker and its engine print into the log of the command that they work on."""

    def __init__(self, source: IO[bytes], place: Path) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._lock = threading.Lock()
        self._target: IO[bytes] = place.open("ab", buffering=0)
        self.start()

    def run(self) -> None:
        """Carries until the last process that prints is gone."""
        with self._source:
            while select.select([self._source], [], []):
                with self._lock:
                    content = os.read(self._source.fileno(), 1 << 16)
                    with contextlib.suppress(OSError):  # a full disk must not stop the model
                        self._target.write(content)
                if not content:
                    return

    def settle(self) -> None:
        """Waits until everything that was printed so far is in its log."""
        end = time.monotonic() + _SETTLING_SECONDS
        while self.is_alive() and time.monotonic() < end:
            with self._lock, contextlib.suppress(OSError, ValueError):
                (waiting,) = struct.unpack(
                    "i", fcntl.ioctl(self._source, termios.FIONREAD, b"\0" * 4)
                )
                if not waiting:
                    return
            time.sleep(0.01)

    def go_on_in(self, place: Path) -> None:
        """Writes into another log from now on."""
        with self._lock:
            self._target.close()
            self._target = place.open("ab", buffering=0)

    def end(self) -> None:
        """Writes the last of it."""
        self.join(_SETTLING_SECONDS)
        with self._lock:
            self._target.close()


class Holder:
    """Keeps the worker of the last engine until another engine is asked for.

    Two rarely fit one device.

    Args:
        replies: Files with the replies, where no model is to be loaded.
    """

    def __init__(self, replies: Sequence[Path] = ()) -> None:
        self.replies = tuple(replies)
        self.worker: Worker | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def of(self, job: Job, folder: RunFolder) -> Worker:
        """The worker for a command, as it is or a new one."""
        if self.worker is None or self.worker.key != engine_key(job):
            self.let_go()
            self.worker = Worker(job, folder, self.replies)
        return self.worker

    def has(self, job: Job) -> bool:
        """Returns whether the engine of a command is held."""
        return self.worker is not None and self.worker.key == engine_key(job)

    def let_go(self, at_once: Callable[[], bool] = lambda: False) -> None:
        """Ends the worker, if there is one."""
        if self.worker is not None:
            self.worker.end(at_once)
            self.worker = None


def end_orphans(folder: RunFolder) -> None:
    """Ends processes of an engine whose worker was killed.

    They hold the device, and maybe the run's lock.
    """
    marked = list(_marked({str(folder.path), folder.state().mark}))
    if not any("evalprep.run.worker" in words for _, words in marked):
        for number, _ in marked:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


def _marked(marks: set[str]) -> Iterator[tuple[int, list[str]]]:
    """Process number and command of what was started for a run, on this machine."""
    import psutil

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) in marks:
                yield process.pid, process.cmdline()
