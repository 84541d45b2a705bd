"""The messages between a room and its runner.

Frames of a length, a kind and a payload, over the room's input and output.
"""

from __future__ import annotations

import os

# Kinds of frames; the first byte behind the length.
SETTINGS = b"m"  # to the room: its modules, then what its role has to know, as JSON
STARTED = b"s"  # the limits are set; payload: "filtered" or "unfiltered"
# From the candidate's room.
READY = b"r"  # its programme is loaded
FAILED = b"f"  # payload: why the programme, or the test, failed
VALUE = b"v"  # payload: what a call returned
RAISED = b"e"  # payload: the exception of a call
NOT_PLAIN = b"n"  # payload: the type of a returned value that cannot be sent
# From the checker's room.
CALL = b"c"  # payload: arguments of a call
PASSED = b"p"
BROKEN = b"b"  # payload: why the test itself cannot be run

LENGTH_BYTES = 4
LONGEST = 16 * 1024 * 1024  # bytes of a payload


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """The bytes of a frame."""
    return (len(payload) + 1).to_bytes(LENGTH_BYTES, "big") + kind + payload


class Pipe:
    """The room's end: reads frames from its input, writes them to its output.

    Both are moved to other numbers; input, output and errors of the programme lead nowhere.
    """

    def __init__(self) -> None:
        self._input = os.dup(0)
        self._output = os.dup(1)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Writes one frame."""
        rest = memoryview(frame(kind, payload))
        while rest:
            rest = rest[os.write(self._output, rest) :]

    def receive(self) -> tuple[bytes, bytes]:
        """Reads one frame: its kind and its payload."""
        content = self._take(int.from_bytes(self._take(LENGTH_BYTES), "big"))
        return content[:1], content[1:]

    def _take(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            piece = os.read(self._input, count - len(content))
            if not piece:  # the runner is gone
                os._exit(0)
            content += piece
        return content


def describe(error: BaseException) -> bytes:
    """Type and text of an exception; the text may be the programme's own code, and may fail."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - whatever it raises, the exception is described without
        text = "an exception without a readable text"
    return " ".join(text.split())[:200].encode("utf-8", "replace")
