"""Score saved samples anew with today's scorers, without the model, and say which verdicts changed and why.

Works for `--predict_only` runs too. Published outputs that rows carry go through the same scorer, which tells a
difference of scorers from a difference of models. The result is written as a run of its own that every verb reads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="RUN", help="output folder, model folder, results_*.json or samples_*.jsonl")
    add("--work_dir", type=Path, help="folder of the task YAMLs, whose code is run (default: where you prepared them)")
    add("--tasks", nargs="+", metavar="TASK", help="task or group names (default: all)")
    add("--template_dir", type=Path, action="append", help="folder of further packs; may be repeated")
    add("--timestamp", default="newest", help="newest, each (newest per task) or the beginning of a time stamp")
    add(
        "--jobs",
        type=int,
        help="processes (default: one, and one per core where rows take long)",
    )
    add("--out", type=Path, metavar="DIR", help="where to write the rescored run (default: rescored_<stamp> beside it)")
    add("--no-write", action="store_true", help="write no samples")
    add("--json", action="store_true", help="print the outcome as JSON")


def main(args: argparse.Namespace) -> int:
    """Rescore, print, write."""
    import sys

    from evalprep.errors import BadInput, Problem, Problems
    from evalprep.packs.finding import find_packs
    from evalprep.packs.manifest import versions
    from evalprep.rescore import RunWriter, Workers, rescore_task, versions_before
    from evalprep.results import label_runs, load_run

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
    packs = find_packs(args.template_dir)
    run = load_run(args.run, timestamp=args.timestamp, as_logged=True)
    label_runs([run])
    chosen = run.select(args.tasks)
    if not chosen:
        raise BadInput(
            Problem(
                what="the run has no samples files, and without saved replies nothing can be scored anew",
                where=str(run.files.folder),
                fix="evalprep report shows the scores that it stored",
            )
        )
    out = None if args.no_write else args.out or run.files.folder / f"rescored_{run.files.stamp}"
    writer = RunWriter(run, out) if out is not None else None
    results, left_out, problems = [], {}, Problems()
    # Task code may print; standard output is ours.
    with (
        contextlib.redirect_stdout(sys.stderr),
        _without_bars(),
        Workers(args.jobs) as workers,
    ):
        for name in chosen:
            try:
                results.append(
                    rescore_task(run, name, work_dir=args.work_dir, packs=packs, workers=workers, writer=writer)
                )
            except BadInput as error:
                problems.extend(error.problems)
                left_out[name] = "; ".join(one.what.removeprefix("cannot be rescored: ") for one in error.problems)
    if not results:
        if writer is not None:
            writer.discard()
        problems.raise_if_any()
    if writer is not None:
        writer.finish(left_out)
    before, now = versions_before(run), versions()
    changed = {key: [before[key], now.get(key)] for key in before if before[key] != now.get(key)}
    if args.json:
        data = {
            "run": run.label,
            "tasks": [result.to_dict() for result in results],
            "left_out": left_out,
            "versions": now,
            "versions_changed": changed,
            "written": str(out) if out is not None else None,
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        from evalprep.rescore.screen import show

        show(run, results, now, changed, left_out)
        if out is not None:
            print(f"rescored run written to {out}")
            # Only published verdicts can be compared with; without any, the suite scores are the next thing to see.
            print(f"next: evalprep {'compare' if run.judged else 'score'} {out}")
    return 0 if any(result.now is not None for result in results) else 3


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """Keep lm-eval and datasets from drawing bars while they load; vLLM, if it runs later, cannot do without."""
    before = os.environ.get("TQDM_DISABLE")
    os.environ["TQDM_DISABLE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TQDM_DISABLE"]
        else:
            os.environ["TQDM_DISABLE"] = before
