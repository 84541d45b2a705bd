"""Annotators that cost nothing but time: detectors, embedders, code runners.

`evalprep score` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from evalprep.annotate.answers import Question
from evalprep.annotate.attachment import stamp_for
from evalprep.annotate.finding import annotators_for, pack_annotators
from evalprep.annotate.kept import Kept
from evalprep.annotate.ledger import Ledger, Use, now, storable
from evalprep.errors import BadInput
from evalprep.packs import Annotator, Pack, runs_code, runs_here, why_foreign
from evalprep.results import Run, prepared_work, row_mappings

#: Inputs that an annotator gets at a time, a batch of a classifier; what is done is kept before
# the next ones begin.
_CHUNK = 64
Progress = Callable[[str, str, int, int], None]
"""Told the annotator, the task, how many are done, and of how many."""


def compute(
    packs: Iterable[Pack], run: Run, progress: Progress = lambda *_: None, *, run_code: bool = False
) -> list[str]:
    """Computes what the free annotators of some packs have not yet computed of a run's tasks.

    Answers in a received ledger are computed again, unless the user accepts them.

    Args:
        packs: The packs.
        run: The run.
        progress: Called with how far each annotator is.
        run_code: Whether the user allows programmes on the command line; a preparation of her own
            for such a task allows them, too.

    Returns:
        What could not be computed, and why.
    """
    work, notes = _free_work(packs, run)
    if not work:
        return notes
    from evalprep.annotate.session import opened  # and all that asks over a network

    prepared = own_tasks(run)
    try:
        with opened(run) as ledger:
            if ledger.seal.problem:
                notes.append(ledger.seal.problem)
            for task, annotator in work:
                allowed = run_code or task in prepared or not runs_code(annotator)
                notes += _compute(ledger, run, task, annotator, progress, allowed=allowed)
    except BadInput as error:
        notes += [
            f"annotators were not run: {problem.where}: {problem.what}"
            for problem in error.problems
        ]
    return notes


def _free_work(packs: Iterable[Pack], run: Run) -> tuple[list[tuple[str, Annotator]], list[str]]:
    """Tasks, each with a free annotator that is asked about it; and why annotators are not used."""
    work: list[tuple[str, Annotator]] = []
    notes: list[str] = []
    for pack in packs:
        try:
            annotators = pack_annotators(pack)
        except BadInput as error:
            notes.append(f"annotators of {pack.name} are not used: {error.problems[0].what}")
            continue
        free = {
            name: annotator
            for name, annotator in annotators.items()
            if not annotator.paid and runs_here(annotator)
        }
        for task, task_run in run.tasks.items():
            work += [(task, annotator) for annotator in annotators_for(free, task_run)]
    return work, notes


def own_tasks(run: Run) -> frozenset[str]:
    """The tasks of the preparation of a run, where it is this user's own and unchanged.

    A task that runs programmes is prepared only where the config allows it.
    """
    prepared = prepared_work(run)
    if prepared is None or why_foreign(prepared.folder):
        return frozenset()
    return frozenset(prepared.tasks)


def _compute(
    ledger: Ledger, run: Run, task: str, annotator: Annotator, progress: Progress, *, allowed: bool
) -> list[str]:
    """Computes one annotator's values of a task, unless it is not allowed to; why it could not."""
    stamp = stamp_for(run, task)
    kept = Kept(run, stamp, ledger)
    try:
        who = kept.who(annotator)
        assert who is not None
        rows = {task: row_mappings(run.tasks[task])}
        questions = kept.questions(annotator, who, rows, {task: dict(run.tasks[task].metadata)})
        from evalprep.annotate.session import waiting

        # The questions without an answer that counts, each key once.
        foreign = [question for question in questions if question.foreign]
        again = [] if run.accepts_ledger else foreign
        by_key = {question.key: question for question in [*waiting(questions, again=False), *again]}
        unanswered = list(by_key.values())
        if unanswered and not allowed:
            reason = "it runs programmes, and this run was not prepared by you on this machine"
            return [f"{annotator.name} was not run on {task}: {reason}; --run_code allows them"]
        return _answer_all(ledger, stamp, task, annotator, unanswered, progress)
    except BadInput as error:
        return [f"{annotator.name} was not run on {task}: {error.problems[0].what}"]
    except Exception as error:  # noqa: BLE001
        # A missing package or model must not take the other scores with it.
        return [f"{annotator.name} was not run on {task}: {type(error).__name__}: {error}"]


def _answer_all(
    ledger: Ledger,
    stamp: str,
    task: str,
    annotator: Annotator,
    questions: Sequence[Question],
    progress: Progress,
) -> list[str]:
    """Computes and keeps the answers, chunk by chunk; why it ended before the last one."""
    done = 0
    for chunk in _chunks(questions):
        progress(annotator.name, task, done, len(questions))
        # A contract of duck type: who has no `run` is asked through a provider.
        inputs = [question.item.input for question in chunk]
        replies: Sequence[Any] = annotator.run(inputs)  # type: ignore[attr-defined]
        if len(replies) != len(chunk):
            return [
                f"{annotator.name} gave {len(replies)} replies to {len(chunk)} inputs of {task}"
            ]
        _keep(ledger, stamp, chunk, replies)
        done += len(chunk)
    if done:
        progress(annotator.name, task, done, done)
    return []


def _keep(
    ledger: Ledger, stamp: str, questions: Sequence[Question], replies: Sequence[Any]
) -> None:
    done = now()
    rows = [
        question.row(
            "received",
            len(question.attempts) + 1,
            reply=storable(str(reply)),
            sent_at=done,
            received_at=done,
        )
        for question, reply in zip(questions, replies, strict=True)
    ]
    uses: list[Use] = []
    for question in questions:
        uses += question.uses(stamp)
    ledger.put(rows, uses)


def _chunks(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    for start in range(0, len(questions), _CHUNK):
        yield questions[start : start + _CHUNK]
