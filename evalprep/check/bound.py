"""A bound on the CPU time of code that we did not write."""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
import time
from collections.abc import Iterator


class TimeBoundError(BaseException):
    """Raised inside code that used up its CPU time; no `except Exception` of that code swallows it."""


@contextlib.contextmanager
def cpu_bound(seconds: float) -> Iterator[None]:
    """Stop the block after a number of CPU seconds of this process.

    CPU time and not wall-clock time, so that the outcome does not depend on what else the machine does. Python's
    regular expression engine looks for signals while it works, so a pattern that backtracks for ever is stopped too;
    a single long operation on big integers is not. Outside of the main thread there is no bound.

    Raises:
        TimeBoundError: the bound was reached.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeBoundError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def cpu_seconds() -> float:
    """CPU time of this process and of every process that it started, also of those that still run."""
    import psutil

    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = child.cpu_times()
            total += times.user + times.system
    return total
