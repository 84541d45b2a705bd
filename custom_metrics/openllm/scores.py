"""From the values of leaf tasks to the published numbers of the leaderboard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from custom_metrics.openllm.benchmarks import BENCHMARKS, Benchmark, leaf_name

Number = float | None
_IFEVAL_METRICS = ("prompt_level_strict_acc", "inst_level_strict_acc")
_V1_BENCHMARKS = ("ARC", "HellaSwag", "MMLU", "TruthfulQA", "Winogrande", "GSM8K")


def _known(value: Any) -> float | None:
    """A number as a float; None for anything else, NaN and infinities included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def chance_level(num_choices: int) -> float:
    """Returns the accuracy of guessing among so many choices: 1 / choices, 0 for free text."""
    return 1 / num_choices if num_choices > 0 else 0.0


def normalise(value: Number, num_choices: int) -> float | None:
    """Returns an accuracy (0 to 1) on a scale where chance is 0 and perfection 100.

    `(value - 1/c) / (1 - 1/c) * 100`, and 0 below chance; without choices `value * 100`. None for
    no value, and where a single choice leaves nothing to normalise.

    >>> normalise(0.7, 2), normalise(0.2, 4), normalise(0.5, 0)
    (39.99999999999999, 0.0, 50.0)
    """
    known = _known(value)
    chance = chance_level(num_choices)
    if known is None or chance == 1:
        return None
    if known < chance:
        return 0.0
    return (known - chance) / (1 - chance) * 100


def size_weighted_mean(subtasks: Mapping[str, Number], sizes: Mapping[str, int]) -> float | None:
    """Returns the mean over rows, as lm-eval computes the value of a group.

    None where a subtask lacks a value or a size.
    """
    total = sum(sizes.get(name, 0) for name in subtasks)
    if not total or any(name not in sizes for name in subtasks):
        return None
    products = []
    for name, value in subtasks.items():
        known = _known(value)
        if known is None:
            return None
        products.append(known * sizes[name])
    return math.fsum(products) / total


def _mean(values: Iterable[Number]) -> float | None:
    """The plain mean; None where there is nothing, or a value is missing."""
    numbers = [_known(value) for value in values]
    known = [number for number in numbers if number is not None]
    if known and len(known) == len(numbers):
        return math.fsum(known) / len(known)
    return None


@dataclass(frozen=True)
class BenchmarkScore:
    """The two published numbers of a benchmark.

    Attributes:
        raw: 0 to 1; None without a value.
        normalised: 0 to 100; None without a value.
        missing: Leaf tasks (of IFEval: metrics) without a value; with any there is no score.
        floored: Leaf tasks, or the benchmark, whose value is below chance and counts as 0.
    """

    raw: float | None
    normalised: float | None
    missing: tuple[str, ...] = ()
    floored: tuple[str, ...] = ()


def _benchmark(name: str | Benchmark) -> Benchmark:
    if isinstance(name, Benchmark):
        return name
    by_name = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    by_name |= {benchmark.column: benchmark for benchmark in BENCHMARKS}
    if name not in by_name:
        known = ", ".join(by_name)
        raise ValueError(f"unknown benchmark {name!r}; known: {known}")
    return by_name[name]


def score_benchmark(
    benchmark: str | Benchmark,
    subtasks: Mapping[str, Number],
    sizes: Mapping[str, int] | None = None,
) -> BenchmarkScore:
    """Returns the raw and the normalised value of a benchmark from the values of its leaf tasks.

    BBH and MUSR are plain means of leaf tasks, and each leaf is normalised by itself; MATH and GPQA
    are means over rows, normalised as a whole; IFEval is the mean of its two strict accuracies.

    Args:
        benchmark: A benchmark or its name.
        subtasks: Leaf task -> value (0 to 1), named with or without the prefixes; of IFEval the
            two strict metrics.
        sizes: Leaf task -> rows; those of a full run by default.

    Raises:
        ValueError: the benchmark is unknown.
    """
    board = _benchmark(benchmark)
    if board.weighting == "metrics":
        return _score_ifeval(subtasks)
    values = _by_leaf(board, subtasks)
    missing = [leaf.task for leaf in board.leaves if leaf.task not in values]
    if missing:
        return BenchmarkScore(None, None, tuple(missing))
    if board.floor_per_leaf:
        return _score_equal(board, values)
    known = _by_leaf(board, sizes or {})
    rows = {leaf.task: int(known.get(leaf.task, leaf.rows)) for leaf in board.leaves}
    in_order = {task: values[task] for task in rows}
    raw = size_weighted_mean(in_order, rows)
    choices = board.leaves[0].choices
    is_floored = raw is not None and raw < chance_level(choices)
    floored = (board.name,) if is_floored else ()
    return BenchmarkScore(raw, normalise(raw, choices), floored=floored)


