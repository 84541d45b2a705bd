"""The resources of every shard of a folder on a cluster, as its config states them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalprep.backends import sizes_of_settings
from evalprep.check import RunSettings
from evalprep.errors import Problems
from evalprep.packs import Prepared, require_prepared
from evalprep.prepare import own_line
from evalprep.terminal import counted


@dataclass(frozen=True)
class Workload:
    """One folder as a cluster runs it.

    Attributes:
        name: Name of the jobs.
        shards: Parts of every stage.
        stages: How often the shards run, each time followed by a merge.
        gpus: Of one node; 0 for a run on CPUs or against a server.
        nodes: Of one shard.
        run: Shell words that run one shard, before its `K/N`.
        merge: Shell line that merges the shards.
        place: The prepared folder, as the jobs find it.
    """

    name: str
    shards: int
    stages: int
    gpus: int
    nodes: int
    run: str
    merge: str
    place: str


def workload(work_dir: Path, shards: int, nodes: int, *, in_image: bool) -> Workload:
    """The workload of a prepared folder.

    Args:
        work_dir: The folder.
        shards: Parts of every stage.
        nodes: Of one shard.
        in_image: The jobs run in an image, which has an environment of its own.

    Raises:
        BadInput: no prepared folder; GPUs of several nodes without Ray between them.
    """
    prepared = require_prepared(work_dir.resolve())
    settings = RunSettings.from_prepared(prepared)
    place = settings.core.on_run_machine(prepared.folder)
    here = settings.destination.here and not in_image
    return Workload(
        name=f"evalprep-{prepared.run or 'run'}",
        shards=shards,
        stages=1 + max((command.depth for command in prepared.commands), default=0),
        gpus=_gpus(prepared, settings, nodes),
        nodes=nodes,
        run=own_line(settings.core, "run", place, "--shard", here=here),
        merge=own_line(settings.core, "merge", place, here=here),
        place=place,
    )


#: The script to start, and how it begins; jobs are given so long to write the units under way.
SUBMIT = "submit.sh"
SCRIPT_HEAD = ("#!/bin/sh", "set -eu", 'cd "$(dirname "$0")"')
GRACE_SECONDS = 120


def exec_line(line: str, *words: str) -> str:
    """Returns `exec` with a line and more words: variables before a command are for `env`."""
    program = f"env {line}" if "=" in line.split(" ", 1)[0] else line
    return " ".join(["exec", program, *words])


def _gpus(prepared: Prepared, settings: RunSettings, nodes: int) -> int:
    """GPUs of one node, where each shard has some nodes.

    Raises:
        BadInput: the GPUs of the config cannot be spread over the nodes.
    """
    record, core = settings.record, settings.core
    total = 0
    if record is not None and record.loads_model and not settings.destination.cpu:
        total = sizes_of_settings(core).gpus if record.splits_model else 1
    problems = Problems()
    if nodes > 1 and (total < nodes or total % nodes):
        problems.add(
            f"nodes={nodes}: the config asks for {counted(total, 'GPU')}, "
            "which is not a multiple of the nodes",
            where=str(prepared.folder),
            fix="change nodes, or tensor_parallel_size and data_parallel_size in the config",
        )
    elif nodes > 1 and core.model_args.get("distributed_executor_backend") != "ray":
        problems.add(
            f"nodes={nodes}: vLLM spans nodes through Ray alone",
            where=str(prepared.folder),
            fix="prepare with model_args: {distributed_executor_backend: ray}",
        )
    problems.raise_if_any()
    return total // nodes
