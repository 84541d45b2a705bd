"""The machine that a run is for: this one, or another that the config describes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evalprep.model.hardware import gpu_names
from evalprep.model.shape import model_shape
from evalprep.places import last_part

# `70B`, `8x7B`, `0.5b` as a word of a model's name; `A22B` of a mixture is what one token passes
# through.
_PARAMETERS = re.compile(
    r"(?<![A-Za-z0-9.])(?:(\d{1,4})[xX])?(\d{1,6}(?:\.\d{1,6})?)[bB](?![A-Za-z0-9])"
)
#: Bytes of a parameter in the 16 bits in which models are published.
_BYTES = 2
#: Parameters from which vLLM is not taken to run on a CPU: a benchmark would take days.
_LARGE = 7e9


class Target(Protocol):
    """A machine as a config describes it, e.g. `{gpus: 8, gpu_memory: 80, gpu: H100}`."""

    @property
    def gpus(self) -> int:
        """Number of GPUs; 0 for a CPU."""

    @property
    def gpu_memory(self) -> float | None:
        """Memory of each GPU in GiB; None where it is not known."""

    @property
    def gpu(self) -> str | None:
        """Name of the GPUs."""

    @property
    def nodes(self) -> int:
        """Number of such machines."""


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A machine.

    Attributes:
        cpu: The model runs on its CPU.
        gpus: How many GPUs it has, None where that is not known.
        gpu: What they are called; empty where that is not known.
        gpu_memory: GiB of each of them, None where that is not known.
        nodes: Number of such machines that share one server.
        here: It is this machine, so that its packages, disk and model files can be looked at.
        note: Why it is taken for another machine, where nobody said so.
    """

    cpu: bool
    gpus: int | None
    gpu: str = ""
    gpu_memory: float | None = None
    nodes: int = 1
    here: bool = True
    note: str = ""


def destination(
    device: str,
    target: Target | None,
    *,
    model: str,
    folder: Path | None,
    moved: bool = False,
    copies: int | None = None,
) -> Destination:
    """Returns the machine that a run is for.

    What the config describes counts. Else it is this machine, unless `device: gpu`, the size of the
    model or the number of its copies says that it cannot be, or paths are rewritten for another.

    Args:
        device: `auto`, `cpu` or `gpu`.
        target: The machine as the config describes it.
        model: Name of the model.
        folder: Its folder, None where it is not here.
        moved: The config rewrites paths, so that the run is somewhere else.
        copies: `data_parallel_size` of a back end that is made for GPUs; None for another one.
    """
    if target is not None:
        return Destination(
            cpu=device == "cpu" or (device == "auto" and target.gpus == 0),
            gpus=target.gpus,
            gpu=target.gpu or "",
            gpu_memory=target.gpu_memory,
            nodes=target.nodes,
            here=False,
        )
    if device == "cpu":
        return Destination(cpu=True, gpus=0, here=not moved)
    names = [] if moved else gpu_names()
    if names:
        return Destination(cpu=False, gpus=len(names), gpu=names[0])
    if device == "gpu":
        return Destination(cpu=False, gpus=None, here=False)
    if moved:
        note = "path_prefix says that it runs elsewhere, and nothing says on which GPUs"
    else:
        note = _beyond_this_cpu(model, folder, copies)
    if note:
        return Destination(cpu=False, gpus=None, here=False, note=note)
    return Destination(cpu=True, gpus=0)


def _beyond_this_cpu(model: str, folder: Path | None, copies: int | None) -> str:
    """Returns why a run cannot be meant for this machine without a GPU; empty where it can."""
    # With RAY_ADDRESS the user has a cluster, perhaps one of pretended GPUs.
    if copies is not None and copies > 1 and "RAY_ADDRESS" not in os.environ:
        return (
            f"each of {copies} copies of the model (data_parallel_size) asks for a GPU, and this "
            "machine shows none"
        )
    need = weight_bytes(model, folder)
    if need is None:
        return ""
    have = main_memory()
    if have is not None and need > have:
        return (
            f"{model} needs {need / 2**30:.0f} GiB, and this machine has {have / 2**30:.0f} GiB "
            "and no GPU"
        )
    # A folder that lies here may be meant for here.
    if folder is None and copies is not None and need >= _LARGE * _BYTES:
        billions = need / _BYTES / 1e9
        return f"{model} has {billions:g} billion parameters, and this machine shows no GPU"
    return ""


def weight_bytes(model: str, folder: Path | None) -> int | None:
    """Size of a model's weights: of its files, else by the number in its name in 16 bits.

    None where nothing says it.

    >>> weight_bytes("meta-llama/Llama-3.1-70B-Instruct", None), weight_bytes("gpt2", None)
    (140000000000, None)
    """
    shape = model_shape(folder) if folder is not None else None
    if shape is not None:
        return shape.weight_bytes
    match = _PARAMETERS.search(last_part(model))
    return int(int(match[1] or 1) * float(match[2]) * 1e9 * _BYTES) if match else None


def main_memory() -> int | None:
    """Bytes of main memory, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
