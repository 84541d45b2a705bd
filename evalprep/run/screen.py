"""A run under way, for people: a live table on a terminal, a line per change elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from evalprep.results import DONE, FAILED, PENDING, RUNNING, State
from evalprep.run.live import Show
from evalprep.status import SYMBOLS, TaskStatus, duration, table_lines, task_lines
from evalprep.terminal import console

_STYLES = {
    SYMBOLS[FAILED]: "not bold red",
    SYMBOLS[DONE]: "not bold green",
    SYMBOLS[RUNNING]: "not bold cyan",
}


@contextlib.contextmanager
def showing(*, silent: bool) -> Iterator[Show]:
    """Gives the function that shows a state; what it showed last stays on the screen."""
    if silent:
        yield lambda _state, _percent, _speed: None
    elif sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "unknown"}:
        table = _LiveTable()
        try:
            yield table.show
        finally:
            table.end()
    else:
        yield _Lines().show


class _Lines:
    """Prints what changed since the last look."""

    def __init__(self) -> None:
        self.phase = ""
        self.seen: dict[str, str] = {}

    def show(self, state: State, _percent: int | None, _speed: str = "") -> None:
        """Prints new lines."""
        if state.phase != self.phase:
            self.phase = state.phase
            print(state.phase, flush=True)
        for unit in state.units:
            if self.seen.get(unit.name) != unit.status and (
                unit.status != PENDING or unit.name in self.seen
            ):
                parts = [f"{SYMBOLS[unit.status]} {unit.name}, {unit.rows} rows"]
                if unit.is_done:
                    if unit.seconds is not None:
                        parts.append(f"{unit.seconds:.1f} s")
                    if unit.score is not None:
                        parts.append(f"{unit.metric} {unit.score:.4f}")
                print("  ".join(parts), flush=True)
            self.seen[unit.name] = unit.status


class _LiveTable:
    """A table that is drawn anew in place; it never grows higher than the terminal."""

    def __init__(self) -> None:

        self.console = console()
        self.size = self.console.size
        self.last: State | None = None
        self._start()

    def _start(self) -> None:
        from rich.live import Live

        self.live = Live(console=self.console, auto_refresh=False, transient=True)
        self.live.start()

    def show(self, state: State, percent: int | None, speed: str = "") -> None:
        """Draws it."""
        if self.console.size != self.size:
            # The terminal has broken the old lines anew; where they begin now is not known.
            self.live.stop()
            self.console.clear()
            self.size = self.console.size
            self._start()
        self.last = state
        self.live.update(
            table(state, percent, speed, width=self.size.width, room=self.size.height - 5),
            refresh=True,
        )

    def end(self) -> None:
        """Leaves the whole table on the screen."""
        self.live.stop()
        if self.last is not None and self.last.units:
            self.console.print(table(self.last, None, width=self.size.width))


def table(
    state: State, percent: int | None, speed: str = "", *, width: int, room: int | None = None
) -> Any:
    """The tasks of a run in the order in which they run.

    Args:
        state: What is done.
        percent: How far the engine is with the unit that runs.
        speed: How fast it is, in words.
        width: Characters in a line.
        room: Number of tasks that can be shown; None for all.
    """
    from rich.text import Text

    lines = task_lines(state.units, scores=state.scores)
    shown, hidden = _fitting(lines, room)
    text = Text(_title(state, lines, percent, speed), style="bold")
    for line in table_lines(shown, width):
        text.append(f"\n{line}", style=_STYLES.get(line[:1], "not bold"))
    if hidden:
        text.append(
            f"\nand {', '.join(f'{count} {status}' for status, count in hidden.items())}",
            style="not bold",
        )
    return text


def _title(state: State, lines: Sequence[TaskStatus], percent: int | None, speed: str) -> str:
    parts = [state.phase]
    if state.units:
        parts.append(f"{state.count(DONE)} of {len(state.units)} units done")
    if state.phase == RUNNING:
        if percent is not None:
            parts.append(f"this one at {percent} %")
        if speed:
            parts.append(speed)
        parts.append(duration(time.time() - state.started))
        remaining = [
            max(0.0, line.estimate - (line.seconds or 0.0))
            for line in lines
            if line.estimate is not None
        ]
        if len(remaining) == len(lines):
            parts.append(f"about {duration(sum(remaining))} left")
    return ", ".join(parts)


def _fitting(
    lines: Sequence[TaskStatus], room: int | None
) -> tuple[list[TaskStatus], Counter[str]]:
    """The lines that there is room for, in order, and the count of the others by status.

    What runs is shown first of all, then what failed, what comes next, and what was done last.
    """
    if room is None or len(lines) <= room:
        return list(lines), Counter()
    by_status: defaultdict[str, list[int]] = defaultdict(list)
    for place, line in enumerate(lines):
        by_status[line.status].append(place)
    urgent = by_status[RUNNING] + by_status[FAILED]
    pending = by_status[PENDING]
    last_done = by_status[DONE][::-1]
    room_left = max(0, room - len(urgent))
    # What is done gets half of the room that is left, and what the pending tasks do not need.
    room_for_done = max(room_left // 2, room_left - len(pending))
    others = [*last_done[:room_for_done], *pending]
    by_urgency = [*urgent, *others[:room_left]]
    chosen = set(by_urgency[: max(1, room)])
    shown = [line for place, line in enumerate(lines) if place in chosen]
    hidden = Counter(line.status for place, line in enumerate(lines) if place not in chosen)
    return shown, hidden
