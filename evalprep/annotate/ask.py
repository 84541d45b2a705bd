"""Many questions at once: threads that ask, one thread that keeps the answers."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Iterator, Sequence

from custom_metrics.extract.thinking import strip_thinking
from evalprep.annotate.endpoint import Endpoint, RefusedError, Reply, UnansweredError
from evalprep.annotate.question import Asked, Judgement, Question

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between attempts; doubled each time, and varied by up to a quarter
#: Questions in a row without any answer after which the service counts as gone.
GIVE_UP = 10

Outcome = tuple[Asked, Judgement]


class Stopped(Exception):  # noqa: N818 - reads as what it says
    """Asking was given up.

    Args:
        reason: What the service said.
        refused: It takes no request of ours, as opposed to not being reached.
    """

    def __init__(self, reason: str, *, refused: bool) -> None:
        super().__init__(reason)
        self.refused = refused


def understand(question: Question, reply: Reply, attempts: int) -> Judgement:
    """What a reply comes to.

    Cut and refused replies are not read, as a number in them is none of the judge's; nor is a closed thinking trace,
    which may weigh other ratings than the one it ends with.
    """
    if reply.refusal or reply.finish_reason == "content_filter":
        return Judgement("refused", None, reply.text, reply.refusal or "content filter", attempts)
    if reply.finish_reason == "length":
        return Judgement("truncated", None, reply.text, "", attempts)
    if not reply.text or not reply.text.strip():
        return Judgement("missing", None, reply.text, "empty reply", attempts)
    said, trace = strip_thinking(reply.text)
    status, ratings = question.read(said if trace == "stripped" else reply.text)
    return Judgement(status, ratings, reply.text, "", attempts)


class Pool:
    """Asks in `size` threads, each question up to `retries` times more when no rating came of it.

    Iterating gives outcomes as they come. After an interruption, `finished` has those that came meanwhile.
    """

    def __init__(self, endpoint: Endpoint, waiting: Sequence[Asked], *, size: int, retries: int) -> None:
        self._endpoint, self._retries = endpoint, retries
        self._count = len(waiting)
        self._waiting: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        self._stop = threading.Event()
        for asked in waiting:
            self._waiting.put(asked)
        # Daemons: a request that hangs must not keep an interrupted program from ending.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(size, self._count))]

    def __len__(self) -> int:
        """Number of questions."""
        return self._count

    def __iter__(self) -> Iterator[Outcome]:
        """Outcomes, in the order in which they come.

        Raises:
            Stopped: the service refuses us or cannot be reached.
        """
        for thread in self._threads:
            thread.start()
        silent = 0
        try:
            for _ in range(self._count):
                item = self._done.get()
                if isinstance(item, BaseException):
                    raise item
                _, judgement = item
                silent = silent + 1 if judgement.status == "missing" and judgement.reply is None else 0
                yield item
                if silent >= GIVE_UP:
                    raise Stopped(f"{silent} questions in a row without an answer; {judgement.reason}", refused=False)
        finally:
            self._stop.set()

    def finished(self) -> Iterator[Outcome]:
        """Outcomes that lie ready, without waiting."""
        self._stop.set()
        while not self._done.empty():
            item = self._done.get()
            if not isinstance(item, BaseException):
                yield item

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                asked = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                judgement = self._one(asked)
            except BaseException as error:  # noqa: BLE001 - it is raised where the answers are kept
                self._done.put(error)
                return
            if judgement is not None:
                self._done.put((asked, judgement))

    def _one(self, asked: Asked) -> Judgement | None:
        """The outcome of one question; None when asking was stopped before there was one."""
        question = asked.question
        if question.fixed is not None:
            return Judgement("ok", question.fixed)
        outcome: Judgement | None = None
        pause = FIRST_WAIT
        for attempt in range(1, self._retries + 2):
            try:
                reply = self._endpoint.ask(question.prompt, asked.sampling)
            except RefusedError as error:
                raise Stopped(str(error), refused=True) from None
            except UnansweredError as error:
                outcome = Judgement("missing", None, None, str(error), attempt)
                wait = pause * random.uniform(0.75, 1.25) if error.wait is None else min(error.wait, LONGEST_WAIT)  # noqa: S311 - spreads load
                pause = min(2 * pause, LONGEST_WAIT)
                if not error.again or attempt > self._retries:
                    return outcome
                if self._stop.wait(wait):
                    return None
            else:
                outcome = understand(question, reply, attempt)
                if outcome.status == "ok" or self._stop.is_set():
                    return outcome
        return outcome
