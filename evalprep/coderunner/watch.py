"""What the processes of a room use, read from /proc while they run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_READY = frozenset("RD")  # running or waiting for a processor, or for a disk


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What was seen: CPU time of all processes that are there, and whether one of them has work."""

    cpu_seconds: float
    busy: bool


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has ended meanwhile
        return []


def usage(pid: int) -> Usage:
    """Read what a process and all below it use; those that have ended no longer count."""
    ticks, busy, waiting = 0, False, [pid]
    while waiting:
        one = waiting.pop()
        waiting += _children(one)
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
        busy = busy or fields[0] in _READY
    return Usage(cpu_seconds=ticks / _TICKS, busy=busy)
