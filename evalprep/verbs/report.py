"""Write one offline HTML page about one or several runs: scores, comparisons, every sample; also xlsx, CSV, Markdown.

The page holds everything and asks the network for nothing. With several runs, the last one (or --baseline) is what the
others are held against; rows with published verdicts are compared with these as well.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalprep.report.judgements import Judgements
    from evalprep.results import Run
    from evalprep.score import Scores


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add(
        "runs", metavar="RUN", nargs="+", help="output folder, model folder, results_*.json, samples_*.jsonl, or scores"
    )
    add("--baseline", metavar="RUN", help="what the runs are held against (default: the last of several)")
    add("--baseline-timestamp", default="newest", help="time stamp of the baseline, as --timestamp")
    add("--label", action="append", default=[], metavar="NAME", help="of each run in order, the baseline last")
    add("--allow", action="append", default=[], metavar="FACT", help="let a fact of the question differ, by its name")
    add("--out", type=Path, metavar="DIR", help="where to write (default: report_<time stamp> beside the first run)")
    add(
        "--format",
        default="html",
        metavar="LIST",
        help="html, xlsx, csv, md, json; several with commas (default: html)",
    )
    add("--reference", type=Path, metavar="RUN_OR_LOG", help="run, scores.json or foreign log that scores compare with")
    add("--rule", default="", metavar="NAME", help="read all runs by this scoring rule of their packs, e.g. original")
    add("--timestamp", default="newest", help="newest, each (newest per task) or the beginning of a time stamp")
    add("--template_dir", type=Path, action="append", help="folder of further packs; may be repeated")
    add("--title", default="", help="heading (default: the models' names)")
    add("--max-samples", type=int, default=50_000, metavar="N", help="samples in the page (default: 50000)")
    add("--max-chars", type=int, default=20_000, metavar="N", help="longer texts lose their middle (default: 20000)")
    add("--json", action="store_true", help="print the report's numbers as JSON")


def main(args: argparse.Namespace) -> int:
    """Read, score, compare, write."""
    from evalprep.report import build_report, write_report
    from evalprep.results import Run, agreed

    formats = [name.strip() for name in args.format.split(",") if name.strip()]
    sides = _open(args, formats)
    runs = agreed([one for one in sides if isinstance(one, Run)])
    if len(runs) < len(sides):
        return _stored(sides, args, formats)
    out = args.out or runs[0].files.folder / f"report_{runs[0].files.stamp}"
    _check_folder(out)
    scores, sentences, judgements, problems = _scores(runs, args)
    for run in runs:
        run.notes += problems
    report = build_report(
        runs,
        scores=scores,
        notes=sentences,
        judgements=judgements,
        title=args.title,
        allow=args.allow,
        max_chars=args.max_chars,
        max_samples=args.max_samples,
    )
    written = [str(path) for path in write_report(report, out, formats)]
    if args.json:
        print(json.dumps(report.document | {"files": written}, indent=2, ensure_ascii=False))
        return 0
    _say(written, [note for run in runs for note in run.notes], formats)
    return 0


def _say(written: Sequence[str], notes: Sequence[str], formats: Sequence[str]) -> None:
    for note in dict.fromkeys(notes):
        print(f"note: {note}")
    for path in written:
        print(f"written: {path}")
    if "html" in formats:
        print("next: open report.html in a browser; no server and no network are needed")


def _stored(sides: Sequence[Run | Scores], args: argparse.Namespace, formats: Sequence[str]) -> int:
    """The report where a side is scores without samples, and what packs write about such scores."""
    from evalprep.leaderboard import export_tables
    from evalprep.packs.finding import find_packs
    from evalprep.report import build_scores_report, write_report
    from evalprep.results import open_run
    from evalprep.score import Scores, all_scores, export_scores, of_rule

    packs = find_packs(args.template_dir)
    first = Path(args.runs[0])
    out = args.out or (first if first.is_dir() else first.parent) / f"report_{first.name.removesuffix('.json')}"
    _check_folder(out)
    scores = [of_rule(one, args.rule, packs) for one in all_scores(sides, packs)]
    for one, label in zip(scores, args.label, strict=False):
        one.run = label
    notes = {f"{pack.name}/{name}": spec.note for pack in packs.values() for name, spec in pack.suite_scores.items()}
    report = build_scores_report(scores, notes=notes, title=args.title)
    written = [str(path) for path in write_report(report, out, formats)]
    places = [*args.runs, *([args.baseline] if args.baseline else [])]
    for side, one, place in zip(sides, scores, places, strict=True):
        if isinstance(side, Scores):
            written += [str(path) for path in export_scores(one, packs.values(), Path(place), out)]
    if any(isinstance(side, Scores) for side in sides):
        runs = [open_run(place, packs.values(), timestamp=args.timestamp) for place in places]
        written += [str(path) for path in export_tables(runs, scores, packs, out)]
    written = list(dict.fromkeys(written))
    if args.json:
        print(json.dumps(report.document | {"files": written}, indent=2, ensure_ascii=False))
    else:
        _say(written, [note for one in scores for note in one.notes], formats)
    return 0


def _open(args: argparse.Namespace, formats: Sequence[str]) -> list[Run | Scores]:
    """The runs and the scores without samples, or every mistake in the arguments at once."""
    from evalprep.compare import check_allowed
    from evalprep.errors import BadInput, Problems
    from evalprep.packs.finding import find_packs
    from evalprep.report import FORMATS, check_formats
    from evalprep.results import Run, each_run, label_runs
    from evalprep.results.foreign import each_log
    from evalprep.score import open_side, sides_by_rule

    problems = Problems()
    check_formats(formats, FORMATS, problems)
    for option in ("max_samples", "max_chars"):
        if getattr(args, option) < 1:
            problems.add(
                f"{option} is {getattr(args, option)}",
                where=f"--{option.replace('_', '-')}",
                allowed="a whole number from 1",
            )
    check_allowed(args.allow, "--allow", problems)
    for folder in args.template_dir or ():
        if not folder.is_dir():
            problems.add(
                "no such folder", where=f"--template_dir {folder}", fix="leave it out for the packs of the project"
            )
    sides: list[Run | Scores] = []
    packs = find_packs(args.template_dir) if any(Path(str(one)).is_dir() for one in args.runs) else {}
    args.runs = [one for place in each_run(args.runs) for one in each_log(place, packs.values())]
    places = [(path, args.timestamp) for path in args.runs]
    places += [(args.baseline, args.baseline_timestamp)] if args.baseline else []
    for path, timestamp in places:
        try:
            side = open_side(path, partial(find_packs, args.template_dir), timestamp=timestamp)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        if isinstance(side, Run) and not side.tasks and not side.stored:
            problems.add(
                "the run has neither samples files nor stored scores",
                where=str(side.files.folder),
                fix="run lm_eval with --log_samples",
            )
        sides.append(side)
    problems.raise_if_any()
    sides = sides_by_rule(sides, args.rule, find_packs(args.template_dir) if args.rule else {})
    runs = [one for one in sides if isinstance(one, Run)]
    if len(runs) == len(sides):
        label_runs(runs, args.label)
    return sides


def _check_folder(out: Path) -> None:
    from evalprep.errors import cannot_write

    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise cannot_write(error, f"--out {out}", fix="--out names another place") from error


def _scores(
    runs: Sequence[Run], args: argparse.Namespace
) -> tuple[list[Scores], dict[str, str], list[Judgements], list[str]]:
    """Scores and judgements of each run, and what packs say of scores; without all of them where a pack is mistaken."""
    from evalprep.errors import BadInput
    from evalprep.packs.finding import find_packs
    from evalprep.report import judgements_of
    from evalprep.results.record import packs_elsewhere
    from evalprep.score import of_rule, open_reference, score_run

    try:
        packs = find_packs(args.template_dir)
        reference = None if args.reference is None else open_reference(args.reference, packs.values())
        scores = [of_rule(score_run(run, packs, reference=reference), args.rule, packs) for run in runs]
    except BadInput as error:
        if args.reference is not None:
            raise
        return [], {}, [], [f"suite scores are left out: {one.where}: {one.what}" for one in error.problems]
    declared = {f"{pack.name}/{name}": spec for pack in packs.values() for name, spec in pack.suite_scores.items()}
    judgements = [judgements_of(run, packs) for run in runs]
    for run in runs:
        if elsewhere := packs_elsewhere(run, packs):
            run.notes.append(elsewhere)
    return scores, {name: spec.note for name, spec in declared.items() if spec.note}, judgements, []
