"""The output of `evalprep judge`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evalprep.annotate import (
    Agreement,
    Asked,
    Attempt,
    Ledger,
    Question,
    Stopped,
    Sum,
    Use,
    agreement,
    ledger_of,
    now,
    open_filled,
    opened,
    plan,
    preferences,
    ratings_of,
    show,
    show_plan,
    show_sum,
    sign,
    stamp_for,
    tally,
    waiting,
)
from evalprep.errors import BadInput, Problem, cannot_write
from evalprep.files import open_atomically, read_text, resolve_typed
from evalprep.packs import Rubric
from evalprep.results import Run
from evalprep.terminal import counted, print_json
from evalprep.verbs.judging import checks
from evalprep.verbs.judging.arguments import Settings
from evalprep.verbs.options import print_next


def dry_run(question_set: Asked, settings: Settings, args: argparse.Namespace) -> int:
    """Returns what would be asked; nothing is."""
    questions = waiting(question_set.every, again=args.ask_again)
    planned = plan(
        question_set, questions, settings.wire, settings.price, batch=args.batch is not None
    )
    if args.json:
        print_json(planned)
    else:
        show_plan(planned, settings.requests.max_retries, settings.price)
    return 0


@dataclass(frozen=True)
class _Judging:
    """The findings on the judge that a rubric allows beside its ratings; else None.

    Attributes:
        calibration: Its agreement with the ratings that the rubric expects.
        preferences: Which of two runs it prefers, as plain data.
    """

    calibration: list[Agreement] | None = None
    preferences: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.calibration is not None or self.preferences is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: only what there is."""
        data: dict[str, Any] = {}
        if self.calibration is not None:
            data["calibration"] = [agreement.to_dict() for agreement in self.calibration]
        if self.preferences is not None:
            data["preferences"] = self.preferences
        return data

    def show(self) -> None:
        """Prints it."""
        if self.preferences is not None:
            for line in checks.preference_lines(self.preferences):
                print(line)
        if self.calibration is not None:
            checks.show_agreement(self.calibration)


def _judging_of(question_set: Asked, settings: Settings, args: argparse.Namespace) -> _Judging:
    rubric = settings.rubric
    if not isinstance(rubric, Rubric):
        return _Judging()
    if args.calibrate:
        ratings = ratings_of(question_set.every)
        return _Judging(calibration=agreement(ratings, checks.expected_ratings(rubric)))
    if rubric.is_pair:
        return _Judging(preferences=preferences(question_set.every).to_dict())
    return _Judging()


def outcome(
    args: argparse.Namespace,
    question_set: Asked,
    settings: Settings,
    summed: Sum,
    stopped: Stopped | None,
    ledger: Path,
) -> int:
    """Returns what became of the questions."""
    tallies = [tally(name, questions) for name, questions in question_set.of_task.items()]
    rated = any(tally.n_ok for tally in tallies)
    judging = _judging_of(question_set, settings, args)
    if args.json:
        # Requests, tokens and money; the money is None where a part of it is unknown.
        priced = settings.price is not None and not summed.unpriced
        data: dict[str, Any] = {
            "judge": settings.who.model,
            "json_schema": question_set.json_schema,
            "requests": summed.requests,
            "tokens_in": summed.tokens_in,
            "tokens_out": summed.tokens_out,
            "cost": summed.cost if priced else None,
            "tasks": [tally.to_dict() for tally in tallies],
            **judging.to_dict(),
            "stopped": str(stopped) if stopped else None,
            "ledger": str(ledger),
        }
        print_json(data)
    else:
        show(tallies)
        if question_set.plain:
            print(f"asked without the JSON schema of the rubric: {question_set.plain}")
        judging.show()
        print(f"{show_sum(summed, settings.price)}; ledger: {ledger}")
        if rated and not judging:
            print_next("score", [args.run], args)
    if stopped:
        return stopped_code(stopped, refused=stopped.refused)
    return 0 if rated else 3


