"""Write the exact requests of a prepared folder, for any engine to answer.

lm-eval makes the requests as it would for its own run: rendered text, messages, stop strings,
limits, sampling and the choices of log-likelihoods. `evalprep run --replies FILE` takes the replies
back and scores them. `--to parquet` is for Ray Data and scripts, `--to openai-batch` for
`vllm run-batch` and the batch services of providers. With `--replies` only the requests that some
replies leave open are written: those without a reply, the next turns of dialogues, and the prompts
of later stages.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.tables import Column, Kind, Table, table_lines
from evalprep.terminal import counted, print_json, print_step
from evalprep.verbs.options import add_work_dir, names_of

if TYPE_CHECKING:
    from evalprep.verbs.options import Parser


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    add = parser.add_argument
    add_work_dir(parser, "a prepared folder")
    add(
        "--to",
        choices=("parquet", "openai-batch"),
        default="parquet",
        help="parquet, or JSON lines as OpenAI's batch service takes them (default: parquet)",
    )
    add("--out", type=Path, required=True, metavar="FILE", help="the file to write")
    add(
        "--replies",
        action="extend",
        type=names_of,
        metavar="LIST",
        help="write only what these replies leave open: files or folders with commas",
    )
    add("--json", action="store_true", help="print the number of requests as JSON")


def main(args: argparse.Namespace) -> int:
    """Writes the requests."""
    from evalprep.run import read_replies, write_requests
    from evalprep.verbs.running.asking import askable, next_words, open_requests

    earlier = [Path(name) for name in args.replies or []]
    replies = read_replies(earlier)
    commands = askable(args.work_dir)
    requests = open_requests(commands.jobs, replies)
    written = write_requests(requests, args.out, args.to)
    counts, notes = written.counts, [*commands.notes, *written.notes]
    if args.json:
        print_json({"file": str(args.out), "requests": counts, "notes": notes})
        return 0
    print(f"{args.out}: {counted(counts.total(), 'request')} of {counted(len(counts), 'task')}")
    table = Table("", [Column("", Kind.NAME), Column("", Kind.COUNT)], list(counts.items()))
    for line in table_lines(table, indent="  "):
        print(line)
    for note in notes:
        print(f"note: {note}")
    for words in next_words(commands.jobs, args.out, args.to, args.work_dir, earlier):
        print_step(words)
    return 0
