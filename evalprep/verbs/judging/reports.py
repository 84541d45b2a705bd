"""What `evalprep judge` prints and writes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evalprep.annotate.asking import Stopped, Sum
from evalprep.annotate.attach import stamp_for
from evalprep.annotate.collect import Asked
from evalprep.annotate.kept import run_folders
from evalprep.annotate.ledger import Attempt, Ledger, Use, find_ledger, now
from evalprep.annotate.quality import agreement, preferences, ratings_of
from evalprep.annotate.screen import plan, show, show_plan, show_sum
from evalprep.annotate.session import opened, sign, waiting
from evalprep.annotate.tally import tally
from evalprep.errors import BadInput, Problem, cannot_write
from evalprep.packs.rubric import Rubric
from evalprep.results import Run
from evalprep.terminal import counted
from evalprep.verbs.judging import checks
from evalprep.verbs.judging.arguments import Settings


def dry_run(asked: Asked, settings: Settings, args: argparse.Namespace) -> int:
    """What would be asked; nothing is."""
    left = waiting(asked.every, again=args.ask_again)
    planned = plan(asked, left, settings.wire, settings.price, batch=args.batch is not None)
    if args.json:
        print(json.dumps(planned, indent=2, ensure_ascii=False))
    else:
        show_plan(planned, args.max_retries, settings.price)
    return 0


def outcome(
    args: argparse.Namespace,
    asked: Asked,
    settings: Settings,
    summed: Sum,
    stopped: Stopped | None,
    ledger: Path,
    adopted: int,
) -> int:
    """What became of the questions."""
    tallies = [tally(name, questions) for name, questions in asked.of_task.items()]
    rated = any(one.n_ok for one in tallies)
    more: dict[str, Any] = {}
    lines: list[str] = []
    rubric = settings.rubric if isinstance(settings.rubric, Rubric) else None
    if rubric is not None and args.calibrate:
        found = agreement(ratings_of(asked.every), checks.expected_ratings(rubric))
        more["calibration"] = [one.to_dict() for one in found]
    elif rubric is not None and rubric.is_pair:
        more["preferences"] = preferences(asked.every).to_dict()
        lines = checks.preference_lines(more["preferences"])
    if args.json:
        data: dict[str, Any] = {
            "judge": settings.who.model,
            "json_schema": asked.plain or ("sent" if asked.has_schema else "none"),
            "requests": summed.requests,
            "tokens_in": summed.tokens_in,
            "tokens_out": summed.tokens_out,
            "cost": summed.cost if settings.price is not None and not summed.unpriced else None,
            "imported": adopted,
            "tasks": [one.to_dict() for one in tallies],
            **more,
            "stopped": str(stopped) if stopped else None,
            "ledger": str(ledger),
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        show(tallies)
        if asked.plain:
            print(f"asked without the JSON schema of the rubric: {asked.plain}")
        for line in lines:
            print(line)
        if "calibration" in more:
            checks.show_agreement(found)
        if adopted:
            print(f"{adopted} answers taken over from evalprep 0.1.0")
        print(f"{show_sum(summed, settings.price)}; ledger: {ledger}")
        if rated and not more:
            print(f"next: evalprep score {args.run}")
    if stopped:
        print(f"stopped: {stopped}\n  fix: mend that; the same command goes on from here", file=sys.stderr)
        return 2 if stopped.refused else 3
    return 0 if rated else 3


def export(run: Run, args: argparse.Namespace) -> int:
    """Write the ledger's answers about a run as JSON Lines: one per attempt, with the samples that it is about."""
    place = find_ledger(run_folders(run))
    if place is None:
        raise BadInput(
            Problem(what="there is no ledger", where=str(run.files.folder), fix="evalprep judge RUN --model NAME")
        )
    stamps = {run.files.stamp, *(stamp for stamp in run.files.stamps)}
    count = 0
    with Ledger(place) as ledger:
        uses = {key: [one for one in several if one.run in stamps] for key, several in ledger.uses().items()}
        wanted = [key for key, several in uses.items() if several]
        try:
            with args.export.open("w", encoding="utf-8", errors="backslashreplace") as file:
                for key, attempts in ledger.attempts(wanted).items():
                    samples = [{"task": one.task, "sample_id": one.sample_id, "run": one.run} for one in uses[key]]
                    for one in attempts:
                        line = {**asdict(one), "sampling": json.loads(one.sampling), "samples": samples}
                        file.write(json.dumps(line, ensure_ascii=False) + "\n")
                        count += 1
        except OSError as error:
            raise cannot_write(error, f"--export {args.export}") from error
    if args.json:
        print(json.dumps({"ledger": str(place), "written": str(args.export), "lines": count}, indent=2))
    else:
        print(f"written: {args.export} ({count} lines)")
    return 0