def stopped_code(reason: object, *, refused: bool) -> int:
    """Prints why a judge is asked no further, and returns the exit code."""
    print(
        f"stopped: {reason}\n  fix: correct that; the same command goes on from here",
        file=sys.stderr,
    )
    return 2 if refused else 3


def sign_ledger(run: Run, args: argparse.Namespace) -> int:
    """Adopts every answer of the run's ledger as this user's own."""
    place = _ledger_of(run)
    with opened(run) as ledger:
        if ledger.seal.problem:
            raise BadInput(Problem(what=ledger.seal.problem, where=str(place)))
        count = ledger.sign_all()
    if args.json:
        print_json({"ledger": str(place), "signed": count})
    else:
        print(f"{counted(count, 'answer')} of {place} adopted as your own")
        print_next("score", [args.run], args)
    return 0


def _ledger_of(run: Run) -> Path:
    """The place of the run's ledger.

    Raises:
        BadInput: there is none, or an empty one.
    """
    place = ledger_of(run)
    ledger = None if place is None else open_filled(place)
    if place is None or ledger is None:
        fix = "evalprep judge RUN --model NAME"
        raise BadInput(Problem(what="there is no ledger", where=str(run.files.folder), fix=fix))
    ledger.close()
    return place


def export(run: Run, args: argparse.Namespace) -> int:
    """Writes the ledger's answers about a run as JSON Lines.

    One per attempt, with the samples that it is about.
    """
    place = _ledger_of(run)
    count = 0
    with Ledger(place) as ledger:
        # Key of an answer -> what the run uses it for; without answers that it does not use.
        stamps = {run.files.stamp, *run.files.stamps}
        uses_by_run = {
            key: [use for use in several if use.run in stamps]
            for key, several in ledger.uses().items()
        }
        uses = {key: several for key, several in uses_by_run.items() if several}
        try:
            with open_atomically(resolve_typed(args.export), errors="backslashreplace") as file:
                for line in _exported_lines(ledger, uses):
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    count += 1
        except OSError as error:
            raise cannot_write(error, f"--out {args.export}") from error
    if args.json:
        data = {"ledger": str(place), "written": str(args.export), "lines": count}
        print_json(data)
    else:
        print(f"written: {args.export} ({count} lines)")
    return 0


def _exported_lines(ledger: Ledger, uses: Mapping[str, list[Use]]) -> Iterator[dict[str, Any]]:
    for key, attempts in ledger.attempts(list(uses)).items():
        samples = [
            {"task": use.task, "sample_id": use.sample_id, "run": use.run} for use in uses[key]
        ]
        for attempt in attempts:
            sampling = json.loads(attempt.sampling)
            yield {**asdict(attempt), "sampling": sampling, "samples": samples}


def import_ratings(run: Run, question_set: Asked, args: argparse.Namespace) -> int:
    """Takes over ratings that another tool made.

    Their file is a JSON list in row order, of numbers, objects or a judge's words.

    An annotator that has `imported(content, items)` reads further forms, those of the programme
    that it stands for.

    Raises:
        BadInput: the file does not fit the questions.
    """
    problem = Problem(
        what="holds no ratings of these rows",
        where=str(args.import_ratings),
        allowed="a JSON list in row order: per row a number, an object (name -> number), "
        "a reply as text, or null",
        fix="name the one task that they are of: --tasks TASK",
    )
    questions = [question for question in question_set.every if not question.item.step]
    try:
        content = json.loads(read_text(args.import_ratings, own=True))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(replace(problem, what=f"cannot be read: {error}")) from error
    ratings = _ratings_by_task(content, run, question_set, questions, problem)
    # Counted before the import: it settles questions.
    unasked = sum(question.key is None or question.item.fixed is not None for question in questions)
    kept = sum(question.settled for question in questions) - unasked
    stamp = stamp_for(run, next(iter(question_set.of_task)))
    rows, uses = _take_over(questions, ratings, stamp, problem)
    with opened(run) as ledger:
        ledger.put(rows, uses)
        stamps = dict.fromkeys(question_set.of_task, stamp)
        sign(ledger, stamps, question_set, {"imported": args.import_ratings.name})
        place = ledger.path
    imported = len(rows)
    if args.json:
        data = {"imported": imported, "kept": kept, "unasked": unasked, "ledger": str(place)}
        print_json(data)
    else:
        # The rows that got no rating of the file.
        notes = {
            f"{counted(kept, 'row')} rated before and kept": kept,
            f"{counted(unasked, 'row')} without a question for the judge": unasked,
        }
        beside = ", ".join(note for note, count in notes.items() if count)
        ending = f" (beside them {beside})" if beside else ""
        print(f"{counted(imported, 'rating')} taken over{ending}; ledger: {place}")
        print_next("score", [args.run], args)
    return 0 if imported else 3


