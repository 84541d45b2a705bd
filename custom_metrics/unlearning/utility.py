"""Model utility, the harmonic mean of nine scores, and the summary of a result file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from custom_metrics.unlearning import by_row


def hm_aggregate(*, agg_values: Mapping[str, float | None], compat: bool = False) -> dict[str, Any]:
    """Harmonic mean of named scores.

    With TOFU's nine parts this is model utility (TOFU, section 2.2.2).

    One zero makes the result 0: a model that lost one ability lost its utility. Range [0, 1] for
    scores in [0, 1], higher is better.

    Args:
        agg_values: Name -> score, non-negative.
        compat: NaN in place of None with a reason, as in OpenUnlearning.

    Returns:
        `agg_value`; None with a `reason` naming each component that is missing, NaN or negative,
        where `scipy.stats.hmean` would return NaN.

    >>> hm_aggregate(agg_values={"a": 1.0, "b": 0.5})["agg_value"]
    0.6666666666666666
    """
    if not agg_values and not compat:
        return {"agg_value": None, "reason": "no component"}
    # The components that are missing, not finite or negative, each with its value.
    bad = []
    for name, value in agg_values.items():
        if value is None:
            bad.append(f"{name} is missing")
        elif not by_row.finite(value) or value < 0:
            bad.append(f"{name} is {value}")
    if compat and (bad or not agg_values):
        return {"agg_value": math.nan}
    if bad:
        return {"agg_value": None, "reason": "no harmonic mean: " + "; ".join(bad)}
    values = by_row.usable(agg_values.values())
    if min(values) == 0:
        return {"agg_value": 0.0}
    return {"agg_value": len(values) / math.fsum(1 / value for value in values)}


def summary(
    *,
    logs: Mapping[str, Mapping[str, Any]],
    configured_metrics: Sequence[str],
    compat: bool = False,
) -> dict[str, float]:
    """The short result file: configured metric -> `agg_value`.

    Helpers and metrics without a value are left out.

    Args:
        logs: Metric -> result with `agg_value`.
        configured_metrics: Metrics the user asked for, in the order of the summary.
        compat: In the order of the results, as OpenUnlearning writes it.
    """
    if compat:
        configured_metrics = [name for name in logs if name in configured_metrics]
    values: dict[str, float] = {}
    for name in configured_metrics:
        value = logs.get(name, {}).get("agg_value")
        if value is not None:
            values[name] = value
    return values


METRICS = {"unlearning.hm_aggregate": hm_aggregate, "unlearning.summary": summary}
