"""The messages between `evalprep run` and the process that holds the model.

Each is one line with a JSON object.

The sockets carry open files too: a run folder's lock goes along with its name, so that it holds
until both have let go.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

_LARGEST = 1 << 20


class Channel:
    """One end of a pair of sockets."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._held = b""

    def fileno(self) -> int:
        """The socket's descriptor, for `select`."""
        return self.socket.fileno()

    def send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        """Sends a message with some open files; OSError where the other side is gone."""
        content = json.dumps(message).encode() + b"\n"
        sent = socket.send_fds(self.socket, [content], files) if files else 0
        self.socket.sendall(content[sent:])

    def receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """Waits for a message and its files; None where the other side is gone."""
        files: list[int] = []
        while b"\n" not in self._held:
            try:
                content, received, _, _ = socket.recv_fds(self.socket, _LARGEST, 4)
            except OSError:
                content, received = b"", []
            files += received
            if not content:
                return None
            self._held += content
        line, _, self._held = self._held.partition(b"\n")
        return json.loads(line), files
