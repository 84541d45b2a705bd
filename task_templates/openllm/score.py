"""The leaderboard's numbers over the samples of a run, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from custom_metrics.openllm import (
    BENCHMARKS,
    LEAVES,
    Benchmark,
    BenchmarkScore,
    board_average,
    chance_level,
    score_benchmark,
)
from custom_metrics.statistics import (
    combined_influence,
    influence_of,
    influence_of_counts,
    influence_of_mean,
    mean_influence,
    rows_interval,
    with_interval,
)
from evalprep.packapi import document_hash

Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]
Params = Mapping[str, Any]
Result = dict[str, Any]
Inputs = Mapping[str, Mapping[str, Any]]  # name of a score -> its result
BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS}
#: The two accuracies of IFEval, over prompts and over instructions.
STRICT = ("prompt_level_strict_acc", "inst_level_strict_acc")


@dataclass(frozen=True)
class Column:
    """The scored rows of one leaf task.

    Attributes:
        keys: Unit of each row, the same in every run.
        values: 1 for right, 0 for wrong.
        unscored: Rows without a score.
    """

    keys: list[str]
    values: list[float]
    unscored: int

    @property
    def mean(self) -> float | None:
        """The accuracy; None without a scored row."""
        if self.values:
            return sum(self.values) / len(self.values)
        return None


def raw(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Returns the raw value of a benchmark, 0 to 1."""
    benchmark = BY_NAME[params["benchmark"]]
    return _score(rows, benchmark, is_raw=True)


