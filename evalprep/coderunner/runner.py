"""Runs a programme against its test, each in a room of its own.

Rooms are tried out before they are trusted.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import selectors
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from evalprep.coderunner.inside import pipe
from evalprep.coderunner.isolation import Isolation, NoIsolation, candidates
from evalprep.coderunner.programme import Limits, Outcome, Programme, Status
from evalprep.coderunner.room import MisuseError, Room
from evalprep.temporary import OwnFolder

_LOOK = 0.1  # seconds between two looks at what the rooms use
_PAUSES = 6  # times the longest wait at once: the longest that all waits may take together
_MISUSED = "it wrote where only its runner may"


class Session:
    """A candidate's room and a checker's room, and what goes between them.

    Calls go from the checker to the candidate, replies back; each call has one reply. The verdict
    comes from the checker alone, whose room the candidate cannot reach.
    """

    def __init__(
        self, programme: Programme, isolation: Isolation, limits: Limits, rooms: ExitStack
    ) -> None:
        self._limits = limits
        code = {"code": programme.code, "entry_point": programme.entry_point}
        test = {
            "prompt": programme.prompt,
            "test": programme.test,
            "entry_point": programme.entry_point,
        }
        self.candidate = rooms.enter_context(Room("candidate", isolation, limits, code))
        self.checker = rooms.enter_context(Room("checker", isolation, limits, test))
        self._selector = rooms.enter_context(selectors.DefaultSelector())
        for room in (self.candidate, self.checker):
            self._selector.register(room.output, selectors.EVENT_READ, room)
        self._loaded = False
        self._call: bytes | None = None  # a call that waits for the candidate to be loaded
        self._awaiting = False  # a call was sent, its reply has not come
        self._test_passed = False
        self._started = self._looked = time.monotonic()
        self._idle = 0.0  # seconds since something was done
        self._waited = 0.0  # all such seconds together

    def run(self) -> Outcome:
        """Carries frames until there is an outcome.

        Raises:
            OSError: a room could not be made.
        """
        outcome = None
        while outcome is None:
            # A room that has unsent input is watched for the moment at which it takes some.
            watched = self._selector.get_map()
            for room in (self.candidate, self.checker):
                if room.has_unsent and room.input not in watched:
                    self._selector.register(room.input, selectors.EVENT_WRITE, room)
                elif not room.has_unsent and room.input in watched:
                    self._selector.unregister(room.input)
            for key, events in self._selector.select(_LOOK):
                outcome = outcome or self._serve(key.data, events)
            outcome = outcome or self._over_limits()
        return outcome

    def _serve(self, room: Room, events: int) -> Outcome | None:
        if events & selectors.EVENT_WRITE:
            room.write()
            return None
        is_open = room.read()
        take = self._from_candidate if room is self.candidate else self._from_checker
        try:
            for kind, payload in room.frames():
                self._idle = 0.0
                if kind == pipe.STARTED and room.filtered is None:
                    room.filtered = payload == b"filtered"
                elif outcome := take(kind, payload):
                    return outcome
        except MisuseError:
            return self._outcome(room, "ended", _MISUSED)
        return None if is_open else self._closed(room)

    def _from_candidate(self, kind: bytes, payload: bytes) -> Outcome | None:
        is_reply = kind in {pipe.VALUE, pipe.RAISED} and self._awaiting
        if is_reply:
            self._awaiting = False
            self.checker.send(kind, payload)
        elif kind == pipe.READY and not self._loaded:
            self._loaded = True
            self._forward_call()
            return self._verdict()
        elif kind == pipe.FAILED and not self._loaded:
            return self._outcome(self.candidate, "failed", payload.decode(errors="replace"))
        elif kind == pipe.NOT_PLAIN and self._awaiting:
            detail = f"it returned a {payload.decode(errors='replace')}, which is not plain data"
            return self._outcome(self.candidate, "not plain", detail)
        else:
            return self._outcome(self.candidate, "ended", _MISUSED)
        return None

    def _from_checker(self, kind: bytes, payload: bytes) -> Outcome | None:
        detail = payload.decode(errors="replace")
        match kind:
            case pipe.CALL:
                self._call = payload
                self._forward_call()
            case pipe.PASSED:
                self._test_passed = True
                return self._verdict()
            case pipe.FAILED:
                return self._outcome(self.candidate, "failed", detail)
            case pipe.BROKEN:
                return self._outcome(
                    self.checker, "given up", f"the test cannot be run here: {detail}"
                )
        return None

    def _verdict(self) -> Outcome | None:
        """Passed, once the test has passed and the programme was loaded.

        A test may make no call.
        """
        if self._test_passed and self._loaded:
            return self._outcome(self.candidate, "passed", "")
        return None

    def _forward_call(self) -> None:
        if self._loaded and self._call is not None:
            self.candidate.send(pipe.CALL, self._call)
            self._call = None
            self._awaiting = True

    def _closed(self, room: Room) -> Outcome | None:
        """The outcome where a room has ended before the verdict.

        None for a checker that has passed.
        """
        if room.filtered is None:
            raise OSError(room.complaint())
        if room is self.checker and self._test_passed:
            self._selector.unregister(room.output)
            return None
        code = room.exit_code()
        killed_for_time = (
            code == 128 + signal.SIGKILL and room.cpu_seconds >= self._limits.cpu_seconds - 1
        )
        if code == 128 + signal.SIGXCPU or killed_for_time:
            return self._outcome(room, "cpu", f"more than {self._limits.cpu_seconds} s")
        return self._outcome(room, "ended", f"before its end, with code {code}")

    def _over_limits(self) -> Outcome | None:
        """Looks at what the rooms use; the outcome where it is too much."""
        limits, now = self._limits, time.monotonic()
        if now - self._looked < _LOOK:
            return None
        busy = False
        for room in (self.candidate, self.checker):
            usage = room.usage()
            busy = busy or usage.busy
            # Of several processes together, where the kernel counts each.
            if usage.cpu_seconds > 2 * limits.cpu_seconds + 2:
                return self._outcome(room, "cpu", f"more than {limits.cpu_seconds} s")
        pause = 0.0 if busy else now - self._looked
        self._idle = 0.0 if busy else self._idle + pause
        self._waited += pause
        self._looked = now
        # One that wakes from time to time could otherwise wait until there is no verdict.
        if self._idle > limits.idle_seconds or self._waited > _PAUSES * limits.idle_seconds:
            detail = f"waited {max(self._idle, self._waited):.0f} s for nothing"
            return self._outcome(self.candidate, "idle", detail)
        if now - self._started > limits.clock_seconds:
            detail = f"{limits.clock_seconds:g} s by the clock"
            return self._outcome(self.candidate, "given up", detail)
        return None

    def _outcome(self, room: Room, status: Status, detail: str) -> Outcome:
        if room is self.checker and status != "given up":
            detail = f"in the test: {detail}"
        detail = " ".join(detail.split())[:200]
        return Outcome(status=status, detail=detail, cpu_seconds=self.candidate.cpu_seconds)


def _launch(programme: Programme, isolation: Isolation, limits: Limits) -> tuple[Outcome, bool]:
    """Runs a programme; also returns whether the system calls of both rooms were filtered."""
    with ExitStack() as rooms:
        session = Session(programme, isolation, limits, rooms)
        outcome = session.run()
        return outcome, bool(session.candidate.filtered and session.checker.filtered)


def run(programme: Programme, *, isolation: Isolation, limits: Limits | None = None) -> Outcome:
    """Runs a programme against its test, until there is a verdict or a limit is reached.

    It has passed where the test ran to its end without an exception. Nothing that it prints is
    kept.

    Args:
        programme: What a model wrote, and its test.
        isolation: As `find_isolation` returns it.
        limits: What each of the two processes may use.

    Raises:
        OSError: a room could not be made, although it could before.
    """
    return _launch(programme, isolation, limits or Limits())[0]


_TRIAL = """
import os, socket
def open_doors():
    doors = []
    def door(name, step):
        try:
            step()
        except BaseException:
            return
        doors.append(name)
    door("the network", lambda: socket.create_connection(("127.0.0.1", {port}), timeout=2))
    door("files of the machine", lambda: open({secret!r}).read())
    door("files beside it", lambda: open({beside!r}, "w").close())
    door("its libraries", lambda: open(os.__file__ + ".new", "w").close())
    door("other processes", lambda: os.kill({pid}, 0))
    door("new processes", lambda: os.fork() or os._exit(0))
    open("own", "w").write("x")
    return doors
