"""Score runs: every task, every group, and the suite scores of their packs.

Published values stand next to the scores.
Works on saved samples alone; no model is needed. Of several runs each has a folder of its own below
--out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.files import indented_json, make_folder, write_atomically
from evalprep.numbers import at_least_one
from evalprep.verbs.ledgers import with_foreign_answers
from evalprep.verbs.options import (
    Parser,
    add_options,
    metric_choices,
    names_of,
    print_next,
    references_of,
)

if TYPE_CHECKING:
    from evalprep.packs import Pack
    from evalprep.results import Run
    from evalprep.score import OtherModels, Scores


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    places = (
        "output folder, model folder, folder of several, results_*.json, samples_*.jsonl or a log"
    )
    add("runs", metavar="RUN", nargs="+", help=places)
    add_options(parser, "reference", "finetuned", "rule", "cluster", "timestamp", "label")
    add_options(parser, "tasks", "metric")
    add(
        "--models",
        type=names_of,
        default=[],
        metavar="LIST",
        help="runs to score by model, label or folder: names or patterns with commas ('tulu*')",
    )
    add("--limit", type=at_least_one, metavar="N", help="score the first N rows of each task alone")
    add_options(parser, "accept_ledger", "template_dir")
    add(
        "--run_code",
        rare=True,
        action="store_true",
        help="allow the programmes that a received run holds",
    )
    add("--subtasks", action="store_true", help="also a table per subtask")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write scores.json and the packs' own result files",
    )
    add("--no_write", action="store_true", help="write nothing")
    add("--json", action="store_true", help="print the scores as JSON")


@dataclass(frozen=True)
class _Scored:
    """A scored run: all of its scores, those of the chosen rule, and the files written about it."""

    place: str
    run: Run
    scores: Scores
    shown: Scores
    files: Sequence[Path] = ()
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The shown scores with the files, for `--json`."""
        return {**self.shown.to_dict(), "files": [str(path) for path in self.files]}


def main(args: argparse.Namespace) -> int:
    """Scores, prints and writes; 3 where a run has no score at all."""
    from evalprep.packs import find_packs

    packs = find_packs(args.template_dir)
    runs = _open_runs(args, packs)
    is_part = bool(args.tasks) or args.limit is not None
    folders = run_folders(runs, args.out, is_part=is_part)
    others = references_of(args, packs, runs)
    places = zip(args.runs, runs, folders, strict=True)
    scored = []
    for place, run, folder in places:
        item = _score(place, run, args, packs, others)
        if not args.no_write:
            item = _written(item, args, packs, folder)
        if not args.json:
            _print(item, args)
        scored.append(item)
    if args.out is not None and len(scored) > 1 and not args.no_write:
        shared = _write_shared_tables(scored, args, packs)
        scored = [replace(item, files=[*item.files, *shared]) for item in scored]
    if args.json:
        data = [item.to_dict() for item in scored]
        print(json.dumps(data if len(data) > 1 else data[0], indent=2, ensure_ascii=False))
    return 0 if all(item.scores.has_values for item in scored) else 3


def _open_runs(args: argparse.Namespace, packs: Mapping[str, Pack]) -> list[Run]:
    """The runs at the places that `args.runs` names, which then has a place for each run."""
    from evalprep.results import (
        by_rule,
        each_place,
        label_runs,
        narrowed,
        open_run,
        read_by_choice,
        runs_of_models,
        timestamp_of_each,
        with_other_files,
    )
    from evalprep.score import cluster_by

    named = args.runs
    args.runs = each_place(named, packs.values())
    stamps = timestamp_of_each(args.runs, args.timestamp)
    runs = [
        open_run(place, packs.values(), timestamp=stamp)
        for place, stamp in zip(args.runs, stamps, strict=True)
    ]
    runs = with_other_files(runs, named, args.runs)
    runs = read_by_choice(runs, metric_choices(args))
    runs = label_runs(runs, args.label)
    chosen = {id(run) for run in runs_of_models(runs, args.models)}
    args.runs = [place for place, run in zip(args.runs, runs, strict=True) if id(run) in chosen]
    runs = [narrowed(run, args.tasks or [], args.limit) for run in runs if id(run) in chosen]
    cluster_by(runs, args.cluster)
    by_rule(runs, args.rule, packs)  # raises for an unknown rule before anything is written
    return runs


