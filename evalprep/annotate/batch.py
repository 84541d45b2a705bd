"""Batches at a provider.

Submitted once, followed by anyone who has the ledger, collected whole or in part.

States: prepared -> submitting -> submitted -> in_progress -> completed, failed, expired or
cancelled -> collected. Each is in the ledger before and after the remote call that it is about, so
that a lost machine loses no batch.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalprep.annotate.answers import Question, with_answer
from evalprep.annotate.keys import canonical
from evalprep.annotate.ledger import Attempt, Ledger, Use, now, storable
from evalprep.annotate.prices import Price
from evalprep.annotate.providers.batches import (
    BATCHES,
    RESULTS_LIMIT,
    TRANSFER,
    Batches,
    Result,
    read_lines,
)
from evalprep.annotate.providers.service import Service
from evalprep.annotate.providers.wire import RefusedError, UnansweredError

#: States in which a batch is, or may be, at the provider.
OPEN = ("submitting", "submitted", "in_progress", "completed", "expired", "cancelled")
_ROWS = 500
_COLUMNS = (
    "number, run, wire, base_url, model, request_sha256, inputs, state, file_id, batch_id, "
    "counts, reason, prepared_at, submitted_at, checked_at"
)


@dataclass(frozen=True)
class Batch:
    """A batch as the ledger has it."""

    number: int
    run: str
    wire: str
    base_url: str
    model: str
    request_sha256: str
    inputs: Mapping[str, str]
    state: str
    file_id: str | None = None
    batch_id: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    prepared_at: str = ""
    submitted_at: str | None = None
    checked_at: str | None = None

    @property
    def tag(self) -> str:
        """A mark by which a provider's list shows it."""
        return f"{self.request_sha256[:32]}-{self.number}"


def batches_of(ledger: Ledger, run: str) -> list[Batch]:
    """The batches of a run, oldest first."""
    # The columns are our own text.
    rows = ledger.query(f"SELECT {_COLUMNS} FROM batches WHERE run = ? ORDER BY number", [run])  # noqa: S608
    # `inputs` and `counts` are JSON.
    whole: list[list[Any]] = [
        [*row[:6], json.loads(row[6]), *row[7:10], json.loads(row[10]), *row[11:]] for row in rows
    ]
    return [Batch(*row) for row in whole]


def changed_inputs(batch: Batch, inputs: Mapping[str, str]) -> list[str]:
    """Names of what a batch was made from that is something else by now."""
    return [
        name
        for name in sorted({*batch.inputs, *inputs})
        if batch.inputs.get(name) != inputs.get(name)
    ]


@dataclass
class _Oddities:
    """The notes on odd results."""

    damaged: int = 0
    repeated: int = 0
    strangers: int = 0

    def parts(self) -> list[str]:
        """Each kind that there was, in words."""
        texts = {
            f"{self.damaged} damaged lines": self.damaged,
            f"{self.repeated} repeated ids, kept as further attempts": self.repeated,
            f"{self.strangers} results that were not asked for": self.strangers,
        }
        return [text for text, count in texts.items() if count]


