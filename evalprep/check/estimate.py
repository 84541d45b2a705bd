"""Tokens, time and memory of a run, before it starts."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from evalprep.check import Findings, FullCheck, RunSettings
from evalprep.check.generation import reply_limit
from evalprep.check.loading import LoadedTask
from evalprep.check.memory import (
    Memory,
    card_of,
    gpu_table_names,
    model_memory,
    report_memory,
    throughput_table,
)
from evalprep.check.replies import published_reply
from evalprep.model import ModelShape, Tokenizer, model_folder, model_shape
from evalprep.tables import Column, Kind, Table, table_lines

CHARACTERS_PER_TOKEN = (
    4.0  # English text under vocabularies of 32k to 128k tokens, where the tokenizer is not here
)
UNNAMED = "GPUs"  # where only their number is known
COUNTED_ROWS = 256  # rows that are tokenised per task; the rest is scaled by characters


@dataclass(frozen=True)
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

    def cells(self) -> list[str]:
        """The cells of its line in the table."""
        numbers = (self.requests, self.prompt_tokens, self.reply_tokens, self.upper_tokens)
        return [self.name, *(f"{number:,}" for number in numbers), self.basis]


@dataclass(frozen=True)
class Estimate:
    """The whole run.

    Attributes:
        tasks: One by one.
        device: GPU or CPU that the time is for.
        seconds: Time of generation and prompt reading, None when nothing is known of model or
            device.
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
        memory = vars(self.memory) if self.memory else None
        return {**vars(self), "tasks": [vars(task) for task in self.tasks], "memory": memory}

    def text(self, width: int | None = None) -> str:
        """The estimate in lines of this width; without a width they are as long as they come."""
        lines: list[str] = []
        if not all(task.exact for task in self.tasks):
            lines.append(
                f"tokens are counted as {CHARACTERS_PER_TOKEN:g} characters each: the tokenizer "
                "is not here"
            )
        lines.append(self._time_line())
        if self.memory is not None:
            lines.append(self.memory.text())
        lines += self.notes
        if width is not None:
            lines = [
                textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False)
                for line in lines
            ]
        counts = ("requests", "prompts", "replies", "at most")
        columns = [
            Column("task", least=16),
            *(Column(name, Kind.MEASURE) for name in counts),
            Column("replies from"),
        ]
        table = Table("", columns, [task.cells() for task in self.tasks])
        return "\n".join(["Tokens:", *table_lines(table, width), *lines])

    def _time_line(self) -> str:
        from evalprep.status import duration

        if self.seconds is None:
            return f"time: {self.basis}"
        usual = duration(self.seconds)
        most = usual if self.upper_seconds is None else duration(self.upper_seconds)
        bound = "" if most == usual else f", at most {most}"
        return (
            f"time on {self.device}: about {usual}{bound}, once the model is loaded ({self.basis})"
        )


def estimate_tasks(done: FullCheck, settings: RunSettings) -> list[TaskEstimate]:
    """Counts or guess the tokens of every task, of the rows that `limit` leaves."""
    return [
        _estimate_task(task, done.tokenizer, settings) for task in done.loaded if task.instances
    ]


def rows_of_run(rows: int, limit: float | None) -> int:
    """Rows that a run takes of a task: lm-eval reads a limit below 1 as a share, rounded up."""
    if limit is None:
        return rows
    return min(rows, math.ceil(rows * limit) if limit < 1 else int(limit))


def _estimate_task(
    loaded: LoadedTask, tokenizer: Tokenizer | None, settings: RunSettings
) -> TaskEstimate:
    prompts: list[str] = []
    replies: list[str] = []
    generated = upper = 0
    count = rows_of_run(len(loaded.instances), settings.core.limit)
    for requests in islice(loaded.instances.values(), count):
        for request in requests:
            # The engine reads of a likelihood both the context and the continuation.
            parts = [part for part in request.args if isinstance(part, str)]
            generates = request.request_type == "generate_until"
            prompts.append(str(request.args[0]) if generates else "".join(parts))
            if generates:
                copies = request.repeats or 1
                generated += copies
                upper += reply_limit(request, settings) * copies
        published = published_reply(requests[0].doc)
        if published is not None:
            replies.append(published[0])
    expected, basis = upper, "max_gen_toks"
    if not generated:
        expected = upper = len(prompts)  # the engine makes one token more, which nobody reads
        basis = "likelihood"
    elif replies:
        # One more for the end-of-text token.
        mean = _tokens(replies, tokenizer, add_bos_token=False) / len(replies) + 1
        expected, basis = min(upper, round(mean * generated)), "published outputs"
    return TaskEstimate(
        name=loaded.name,
        requests=len(prompts),
        prompt_tokens=_tokens(prompts, tokenizer, **settings.encoding),
        reply_tokens=expected,
        upper_tokens=upper,
        basis=basis,
        exact=tokenizer is not None,
    )


