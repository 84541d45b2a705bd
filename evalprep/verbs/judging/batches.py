"""`evalprep judge --batch`: the same command prepares, submits, follows and collects."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evalprep.annotate import (
    OPEN,
    Asked,
    Batch,
    Desk,
    Kept,
    Ledger,
    RefusedError,
    Sum,
    UnansweredError,
    batches_of,
    changed_inputs,
    follow,
    go_on_plainly,
    opened,
    output_at_most,
    refresh,
    sign,
    tokens_at_most,
    waiting,
)
from evalprep.errors import BadInput, Problem
from evalprep.results import Run
from evalprep.terminal import print_json
from evalprep.verbs.judging import reports
from evalprep.verbs.judging.arguments import Settings

_AT_WORK = ("prepared", *OPEN)
_COLLECTABLE = ("completed", "expired", "cancelled")


def batch(
    args: argparse.Namespace,
    run: Run,
    stamps: Mapping[str, str],
    question_set: Asked,
    settings: Settings,
) -> int:
    """Goes on with the batches of a run as far as they are.

    Raises:
        BadInput: what is on its way was made from other inputs, or the batch may cost more than
            allowed.
    """
    stamp = next(iter(stamps.values()), run.files.stamp)
    with opened(run) as ledger:
        refresh(ledger, question_set)
        try:
            done = asyncio.run(_go(args, ledger, run, stamp, question_set, settings))
        except (UnansweredError, RefusedError) as error:
            return reports.stopped_code(error, refused=isinstance(error, RefusedError))
        finally:
            refresh(ledger, question_set)
            follow(question_set, Kept(run, stamp, ledger))
            sign(ledger, stamps, question_set, settings.where())
        batches = batches_of(ledger, stamp)
        unanswered = waiting(question_set.every, again=False)
        if args.json:
            data = {
                "done": done,
                "batches": [asdict(batch) for batch in batches],
                "without_answer": len(unanswered),
            }
            print_json(data)
            return 0
        for batch in batches:
            counts = ", ".join(f"{count} {name}" for name, count in batch.counts.items() if count)
            parts = [
                f"batch {batch.number}",
                batch.batch_id or "no id",
                batch.state,
                counts,
                batch.reason,
            ]
            print("  ".join(part for part in parts if part))
        print(f"{done}; ledger: {ledger.path}")
        if _at_work(batches):
            print(
                "next: type the same command later; --batch status only prints the state, "
                "--batch cancel ends it"
            )
            return 0
        if unanswered:
            print(
                f"{len(unanswered)} questions have no answer; the same command submits them again"
            )
            return 0
        return reports.outcome(args, question_set, settings, Sum(), None, ledger.path)


async def _go(
    args: argparse.Namespace,
    ledger: Ledger,
    run: Run,
    stamp: str,
    question_set: Asked,
    settings: Settings,
) -> str:
    """Returns what was done, as a sentence."""
    async with settings.service() as service:
        desk = Desk(ledger, service, run=stamp, price=settings.price)
        at_work = _at_work(batches_of(ledger, stamp))
        if args.batch == "cancel":
            for batch in at_work:
                await desk.cancel(batch)
            return f"asked to cancel {len(at_work)} batches"
        followed = [await desk.follow(batch) for batch in at_work]
        if args.batch == "status":
            return f"{len(_at_work(followed))} batches at work"
        # The results of those that have ended.
        ended = [batch for batch in followed if batch.state in _COLLECTABLE]
        for batch in ended:
            await desk.collect(batch)
        if ended or args.batch == "collect":
            return f"collected {len(ended)} batches"
        refresh(ledger, question_set)
        if not settings.schema_needed:
            go_on_plainly(question_set, Kept(run, stamp, ledger))
        # Nothing was ready to collect, so that what is at work still runs.
        return await _submit(desk, args, _at_work(followed), question_set, settings)


def _at_work(batches: Sequence[Batch]) -> list[Batch]:
    return [batch for batch in batches if batch.state in _AT_WORK]


async def _submit(
    desk: Desk,
    args: argparse.Namespace,
    running: Sequence[Batch],
    question_set: Asked,
    settings: Settings,
) -> str:
    """Submits what waits, unless batches run already or the price is too high."""
    inputs = question_set.inputs()
    if running and not args.force:
        for batch in running:
            if changed := changed_inputs(batch, inputs):
                raise BadInput(
                    Problem(
                        what=f"{', '.join(changed)} changed after batch {batch.batch_id}",
                        where=f"submitted {batch.submitted_at}",
                        fix="wait and --batch collect, or --batch cancel, or submit a second "
                        "batch: --force",
                    )
                )
        return f"{len(running)} batches at work"
    questions = waiting(question_set.every, again=args.ask_again)
    if not questions:
        return "nothing to submit"
    _refuse_costly(questions, settings, args.max_cost)
    sent = await desk.submit(questions, inputs)
    keys = {question.key for question in questions}
    return f"submitted {len(keys)} questions in {len(sent)} batches"


def _refuse_costly(questions: Sequence[Any], settings: Settings, limit: float | None) -> None:
    if limit is None or settings.price is None:
        return
    most = 0.0
    for question in {question.key: question for question in questions}.values():
        tokens_in = tokens_at_most(question.request)
        sampling = question.who.sampling(question.annotator)
        tokens_out = output_at_most(settings.wire, sampling) or 0
        most += settings.price.of(tokens_in, tokens_out, batch=True)
    if most > limit:
        raise BadInput(
            Problem(
                what=f"the batch may cost up to {most:.4g} {settings.price.currency}",
                allowed=f"--max_cost {limit:g}",
            )
        )
