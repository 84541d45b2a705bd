"""CPU time that a scorer may take for one row.

A pattern of somebody else's can take for ever on one reply.

The engine of `re` looks for signals while it matches, so that a timer of the process ends a match
as it ends Python code. What runs in other processes (graders under limits of their own) does not
count.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

SECONDS = 20.0  # for one row; scorers take milliseconds, the slowest of lm-eval's own a few seconds
MOST_STOPS = 3  # rows, after which a scorer is not tried any more
_AGAIN = 1.0  # seconds until it is told once more, where it went on


class Overtime(BaseException):
    """A scorer was stopped; no `Exception`, which scorers catch."""


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Stops the block after so much CPU time; only in a main thread of a system with such timers.

    Raises:
        Overtime: it was stopped.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    def stop(*_: object) -> None:
        raise Overtime

    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
