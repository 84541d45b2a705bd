"""Many questions at once.

Each is written down, sent, and its answer written down before it counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evalprep.annotate.answers import Judgement, Question, with_answer
from evalprep.annotate.ledger import Attempt, Ledger, Use, now
from evalprep.annotate.prices import Budget, output_at_most, tokens_at_most
from evalprep.annotate.providers.service import Service
from evalprep.annotate.providers.wire import RefusedError, Request, UnansweredError
from evalprep.annotate.writer import Writer
from evalprep.errors import BadInput

#: Questions in a row without any answer after which the service counts as gone.
GIVE_UP = 10
#: Attempts of these statuses were answered; another try is another request.
_ANSWERED = frozenset({"received", "refused", "truncated", "imported"})
#: Seconds between attempts; doubled each time, and varied by up to a quarter.
FIRST_WAIT, LONGEST_WAIT = (1.0, 60.0)
#: A service that asks for more than this is left alone.
LONGEST_ASKED = 600.0


class Stopped(Exception):  # noqa: N818 - reads as what it says
    """Asking was given up.

    Args:
        reason: What the service said, or that the budget is used up.
        refused: It takes no request of ours, as opposed to not being reached.
    """

    def __init__(self, reason: str, *, refused: bool) -> None:
        super().__init__(reason)
        self.refused = refused


class SchemaDeclined(Stopped):
    """The service takes no JSON schema, and has answered no request that has one.

    Args:
        reason: What it said.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason, refused=True)


@dataclass
class Sum:
    """The sums of one call of the command.

    Attributes:
        requests: Requests sent.
        cost: What the answers cost by the user's prices; a lower bound where `unpriced` is not 0.
        unpriced: Answers whose cost is unknown.
        tokens_in: As far as the service said.
        tokens_out: The same of the replies.
    """

    requests: int = 0
    cost: float = 0.0
    unpriced: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True)
class _Tried:
    """The outcome of one request.

    Attributes:
        judgement: Of its question, where the service answered.
        again: Whether another request may help.
        wait: Seconds to wait before that; None where the pace of all requests waits.
    """

    judgement: Judgement | None
    again: bool
    wait: float | None = None


