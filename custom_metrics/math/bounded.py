"""A killable process for work that may not end: one JSON line in, one JSON line out.

The process is a plain `python -m custom_metrics.math.worker`: nothing of the caller is forked, so
it is safe after CUDA was initialised, from any thread, and inside any process pool. The limit is
CPU time, counted by the kernel for the worker alone (`ITIMER_PROF`), so that a verdict does not
depend on what else the machine is doing; a generous wall-clock limit only guards against a worker
that sleeps or is suspended.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

WALL_SECONDS = 120.0
"""Backstop; a worker on a machine with forty times as many busy processes as cores still ends
before it."""


class Stopped(Exception):  # noqa: N818 - an expected outcome
    """The worker was stopped at a limit; the message names it."""


class Worker:
    """One worker process, started on first use, reused, and replaced after a kill.

    Args:
        cpu_seconds: CPU time for one request.
        memory_mb: Data segment of the process.
    """

    def __init__(self, *, cpu_seconds: float, memory_mb: int) -> None:
        self.cpu_seconds = cpu_seconds
        self.memory_mb = memory_mb
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        _WORKERS.add(self)

    def ask(self, request: dict[str, Any], *, cpu_seconds: float | None = None) -> dict[str, Any]:
        """Sends one request and returns the reply.

        Args:
            request: What the worker is to do.
            cpu_seconds: CPU time for this request, if not the worker's usual one.

        Raises:
            Stopped: The limit was reached, or the worker died twice on this request.
        """
        limit = self.cpu_seconds if cpu_seconds is None else cpu_seconds
        line = json.dumps({**request, "cpu_seconds": limit}) + "\n"
        with self._lock:
            for _ in range(2):
                reply = self._exchange(line, limit)
                if reply is not None:
                    return reply
            raise Stopped("the worker process died")

    @property
    def pid(self) -> int | None:
        """Process id of the running worker, for measurements."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """Ends the process; the next request starts a new one."""
        with self._lock:
            self._end()

    def _exchange(self, line: str, limit: float) -> dict[str, Any] | None:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        backstop = threading.Timer(WALL_SECONDS, stop)
        backstop.daemon = True
        backstop.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
        except (BrokenPipeError, ValueError):
            answer = ""
        except BaseException:
            # An interruption: the reply that is still to come must not answer the next request.
            self._end()
            raise
        finally:
            backstop.cancel()
        if answer.endswith("\n"):
            reply: dict[str, Any] = json.loads(answer)
            if reply.pop("leaving", False):
                self._end()
            return reply
        self._end()
        if late.is_set():
            raise Stopped(f"stopped after {WALL_SECONDS:g} s of wall-clock time")
        if process.returncode == -int(getattr(signal, "SIGPROF", 27)):
            raise Stopped(f"stopped after {limit:g} s of CPU time")
        return None  # killed from outside, or out of memory: once more in a fresh process

    def _start(self) -> subprocess.Popen[str]:
        root = str(Path(__file__).resolve().parents[2])
        paths = [root, os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "PYTHONHASHSEED": "0",  # the algebra system's choices depend on it
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",  # thread stacks count as data
            "CUDA_VISIBLE_DEVICES": "",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "custom_metrics.math.worker", str(self.memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment,
            start_new_session=True,  # Ctrl-C goes to the caller, who closes the worker
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """Leaves the process to the parent after a fork; a child starts its own."""
        process = self._process
        self._process = None
        self._lock = threading.Lock()
        if process is None:
            return
        process.returncode = 0  # not our child: never wait for it
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    os.close(stream.fileno())
        _FORGOTTEN.append(process)  # its streams must not be closed a second time by the collector


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()
_FORGOTTEN: list[subprocess.Popen[str]] = []


def _close_all() -> None:
    for worker in list(_WORKERS):
        worker.close()


def _forget_all() -> None:
    for worker in list(_WORKERS):
        worker.forget()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
