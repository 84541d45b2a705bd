"""One process in a room of its own, as its runner sees it.

Frames in and out, what it uses, how it ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, Self

from evalprep.coderunner.inside.pipe import LENGTH_BYTES, LONGEST, SETTINGS, frame
from evalprep.coderunner.isolation import Isolation
from evalprep.coderunner.programme import Limits
from evalprep.temporary import OwnFolder

Role = Literal["candidate", "checker"]
_INSIDE = "evalprep.coderunner.inside"
_PIECE = 1 << 16  # bytes
_GRACE = 2.0  # seconds from a room's last word to its end
_TICKS = os.sysconf("SC_CLK_TCK")
_READY = frozenset("RD")  # states of a thread that runs, or waits for a processor or a disk


class MisuseError(Exception):
    """A room wrote what is no frame."""


@functools.cache
def _sources(role: Role) -> bytes:
    """The modules that run in a room, in the order of their imports, as JSON."""
    folder = Path(__file__).with_name("inside")
    names = ("pipe", "bounds", "plain", "start", role)
    texts = {
        f"{_INSIDE}.{name}": (folder / f"{name}.py").read_text(encoding="utf-8") for name in names
    }
    return json.dumps(texts).encode()


#: Makes the modules out of what it is sent; the command line of the room's process.
BOOT = f"""
import json, os, sys, types
def take(count):
    content = b""
    while len(content) < count:
        content += os.read(0, count - len(content)) or os._exit(0)
    return content
sources = json.loads(take(int.from_bytes(take({LENGTH_BYTES}), "big"))[1:])
for name, source in sources.items():
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
sys.modules["{_INSIDE}.start"].start(module.main)
"""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """CPU time of all processes that are there, and whether one of their threads has work."""

    cpu_seconds: float
    busy: bool


class Room:
    """A process under way; to be used in a `with` statement, which ends it.

    Args:
        role: What it does.
        isolation: What keeps it in.
        limits: What it may use.
        settings: What its role has to know.

    Attributes:
        cpu_seconds: CPU time as last seen.
        filtered: Whether its system calls are filtered; None until its limits are set.
    """

    def __init__(
        self, role: Role, isolation: Isolation, limits: Limits, settings: Mapping[str, object]
    ) -> None:
        self.role = role
        self.cpu_seconds = 0.0
        self.filtered: bool | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        self._folder = OwnFolder("room")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `__exit__` closes it
        self.process = subprocess.Popen(
            isolation.command(Path(self._folder.name), limits, BOOT),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            close_fds=True,
            env={"PATH": os.defpath},
            cwd="/",
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input = self.process.stdin.fileno()
        self.output = self.process.stdout.fileno()
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)
        values = {**settings, **dataclasses.asdict(limits), "packages": isolation.packages()}
        self._unsent += frame(SETTINGS, _sources(role))
        self._unsent += frame(SETTINGS, json.dumps(values).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the outermost process, with which the kernel ends all others."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._errors.close()
        self._folder.cleanup()

    def send(self, kind: bytes, payload: bytes) -> None:
        """Queues a frame; `write` sends it."""
        self._unsent += frame(kind, payload)

    @property
    def has_unsent(self) -> bool:
        """Returns whether something waits to be written."""
        return bool(self._unsent)

    def write(self) -> None:
        """Writes what the room takes now."""
        try:
            sent = os.write(self.input, self._unsent[:_PIECE])
        except BlockingIOError:
            return
        except BrokenPipeError:  # it has ended, which `read` finds
            self._unsent.clear()
            return
        del self._unsent[:sent]

    def read(self) -> bool:
        """Reads what is there; False at its end."""
        try:
            piece = os.read(self.output, _PIECE)
        except BlockingIOError:
            return True
        self._received += piece
        return bool(piece)

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        """Takes the whole frames that were read: kind and payload.

        Raises:
            MisuseError: it announces a frame longer than any may be.
        """
        while len(self._received) >= LENGTH_BYTES:
            length = int.from_bytes(self._received[:LENGTH_BYTES], "big")
            if not 0 < length <= LONGEST + 1:
                raise MisuseError
            end = LENGTH_BYTES + length
            if len(self._received) < end:
                return
            content = bytes(self._received[LENGTH_BYTES:end])
            del self._received[:end]
            yield content[:1], content[1:]

    def usage(self) -> Usage:
        """The resources that the room uses now; CPU time of ended processes is remembered."""
        seen = usage(self.process.pid)
        self.cpu_seconds = max(self.cpu_seconds, seen.cpu_seconds)
        return Usage(cpu_seconds=self.cpu_seconds, busy=seen.busy)

    def exit_code(self) -> int:
        """Returns how it ended: its exit code, 128 + n for signal n.

        It may have closed its pipe and gone on.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_GRACE)
        return -1 if self.process.returncode is None else self.process.returncode

    def complaint(self) -> str:
        """The text that the room's maker wrote where it could not be made."""
        self._errors.seek(0)
        text = self._errors.read(400).decode(errors="replace").strip()
        return text or f"the room ended with code {self.exit_code()}"


def usage(pid: int) -> Usage:
    """Reads what a process and all below it use from /proc; those that have ended do not count."""
    ticks, busy, waiting = 0, False, [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            fields = _stat(process)
            threads = list((process / "task").iterdir())
            lists = [(thread / "children").read_text().split() for thread in threads]
            waiting += [int(child) for child in chain.from_iterable(lists)]
            busy = busy or any(_stat(thread)[0] in _READY for thread in threads)
        except OSError:  # it has ended meanwhile
            continue
        ticks += int(fields[11]) + int(fields[12])
    return Usage(cpu_seconds=ticks / _TICKS, busy=busy)


def _stat(process: Path) -> list[str]:
    """The fields behind the name: state first, CPU time in user and kernel mode at 11 and 12."""
    return (process / "stat").read_text().rpartition(")")[2].split()
