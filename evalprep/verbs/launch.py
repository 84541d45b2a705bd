"""Write job files that run a prepared folder on a cluster, shard by shard.

Slurm: an array of shards, a job that merges them, and a script that submits both in order, for
every stage of the folder. Kubernetes: an indexed Job for the shards and a Job for the merge. GPUs
and nodes come from the config (tensor_parallel_size, data_parallel_size, target). Nothing is
submitted.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.numbers import at_least_one
from evalprep.terminal import print_json
from evalprep.verbs.options import add_work_dir, names_of

if TYPE_CHECKING:
    from evalprep.verbs.options import Parser


def configure(parser: Parser) -> None:
    """Adds the arguments."""
    add = parser.add_argument
    add_work_dir(parser, "a prepared folder on storage that all nodes share")
    add(
        "--slurm",
        nargs="?",
        const=[],
        type=names_of,
        metavar="LIST",
        help="files for sbatch, with its options and commas: time=04:00:00,partition=gpu,nodes=2",
    )
    add(
        "--kubernetes",
        type=names_of,
        metavar="LIST",
        help="files for kubectl: image=NAME,claim=NAME:PATH (the volume with the project); also "
        "namespace=NAME, secret=NAME (variables such as HF_TOKEN), memory=64Gi, selector=KEY:VALUE",
    )
    add("--shards", type=at_least_one, default=4, metavar="N", help="parts (default: 4)")
    add(
        "--out",
        type=Path,
        default=Path("jobs"),
        metavar="DIR",
        help="folder for the files (default: ./jobs)",
    )
    add("--json", action="store_true", help="print the names of the files as JSON")


def main(args: argparse.Namespace) -> int:
    """Writes the files."""
    from evalprep.verbs.launching import write_jobs

    written = write_jobs(args)
    if args.json:
        print_json([str(path) for path in written])
        return 0
    for path in written:
        print(f"written: {path}")
    print(f"next: sh {written[-1]}")
    return 0