def _ratings_by_task(
    content: Any, run: Run, question_set: Asked, questions: Sequence[Question], problem: Problem
) -> dict[str, list[Any]]:
    """Task -> ratings in row order.

    A file of another tool may hold those of several tasks, which the annotators find in it.

    Raises:
        BadInput: the file does not fit the questions.
    """
    ratings: dict[str, list[Any]] = {}
    for annotator in question_set.annotators.values():
        reader = getattr(annotator, "imported", None)
        of_annotator = [question for question in questions if question.annotator is annotator]
        items = [question.item for question in of_annotator]
        found = None if reader is None else reader(content, items)
        if items and isinstance(found, list) and found is not content:
            ratings[items[0].samples[0].task] = found
    if ratings:
        return ratings
    (task, *_) = question_set.of_task
    return {task: _fitting_ratings(content, run, question_set, questions, problem)}


def _fitting_ratings(
    content: Any, run: Run, question_set: Asked, questions: Sequence[Question], problem: Problem
) -> list[Any]:
    """The ratings in row order.

    Raises:
        BadInput: it is no list, not of one task, or shorter or longer than the rows.
    """
    last_row = max((question.item.samples[0].index for question in questions), default=-1)
    one_task = len(question_set.of_task) == 1
    if not isinstance(content, list) or not one_task or len(content) <= last_row:
        raise BadInput(problem)
    (task,) = question_set.of_task
    size = len(run.tasks[task].table())
    if len(content) > size:
        what = f"holds {len(content)} ratings, the run has {size} rows"
        raise BadInput(replace(problem, what=what))
    return content


def _take_over(
    questions: Sequence[Question],
    ratings: Mapping[str, Sequence[Any]],
    stamp: str,
    problem: Problem,
) -> tuple[list[Attempt], list[Use]]:
    """The rows of the ledger for the ratings of open questions, which are settled by them.

    Ratings of questions that need no judge are kept beside their fixed value.

    Raises:
        BadInput: a rating that the annotator cannot read; a judge's words may be unreadable.
    """
    rows: list[Attempt] = []
    uses: list[Use] = []
    for question in questions:
        sample = question.item.samples[0]
        index, of_task = sample.index, ratings.get(sample.task, ())
        rating = of_task[index] if index < len(of_task) else None
        if rating is None or question.key is None or question.answered:
            continue
        # The text that a judge would have replied; a lone number is of the first value.
        first_value = next(iter(question.annotator.values), "")
        named = rating if isinstance(rating, dict) else {first_value: rating}
        reply = rating if isinstance(rating, str) else json.dumps(named)
        row = question.row("imported", len(question.attempts) + 1, reply=reply, received_at=now())
        rows.append(row)
        question.attempts.append(row)
        if question.judgement().status != "ok" and not isinstance(rating, str):
            what = f"row {index}: {json.dumps(rating)[:80]} is not a rating"
            raise BadInput(replace(problem, what=what))
        uses += [
            Use(question.key, stamp, sample.task, sample.sample_id)
            for sample in question.item.samples
        ]
    return rows, uses
