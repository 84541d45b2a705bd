"""Which functions of evalprep a test calls, also in the processes that it starts.

As a plugin of pytest it writes one line per test to the file that MUTATION_SEEN names; as
`sitecustomize` of a copied project it does the same for each process that a test starts. It imports
nothing of the project. Processes that a fork server starts for tests are followed as well.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from multiprocessing import util
from pathlib import Path
from types import FrameType
from typing import Any

_calls: set[tuple[str, str]] = set()
#: What may hold a mutant; a path starts with one of these below the project's root.
PACKAGES = ("evalprep/", "custom_metrics/", "task_templates/")
_root = ["/nowhere/"]


def _called(frame: FrameType, _event: str, _argument: object) -> None:
    code = frame.f_code
    if code.co_filename.startswith(_root[0]):
        _calls.add((code.co_filename, code.co_qualname))


def _taken() -> set[str]:
    """What was called since the last time, as `evalprep/x.py:Class.method`."""
    start = len(_root[0])
    places = {f"{file[start:]}:{name}" for file, name in list(_calls)}
    _calls.clear()
    return {place for place in places if place.startswith(PACKAGES)}


def trace() -> None:
    """Note each call from now on.

    Frames are not followed line by line, so tests stay nearly as fast as they were.
    """
    _root[0] = os.environ["MUTATION_ROOT"] + "/"
    sys.settrace(_called)
    threading.settrace(_called)


def follow_child() -> None:
    """In a process that a test started: trace, and leave a file when it ends."""
    folder = Path(os.environ["MUTATION_CHILDREN"])
    owner = os.getpid()

    def leave() -> None:
        (folder / str(os.getpid())).write_text("\n".join(_taken()))

    def leave_if_owner() -> None:
        if os.getpid() == owner:
            leave()

    def follow_fork(_: object) -> None:
        _calls.clear()
        util.Finalize(None, leave, exitpriority=0)

    atexit.register(leave_if_owner)
    util.register_after_fork(follow_child, follow_fork)  # of the server of tests/processes.py
    trace()


class Plugin:
    """Writes for each test how it ended, how long it took, and what it called."""

    def __init__(self) -> None:
        self._file = Path(os.environ["MUTATION_SEEN"])
        self._children = Path(os.environ["MUTATION_CHILDREN"])
        self._shared: dict[str, set[str]] = {}  # fixtures serve later tests of their file too
        self._now: dict[str, Any] = {}

    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self._now = {"passed": True, "seconds": 0.0, "seen": set()}
        _calls.clear()
        trace()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test has ended: its fixtures, itself, or the clearing up."""
        called = _taken()
        for path in self._children.iterdir():
            called |= set(path.read_text().split("\n")) - {""}
            path.unlink()
        if report.when == "setup":
            self._shared.setdefault(report.fspath, set()).update(called)
        self._now["seen"] |= called
        self._now["passed"] &= report.passed
        self._now["seconds"] += report.duration
        if report.when == "teardown":
            seen = sorted(self._now["seen"] | self._shared[report.fspath])
            line = {"test": report.nodeid, **self._now, "seen": seen}
            with self._file.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "sitecustomize" and "MUTATION_CHILDREN" in os.environ:
    follow_child()
