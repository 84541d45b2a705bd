"""TOFU's two headline numbers: forget quality and model utility."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from custom_metrics.statistics import Influence, combined_influence, influence_of
from custom_metrics.unlearning import bootstrap, by_row
from custom_metrics.unlearning.against_reference import ks_test
from custom_metrics.unlearning.truth_ratio import AGGREGATORS
from custom_metrics.unlearning.utility import hm_aggregate

from .results import Inputs, Result, by_index, column, digest, drawn, no_value, only, with_interval

#: Per part of model utility: the column of its rows and what a row adds to the mean.
UTILITY_ROWS: dict[str, tuple[str, Callable[[float], float]]] = {
    "Prob": ("prob", float),
    "ROUGE": ("rougeL_recall", float),
    "Truth_Ratio": ("score", AGGREGATORS["true_better"]),
}


def forget_quality(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """KS p-value of the truth ratios of this model and of the retain model."""
    own = only(inputs)
    other = only(reference)
    ratios = column(own, "score")
    others = column(other, "score")
    if not ratios:
        return no_value(own.get("reason", "no truth ratios"))
    if other.get("agg_value") is None and not by_index(other):
        return ks_test(forget_scores=list(ratios.values()), retain_scores=None)
    # The same rows for both where the two logs share them, so that a shorter log compares what it
    # has.
    shared = [index for index in ratios if index in others]
    if shared:
        ratios = {index: ratios[index] for index in shared}
        others = {index: others[index] for index in shared}
    own_ratios, other_ratios = list(ratios.values()), list(others.values())
    result = ks_test(forget_scores=own_ratios, retain_scores=other_ratios)
    if "statistic" in result:
        result["parts"] = {"ks_statistic": result["statistic"]}
    # The test does not depend on the scale.
    result["distributions"] = {
        "log10 of the truth ratio, model": drawn(by_row.usable(own_ratios)),
        "log10 of the truth ratio, reference": drawn(by_row.usable(other_ratios)),
    }
    result["notes"] = ["a p-value itself: it has no interval, and two of them are not tested"]
    return result | digest(reference)


def model_utility(*, inputs: Inputs, **_: Any) -> Result:
    """Harmonic mean of probability, ROUGE and truth ratio.

    Each of the three on retained questions, real authors and world facts.
    """
    parts = {name: result.get("agg_value") for name, result in inputs.items()}
    result = {**hm_aggregate(agg_values=parts), "parts": parts}
    if result["agg_value"] is None:
        return result
    data_sets: dict[str, dict[str, dict[str, float | None]]] = {}
    for name, part in inputs.items():
        data, _, _ = name.partition("_")
        kind = next(kind for kind in UTILITY_ROWS if kind in name)
        of_row, contribution = UTILITY_ROWS[kind]
        values: dict[str, float | None] = {}
        for index, value in column(part, of_row).items():
            values[index] = contribution(value) if by_row.finite(value) else None
        data_sets.setdefault(data, {})[name] = values
    result["influence"] = partial(_utility_influence, inputs, result["agg_value"])
    in_order = [data_sets[name] for name in sorted(data_sets)]
    return with_interval(result, bootstrap.utility_interval(in_order))


def _utility_influence(inputs: Inputs, utility: float) -> Influence | None:
    """Returns what each row adds to the harmonic mean H of n parts x.

    dH/dx = H^2 / (n x^2) times what it adds to the part.
    """
    # The harmonic mean H of k parts has the slopes H^2 / (k v^2).
    terms = []
    for part in inputs.values():
        value = float(part["agg_value"])
        influence = influence_of(part)
        if influence is None or value <= 0:
            return None
        slope = utility**2 / (len(inputs) * value**2)
        terms.append((slope, influence))
    return combined_influence(terms)
