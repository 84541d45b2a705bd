"""Run one command: follow its worker, start another one where it crashed, stop it cleanly.

No process is left behind.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import IO, Self

from evalprep.results import DONE, FAILED, PENDING, RUNNING, State
from evalprep.run.holder import Ended, Holder, end_orphans
from evalprep.run.units import Cut
from evalprep.status import Job, RunFolder, percent, speed

POLL_SECONDS = 0.5
INTERRUPTED = 130
#: Starts in a row that may crash without having finished a unit. What crashes twice is not the
# fault of a task.
_CRASHES = 2
#: Phases in which a crash is the engine's own.
_BEFORE_UNITS = frozenset({"starting", "loading"})
#: Takes the state, how far the engine is with what runs in per cent, and how fast.
Show = Callable[[State, "int | None", str], None]


#: Runs the units of a command somewhere else; the last argument asks whether to stop.
Elsewhere = Callable[[Job, RunFolder, Show, Callable[[], bool]], None]


def run_job(
    job: Job,
    folder: RunFolder,
    show: Show,
    *,
    cut: Cut,
    holder: Holder,
    elsewhere: Elsewhere | None = None,
) -> tuple[int, str]:
    """Runs one command to its end.

    Args:
        job: The command.
        folder: Its run folder, already made.
        show: Called with the state and the per cent in the log, whenever something may have
            changed.
        cut: Rows of one unit, and the shard.
        holder: Where a loaded model is kept from command to command.
        elsewhere: What runs the units in place of the worker of this machine, which then only
            writes the files of the whole.

    Returns:
        0 when every unit is done, 1 when one failed, 130 when interrupted; and why its engine is of
        no use for other commands either, empty where it is.

    Raises:
        BadInput: the run is under way elsewhere.
    """
    end_orphans(folder)
    with folder.lock() as lock, _Signals() as signals:
        follow = partial(_follow, job, folder, show, signals, lock, cut, holder)
        _begin(folder)
        if elsewhere is None:
            ended = _run_here(follow, folder, signals)
        else:
            elsewhere(job, folder, show, lambda: signals.count > 0)
            ended = Ended(INTERRUPTED) if signals.count else follow(merge_only=True)
        if signals.count and not folder.state().is_done:
            _mark(folder, "interrupted", "")
        show(folder.state(), None, "")
    code = INTERRUPTED if signals.count else int(not folder.state().is_done)
    return code, ended.broken


def _run_here(follow: Callable[..., Ended], folder: RunFolder, signals: _Signals) -> Ended:
    """Lets workers of this machine run the units, until no further start can finish one."""
    crashes = 0
    while True:
        before = folder.state()
        ended = follow()
        if signals.count or not ended.crashed:
            return ended
        _mark(folder, "failed", ended.broken)
        done = folder.state().count(DONE)
        crashes = 0 if done > before.count(DONE) else crashes + 1
        if ended.phase in _BEFORE_UNITS or crashes == _CRASHES:
            # Finished units make results, unless that is where the engine has crashed.
            if done and ended.phase != "merging":
                follow(merge_only=True)
            return ended


def not_tried(folder: RunFolder, reason: str) -> int:
    """Say of a command why it was not started.

    What ended an earlier one would end it too. Its exit code is given.
    """
    _begin(folder)
    _mark(folder, "failed", f"not started, as an earlier command of this engine failed: {reason}")
    return 1


def _follow(
    job: Job,
    folder: RunFolder,
    show: Show,
    signals: _Signals,
    lock: IO[str],
    cut: Cut,
    holder: Holder,
    *,
    merge_only: bool = False,
) -> Ended:
    """Lets a worker work on the command, and see how that ends."""
    worker = holder.of(job, folder)
    folder.log.touch()
    state = folder.state()
    state.mark = worker.mark
    state.log_start = folder.log.stat().st_size
    state.phase = "starting"
    state.started = time.time()
    folder.save(state)
    worker.begin(folder, lock, cut, merge_only=merge_only)
    ended = None
    try:
        while ended is None and not signals.count:
            show(folder.state(), percent(folder), speed(folder))
            ended = worker.wait(POLL_SECONDS)
        if signals.count:
            state = folder.state()
            state.phase = "stopping (once more Ctrl-C ends the engine at once)"
            show(state, None, "")
    finally:
        if ended is None or ended.broken:
            holder.let_go(lambda: signals.count > 1)
    return replace(ended, phase=folder.state().phase) if ended else Ended(INTERRUPTED)


def _begin(folder: RunFolder) -> None:
    """Lets units wait again that failed or were cut off in an earlier start."""
    state = folder.state()
    state.phase = "starting"
    state.message = ""
    state.pid = None
    state.started = time.time()
    for unit in state.units:
        if unit.status in {RUNNING, FAILED}:
            unit.status = PENDING
            unit.message = ""
    folder.save(state)


def _mark(folder: RunFolder, phase: str, message: str) -> None:
    """Says in the state how the worker ended, when it could not do so itself."""
    state = folder.state()
    state.phase = phase
    state.message = message or state.message
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status, unit.message = (FAILED, message) if message else (PENDING, "")
    folder.save(state)


class _Signals:
    """Counts Ctrl-C, SIGTERM (a scheduler's end) and SIGHUP (a closed terminal); raises nothing.

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
