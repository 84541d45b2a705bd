"""The likelihood of answers, paraphrases and wrong answers: probabilities and truth ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from custom_metrics.token_logprobs import Response
from custom_metrics.unlearning import by_row
from custom_metrics.unlearning import probability as formulas
from custom_metrics.unlearning import truth_ratio as ratios

from .results import (
    Inputs,
    Result,
    as_original,
    by_index,
    carried,
    column,
    data_set,
    drawn,
    no_value,
    with_mean_interval,
)
from .samples import (
    Rows,
    answers,
    missing,
    option,
    position,
    responses,
    roles,
    single,
    split,
    tally,
)

#: What the continuations of a row are called, by their role.
ROLE_NAMES = {"answer": "an answer", "paraphrase": "a paraphrased answer", "wrong": "wrong answers"}
#: What a truth ratio says, by its aggregator.
RATIO_MEANINGS = {
    "closer_to_1_better": (
        "how likely wrong answers are next to the right one: 1 where both are equally likely, 0 "
        "where the model "
        "clearly prefers one of them"
    ),
    "true_better": (
        "how likely wrong answers are next to the right one: 1 where they are impossible, 0 "
        "where they are at least as "
        "likely"
    ),
    "prob_mean": "share of the right answer in the probability of right and wrong answers",
}


def probability(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """Length-normalised probability of every row, and the mean.

    The probability is of the answer, the paraphrase or the wrong answers.
    """
    if empty := missing(rows):
        return empty
    role = params.get("role", "answer")
    samples = single(rows)
    if not any(role in roles(row) for row in samples):
        return no_value(f"no row has {ROLE_NAMES.get(role, role)}")
    values: dict[str, dict[str, Any]] = {}
    seen: list[Response] = []
    for row in samples:
        replies = responses(row, role)
        seen += replies
        probs = [reply.prob for reply in replies]
        losses = [reply.avg_loss for reply in replies]
        # Of an answer its first continuation, of wrong answers all.
        of_row = {"prob": next(iter(probs), None), "avg_loss": next(iter(losses), None)}
        values[position(row)] = {"prob": probs, "avg_loss": losses} if role == "wrong" else of_row
    means = {index: by_row.mean(by_row.entries(row["prob"])) for index, row in values.items()}
    result = {"value_by_index": values, **split(samples) | answers(samples)}
    if not option(samples, "missing", default=False):
        result |= formulas.probability_aggregate(value_by_index=values)
        return tally(with_mean_interval(result, means, data_set(rows)), seen)
    # The mean as OpenUnlearning has it: NaN where a row has no value.
    complete = {index: {"prob": by_row.values_or_nan(row["prob"])} for index, row in values.items()}
    of_all = formulas.probability_aggregate(value_by_index=complete, compat=True)
    result |= as_original(of_all, means.values())
    if result["agg_value"] is None:
        return tally(result, seen)
    return tally(with_mean_interval(result, means, data_set(rows)), seen)


def probability_w_options(*, inputs: Inputs, **_: Any) -> Result:
    """Probability of the correct answer among the options."""
    pair = _correct_and_wrong(inputs, "prob")
    if isinstance(pair, dict):
        return pair
    compat = any(result.get("missing") for result in inputs.values())
    result = formulas.probability_w_options(correct_prob=pair[0], wrong_prob=pair[1], compat=compat)
    if compat:
        result = as_original(result, column(result, "prob").values())
        if result["agg_value"] is None:
            return result
    return with_mean_interval(result, column(result, "prob"), data_set(inputs))


def truth_ratio(*, inputs: Inputs, params: Mapping[str, Any], **_: Any) -> Result:
    """Truth ratio of every row and the mean after the aggregator."""
    pair = _correct_and_wrong(inputs, "avg_loss")
    if isinstance(pair, dict):
        return pair
    aggregator = str(params.get("aggregator"))
    compat = any(result.get("missing") for result in inputs.values())
    result = ratios.truth_ratio(
        aggregator=aggregator, correct_avg_loss=pair[0], wrong_avg_loss=pair[1], compat=compat
    )
    if compat:
        result = as_original(result, column(result, "score").values())
        if result["agg_value"] is None:
            return result | carried(inputs)
    return described(result | carried(inputs), aggregator, data_set(inputs))


def described(result: Result, aggregator: str, of: str) -> Result:
    """A truth ratio with its meaning, its distribution and its interval.

    Args:
        result: With the ratio of every row as `score`.
        aggregator: What makes one number of them.
        of: Data set of the rows.
    """
    if aggregator not in ratios.AGGREGATORS:
        return result
    scores = by_row.usable(column(result, "score").values())
    if aggregator != "prob_mean":
        result = result | {"distributions": {"log10 of the truth ratio": drawn(scores)}}
    added = ratios.AGGREGATORS[aggregator]
    contributions = {
        index: added(score)
        for index, score in column(result, "score").items()
        if by_row.finite(score)
    }
    return with_mean_interval(result | {"explain": RATIO_MEANINGS[aggregator]}, contributions, of)


def _correct_and_wrong(inputs: Inputs, name: str) -> tuple[dict[str, Any], dict[str, Any]] | Result:
    """The same column of the correct and of the wrong answers' probabilities.

    A result where one has no rows.
    """
    correct = next((score for score in inputs if "_PERT_" not in score), "")
    wrong = next((score for score in inputs if "_PERT_" in score), "")
    absence = _no_rows(inputs, correct) or _no_rows(inputs, wrong)
    if absence:
        return absence
    own = column(inputs[correct], name)
    others = column(inputs[wrong], name)
    if any(result.get("missing") for result in inputs.values()):
        # A value that a row lacks is NaN in OpenUnlearning, and not absent.
        own = {index: value if by_row.finite(value) else math.nan for index, value in own.items()}
        others = {index: by_row.values_or_nan(value) for index, value in others.items()}
    return own, others


def _no_rows(inputs: Inputs, score: str) -> Result | None:
    """Returns why a score has no rows; None where it has."""
    result = inputs.get(score, {})
    if by_index(result):
        return None
    named = score or "a score this one needs"
    return no_value(result.get("reason") or f"no rows of {named}")
