"""Write one offline HTML page about one or several runs: scores, comparisons, every sample.

Also xlsx, CSV, Markdown.

The page holds everything and asks the network for nothing. With several runs, the last one (or
--baseline) is what the others are held against; rows with published verdicts are compared with
these as well.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.verbs.ledgers import with_foreign_answers
from evalprep.verbs.options import (
    Parser,
    add_options,
    label_of_named,
    metric_choices,
    names_of,
    pair_rules,
    references_of,
    timestamps_of_sides,
)

if TYPE_CHECKING:
    from evalprep.errors import Problems
    from evalprep.packs import Pack
    from evalprep.report import Judgements, Report
    from evalprep.results import Run
    from evalprep.score import Scores

_COUNTS = ("limit", "max_chars")


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="+",
        help="output folder, model folder, results_*.json, samples_*.jsonl, or scores",
    )
    add("--baseline", metavar="RUN", help="run to compare against (default: the last of several)")
    add_options(parser, "candidate", "baseline_timestamp", "label", "allow", "tasks", "metric")
    add_options(parser, "cluster")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write (default: report_<time stamp> beside the first run)",
    )
    add(
        "--format",
        default="html",
        metavar="LIST",
        help="html, xlsx, csv, md, json; several with commas (default: html)",
    )
    add_options(parser, "reference", "finetuned", "rule", "pairing")
    add_options(parser, "timestamp", "accept_ledger", "template_dir")
    add(
        "--limit",
        rare=True,
        type=int,
        default=50_000,
        metavar="N",
        help="samples in the page (default: 50000)",
    )
    add(
        "--max_chars",
        rare=True,
        type=int,
        default=20_000,
        metavar="N",
        help="characters of a text; the middle of longer ones is left out (default: 20000)",
    )
    add("--json", action="store_true", help="print the report's numbers as JSON")


def main(args: argparse.Namespace) -> int:
    """Reads, scores, compares, writes."""
    from evalprep.compare import of_tasks
    from evalprep.packs import find_packs
    from evalprep.results import Run, agreed, read_by_choice
    from evalprep.score import cluster_by

    formats = names_of(args.format)
    args.find_packs = cache(partial(find_packs, args.template_dir))
    sides = _open_sides(args, formats)
    runs = agreed([side for side in sides if isinstance(side, Run)])
    if len(runs) < len(sides):
        return _report_scores(sides, args, formats)
    runs = read_by_choice(of_tasks(runs, args.tasks or []), metric_choices(args))
    cluster_by(runs, args.cluster)
    return _report_runs(runs, args, formats)


def _report_runs(runs: Sequence[Run], args: argparse.Namespace, formats: Sequence[str]) -> int:
    """Writes the report of runs with samples or stored scores."""
    from evalprep.readers import REPORT_FOLDER
    from evalprep.report import build_report, write_report

    folder = runs[0].files.folder
    out = args.out or folder / f"{REPORT_FOLDER}{runs[0].files.output_name}"
    _check_folder(out, within=args.out or folder)
    extras = _scores_and_judgements(runs, args)
    runs = [
        replace(run, notes=[*run.notes, *notes])
        for run, notes in zip(runs, extras.notes, strict=True)
    ]
    report = build_report(
        runs,
        scores=extras.scores,
        notes=extras.sentences,
        judgements=extras.judgements,
        packs=extras.packs,
        allow=args.allow,
        cluster=args.cluster or "",
        pairing=pair_rules(args),
        candidate=label_of_named(args.candidate, runs[:-1], "--candidate"),
        max_chars=args.max_chars,
        max_samples=args.limit,
    )
    written = write_report(report, out, formats)
    notes = list(chain.from_iterable(run.notes for run in runs))
    _print(report, written, notes, args, formats)
    return 0


def _report_scores(
    sides: Sequence[Run | Scores], args: argparse.Namespace, formats: Sequence[str]
) -> int:
    """Writes the report where a side is scores without samples, and the packs' files about them."""
    from evalprep.errors import BadInput, Problem
    from evalprep.readers import REPORT_FOLDER
    from evalprep.report import build_scores_report, write_report
    from evalprep.score import all_scores

    if args.tasks:
        raise BadInput(
            Problem(
                what="one side has scores without samples, so --tasks cannot choose among them",
                where="--tasks",
                fix="leave it out, or pass the runs with their samples",
            )
        )
    packs = args.find_packs()
    place = Path(args.runs[0])
    folder = place if place.is_dir() else place.parent
    out = args.out or folder / f"{REPORT_FOLDER}{place.name.removesuffix('.json')}"
    _check_folder(out, within=args.out or folder)
    scores = all_scores(sides, packs, args.rule, args.label)
    report = build_scores_report(scores, notes=_sentences(packs))
    written = write_report(report, out, formats)
    written += _export_scores(sides, scores, args, packs, out)
    notes = list(chain.from_iterable(side_scores.notes for side_scores in scores))
    _print(report, list(dict.fromkeys(written)), notes, args, formats)
    return 0