class Desk:
    """Prepares, submits, follows and collects the batches of one run.

    Args:
        ledger: Open for writing, and locked.
        service: The provider, connected.
        run: Under what name the ledger knows the run.
        price: Of the model, where the user has given one.
    """

    def __init__(
        self, ledger: Ledger, service: Service, *, run: str, price: Price | None = None
    ) -> None:
        self._ledger = ledger
        self._service = service
        self._run = run
        self._price = price
        self._api: Batches = BATCHES[service.wire.name]

    async def submit(self, questions: Sequence[Question], inputs: Mapping[str, str]) -> list[Batch]:
        """Sends questions as one batch, or as several where the provider takes no more in one.

        Raises:
            UnansweredError, RefusedError: the provider did not take it; the ledger says how far it
            came.
        """
        one_each = list(
            {question.key: question for question in questions if question.key is not None}.values()
        )
        sent = []
        for part in self._parts(one_each):
            batch = self._prepare(part, questions, inputs)
            sent.append(await self._submit(batch, part))
        return sent

    def _parts(self, questions: Sequence[Question]) -> Iterator[list[Question]]:
        part: list[Question] = []
        size = 0
        for question in questions:
            length = (
                len(json.dumps(self._body(question), ensure_ascii=False).encode("utf-8", "replace"))
                + 256
            )
            if part and (len(part) >= self._api.most or size + length > self._api.largest):
                yield part
                part, size = [], 0
            part.append(question)
            size += length
        if part:
            yield part

    def _body(self, question: Question) -> dict[str, Any]:
        return self._service.wire.body(question.request)

    def _prepare(
        self, part: Sequence[Question], every: Sequence[Question], inputs: Mapping[str, str]
    ) -> Batch:
        digest = hashlib.sha256()
        for question in part:
            digest.update(
                canonical([question.key, self._body(question)]).encode("utf-8", "replace")
            )
        keys = {question.key for question in part}
        uses: list[Use] = []
        for question in every:
            if question.key in keys:
                uses += question.uses(self._run)
        batch = Batch(
            number=0,
            run=self._run,
            wire=self._service.wire.name,
            base_url=self._service.base_url,
            model=part[0].who.model,
            request_sha256=digest.hexdigest(),
            inputs=inputs,
            state="prepared",
            prepared_at=now(),
        )
        rows = [question.row("prepared", len(question.attempts) + 1) for question in part]
        with self._ledger.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO batches (run, wire, base_url, model, request_sha256, inputs, state, "
                "prepared_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    batch.run,
                    batch.wire,
                    batch.base_url,
                    batch.model,
                    batch.request_sha256,
                    canonical(dict(inputs)),
                    batch.state,
                    batch.prepared_at,
                ],
            )
            number = int(cursor.lastrowid or 0)
            connection.executemany(
                "INSERT INTO batch_rows VALUES (?, ?, ?)",
                [(number, row.key, row.attempt) for row in rows],
            )
            self._ledger.put_into(connection, rows, uses)
        return replace(batch, number=number)

    async def _submit(self, batch: Batch, part: Sequence[Question]) -> Batch:
        with tempfile.NamedTemporaryFile(
            dir=self._ledger.path.parent, prefix=".batch-", suffix=".jsonl"
        ) as file:
            bodies = ((question.key or "", self._body(question)) for question in part)
            self._api.write(self._service, bodies, file)  # type: ignore[arg-type]
            file.flush()
            batch = self._note(batch, state="submitting")
            try:
                if batch.file_id is None:
                    batch = self._note(
                        batch, file_id=await self._api.upload(self._service, Path(file.name))
                    )
                batch_id = await self._api.create(
                    self._service, Path(file.name), batch.file_id, batch.tag
                )
            except RefusedError as error:
                self._give_up(batch, str(error))
                raise
            except UnansweredError as error:
                # Where the provider may have taken it, the next call looks for it before anything
                # is sent again.
                if not error.billed:
                    self._give_up(batch, str(error))
                raise
        return self._taken(batch, batch_id)

    def _taken(self, batch: Batch, batch_id: str) -> Batch:
        stamp = now()
        rows = [
            replace(row, status="sent", sent_at=stamp, provider_id=batch_id)
            for row in self._rows(batch)
        ]
        self._ledger.put(rows)
        return self._note(batch, state="submitted", batch_id=batch_id, submitted_at=stamp)

    def _give_up(self, batch: Batch, reason: str) -> None:
        waiting = [row for row in self._rows(batch) if row.status in {"prepared", "sent"}]
        self._ledger.put([replace(attempt, status="failed", reason=reason) for attempt in waiting])
        self._note(batch, state="failed", reason=reason)

    def _rows(self, batch: Batch) -> list[Attempt]:
        pairs = self._ledger.query(
            "SELECT key, attempt FROM batch_rows WHERE batch = ?", [batch.number]
        )
        known = self._ledger.attempts(key for key, _ in pairs)
        return [known[key][attempt - 1] for key, attempt in pairs]

    async def follow(self, batch: Batch) -> Batch:
        """Asks how a batch is doing; one whose submission was cut off is looked for first.

        Raises:
            UnansweredError, RefusedError: the provider does not say.
        """
        if batch.state == "prepared":  # nothing of it was sent
            self._give_up(batch, "not submitted: interrupted before")
            return replace(batch, state="failed", reason="not submitted: interrupted before")
        if batch.state == "submitting":
            batch_id = await self._submitted_id(batch)
            if batch_id is None:
                reason = "not submitted: the provider has no such batch"
                self._give_up(batch, reason)
                return replace(batch, state="failed", reason=reason)
            batch = self._taken(batch, batch_id)
        if batch.batch_id is None or batch.state not in OPEN:
            return batch
        remote = await self._api.look(self._service, batch.batch_id)
        batch = self._note(
            batch,
            state=remote.state,
            counts=dict(remote.counts),
            reason=remote.reason,
            checked_at=now(),
        )
        if remote.state == "failed" and not remote.results:
            self._give_up(batch, remote.reason or "failed")
        return batch

    async def _submitted_id(self, batch: Batch) -> str | None:
        """The id that the provider gave to a batch whose submission was cut off.

        None where it has none.
        """
        row_count = len(self._rows(batch))
        batch_ids = await self._api.find(self._service, batch.tag, row_count, batch.prepared_at)
        known = {known_batch.batch_id for known_batch in batches_of(self._ledger, self._run)}
        new_ids = (batch_id for batch_id in batch_ids if batch_id not in known)
        return next(new_ids, None)

    async def cancel(self, batch: Batch) -> None:
        """Asks to end a batch early; what is finished can still be collected.

        Raises:
            UnansweredError, RefusedError: the provider did not take it.
        """
        if batch.batch_id is not None:
            await self._api.cancel(self._service, batch.batch_id)

    async def collect(self, batch: Batch) -> Batch:
        """Fetches what there is, from the output and from the error file, and keeps every answer.

        Requests without a line are `expired` where the batch is, else `failed`; both may be
        submitted again.

        Raises:
            UnansweredError, RefusedError: it could not be fetched; it is all there the next time.
        """
        assert batch.batch_id is not None
        remote = await self._api.look(self._service, batch.batch_id)
        members = {row.key: row for row in self._rows(batch)}
        waiting = {key: row for key, row in members.items() if row.status in {"prepared", "sent"}}
        oddities = _Oddities()
        for path in remote.results:
            await self._keep_results(path, members, waiting, oddities)
        # Requests without a line in the results end as the batch did.
        status, reason = "failed", "no line in the results"
        if remote.state in {"expired", "cancelled"} or remote.counts.get("expired"):
            status, reason = "expired", f"the batch was {remote.state} before its turn"
        self._ledger.put(
            replace(row, status=status, reason=reason, received_at=now())
            for row in waiting.values()
        )
        parts = [remote.state] if remote.state != "completed" else []
        if waiting:
            parts.append(f"{len(waiting)} without a result")
        parts += oddities.parts()
        return self._note(
            batch,
            state="collected",
            counts=dict(remote.counts),
            reason="; ".join(parts),
            checked_at=now(),
        )

    async def _keep_results(
        self,
        path: str,
        members: dict[str, Attempt],
        waiting: dict[str, Attempt],
        oddities: _Oddities,
    ) -> None:
        """Downloads one file of results and keeps its answers."""
        with tempfile.TemporaryFile(dir=self._ledger.path.parent) as file:
            response = await self._service.http.download(
                path, file, limit=RESULTS_LIMIT, deadline=TRANSFER
            )
            if response.status != 200:
                raise self._service.failed(response)
            file.seek(0)
            for chunk in _chunks(read_lines(file)):
                self._ledger.put(self._kept(chunk, members, waiting, oddities))

    def _kept(
        self,
        lines: Iterable[Any],
        members: dict[str, Attempt],
        waiting: dict[str, Attempt],
        oddities: _Oddities,
    ) -> list[Attempt]:
        """The rows of some lines of the results."""
        rows = []
        for line in lines:
            result = None if line is None else self._api.result(self._service, line)
            if result is None:
                oddities.damaged += 1
            elif (row := waiting.pop(result.identity, None)) is not None:
                members[row.key] = _ended(row, result, self._price, self._service)
                rows.append(members[row.key])
            elif (first := members.get(result.identity)) is None:
                oddities.strangers += 1
            elif result.answer is not None and storable(result.answer.text) != first.reply:
                oddities.repeated += 1
                members[first.key] = _ended(
                    replace(first, attempt=first.attempt + 1), result, self._price, self._service
                )
                rows.append(members[first.key])
        return rows

    def _note(self, batch: Batch, **changes: Any) -> Batch:
        changed = replace(batch, **changes)
        with self._ledger.transaction() as connection:
            connection.execute(
                "UPDATE batches SET state = ?, file_id = ?, batch_id = ?, counts = ?, reason = ?, "
                "submitted_at = ?, checked_at = ? WHERE number = ?",
                [
                    changed.state,
                    changed.file_id,
                    changed.batch_id,
                    canonical(dict(changed.counts)),
                    changed.reason,
                    changed.submitted_at,
                    changed.checked_at,
                    changed.number,
                ],
            )
        return changed


def _ended(row: Attempt, result: Result, price: Price | None, service: Service) -> Attempt:
    answer = result.answer
    if answer is None:
        reason = service.http.clean(result.reason)
        return replace(row, status=result.status, reason=reason, received_at=now())
    cost = price.of_answer(answer, batch=True) if price else None
    return with_answer(row, answer, cost)


def _chunks(lines: Iterable[Any]) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) >= _ROWS:
            yield chunk
            chunk = []
    yield chunk
