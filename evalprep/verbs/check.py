"""Find, without a GPU and before any model is loaded, what would spoil the run. Exit code 2 when there is an error."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from typing import Any

from evalprep.check import CODES, LEVELS, Finding, Findings, check_annotators, check_full, check_static
from evalprep.check.codes import HOUSE_STYLE, markdown
from evalprep.check.folds import WIDTH, fold, paragraph
from evalprep.errors import BadInput, Problem
from evalprep.packs.manifest import read_manifest
from evalprep.prepare.target import Target, add_arguments, at_least_one, targets
from evalprep.terminal import counted, status_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_arguments(parser)
    parser.add_argument("--static", action="store_true", help="files only: do not load the tasks through lm-eval")
    parser.add_argument(
        "--rows", type=at_least_one, default=None, metavar="N", help="look at the first N rows of each task only"
    )
    parser.add_argument(
        "--hard", action="store_true", help="also score replies on which extraction gets slow; up to minutes per task"
    )
    parser.add_argument(
        "--house-style", action="store_true", help="hold other people's task folders to the style of this project too"
    )
    parser.add_argument("--estimate", action="store_true", help="also estimate tokens, time and memory of the run")
    parser.add_argument(
        "--calibrate",
        type=at_least_one,
        default=None,
        metavar="N",
        help="measure the speed with N prompts on the real engine for the estimate; loads the model",
    )
    parser.add_argument("--gpu", default=None, metavar="NAME", help="estimate for this GPU, e.g. H100")
    parser.add_argument("--explain", metavar="CODE", help="say what a code means (`all` for the whole table), and stop")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def main(args: argparse.Namespace) -> int:
    """Check each target; 2 when one has an error."""
    if args.explain:
        return _explain(args.explain)
    _refuse_contradictions(args)
    reports = []
    for manager in targets(args):
        with manager as target, status_line() as progress:
            reports.append(_check(target, args, progress))
    if args.json:
        shown = [{key: value for key, value in report.items() if not key.startswith("_")} for report in reports]
        print(json.dumps(shown if len(shown) > 1 else shown[0], indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _print(report)
    return 2 if any(report["counts"]["error"] for report in reports) else 0


def _refuse_contradictions(args: argparse.Namespace) -> None:
    """Arguments that would be without effect.

    Raises:
        BadInput: there is one.
    """
    asked = [name for name in ("estimate", "calibrate", "gpu") if getattr(args, name)]
    problems = []
    if args.static and (asked := [*asked, *(name for name in ("rows", "hard") if getattr(args, name))]):
        named = ", ".join(f"--{name}" for name in asked)
        problems.append(
            Problem(what=f"{named} needs the tasks loaded", where="--static", fix=f"leave out --static or {named}")
        )
    if args.calibrate and args.include_path:
        problems.append(
            Problem(
                what="only a prepared work folder or a config can be run",
                where="--calibrate",
                fix="prepare a config that names these tasks",
            )
        )
    if problems:
        raise BadInput(problems)


def _check(target: Target, args: argparse.Namespace, progress: Callable[[str], None]) -> dict[str, Any]:
    findings = Findings()
    estimate = None
    if args.static:
        static = check_static(target.roots, target.requested, target.settings, findings)
        rows = static.rows
    else:
        done = check_full(
            target.roots, target.requested, target.settings, findings, rows=args.rows, hard=args.hard, progress=progress
        )
        static, rows = done.static, {task.name: len(task.instances) for task in done.loaded}
        if args.estimate or args.calibrate or args.gpu:
            from evalprep.check.estimate import estimate_run

            progress("estimating")
            estimate = estimate_run(
                done,
                target.settings,
                gpu=args.gpu,
                calibrate=args.calibrate,
                work_dir=target.roots[0] if target.settings.ours else None,
                findings=findings,
            )
    if target.settings.ours and (manifest := read_manifest(target.roots[0])) is not None:
        # The manifest may be somebody else's: code is taken from the user's packs alone, not from where it points.
        from evalprep.packs.finding import find_packs

        check_annotators(manifest, target.packs or find_packs(), findings)
    if not target.settings.ours and not args.house_style:
        findings.take(lambda one: one.code in HOUSE_STYLE)
    found = target.final(findings)
    return {
        "target": target.label,
        "tasks": {leaf.name: rows.get(leaf.name) for leaf in static.leaves},
        "counts": {level: sum(one.level == level for one in found) for level in LEVELS},
        "findings": [one.as_dict() for one in found],
        "estimate": estimate.as_dict() if estimate else None,
        "_found": found,
        "_roots": [target.moved[1] if target.moved else str(root.resolve()) for root in target.roots],
        "_estimate": estimate,
    }


def _print(report: dict[str, Any]) -> None:
    found: list[Finding] = report["_found"]
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, 120) if sys.stdout.isatty() else WIDTH
    for folded in fold(found):
        print(paragraph(folded, report["_roots"], width))
    if found:
        print()
    if report["_estimate"] is not None:
        print(report["_estimate"].text(shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
        print()
    counts = ", ".join(counted(number, level) for level, number in report["counts"].items())
    tasks, rows = len(report["tasks"]), sum(number or 0 for number in report["tasks"].values())
    print(f"{report['target']}: {counted(tasks, 'task')}, {counted(rows, 'row')}: {counts}")


def _explain(name: str) -> int:
    if name == "all":
        print(markdown(), end="")
        return 0
    code = name.upper()
    if code not in CODES:
        print(f"unknown code {code}; see docs/codes.md", file=sys.stderr)
        return 2
    row = CODES[code]
    print(f"{code} ({row.level}): {row.meaning}" + (f"\nfix: {row.fix}" if row.fix else ""))
    return 0
