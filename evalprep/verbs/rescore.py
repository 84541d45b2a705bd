"""Score saved samples anew with today's scorers, without the model.

Shows which verdicts changed and why. Works for `--predict_only` runs too. Published outputs that
rows carry go through the same scorer, which tells a difference of scorers from a difference of
models. The result is written as a run of its own that every verb reads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.errors import BadInput, Problem, Problems
from evalprep.verbs.options import NEWEST, Parser, add_options, print_next

if TYPE_CHECKING:
    from evalprep.rescore import RunWriter, TaskRescore
    from evalprep.results import Run


def configure(parser: Parser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="RUN", help="output folder, model folder, results_*.json or samples_*.jsonl")
    add(
        "--work_dir",
        type=Path,
        help="folder of the task YAMLs, whose code is run (default: where you prepared them)",
    )
    add_options(parser, "tasks", "template_dir", "timestamp")
    add(
        "--jobs",
        type=int,
        metavar="N",
        help="processes (default: one, and one per core where rows take long)",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write the rescored run (default: rescored_<stamp> beside it)",
    )
    add("--no_write", action="store_true", help="write no samples")
    add("--json", action="store_true", help="print the outcome as JSON")


@dataclass
class _Rescored:
    """The rescored tasks, and why others could not be scored anew."""

    results: list[TaskRescore] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)


def main(args: argparse.Namespace) -> int:
    """Rescores, prints, writes; 3 where no task has a score."""
    from evalprep.rescore import RunWriter
    from evalprep.results import (
        label_runs,
        load_run,
        notes_on_meant,
        notes_on_thoughts,
        notes_on_unread,
    )

    _check_arguments(args)
    (run,) = label_runs([load_run(args.run, timestamp=args.timestamp, as_logged=True)])
    for note in [*notes_on_meant(run.meant), *notes_on_thoughts(run)]:
        print(f"note: {note}", file=sys.stderr)
    if not args.json:
        stored = [item.sentence(name) for name, item in run.unread.items() if not item.is_noted]
        for note in [*run.files.notes, *notes_on_unread(run.unread), *stored]:
            print(f"note: {note}")
    names = _tasks_with_replies(run, args)
    out = (
        None
        if args.no_write
        else args.out or run.files.folder / f"rescored_{run.files.output_name}"
    )
    writer = None if out is None else RunWriter(run, out, args.out or run.files.folder)
    rescored = _rescore_tasks(run, names, args, writer)
    if not rescored.results:
        if writer is not None:
            writer.discard()
        rescored.problems.raise_if_any()
    if writer is not None:
        writer.finish(rescored.left_out)
    _print(run, rescored, out, args)
    return 0 if any(result.now is not None for result in rescored.results) else 3


def _tasks_with_replies(run: Run, args: argparse.Namespace) -> list[str]:
    """The tasks that the user names.

    Raises:
        BadInput: the run has no samples.
    """
    from evalprep.results import refuse_pointers

    names = list(run.select(args.tasks))
    if not names:
        refuse_pointers(run.files.folder)
        raise BadInput(
            Problem(
                what="the run has no samples files, and without saved replies "
                "nothing can be scored anew",
                where=str(run.files.folder),
                fix="evalprep report shows the scores that it stored",
            )
        )
    return names


def _check_arguments(args: argparse.Namespace) -> None:
    if args.jobs is not None and args.jobs < 1:
        raise BadInput(Problem(what=f"--jobs {args.jobs}", allowed="a whole number >= 1"))
    if args.work_dir is not None and not args.work_dir.is_dir():
        raise BadInput(
            Problem(
                what="no such folder",
                where=f"--work_dir {args.work_dir}",
                fix="name the prepared work folder of the run",
            )
        )


def _rescore_tasks(
    run: Run, names: Sequence[str], args: argparse.Namespace, writer: RunWriter | None
) -> _Rescored:
    """Scores each task anew; one that cannot be is left out with the reason."""
    from evalprep.packs import find_packs
    from evalprep.rescore import Workers, rescore_task

    packs = find_packs(args.template_dir)
    rescored = _Rescored()
    # Task code may print; standard output is ours.
    with contextlib.redirect_stdout(sys.stderr), _without_bars(), Workers(args.jobs) as workers:
        for name in names:
            try:
                result = rescore_task(
                    run, name, work_dir=args.work_dir, packs=packs, workers=workers, writer=writer
                )
            except BadInput as error:
                rescored.problems.extend(error.problems)
                reasons = [problem.what for problem in error.problems]
                rescored.left_out[name] = "; ".join(
                    reason.removeprefix("cannot be rescored: ") for reason in reasons
                )
            else:
                rescored.results.append(result)
    return rescored


def _print(run: Run, rescored: _Rescored, out: Path | None, args: argparse.Namespace) -> None:
    """Prints the outcome, with the versions that differ from those of the run."""
    from evalprep.packs import versions
    from evalprep.rescore import show, versions_before

    before, now = versions_before(run), versions()
    changed = {key: [before[key], now.get(key)] for key in before if before[key] != now.get(key)}
    if args.json:
        data = {
            "run": run.label,
            "tasks": [result.to_dict() for result in rescored.results],
            "left_out": rescored.left_out,
            "versions": now,
            "versions_changed": changed,
            "written": None if out is None else str(out),
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return
    show(run, rescored.results, now, changed, rescored.left_out)
    if out is not None:
        print(f"rescored run written to {out}")
        # Only published verdicts can be compared with; else the suite scores are of interest next.
        args.timestamp = NEWEST  # of the rescored run, which lies by itself
        print_next("compare" if run.judged else "score", [out], args)


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """Keeps lm-eval and datasets from drawing bars while they load.

    The bars are given back afterwards: vLLM, where it runs later, cannot do without them.
    """
    before = os.environ.get("TQDM_DISABLE")
    os.environ["TQDM_DISABLE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TQDM_DISABLE"]
        else:
            os.environ["TQDM_DISABLE"] = before
