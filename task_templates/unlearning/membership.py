"""Membership inference: whether forgotten texts can be told from texts that no model has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from custom_metrics.statistics import influence_of_auc
from custom_metrics.token_logprobs import Response
from custom_metrics.unlearning import bootstrap, by_row
from custom_metrics.unlearning import membership as formulas

from .results import Inputs, Result, column, digest, no_value, only, with_interval
from .samples import Row, Rows, answer, answers, missing, option, position, split, tally

Scores = Mapping[str, float | None]
"""Position of a text -> its score; None without one."""

SIDES = ("forget", "holdout")


def attack(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """AUC of one attack on forgotten against holdout texts."""
    if empty := missing(rows, expected=2):
        return empty
    name = params["attack"]
    blocks: dict[str, Result] = {}
    responses: list[Response] = []
    for side, samples in zip(SIDES, rows.values(), strict=False):
        k = float(option(samples, "min_k", default=0.4))
        compat = bool(option(samples, "missing", default=False))
        scores: dict[str, float | None] = {}
        for row in samples:
            response = answer(row)
            responses.append(response)
            score = _score(name, response, row, k, compat=compat)
            scores[position(row)] = score
        blocks[side] = block_of(scores) | answers(samples)
    forgotten = next(iter(rows.values()))
    result = area_of(blocks) | split(forgotten)
    refusals = {response.refused for response in responses}
    if result["agg_value"] is None and "backend" in refusals:
        result["reason"] = _NEEDS_HF
    return tally(result, responses)


_NEEDS_HF = "this attack needs the hf back end: run the second command of the preparation"


def reference_attack(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """AUC of the loss of this model minus that of the reference run's model.

    Both losses are on the same text.
    """
    own = only(inputs)
    other = only(reference)
    blocks: dict[str, Result] = {}
    for side in SIDES:
        losses = column(own.get(side, {}), "score")
        others = column(other.get(side, {}), "score")
        if not losses or not others:
            without = "this run" if not losses else "the reference"
            reason = f"no {side} losses of {without}"
            return no_value(f"{reason}: {_SCORE_WITH_REFERENCE}")
        scores = {}
        for index, loss in losses.items():
            difference = formulas.mia_reference_score(
                target_avg_loss=loss, reference_avg_loss=others.get(index)
            )
            scores[index] = difference["score"]
        blocks[side] = block_of(scores)
    return area_of(blocks) | digest(reference)


_SCORE_WITH_REFERENCE = "run the same tasks with the reference model, and score with --reference"


def _score(name: str, response: Response, row: Row, k: float, *, compat: bool) -> float | None:
    """Attack score of one text; higher means less likely seen in training."""
    if name == "loss":
        return response.avg_loss
    if name == "zlib":
        text = response.text
        if text is None:
            text = str(row["doc"].get("target", ""))
        zlib = formulas.mia_zlib_score(avg_loss=response.avg_loss, text=text)
        return zlib["score"]
    if name == "gradnorm":
        return response.grad_norm
    if response.refused:  # a text that was not scored says nothing, whatever the mode
        compat = False
    options = {"k": k, "empty": None, "compat": compat}
    logprobs = response.logprobs[:-1]
    if name == "min_k":
        min_k = formulas.mia_min_k_score(token_logprobs=logprobs, **options)
        return min_k["score"]
    mu = _but_last(response.mu)
    var = _but_last(response.var)
    min_k_plus_plus = formulas.mia_min_k_plus_plus_score(
        token_logprobs=logprobs, mu=mu, var=var, **options
    )
    return min_k_plus_plus["score"]


def _but_last(moments: Sequence[float] | None) -> Sequence[float] | None:
    return None if moments is None else moments[:-1]


def block_of(scores: Scores) -> Result:
    """One side's scores as OpenUnlearning writes them."""
    known = by_row.usable(scores.values())
    values = {index: {"score": score} for index, score in scores.items()}
    return {"agg_value": by_row.mean(known), "value_by_index": values}


def compare_sides(forget: Scores, holdout: Scores) -> Result:
    """The result of an attack by its scores: the AUC with its interval, and both sides' rows.

    The building block for attacks of one's own (docs/packs/unlearning.md).

    Args:
        forget: Position of a forgotten text -> score, high where the text looks unseen; None
            without one.
        holdout: The same of texts that no model has seen.
    """
    blocks = {"forget": block_of(forget), "holdout": block_of(holdout)}
    return area_of(blocks)


def area_of(blocks: Mapping[str, Result]) -> Result:
    """The AUC of an attack, with its interval and what each text adds to it.

    Args:
        blocks: `forget` and `holdout` -> what `block_of` returns.
    """
    forget_scores = column(blocks["forget"], "score")
    holdout_scores = column(blocks["holdout"], "score")
    forgotten = list(forget_scores.values())
    unseen = list(holdout_scores.values())
    area = formulas.mia_auc(forget_scores=forgotten, holdout_scores=unseen)
    auc = area["auc"]
    forget = by_row.usable(forget_scores.values())
    holdout = by_row.usable(holdout_scores.values())
    result: Result = {"agg_value": auc, "auc": auc, **blocks}
    for name in ("reason", "skipped"):
        if name in area:
            result[name] = area[name]
    result["n"] = len(forget) + len(holdout)
    if auc is None:
        return result
    # Holdout texts are to lie above forgotten ones.
    above = _keys_and_scores("holdout", holdout_scores)
    below = _keys_and_scores("forget", forget_scores)
    result["influence"] = partial(influence_of_auc, *above, *below)
    interval = bootstrap.auc_interval(forget, holdout)
    return with_interval(result, interval)


def _keys_and_scores(side: str, scores: Scores) -> tuple[list[str], list[float]]:
    """The keys of the texts of a side that have a score, and these."""
    known = {}
    for index, score in scores.items():
        if by_row.finite(score):
            known[f"{side}#{index}"] = score
    return list(known), by_row.usable(known.values())