def _export_scores(
    sides: Sequence[Run | Scores],
    scores: Sequence[Scores],
    args: argparse.Namespace,
    packs: Mapping[str, Pack],
    out: Path,
) -> Iterator[Path]:
    """Lets packs write their files about the sides that are scores without samples."""
    from evalprep.leaderboard import export_tables
    from evalprep.results import open_run
    from evalprep.score import Scores, export_scores

    places = [*args.runs]
    if args.baseline:
        places.append(args.baseline)
    without_samples = [isinstance(side, Scores) for side in sides]
    for side_scores, place, alone in zip(scores, places, without_samples, strict=True):
        if alone:
            yield from export_scores(side_scores, packs.values(), Path(place), out)
    if any(without_samples):
        stamps = timestamps_of_sides(args.runs, args.baseline, args)
        runs = [
            open_run(place, packs.values(), timestamp=stamp)
            for place, stamp in zip(places, stamps, strict=True)
        ]
        yield from export_tables(runs, scores, packs, out)


def _print(
    report: Report,
    written: Sequence[Path],
    notes: Iterable[str],
    args: argparse.Namespace,
    formats: Sequence[str],
) -> None:
    """Prints the document as JSON, or each note once, the files and the next step."""
    paths = [str(path) for path in written]
    if args.json:
        print(json.dumps(report.document | {"files": paths}, indent=2, ensure_ascii=False))
        return
    for note in dict.fromkeys(notes):
        print(f"note: {note}")
    for path in paths:
        print(f"written: {path}")
    if "html" in formats and not getattr(args, "is_step", False):
        page = next(path for path in paths if path.endswith(".html"))
        print(f"next: open {page} in a browser; no server and no network are needed")


# --- opening


def _open_sides(args: argparse.Namespace, formats: Sequence[str]) -> list[Run | Scores]:
    """The runs and the scores without samples; raises every mistake in the arguments at once."""
    from evalprep.errors import Problems
    from evalprep.results import Run, each_place, label_runs, with_other_files
    from evalprep.score import sides_by_rule

    problems = Problems()
    _check_arguments(args, formats, problems)
    named = args.runs
    has_folders = any(Path(str(place)).is_dir() for place in args.runs)
    packs = args.find_packs() if has_folders else {}
    args.runs = each_place(args.runs, packs.values())
    places = [*args.runs, args.baseline] if args.baseline else args.runs
    timestamps = timestamps_of_sides(args.runs, args.baseline, args)
    sides: list[Run | Scores] = []
    for place, timestamp in zip(places, timestamps, strict=True):
        sides += _open_side(place, timestamp, args, problems)
    problems.raise_if_any()
    sides = sides_by_rule(sides, args.rule, args.find_packs() if args.rule else {})
    runs = [side for side in sides if isinstance(side, Run)]
    if len(runs) == len(sides):
        runs = label_runs(with_other_files(runs, named, args.runs), args.label)
    runs, _ = with_foreign_answers(runs, accept=args.accept_ledger)
    waiting = iter(runs)
    return [next(waiting) if isinstance(side, Run) else side for side in sides]


