"""A bound on the CPU time of code that we did not write."""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
import time
from collections.abc import Iterator


class TimeBoundError(BaseException):
    """Raised inside code that used up its CPU time.

    No `except Exception` of that code swallows it.
    """


class LeavesError(Exception):
    """Raised in place of the end of this process, where code of others calls `sys.exit`."""


@contextlib.contextmanager
def cpu_bound(seconds: float) -> Iterator[None]:
    """Stops the block after a number of CPU seconds of this process.

    CPU time and not wall-clock time, so that the outcome does not depend on what else the machine
    does. Python's regular expression engine looks for signals while it works, so a pattern that
    backtracks for ever is stopped too; a single long operation on big integers is not. Outside of
    the main thread there is no bound.

    Raises:
        TimeBoundError: the bound was reached.
        LeavesError: the block called `sys.exit`.
    """
    if threading.current_thread() is not threading.main_thread():
        with _stay():
            yield
        return

    def stop(*_: object) -> None:
        raise TimeBoundError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with _stay():
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _stay() -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        raise LeavesError(f"calls sys.exit({error.code!r})") from None


def cpu_seconds() -> float:
    """CPU time of this process and of every process that it started.

    Processes that still run are included.
    """
    import psutil

    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = child.cpu_times()
            total += times.user + times.system
    return total
