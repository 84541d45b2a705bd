"""Truth ratios of logs in the form that the scores read, whatever aggregator the log was made with.

A log of OpenUnlearning holds `w / c` in each row, or `c / (c + w)` where it was made with
`aggregator: prob_mean` (its pull request 163), under one name: `c` and `w` are the likelihoods of
the right and of the wrong answers. More is worse for one of them, and a test that puts one beside
the other means nothing. The losses in the log tell which of them it has, and give the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from custom_metrics.unlearning import by_row
from custom_metrics.unlearning.truth_ratio import AGGREGATORS, truth_ratio

from .names import aggregator_of, data_set_of
from .results import Result, by_index, carried, column, no_value

Results = Mapping[str, Result]
#: Score -> scores with the losses of the right and of the wrong answers.
_MADE_OF = {
    "forget_truth_ratio": ("forget_Q_A_PARA_Prob", "forget_Q_A_PERT_Prob"),
    "retain_Truth_Ratio": ("retain_Q_A_PARA_Prob", "retain_Q_A_PERT_Prob"),
    "ra_Truth_Ratio": ("ra_Q_A_Prob", "ra_Q_A_PERT_Prob"),
    "wf_Truth_Ratio": ("wf_Q_A_Prob", "wf_Q_A_PERT_Prob"),
}
_SHARE = "prob_mean"  # form of rows, and the aggregator of upstream that writes it
_USUAL, _UNKNOWN = "usual", "unknown"
_UNKNOWN_FORM = (
    "the truth ratios of the log are of an unknown form: their mean is not the one that it states, "
    "and it has no losses"
)
_AGREED = 1e-3  # relative; logs hold losses with 7 digits
_MOST = 0.9  # share of rows that agree with a form
_OF_SHARES = "the log states the share of the right answer (aggregator: prob_mean)"


def with_known_ratios(results: Results) -> dict[str, Result]:
    """The results with truth ratios as `w / c`; what a log has of another form under its name."""
    forms = {name: _form_of(name, results) for name in _MADE_OF if by_index(results.get(name))}
    # Shares of forgotten answers have the same mean by both aggregators: the other scores tell.
    log_form = next((form for form in forms.values() if form == _SHARE), _USUAL)
    known = dict(results)
    for name, form in forms.items():
        known |= _in_usual_form(name, results, form or log_form)
    return known


def _form_of(name: str, results: Results) -> str:
    """The form of a score's rows; empty where nothing in the log tells."""
    stated = results[name]
    aggregator = aggregator_of(data_set_of(name))
    ratios = _from_losses(name, results, aggregator)
    if ratios is not None:
        if _agree(stated, ratios):
            return _USUAL
        shares = _from_losses(name, results, _SHARE)
        return _SHARE if shares is not None and _agree(stated, shares) else _UNKNOWN
    scores = by_row.usable(column(stated, "score").values())
    value = stated.get("agg_value")
    if not scores or not by_row.finite(value):
        return ""
    usual, plain = (
        by_row.mean(map(AGGREGATORS[form], scores)) or 0.0 for form in (aggregator, _SHARE)
    )
    is_usual, is_plain = (
        math.isclose(value, mean, rel_tol=_AGREED, abs_tol=_AGREED) for mean in (usual, plain)
    )
    if is_usual and is_plain:
        return ""
    if is_usual:
        return _USUAL
    return _SHARE if is_plain and max(scores) <= 1 else _UNKNOWN


def _in_usual_form(name: str, results: Results, form: str) -> dict[str, Result]:
    """The score as the ratio of wrong and right answers, where it is another one in the log."""
    if form == _USUAL:
        return {}
    stated = results[name]
    aggregator = aggregator_of(data_set_of(name))
    ratios = _from_losses(name, results, aggregator)
    if form == _UNKNOWN and ratios is None:
        return {name: {**no_value(_UNKNOWN_FORM), "stated": stated["agg_value"]}}
    if form == _UNKNOWN and ratios is not None:
        note = "the log's rows do not follow from its losses; computed anew from these"
        return {name: _recomputed(stated, ratios, note)}
    source = "computed anew from its losses" if ratios else "turned into the ratio of answers"
    ratios = ratios or _from_shares(stated, aggregator)
    return {
        name: _recomputed(stated, ratios, f"{_OF_SHARES}; {source}"),
        f"{name}_{_SHARE}": stated,
    }


def _from_shares(stated: Result, aggregator: str) -> Result:
    """The ratio `w / c` of each row from its share `c / (c + w)`."""
    rows: dict[str, dict[str, float | None]] = {}
    for index, share in column(stated, "score").items():
        is_known = by_row.finite(share) and share > 0
        rows[index] = {"score": (1 - share) / share if is_known else None}
    known = by_row.usable(row["score"] for row in rows.values())
    return {"agg_value": by_row.mean(map(AGGREGATORS[aggregator], known)), "value_by_index": rows}


def _from_losses(name: str, results: Results, aggregator: str) -> Result | None:
    """The score from the losses of a log; None where it lacks them."""
    losses, others = (column(results.get(part), "avg_loss") for part in _MADE_OF[name])
    if not by_row.usable(losses.values()) or not others:
        return None
    return truth_ratio(aggregator=aggregator, correct_avg_loss=losses, wrong_avg_loss=others)


def _agree(stated: Result, computed: Result) -> bool:
    """Returns whether most rows of two results have the same score."""
    own, other = column(stated, "score"), column(computed, "score")
    pairs = [(own[index], other[index]) for index in own if by_row.finite(other.get(index))]
    known = [(first, second) for first, second in pairs if by_row.finite(first)]
    same = [math.isclose(*pair, rel_tol=_AGREED, abs_tol=1e-12) for pair in known]
    return sum(same) >= _MOST * len(same)


def _recomputed(stated: Result, ratios: Result, note: str) -> Result:
    value = stated.get("agg_value")
    of_log = {"stated": value} if by_row.finite(value) else {}
    return {**ratios, **carried({"stated": stated}), **of_log, "notes": [note]}