def normalised(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Returns the normalised value of a benchmark, 0 to 100."""
    benchmark = BY_NAME[params["benchmark"]]
    return _score(rows, benchmark, is_raw=False)


def average(*, inputs: Inputs, **_: Any) -> Result:
    """Returns the mean of the six normalised benchmarks; none without all six."""
    values = {}
    for name, score in inputs.items():
        values[name.removeprefix("openllm_")] = score["agg_value"]
    value = board_average(values)
    if value is None:
        missing = [name for name, score in inputs.items() if score["agg_value"] is None]
        reason = f"no value of {', '.join(missing)}"
        if len(missing) == 1 and inputs[missing[0]].get("reason"):
            reason = f"{missing[0]}: {inputs[missing[0]]['reason']}"
        return {"agg_value": None, "reason": reason, "parts": values}
    result: Result = {"agg_value": value, "parts": values}
    influence = mean_influence(map(influence_of, inputs.values()))
    if influence is not None:
        return with_interval(result, influence, 100)
    # Standard error and interval of a mean of independent scores, where each has an error.
    errors = [score["stderr"] for score in inputs.values() if score.get("stderr") is not None]
    if len(errors) < len(inputs):
        return result
    stderr = float(np.hypot.reduce(errors)) / len(errors)
    return result | {"stderr": stderr, "interval": clipped(value, stderr, 100)}


def clipped(value: float, stderr: float, most: float) -> list[float]:
    """Returns the 95 % interval of a value, within its range."""
    half = 1.959963984540054 * stderr
    return [max(value - half, 0.0), min(value + half, most)]


def _score(rows: Rows, benchmark: Benchmark, *, is_raw: bool) -> Result:
    if reason := why_other_data(benchmark, {task: len(members) for task, members in rows.items()}):
        return {"agg_value": None, "reason": reason}
    if benchmark.weighting == "metrics":
        return _ifeval(rows, benchmark, is_raw=is_raw)
    columns = {
        leaf.task: _column(leaf.task, rows.get(leaf.task, ()), benchmark.metric)
        for leaf in benchmark.leaves
    }
    sizes = {task: len(column.values) for task, column in columns.items()}
    means = {task: column.mean for task, column in columns.items()}
    score = score_benchmark(benchmark, means, sizes)
    result = as_result(benchmark, score, sizes, is_raw=is_raw) | {"parts": means}
    if skipped := sum(column.unscored for column in columns.values()):
        result["skipped"] = {"row without a score": skipped}
    if result["agg_value"] is None:
        return result
    if is_raw and not benchmark.floor_per_leaf:
        # A mean over rows has the interval that a task of these rows has.
        keys = list(chain.from_iterable(column.keys for column in columns.values()))
        values = list(chain.from_iterable(column.values for column in columns.values()))
        over_rows = influence_of_mean(keys, values)
        if over_rows.values is None:  # rows share documents
            return with_interval(result, over_rows)
        interval = rows_interval(values)
        bounds = {} if interval is None else {"interval": list(interval)}
        return {**result, **bounds, "influence": over_rows}
    slopes = slopes_of(benchmark, sizes, is_raw=is_raw)
    influence = combined_influence(
        (slopes[task], influence_of_mean(column.keys, column.values))
        for task, column in columns.items()
    )
    return with_interval(result, influence, 1 if is_raw else 100)


def as_result(
    benchmark: Benchmark, score: BenchmarkScore, sizes: Mapping[str, int], *, is_raw: bool
) -> Result:
    """Returns value, rows and notes of a benchmark, or the reason why it has no value."""
    if score.missing:
        names = ", ".join(score.missing)
        reason = f"no value of {names}, so none of {benchmark.column}"
        return {"agg_value": None, "reason": reason}
    count = sum(sizes.values())
    notes = []
    if count < benchmark.rows:
        notes.append(f"partial: {count} of {benchmark.rows} rows")
    if score.floored and not is_raw:
        names = ", ".join(score.floored)
        notes.append(f"below chance, counted as 0: {names}")
    value = score.raw if is_raw else score.normalised
    return {"agg_value": value, "n": count, "notes": notes}


def why_other_data(benchmark: Benchmark, sizes: Mapping[str, int]) -> str:
    """Returns why the rows are not those of the leaderboard; empty where they may be."""
    larger = []
    for task, count in sizes.items():
        leaf = LEAVES.get(task)
        if leaf is not None and count > leaf.rows:
            larger.append(f"{task} has {count} rows, the leaderboard's has {leaf.rows}")
    if not larger:
        return ""
    why = f"other data than the leaderboard's: {', '.join(larger)}"
    if benchmark.name == "math":
        return f"{why}; lm-eval 0.4.8 reads all levels of MATH"
    return why


def slopes_of(benchmark: Benchmark, sizes: Mapping[str, int], *, is_raw: bool) -> dict[str, float]:
    """Returns by how much the score grows with the accuracy of each leaf task.

    The floor at chance is left out, so that a score at its floor keeps an interval.
    """
    total = sum(sizes.values())
    leaves = benchmark.leaves
    slopes = {}
    for leaf in leaves:
        is_equal = benchmark.floor_per_leaf
        weight = 1 / len(leaves) if is_equal else sizes[leaf.task] / total
        scale = 1.0 if is_raw else 100 / (1 - chance_level(leaf.choices))
        slopes[leaf.task] = weight * scale
    return slopes


def _key(task: str, row: Row) -> str:
    """The unit of a row: its document, by the published digest where it was made of that."""
    doc = row["doc"]
    digest = doc.get("published_doc_hash") or document_hash(doc)
    return f"{task}#{digest}"


def _column(task: str, rows: Sequence[Row], metric: str) -> Column:
    keys, values = [], []
    for row in rows:
        value = row["metrics"].get(metric)
        if isinstance(value, (bool, int, float)):
            keys.append(_key(task, row))
            values.append(float(value))
    return Column(keys, values, len(rows) - len(values))


def _ifeval(rows: Rows, benchmark: Benchmark, *, is_raw: bool) -> Result:
    """IFEval: the mean of its two strict accuracies; instructions are pooled over prompts."""
    task = benchmark.leaves[0].task
    strict = set(STRICT)
    scored = [row for row in rows.get(task, ()) if strict <= row["metrics"].keys()]
    if not scored:
        no_score = BenchmarkScore(None, None, (task,))
        return as_result(benchmark, no_score, {}, is_raw=is_raw)
    # Prompts, prompts right, instructions and instructions right of each row.
    lines = []
    for row in scored:
        prompt, instructions = (row["metrics"][name] for name in STRICT)
        verdicts = instructions if isinstance(instructions, list) else [instructions]
        lines.append([1, bool(prompt), len(verdicts), sum(map(bool, verdicts))])
    counts = np.array(lines, dtype=float)
    totals = counts.sum(axis=0)
    accuracies = dict(zip(STRICT, _accuracies(totals), strict=True))
    score = score_benchmark(benchmark, accuracies)
    result = as_result(benchmark, score, {task: len(scored)}, is_raw=is_raw)
    result["parts"] = accuracies
    scale = 1.0 if is_raw else 100.0

    def value(sums: Any) -> Any:
        return scale * sum(_accuracies(sums)) / 2

    keys = [_key(task, row) for row in scored]
    return with_interval(result, influence_of_counts(keys, counts, value), scale)


def _accuracies(sums: Any) -> tuple[float, float]:
    prompts, prompts_right, instructions, instructions_right = sums
    of_prompts = float(prompts_right / prompts)
    of_instructions = float(instructions_right / instructions)
    return of_prompts, of_instructions
