"""TOFU's two headline numbers: forget quality and model utility."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from custom_metrics.unlearning import bootstrap, by_row
from custom_metrics.unlearning.against_reference import ks_test
from custom_metrics.unlearning.truth_ratio import AGGREGATORS
from custom_metrics.unlearning.utility import hm_aggregate

from .results import Inputs, Result, by_index, column, digest, drawn, no_value, only, other_split, with_interval

#: Per part of model utility: the column of its rows and what a row adds to the mean.
UTILITY_ROWS: dict[str, tuple[str, Callable[[float], float]]] = {
    "Prob": ("prob", float),
    "ROUGE": ("rougeL_recall", float),
    "Truth_Ratio": ("score", AGGREGATORS["true_better"]),
}


def forget_quality(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """KS p-value of the truth ratios of this model and of the retain model."""
    own, other = only(inputs), only(reference)
    ratios, others = column(own, "score"), column(other, "score")
    if not ratios:
        return no_value(own.get("reason", "no truth ratios"))
    if refused := other_split(own, other):
        return refused
    if other.get("agg_value") is None and not by_index(other):
        return ks_test(forget_scores=list(ratios.values()), retain_scores=None)
    notes = []
    if len(ratios) != len(others):
        notes = [f"this run has {len(ratios)} rows and the reference {len(others)}: are they of one forget split?"]
    # The same rows for both where the two logs share them, so that a shorter log compares what it has.
    if shared := [index for index in ratios if index in others]:
        ratios = {index: ratios[index] for index in shared}
        others = {index: others[index] for index in shared}
    result = ks_test(forget_scores=list(ratios.values()), retain_scores=list(others.values()))
    pairs = [
        (mine, theirs)
        for mine, theirs in zip(ratios.values(), others.values(), strict=False)
        if by_row.finite(mine) and by_row.finite(theirs)
    ]
    model, retain = [mine for mine, _ in pairs], [theirs for _, theirs in pairs]
    if "statistic" in result:
        result["parts"] = {"ks_statistic": result["statistic"]}
    # The test does not depend on the scale.
    result["distributions"] = {
        "log10 of the truth ratio, model": drawn(model),
        "log10 of the truth ratio, reference": drawn(retain),
    }
    if notes:
        result["notes"] = notes
    return with_interval({**result, **digest(reference)}, bootstrap.ks_interval(model, retain))


def model_utility(*, inputs: Inputs, **_: Any) -> Result:
    """Harmonic mean of probability, ROUGE and truth ratio on retained questions, real authors and world facts."""
    parts = {name: result.get("agg_value") for name, result in inputs.items()}
    result = {**hm_aggregate(agg_values=parts), "parts": parts}
    if result["agg_value"] is None:
        return result
    data_sets: dict[str, dict[str, dict[str, float | None]]] = {}
    for name, part in inputs.items():
        kind = next(kind for kind in UTILITY_ROWS if kind in name)
        of_row, added = UTILITY_ROWS[kind]
        data_sets.setdefault(name.partition("_")[0], {})[name] = {
            index: added(value) if by_row.finite(value) else None for index, value in column(part, of_row).items()
        }
    return with_interval(result, bootstrap.utility_interval([data_sets[name] for name in sorted(data_sets)]))