def _by_leaf(board: Benchmark, named: Mapping[str, Any]) -> dict[str, float]:
    """The known values by the leaf tasks' names in lm-eval; what is no leaf is left out."""
    leaves = {leaf_name(board, name): _known(value) for name, value in named.items()}
    return {name: value for name, value in leaves.items() if name and value is not None}


def _score_ifeval(metrics: Mapping[str, Number]) -> BenchmarkScore:
    values = {name: _known(metrics.get(name)) for name in _IFEVAL_METRICS}
    missing = [name for name, value in values.items() if value is None]
    raw = _mean(values.values())
    return BenchmarkScore(raw, normalise(raw, 0), tuple(missing))


def _score_equal(board: Benchmark, values: Mapping[str, float]) -> BenchmarkScore:
    scaled = []
    floored = []
    for leaf in board.leaves:
        value = values[leaf.task]
        scaled.append(normalise(value, leaf.choices))
        if value < chance_level(leaf.choices):
            floored.append(leaf.task)
    raw = _mean(values[leaf.task] for leaf in board.leaves)
    return BenchmarkScore(raw, _mean(scaled), floored=tuple(floored))


def board_average(normalised: Mapping[str, Number]) -> float | None:
    """Returns the leaderboard's average: the mean of the six normalised benchmarks.

    None where one is missing.

    Args:
        normalised: Benchmark, by its name or its column -> value (0 to 100).
    """
    values = []
    for benchmark in BENCHMARKS:
        by_name = normalised.get(benchmark.name)
        values.append(normalised.get(benchmark.column, by_name))
    return _mean(values)


def normalise_row(raw: Mapping[str, Number]) -> dict[str, float | None]:
    """Returns the normalised values that follow from raw ones alone.

    BBH and MUSR are normalised per leaf task, so that theirs is None.

    Args:
        raw: Benchmark, by its name or its column -> raw value (0 to 1).
    """
    values: dict[str, float | None] = {}
    for benchmark in BENCHMARKS:
        for key in (benchmark.column, benchmark.name):
            if key not in raw:
                continue
            values[key] = None
            if not benchmark.floor_per_leaf:
                choices = benchmark.leaves[0].choices
                values[key] = normalise(raw[key], choices)
    return values


@dataclass(frozen=True)
class IfevalAccuracies:
    """IFEval's strict accuracies: over prompts, over all instructions, and their mean."""

    prompt: float
    inst: float

    @property
    def raw(self) -> float:
        """The published raw value."""
        return (self.prompt + self.inst) / 2


def ifeval_accuracies(
    prompts: Sequence[bool], instructions: Sequence[Sequence[bool]]
) -> IfevalAccuracies | None:
    """Returns IFEval's accuracies from verdicts; instructions are pooled over prompts.

    None without prompts or instructions.

    Args:
        prompts: Per prompt: whether all its instructions were followed.
        instructions: Per prompt: whether each was.
    """
    pooled = list(map(bool, chain.from_iterable(instructions)))
    if not prompts or not pooled:
        return None
    of_prompts = sum(map(bool, prompts)) / len(prompts)
    of_instructions = sum(pooled) / len(pooled)
    return IfevalAccuracies(of_prompts, of_instructions)


def v1_average(scores: Mapping[str, Number]) -> float | None:
    """Returns the average of leaderboard v1: the plain mean of six percentages.

    Nothing is normalised there. None where one is missing.
    """
    return _mean(scores.get(name) for name in _V1_BENCHMARKS)


METRICS: dict[str, Callable[..., Any]] = {
    "openllm.normalise": normalise,
    "openllm.benchmark": score_benchmark,
    "openllm.average": board_average,
    "openllm.row": normalise_row,
    "openllm.ifeval": ifeval_accuracies,
    "openllm.v1_average": v1_average,
}
