"""Job files for Slurm: an array of shards, their merge, and a script that submits them in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalprep.errors import Problems, near
from evalprep.verbs.launching.workload import (
    GRACE_SECONDS,
    SCRIPT_HEAD,
    SUBMIT,
    Workload,
    exec_line,
)

SHARDS, MERGE = "shards.sbatch", "merge.sbatch"
# Locks of a shared file system may hang, so that every job has a cache of its own.
_CACHE = 'export HF_DATASETS_CACHE="${TMPDIR:-/tmp}/evalprep-$SLURM_JOB_ID"'
_RAY_PORT = 6379
#: Options of sbatch that the files set themselves.
_OWN = frozenset({"array", "gpus", "gpus-per-node", "gres", "ntasks-per-node", "dependency"})


#: The long options of `sbatch --help` (Slurm 24.11).
_SBATCH_HELP = """
account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint
consolidate-segments container container-id contiguous core-spec cores-per-socket cpu-freq
cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error exclude exclusive
export export-file external extra extra-node-info get-user-env gid gpu-bind gpu-freq gpus
gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint hold ignore-pbs input job-name
kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu
mincpus network nice no-kill no-requeue nodefile nodelist nodes ntasks ntasks-per-core
ntasks-per-gpu ntasks-per-node ntasks-per-socket oom-kill-step open-mode output overcommit
oversubscribe parsable partition power prefer priority profile propagate qos quiet reboot requeue
reservation resv-ports segment signal sockets-per-node spread-job stepmgr switches test-only
thread-spec threads-per-core time time-min tmp tree-width tres-bind tres-per-job tres-per-task uid
use-min-nodes verbose wait wait-all-nodes wckey wrap
"""
_SBATCH = frozenset(_SBATCH_HELP.split())


@dataclass(frozen=True)
class Array:
    """The user's options for sbatch.

    Attributes:
        directives: As they are written into the files.
        nodes: Of one shard.
    """

    directives: tuple[str, ...] = ()
    nodes: int = 1


def read_array(words: Sequence[str]) -> Array:
    """Reads options of sbatch.

    Raises:
        BadInput: options that are none, or that the files set themselves; all at once.

    >>> read_array(["time=04:00:00", "exclusive", "nodes=2"])
    Array(directives=('time=04:00:00', 'exclusive'), nodes=2)
    """
    problems = Problems()
    directives: list[str] = []
    nodes = 1
    for word in words:
        name, _, value = word.partition("=")
        if not re.fullmatch(r"[a-z][a-z0-9-]*(=[^\s'\"\\\\]+)?", word):
            problems.add(f"--slurm {word}", allowed="NAME or NAME=VALUE, e.g. time=04:00:00")
        elif name in _OWN:
            problems.add(
                f"--slurm {word}: evalprep writes {name} itself",
                fix="leave it out; GPUs come from the config, the array from --shards",
            )
        elif name not in _SBATCH:
            meant = near(name, _SBATCH)
            fix = meant or "see `sbatch --help`"
            problems.add(f"--slurm {word}: sbatch has no option --{name}", fix=fix)
        elif name != "nodes":
            directives.append(word)
        elif value.isdecimal() and int(value):
            nodes = int(value)
        else:
            problems.add(f"--slurm {word}", allowed="nodes=N, the nodes of one shard")
    problems.raise_if_any()
    return Array(tuple(directives), nodes)


def slurm_files(work: Workload, directives: Sequence[str]) -> dict[str, str]:
    """Name -> content of the files; the script to start comes last."""
    lines = _head(f"{work.name}-merge", ["nodes=1", "ntasks-per-node=1"], directives)
    return {
        SHARDS: _shards(work, directives),
        MERGE: "\n".join([*lines, _CACHE, exec_line(work.merge), ""]),
        SUBMIT: _submit(work),
    }


def _head(name: str, lines: Sequence[str], directives: Sequence[str]) -> list[str]:
    options = [f"job-name={name}", "output=%x-%j.log", *lines, *directives]
    return ["#!/bin/bash", *(f"#SBATCH --{option}" for option in options), "set -e"]


def _shards(work: Workload, directives: Sequence[str]) -> str:
    gpus = [f"gpus-per-node={work.gpus}"] if work.gpus else []
    options = [
        f"array=1-{work.shards}",
        f"nodes={work.nodes}",
        "ntasks-per-node=1",
        *gpus,
        f"signal=B:TERM@{GRACE_SECONDS}",
    ]
    lines = _head(work.name, options, directives)
    lines.append(_CACHE)
    if work.nodes > 1:
        lines += _ray_cluster(work)
    # In place of the shell, so that Slurm's signal reaches evalprep, which ends its engine.
    lines.append(exec_line(work.run, f'"$SLURM_ARRAY_TASK_ID/{work.shards}"'))
    return "\n".join([*lines, ""])


def _ray_cluster(work: Workload) -> list[str]:
    """The lines that join the nodes of a shard to one Ray cluster."""
    count = work.nodes - 1
    others = f'srun --nodes={count} --ntasks={count} --exclude="$head"'
    start = f"ray start --disable-usage-stats --num-gpus={work.gpus} --block"
    return [
        'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        f'export RAY_ADDRESS="$head:{_RAY_PORT}"',
        f'srun --nodes=1 --ntasks=1 -w "$head" {start} --head --port={_RAY_PORT} &',
        'until ray status --address "$RAY_ADDRESS" >/dev/null 2>&1; do sleep 2; done',
        f'{others} {start} --address="$RAY_ADDRESS" &',
    ]


def _submit(work: Workload) -> str:
    lines = list(SCRIPT_HEAD)
    for stage in range(1, work.stages + 1):
        after = ' --dependency="afterok:${merge%%;*}"' if stage > 1 else ""
        lines += [
            f"# stage {stage} of {work.stages}",
            f"shards=$(sbatch --parsable{after} {SHARDS})",
            f'merge=$(sbatch --parsable --dependency="afterany:${{shards%%;*}}" {MERGE})',
            'echo "shards: job $shards, then merge: job $merge"',
        ]
    return "\n".join([*lines, ""])
