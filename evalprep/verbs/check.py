"""Find, without a GPU and before any model is loaded, what would spoil the run.

Exit code 2 when there is an error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalprep.check import (
    CODES,
    LEVELS,
    WIDTH,
    Finding,
    Findings,
    check_annotators,
    check_full,
    check_static,
    fold,
    markdown,
    paragraph,
)
from evalprep.errors import Problems
from evalprep.numbers import at_least_one
from evalprep.packs import load_prepared
from evalprep.prepare import Target, add_arguments, targets
from evalprep.terminal import counted, line_width, print_json, status_line
from evalprep.verbs.options import Parser, names_of, refuse_unknown_words

if TYPE_CHECKING:
    from evalprep.check import Estimate


_STATIC = "static"
_DEPTHS = (_STATIC, "full", "hard")


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    add_arguments(parser)
    parser.add_argument(
        "--depth",
        type=names_of,
        action="extend",
        default=[],
        metavar="LIST",
        help="with commas: static (files only, without loading the tasks through lm-eval), full "
        "(every row, also of tasks with more than 1,000), hard (also replies that slow extraction "
        "down; up to minutes per task)",
    )
    parser.add_argument(
        "--limit",
        type=at_least_one,
        default=None,
        metavar="N",
        help="look at the first N rows of each task only",
    )
    parser.add_argument(
        "--house_style",
        rare=True,
        action="store_true",
        help="also print advice on style for task folders of others",
    )
    parser.add_argument(
        "--estimate", action="store_true", help="also estimate tokens, time and memory of the run"
    )
    parser.add_argument(
        "--calibrate",
        rare=True,
        type=at_least_one,
        default=None,
        metavar="N",
        help="load the model and measure its speed with N prompts, for the estimate",
    )
    parser.add_argument(
        "--gpu", rare=True, default=None, metavar="NAME", help="estimate for this GPU, e.g. H100"
    )
    parser.add_argument(
        "--explain",
        metavar="CODE",
        help="print what a code means (`all` for the whole table), and stop",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def main(args: argparse.Namespace) -> int:
    """Checks each target; 2 when one has an error."""
    if args.explain:
        return _explain(args.explain)
    _refuse_contradictions(args)
    reports = []
    for manager in targets(args):
        with manager as target, status_line() as progress:
            reports.append(_check(target, args, progress))
    if args.json:
        data = [report.as_dict() for report in reports]
        print_json(data if len(data) > 1 else data[0])
    else:
        for report in reports:
            report.print()
    return 2 if any(report.counts["error"] for report in reports) else 0


def _refuse_contradictions(args: argparse.Namespace) -> None:
    """Refuses arguments that would be without effect.

    Raises:
        BadInput: there is one.
    """
    refuse_unknown_words("--depth", args.depth, _DEPTHS)
    problems = Problems()
    # The options, as they are typed, for which the tasks must be loaded.
    names = ("estimate", "calibrate", "gpu", "limit")
    options = [f"--{name}" for name in names if getattr(args, name)]
    depths = [f"--depth {word}" for word in args.depth if word != _STATIC]
    loading = ", ".join(options + depths)
    if _STATIC in args.depth and loading:
        problems.add(
            f"{loading} needs the tasks loaded",
            where="--depth static",
            fix=f"leave out static or {loading}",
        )
    if "full" in args.depth and args.limit:
        problems.add(
            "full asks for every row, --limit for the first ones",
            where="--depth full",
            fix="leave out one of them",
        )
    if args.calibrate and args.include_path:
        problems.add(
            "only a prepared work folder or a config can be run",
            where="--calibrate",
            fix="prepare a config that names these tasks",
        )
    problems.raise_if_any()


@dataclass
class _Report:
    """The findings on one target.

    Attributes:
        target: Its name.
        rows: Task -> its rows, None where they are not known.
        findings: Errors first.
        roots: Folders that are cut from the places.
        estimate: Tokens, time and memory, where they were asked for.
        samples: Tasks of which not every row was built and scored, in words.
    """

    target: str
    rows: dict[str, int | None]
    findings: list[Finding]
    roots: list[str]
    estimate: Estimate | None = None
    samples: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Level -> number of findings."""
        levels = [finding.level for finding in self.findings]
        return {level: levels.count(level) for level in LEVELS}

    def as_dict(self) -> dict[str, Any]:
        """The same as data, for `--json`."""
        return {
            "target": self.target,
            "tasks": self.rows,
            "counts": self.counts,
            "findings": [finding.as_dict() for finding in self.findings],
            "estimate": self.estimate.as_dict() if self.estimate else None,
            "samples": self.samples,
        }

    def print(self) -> None:
        """Prints it for people: a paragraph per cause, then the estimate and the counts."""
        columns = line_width(sys.stdout)
        width = WIDTH if columns is None else min(columns, 120)
        for folded in fold(self.findings):
            print(paragraph(folded, self.roots, width))
        if self.findings:
            print()
        if self.estimate is not None:
            print(f"{self.estimate.text(columns)}\n")
        for line in self.samples:
            print(line)
        if self.samples:
            print("--depth full builds and scores every row\n")
        tasks = counted(len(self.rows), "task")
        rows = counted(sum(number or 0 for number in self.rows.values()), "row")
        levels = ", ".join(counted(number, level) for level, number in self.counts.items())
        print(f"{self.target}: {tasks}, {rows}: {levels}")


def _check(target: Target, args: argparse.Namespace, progress: Callable[[str], None]) -> _Report:
    findings = Findings()
    settings = target.settings
    rows: Mapping[str, int]
    estimate, samples = None, []
    wants_estimate = bool(args.estimate or args.calibrate or args.gpu)
    if _STATIC in args.depth:
        static = check_static(target.roots, target.requested, settings, findings)
        rows = static.rows
    else:
        done = check_full(
            target.roots,
            target.requested,
            settings,
            findings,
            rows=args.limit,
            hard="hard" in args.depth,
            every_row="full" in args.depth or wants_estimate,
            progress=progress,
        )
        static, samples = done.static, done.samples
        rows = {task.name: task.row_count for task in done.loaded}
        if wants_estimate:
            progress("estimating")
            from evalprep.check import estimate_run

            estimate = estimate_run(
                done,
                target.settings,
                gpu=args.gpu,
                calibrate=args.calibrate,
                work_dir=target.roots[0] if target.settings.ours else None,
                findings=findings,
            )
    if target.settings.ours:
        from evalprep.packs import find_packs

        prepared = load_prepared(target.roots[0])
        if prepared is not None:
            # The manifest may be somebody else's: code is taken from the user's packs alone, not
            # from where it points.
            packs = find_packs() if target.packs is None else target.packs
            check_annotators(prepared, packs, findings)
    elif not args.house_style:  # the folder is another's: no advice on style
        findings.take(lambda finding: CODES[finding.code].house_style)
    roots = [target.work_dir] if target.work_dir else [str(root.resolve()) for root in target.roots]
    return _Report(
        target=target.label,
        rows={leaf.name: rows.get(leaf.name) for leaf in static.leaves},
        findings=target.final(findings),
        roots=roots,
        estimate=estimate,
        samples=samples,
    )


def _explain(name: str) -> int:
    if name == "all":
        print(markdown(), end="")
        return 0
    code = name.upper()
    if code not in CODES:
        print(f"unknown code {code}; see docs/reference/codes.md", file=sys.stderr)
        return 2
    row = CODES[code]
    print(f"{code} ({row.level}): {row.meaning}" + (f"\nfix: {row.fix}" if row.fix else ""))
    return 0
