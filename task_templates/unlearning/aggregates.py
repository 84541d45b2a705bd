"""Memorisation, privacy, utility, and all three together, after the paper of OpenUnlearning.

Each is a harmonic mean of parts of which 1 is the best (arXiv 2506.12618, appendix F; the overall
one: locuslab/open-unlearning#150). The paper divides each part by its value on the finetuned model
(F.1, as two reproductions report it): `memorization_after_paper`, `utility_after_paper` and
`overall_after_paper`, which need `--finetuned`. The same without that division are
`..._aggregate`. The paper's code was not published, and no public log gives its numbers exactly,
so none of these bears the paper's own name. The paper does not say how an attack becomes a number
between 0 and 1 (#172); `closeness` is this pack's own choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from custom_metrics.unlearning import by_row
from custom_metrics.unlearning.utility import hm_aggregate

from .results import Inputs, Result, digest, no_value

#: Parts that may be absent -> what a note calls them.
_FLUENCY = "forget_Q_A_gibberish"


def closeness(auc: float, retain_auc: float) -> float:
    """Returns how close the AUC of an attack is to the retain model's, in [0, 1].

    `1 - |AUC - AUC_retain| / max(AUC_retain, 1 - AUC_retain)`: 1 where they are equal, 0 where the
    AUC is as far from the retain model's as an AUC can be.

    >>> closeness(0.4, 0.4), closeness(1.0, 0.4)
    (1.0, 0.0)
    """
    farthest = max(retain_auc, 1 - retain_auc)
    return 1 - abs(auc - retain_auc) / farthest


def memorization(*, inputs: Inputs, **_: Any) -> Result:
    """Harmonic mean of 1 minus each measure of what is still memorised."""
    removed: dict[str, float | None] = {}
    for name, result in inputs.items():
        value = result.get("agg_value")
        removed[name] = 1 - value if by_row.finite(value) else None
    return _harmonic_mean(removed)


def memorization_after_paper(
    *, inputs: Inputs, finetuned: Inputs | None = None, **_: Any
) -> Result:
    """Harmonic mean of 1 minus each measure as a share of its value on the finetuned model.

    `1 - x / x_finetuned`, not below 0: what is memorised as firmly as before is not removed.
    """
    shares = _shares(inputs, finetuned)
    if isinstance(shares, str):
        return no_value(shares)
    removed = {
        name: None if share is None else max(0.0, 1 - share) for name, share in shares.items()
    }
    return _harmonic_mean(removed)


def _shares(inputs: Inputs, finetuned: Inputs | None) -> dict[str, float | None] | str:
    """Each part divided by its value on the finetuned model; why not where that is not there."""
    if not finetuned:
        return "no finetuned model; name one with --finetuned"
    shares: dict[str, float | None] = {}
    for name, result in inputs.items():
        value, base = (each.get("agg_value") for each in (result, finetuned.get(name, {})))
        known = by_row.finite(value) and by_row.finite(base) and base > 0
        shares[name] = value / base if known else None
    return shares


def privacy(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """Harmonic mean of how close each attack comes to its AUC on the retain model."""
    if not reference:
        return no_value("no reference; name one with --reference")
    parts: dict[str, float | None] = {}
    for name, result in inputs.items():
        auc = result.get("agg_value")
        retain_auc = reference.get(name, {}).get("agg_value")
        known = by_row.finite(auc) and by_row.finite(retain_auc)
        parts[name] = closeness(auc, retain_auc) if known else None
    return {**_of_known(parts), **digest(reference)}


def utility(*, inputs: Inputs, **_: Any) -> Result:
    """Harmonic mean of model utility and of fluency, the probability of clean text."""
    parts = {name: result.get("agg_value") for name, result in inputs.items()}
    if parts.get("model_utility") is None:
        return _harmonic_mean(parts)
    result = _of_known(parts)
    why = inputs.get(_FLUENCY, {}).get("reason")
    if parts.get(_FLUENCY) is None and why:
        result["notes"] = [f"without fluency: {why}"]
    return result


def utility_after_paper(*, inputs: Inputs, finetuned: Inputs | None = None, **_: Any) -> Result:
    """Harmonic mean of model utility and fluency, each divided by its value on the finetuned model.

    A part that either model lacks is left out with a note; model utility cannot be.
    """
    shares = _shares(inputs, finetuned)
    if isinstance(shares, str):
        return no_value(shares)
    return _harmonic_mean(shares) if shares.get("model_utility") is None else _of_known(shares)


def overall(*, inputs: Inputs, **_: Any) -> Result:
    """Harmonic mean of the three aggregates."""
    parts = {name: result.get("agg_value") for name, result in inputs.items()}
    result = _harmonic_mean(parts)
    notes = list(chain.from_iterable(part.get("notes", ()) for part in inputs.values()))
    return {**result, "notes": notes} if notes else result


def _harmonic_mean(parts: Mapping[str, float | None]) -> Result:
    return {**hm_aggregate(agg_values=parts), "parts": dict(parts)}


def _of_known(parts: Mapping[str, float | None]) -> Result:
    """The harmonic mean of the parts that have a value, with a note on the others."""
    known = {name: value for name, value in parts.items() if value is not None}
    if not known:
        return no_value(f"no value of {', '.join(parts)}")
    result = _harmonic_mean(known)
    absent = [name for name in parts if name not in known]
    if absent:
        result["notes"] = [f"without {', '.join(absent)}"]
    return result
