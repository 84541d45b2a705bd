"""Print samples of a run: prompt, reply, the answer that was read, gold answer, score and reason.

All samples by default; --wrong, --unread or --lost choose some of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from evalprep.errors import BadInput, Problem
from evalprep.numbers import at_least_one
from evalprep.terminal import counted
from evalprep.verbs.options import Parser, add_options, print_next

if TYPE_CHECKING:
    from evalprep.results import Run, SampleView, Which

_MOST = 5
_CUT = 1_500  # characters of a text shown without --all
_INDENT = "  "


def configure(parser: Parser) -> None:
    """Adds the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="RUN", help="output folder, model folder, results_*.json or samples_*.jsonl")
    add_options(parser, "tasks")
    kinds = parser.add_mutually_exclusive_group()
    kind = kinds.add_argument
    wrong = kind("--wrong", action="store_true", help="samples below the best score")
    lost = kind(
        "--lost", action="store_true", help="samples that the baseline has right and this run not"
    )
    unread = kind(
        "--unread", action="store_true", help="samples whose reply no answer could be read from"
    )
    parser.show_in_short_help(wrong, lost, unread)
    add(
        "--baseline",
        metavar="RUN",
        help="baseline for --lost (default: the published verdicts of the rows)",
    )
    add(
        "-n",
        type=at_least_one,
        default=_MOST,
        metavar="N",
        help=f"samples to print (default: {_MOST})",
    )
    add("--all", action="store_true", help="print whole texts")
    add_options(parser, "timestamp", "template_dir")
    add("--json", action="store_true", help="print the samples as JSON, with whole texts")


def main(args: argparse.Namespace) -> int:
    """Prints the samples."""
    from evalprep.packs import on_demand
    from evalprep.results import (
        label_runs,
        open_run,
        refuse_pointers,
        short_value,
        timestamp_of_each,
    )

    if args.baseline and not args.lost:
        raise BadInput(
            Problem(what="is for --lost", where="--baseline", fix="add --lost, or leave it out")
        )
    stamp = timestamp_of_each(_sides(args), args.timestamp)[0]
    (run,) = label_runs([open_run(args.run, on_demand(args.template_dir), timestamp=stamp)])
    if not run.tasks:
        refuse_pointers(run.files.folder)
    _print_notes(run)
    chosen = _choose_samples(run, args)
    shown = list(islice(chosen.views, args.n))
    if args.json:
        every = sum(chosen.counts.values())
        data = []
        for number, view in enumerate(shown, 1):
            place = {"number": number, "of": every, "of_task": chosen.counts.get(view.task)}
            data.append({**view.to_dict(), **place})
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return 0
    for number, view in enumerate(shown, 1):
        print(f"=== {number}: {view.task}, sample {short_value(view.sample_id)}")
        print("\n".join(_lines(view, whole=args.all)))
    print(_summary(chosen, len(shown), args))
    places = [args.run, "--baseline", args.baseline] if args.baseline else [args.run]
    print_next("report", places, args)
    return 0


def _sides(args: argparse.Namespace) -> list[str]:
    """The run, and the baseline where there is one."""
    return [args.run, args.baseline] if args.baseline else [args.run]


def _print_notes(run: Run) -> None:
    """Prints which of several runs in a folder was read, and what else there is to know of it."""
    from evalprep.results import notes_on_thoughts

    for note in [*run.notes, *notes_on_thoughts(run)]:
        print(f"note: {note}", file=sys.stderr)


class _Chosen(msgspec.Struct, frozen=True):
    """The samples of the kind that the user names, read as they are taken.

    Attributes:
        views: The samples.
        counts: Task -> how many there are.
        readings: Task -> metric and filter by which they are chosen.
    """

    views: Iterator[SampleView]
    counts: Mapping[str, int]
    readings: Mapping[str, str]


