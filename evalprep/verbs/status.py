"""Table of the tasks of a run.

What is done, what runs, what failed, how long it took or may take.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from evalprep.places import WORK_DIR
from evalprep.status import read_status
from evalprep.terminal import line_width, print_json, raw
from evalprep.verbs.options import Parser


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "dir",
        nargs="?",
        type=Path,
        default=WORK_DIR,
        metavar="DIR",
        help="output_path of the run, or its work folder (default: ./work_dir)",
    )
    parser.add_argument(
        "--refresh",
        type=float,
        default=0,
        metavar="SECONDS",
        help="print it again every so many seconds until the run has ended",
    )
    parser.add_argument(
        "--left",
        rare=True,
        metavar="COMMAND",
        help="print the tasks of a command of a work folder (c1-plain, ...) that lack results; "
        "exit code 1 until the command has all its results, then 0",
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")


def main(args: argparse.Namespace) -> int:
    """Prints the table; 1 when a task failed."""
    if args.left:
        from evalprep.status import is_done, left_of

        done = is_done(args.dir, args.left)
        names = left_of(args.dir, args.left)
        if args.json:
            print_json({"command": args.left, "done": done, "left": names})
        else:
            print("".join(f"{name}\n" for name in names), end="")
        return int(not done)
    while True:
        status = read_status(args.dir)
        if args.json:
            print_json(status.as_dict())
        else:
            is_terminal = sys.stdout.isatty()
            if args.refresh > 0 and is_terminal:
                # clear the screen, go to its corner
                print("\x1b[2J\x1b[H", end="", file=raw(sys.stdout))
            print(status.text(line_width(sys.stdout)), flush=True)
        if args.refresh <= 0 or not status.alive:
            return int(status.failed)
        time.sleep(args.refresh)
