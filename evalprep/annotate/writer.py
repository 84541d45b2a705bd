"""One thread that writes the ledger for many requests.

It writes into space that was set aside before they were sent.

What waits is written together, so that the slow sync of a disk is paid once for many rows; but on
a quick disk not all of it: the first requests leave while the rows of the others are written, and
their answers do not come all at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import queue
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import chain
from types import TracebackType
from typing import Self

from evalprep.annotate.ledger import Attempt, Ledger, Use
from evalprep.errors import BadInput, cannot_write

#: Bytes set aside per request that may be on its way: an answer, and what SQLite writes beside it.
PER_ANSWER = 256 * 1024
#: Rows of one transaction, unless the one before took longer than `_QUICK` seconds.
_FEW, _QUICK = 24, 0.02
#: What is done when a row is on the disk: for threads, or for a task of an event loop.
_Done = concurrent.futures.Future[None] | asyncio.Future[None]
_Row = tuple[Attempt, Sequence[Use], _Done]


class Reserve:
    """Space beside the ledger that is given back when the disk is full, so that paid answers fit.

    Args:
        ledger: The ledger.
        size: Bytes.

    Raises:
        BadInput: there is not so much space.
    """

    def __init__(self, ledger: Ledger, size: int) -> None:
        folder = ledger.path.parent
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - `close` closes it
        try:
            os.posix_fallocate(self._file.fileno(), 0, max(size, 1))
        except OSError as error:
            self._file.close()
            raise cannot_write(error, str(folder)) from error

    def give_back(self) -> bool:
        """Frees the space; False where it was free before."""
        if os.fstat(self._file.fileno()).st_size == 0:
            return False
        os.ftruncate(self._file.fileno(), 0)
        return True

    def close(self) -> None:
        """Frees the space for good."""
        self._file.close()


class Writer:
    """Writes rows in the order in which they are given; use it as a context.

    Args:
        ledger: An open ledger; nobody else may use the object meanwhile.
        requests: Requests that may be on their way at once, for whose answers space is set aside.
    """

    def __init__(self, ledger: Ledger, *, requests: int = 1) -> None:
        self._ledger = ledger
        self._requests = requests
        self._rows: queue.SimpleQueue[_Row | None] = queue.SimpleQueue()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)

    def __enter__(self) -> Self:
        self._reserve = Reserve(self._ledger, self._requests * PER_ANSWER)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rows.put(None)
        self._thread.join()
        self._reserve.close()
        if self._failed is not None and error is None:
            raise self._failed

    def put(self, attempt: Attempt, uses: Sequence[Use] = ()) -> concurrent.futures.Future[None]:
        """Writes a row; the future is done when it is on the disk, or has the reason why it is not.

        Once the disk was full, no request begins: only answers are written.
        """
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        done.set_running_or_notify_cancel()  # whoever stops waiting does not take the row back
        self._put_row(attempt, uses, done)
        return done

    async def written(self, attempt: Attempt, uses: Sequence[Use] = ()) -> None:
        """Writes a row, and returns when it is on the disk; see `put`.

        Raises:
            BadInput: it cannot be written.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put_row(attempt, uses, done)
        await done

    def _put_row(self, attempt: Attempt, uses: Sequence[Use], done: _Done) -> None:
        if self._failed is not None and attempt.status == "sent":
            done.set_exception(self._failed)
        else:
            self._rows.put((attempt, uses, done))

    def _work(self) -> None:
        seconds = 0.0
        while rows := self._waiting(_FEW if seconds <= _QUICK else None):
            begun = time.perf_counter()
            self._write(rows)
            seconds = time.perf_counter() - begun

    def _waiting(self, most: int | None) -> list[_Row]:
        """Waits for a row, and returns it with those behind it; none at the end."""
        rows: list[_Row] = []
        while not rows or (len(rows) != most and not self._rows.empty()):
            row = self._rows.get()
            if row is None:
                self._rows.put(None)  # for the next call, where rows stand before the end
                break
            rows.append(row)
        return rows

    def _write(self, rows: Sequence[_Row]) -> None:
        try:
            attempts = [attempt for attempt, _, _ in rows]
            self._ledger.put(attempts, chain.from_iterable(uses for _, uses, _ in rows))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the row raises it
            if isinstance(error, BadInput) and self._reserve.give_back():
                self._failed = error
                # The answers still go into the space that was set aside for them.
                _end([row for row in rows if row[0].status == "sent"], error)
                answers = [row for row in rows if row[0].status != "sent"]
                if answers:
                    self._write(answers)
                return
            self._failed = self._failed or error
            _end(rows, error)
        else:
            _end(rows)


def _end(rows: Sequence[_Row], error: BaseException | None = None) -> None:
    """Ends the waiting for some rows.

    An event loop is woken once for all of its tasks: each time costs a message to its socket, and
    a turn of Python's lock.
    """
    of_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for _, _, done in rows:
        if isinstance(done, asyncio.Future):
            of_loop.setdefault(done.get_loop(), []).append(done)
        else:
            _set([done], error)
    for loop, several in of_loop.items():
        with contextlib.suppress(RuntimeError):  # it is closed; nobody waits any more
            loop.call_soon_threadsafe(_set, several, error)


def _set(several: Sequence[_Done], error: BaseException | None) -> None:
    for done in several:
        if done.cancelled():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
