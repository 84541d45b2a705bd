"""Tokens, time and memory of a run, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from evalprep.check import Findings, FullCheck, RunSettings
from evalprep.check.generation import reply_length
from evalprep.check.loading import LoadedTask
from evalprep.check.model_files import BYTES, ModelShape, model_folder, model_shape
from evalprep.check.replies import published_reply
from evalprep.check.tokenizer import Tokenizer
from evalprep.hardware import gpu_names

CHARACTERS_PER_TOKEN = 4.0  # English text under vocabularies of 32k to 128k tokens, where the tokenizer is not here
COUNTED_ROWS = 256  # rows that are tokenised per task; the rest is scaled by characters
OVERHEAD_BYTES = 2 * 2**30  # activations and CUDA graphs of one GPU


@dataclass
class TaskEstimate:
    """One task.

    Attributes:
        name: Task.
        requests: Number of requests.
        prompt_tokens: Tokens to read.
        reply_tokens: Tokens to generate, as far as known.
        upper_tokens: Tokens to generate when every reply is as long as it may be.
        basis: Where `reply_tokens` comes from: `published outputs`, `max_gen_toks` or `likelihood`.
        exact: The model's tokenizer counted.
    """

    name: str
    requests: int
    prompt_tokens: int
    reply_tokens: int
    upper_tokens: int
    basis: str
    exact: bool


@dataclass
class Memory:
    """GPU memory of one model copy, in bytes over all its GPUs.

    Attributes:
        weights: Weights.
        per_token: Cache that one token takes.
        longest: Cache of one request of max_model_len tokens.
        available: What gpu_memory_utilization leaves of the GPUs, None without known GPUs.
        cache_tokens: Tokens that fit beside the weights, None without known GPUs.
    """

    weights: int
    per_token: int
    longest: int
    available: int | None
    cache_tokens: int | None

    @property
    def fits(self) -> bool | None:
        """Whether the weights and one longest request fit; None when the GPUs are unknown."""
        return None if self.available is None else self.weights + self.longest + OVERHEAD_BYTES <= self.available


@dataclass
class Estimate:
    """The whole run.

    Attributes:
        tasks: One by one.
        device: GPU or CPU that the time is for.
        seconds: Time of generation and prompt reading, None when nothing is known of model or device.
        upper_seconds: The same with the longest replies; None where it was measured.
        basis: Where the time comes from.
        memory: None without the model's config.json.
    """

    tasks: list[TaskEstimate]
    device: str
    seconds: float | None
    upper_seconds: float | None
    basis: str
    memory: Memory | None
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The same as data, for `--json`."""
        memory = {**vars(self.memory), "fits": self.memory.fits} if self.memory else None
        return {**vars(self), "tasks": [vars(task) for task in self.tasks], "memory": memory}

    def text(self) -> str:
        """The same for people."""
        from evalprep.status import duration

        rows = [("task", "requests", "prompt tokens", "reply tokens", "at most", "from")]
        rows += [
            (
                task.name,
                f"{task.requests:,}",
                f"{task.prompt_tokens:,}",
                f"{task.reply_tokens:,}",
                f"{task.upper_tokens:,}",
                task.basis,
            )
            for task in self.tasks
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        lines = [
            "  ".join(
                cell.ljust(width) if column in {0, 5} else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        if not all(task.exact for task in self.tasks):
            lines.append(f"tokens are counted as {CHARACTERS_PER_TOKEN:g} characters each: the tokenizer is not here")
        if self.seconds is not None:
            most = f", at most {duration(self.upper_seconds)}" if self.upper_seconds is not None else ""
            lines.append(f"time on {self.device}: about {duration(self.seconds)}{most} ({self.basis})")
        else:
            lines.append(f"time: {self.basis}")
        if self.memory is not None:
            lines.append(_memory_text(self.memory))
        return "\n".join([*lines, *self.notes])


def _memory_text(memory: Memory) -> str:
    text = (
        f"memory: weights {memory.weights / 2**30:.2f} GiB, cache {memory.per_token / 2**10:.1f} KiB per token, "
        f"{memory.longest / 2**30:.2f} GiB for the longest request"
    )
    if memory.available is None or memory.cache_tokens is None:
        return text
    return f"{text}; {memory.available / 2**30:.1f} GiB to use, room for {memory.cache_tokens:,} tokens of cache"


@cache
def throughput_table() -> dict[str, Any]:
    """The shipped table of devices."""
    data: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("throughput.yaml").read_text(encoding="utf-8"))
    return data


def estimate_tasks(loaded: Sequence[LoadedTask], tokenizer: Tokenizer | None) -> list[TaskEstimate]:
    """Count or guess the tokens of every task."""
    return [_estimate_task(task, tokenizer) for task in loaded if task.instances]


def _estimate_task(loaded: LoadedTask, tokenizer: Tokenizer | None) -> TaskEstimate:
    prompts, replies, budget, upper = [], [], 0, 0
    for requests in loaded.instances.values():
        for request in requests:
            arguments = request.args
            if request.request_type == "generate_until":
                prompts.append(str(arguments[0]))
                limit = (
                    reply_length(arguments[1])
                    if len(arguments) > 1 and isinstance(arguments[1], dict)
                    else reply_length({})
                )
                upper += limit * (request.repeats or 1)
                budget = max(budget, limit)
            else:
                prompts.append("".join(one for one in arguments if isinstance(one, str)))
        if (published := published_reply(requests[0].doc)) is not None:
            replies.append(published[0])
    count = len(prompts)
    if not upper:
        return TaskEstimate(
            loaded.name, count, _tokens(prompts, tokenizer), count, count, "likelihood", tokenizer is not None
        )
    if not replies:
        return TaskEstimate(
            loaded.name, count, _tokens(prompts, tokenizer), upper, upper, "max_gen_toks", tokenizer is not None
        )
    expected = min(
        upper, round(_tokens(replies, tokenizer) / len(replies) * count) + count
    )  # the end-of-text token counts
    return TaskEstimate(
        loaded.name, count, _tokens(prompts, tokenizer), expected, upper, "published outputs", tokenizer is not None
    )


def _tokens(texts: list[str], tokenizer: Tokenizer | None) -> int:
    """Tokens of all texts; of many texts an even sample is counted and scaled by characters."""
    characters = sum(map(len, texts))
    if tokenizer is None or not characters:
        return round(characters / CHARACTERS_PER_TOKEN)
    sample = texts[:: max(1, len(texts) // COUNTED_ROWS)]
    counted = sum(tokenizer.lengths(sample))
    return round(counted * characters / max(1, sum(map(len, sample))))


def model_memory(shape: ModelShape, settings: RunSettings, gpu: dict[str, Any] | None) -> Memory:
    """Weights and cache of one model copy.

    `cache per token = 2 * layers * kv_heads * head_size * bytes per value`; `gpu_memory_utilization` of every GPU of
    the copy, less the weights and an allowance for activations, is cache.
    """
    saved, wanted = BYTES.get(shape.dtype, 2), BYTES.get(settings.dtype, BYTES.get(shape.dtype, 2))
    weights = shape.weight_bytes * wanted // saved
    per_token = shape.kv_bytes_per_token(min(wanted, 4))
    context = settings.max_model_len or shape.context or 0
    if gpu is None:
        return Memory(weights, per_token, per_token * context, None, None)
    copies = settings.tensor_parallel_size
    available = int(gpu["memory"] * 2**30 * settings.gpu_memory_utilization) * copies
    room = max(0, available - weights - OVERHEAD_BYTES * copies)
    return Memory(weights, per_token, per_token * context, available, room // per_token)


def find_gpu(name: str | None) -> dict[str, Any] | None:
    """The row of the table whose name lies in a GPU's name."""
    text = (name or "").lower().replace(" ", "-")
    rows: list[dict[str, Any]] = throughput_table()["gpus"]
    return next((row for row in rows if str(row["name"]).lower().replace(" ", "-") in text), None)


def roofline_seconds(
    shape: ModelShape,
    settings: RunSettings,
    gpu: dict[str, Any],
    memory: Memory,
    prompt: int,
    reply: int,
    requests: int,
) -> float:
    """Time under the two limits of a GPU, computing and reading memory.

    Reading prompts: `2 * parameters * tokens / compute`. Generating: one step for all running requests takes the longer
    of computing (`2 * parameters * running / compute`) and reading (`weights + running * length * cache per token`).
    """
    table = throughput_table()
    gpus = settings.tensor_parallel_size
    compute = gpu["tflops"] * 1e12 * table["efficiency"]["compute"] * gpus
    bandwidth = gpu["bandwidth"] * 1e9 * table["efficiency"]["bandwidth"] * gpus
    parameters = shape.weight_bytes / BYTES.get(shape.dtype, 2)
    length = (prompt + reply / 2) / max(requests, 1)
    running = max(
        1.0,
        min(requests / settings.data_parallel_size, table["concurrent"], (memory.cache_tokens or 0) / max(length, 1)),
    )
    step = max(2 * parameters * running / compute, (memory.weights + running * length * memory.per_token) / bandwidth)
    return float((2 * parameters * prompt / compute + reply / running * step) / settings.data_parallel_size)


def estimate_run(
    done: FullCheck,
    settings: RunSettings,
    *,
    gpu: str | None = None,
    calibrate: int | None = None,
    work_dir: Path | None = None,
    findings: Findings | None = None,
) -> Estimate:
    """Estimate a run.

    Args:
        done: The loaded tasks.
        settings: The run.
        gpu: Name of a GPU, instead of what this machine has.
        calibrate: Measure the time with this many prompts of every task on the real engine.
        work_dir: The prepared folder, for `calibrate`.
        findings: Gets EP713 when the model does not fit.
    """
    tasks = estimate_tasks(done.loaded, done.tokenizer)
    folder = model_folder(settings.model, settings.folder)
    shape = model_shape(folder) if folder is not None else None
    names = gpu_names() if settings.device != "cpu" else ()
    name = gpu or (names[0] if names else "")
    card = find_gpu(name)
    memory = model_memory(shape, settings, card) if shape is not None else None
    if findings is not None and memory is not None and memory.fits is False:
        findings.add("EP713", "gpu_memory_utilization", _memory_text(memory))
    estimate = Estimate(tasks, name or "the CPU", None, None, "", memory)
    prompt, reply, upper, requests = (
        sum(getattr(task, key) for task in tasks)
        for key in ("prompt_tokens", "reply_tokens", "upper_tokens", "requests")
    )
    if calibrate and work_dir is not None:
        from evalprep.run.calibrate import calibrated

        measured = calibrated(work_dir, calibrate, {task.name: len(task.instances) for task in done.loaded})
        estimate.seconds, estimate.basis = measured.seconds, measured.basis
        estimate.notes += measured.notes
    elif shape is None:
        estimate.basis = "unknown without the model's config.json; download the model, or --calibrate N"
    elif card is not None and memory is not None:
        estimate.seconds = roofline_seconds(shape, settings, card, memory, prompt, reply, requests)
        estimate.upper_seconds = roofline_seconds(shape, settings, card, memory, prompt, upper, requests)
        estimate.basis = f"from {card['source']}, good to a factor of two or three"
    elif name:
        estimate.basis = f"{name} is not in the table of devices; --calibrate N measures"
    else:
        cpu = throughput_table()["cpu"]
        parameters = shape.weight_bytes / BYTES.get(shape.dtype, 2)
        scale = cpu["parameters"] / parameters
        reading = prompt / (cpu["prompt_tokens_per_second"] * scale)
        estimate.seconds, estimate.upper_seconds = (
            reading + one / (cpu["tokens_per_second"] * scale) for one in (reply, upper)
        )
        estimate.basis = "two cores, from one measurement, good to a factor of five"
    return estimate
