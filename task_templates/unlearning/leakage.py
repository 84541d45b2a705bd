"""The gain of an attack, measured against the retain model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from custom_metrics.statistics import Influence, combined_influence, influence_of
from custom_metrics.unlearning import against_reference as formulas
from custom_metrics.unlearning import bootstrap, by_row
from custom_metrics.unlearning.membership import mia_auc

from .results import Inputs, Result, column, digest, only, with_interval

Formula = Callable[..., Result]
#: What a value without a retain model is measured against.
DEFAULT = {"role": "reference", "kind": "constant", "name": "an AUC of 0.5"}
_AGREED = 1e-6  # how far the rows of a log may be from the AUC that it states
_MOST = 1e6  # percent; beyond it only the guard against a division by zero shows
_STEP = 1e-6  # both formulas are linear in the AUC


def privleak(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """Privacy leakage of the min-k attack against the retain model."""
    result = _relative(inputs, reference, formulas.privleak)
    if result["agg_value"] is None:
        return result
    notes = list(result.get("notes", ()))
    if result["reference"] != "retain":
        notes.append("no retain log: compared with an AUC of 0.5")
    if result.get("undefined"):
        notes.append("the reference AUC is 1: the value is undefined")
    return {**result, "notes": notes} if notes else result


def rel_diff(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """Relative difference of the min-k AUC from the retain model's."""
    return _relative(inputs, reference, formulas.rel_diff)


def _relative(inputs: Inputs, reference: Inputs | None, formula: Formula) -> Result:
    own = only(inputs)
    other = only(reference)
    result = formula(auc=own.get("agg_value"), retain_auc=other.get("agg_value"))
    if result["agg_value"] is None:
        return {**result, "reason": own.get("reason", result["reason"])}
    if result["reference"] != "retain":
        result["against"] = [DEFAULT]
    result["influence"] = partial(_influence, own, other, formula)
    interval = _interval(own, other if result["reference"] == "retain" else {}, formula)
    if interval is not None and interval[1] > _MOST:
        note = (
            f"no interval: not bounded above {interval[0]:.4g}, as the reference can be 0 by chance"
        )
        interval, result["notes"] = None, [note]
    return with_interval({**result, **digest(reference)}, interval)


def _influence(
    own: Mapping[str, Any], other: Mapping[str, Any], formula: Formula
) -> Influence | None:
    """Returns what each text adds to the AUC, times the slope of the formula.

    The reference is a fixed measure.
    """
    influence = influence_of(own)
    auc = float(own["agg_value"])
    ends = [
        formula(auc=auc + step, retain_auc=other.get("agg_value"))["agg_value"]
        for step in (-_STEP, _STEP)
    ]
    if influence is None or None in ends:
        return None
    return combined_influence([((ends[1] - ends[0]) / (2 * _STEP), influence)])


def _interval(
    own: Mapping[str, Any], other: Mapping[str, Any], formula: Formula
) -> list[float] | None:
    """Percentile interval over resampled texts.

    The reference is resampled with them where it has its scores. Where an attack separates all
    texts, resamples have no spread: the interval of the AUC is carried through the formula.
    """
    import numpy as np

    mine = _resampled_aucs(own)
    theirs = _resampled_aucs(other)
    if mine is None:
        return None
    references = [other.get("agg_value")] * len(mine) if theirs is None else theirs.tolist()
    # Few texts give few AUCs.
    pairs = list(zip(mine.tolist(), references, strict=True))
    known = {pair: formula(auc=pair[0], retain_auc=pair[1])["agg_value"] for pair in {*pairs}}
    low, high = bootstrap.percentiles(np.asarray([known[pair] for pair in pairs]))
    ends = own.get("interval")
    if mine.min() < mine.max() or not ends:
        return [low, high]
    retain_auc = other.get("agg_value")
    return sorted(formula(auc=end, retain_auc=retain_auc)["agg_value"] for end in ends)


def _resampled_aucs(result: Mapping[str, Any]) -> Any:
    """AUCs of resampled texts as an array; None without scores, or where they give another AUC."""
    sides = [column(result.get(side) or {}, "score").values() for side in ("forget", "holdout")]
    forget, holdout = map(by_row.usable, sides)
    if len(forget) < 2 or len(holdout) < 2:
        return None
    area = mia_auc(forget_scores=forget, holdout_scores=holdout)["auc"]
    stated = result.get("agg_value")
    if area is None or not math.isclose(area, stated or 0.0, rel_tol=_AGREED, abs_tol=_AGREED):
        return None
    return bootstrap.auc_resamples(forget, holdout)
