"""The job files of a folder, checked and written."""

from __future__ import annotations

import argparse
from pathlib import Path

from evalprep.errors import BadInput, Problem, Problems, cannot_write
from evalprep.files import write_atomically
from evalprep.verbs.launching.kubernetes import kubernetes_files, read_pod
from evalprep.verbs.launching.slurm import read_array, slurm_files
from evalprep.verbs.launching.workload import workload


def write_jobs(args: argparse.Namespace) -> list[Path]:
    """Writes the files of `evalprep launch`; the script to start comes last.

    Raises:
        BadInput: options that do not fit together, a folder that is not prepared, a place that
            cannot be written.
    """
    files = _files(args)
    written = []
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = args.out / name
            write_atomically(path, content)
            path.chmod(0o755 if name.endswith(".sh") else 0o644)
            written.append(path)
    except OSError as error:
        raise cannot_write(error, str(args.out)) from None
    return written


def _files(args: argparse.Namespace) -> dict[str, str]:
    if (args.slurm is None) == (args.kubernetes is None):
        what = "one kind of cluster must be named"
        raise BadInput(Problem(what=what, allowed="--slurm or --kubernetes"))
    if args.slurm is not None:
        array = read_array(args.slurm)
        work = workload(args.work_dir, args.shards, array.nodes, in_image=False)
        return slurm_files(work, array.directives)
    pod = read_pod(args.kubernetes)
    work = workload(args.work_dir, args.shards, 1, in_image=True)
    # The pods see nothing but their mount.
    problems = Problems()
    if not Path(work.place).is_relative_to(pod.mount):
        problems.add(
            f"the prepared folder is {work.place}, which is not below {pod.mount}",
            where="--kubernetes",
            fix=f"prepare with path_prefix: {{{Path(work.place).parent}: {pod.mount}}}, or mount "
            "the claim above the folder",
        )
    problems.raise_if_any()
    return kubernetes_files(work, pod)