def _check_arguments(args: argparse.Namespace, formats: Sequence[str], problems: Problems) -> None:
    from evalprep.compare import check_allowed
    from evalprep.report import FORMATS, check_formats

    check_formats(formats, FORMATS, problems)
    for option in _COUNTS:
        value = getattr(args, option)
        if value < 1:
            problems.add(
                f"{option} is {value}", where=f"--{option}", allowed="a whole number from 1"
            )
    check_allowed(args.allow, "--allow", problems)
    for folder in args.template_dir or ():
        if not folder.is_dir():
            problems.add(
                "no such folder",
                where=f"--template_dir {folder}",
                fix="leave it out for the packs of the project",
            )


def _open_side(
    place: str, timestamp: str, args: argparse.Namespace, problems: Problems
) -> Iterator[Run | Scores]:
    """The side at a place; nothing, and a problem, where there is none."""
    from evalprep.errors import BadInput
    from evalprep.results import Run
    from evalprep.score import open_side

    try:
        side = open_side(place, args.find_packs, timestamp=timestamp)
    except BadInput as error:
        problems.extend(error.problems)
        return
    if isinstance(side, Run) and not (side.tasks or side.stored or side.unread):
        problems.add(
            "the run has neither samples files nor stored scores",
            where=str(side.files.folder),
            fix="run lm_eval with --log_samples",
        )
    yield side


def _check_folder(out: Path, within: Path) -> None:
    """Makes the folder and a file in it, before any work is done."""
    from evalprep.errors import cannot_write
    from evalprep.files import make_folder, write_atomically

    probe = out / ".writable"
    try:
        make_folder(out, within=within)
        write_atomically(probe, "")
        probe.unlink()
    except OSError as error:
        raise cannot_write(error, f"--out {out}", fix="name another place with --out") from error


# --- what is shown beside the runs


@dataclass(frozen=True)
class _Extras:
    """The additions of packs and judges to runs: scores, a sentence about each score, judgements.

    `notes` holds what there is to know of them, and what went wrong, for each run.
    """

    notes: Sequence[Sequence[str]]
    scores: Sequence[Scores] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    judgements: Sequence[Judgements] = ()
    packs: Mapping[str, Pack] = field(default_factory=dict)


def _scores_and_judgements(runs: Sequence[Run], args: argparse.Namespace) -> _Extras:
    """Scores and judgements of each run; without all of them where a pack has a mistake."""
    from evalprep.errors import BadInput
    from evalprep.report import judgements_of
    from evalprep.results import packs_elsewhere
    from evalprep.score import score_by_rule

    try:
        packs = args.find_packs()
        others = references_of(args, packs)
        scores = [score_by_rule(run, packs, args.rule, others) for run in runs]
    except BadInput as error:
        if args.reference or args.finetuned:
            raise
        problems = [
            f"suite scores are left out: {item.where}: {item.what}" for item in error.problems
        ]
        return _Extras([problems for _ in runs])
    judged = [judgements_of(run, packs) for run in runs]
    notes = [
        [*of_judges, *filter(None, [packs_elsewhere(run, packs)])]
        for run, (_, of_judges) in zip(runs, judged, strict=True)
    ]
    judgements = [of_run for of_run, _ in judged]
    return _Extras(notes, scores, _sentences(packs), judgements, packs)


def _sentences(packs: Mapping[str, Pack]) -> dict[str, str]:
    """The sentence about each score that its pack declares."""
    notes = {}
    for pack in packs.values():
        for name, spec in pack.suite_scores.items():
            if spec.note:
                notes[f"{pack.name}/{name}"] = spec.note
    return notes
