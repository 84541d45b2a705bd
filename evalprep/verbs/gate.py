"""Check a run by a policy: may it replace the other run (or the published verdicts)?

Exit code: 0 passed, 1 failed, 2 bad input, 3 unclear, not comparable or not enough evidence.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.verbs.ledgers import with_foreign_answers
from evalprep.verbs.options import (
    Parser,
    add_baseline,
    add_options,
    metric_choices,
    pair_rules,
    print_next,
    take_baseline,
    timestamps_of_sides,
)

if TYPE_CHECKING:
    from evalprep.gate import Policy, Verdict
    from evalprep.packs import Pack


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="CANDIDATE", help="the run under test")
    add_baseline(parser, "run to compare against (default: the published verdicts)")
    add(
        "--policy",
        type=Path,
        required=True,
        metavar="FILE",
        help="YAML file, see docs/commands/gate.md",
    )
    add_options(parser, "tasks", "metric", "cluster")
    add_options(parser, "timestamp", "baseline_timestamp", "label")
    add_options(parser, "pairing", "accept_ledger", "template_dir")
    add("--junit", type=Path, metavar="FILE", help="write the outcome as JUnit XML")
    add("--out", type=Path, metavar="FILE", help="write the outcome as JSON")
    add("--json", action="store_true", help="print the outcome as JSON")


def main(args: argparse.Namespace) -> int:
    """Decides, writes, prints."""
    from evalprep.gate import lines_of, read_policy

    take_baseline(args)
    policy = read_policy(args.policy)
    verdict = _decide(args, policy)
    data = json.dumps(verdict.to_dict(), indent=2, ensure_ascii=False)
    written = _write(verdict, data, args)
    if args.json:
        print(data)
        return verdict.exit_code
    shown = replace(verdict, notes=[]) if getattr(args, "is_compared", False) else verdict
    for line in lines_of(shown, shutil.get_terminal_size().columns):
        print(line)
    for path in written:
        print(f"written: {path}")
    if verdict.exit_code:
        args.rule = policy.rule
        print_next("compare", [args.run, args.other] if args.other else [args.run], args)
    print(verdict.closing)
    return verdict.exit_code


def _decide(args: argparse.Namespace, policy: Policy) -> Verdict:
    """The verdict; unclear where it rests on answers of another machine's ledger."""
    from evalprep.compare import of_tasks
    from evalprep.gate import decide
    from evalprep.packs import on_demand
    from evalprep.results import by_rule, label_runs, open_run

    places = [args.run, args.other] if args.other else [args.run]
    stamps = timestamps_of_sides([args.run], args.other, args)
    runs = [
        open_run(place, on_demand(args.template_dir), timestamp=stamp)
        for place, stamp in zip(places, stamps, strict=True)
    ]
    runs = label_runs(runs, args.label)
    packs, left_out = _packs(args, policy)
    runs = by_rule(runs, policy.rule, packs, where=f"{args.policy} (rule)")
    runs = of_tasks(runs, args.tasks or [])
    runs, foreign = with_foreign_answers(runs, accept=args.accept_ledger)
    policy = replace(policy, pairing=pair_rules(args), cluster=args.cluster or policy.cluster)
    other = runs[1] if len(runs) > 1 else None
    verdict = decide(runs[0], other, policy, packs, metric_choices(args))
    warnings = [*verdict.warnings, *left_out]
    if args.tasks:
        warnings.append(f"decided by these tasks alone (--tasks): {', '.join(args.tasks)}")
    status = "unclear" if foreign else verdict.status
    return replace(verdict, status=status, warnings=[*warnings, *foreign])


def _packs(args: argparse.Namespace, policy: Policy) -> tuple[Mapping[str, Pack], list[str]]:
    """The packs whose suite scores are in the family, and why there are none.

    Raises:
        BadInput: a mistake in a pack of a policy that needs it.
    """
    from evalprep.compare import without_suite
    from evalprep.errors import BadInput
    from evalprep.packs import find_packs

    if args.tasks and not policy.needs_packs:
        return {}, []
    try:
        return find_packs(args.template_dir), []
    except BadInput as error:
        if policy.needs_packs:
            raise
        return {}, without_suite(error)


def _write(verdict: Verdict, data: str, args: argparse.Namespace) -> list[Path]:
    """Writes the files that are asked for, and returns their paths."""
    from evalprep.errors import cannot_write
    from evalprep.files import resolve_typed, write_atomically

    texts = {}
    if args.junit is not None:
        from evalprep.gate import junit

        texts[args.junit] = junit(verdict)
    if args.out is not None:
        texts[args.out] = data + "\n"
    for path, text in texts.items():
        try:
            write_atomically(resolve_typed(path), text)
        except OSError as error:
            raise cannot_write(error, str(path)) from error
    return list(texts)