def import_ratings(run: Run, asked: Asked, args: argparse.Namespace) -> int:
    """Take over ratings that another tool made: a JSON list in row order, of numbers, objects or a judge's words.

    An annotator that has `imported(content, items)` reads further forms, those of the programme that it stands for.

    Raises:
        BadInput: the file does not fit the questions.
    """
    problem = Problem(
        what="holds no ratings of these rows", where=str(args.import_ratings),
        allowed="a JSON list in row order: a number per row, an object (name -> number), a reply as text, or null",
        fix="name the one task that they are of: --tasks TASK",
    )  # fmt: skip
    try:
        ratings = json.loads(args.import_ratings.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(replace(problem, what=f"cannot be read: {error}")) from error
    questions = [one for one in asked.every if not one.item.step]
    for annotator in asked.annotators.values():
        if (reader := getattr(annotator, "imported", None)) is not None:
            ratings = reader(ratings, [question.item for question in questions if question.annotator is annotator])
    last = max((one.item.samples[0].index for one in questions), default=-1)
    if not isinstance(ratings, list) or len(asked.of_task) != 1 or len(ratings) <= last:
        raise BadInput(problem)
    size = len(run.tasks[next(iter(asked.of_task))].table())
    if len(ratings) > size:
        raise BadInput(replace(problem, what=f"holds {len(ratings)} ratings, the run has {size} rows"))
    unasked = sum(one.key is None or one.item.fixed is not None for one in questions)
    kept = sum(one.settled for one in questions) - unasked
    rows: list[Attempt] = []
    uses: list[Use] = []
    stamp = stamp_for(run, next(iter(asked.of_task)))
    for one in questions:
        given = ratings[one.item.samples[0].index]
        (name, *_others) = one.annotator.values
        reply = given if isinstance(given, str) else json.dumps(given if isinstance(given, dict) else {name: given})
        if given is None or one.key is None or one.settled:
            continue
        rows.append(one.row("imported", len(one.attempts) + 1, reply=reply, received_at=now()))
        one.attempts.append(rows[-1])
        if one.judgement().status != "ok" and not isinstance(given, str):
            raise BadInput(
                replace(problem, what=f"row {one.item.samples[0].index}: {json.dumps(given)[:80]} is no rating")
            )
        uses += [Use(one.key, stamp, sample.task, sample.sample_id) for sample in one.item.samples]
    with opened(run) as ledger:
        ledger.put(rows, uses)
        sign(ledger, dict.fromkeys(asked.of_task, stamp), asked, {"imported": args.import_ratings.name})
        place = ledger.path
    left = [f"{counted(kept, 'row')} rated before, whose rating stays"] if kept else []
    left += [f"{counted(unasked, 'row')} that no judge is asked about"] if unasked else []
    if args.json:
        print(json.dumps({"imported": len(rows), "kept": kept, "unasked": unasked, "ledger": str(place)}, indent=2))
    else:
        beside = f" (beside them {', '.join(left)})" if left else ""
        print(f"{counted(len(rows), 'rating')} taken over{beside}; ledger: {place}\nnext: evalprep score {args.run}")
    return 0 if rows else 3
