"""Truth ratio: how likely wrong answers are next to the correct one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from custom_metrics.unlearning import by_row

EPSILON = 1e-10


def closer_to_1_better(ratio: float) -> float:
    """`min(R, 1 / (R + 1e-10))`.

    1 where wrong and correct answers are equally likely, 0 at both extremes.
    """
    return min(ratio, 1 / (ratio + EPSILON))


def true_better(ratio: float) -> float:
    """`max(0, 1 - R)`.

    1 where the wrong answers are impossible, 0 where they are at least as likely.
    """
    return max(0.0, 1.0 - ratio)


def _identity(value: float) -> float:
    return value


#: Aggregator -> what one row adds to the mean.
AGGREGATORS: dict[str, Callable[[float], float]] = {
    "closer_to_1_better": closer_to_1_better,
    "true_better": true_better,
    "prob_mean": _identity,
}


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def truth_ratio(
    *,
    aggregator: str,
    correct_avg_loss: Mapping[str, Any],
    wrong_avg_loss: Mapping[str, Any],
    compat: bool = False,
) -> dict[str, Any]:
    """Truth ratio of every row and its mean after the aggregator.

    `R = Pw / (Pc + 1e-10)` with `Pc = exp(-loss_c)` and `Pw = exp(-mean_j loss_j)`, the geometric
    mean over the wrong answers (TOFU, section 2.2.3; OpenUnlearning, `truth_ratio`). With
    `prob_mean` the row value is `Pc / (Pc + Pw + 1e-10)` instead.

    Args:
        aggregator: `closer_to_1_better` (forgotten data, up), `true_better` (other data, up) or
            `prob_mean`.
        correct_avg_loss: Row -> average loss of the correct (paraphrased) answer.
        wrong_avg_loss: Row -> average loss, or list of them, of the wrong answers; lengths may
            differ by row.
        compat: A NaN makes its ratio and the mean NaN; rows that one side lacks are left out, and
            the ratios after them move up to the rows before, as in OpenUnlearning.

    Returns:
        `agg_value` in [0, 1], `value_by_index` (row -> `{"score": R}`) and `skipped`. An unknown
        aggregator gives `agg_value` None and a `reason`.

    >>> losses = {"correct_avg_loss": {"0": 0.0}, "wrong_avg_loss": {"0": [50.0]}}
    >>> truth_ratio(aggregator="true_better", **losses)["agg_value"]
    1.0
    """
    contribution = AGGREGATORS.get(aggregator)
    if contribution is None:
        allowed = ", ".join(AGGREGATORS)
        return {
            "agg_value": None,
            "value_by_index": {},
            "reason": f"unknown aggregator {aggregator!r}; one of {allowed}",
        }
    if compat:
        return _as_the_original(aggregator, correct_avg_loss, wrong_avg_loss)
    wrong_by_row = by_row.by_string(wrong_avg_loss)
    values: dict[str, dict[str, float | None]] = {}
    added: list[float] = []
    for index, loss in by_row.by_string(correct_avg_loss).items():
        wrong_loss = by_row.mean(by_row.entries(wrong_by_row.get(index)))
        if not by_row.finite(loss) or wrong_loss is None:
            values[index] = {"score": None}
            continue
        score = _ratio(aggregator, loss, wrong_loss)
        values[index] = {"score": score}
        added.append(contribution(score))
    return by_row.counted(
        {"agg_value": by_row.mean(added), "value_by_index": values},
        no_scored_token=len(values) - len(added),
    )


def _ratio(aggregator: str, correct_loss: float, wrong_loss: float) -> float:
    """Returns what one row counts; NaN where both answers are beyond what a number holds."""
    correct = _exp(-correct_loss)
    wrong = _exp(-wrong_loss)
    if aggregator == "prob_mean":
        above = correct
        below = correct + wrong + EPSILON
    else:
        above = wrong
        below = correct + EPSILON
    if math.isinf(above) and math.isinf(below):
        return math.nan
    return above / below


def _as_the_original(
    aggregator: str, correct: Mapping[str, Any], wrong: Mapping[str, Any]
) -> dict[str, Any]:
    """The truth ratio without leaving out a row, but for rows that one side lacks altogether."""
    contribution = AGGREGATORS[aggregator]
    ratios = []
    added = []
    for pair in by_row.pairs(correct, wrong):
        losses = [by_row.mean_or_nan(by_row.values_or_nan(side)) for side in pair]
        ratio = _ratio(aggregator, *losses)
        ratios.append(ratio)
        added.append(ratio if math.isnan(ratio) else contribution(ratio))
    # Rows without a pair leave no gap: the ratios take the indices in order.
    indices = by_row.by_string(correct)
    return {
        "agg_value": by_row.mean_or_nan(added),
        "value_by_index": {
            index: {"score": ratio} for index, ratio in zip(indices, ratios, strict=False)
        },
    }


METRICS = {"unlearning.truth_ratio": truth_ratio}