def _choose_samples(run: Run, args: argparse.Namespace) -> _Chosen:
    from evalprep.results import choose_rows, views_at

    if args.lost:
        return _lost_samples(run, args)
    which: Which = "unread" if args.unread else "all"
    if args.wrong:
        which = "wrong"
    rows = choose_rows(run, args.tasks, which)
    counts = {name: len(places) for name, places in rows.items()}
    readings = {name: run.task(name).primary.name for name in rows}
    return _Chosen(views_at(run, rows), counts, readings)


def _lost_samples(run: Run, args: argparse.Namespace) -> _Chosen:
    """The samples that the baseline, or the published verdicts, have right and the run not."""
    from evalprep.compare import compare_runs
    from evalprep.packs import on_demand
    from evalprep.results import open_run, timestamp_of_each

    baseline: Run | None = None
    if args.baseline:
        stamp = timestamp_of_each(_sides(args), args.timestamp)[-1]
        packs = on_demand(args.template_dir)
        baseline = open_run(args.baseline, packs, timestamp=stamp)
        _print_notes(baseline)
    if baseline is None and not run.judged:
        raise BadInput(
            Problem(
                what="no row of the run carries a published verdict",
                where=str(run.files.folder),
                fix="name a baseline: --lost --baseline RUN",
            )
        )
    comparison = compare_runs(run, baseline, tasks=args.tasks)
    # Samples that look lost may not be, and others not be seen.
    reasons_of = {task.name: [*task.not_comparable, *task.not_enough] for task in comparison.tasks}
    doubts = [f"{name}: {'; '.join(reasons)}" for name, reasons in reasons_of.items() if reasons]
    for doubt in [*comparison.warnings, *doubts]:
        print(f"warning: {doubt}", file=sys.stderr)
    counts = {name: rows.count_lost() for name, rows in comparison.rows.items()}
    readings = {name: rows.reading for name, rows in comparison.rows.items()}
    return _Chosen(comparison.lost(), counts, readings)


def _lines(view: SampleView, *, whole: bool) -> list[str]:
    """One sample, each part below its name."""
    from evalprep.packs import readable_prompt

    lines = [
        *_part("prompt", readable_prompt(view.prompt), whole=whole),
        *_part("reply", view.reply, whole=whole),
    ]
    if view.baseline_reply is not None:
        lines += _part("reply of the baseline", view.baseline_reply, whole=whole)
    answer = view.answer
    if view.unread:
        answer = "none"
    elif answer is None:
        answer = "not logged, or the whole reply"
    score = "unknown" if view.score is None else f"{view.score:g}"
    score_line = f"score: {score} ({view.metric or 'no metric'})"
    if view.baseline_score is not None:
        score_line += f", baseline {view.baseline_score:g}"
    lines += [f"answer read: {answer}", f"gold answer: {view.gold}", score_line]
    if view.reason:
        lines.append(f"reason: {view.reason}")
    return [*lines, ""]


def _part(name: str, text: str | None, *, whole: bool) -> list[str]:
    """A text below its name; a long one without its middle."""
    if text is None:
        return [f"{name}: not logged"]
    if not whole and len(text) > _CUT:
        half = _CUT // 2
        cut = len(text) - 2 * half
        text = (
            f"{text[:half]}\n... {cut} characters left out; --all prints them ...\n{text[-half:]}"
        )
    if not text.strip():
        return [f"{name}: (empty)"]
    return [f"{name}:", textwrap.indent(text, _INDENT, lambda _: True)]


def _summary(chosen: _Chosen, shown: int, args: argparse.Namespace) -> str:
    """Returns how many samples there are of the kind, by task, and by which metric and filter."""
    kinds = {"wrong ": args.wrong, "lost ": args.lost, "unread ": args.unread}
    kind = next((kind for kind, is_chosen in kinds.items() if is_chosen), "")
    every = sum(chosen.counts.values())
    readings = ", ".join(dict.fromkeys(filter(None, chosen.readings.values())))
    by = f", by {readings}" if kind and readings else ""
    if not every:
        return f"no {kind}samples{by}"
    tasks = ", ".join(f"{name} {count}" for name, count in chosen.counts.items() if count)
    return f"{shown} of {counted(every, f'{kind}sample')} ({tasks}){by}"
