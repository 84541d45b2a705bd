"""Prepare, run, score, compare and report in one command.

A file is a config: evalprep prepares what is missing or changed, runs the commands with a log, a
live table and resume, scores the run, compares it with the published verdicts or --baseline, and
writes the report. A folder is a prepared one and is run as it is. What is finished is never
generated again.

Exit code: 0 when all commands ran, 1 when one failed, 2 bad input; with --gate that of the gate.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.errors import BadInput, Problem, Problems
from evalprep.terminal import print_json, print_step
from evalprep.verbs.options import names_of

if TYPE_CHECKING:
    from evalprep.run import Cut
    from evalprep.verbs.options import Parser

DEFAULT_UNIT = 2_000
_SHARD_OF = re.compile(r"(\d+)/(\d+)")


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    add = parser.add_argument
    add(
        "place",
        nargs="?",
        type=Path,
        metavar="CONFIG_OR_WORK_DIR",
        help="a config, or a prepared folder (default: ./eval_config.yaml, else ./work_dir)",
    )
    add(
        "--config_path",
        "--config",
        rare=True,
        type=Path,
        metavar="FILE",
        help="the config, as for the other verbs",
    )
    add("--model", metavar="NAME", help="a hub id or a local folder (key model_name)")
    add(
        "--tasks", type=names_of, metavar="LIST", help="task or group names with commas (key tasks)"
    )
    add("--limit", metavar="N", help="samples of each task, or a share (key limit)")
    add("--backend", metavar="NAME", help="what runs the model (key backend)")
    add("--out", type=Path, metavar="DIR", help="where results go (key output_path)")
    add(
        "--include_path",
        action="extend",
        type=names_of,
        metavar="DIRS",
        help="folders of your own lm-eval task files, with commas (key include_path)",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="overrule one key of the config; may be repeated",
    )
    add(
        "--baseline",
        metavar="RUN",
        help="run to compare against (default: the published verdicts, where rows carry some)",
    )
    add("--gate", type=Path, metavar="POLICY", help="YAML file that decides the exit code")
    add(
        "--shard",
        rare=True,
        action="extend",
        type=names_of,
        metavar="LIST",
        help="K/N: only the K-th of N parts, for `evalprep merge`; a number: rows of one unit, 0 "
        f"for whole tasks (default: {DEFAULT_UNIT})",
    )
    add(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="where models are loaded: here, or on the nodes of a Ray cluster (default: local)",
    )
    add(
        "--address",
        rare=True,
        default="",
        metavar="HOST:PORT",
        help="head of the Ray cluster, or auto (default: one that is started on this machine)",
    )
    add(
        "--replicas",
        rare=True,
        type=int,
        default=0,
        metavar="N",
        help="copies of the model on the cluster (default: as many as it has room for)",
    )
    add("--restart", action="store_true", help="generate again what an earlier run finished")
    add(
        "--replies",
        action="extend",
        type=names_of,
        metavar="LIST",
        help="score the replies of another engine: files or folders with commas (parquet, JSON "
        "lines); the word rows stands for those in the prepared rows",
    )
    add(
        "--missing_to",
        rare=True,
        type=Path,
        metavar="FILE",
        help="write the requests without a reply: parquet, or OpenAI's batch format (.jsonl)",
    )
    add("--json", action="store_true", help="print the outcome of each command as JSON, then stop")


def main(args: argparse.Namespace) -> int:
    """Prepares, runs, concludes."""
    from evalprep.verbs.running.conclusion import check_arguments
    from evalprep.verbs.running.preparing import prepared_folder

    check_arguments(args)
    cut = read_cut(args.shard or [])
    folder = prepared_folder(args)

    from evalprep.packs import require_prepared
    from evalprep.run import Holder, given_replies
    from evalprep.verbs.running.asking import (
        check_replies,
        reply_files,
        words_for_open,
        write_missing,
    )
    from evalprep.verbs.running.commands import Commands

    check_replies(args)
    given = given_replies(reply_files(args), require_prepared(folder.work_dir))
    with Holder(given.places) as holder:
        commands = Commands(folder.work_dir, args, holder, cut, given)
        code = commands.all()
    if args.missing_to is not None:
        write_missing(folder.work_dir, args, given)
    elif code and given.places and not args.json:
        print_step(words_for_open(folder.work_dir, given.places))
    if args.json:
        print_json(commands.outcomes)
        return code
    if cut.is_whole:
        has_rows_only = bool(args.replies) and not given.places
        from evalprep.verbs.running.conclusion import conclude

        if has_rows_only and not commands.outcomes:
            raise BadInput(
                Problem(
                    what="no task has stored replies in its rows",
                    where=str(folder.work_dir),
                    fix="give the files with replies (--replies FILE), or leave out --replies",
                )
            )
        if code or has_rows_only or not commands.outcomes:
            return code
        results = [Path(outcome["results"]) for outcome in commands.outcomes]
        return conclude(results, commands.of_models, folder.template_dir, args)
    if not code:
        print(f"next, when all {cut.shards} shards are done: evalprep merge {folder.work_dir}")
    return code


def read_cut(words: Sequence[str]) -> Cut:
    """Reads the value of `--shard`: `K/N`, rows of a unit, or both.

    Raises:
        BadInput: neither, or no such part.

    >>> read_cut(["3/8", "500"])
    Cut(rows=500, shard=3, shards=8)
    """
    from evalprep.run import Cut

    rows, shard, shards = DEFAULT_UNIT, 1, 1
    problems = Problems()
    for word in words:
        part = _SHARD_OF.fullmatch(word)
        if part and 1 <= int(part[1]) <= int(part[2]):
            shard, shards = int(part[1]), int(part[2])
        elif word.isdecimal():
            rows = int(word)
        else:
            problems.add(
                f"--shard {word}",
                allowed="K/N with K from 1 to N, such as 3/8; or rows of a unit, a whole number "
                ">= 0",
            )
    problems.raise_if_any()
    return Cut(rows, shard, shards)
