"""Annotators that cost nothing but time: detectors, embedders, code runners. `evalprep score` runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from evalprep.annotate.answers import Question
from evalprep.annotate.attach import stamp_for
from evalprep.annotate.finding import annotators_for, pack_annotators
from evalprep.annotate.kept import Kept
from evalprep.annotate.ledger import Ledger, Use, now, storable
from evalprep.annotate.session import opened, waiting
from evalprep.errors import BadInput
from evalprep.packs.annotator import Annotator, runs_here
from evalprep.packs.pack import Pack
from evalprep.results import Run
from evalprep.results.rows import row_mappings

#: Inputs that an annotator gets at a time, a batch of a classifier; what is done is kept before the next ones begin.
_CHUNK = 64
Progress = Callable[[str, str, int, int], None]
"""Told the annotator, the task, how many are done, and of how many."""


def compute(packs: Iterable[Pack], run: Run, progress: Progress = lambda *_: None) -> list[str]:
    """Compute what the free annotators of some packs have not yet computed of a run's tasks.

    Args:
        packs: The packs.
        run: The run.
        progress: Told how far each annotator is.

    Returns:
        What could not be computed, and why.
    """
    wanted: list[tuple[str, Annotator]] = []
    notes: list[str] = []
    for pack in packs:
        try:
            free = {name: one for name, one in pack_annotators(pack).items() if not one.paid and runs_here(one)}
        except BadInput as error:
            notes.append(f"annotators of {pack.name} are not used: {error.problems[0].what}")
            continue
        wanted += [(task, one) for task in run.tasks for one in annotators_for(free, run.tasks[task])]
    if not wanted:
        return notes
    try:
        with opened(run) as ledger:
            notes += [note for task, one in wanted if (note := _compute(ledger, run, task, one, progress))]
    except BadInput as error:
        notes += [f"annotators were not run: {one.where}: {one.what}" for one in error.problems]
    return notes


def _compute(ledger: Ledger, run: Run, task: str, annotator: Annotator, progress: Progress) -> str:
    stamp = stamp_for(run, task)
    kept = Kept(run, stamp, ledger)
    try:
        who = kept.who(annotator)
        assert who is not None
        rows = {task: row_mappings(run.tasks[task])}
        questions = kept.questions(annotator, who, rows, {task: dict(run.tasks[task].metadata)})
        one_each = list({one.key: one for one in waiting(questions, again=False)}.values())
        done = 0
        for chunk in _chunks(one_each):
            progress(annotator.name, task, done, len(one_each))
            # A contract of duck type: who has no `run` is asked through a provider.
            replies: Sequence[Any] = annotator.run([one.item.input for one in chunk])  # type: ignore[attr-defined]
            if len(replies) != len(chunk):
                return f"{annotator.name} gave {len(replies)} replies to {len(chunk)} inputs of {task}"
            _keep(ledger, stamp, chunk, replies)
            done += len(chunk)
        if done:
            progress(annotator.name, task, done, done)
    except BadInput as error:
        return f"{annotator.name} was not run on {task}: {error.problems[0].what}"
    except Exception as error:  # noqa: BLE001 - a missing package or model must not take the other scores with it
        return f"{annotator.name} was not run on {task}: {type(error).__name__}: {error}"
    return ""


def _keep(ledger: Ledger, stamp: str, questions: Sequence[Question], replies: Sequence[Any]) -> None:
    done = now()
    rows = [
        one.row("received", len(one.attempts) + 1, reply=storable(str(reply)), sent_at=done, received_at=done)
        for one, reply in zip(questions, replies, strict=True)
    ]
    uses = [
        Use(one.key or "", sample.run or stamp, sample.task, sample.sample_id)
        for one in questions
        for sample in one.item.samples
    ]
    ledger.put(rows, uses)


def _chunks(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    for start in range(0, len(questions), _CHUNK):
        yield questions[start : start + _CHUNK]
