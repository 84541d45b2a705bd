"""The abilities of the machine, read from files and small commands.

torch is never imported for it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess


def core_count() -> int:
    """Returns the cores that this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):  # Linux alone has it
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def gpu_names() -> tuple[str, ...]:
    """Names of the NVIDIA GPUs that processes started here would see.

    Empty on a machine without.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in {"", "-1"}:
        return ()
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        result = subprocess.run(
            [tool, "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    if result.returncode != 0:
        return ()
    names = tuple(line.strip() for line in result.stdout.splitlines() if line.strip())
    return names[: len(visible.split(","))] if visible is not None else names
