"""Run programmes in rooms, and try a room out before it is trusted."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from evalprep.coderunner.isolation import Isolation, NoIsolation, candidates
from evalprep.coderunner.limits import Limits
from evalprep.coderunner.outcome import Outcome
from evalprep.coderunner.watch import usage

_LOOK = 0.1  # seconds between two looks at what a programme uses
_MOST_SAID = 4096  # bytes; the two lines of `inside.py` are shorter
_GRACE = 2.0  # seconds from a room's last word to its end


def _read(process: subprocess.Popen[bytes], limits: Limits) -> tuple[bytes, Outcome | None, float]:
    """Collect what the room says until it ends or has to be ended; the outcome is set in the second case."""
    assert process.stdout is not None
    said, cpu, idle = b"", 0.0, 0.0
    started = looked = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(_LOOK):
                piece = os.read(process.stdout.fileno(), _MOST_SAID)
                said += piece
                if not piece:
                    return said, None, cpu
                if len(said) > _MOST_SAID:
                    return (
                        said,
                        Outcome(status="ended", detail="it wrote where only its runner may", cpu_seconds=cpu),
                        cpu,
                    )
            seen, now = usage(process.pid), time.monotonic()
            cpu = max(cpu, seen.cpu_seconds)
            idle = 0.0 if seen.busy else idle + now - looked
            looked = now
            if cpu > 2 * limits.cpu_seconds + 2:  # of several processes together, where the kernel counts each
                return said, Outcome(status="cpu", detail=f"more than {limits.cpu_seconds} s", cpu_seconds=cpu), cpu
            if idle > limits.idle_seconds:
                detail = f"waited {limits.idle_seconds:g} s for nothing"
                return said, Outcome(status="idle", detail=detail, cpu_seconds=cpu), cpu
            if now - started > limits.clock_seconds:
                return said, Outcome(status="given up", detail=f"{limits.clock_seconds:g} s by the clock"), cpu


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the room's outermost process, with which the kernel ends all others."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _launch(code: str, isolation: Isolation, limits: Limits) -> tuple[Outcome, bool]:
    """Run a programme; also tell whether its system calls were filtered."""
    token = secrets.token_hex(16)
    given = {"code": code, "token": token, **dataclasses.asdict(limits)}
    with tempfile.TemporaryDirectory(prefix="evalprep-room-") as folder, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            isolation.command(Path(folder), limits), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True, close_fds=True, env={"PATH": os.defpath}, cwd="/",
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdout:
            try:
                with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
                    stdin.write(json.dumps(given).encode() + b"\n")
                said, stopped, cpu = _read(process, limits)
                if stopped is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):  # it may close its pipe and go on
                        process.wait(timeout=_GRACE)
            finally:
                _stop(process)
        errors.seek(0)
        complaint = errors.read(400).decode(errors="replace").strip()
    lines = said.decode(errors="replace").splitlines()
    filtered = lines[:1] == [f"{token} started filtered"]
    if not filtered and lines[:1] != [f"{token} started unfiltered"]:
        raise OSError(complaint or f"the room ended with code {process.returncode}")
    if stopped is not None:
        return stopped, filtered
    if len(lines) == 2 and lines[1].startswith(f"{token} "):
        status, _, detail = lines[1].removeprefix(f"{token} ").partition(" ")
        return Outcome(status="passed" if status == "passed" else "failed", detail=detail, cpu_seconds=cpu), filtered
    if process.returncode == 128 + signal.SIGXCPU or (
        process.returncode == 128 + signal.SIGKILL and cpu >= limits.cpu_seconds - 1
    ):
        return Outcome(status="cpu", detail=f"more than {limits.cpu_seconds} s", cpu_seconds=cpu), filtered
    return Outcome(status="ended", detail=f"before its end, with code {process.returncode}", cpu_seconds=cpu), filtered


def run(code: str, *, isolation: Isolation, limits: Limits | None = None) -> Outcome:
    """Run a programme to its end, or to that of its limits.

    It has passed where it ran to its last line without an exception. Nothing that it prints or returns is kept.

    Args:
        code: Python source.
        isolation: As found by `find_isolation`.
        limits: What it may use.

    Raises:
        OSError: the room could not be made, although it could before.
    """
    return _launch(code, isolation, limits or Limits())[0]


_TRIAL = """
import os, socket
open_doors = []
def door(name, step):
    try:
        step()
    except BaseException:
        return
    open_doors.append(name)
door("the network", lambda: socket.create_connection(("127.0.0.1", {port}), timeout=2))
door("files of the machine", lambda: open({secret!r}).read())
door("files beside it", lambda: open({beside!r}, "w").close())
door("its libraries", lambda: open(os.__file__ + ".new", "w").close())
door("other processes", lambda: os.kill({pid}, 0))
door("new processes", lambda: os.fork() or os._exit(0))
open("own", "w").write("x")
assert not open_doors, open_doors
"""


def _try_out(isolation: Isolation) -> Isolation:
    """Run a programme that tries every door, against a server, a file and a process that are really there.

    Raises:
        OSError: the room cannot be made, or a door is open.
    """
    with tempfile.TemporaryDirectory(prefix="evalprep-trial-") as folder, socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        secret, beside = Path(folder) / "secret", Path(folder) / "beside"
        secret.write_text("x")
        secret.chmod(0o644)
        Path(folder).chmod(0o777)
        places = {"port": server.getsockname()[1], "secret": str(secret), "beside": str(beside), "pid": os.getpid()}
        outcome, filtered = _launch(_TRIAL.format(**places), isolation, Limits(cpu_seconds=10, memory_mb=512))
        if outcome.status != "passed" or beside.exists():
            raise OSError(
                f"open: {outcome.detail}" if outcome.status == "failed" else f"{outcome.status} {outcome.detail}"
            )
    return dataclasses.replace(isolation, filtered=filtered)


@functools.cache
def find_isolation() -> Isolation:
    """Find what keeps programmes in on this machine, tried out.

    Raises:
        NoIsolation: nothing does; it says what was tried and why it does not.
    """
    tried: dict[str, str] = {}
    for isolation in candidates():
        try:
            return _try_out(isolation)
        except OSError as error:
            tried[isolation.kind] = str(error)
    raise NoIsolation(tried or {"name spaces": "this is no Linux"})