"""
_TRIAL_TEST = "def check(candidate):\n    doors = candidate()\n    assert doors == [], doors\n"


def _try_out(isolation: Isolation) -> Isolation:
    """Runs a programme that tries every door, against a server, a file and a process that exist.

    Raises:
        OSError: a room cannot be made, or a door is open.
    """
    with OwnFolder("trial") as folder, socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        secret = Path(folder) / "secret"
        beside = Path(folder) / "beside"
        secret.write_text("x")
        secret.chmod(0o644)
        Path(folder).chmod(0o777)
        code = _TRIAL.format(
            port=server.getsockname()[1], secret=str(secret), beside=str(beside), pid=os.getpid()
        )
        trial = Programme(code=code, entry_point="open_doors", test=_TRIAL_TEST)
        outcome, filtered = _launch(trial, isolation, Limits(cpu_seconds=10, memory_mb=512))
        if outcome.status == "failed":
            raise OSError(f"open: {outcome.detail}")
        if outcome.status != "passed" or beside.exists():
            raise OSError(f"{outcome.status} {outcome.detail}")
    return dataclasses.replace(isolation, filtered=filtered)


@functools.cache
def find_isolation() -> Isolation:
    """Returns what keeps programmes in on this machine, tried out.

    Raises:
        NoIsolation: nothing does; it says what was tried and why it does not.
    """
    reasons: dict[str, str] = {}
    for isolation in candidates():
        try:
            return _try_out(isolation)
        except OSError as error:
            reasons[isolation.kind] = str(error)
    raise NoIsolation(reasons or {"name spaces": "this is not Linux"})