class Asker:
    """Asks a service the questions of one run.

    Args:
        ledger: Open for writing, and locked.
        run: Under what name the ledger knows the run.
        size: Requests at a time.
        retries: Further attempts per question that has no values.
        budget: What may be spent.
        done: Called for every question that is finished.

    Attributes:
        sum: What it came to.
        schema_taken: Whether a request with a JSON schema was ever answered; then a service is not
            asked without one.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        run: str,
        size: int = 4,
        retries: int = 5,
        budget: Budget | None = None,
        done: Callable[[Question, Judgement], None] = lambda *_: None,
    ) -> None:
        self._ledger = ledger
        self._run = run
        self._size = size
        self._retries = retries
        self._budget = budget or Budget(None, None)
        self._done = done
        self._pace = Pace()
        self._settled = asyncio.Condition()
        self._silent = 0
        self.schema_taken = False
        self.sum = Sum()

    async def ask(self, service: Service, questions: Sequence[Question]) -> None:
        """Ask; questions of equal keys are asked once, and all of them get the attempts.

        Raises:
            Stopped: the service refuses us or cannot be reached, or the budget is used up. What was
                on its way is waited for and kept.
        """
        several: dict[str, list[Question]] = {}
        for question in questions:
            if question.key is not None:
                several.setdefault(question.key, []).append(question)
        waiting = deque(several.values())
        stopped: list[Stopped | BadInput] = []
        with Writer(self._ledger, requests=self._size) as writer:

            async def work() -> None:
                while waiting and not stopped:
                    same = waiting.popleft()
                    try:
                        await self._ask_same(service, writer, same, stopped)
                    except (Stopped, BadInput) as error:  # the latter: the ledger cannot be written
                        stopped.append(error)

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._size, len(waiting))):
                    group.create_task(work())
        if stopped:
            raise stopped[0]

    async def _ask_same(
        self,
        service: Service,
        writer: Writer,
        same: Sequence[Question],
        stopped: Sequence[Exception],
    ) -> None:
        question = same[0]
        attempts = question.attempts
        uses: list[Use] = []
        for duplicate in same:
            uses += duplicate.uses(self._run)
        try:
            judgement = await self._ask_until_answered(service, writer, question, uses, stopped)
        finally:
            for duplicate in same:
                duplicate.attempts = attempts
        if judgement is not None:
            self._done(same[0], judgement)
            for duplicate in same[1:]:
                self._done(duplicate, duplicate.judgement())
            if self._silent >= GIVE_UP:
                raise Stopped(
                    f"{self._silent} questions in a row without an answer; {judgement.reason}",
                    refused=False,
                )

    async def _ask_until_answered(
        self,
        service: Service,
        writer: Writer,
        question: Question,
        uses: Sequence[Use],
        stopped: Sequence[Exception],
    ) -> Judgement | None:
        """Asks a question, again where that may help.

        Returns:
            The outcome; None where another question stopped all of them before.
        """
        heard, tried = False, _Tried(None, again=True)
        for number in range(1, self._retries + 2):
            await self._pace.turn()
            if stopped:
                return None
            tried = await self._attempt(service, writer, question, uses)
            heard = heard or tried.judgement is not None
            if not tried.again or number > self._retries or stopped:
                break
            if tried.wait is not None:
                await asyncio.sleep(tried.wait)
        self._silent = 0 if heard else self._silent + 1
        return tried.judgement or question.judgement()

    async def _attempt(
        self, service: Service, writer: Writer, question: Question, uses: Sequence[Use]
    ) -> _Tried:
        """One request, from its first row in the ledger to its last."""
        request = question.request
        reserved = await self._reserve(service, request)
        attempts = question.attempts
        row = question.row("sent", len(attempts) + 1, sent_at=now())
        await writer.written(row, uses)
        attempts.append(row)
        self.sum.requests += 1
        cost: float | None = None
        try:
            # The key is the same until there is an answer: by it a service can tell a repetition
            # from a further question.
            answered = sum(attempt.status in _ANSWERED for attempt in attempts)
            idempotency_key = hashlib.sha256(f"{row.key}:{answered}".encode()).hexdigest()
            answer = await service.ask(request, idempotency_key)
        except RefusedError as error:
            cost = 0.0
            self._end(
                writer,
                attempts,
                replace(row, status="failed", reason=str(error), received_at=now()),
            )
            raise Stopped(str(error), refused=True) from None
        except UnansweredError as error:
            cost = None if error.billed else 0.0
            self._end(
                writer,
                attempts,
                replace(row, status="failed", reason=str(error), received_at=now()),
            )
            # Servers that cannot enforce a schema break down over a question, and refuse nothing.
            declined = error.schema or (
                error.broke and sum(attempt.reason == str(error) for attempt in attempts) > 1
            )
            if request.schema is not None and not self.schema_taken and declined:
                raise SchemaDeclined(str(error)) from None
            return _Tried(None, error.again, self._wait_after(error, attempts))
        else:
            self.schema_taken |= request.schema is not None
            price = self._budget.price
            cost = price.of_answer(answer) if price else None
            self.sum.tokens_in += answer.tokens_in or 0
            self.sum.tokens_out += answer.tokens_out or 0
            self.sum.cost += cost or 0.0
            self.sum.unpriced += cost is None
            self._end(writer, attempts, with_answer(row, answer, cost))
            judgement = question.judgement()
            return _Tried(judgement, again=judgement.status != "ok")
        finally:
            self._budget.settle(reserved, cost)
            if self._budget.price is not None:  # else nobody waits for room
                async with self._settled:
                    self._settled.notify_all()

    def _wait_after(self, error: UnansweredError, attempts: Sequence[Attempt]) -> float | None:
        """Seconds to wait before the next attempt; None where the pace of all requests waits.

        Raises:
            Stopped: the service asks for a wait that is too long.
        """
        if error.wait is None:
            return backoff(sum(attempt.status == "failed" for attempt in attempts))
        if error.wait > LONGEST_ASKED:
            message = f"the service asks to wait {error.wait:.0f} s; {error}"
            raise Stopped(message, refused=False) from None
        self._pace.hold(error.wait)
        return None

    async def _reserve(self, service: Service, request: Request) -> float:
        """Sets aside what a request may cost, as soon as those on their way leave room for it.

        Raises:
            Stopped: it does not fit into what is left.
        """
        if self._budget.price is None:
            return 0.0
        tokens_in = tokens_at_most(request)
        tokens_out = output_at_most(service.wire, service.wire.body(request)) or 0
        async with self._settled:
            while (reserved := self._budget.reserve(tokens_in, tokens_out)) is None:
                if not self._budget.on_its_way:
                    what = (
                        f"{self._budget.spent:.4g} of --max_cost {self._budget.limit:g} is used, "
                        "and the next request "
                    )
                    raise Stopped(what + "may cost more than the rest", refused=False)
                await self._settled.wait()
            return reserved

    @staticmethod
    def _end(writer: Writer, attempts: list[Attempt], row: Attempt) -> None:
        # Not waited for: rows are written in order, so the next request of this worker, whose own
        # row is waited for, leaves only when this one is on the disk; and the writer's end waits
        # for all.
        writer.put(row)
        attempts[row.attempt - 1] = row


def backoff(attempt: int, first: float = FIRST_WAIT, longest: float = LONGEST_WAIT) -> float:
    """Seconds before attempt `attempt` + 1, from 1.

    They double each time from `first` to `longest`, and vary so that requests do not march in step.
    """
    wait = min(first * 2.0 ** min(attempt - 1, 30), longest)
    return wait * random.uniform(0.75, 1.25)  # noqa: S311 - spreads load


class Pace:
    """The pace of all requests to one service: all wait where it says that it has had enough."""

    def __init__(self) -> None:
        self._not_before = 0.0

    def hold(self, seconds: float) -> None:
        """Lets nobody ask for so long."""
        self._not_before = max(self._not_before, time.monotonic() + seconds)

    async def turn(self) -> None:
        """Waits until asking is allowed."""
        while (wait := self._not_before - time.monotonic()) > 0:  # noqa: ASYNC110 - a time, not an event
            # Not all at the same moment.
            await asyncio.sleep(wait + random.uniform(0, min(0.25 * wait, 1.0)))  # noqa: S311 - spreads load
