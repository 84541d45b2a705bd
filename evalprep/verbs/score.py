"""Score runs: every task, every group, and the suite scores that their packs declare, next to published values.

Works on saved samples alone; no model is needed. Of several runs each has a folder of its own below --out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.files import read_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalprep.packs.pack import Pack
    from evalprep.results import Run
    from evalprep.score import Scores

SCORES = "scores.json"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    places = "output folder, model folder, folder of several, results_*.json, samples_*.jsonl or a log"
    add("runs", metavar="RUN", nargs="+", help=places)
    add("--reference", type=Path, metavar="RUN_OR_LOG", help="run, scores.json or foreign log that scores compare with")
    add("--rule", default="", metavar="NAME", help="show scores by this rule of their packs alone, e.g. original")
    add("--timestamp", default="newest", help="newest, each (newest per task) or the beginning of a time stamp")
    add("--template_dir", type=Path, action="append", help="folder of further packs; may be repeated")
    add("--subtasks", action="store_true", help="also a table per subtask")
    add("--label", action="append", default=[], metavar="NAME", help="what a run is called, in the order of the runs")
    add("--out", type=Path, metavar="DIR", help="where to write scores.json and the packs' own result files")
    add("--no-write", action="store_true", help="write nothing")
    add("--json", action="store_true", help="print the scores as JSON")


def main(args: argparse.Namespace) -> int:
    """Score, print, write."""
    from evalprep.packs.finding import find_packs
    from evalprep.results import by_rule, each_run, label_runs, open_run

    packs = find_packs(args.template_dir)
    args.runs = each_run(args.runs)
    runs = [open_run(place, packs.values(), timestamp=args.timestamp) for place in args.runs]
    label_runs(runs, args.label)
    by_rule(runs, args.rule, packs)  # a rule that nothing here has is told before anything is written
    folders = run_folders(runs, args.out)
    found = [_score(run, args, packs, place, out) for run, place, out in zip(runs, args.runs, folders, strict=True)]
    data = [{**shown.to_dict(), "files": [str(path) for path in written]} for shown, _, written, _ in found]
    if args.out is not None and len(runs) > 1 and not args.no_write:
        tables = [str(path) for path in _tables(runs, [scores for _, scores, _, _ in found], packs, args.out)]
        for one in data:
            one["files"] += tables
        if not args.json:
            for path in tables:
                print(f"written: {path}")
    if args.json:
        print(json.dumps(data if len(data) > 1 else data[0], indent=2, ensure_ascii=False))
    return 0 if all(scored for _, _, _, scored in found) else 3


def _tables(runs: Sequence[Run], scores: Sequence[Scores], packs: Mapping[str, Pack], out: Path) -> list[Path]:
    """The packs' own tables over many models."""
    from evalprep.errors import cannot_write
    from evalprep.leaderboard import export_tables

    try:
        return export_tables(runs, scores, packs, out)
    except OSError as error:
        raise cannot_write(error, f"--out {out}") from error


def run_folders(runs: Sequence[Run], out: Path | None) -> list[Path]:
    """Where the files of each run go: beside its samples, into `out`, or of several runs into a folder each below it.

    The folders are named by the runs' labels. One that holds the scores of another run is left alone.
    """
    if out is None:
        return [run.files.folder / f"scores_{run.files.stamp}" for run in runs]
    if len(runs) == 1:
        return [out]
    found: list[Path] = []
    for run in runs:
        name = re.sub(r"[^\w.+-]+", "_", run.label).strip("_.") or "run"
        origin = str(run.files.folder.resolve())
        digest = hashlib.sha256(f"{origin} {run.id}".encode()).hexdigest()
        names = (name, *(f"{name}-{digest[:size]}" for size in (8, len(digest))))
        found.append(next(out / one for one in names if out / one not in found and _is_free(out / one, origin)))
    return found


def _is_free(folder: Path, origin: str) -> bool:
    """Whether a folder holds no scores, or those of runs in the same place."""
    kept = read_object(folder / SCORES)
    return not kept or kept.get("folder") == origin


def _score(
    run: Run, args: argparse.Namespace, packs: Mapping[str, Pack], place: str, out: Path
) -> tuple[Scores, Scores, list[Path], bool]:
    """Score one run; what is shown of its scores, all of them, its files, and whether it has any scores."""
    from evalprep.annotate.free import compute
    from evalprep.annotate.screen import show_computing
    from evalprep.errors import cannot_write
    from evalprep.leaderboard import export_tables
    from evalprep.results import by_rule
    from evalprep.score import export, of_rule, open_reference, packs_of, score_run

    reference = None
    if args.reference is not None:
        reference = open_reference(args.reference, packs_of(run, packs) or packs.values())
    computed = [] if args.no_write else compute(packs_of(run, packs), run, show_computing)
    scores = score_run(run, packs, reference=reference)
    scores.notes += computed
    has_any = any(task.micro.get("n") for task in scores.tasks) or any(one.value is not None for one in scores.suite)
    has_any = has_any or bool(scores.stored)
    written: list[Path] = []
    problem = ""
    if not args.no_write:
        try:
            out.mkdir(parents=True, exist_ok=True)
            data = {**scores.to_dict(), "folder": str(run.files.folder.resolve())}
            (out / SCORES).write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            shared = args.out if len(args.runs) > 1 else None
            written = [out / SCORES, *export(scores, run, packs, out, shared_dir=shared)]
            written += [] if shared else export_tables([run], [scores], packs, out)
        except OSError as error:
            if args.out is not None:
                raise cannot_write(error, f"--out {out}") from error
            problem = f"nothing written: {out.parent} is not writable; --out names another place"
    shown = scores
    if args.rule:  # files hold every rule
        read = by_rule([run], args.rule, packs)[0]
        shown = of_rule(score_run(read, packs, reference=reference), args.rule, packs)
    if not args.json:
        from evalprep.score.screen import show

        show(shown, subtasks=args.subtasks)
        for path in written:
            print(f"written: {path}")
        if problem:
            print(problem)
        verb = ("compare" if run.judged else "report") if has_any or not run.tasks else "rescore"
        chosen = "" if args.timestamp == "newest" else f" --timestamp {args.timestamp}"
        chosen += f" --rule {args.rule}" if args.rule else ""
        chosen += "".join(f" --template_dir {shlex.quote(str(one))}" for one in args.template_dir or ())
        print(f"next: evalprep {verb} {place}{chosen}")
    return shown, scores, written, has_any
