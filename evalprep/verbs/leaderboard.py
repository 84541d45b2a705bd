"""Put many runs into one table.

Checkpoints of a training, methods, models. One row per model, one column per score.

A folder with several runs gives all of them. The terminal shows the headline; --out writes a page
with pictures, CSV, Markdown, a spreadsheet. Runs that were asked other questions, or lack rows of
their data, are marked and compete for nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.terminal import tracked
from evalprep.verbs.ledgers import with_foreign_answers
from evalprep.verbs.options import (
    Parser,
    add_options,
    label_of_named,
    metric_choices,
    names_of,
    print_next,
    references_of,
)

if TYPE_CHECKING:
    from evalprep.leaderboard import Board, Judged
    from evalprep.packs import Pack
    from evalprep.results import Run
    from evalprep.score import OtherModels, Scores


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="+",
        help="output folders, model folders, result files or logs; each run is a row",
    )
    add(
        "--scores",
        default="",
        metavar="LIST",
        help="columns to show: names or patterns with commas ('forget_*'), or a table that a pack "
        "names, such as paper, which is sorted by its first score",
    )
    add(
        "--sort",
        default="",
        metavar="SCORE",
        help="best value first; by default rows stand in natural order",
    )
    add(
        "--baseline",
        default="",
        metavar="RUN",
        help="the run, by its label or place, that every other one is compared with (default: "
        "every pair is compared)",
    )
    add_options(parser, "candidate")
    add_options(parser, "reference", "finetuned", "metric", "cluster", "label", "allow", "rule")
    add_options(parser, "timestamp")
    add_options(parser, "accept_ledger", "template_dir")
    add(
        "--each_seed",
        rare=True,
        action="store_true",
        help="a row per run, also where runs differ in nothing but their seeds",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write the page, the tables and the spreadsheet",
    )
    add(
        "--format",
        default="html,csv,md",
        metavar="LIST",
        help="html, csv, md, xlsx, json; several with commas (default: html,csv,md)",
    )
    add("--to", choices=["latex"], help="print the table for a paper (LaTeX with booktabs)")
    add("--json", action="store_true", help="print the leaderboard as JSON")


def main(args: argparse.Namespace) -> int:
    """Opens, scores, compares, prints, writes; 3 where no run has a score."""
    from evalprep.packs import find_packs

    formats = names_of(args.format)
    if args.baseline and Path(args.baseline).exists():
        args.runs = [*args.runs, args.baseline]  # a run that is named twice is read once
    packs = find_packs(args.template_dir)
    boards = _build(args, formats, packs)
    written: dict[str, list[str]] = {}
    if args.out is not None:
        from evalprep.leaderboard import export_board, write_board

        for heading in boards:
            # Of several tables each goes into a folder of its own.
            name = re.sub(r"[^\w.+-]+", "_", heading).strip("_.")
            folder = args.out / name if name else args.out
            of_packs: list[Path] = []
            if "csv" in formats:
                of_packs, failures = export_board(boards[heading], packs, folder)
                notes = [*boards[heading].notes, *failures]
                boards[heading] = replace(boards[heading], notes=notes)
            paths = [*write_board(boards[heading], folder, formats), *of_packs]
            written[heading] = [str(path) for path in paths]
    if args.to:
        from evalprep.leaderboard import render_latex

        for heading, board in boards.items():
            if heading:
                print(f"% {heading}")
            print(render_latex(board))
    elif args.json:
        _print_json(boards, written)
    else:
        _print(boards, written, args)
    cells = chain.from_iterable(board.cells() for board in boards.values())
    return 0 if any(cell.value is not None for cell in cells) else 3


def _build(
    args: argparse.Namespace, formats: list[str], packs: Mapping[str, Pack]
) -> dict[str, Board]:
    """Heading -> the table of the runs under it; one table with an empty heading as a rule."""
    from evalprep.leaderboard import build_board, groups_of, table_columns
    from evalprep.results import agreed, by_rule, label_runs, read_by_choice

    score_names = names_of(args.scores)
    of_table = table_columns(score_names, packs)
    runs, reference_runs, others = _open(args, formats, packs)
    references = {
        at for at, run in enumerate(runs) if any(run is other for other in reference_runs)
    }
    runs, _ = with_foreign_answers(label_runs(runs, args.label), accept=args.accept_ledger)
    # Whoever accepts another prompt wants the runs in one table.
    is_one_table = "prompt" in args.allow
    groups = {"": list(range(len(runs)))} if is_one_table else groups_of(runs, packs)
    runs = read_by_choice(agreed(by_rule(runs, args.rule, packs)), metric_choices(args))
    scores = _scores_of(runs, references, others, args, packs)
    judged = _judged(runs, args)
    sort = args.sort or next(iter(of_table), "")
    return {
        heading: build_board(
            [runs[at] for at in places],
            [scores[at] for at in places],
            packs,
            references=[number for number, at in enumerate(places) if at in references],
            column_names=score_names,
            sort=sort,
            allow=args.allow,
            cluster=args.cluster or "",
            each_seed=args.each_seed,
            judged=judged,
        )
        for heading, places in groups.items()
    }


def _judged(runs: list[Run], args: argparse.Namespace) -> Judged:
    """The pairs that carry words, by the runs that the user names.

    Raises:
        BadInput: no run has that label or place, or both options name one run.
    """
    from evalprep.errors import BadInput, Problem
    from evalprep.leaderboard import Judged

    judged = Judged(
        label_of_named(args.candidate, runs, "--candidate"),
        label_of_named(args.baseline, runs, "--baseline"),
    )
    if judged.candidate and judged.candidate == judged.baseline:
        what = f"{judged.candidate} is the candidate and the baseline"
        fix = "name another run with one of the two options"
        raise BadInput(Problem(what=what, where="--candidate and --baseline", fix=fix))
    return judged


def _scores_of(
    runs: list[Run],
    references: Collection[int],
    others: OtherModels,
    args: argparse.Namespace,
    packs: Mapping[str, Pack],
) -> list[Scores]:
    """The scores of each run, by the rule that the user names."""
    from evalprep.score import cluster_by, score_by_rule

    cluster_by(runs, args.cluster or "")
    return [
        score_by_rule(run, packs, args.rule, others, is_reference=at in references)
        for at, run in tracked(enumerate(runs), "runs scored", len(runs), unit="runs")
    ]


def _print_json(boards: Mapping[str, Board], written: Mapping[str, list[str]]) -> None:
    """Prints the table as JSON; of several a list under `groups`, each with its heading."""
    from evalprep.report import plain

    data = [
        {"heading": heading, **plain(board.to_dict()), "files": written.get(heading, [])}
        for heading, board in boards.items()
    ]
    if len(data) > 1:
        shown = {"kind": "evalprep leaderboards", "groups": data}
    else:
        shown = {key: value for key, value in data[0].items() if key != "heading"}
    print(json.dumps(shown, indent=2, ensure_ascii=False))


def _print(
    boards: Mapping[str, Board], written: Mapping[str, list[str]], args: argparse.Namespace
) -> None:
    """Prints every table under its heading, and what was written."""
    from evalprep.leaderboard import text

    for heading, board in boards.items():
        if heading:
            print(f"== {heading}\n")
        print(text(board))
        if heading:
            print()
    for path in chain.from_iterable(written.values()):
        print(f"written: {path}")
    if not written:
        print_next("leaderboard", [*args.runs, "--out", "leaderboard"], args)


def _open(
    args: argparse.Namespace, formats: list[str], packs: Mapping[str, Pack]
) -> tuple[list[Run], list[Run], OtherModels]:
    """The runs in the order of their rows, the references first; these; and all other models.

    Every mistake is reported at once.
    """
    from evalprep.compare import check_allowed
    from evalprep.errors import BadInput, Problems
    from evalprep.leaderboard import FORMATS
    from evalprep.report import check_formats
    from evalprep.results import timestamp_of_each
    from evalprep.score import OtherModels

    problems = Problems()
    check_formats(formats, FORMATS, problems)
    check_allowed(args.allow, "--allow", problems)
    runs: list[Run] = []
    named = zip(args.runs, timestamp_of_each(args.runs, args.timestamp), strict=True)
    for place, timestamp in tracked(named, "places read", len(args.runs), unit="places"):
        try:
            runs += _runs_below(place, timestamp, packs)
        except BadInput as error:
            problems.extend(error.problems)
    run_of_key: dict[tuple[str, ...], Run] = {}
    for run in runs:
        run_of_key.setdefault(_key(run), run)
    runs = list(run_of_key.values())
    for run in runs:
        if not (run.tasks or run.stated or run.stored or run.unread):
            problems.add(
                "the run has no scores",
                where=str(run.files.folder),
                fix="run lm_eval with --log_samples",
            )
    others = OtherModels()
    reference_runs: list[Run] = []
    try:
        others, reference_runs = _references(runs, args, packs)
    except BadInput as error:
        is_named_here = args.reference or args.finetuned
        problems.extend(error.problems if is_named_here else [])
    problems.raise_if_any()
    keys = {_key(run) for run in reference_runs}
    return (
        [*reference_runs, *(run for run in runs if _key(run) not in keys)],
        reference_runs,
        others,
    )


def _references(
    runs: list[Run], args: argparse.Namespace, packs: Mapping[str, Pack]
) -> tuple[OtherModels, list[Run]]:
    """The other models, and the references of the runs, which are rows of their own."""
    from evalprep.score import (
        REFERENCE,
        OtherModels,
        ReferenceChoice,
        may_be_opened,
        open_references,
        references_named,
    )

    others = references_of(args, packs)
    references, named = others.reference, references_named(runs)
    # The one that the tasks of all runs name, where it is there.
    if references is None and len(named) == 1 and may_be_opened(named[0], runs):
        choice = ReferenceChoice(Path(named[0]))
        references = open_references([choice], REFERENCE, packs.values())
    of_runs = [] if references is None else references.runs_of(runs)
    return OtherModels(references, others.finetuned), of_runs


def _runs_below(place: str, timestamp: str, packs: Mapping[str, Pack]) -> list[Run]:
    """The runs at a place that the user names, several in natural order."""
    from evalprep.results import each_place, timestamp_of_each, with_other_files

    runs: list[Run] = []
    places = each_place([place], packs.values())
    stamps = timestamp_of_each(places, timestamp)
    found = zip(places, stamps, strict=True)
    for log, stamp in tracked(found, "runs opened", len(places), unit="runs"):
        runs += _at(log, stamp, packs)
    runs = with_other_files(runs, [place], places)
    return in_natural_order(runs) if len(runs) > 1 else runs


def _at(place: str | os.PathLike[str], timestamp: str, packs: Mapping[str, Pack]) -> list[Run]:
    """The runs at a place of one model: each id and each answerer, else what `open_run` takes."""
    from evalprep.results import NEWEST, answerers_at, load_run, open_run, run_ids_at

    is_open = timestamp == NEWEST
    ids = run_ids_at(place) if is_open else []
    answerers = answerers_at(place) if is_open else []
    if len(ids) + len(answerers) < 2:
        return [open_run(place, packs.values(), timestamp=timestamp)]
    plain = [load_run(place, answerer=answerer) for answerer in answerers]
    return [*plain, *(load_run(place, run=run_id) for run_id in ids)]


def in_natural_order(runs: list[Run]) -> list[Run]:
    """Runs of one folder in the natural order of their models: checkpoint-2 before checkpoint-10.

    Runs of one model are sorted by time, then by their files, so that the result never depends on
    the order in which the folder lists them.
    """
    from evalprep.config import natural

    def natural_key(run: Run) -> tuple[list[tuple[int, int, str]], ...]:
        files = run.files
        names = [str(path or "") for path in (files.folder, run.log, files.results)]
        parts = [run.model, files.stamp, *names, files.run, *_key(run)]
        # Texts that differ in case alone have one natural key.
        return (*map(natural, parts), [(1, 0, part) for part in parts])

    return sorted(runs, key=natural_key)


def _key(run: Run) -> tuple[str, ...]:
    """The files that make a run.

    They are its samples, else the log or results file with its scores.

    Lines that are made anew lie by their content, and two seeds of a greedy model may have the
    same.
    """
    scores_file = run.log or (None if run.tasks else run.files.results)
    if scores_file:
        return (str(scores_file),)
    sample_files = run.files.samples.values() or [task.path for task in run.tasks.values()]
    return tuple(sorted(str(file.resolve()) for file in sample_files))
