"""One thread that writes the ledger for many requests.

What waits is written together, so that the slow sync of a disk is paid once for all of it.
"""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from evalprep.annotate.ledger import Attempt, Ledger, Use

_Row = tuple[Attempt, Sequence[Use], concurrent.futures.Future[None]]


class Writer:
    """Writes rows in the order in which they are given; use it as a context.

    Args:
        ledger: An open ledger; nobody else may use the object meanwhile.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._rows: queue.SimpleQueue[_Row | None] = queue.SimpleQueue()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.put(None)
        self._thread.join()
        if self._failed is not None and error is None:
            raise self._failed

    def put(self, attempt: Attempt, uses: Sequence[Use] = ()) -> concurrent.futures.Future[None]:
        """Write a row; the future is done when it is on the disk, or has the reason why it is not."""
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        done.set_running_or_notify_cancel()  # whoever stops waiting does not take the row back
        self._rows.put((attempt, uses, done))
        return done

    def _work(self) -> None:
        ending = False
        while not ending:
            first = self._rows.get()
            if first is None:
                return
            rows = [first]
            while not self._rows.empty():
                more = self._rows.get()
                if more is None:
                    ending = True
                    break
                rows.append(more)
            self._write(rows)

    def _write(self, rows: Sequence[_Row]) -> None:
        try:
            self._ledger.put([one for one, _, _ in rows], [use for _, uses, _ in rows for use in uses])
        except BaseException as error:  # noqa: BLE001 - whoever waits for the row raises it
            self._failed = error
            for _, _, done in rows:
                done.set_exception(error)
        else:
            for _, _, done in rows:
                done.set_result(None)
