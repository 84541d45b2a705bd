"""Score runs: every task, every group, and the suite scores that their packs declare, next to published values.

Works on saved samples alone; no model is needed. Several runs with one --out share the packs' own tables there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalprep.packs.pack import Pack


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="output folder, model folder, results_*.json or samples_*.jsonl")
    add("--reference", type=Path, metavar="RUN_OR_LOG", help="run, scores.json or foreign log that scores compare with")
    add("--timestamp", default="newest", help="newest, each (newest per task) or the beginning of a time stamp")
    add("--template_dir", type=Path, action="append", help="folder of further packs; may be repeated")
    add("--subtasks", action="store_true", help="also a table per subtask")
    add("--out", type=Path, metavar="DIR", help="where to write scores.json and the packs' own result files")
    add("--no-write", action="store_true", help="write nothing")
    add("--json", action="store_true", help="print the scores as JSON")


def main(args: argparse.Namespace) -> int:
    """Score, print, write."""
    from evalprep.packs.finding import find_packs

    packs = find_packs(args.template_dir)
    taken: set[Path] = set()
    found = [_score(place, args, packs, taken) for place in args.runs]
    if args.json:
        data = [scores for scores, _ in found]
        print(json.dumps(data if len(data) > 1 else data[0], indent=2, ensure_ascii=False))
    return 0 if all(scored for _, scored in found) else 3


def _score(
    place: str, args: argparse.Namespace, packs: Mapping[str, Pack], taken: set[Path]
) -> tuple[dict[str, Any], bool]:
    """Score one run; its scores as data, and whether it has any. `taken` are the files that this call has written."""
    from evalprep.annotate.free import compute
    from evalprep.errors import cannot_write
    from evalprep.results import load_run
    from evalprep.score import export, open_reference, packs_of, score_run

    run = load_run(place, timestamp=args.timestamp)
    reference = None
    if args.reference is not None:
        reference = open_reference(args.reference, packs_of(run, packs) or packs.values())
    computed = [] if args.no_write else compute(packs_of(run, packs), run)
    scores = score_run(run, packs, reference=reference)
    scores.notes += computed
    has_any = any(task.micro.get("n") for task in scores.tasks) or any(one.value is not None for one in scores.suite)
    written: list[Path] = []
    problem = ""
    if not args.no_write:
        out = args.out or run.files.folder / f"scores_{run.files.stamp}"
        # Each of several runs keeps its scores under its own name; what packs write is theirs to share.
        folder = run.files.folder.resolve()
        file = "scores.json" if len(args.runs) == 1 else f"scores_{folder.name}_{run.files.stamp}.json"
        if out / file in taken:
            file = f"scores_{folder.parent.name}__{folder.name}_{run.files.stamp}.json"
        taken.add(out / file)
        try:
            out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(scores.to_dict(), indent=2, ensure_ascii=False)
            (out / file).write_text(text + "\n", encoding="utf-8")
            written = [out / file, *export(scores, run, packs, out)]
        except OSError as error:
            if args.out is not None:
                raise cannot_write(error, f"--out {out}") from error
            problem = f"nothing written: {out.parent} is not writable; --out names another place"
    if not args.json:
        from evalprep.score.screen import show

        show(scores, subtasks=args.subtasks)
        for path in written:
            print(f"written: {path}")
        if problem:
            print(problem)
        verb = ("compare" if run.judged else "report") if has_any else "rescore"
        chosen = "" if args.timestamp == "newest" else f" --timestamp {args.timestamp}"
        print(f"next: evalprep {verb} {place}{chosen}")
    return scores.to_dict() | {"files": [str(path) for path in written]}, has_any
