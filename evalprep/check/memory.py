"""EP713: whether weights and cache fit the memory of the GPUs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from evalprep.backends import sizes_of_settings
from evalprep.check.finding import Findings
from evalprep.check.settings import RunSettings
from evalprep.files import read_text
from evalprep.model import BYTES, Destination, ModelShape

OVERHEAD_BYTES = 2 * 2**30  # activations and CUDA graphs of one GPU
# With these model_args the size of the weights or of the cache is not what the files say.
_UNPREDICTABLE = (
    "quantization",
    "load_format",
    "cpu_offload_gb",
    "hf_overrides",
    "load_in_4bit",
    "load_in_8bit",
)


@dataclass
class Memory:
    """GPU memory of one model copy, in bytes over all its GPUs.

    Attributes:
        weights: Weights.
        per_token: Cache that one token takes.
        longest: Cache of one request of max_model_len tokens.
        available: What gpu_memory_utilization leaves of the GPUs, None without known GPUs.
        cache_tokens: Tokens that fit beside the weights, None without known GPUs.
        fits: Whether the weights and one longest request fit, as vLLM demands; None when the GPUs
            are unknown.
    """

    weights: int
    per_token: int
    longest: int
    available: int | None = None
    cache_tokens: int | None = None
    fits: bool | None = None

    def text(self) -> str:
        """One line for people."""
        text = (
            f"memory: weights {self.weights / 2**30:.2f} GiB, cache {self.per_token / 2**10:.1f} "
            f"KiB per token, {self.longest / 2**30:.2f} GiB for the longest request"
        )
        if self.available is None or self.cache_tokens is None:
            return text
        return (
            f"{text}; {self.available / 2**30:.1f} GiB to use, room for {self.cache_tokens:,} "
            "tokens of cache"
        )


@cache
def throughput_table() -> dict[str, Any]:
    """The shipped table of devices."""
    path = Path(__file__).with_name("throughput.yaml")
    data: dict[str, Any] = yaml.safe_load(read_text(path, own=True))
    return data


def gpu_table_names() -> list[str]:
    """The GPUs that the table knows."""
    return [str(row["name"]) for row in throughput_table()["gpus"]]


def find_gpu(name: str | None) -> dict[str, Any] | None:
    """The first row of the table all of whose words are in a GPU's name.

    So the row `A100 40GB` stands for `NVIDIA A100-SXM4-40GB`.
    """
    words = _words(name or "")
    rows: list[dict[str, Any]] = throughput_table()["gpus"]
    return next((row for row in rows if _words(str(row["name"])) <= words), None)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def card_of(machine: Destination, gpu: str = "") -> dict[str, Any] | None:
    """The facts of a machine's GPUs: the table's row with the memory that the config names.

    None without either.

    A row without `tflops` says nothing of speed.
    """
    row = find_gpu(gpu or machine.gpu)
    if machine.gpu_memory is None or gpu:
        return row
    return {**(row or {"name": machine.gpu}), "memory": machine.gpu_memory}


def report_memory(memory: Memory, settings: RunSettings, findings: Findings) -> None:
    """EP713, unless something in model_args changes the size of weights or cache."""
    if memory.fits is False and not any(key in settings.core.model_args for key in _UNPREDICTABLE):
        findings.add("EP713", "gpu_memory_utilization", memory.text())


def value_bytes(shape: ModelShape, settings: RunSettings) -> int:
    """Bytes of one number while the model runs. vLLM's `auto` runs float32 weights in 16 bits."""
    saved = BYTES.get(shape.dtype, 2)
    if settings.core.dtype == "auto":
        if settings.record is not None and settings.record.shrinks_float32:
            return min(saved, 2)
        return saved
    return BYTES.get(settings.core.dtype, saved)


def model_memory(shape: ModelShape, settings: RunSettings, gpu: dict[str, Any] | None) -> Memory:
    """Weights and cache of one model copy.

    `cache per token = 2 * layers * kv_heads * head_size * bytes per value`;
    `gpu_memory_utilization` of every GPU of the copy, less the weights and an allowance for
    activations, is cache.
    """
    dtype_bytes = value_bytes(shape, settings)
    weights = shape.weight_bytes
    if not shape.quantised:
        weights = weights * dtype_bytes // BYTES.get(shape.dtype, 2)
    cache_dtype = str(settings.core.model_args.get("kv_cache_dtype"))
    cache_bytes = BYTES.get(cache_dtype, max(dtype_bytes, 2))
    per_token = shape.kv_bytes_per_token(cache_bytes)
    longest = shape.kv_bytes(settings.max_model_len or shape.context or 0, cache_bytes)
    if gpu is None:
        return Memory(weights, per_token, longest)
    gpus = sizes_of_settings(settings.core).gpus_per_copy
    available = int(gpu["memory"] * 2**30 * settings.core.gpu_memory_utilization) * gpus
    room = max(0, available - weights - OVERHEAD_BYTES * gpus)
    return Memory(weights, per_token, longest, available, room // per_token, longest <= room)
