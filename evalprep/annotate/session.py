"""One call of `evalprep judge`.

The ledger opened and locked, everything that waits asked, and the judge signed in.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalprep.annotate.answers import Question
from evalprep.annotate.asking import Asker, SchemaDeclined, Stopped
from evalprep.annotate.collection import Asked
from evalprep.annotate.kept import Kept
from evalprep.annotate.keys import canonical
from evalprep.annotate.ledger import Chosen, Ledger, now
from evalprep.annotate.place import ledger_place, run_folders
from evalprep.annotate.promptfile import PromptFile
from evalprep.annotate.providers.service import Service
from evalprep.errors import BadInput, Problem, cannot_write
from evalprep.packs import Annotator, Rubric
from evalprep.results import Run


@contextlib.contextmanager
def opened(run: Run) -> Iterator[Ledger]:
    """The ledger of a run for writing; nobody else may ask about runs of this ledger meanwhile.

    Raises:
        BadInput: it cannot be written, or another process is asking.
    """
    place = ledger_place(run_folders(run))
    # The folder is locked and not the file, on which SQLite has locks of its own.
    try:
        descriptor = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise cannot_write(error, str(place.parent)) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            what, fix = (
                "another `evalprep judge` is asking",
                "wait for its end, or stop it; its answers are kept",
            )
            raise BadInput(Problem(what=what, where=str(place), fix=fix)) from None
        except OSError as error:
            what = f"cannot be locked: {error.strerror}"
            raise BadInput(
                Problem(what=what, where=str(place.parent), fix="choose a local disk")
            ) from None
        with Ledger(place, write=True) as ledger:
            ledger.close_interrupted()
            try:
                yield ledger
            finally:
                # An interruption leaves rows of requests that nobody waits for any more.
                ledger.close_interrupted()
    finally:
        os.close(descriptor)


def refresh(ledger: Ledger, question_set: Asked) -> None:
    """Reads the attempts of all questions anew: another call may have come and gone."""
    known = ledger.attempts(question.key for question in question_set.every if question.key)
    for question in question_set.every:
        question.attempts = known.get(question.key or "", [])


def waiting(questions: Sequence[Question], *, again: bool) -> list[Question]:
    """The questions without a reply.

    With `again`, also those whose reply has no values.
    """
    return [
        question
        for question in questions
        if question.key is not None
        and question.item.fixed is None
        and not any(row.status in {"prepared", "sent"} for row in question.attempts)
        and (
            not question.settled
            or (again and not question.item.step and question.judgement().status != "ok")
        )
    ]


def ask_all(
    asker: Asker,
    service: Service,
    question_set: Asked,
    kept: Kept,
    *,
    again: bool,
    schema_needed: bool,
) -> Stopped | None:
    """Asks everything that waits, and then what follows the replies.

    A service that takes no JSON schema, and has billed nothing for one, is asked without; see
    `Asked.plain`.

    Returns:
        Why asking was given up; None where it was not.
    """

    async def ask_levels() -> None:
        # A service is connected once for all levels of the chains.
        async with service:
            asker.schema_taken = any(
                question.answered and question.request.schema is not None
                for question in question_set.every
            )
            is_first = True
            while questions := _to_ask(question_set, again=again, is_first=is_first):
                try:
                    await asker.ask(service, questions)
                except SchemaDeclined as error:
                    if schema_needed or not question_set.has_schema:
                        raise
                    if asker.schema_taken:
                        question_set.make_anew(kept)
                    else:
                        question_set.drop_schema(kept, str(error))
                    continue
                is_first = False
                follow(question_set, kept)

    try:
        asyncio.run(ask_levels())
    except Stopped as error:
        return error
    return None


def _to_ask(question_set: Asked, *, again: bool, is_first: bool) -> list[Question]:
    """The questions that wait; after the first level only those that follow its replies."""
    questions = waiting(question_set.every, again=again and is_first)
    if is_first:
        return questions
    return [each for each in questions if each.item.follows is not None and not each.attempts]


def follow(question_set: Asked, kept: Kept) -> None:
    """Resolves the questions that follow others by the replies that are known by now."""
    if any(question.key is None for question in question_set.every):
        question_set.make_anew(kept)


def _last_steps_of(annotator: str, questions: Iterable[Question]) -> list[Question]:
    """The questions of an annotator, without the first steps of chains."""
    return [
        question
        for question in questions
        if question.annotator.name == annotator and not question.item.step
    ]


def sign(
    ledger: Ledger, stamps: Mapping[str, str], question_set: Asked, settings: Mapping[str, Any]
) -> None:
    """Lets scores take this judge's answers from now on, where it gave any value.

    One that never gives any does not displace another's ratings.

    Args:
        ledger: Open for writing.
        stamps: Task -> time stamp of its samples.
        question_set: The questions, and who was asked.
        settings: Where.
    """
    base = dict(settings)
    if question_set.plain:
        base["json_schema"] = question_set.plain
    overrides = canonical(dict(question_set.who.overrides))
    stamps_asked = dict.fromkeys(stamps[task] for task in question_set.of_task)
    for name, annotator in question_set.annotators.items():
        for stamp in stamps_asked:
            tasks = [task for task in question_set.of_task if stamps[task] == stamp]
            # The questions of an annotator about some tasks, of chains the last alone.
            own: list[Question] = []
            for task in tasks:
                own += _last_steps_of(name, question_set.of_task[task])
            if not gave_values(own):
                continue
            facts = _facts_of(annotator, own, question_set.other, ledger)
            more = canonical({**base, **facts})
            ledger.choose(Chosen(stamp, name, question_set.who.model, overrides, more, now()))


def gave_values(questions: Sequence[Question]) -> bool:
    """Returns whether a judge gave any value.

    Values that need no judge count where no question needs one.
    """
    free = all(question.item.fixed is not None for question in questions)
    judgements = [question.judgement() for question in questions]
    return any(each.status == "ok" and (each.attempts or free) for each in judgements)


def _facts_of(
    annotator: Annotator, questions: Sequence[Question], other: Run | None, ledger: Ledger
) -> dict[str, Any]:
    """The facts that scores need of an annotator of the user's, and of the other run of pairs."""
    facts: dict[str, Any] = {}
    if isinstance(annotator, PromptFile):
        facts["prompt_file"] = annotator.record(questions)
    elif isinstance(annotator, Rubric):
        facts["rubric"] = annotator.spec()
    if other is not None:
        folder = ledger.path.parent.resolve()
        facts["other"] = {
            "place": os.path.relpath(other.files.folder.resolve(), folder),
            "stamp": other.files.stamp,
            "label": other.label,
        }
    return facts
