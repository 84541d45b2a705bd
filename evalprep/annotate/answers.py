"""Questions and what became of them.

Keys are made anew from the rows, and kept replies are read anew.

Nothing here asks anybody; scores, reports and `judge` itself see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from custom_metrics.extract.thinking import strip_thinking
from evalprep.annotate.keys import answer_key, canonical, input_sha256, schema_digest
from evalprep.annotate.ledger import READABLE, Attempt, Use, now, storable
from evalprep.annotate.providers.wire import Answer, Request
from evalprep.packs import NOT_ASKED, OUTCOMES, Annotator, Item, Message, Values

#: Among the parameters in a key, the digest of the JSON schema that a reply was held to; as null,
# none is asked for.
SCHEMA = "json_schema"
#: In its place: the schema without the explanation, for judges that come to no end of it.
RATINGS_ALONE = "ratings"
#: Parameters with which a user asks for a form of her own.
_OWN_FORMS = frozenset(
    {"response_format", "output_config", "output_format", "structured_outputs", "guided_json"}
)
#: Statuses of an attempt that the model answered, by whatever words.
ANSWERED = frozenset({*READABLE, "refused", "truncated"})
UNFOLLOWED = "the earlier question has no reply"


@dataclass(frozen=True)
class Judgement:
    """The outcome of a question.

    Attributes:
        status: One of `packs.annotator.OUTCOMES`, or `not asked`.
        values: Name -> number; None unless the status is `ok`.
        reply: The model's text.
        reason: Why there is no answer, or the text of a refusal.
        attempts: Requests made; 0 for values that needed none.
        version: Of the wording that was answered.
        votes: Questions with values, and all questions, that were put together into this one.
    """

    status: str
    values: Values | None = None
    reply: str | None = None
    reason: str = ""
    attempts: int = 0
    version: str = ""
    votes: tuple[int, int] = (0, 0)

    def named(self, name: str) -> Judgement:
        """The same with the names of its values behind another name."""
        return replace(
            self,
            values=self.values and {f"{name}.{key}": value for key, value in self.values.items()},
        )


def numbers_by_value(judgements: Iterable[Judgement]) -> dict[str, list[float]]:
    """Returns name of a value -> its number in every judgement that has it."""
    numbers: dict[str, list[float]] = {}
    for judgement in judgements:
        for name, number in (judgement.values or {}).items():
            numbers.setdefault(name, []).append(number)
    return numbers


@dataclass(frozen=True)
class Who:
    """The service that is asked, and request parameters over an annotator's own.

    Null takes one of these away.
    """

    model: str
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def parameters(self, annotator: Annotator) -> dict[str, Any]:
        """The parameters of a request, beside the form of its reply."""
        merged = {**annotator.sampling, **self.overrides}
        return {
            name: value for name, value in merged.items() if value is not None and name != SCHEMA
        }

    def schema(self, annotator: Annotator) -> Mapping[str, Any] | None:
        """The JSON schema that replies are held to; None where none is asked for."""
        if self.overrides.get(SCHEMA, "") is None or _OWN_FORMS & self.overrides.keys():
            return None
        schema = annotator.schema
        if schema is not None and self.overrides.get(SCHEMA) == RATINGS_ALONE:
            kept = {
                name: definition
                for name, definition in schema["properties"].items()
                if name != "explanation"
            }
            return {**schema, "properties": kept, "required": [*kept]}
        return schema

    def sampling(self, annotator: Annotator, *, step: bool = False) -> dict[str, Any]:
        """The settings that decide an answer beside model and messages.

        They are part of the key of an answer, and the ledger keeps them.

        Args:
            annotator: Who asks.
            step: Whether it is about a step before the last, whose reply is free text.
        """
        parameters = self.parameters(annotator)
        schema = self.schema(annotator)
        if schema is None or step:
            return parameters
        # What the ledger has of an earlier call is the digest itself.
        known = self.overrides.get(SCHEMA, RATINGS_ALONE)
        return parameters | {SCHEMA: schema_digest(schema) if known == RATINGS_ALONE else known}

    def terms(self, annotator: Annotator, *, step: bool = False) -> Terms:
        """The terms of all questions of an annotator, or of their steps before the last."""
        schema = None if step else self.schema(annotator)
        sampling = self.sampling(annotator, step=step)
        return Terms(self.parameters(annotator), schema, sampling, canonical(sampling))

    def with_ratings_alone(self) -> Who:
        """The same judge, held to its ratings without an explanation."""
        return replace(self, overrides={**self.overrides, SCHEMA: RATINGS_ALONE})

    def without_schema(self) -> Who:
        """The same judge, asked for no form of its replies; its answers have keys of their own."""
        return replace(self, overrides={**self.overrides, SCHEMA: None})


@dataclass(frozen=True)
class Terms:
    """The parts of a request that do not differ between the questions of an annotator.

    Attributes:
        parameters: Request parameters, beside the form of the reply.
        schema: The JSON schema that the reply is held to; None without one.
        sampling: Everything beside model and messages that decides an answer.
        sampling_text: The same as canonical JSON.
    """

    parameters: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    sampling_text: str


@dataclass
class Question:
    """An item with its key and its attempts.

    Attributes:
        annotator: Whose it is.
        item: What is asked.
        who: Who is asked.
        key: Under what its answer is kept; None where it follows a question without a reply.
        messages: What is sent.
        terms: On which parameters it is asked.
        input_digest: Of the messages; empty without a key.
        attempts: The rows of the ledger.
    """

    annotator: Annotator
    item: Item
    who: Who
    key: str | None
    messages: tuple[Message, ...]
    terms: Terms
    input_digest: str = ""
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def task(self) -> str:
        """The task of the sample that gets the values."""
        return self.item.samples[0].task

    def uses(self, run: str) -> list[Use]:
        """The samples that its answer is for; `run` is the stamp of those that name none."""
        return [
            Use(self.key or "", sample.run or run, sample.task, sample.sample_id)
            for sample in self.item.samples
        ]

    def judgement(self) -> Judgement:
        """The outcome, by the present rules of reading."""
        if self.item.fixed is not None:
            # A rating that another tool has of it is kept for rules that read it.
            imported = [attempt.reply for attempt in self.attempts if attempt.status == "imported"]
            return Judgement("ok", self.item.fixed, imported[-1] if imported else None)
        if self.key is None:
            return Judgement("missing", reason=UNFOLLOWED)
        return judgement_of(self.annotator, self.item, self.attempts)

    @property
    def settled(self) -> bool:
        """Returns whether nothing more has to be asked.

        The model has replied, readable or not; or no reply is needed; or none can come.
        """
        return self.item.fixed is not None or self.key is None or self.answered

    @property
    def answered(self) -> bool:
        """Returns whether a request about it was answered, by whatever words."""
        return any(attempt.status in ANSWERED for attempt in self.attempts)

    @property
    def foreign(self) -> bool:
        """Returns whether every answer to it was written by somebody else."""
        answered = [attempt for attempt in self.attempts if attempt.status in ANSWERED]
        return bool(answered) and not any(attempt.signed for attempt in answered)

    @property
    def request(self) -> Request:
        """The request that is sent."""
        terms = self.terms
        return Request(self.who.model, self.messages, terms.parameters, terms.schema)

    def row(self, status: str, attempt: int, **more: Any) -> Attempt:
        """A row of the ledger about it."""
        assert self.key is not None
        return Attempt(
            key=self.key,
            attempt=attempt,
            annotator=self.annotator.name,
            version=self.annotator.version,
            model=self.who.model,
            sampling=self.terms.sampling_text,
            input_sha256=self.input_digest,
            draw=self.item.draw,
            status=status,
            signed=True,
            **more,
        )


def read_reply(
    annotator: Annotator, item: Item, reply: str | None
) -> tuple[str, Values | None, str]:
    """Status, values and reason of a whole reply.

    A closed thinking trace is not read, as it may weigh other ratings than the one it ends with.
    """
    if not reply or not reply.strip():
        return "missing", None, "empty reply"
    text, trace = strip_thinking(reply)
    try:
        status, values = annotator.read(item, text if trace == "stripped" else reply)
    except Exception as error:  # noqa: BLE001
        # A rubric of the user's may raise; its rows must not stop the others.
        return "parse_error", None, f"{annotator.name}.read fails: {type(error).__name__}: {error}"
    if status not in OUTCOMES or (status == "ok") != (values is not None):
        return "parse_error", None, f"{annotator.name}.read breaks its contract: {status!r}"
    return status, values and {item.prefix + name: value for name, value in values.items()}, ""


def judgement_of(annotator: Annotator, item: Item, attempts: Sequence[Attempt]) -> Judgement:
    """The last attempt that has values; else the last one with a reply; else why there is none."""
    ended = own_first([row for row in attempts if row.status not in {"prepared", "sent"}])
    if not ended:
        return Judgement(NOT_ASKED, reason="waiting in a submitted batch" if attempts else "")
    judgements = [_of_attempt(annotator, item, row, len(attempts)) for row in reversed(ended)]
    # The first one with values; else the first one, or, where that has no reply, one with it.
    for judgement in judgements:
        if judgement.status == "ok":
            return judgement
    first = judgements[0]
    if first.status == "missing" and first.reply is None:
        for judgement in judgements:
            if judgement.reply is not None:
                return judgement
    return first


def _of_attempt(annotator: Annotator, item: Item, row: Attempt, attempts: int) -> Judgement:
    """The outcome of one attempt."""
    if row.status not in {"refused", "truncated", *READABLE}:
        return Judgement("missing", None, None, row.reason or row.status, attempts)
    status, values, reason = _read_attempt(annotator, item, row)
    return Judgement(
        status=status,
        values=values,
        reply=row.reply,
        reason=reason,
        attempts=attempts,
        version=row.version,
    )


def _read_attempt(annotator: Annotator, item: Item, row: Attempt) -> tuple[str, Values | None, str]:
    """Status, values and reason of an attempt that has a reply or was refused one."""
    if row.status in {"refused", "truncated"}:
        return row.status, None, row.reason
    if not item.step:
        return read_reply(annotator, item, row.reply)
    if not (row.reply or "").strip():
        return "missing", None, "empty reply"
    return "ok", {}, ""


def own_first(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """This user's attempts where one of them was answered.

    Then answers from elsewhere do not count.
    """
    own = [attempt for attempt in attempts if attempt.signed]
    return own if any(attempt.status in ANSWERED for attempt in own) else attempts


def questions_of(
    annotator: Annotator,
    items: Iterable[Item],
    who: Who,
    attempts_of: Callable[[Iterable[str]], Mapping[str, list[Attempt]]],
) -> list[Question]:
    """Items as questions, with what is known of them.

    Chains are resolved as far as replies are known.
    """
    terms_of = cache(lambda step: who.terms(annotator, step=step))
    questions: list[Question] = []
    done: dict[int, Question] = {}
    waiting = list(items)
    # One level of the chains after the other, so that the ledger is read once per level.
    while waiting:
        level = [
            resolve(annotator, item, who, terms_of(item.step), done)
            for item in _next_level(waiting, done)
        ]
        known = attempts_of([question.key for question in level if question.key is not None])
        for question in level:
            question.attempts = list(known.get(question.key or "", ()))
            done[id(question.item)] = question
        questions += level
        waiting = [item for item in waiting if id(item) not in done]
    return questions


def _next_level(waiting: Sequence[Item], done: Mapping[int, Question]) -> Iterable[Item]:
    """The items that can be asked now: those whose earlier questions are resolved.

    Where none is ready, the earlier questions themselves, which are no items of the set.
    """
    ready = [item for item in waiting if item.follows is None or id(item.follows) in done]
    if not ready:
        ready = [item.follows for item in waiting if item.follows is not None]
    return {id(item): item for item in ready}.values()


def resolve(
    annotator: Annotator, item: Item, who: Who, terms: Terms, done: Mapping[int, Question]
) -> Question:
    """An item as a question; without a key where it follows one without a reply."""
    reply_before = None
    if item.follows is not None:
        reply_before = done[id(item.follows)].judgement().reply
        if reply_before is None:
            return Question(
                annotator=annotator,
                item=item,
                who=who,
                key=None,
                messages=item.messages,
                terms=terms,
            )
    messages = item.resolved(reply_before)
    digest = input_sha256(messages)
    key = answer_key(
        annotator.name, annotator.version, who.model, terms.sampling, digest, item.draw
    )
    return Question(
        annotator=annotator,
        item=item,
        who=who,
        key=key,
        messages=messages,
        terms=terms,
        input_digest=digest,
    )


def with_answer(row: Attempt, answer: Answer, cost: float | None) -> Attempt:
    """Returns the row of an attempt with what a service answered.

    Args:
        row: The attempt; its id at the service stays where the answer has none.
        answer: The answer.
        cost: What it cost; None without a price.
    """
    return row.changed(
        status=answer.status,
        reply=storable(answer.text),
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost=cost,
        received_at=now(),
        provider_id=storable(answer.provider_id) or row.provider_id,
        reason=storable(answer.reason) or "",
    )
