"""Put the shards of a run together: the files that one run of everything would have written.

`evalprep run --shard K/N` runs a part; this verb scores the replies of all parts in one call of
lm-eval without a model, makes the data of the next stage where there is one, and names the shards
that are not finished. Exit code: 0 when every command is whole, 1 when a shard is missing or a task
failed, 2 bad input.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from evalprep.terminal import print_json
from evalprep.verbs.options import add_work_dir

if TYPE_CHECKING:
    from evalprep.verbs.options import Parser


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    add_work_dir(parser, "a prepared folder")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def main(args: argparse.Namespace) -> int:
    """Merges every command of the folder whose shards are there."""
    from evalprep.verbs.running.merging import merge_commands

    merged = merge_commands(args.work_dir.resolve(), silent=args.json)
    if args.json:
        print_json([outcome.as_dict() for outcome in merged.outcomes])
        return merged.code
    if merged.next_stage:
        stage = ", ".join(merged.next_stage)
        print(f"next: the shards again, now for {stage}: evalprep run {args.work_dir} --shard K/N")
    elif not merged.code:
        print(f"next: evalprep run {args.work_dir}    # scores, compares and reports")
    return merged.code