def _tokens(
    texts: list[str],
    tokenizer: Tokenizer | None,
    *,
    add_bos_token: bool | None,
    backend: str | None = None,
) -> int:
    """Tokens of all texts; of many texts an even sample is counted and scaled by characters."""
    characters = sum(map(len, texts))
    if tokenizer is None or not characters:
        return round(characters / CHARACTERS_PER_TOKEN)
    sample = texts[:: max(1, len(texts) // COUNTED_ROWS)]
    counted = sum(tokenizer.lengths(sample, add_bos_token=add_bos_token, backend=backend))
    return round(counted * characters / max(1, sum(map(len, sample))))


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

    Reading prompts: `2 * parameters * tokens / compute`. Generating: one step for all running
    requests takes the longer of computing (`2 * parameters * running / compute`) and reading
    (`weights + running * length * cache per token`). Parameters are those that a token passes
    through (Kaplan et al. 2020, arXiv:2001.08361, table 1).
    """
    table = throughput_table()
    gpus = settings.core.tensor_parallel_size
    compute = gpu["tflops"] * 1e12 * table["efficiency"]["compute"] * gpus
    bandwidth = gpu["bandwidth"] * 1e9 * table["efficiency"]["bandwidth"] * gpus
    parameters = shape.active
    length = (prompt + reply / 2) / max(requests, 1)
    running = max(
        1.0,
        min(
            requests / settings.core.data_parallel_size,
            table["concurrent"],
            (memory.cache_tokens or 0) / max(length, 1),
        ),
    )
    step = max(
        2 * parameters * running / compute,
        (memory.weights + running * length * memory.per_token) / bandwidth,
    )
    return float(
        (2 * parameters * prompt / compute + reply / running * step)
        / settings.core.data_parallel_size
    )


def estimate_run(
    done: FullCheck,
    settings: RunSettings,
    *,
    gpu: str | None,
    calibrate: int | None,
    work_dir: Path | None,
    findings: Findings,
) -> Estimate:
    """Estimates a run.

    Args:
        done: The loaded tasks.
        settings: The run.
        gpu: Name of a GPU, instead of what this machine has.
        calibrate: Measure the time with this many prompts of every task on the real engine.
        work_dir: The prepared folder, for `calibrate`.
        findings: Gets EP713 when the model does not fit.
    """
    folder = model_folder(settings.model, settings.folder)
    shape = model_shape(folder) if folder is not None else None
    card = card_of(settings.destination, gpu or "")
    memory = model_memory(shape, settings, card) if shape is not None else None
    if memory is not None:
        report_memory(memory, settings, findings)
    name = gpu or settings.destination.gpu or ("" if settings.destination.cpu else UNNAMED)
    tasks = estimate_tasks(done, settings)
    prompts = sum(task.prompt_tokens for task in tasks)
    replies = [sum(task.reply_tokens for task in tasks), sum(task.upper_tokens for task in tasks)]
    seconds: list[float] = []
    notes: list[str] = []
    if calibrate and work_dir is not None:
        from evalprep.run import calibrated

        limit = settings.core.limit
        rows = {task.name: rows_of_run(len(task.instances), limit) for task in done.loaded}
        measured = calibrated(work_dir, calibrate, rows)
        seconds, basis, notes = [measured.seconds], measured.basis, measured.notes
    elif shape is None or memory is None:
        basis = "unknown without the model's config.json; download the model, or --calibrate N"
    elif card is not None and "tflops" in card:
        requests = sum(task.requests for task in tasks)
        seconds = [
            roofline_seconds(shape, settings, card, memory, prompts, tokens, requests)
            for tokens in replies
        ]
        basis = f"from {card['source']}, good to a factor of two or three"
    elif name:
        names = ", ".join(gpu_table_names())
        basis = f"{name} is not in the table of devices ({names}); --calibrate N measures"
        if name == UNNAMED:
            options = f"--gpu NAME, or target: {{gpu: NAME}} ({names})"
            basis = f"unknown without the name of the GPU: {options}"
    else:
        cpu = throughput_table()["cpu"]
        scale = cpu["parameters"] / shape.active
        reading = prompts / (cpu["prompt_tokens_per_second"] * scale)
        writing = cpu["tokens_per_second"] * scale
        seconds = [reading + tokens / writing for tokens in replies]
        basis = (
            "two cores, from one measurement, good to a factor of five; --gpu NAME for another "
            "machine"
        )
    return Estimate(
        tasks=tasks,
        device=name or "the CPU",
        seconds=seconds[0] if seconds else None,
        upper_seconds=seconds[1] if len(seconds) > 1 else None,
        basis=basis,
        memory=memory,
        notes=notes,
    )
