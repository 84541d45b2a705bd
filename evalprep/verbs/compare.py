"""Compare a run with the published verdicts of its rows, or with another run, sample by sample.

Exit code: 0 nothing that decides is worse, 1 a deciding task, mean, suite score or metric is worse
at the stated confidence (after Holm's adjustment; advisory ones never count), 2 bad input, 3
nothing can be said, or the candidate lacks tasks or rows: no pairs, too many rows missing, or not
the same question.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.verbs.ledgers import with_foreign_answers
from evalprep.verbs.options import (
    Parser,
    add_baseline,
    add_options,
    metric_choices,
    pair_rules,
    print_next,
    references_of,
    refuse_second_baseline,
    take_baseline,
    timestamps_of_sides,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalprep.compare import Comparison, Limit
    from evalprep.results import Run
    from evalprep.score import Scores


def configure(parser: Parser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add(
        "run",
        metavar="CANDIDATE",
        help="the run under test: output or model folder, results_*.json, samples_*.jsonl",
    )
    add_baseline(
        parser, "another run, or a file of scores; by default the published verdicts of the rows"
    )
    add(
        "--published",
        metavar="PACK:NAME",
        help="compare with published samples of a model, e.g. openllm:EleutherAI/pythia-1.4b; "
        "NAME may also be a folder of them",
    )
    add(
        "--set",
        rare=True,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="with --published: a key of the pack, e.g. openllm.details=FOLDER",
    )
    add(
        "--no_rescore",
        rare=True,
        action="store_true",
        help="with --published: compare with the verdicts as published, even of an older scorer",
    )
    add_options(parser, "tasks", "metric", "cluster", "reference", "finetuned", "rule")
    add_options(parser, "timestamp", "baseline_timestamp", "label", "allow")
    add_options(parser, "pairing", "accept_ledger", "template_dir")
    add(
        "--confidence",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="confidence level of intervals and verdicts (default: 0.95)",
    )
    add(
        "--margin",
        type=_margin_of,
        metavar="D",
        help="the runs are equivalent if the interval lies between -D and D, such as '2 points'; "
        "a plain number is on the scale of the score (0.02)",
    )
    add("--subtasks", rare=True, action="store_true", help="also a table per subtask")
    add(
        "--out",
        type=Path,
        metavar="CSV",
        help="where to write changed samples (default: beside the samples)",
    )
    add("--no_write", action="store_true", help="write no file")
    add("--exit_zero", action="store_true", help="exit with 0 even when a task got worse")
    add(
        "--to",
        rare=True,
        choices=["latex", "svg"],
        help="print for a paper: a LaTeX table (booktabs), or the paired differences as a drawing; "
        "changed samples are then written with --out alone",
    )
    add("--json", action="store_true", help="print the comparison as JSON")


def _margin_of(text: str) -> Limit:
    """The margin that a text names; the settings of a comparison refuse one that is not above 0.

    Raises:
        ArgumentTypeError: it is none.
    """
    from evalprep.compare import read_limit

    try:
        return read_limit(text if text.endswith(("point", "points")) else float(text))
    except ValueError:
        message = f"{text!r} is not a margin; write '2 points', or 0.02"
        raise argparse.ArgumentTypeError(message) from None


def main(args: argparse.Namespace) -> int:
    """Compares, prints, writes the flips."""
    from evalprep.results import Run, label_runs

    take_baseline(args)
    if args.published is not None:
        return _compare_published(args)
    sides = _open(args)
    runs = [side for side in sides if isinstance(side, Run)]
    if len(runs) < len(sides):
        return _compare_stored(sides, args)
    runs, _ = with_foreign_answers(label_runs(runs, args.label), accept=args.accept_ledger)
    run = runs[0]
    other = runs[1] if len(runs) > 1 else None
    return _finish(run, other, _compare(run, other, args), args)


def _finish(run: Run, other: Run | None, comparison: Comparison, args: argparse.Namespace) -> int:
    """Writes the flips and prints the comparison."""
    if args.to and args.out is None:
        args.no_write = True
    written, note = _write_flips(run, other, comparison, args)
    if args.to:
        _print_for_paper(comparison, args.to)
    elif args.json:
        data = comparison.to_dict() | {"flips_file": written or None}
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        from evalprep.compare import show

        show(comparison, subtasks=args.subtasks)
        for line in comparison.closing:
            print(line)
        if sentence := comparison.exit_sentence:
            print(sentence)
        about_flips = f"changed samples: {written}" if written else note
        print(about_flips or "no file of changed samples")
        _print_next(args)
    if comparison.worse and not args.exit_zero:
        return 1
    return 0 if comparison.concluded and not comparison.lacks_evidence else 3


def _print_for_paper(comparison: Comparison, form: str) -> None:
    from evalprep.compare import comparison_latex, comparison_svg

    print(comparison_latex(comparison) if form == "latex" else comparison_svg(comparison))


def _compare_published(args: argparse.Namespace) -> int:
    """Compares a run with published samples of a model, and shows both beside the headlines."""
    from evalprep.packs import find_packs
    from evalprep.results import label_runs, open_run
    from evalprep.verbs.publications import add_reproduction, open_published

    refuse_second_baseline(args, f"the published samples {args.published}", where="--published")
    packs = find_packs(args.template_dir)
    run = open_run(args.run, packs.values(), timestamp=args.timestamp)
    side = open_published(args, run, packs)
    run, published = label_runs([run, side.run], args.label)
    side = replace(side, run=published)
    # Prepared rows and published ones never have one template; their prompts are compared.
    allow = [*args.allow, "template_hash"]
    comparison = _compare(run, side.run, argparse.Namespace(**{**vars(args), "allow": allow}))
    reproduction = add_reproduction(comparison, run, side, packs)
    return _finish(run, side.run, replace(comparison, reproduction=reproduction), args)


def _open(args: argparse.Namespace) -> list[Run | Scores]:
    """The candidate and, where it is named, the baseline, read by the rule that is asked for."""
    from evalprep.packs import find_packs, on_demand
    from evalprep.results import by_rule, open_run

    packs = partial(find_packs, args.template_dir)
    known = packs() if args.rule else {}
    if args.other is None:
        run = open_run(args.run, on_demand(args.template_dir), timestamp=args.timestamp)
        return [*by_rule([run], args.rule, known)]
    from evalprep.score import open_side, sides_by_rule

    stamps = timestamps_of_sides([args.run], args.other, args)
    sides = [
        open_side(place, packs, timestamp=stamp)
        for place, stamp in zip((args.run, args.other), stamps, strict=True)
    ]
    return [*sides_by_rule(sides, args.rule, known)]


def _compare(run: Run, other: Run | None, args: argparse.Namespace) -> Comparison:
    """The comparison; a mistake in a pack costs its suite scores and nothing else."""
    from evalprep.compare import Settings, compare_runs, without_suite
    from evalprep.errors import BadInput
    from evalprep.packs import find_packs

    settings = Settings(
        confidence=args.confidence,
        margin=args.margin,
        allow=tuple(args.allow),
        cluster=args.cluster or "",
        pairing=pair_rules(args),
    )
    of_tasks: dict[str, Any] = {"tasks": args.tasks, "choices": metric_choices(args)}
    if other is None:  # published verdicts have no suite scores
        return compare_runs(run, None, settings=settings, **of_tasks)
    try:
        packs = find_packs(args.template_dir)
        scores = None
        if not any(of_tasks.values()):
            from evalprep.score import score_by_rule

            others = references_of(args, packs)
            now, before = (score_by_rule(side, packs, args.rule, others) for side in (run, other))
            scores = now, before
        return compare_runs(run, other, packs, settings=settings, scores=scores, **of_tasks)
    except BadInput as error:
        left_out = without_suite(error)
    comparison = compare_runs(run, other, {}, settings=settings, **of_tasks)  # other mistakes
    return replace(comparison, notes=[*comparison.notes, *left_out])


def _compare_stored(sides: Sequence[Run | Scores], args: argparse.Namespace) -> int:
    """Compares sides of which one or both are scores alone.

    They are compared by value, without tests and without flips.
    """
    from evalprep.compare import conclude, measure_scores
    from evalprep.packs import find_packs
    from evalprep.score import all_scores

    packs = find_packs(args.template_dir)
    scores = all_scores(sides, packs, args.rule, args.label)
    measured = measure_scores(scores[0], scores[1], confidence=args.confidence, margin=args.margin)
    comparison = conclude([measured])[0]
    if args.to:
        _print_for_paper(comparison, args.to)
    elif args.json:
        print(json.dumps(comparison.to_dict() | {"flips_file": None}, indent=2, ensure_ascii=False))
    else:
        from evalprep.compare import show

        show(comparison)
        _print_next(args)
    return 0 if comparison.concluded else 3


def _write_flips(
    run: Run, other: Run | None, comparison: Comparison, args: argparse.Namespace
) -> tuple[str, str]:
    """Write the flips and return the path, or an empty one and why."""
    from evalprep.compare import write_csv
    from evalprep.errors import cannot_write
    from evalprep.files import resolve_typed

    paired = any(task.difference.n for task in comparison.tasks)
    if args.no_write or not (paired or args.out is not None):
        return "", ""
    if run.log is not None and args.out is None:
        return "", "changed samples were not written beside a log of others; --out FILE writes them"
    against = f"_against_{other.files.output_name}" if other is not None else ""
    usual = run.files.folder / f"flips_{run.files.output_name}{against}.csv"
    path = usual if args.out is None else resolve_typed(args.out)
    try:
        write_csv(comparison.flips(), path)
    except OSError as error:
        if args.out is not None:
            raise cannot_write(error, f"--out {args.out}") from error
        reason = f"{path.parent} is not writable; name another place with --out"
        return "", f"changed samples were not written: {reason}"
    return str(args.out or usual), ""


def _print_next(args: argparse.Namespace) -> None:
    """Prints the report of the same runs as the next step."""
    places = [args.run, "--baseline", args.other] if args.other else [args.run]
    print_next("report", places, args)
