"""The leaderboard's numbers from the values that lm-eval stored, where samples are not here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from custom_metrics.openllm import Benchmark, score_benchmark
from evalprep.packapi import StoredTask

from .score import BY_NAME, STRICT, as_result, clipped, slopes_of, why_other_data


def raw(*, tasks: Mapping[str, StoredTask], params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the raw value of a benchmark, 0 to 1."""
    return _score(tasks, BY_NAME[params["benchmark"]], is_raw=True)


def normalised(*, tasks: Mapping[str, StoredTask], params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the normalised value of a benchmark, 0 to 100."""
    return _score(tasks, BY_NAME[params["benchmark"]], is_raw=False)


def _score(
    tasks: Mapping[str, StoredTask], benchmark: Benchmark, *, is_raw: bool
) -> dict[str, Any]:
    sizes = {}
    for leaf in benchmark.leaves:
        rows = tasks[leaf.task].rows
        sizes[leaf.task] = leaf.rows if rows is None else rows
    if reason := why_other_data(benchmark, sizes):
        return {"agg_value": None, "reason": reason}
    if benchmark.weighting == "metrics":
        stored = tasks[benchmark.leaves[0].task].values
        accuracies = {name: stored.get(name) for name in STRICT}
        score = score_benchmark(benchmark, accuracies)
        return {**as_result(benchmark, score, sizes, is_raw=is_raw), "parts": accuracies}
    means = {name: task.values.get(benchmark.metric) for name, task in tasks.items()}
    score = score_benchmark(benchmark, means, sizes)
    result = {**as_result(benchmark, score, sizes, is_raw=is_raw), "parts": means}
    if result["agg_value"] is None:
        return result
    slopes = slopes_of(benchmark, sizes, is_raw=is_raw)
    errors = {name: task.stderrs.get(benchmark.metric) for name, task in tasks.items()}
    moved = [slopes[name] * error for name, error in errors.items() if error is not None]
    if len(moved) < len(errors):  # a task has no error
        return result
    stderr = math.hypot(*moved)
    interval = clipped(result["agg_value"], stderr, 1 if is_raw else 100)
    return result | {"stderr": stderr, "interval": interval}