def run_folders(runs: Sequence[Run], out: Path | None, *, is_part: bool = False) -> list[Path]:
    """Returns where the files of each run go.

    Without `out` that is beside its samples; of several runs, a folder for each in `out`.

    The folders are named by the runs' labels. One that holds the scores of another run is left
    alone. Scores over a part of a run do not take the place of those over all of it.
    """
    from evalprep.readers import SCORES_FOLDER

    if out is None:
        end = "_part" if is_part else ""
        return [run.files.folder / f"{SCORES_FOLDER}{run.files.output_name}{end}" for run in runs]
    if len(runs) == 1:
        return [out]
    folders: list[Path] = []
    for run in runs:
        origin = str(run.files.folder.resolve())
        candidates = (out / name for name in _folder_names(run, origin))
        free = (path for path in candidates if path not in folders and _is_free(path, origin))
        folders.append(next(free))
    return folders


def _folder_names(run: Run, origin: str) -> Iterator[str]:
    """Names for a run's folder: its label, then with a part of its digest, then with all of it."""
    name = re.sub(r"[^\w.+-]+", "_", run.label).strip("_.") or "run"
    digest = hashlib.sha256(f"{origin} {run.id}".encode()).hexdigest()
    yield name
    yield f"{name}-{digest[:8]}"
    yield f"{name}-{digest}"


def _is_free(folder: Path, origin: str) -> bool:
    """Returns whether a folder holds no scores, or those of runs in the same place."""
    from evalprep.readers import SCORES, read_scores

    if not (folder / SCORES).exists():
        return True
    kept = read_scores(folder / SCORES)
    return kept is not None and kept.folder == origin


def _score(
    place: str, run: Run, args: argparse.Namespace, packs: Mapping[str, Pack], others: OtherModels
) -> _Scored:
    """Runs the free annotators, then scores by every rule, and by the chosen one what is shown."""
    from evalprep.results import by_rule
    from evalprep.score import cluster_by, packs_of, score_by_rule

    run = replace(run, accepts_ledger=args.accept_ledger)
    computed: list[str] = []
    own_packs = [] if args.no_write else packs_of(run, packs)
    if own_packs:
        from evalprep.annotate import compute, show_computing

        computed = compute(own_packs, run, show_computing, run_code=args.run_code)
    (run,), _ = with_foreign_answers([run], accept=args.accept_ledger)
    scores = score_by_rule(run, packs, "", others)
    scores = replace(scores, notes=[*scores.notes, *computed])
    if not args.rule:
        return _Scored(place, run, scores, scores)
    by_its_rule = by_rule([run], args.rule, packs)[0]
    cluster_by([by_its_rule], args.cluster)
    return _Scored(place, run, scores, score_by_rule(by_its_rule, packs, args.rule, others))


def _written(
    item: _Scored, args: argparse.Namespace, packs: Mapping[str, Pack], folder: Path
) -> _Scored:
    """Writes `scores.json`, which holds every rule, and the packs' own files."""
    from evalprep.errors import cannot_write
    from evalprep.leaderboard import export_tables
    from evalprep.readers import SCORES
    from evalprep.score import export

    run, scores = item.run, item.scores
    shared = args.out if len(args.runs) > 1 else None
    data = {**scores.to_dict(), "folder": str(run.files.folder.resolve())}
    try:
        make_folder(folder, within=args.out or run.files.folder)
        write_atomically(folder / SCORES, indented_json(data) + "\n")
        files = [folder / SCORES, *export(scores, run, packs, folder, shared_dir=shared)]
        if shared is None:
            files += export_tables([run], [scores], packs, folder)
    except OSError as error:
        if args.out is not None:
            raise cannot_write(error, f"--out {folder}") from error
        place = folder.parent
        problem = f"nothing written: {place} is not writable; name another place with --out"
        return replace(item, problem=problem)
    return replace(item, files=files)


def _write_shared_tables(
    scored: Sequence[_Scored], args: argparse.Namespace, packs: Mapping[str, Pack]
) -> list[Path]:
    """Writes the packs' own tables over several models; returns their paths."""
    from evalprep.errors import cannot_write
    from evalprep.leaderboard import export_tables

    runs = [item.run for item in scored]
    try:
        paths = export_tables(runs, [item.scores for item in scored], packs, args.out)
    except OSError as error:
        raise cannot_write(error, f"--out {args.out}") from error
    if not args.json:
        for path in paths:
            print(f"written: {path}")
    return paths


def _print(item: _Scored, args: argparse.Namespace) -> None:
    from evalprep.score import show

    is_compared = getattr(args, "is_compared", False)
    show(item.shown, subtasks=args.subtasks, is_compared=is_compared)
    for path in item.files:
        print(f"written: {path}")
    if item.problem:
        print(item.problem)
    verb = "compare" if item.run.judged else "report"
    if item.run.tasks and not item.scores.has_values and item.run.log is None:
        verb = "rescore"  # its replies have no score yet
    print_next(verb, [item.place], args)
