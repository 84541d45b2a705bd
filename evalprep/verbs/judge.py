"""Let a language model rate the saved replies of a run, one by one or in batches.

Answers are kept in a ledger beside the run as they come; the same command goes on where the last
one stopped, and asks nothing twice. The key is taken from the environment (OPENAI_API_KEY,
ANTHROPIC_API_KEY, or the variable that --key_from names) or from a file that only you can read,
never from the command line. `evalprep score RUN` uses the ratings.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.verbs.options import Parser, add_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalprep.annotate import Asked, Kept, Stopped
    from evalprep.packs import Pack
    from evalprep.results import Run
    from evalprep.verbs.judging.arguments import Settings


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="RUN", help="output folder, model folder, results_*.json or samples_*.jsonl")
    add(
        "other",
        metavar="OTHER",
        nargs="?",
        help="another run, for a rubric that compares two answers",
    )
    add("--model", metavar="NAME", help="the judge, as the service calls it")
    add(
        "--api",
        choices=("openai", "anthropic"),
        default="openai",
        help="wire format (openai, or what speaks like it)",
    )
    add(
        "--base_url",
        metavar="URL",
        help="address without /chat/completions or /messages (default: the provider's)",
    )
    add(
        "--backend",
        metavar="NAME",
        help="load the judge here, as lm-eval does: hf or vllm; --model is its path or hub id",
    )
    add(
        "--model_args",
        rare=True,
        action="append",
        default=[],
        metavar="K=V,...",
        help="arguments of the model that --backend loads; of a service num_concurrent=4, "
        "max_retries=5 (without a rating) and timeout=120 (seconds per request)",
    )
    add(
        "--key_from",
        rare=True,
        metavar="NAME|FILE",
        help="environment variable with the key (default: the provider's), or a file with the key, "
        "which nobody else may read",
    )
    add("--rubric", metavar="NAME|FILE", help="ask by this rubric, instead of what the packs ask")
    add(
        "--structured",
        rare=True,
        choices=("on", "ratings", "off"),
        help="constrain output: full schema, ratings only (for small judges), or free text "
        "(default: as the rubric says; free text with --backend)",
    )
    add(
        "--votes",
        rare=True,
        type=int,
        metavar="N",
        help="draws per question (default: the rubric's)",
    )
    add_options(parser, "tasks", "timestamp", "template_dir")
    add("--limit", type=int, metavar="N", help="only the first N samples of each task")
    add(
        "--gen_kwargs",
        rare=True,
        default="",
        metavar="K=V,...",
        help="request parameters; K=null leaves out one of the pack's",
    )
    add(
        "--max_cost",
        type=float,
        metavar="SUM",
        help="the most that this call may cost, by the given prices",
    )
    add(
        "--prices",
        rare=True,
        type=Path,
        metavar="FILE",
        help="YAML of prices per million tokens (default: prices.yaml here)",
    )
    add("--ask_again", action="store_true", help="also ask again where a kept reply has no rating")
    add(
        "--dry_run",
        action="store_true",
        help="print calls, tokens, cost and the first prompt; ask nothing",
    )
    batch = ("go", "status", "collect", "cancel")
    add(
        "--batch",
        rare=True,
        nargs="?",
        const="go",
        choices=batch,
        help="through the batch interface; the same command goes on",
    )
    add(
        "--force",
        rare=True,
        action="store_true",
        help="submit although a batch of other questions is on its way",
    )
    add(
        "--out",
        rare=True,
        dest="export",
        type=Path,
        metavar="FILE",
        help="write the ledger's answers about this run as JSON Lines; ask nothing",
    )
    add(
        "--sign",
        rare=True,
        action="store_true",
        help="adopt every answer of the run's ledger as your own; ask nothing",
    )
    imported = (
        "JSON list of ratings in row order, of the one task in --tasks; or the ratings of another "
        "tool that the packs read, of all its tasks"
    )
    add("--import_ratings", rare=True, type=Path, metavar="FILE", help=imported)
    add(
        "--agreement",
        rare=True,
        metavar="MODEL|FILE",
        help="compare kept ratings with another judge's or with labels; ask nothing",
    )
    add(
        "--calibrate",
        rare=True,
        action="store_true",
        help="ask the calibration questions of the rubric instead of the run's",
    )
    add("--json", action="store_true", help="print the outcome as JSON")


def main(args: argparse.Namespace) -> int:
    """Ask, keep, count."""
    from evalprep.annotate import Kept
    from evalprep.packs import find_packs
    from evalprep.results import open_run
    from evalprep.verbs.judging import checks, reports
    from evalprep.verbs.judging.arguments import checked

    packs = find_packs(args.template_dir)
    settings = checked(args, packs)
    run = open_run(args.run, packs.values(), timestamp=args.timestamp)
    if args.export is not None:
        return reports.export(run, args)
    if args.sign:
        return reports.sign_ledger(run, args)
    from evalprep.annotate import chosen_tasks, stamp_for
    from evalprep.verbs.judging.checks import CALIBRATION

    # Task -> time stamp of its samples. The calibration of a rubric counts as a task of its own.
    tasks = chosen_tasks(run, packs, args.tasks)
    if args.calibrate and settings.rubric is not None:
        stamps = {CALIBRATION: f"{CALIBRATION} of {settings.rubric.name}"}
    else:
        stamps = {task: stamp_for(run, task) for task in tasks}
    with Kept(run, next(iter(stamps.values()), run.files.stamp)) as kept:
        question_set = _questions(args, run, packs, settings, kept)
        from evalprep.annotate import go_on_plainly
        from evalprep.errors import BadInput, Problem

        if not settings.schema_needed:
            go_on_plainly(question_set, kept)
        elif not question_set.has_schema:
            what = f"--structured {args.structured}, but no question has a JSON schema"
            where = ", ".join(question_set.annotators)
            raise BadInput(Problem(what=what, where=where, fix="a rubric in YAML has one"))
        if args.agreement is not None:
            return checks.compared(args, run, packs, kept, question_set, settings)
        if args.max_cost is not None:
            settings.refuse_boundless(question_set.annotators.values())
        for warning in settings.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        if not args.json:
            print(f"{run.label}\njudge {settings.who.model} {settings.place}")
        if args.dry_run:
            return reports.dry_run(question_set, settings, args)
    return _ask_or_import(args, run, stamps, question_set, settings)


def _ask_or_import(
    args: argparse.Namespace,
    run: Run,
    stamps: dict[str, str],
    question_set: Asked,
    settings: Settings,
) -> int:
    """Takes ratings from a file, or asks the judge: in a batch, or one call after the other."""
    from evalprep.verbs.judging import reports

    if args.import_ratings is not None:
        return reports.import_ratings(run, question_set, args)
    if args.batch is not None:
        from evalprep.verbs.judging.batches import batch

        return batch(args, run, stamps, question_set, settings)
    return _ask(args, run, stamps, question_set, settings)


def _questions(
    args: argparse.Namespace, run: Run, packs: Mapping[str, Pack], settings: Settings, kept: Kept
) -> Asked:
    """The questions about the run's samples, or the calibration questions of the rubric."""
    from evalprep.annotate import Asked, chosen_tasks, collect
    from evalprep.packs import Rubric
    from evalprep.verbs.judging.checks import CALIBRATION, calibration_items

    rubric = settings.rubric
    if args.calibrate and isinstance(rubric, Rubric):
        question_set = Asked(settings.who, annotators={rubric.name: rubric})
        question_set.of_task[CALIBRATION] = kept.known(
            rubric, calibration_items(rubric), settings.who
        )
        return question_set
    return collect(
        run,
        packs,
        settings.who,
        kept,
        tasks=chosen_tasks(run, packs, args.tasks),
        limit=args.limit,
        rubric=rubric,
        other=_open_other(run, args, packs),
    )


