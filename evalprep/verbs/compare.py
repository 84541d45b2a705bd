"""Compare a run with the published verdicts of its rows, or with another run, sample by sample.

Exit code: 0 nothing is worse, 1 a task (after Holm's adjustment over tasks) or the whole is worse at the stated
confidence, 2 bad input, 3 nothing can be said: no pairs, too many rows missing, or not the same question.
"""

from __future__ import annotations

import argparse
import json
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalprep.compare import Comparison, Conclusion
    from evalprep.results import Run
    from evalprep.score import Scores


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="CANDIDATE", help="the run under test: output or model folder, results_*.json, samples_*.jsonl")
    add(
        "other",
        metavar="BASELINE",
        nargs="?",
        help="another run, or a file of scores; by default the published verdicts of the rows",
    )
    add("--tasks", nargs="+", metavar="TASK", help="task or group names (default: all)")
    add("--metric", help="metric to compare (default: each task's primary one)")
    add("--filter", help="filter to read (default: each task's primary one)")
    add("--rule", default="", metavar="NAME", help="read both sides by this scoring rule of their packs, e.g. original")
    add("--timestamp", default="newest", help="newest, each (newest per task) or the beginning of a time stamp")
    add("--baseline-timestamp", "--other-timestamp", default="newest", help="the same for BASELINE")
    add("--label", action="append", default=[], metavar="NAME", help="what the candidate, then the baseline is called")
    add("--confidence", type=float, default=0.95, help="of intervals and verdicts (default: 0.95)")
    add("--margin", type=float, metavar="D", help="smaller differences do not matter: within it, runs are equivalent")
    add("--allow", action="append", default=[], metavar="FACT", help="let a fact of the question differ, by its name")
    add("--same-prompt-only", action="store_true", help="leave out rows whose prompts are known to differ")
    add("--template_dir", type=Path, help="folder of the packs, for suite scores (default: task_templates)")
    add("--subtasks", action="store_true", help="also a table per subtask")
    add("--flips", type=Path, metavar="CSV", help="where to write changed samples (default: beside the samples)")
    add("--no-flips", action="store_true", help="write no file")
    add("--exit-zero", action="store_true", help="exit with 0 even when a task got worse")
    add("--json", action="store_true", help="print the comparison as JSON")


def main(args: argparse.Namespace) -> int:
    """Compare, print, write the flips."""
    from evalprep.compare import compare_runs
    from evalprep.packs.finding import find_packs, on_demand
    from evalprep.results import by_rule, label_runs, open_run
    from evalprep.score import Scores, open_side, sides_by_rule

    packs = partial(find_packs, args.template_dir)
    known = packs() if args.rule else {}
    if args.other is None:
        run, other = open_run(args.run, on_demand(args.template_dir), timestamp=args.timestamp), None
        (run,) = by_rule([run], args.rule, known)
    else:
        one = open_side(args.run, packs, timestamp=args.timestamp)
        two = open_side(args.other, packs, timestamp=args.baseline_timestamp)
        one, two = sides_by_rule([one, two], args.rule, known)
        if isinstance(one, Scores) or isinstance(two, Scores):
            return _stored([one, two], args)
        run, other = one, two
    label_runs([run] if other is None else [run, other], args.label)
    comparison = compare_runs(
        run,
        other,
        tasks=args.tasks,
        metric=args.metric,
        filter_name=args.filter,
        confidence=args.confidence,
        margin=args.margin,
        allow=args.allow,
        same_prompt_only=args.same_prompt_only,
    )
    if other is not None:
        comparison.suite = _suite(run, other, comparison, args)
    name = f"flips_{run.files.stamp}{f'_against_{other.files.stamp}' if other else ''}.csv"
    paired = any(task.difference.n for task in comparison.tasks)
    wanted = not args.no_flips and (paired or args.flips is not None)
    written, note = _write(args.flips, run.files.folder / name, comparison) if wanted else ("", "")
    if args.json:
        print(json.dumps(comparison.to_dict() | {"flips_file": written or None}, indent=2, ensure_ascii=False))
    else:
        from evalprep.compare.screen import show

        show(comparison, subtasks=args.subtasks)
        if comparison.overall is not None and len(comparison.tasks) > 1:
            print(f"{comparison.overall.name}: {comparison.overall.words}")
        elif len(comparison.tasks) == 1:
            print(f"{comparison.tasks[0].verdict}: {comparison.tasks[0].words}")
        print(f"flips written to {written}" if written else note or "no flips file")
        print(f"next: evalprep report {chosen(args, verb='report')}")
    if comparison.worse and not args.exit_zero:
        return 1
    return 0 if comparison.concluded else 3


def _stored(sides: Sequence[Run | Scores], args: argparse.Namespace) -> int:
    """Compare sides of which one or both are scores alone: by value, without tests and without flips."""
    from evalprep.compare import compare_scores
    from evalprep.packs.finding import find_packs
    from evalprep.score import all_scores, of_rule

    packs = find_packs(args.template_dir)
    scores = [of_rule(one, args.rule, packs) for one in all_scores(sides, packs)]
    for one, label in zip(scores, args.label, strict=False):
        one.run = label
    comparison = compare_scores(scores[0], scores[1], confidence=args.confidence, margin=args.margin)
    if args.json:
        print(json.dumps(comparison.to_dict() | {"flips_file": None}, indent=2, ensure_ascii=False))
    else:
        from evalprep.compare.screen import show

        show(comparison)
        print(f"next: evalprep report {chosen(args, verb='report')}")
    return 0 if comparison.concluded else 3


def _write(chosen: Path | None, usual: Path, comparison: Comparison) -> tuple[str, str]:
    """Write the flips and return the path, or an empty one and why."""
    from evalprep.compare import write_csv
    from evalprep.errors import cannot_write

    path = chosen or usual
    try:
        write_csv(comparison.flips(), path)
    except OSError as error:
        if chosen is not None:
            raise cannot_write(error, f"--flips {chosen}") from error
        return "", f"flips not written: {path.parent} is not writable; --flips names another place"
    return str(path), ""


def _suite(run: Run, other: Run, comparison: Comparison, args: argparse.Namespace) -> list[Conclusion]:
    """The suite scores of both runs; a mistake in a pack costs them and nothing else."""
    from evalprep.compare import compare_suite
    from evalprep.errors import BadInput
    from evalprep.packs.finding import find_packs
    from evalprep.score import of_rule, score_run

    if args.tasks or args.metric or args.filter:
        return []
    try:
        packs = find_packs(args.template_dir)
        both = [of_rule(score_run(one, packs), args.rule, packs) for one in (run, other)]
        return compare_suite(
            run,
            other,
            packs,
            confidence=args.confidence,
            margin=args.margin,
            allow=args.allow,
            scores=(both[0], both[1]),
            tasks=comparison,
        )
    except BadInput as error:
        comparison.notes += [f"suite scores are left out: {one.where}: {one.what}" for one in error.problems]
        return []


def chosen(args: argparse.Namespace, *, verb: str = "compare") -> str:
    """The options that chose the two sides, as another verb takes them, quoted for a shell."""
    words = [args.run]
    if args.other and verb != "report":
        words.append(args.other)
    elif args.other:
        words += ["--baseline", args.other]
    for option in ("timestamp", "baseline_timestamp"):
        if getattr(args, option) != "newest":
            words += [f"--{option.replace('_', '-')}", getattr(args, option)]
    if getattr(args, "rule", ""):
        words += ["--rule", args.rule]
    for option in ("label", "allow"):
        for value in getattr(args, option, []):
            words += [f"--{option}", value]
    return shlex.join(words)
