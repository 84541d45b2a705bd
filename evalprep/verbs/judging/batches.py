"""`evalprep judge --batch`: the same command prepares, submits, follows and collects."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evalprep.annotate.asking import Sum
from evalprep.annotate.batch import OPEN, Batch, Desk, batches_of, changed_inputs
from evalprep.annotate.collect import Asked, go_on_plainly
from evalprep.annotate.kept import Kept
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.prices import output_at_most, tokens_at_most
from evalprep.annotate.providers.wire import RefusedError, UnansweredError
from evalprep.annotate.session import adopt, follow, opened, refresh, sign, waiting
from evalprep.errors import BadInput, Problem
from evalprep.results import Run
from evalprep.verbs.judging import reports
from evalprep.verbs.judging.arguments import Settings

_AT_WORK = ("prepared", *OPEN)
_COLLECTABLE = ("completed", "expired", "cancelled")


def batch(args: argparse.Namespace, run: Run, stamps: Mapping[str, str], asked: Asked, settings: Settings) -> int:
    """Go on with the batches of a run as far as they are.

    Raises:
        BadInput: what is on its way was made from other inputs, or the batch may cost more than allowed.
    """
    stamp = next(iter(stamps.values()), run.files.stamp)
    with opened(run) as ledger:
        refresh(ledger, asked)
        adopted = adopt(ledger, stamp, asked.every)
        try:
            done = asyncio.run(_go(args, ledger, run, stamp, asked, settings))
        except (UnansweredError, RefusedError) as error:
            print(f"stopped: {error}\n  fix: mend that; the same command goes on from here", file=sys.stderr)
            return 2 if isinstance(error, RefusedError) else 3
        finally:
            refresh(ledger, asked)
            follow(asked, Kept(run, stamp, ledger))
            sign(ledger, stamps, asked, settings.where())
        batches = batches_of(ledger, stamp)
        left = waiting(asked.every, again=False)
        if args.json:
            print(json.dumps(_data(done, batches, len(left)), indent=2, ensure_ascii=False))
            return 0
        for one in batches:
            print(_line(one))
        print(f"{done}; ledger: {ledger.path}")
        if any(one.state in _AT_WORK for one in batches):
            print("next: the same command again, later; --batch status only looks, --batch cancel ends it")
            return 0
        if left:
            print(f"{len(left)} questions have no answer: the same command submits them, and only them")
            return 0
        return reports.outcome(args, asked, settings, Sum(), None, ledger.path, adopted)


async def _go(args: argparse.Namespace, ledger: Ledger, run: Run, stamp: str, asked: Asked, settings: Settings) -> str:
    """What was done, as a sentence."""
    async with settings.service() as service:
        desk = Desk(ledger, service, run=stamp, price=settings.price)
        at_work = [one for one in batches_of(ledger, stamp) if one.state in _AT_WORK]
        if args.batch == "cancel":
            for one in at_work:
                await desk.cancel(one)
            return f"asked to cancel {len(at_work)} batches"
        at_work = [await desk.follow(one) for one in at_work]
        if args.batch == "status":
            return f"{sum(one.state in _AT_WORK for one in at_work)} batches at work"
        ready = [one for one in at_work if one.state in _COLLECTABLE]
        for one in ready:
            await desk.collect(one)
        running = [one for one in at_work if one.state in _AT_WORK and one.state not in _COLLECTABLE]
        if ready or args.batch == "collect":
            return f"collected {len(ready)} batches"
        refresh(ledger, asked)
        if not settings.schema_needed:
            go_on_plainly(asked, Kept(run, stamp, ledger))
        inputs = asked.inputs()
        _refuse_changed(running, inputs, force=args.force_new)
        if running and not args.force_new:
            return f"{len(running)} batches at work"
        left = waiting(asked.every, again=args.ask_again)
        if not left:
            return "nothing to submit"
        _refuse_costly(left, settings, args.max_cost)
        sent = await desk.submit(left, inputs)
        return f"submitted {len({one.key for one in left})} questions in {len(sent)} batches"


def _refuse_changed(running: Sequence[Batch], inputs: Mapping[str, str], *, force: bool) -> None:
    for one in running:
        if (changed := changed_inputs(one, inputs)) and not force:
            raise BadInput(
                Problem(
                    what=f"batch {one.batch_id} was made from something else: {', '.join(changed)} changed",
                    where=f"submitted {one.submitted_at}",
                    fix="wait and --batch collect, or --batch cancel; --force_new submits another beside it",
                )
            )


def _refuse_costly(left: Sequence[Any], settings: Settings, limit: float | None) -> None:
    if limit is None or settings.price is None:
        return
    most = sum(
        settings.price.of(
            tokens_at_most(one.request),
            output_at_most(settings.wire, one.who.sampling(one.annotator)) or 0,
            batch=True,
        )
        for one in {one.key: one for one in left}.values()
    )
    if most > limit:
        raise BadInput(
            Problem(
                what=f"the batch may cost up to {most:.4g} {settings.price.currency}", allowed=f"--max_cost {limit:g}"
            )
        )


def _line(one: Batch) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in one.counts.items() if count)
    parts = [f"batch {one.number}", one.batch_id or "no id", one.state, counts, one.reason]
    return "  ".join(part for part in parts if part)


def _data(done: str, batches: Sequence[Batch], left: int) -> dict[str, Any]:
    return {"done": done, "batches": [asdict(one) for one in batches], "without_answer": left}