def _open_other(run: Run, args: argparse.Namespace, packs: Mapping[str, Pack]) -> Run | None:
    """The run whose replies stand beside those of the judged run; None where none is named.

    Raises:
        BadInput: it is the judged run itself, of which every pair would be a tie that costs money.
    """
    from evalprep.errors import BadInput, Problem
    from evalprep.results import open_run

    if not args.other:
        return None
    other = open_run(args.other, packs.values())
    if any(run.shares_file(other, name) for name in run.tasks):
        what = f"{args.other} is the run that is judged"
        raise BadInput(Problem(what=what, where="OTHER", fix="name another run"))
    return other


def _ask(
    args: argparse.Namespace,
    run: Run,
    stamps: dict[str, str],
    question_set: Asked,
    settings: Settings,
) -> int:
    from evalprep.annotate import (
        Asker,
        Budget,
        Kept,
        Progress,
        ask_all,
        ask_here,
        opened,
        refresh,
        sign,
        waiting,
    )
    from evalprep.verbs.judging import reports

    stamp = next(iter(stamps.values()), run.files.stamp)
    with opened(run) as ledger:
        if ledger.seal.problem:
            print(f"warning: {ledger.seal.problem}", file=sys.stderr)
        kept = Kept(run, stamp, ledger)
        refresh(ledger, question_set)
        progress = Progress(len(waiting(question_set.every, again=args.ask_again)))
        asker = Asker(
            ledger,
            run=stamp,
            size=settings.requests.num_concurrent,
            retries=settings.requests.max_retries,
            budget=Budget(args.max_cost, settings.price),
            done=lambda _, judgement: progress.step(rated=judgement.status == "ok"),
        )
        stopped: Stopped | None = None
        summed = asker.sum
        try:
            if settings.local is not None:
                summed = ask_here(
                    ledger,
                    settings.local,
                    question_set,
                    kept,
                    stamp=stamp,
                    again=args.ask_again,
                    done=lambda _, judgement: progress.step(rated=judgement.status == "ok"),
                )
            else:
                stopped = ask_all(
                    asker,
                    settings.service(),
                    question_set,
                    kept,
                    again=args.ask_again,
                    schema_needed=settings.schema_needed,
                )
        finally:  # also after Ctrl-C: what was paid for counts
            progress.end()
            sign(ledger, stamps, question_set, settings.where())
        return reports.outcome(args, question_set, settings, summed, stopped, ledger.path)
