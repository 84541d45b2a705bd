"""Membership inference: whether forgotten texts can be told from texts that no model has seen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from custom_metrics.statistics import Influence, influence_of_auc
from custom_metrics.token_logprobs import Response
from custom_metrics.unlearning import bootstrap, by_row
from custom_metrics.unlearning import membership as formulas

from .results import Inputs, Result, column, digest, no_value, only, other_split, with_interval
from .samples import Row, Rows, answer, answers, missing, option, position, split, tally

SIDES = ("forget", "holdout")


def attack(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """AUC of one attack on forgotten against holdout texts."""
    if empty := missing(rows, expected=2):
        return empty
    blocks: dict[str, Result] = {}
    seen: list[Response] = []
    for side, samples in zip(SIDES, rows.values(), strict=False):
        k = float(option(samples, "min_k", default=0.4))
        compat = bool(option(samples, "missing", default=False))
        scores = {}
        for row in samples:
            response = answer(row)
            seen.append(response)
            scores[position(row)] = _score(params["attack"], response, row, k, compat=compat)
        blocks[side] = block_of(scores) | answers(samples)
    result = area_of(blocks) | split(next(iter(rows.values())))
    if result["agg_value"] is None and "backend" in {response.refused for response in seen}:
        result["reason"] = (
            "this attack needs the hf back end: run the second command of the preparation"
        )
    return tally(result, seen)


def reference_attack(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """AUC of the loss of this model minus that of the reference run's model.

    Both losses are on the same text.
    """
    own = only(inputs)
    other = only(reference)
    if refused := other_split(own, other):
        return refused
    blocks: dict[str, Result] = {}
    for side in SIDES:
        losses = column(own.get(side, {}), "score")
        others = column(other.get(side, {}), "score")
        if not losses or not others:
            return no_value(
                f"no {side} losses of {'this run' if not losses else 'the reference'}: run the "
                "same tasks with the "
                "reference model, and score with --reference"
            )
        blocks[side] = block_of(
            {
                index: formulas.mia_reference_score(
                    target_avg_loss=loss, reference_avg_loss=others.get(index)
                )["score"]
                for index, loss in losses.items()
            }
        )
    return area_of(blocks) | digest(reference)


def _score(name: str, response: Response, row: Row, k: float, *, compat: bool) -> float | None:
    """Attack score of one text; higher means less likely seen in training."""
    if name == "loss":
        return response.avg_loss
    if name == "zlib":
        text = response.text if response.text is not None else str(row["doc"].get("target", ""))
        return formulas.mia_zlib_score(avg_loss=response.avg_loss, text=text)["score"]
    if name == "gradnorm":
        return response.grad_norm
    if response.refused:  # a text that was not scored says nothing, whatever the mode
        compat = False
    logprobs = response.logprobs[:-1]
    if name == "min_k":
        return formulas.mia_min_k_score(token_logprobs=logprobs, k=k, empty=None, compat=compat)[
            "score"
        ]
    mu, var = (None if moments is None else moments[:-1] for moments in (response.mu, response.var))
    return formulas.mia_min_k_plus_plus_score(
        token_logprobs=logprobs, mu=mu, var=var, k=k, empty=None, compat=compat
    )["score"]


def block_of(scores: Mapping[str, float | None]) -> Result:
    """One side's scores as OpenUnlearning writes them."""
    return {
        "agg_value": by_row.mean(by_row.usable(scores.values())),
        "value_by_index": {index: {"score": score} for index, score in scores.items()},
    }


def compare_sides(
    forget: Mapping[str, float | None], holdout: Mapping[str, float | None]
) -> Result:
    """The result of an attack by its scores: the AUC with its interval, and both sides' rows.

    The building block for attacks of one's own (docs/packs/unlearning.md).

    Args:
        forget: Position of a forgotten text -> score, high where the text looks unseen; None
            without one.
        holdout: The same of texts that no model has seen.
    """
    return area_of({"forget": block_of(forget), "holdout": block_of(holdout)})


def area_of(blocks: Mapping[str, Result]) -> Result:
    """The AUC of an attack, with its interval and what each text adds to it.

    Args:
        blocks: `forget` and `holdout` -> what `block_of` returns.
    """
    forget_scores, holdout_scores = (column(blocks[side], "score") for side in SIDES)
    area = formulas.mia_auc(
        forget_scores=list(forget_scores.values()), holdout_scores=list(holdout_scores.values())
    )
    forget = by_row.usable(forget_scores.values())
    holdout = by_row.usable(holdout_scores.values())
    result: Result = {"agg_value": area["auc"], "auc": area["auc"], **blocks}
    for name in ("reason", "skipped"):
        if name in area:
            result[name] = area[name]
    result["n"] = len(forget) + len(holdout)
    if area["auc"] is None:
        return result
    result["influence"] = partial(_influence, forget_scores, holdout_scores)
    return with_interval(result, bootstrap.auc_interval(forget, holdout))


def _influence(
    forget: Mapping[str, float | None], holdout: Mapping[str, float | None]
) -> Influence:
    """Returns what each text adds to the AUC: holdout texts are to lie above forgotten ones."""
    sides: list[tuple[list[str], list[float]]] = []
    for name, scores in zip(SIDES, (forget, holdout), strict=True):
        known = {
            f"{name}#{index}": value for index, value in scores.items() if by_row.finite(value)
        }
        sides.append((list(known), by_row.usable(known.values())))
    return influence_of_auc(*sides[1], *sides[0])
