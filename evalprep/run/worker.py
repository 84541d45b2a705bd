"""The process that holds the model.

`evalprep run` starts it as `python -m evalprep.run.worker SOCKET [REPLIES ...]`.

It is told one run folder after the other; commands of one engine find the model loaded. When the
process that started it is gone, however it ended, this one ends too.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput
from evalprep.results import FAILED, PENDING, RUNNING, State
from evalprep.run.channel import Channel
from evalprep.run.engine import Engine
from evalprep.run.units import Cut
from evalprep.run.walk import Walk
from evalprep.status import RunFolder

Wanted = queue.SimpleQueue[tuple[dict[str, Any], list[int]]]


def main() -> int:
    """Works through the commands that come."""
    end = socket.socket(fileno=int(sys.argv[1]))
    end.set_inheritable(False)
    channel, stop = Channel(end), Wanted()
    threading.Thread(target=_listen, args=(channel, stop), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # The engine of a run: a model, or the replies of another engine.
    replies = [Path(name) for name in sys.argv[2:]]
    if not replies:
        engine = Engine()
    else:
        from evalprep.run.replies_engine import GivenReplies

        engine = GivenReplies(replies)
    while True:
        try:
            request, held = stop.get()
        except KeyboardInterrupt:
            return 130
        code = _serve(request, engine)
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor in held:
            os.close(descriptor)
        if code == 130:
            return code
        channel.send({"code": code, "broken": engine.broken, "crashed": engine.dead})


def _listen(channel: Channel, stop: Wanted) -> None:
    while (message := channel.receive()) is not None:
        stop.put(message)
    # The group is this process and what the engine started; engines do not all notice that we are
    # gone.
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _serve(request: dict[str, Any], engine: Engine) -> int:
    """Works through the units of one command; its exit code."""
    folder = RunFolder(Path(request["folder"]))
    state = folder.state()
    state.phase = "starting"
    state.pid = os.getpid()
    state.started = time.time()
    folder.save(state)
    try:
        return Walk(folder, state, engine, Cut.of_list(request["cut"])).work(
            merge_only=request["merge_only"]
        )
    except KeyboardInterrupt:
        _end(folder, state, "interrupted", "")
        return 130
    except BaseException as error:  # noqa: BLE001
        # Whatever ends the command is what the state must say.
        traceback.print_exc()
        _end(folder, state, "failed", _message(error))
        return 1


def _message(error: BaseException) -> str:
    """Returns what ended a command, with the fix where it is known."""
    if isinstance(error, BadInput):
        return "; ".join(f"{problem.what}; {problem.fix}" for problem in error.problems)
    return f"{type(error).__name__}: {error}"


def _end(folder: RunFolder, state: State, phase: str, message: str) -> None:
    """Saves how the command ended; with a message its running units failed, else they wait."""
    state.phase = phase
    state.message = message[:2000]
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status = FAILED if message else PENDING
            unit.message = message[:500]
    with contextlib.suppress(OSError):  # a full disk; the process that follows us says so
        folder.save(state)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Engines keep threads and processes that may hold up a normal exit; everything of ours is on
    # disk.
    os._exit(code)
