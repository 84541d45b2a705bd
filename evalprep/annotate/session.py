"""One call of `evalprep judge`: the ledger opened and locked, everything that waits asked, and the judge signed in."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalprep.annotate.answers import Question
from evalprep.annotate.asking import Asker, SchemaDeclined, Stopped
from evalprep.annotate.collect import Asked
from evalprep.annotate.kept import Kept, run_folders
from evalprep.annotate.keys import canonical
from evalprep.annotate.ledger import Chosen, Ledger, Use, ledger_place, now
from evalprep.annotate.promptfile import PromptFile
from evalprep.annotate.providers.service import Service
from evalprep.errors import BadInput, Problem, cannot_write
from evalprep.packs.rubric import Rubric
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
            what, fix = "another `evalprep judge` is asking", "wait for its end, or stop it; its answers are kept"
            raise BadInput(Problem(what=what, where=str(place), fix=fix)) from None
        except OSError as error:
            what = f"cannot be locked: {error.strerror}"
            raise BadInput(Problem(what=what, where=str(place.parent), fix="choose a local disk")) from None
        with Ledger(place, write=True) as ledger:
            ledger.close_interrupted()
            try:
                yield ledger
            finally:
                # An interruption leaves rows of requests that nobody waits for any more.
                ledger.close_interrupted()
    finally:
        os.close(descriptor)


def adopt(ledger: Ledger, stamp: str, questions: Sequence[Question]) -> int:
    """Write answers that 0.1.0 kept into the ledger.

    Returns:
        Their number.
    """
    found = [one for one in questions if one.earlier and one.earlier[0].sent_at is None and one.key is not None]
    known = ledger.attempts(one.earlier[0].key for one in found)
    new = [one for one in found if one.earlier[0].key not in known]
    rows = [one.earlier[0] for one in new]
    uses = [
        Use(one.earlier[0].key, sample.run or stamp, sample.task, sample.sample_id)
        for one in new
        for sample in one.item.samples
    ]
    if rows:
        ledger.put(rows, uses)
    return len({row.key for row in rows})


def refresh(ledger: Ledger, asked: Asked) -> None:
    """Read the attempts of all questions anew: another call may have come and gone."""
    known = ledger.attempts(one.key for one in asked.every if one.key)
    for one in asked.every:
        one.attempts = known.get(one.key or "", [])


def waiting(questions: Sequence[Question], *, again: bool) -> list[Question]:
    """Questions to be asked: without a reply or, with `again`, also those whose reply has no values."""
    return [
        one
        for one in questions
        if one.key is not None
        and one.item.fixed is None
        and not any(row.status in {"prepared", "sent"} for row in one.attempts)
        and (not one.settled or (again and not one.item.step and one.judgement().status != "ok"))
    ]


def ask_all(
    asker: Asker, service: Service, asked: Asked, kept: Kept, *, again: bool, schema_needed: bool = False
) -> Stopped | None:
    """Ask everything that waits, and then what follows the replies.

    A service that takes no JSON schema, and has billed nothing for one, is asked without; see `Asked.plain`.

    Returns:
        Why asking was given up; None where it was not.
    """

    async def go() -> None:
        # A service is connected once for all levels of the chains.
        async with service:
            first = True
            asker.schema_taken = any(one.answered and one.request.schema is not None for one in asked.every)
            while True:
                now_waiting = waiting(asked.every, again=again and first)
                if not first:
                    now_waiting = [one for one in now_waiting if one.item.follows is not None and not one.attempts]
                if not now_waiting:
                    return
                try:
                    await asker.ask(service, now_waiting)
                except SchemaDeclined as error:
                    if schema_needed or not asked.has_schema:
                        raise
                    if not asker.schema_taken:  # no request that was still on its way was answered either
                        asked.drop_schema(kept, str(error))
                    else:
                        asked.make_anew(kept)
                    continue
                first = False
                follow(asked, kept)

    try:
        asyncio.run(go())
    except Stopped as error:
        return error
    return None


def follow(asked: Asked, kept: Kept) -> None:
    """Resolve the questions that follow others by the replies that are known by now."""
    if any(one.key is None for one in asked.every):
        asked.make_anew(kept)


def sign(ledger: Ledger, stamps: Mapping[str, str], asked: Asked, settings: Mapping[str, Any]) -> None:
    """Let scores take this judge's answers from now on, where it gave any value.

    One that never gives any does not displace another's ratings.

    Args:
        ledger: Open for writing.
        stamps: Task -> time stamp of its samples.
        asked: The questions, and who was asked.
        settings: Where.
    """
    who = asked.who
    more_settings = {**settings, "json_schema": asked.plain} if asked.plain else dict(settings)
    for name, annotator in asked.annotators.items():
        for stamp in dict.fromkeys(stamps[task] for task in asked.of_task):
            own = [
                one
                for task, several in asked.of_task.items()
                if stamps[task] == stamp
                for one in several
                if one.annotator.name == name and not one.item.step
            ]
            judgements = [one.judgement() for one in own]
            free = all(one.item.fixed is not None for one in own)
            if any(one.status == "ok" and (one.attempts or free) for one in judgements):
                rubric: dict[str, Any] = {"rubric": annotator.spec()} if isinstance(annotator, Rubric) else {}
                if isinstance(annotator, PromptFile):
                    rubric = {"prompt_file": annotator.record(own)}
                if asked.other is not None:
                    place = os.path.relpath(asked.other.files.folder.resolve(), ledger.path.parent.resolve())
                    rubric["other"] = {"place": place, "stamp": asked.other.files.stamp, "label": asked.other.label}
                more = canonical({**more_settings, **rubric})
                ledger.choose(Chosen(stamp, name, who.model, canonical(dict(who.overrides)), more, now()))
