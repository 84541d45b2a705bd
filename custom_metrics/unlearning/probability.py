"""Length-normalised answer probability and its aggregates.

The probability comes from logits, token log-probabilities or their sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics.unlearning import by_row

#: Keeps the normalised probability of a row whose options all have probability zero at 0.
EPSILON = 1e-10
#: Label of a token that is not scored.
IGNORED = -100


def _token_logprobs(logits: Sequence[Sequence[float]], labels: Sequence[int]) -> list[float]:
    """Log-probabilities (float32) of the labelled tokens.

    The logits at t-1 predict the token at t.
    """
    if len(labels) < 2:
        return []
    # The logits at a place are for the token after it.
    scores: NDArray[np.float32] = np.asarray(logits, dtype=np.float32)[: len(labels) - 1]
    shifted = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(shifted).sum(axis=-1, keepdims=True)
    log_softmax = shifted - np.log(weights)
    targets = np.asarray(labels[1:], dtype=np.int64)
    positions = np.flatnonzero(targets != IGNORED)
    logprobs: list[float] = log_softmax[positions, targets[positions]].tolist()
    return logprobs


def probability_from_sum(
    *, sum_logprob: float | None, num_tokens: int, compat: bool = False
) -> dict[str, float | None]:
    """Averages loss and length-normalised probability of one answer.

    `avg_loss = -sum / n`, `prob = exp(-avg_loss)`: the geometric mean of the token probabilities,
    natural logarithm, end-of-sequence token counted (OpenUnlearning, `evaluate_probability`). Range
    of `prob`: [0, 1].

    Args:
        sum_logprob: Sum of the log-probabilities of the `S_all` tokens.
        num_tokens: Their number; 0 gives None for both.
        compat: NaN for both there, as in OpenUnlearning.

    >>> probability_from_sum(sum_logprob=0.0, num_tokens=3)
    {'prob': 1.0, 'avg_loss': 0.0}
    """
    if num_tokens <= 0 or not by_row.finite(sum_logprob):
        return dict.fromkeys(("prob", "avg_loss"), math.nan if compat else None)
    avg_loss = 0.0 - float(sum_logprob or 0.0) / num_tokens
    return {"prob": math.exp(min(-avg_loss, 0.0)), "avg_loss": avg_loss}


def probability_from_logits(
    *,
    logits: Sequence[Sequence[float]],
    labels: Sequence[int],
    input_ids: Sequence[int] | None = None,
    compat: bool = False,
) -> dict[str, float | None]:
    """Averages loss and probability of the labelled tokens of one sequence.

    Args:
        logits: Shape [T][V]; row t scores the token at t+1.
        labels: Token ids of length T, -100 where a token is not scored. The first token is never
            scored.
        input_ids: Accepted for completeness; the labels carry the ids that count.
        compat: NaN instead of None, and a label on the first token counts in the length, as in
            OpenUnlearning.

    Returns:
        `prob` and `avg_loss`, both None where no token is scored.
    """
    del input_ids
    logprobs = _token_logprobs(logits, labels)
    count = sum(label != IGNORED for label in labels) if compat else len(logprobs)
    return probability_from_sum(sum_logprob=math.fsum(logprobs), num_tokens=count, compat=compat)


def tokenwise_logprobs_from_logits(
    *,
    logits: Sequence[Sequence[float]],
    labels: Sequence[int],
    input_ids: Sequence[int] | None = None,
    compat: bool = False,
) -> dict[str, list[float]]:
    """Log-probabilities of the `S_cut` tokens: all labelled tokens but the last.

    Args:
        logits: Shape [T][V].
        labels: Token ids of length T, -100 where a token is not scored.
        input_ids: Token ids; without them those of the labels.
        compat: All tokens from the first to the last but one labelled, those between without a
            label included, and read from `input_ids`, as in OpenUnlearning.

    Returns:
        `token_logprobs`, natural logarithm, in order; empty for fewer than two labelled tokens.
    """
    if not compat:
        return {"token_logprobs": _token_logprobs(logits, labels)[:-1]}
    labelled = [place for place, label in enumerate(labels) if label != IGNORED][:-1]
    if not labelled:
        return {"token_logprobs": []}
    known = labels if input_ids is None else input_ids
    targets = [max(int(token), 0) for token in known]
    logprobs = _token_logprobs(logits, targets)
    return {"token_logprobs": logprobs[labelled[0] - 1 : labelled[-1]]}


def probability_aggregate(
    *, value_by_index: Mapping[str, Mapping[str, Any]], compat: bool = False
) -> dict[str, Any]:
    """Mean probability over rows; a row with several answers counts with the mean over its answers.

    Lists may have different lengths. Lower is better on forgotten data, higher elsewhere.

    Args:
        value_by_index: Row -> `{"prob": number or list}`.
        compat: A NaN makes the mean NaN, as in OpenUnlearning.

    Returns:
        `agg_value` in [0, 1], or None without a usable row, and `skipped`.

    >>> values = {"0": {"prob": [0.2, 0.4]}, "1": {"prob": 0.5}}
    >>> probability_aggregate(value_by_index=values)["agg_value"]
    0.4
    """
    if compat:
        return {"agg_value": by_row.mean_or_nan(_means_as_the_original(value_by_index))}
    per_row = [by_row.mean(by_row.entries(row.get("prob"))) for row in value_by_index.values()]
    kept = [value for value in per_row if value is not None]
    return by_row.counted(
        {"agg_value": by_row.mean(kept)}, no_scored_token=len(per_row) - len(kept)
    )


def _means_as_the_original(value_by_index: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """The probability of each row that has one; the mean where it has several."""
    for row in value_by_index.values():
        probability = row.get("prob")
        if probability is None:
            continue
        is_list = isinstance(probability, (list, tuple))
        yield by_row.mean_or_nan(probability) if is_list else probability


def probability_w_options(
    *, correct_prob: Mapping[str, Any], wrong_prob: Mapping[str, Any], compat: bool = False
) -> dict[str, Any]:
    """Probability of the correct answer among the options: `p / (p + sum_j p_j + 1e-10)`.

    Formula of OpenUnlearning (`probability_w_options`), on length-normalised probabilities; TOFU's
    own has no 1e-10. Range [0, 1], higher is better.

    Args:
        correct_prob: Row -> probability of the correct answer.
        wrong_prob: Row -> probability, or list of probabilities, of the wrong answers.
        compat: A NaN makes its row and the mean NaN; rows that one side lacks are left out, and the
            values after them move up to the rows before, as in OpenUnlearning.

    Returns:
        `agg_value`, `value_by_index` (row -> `{"prob"}`) and `skipped`.
    """
    if compat:
        return _w_options_as_the_original(correct_prob, wrong_prob)
    wrong_by_row = by_row.by_string(wrong_prob)
    values: dict[str, dict[str, float | None]] = {}
    kept: list[float] = []
    for index, correct in by_row.by_string(correct_prob).items():
        wrong = by_row.entries(wrong_by_row.get(index))
        if not by_row.finite(correct) or not wrong:
            values[index] = {"prob": None}
            continue
        share = correct / (correct + math.fsum(wrong) + EPSILON)
        values[index] = {"prob": share}
        kept.append(share)
    return by_row.counted(
        {"agg_value": by_row.mean(kept), "value_by_index": values},
        no_scored_token=len(values) - len(kept),
    )


def _w_options_as_the_original(
    correct_prob: Mapping[str, Any], wrong_prob: Mapping[str, Any]
) -> dict[str, Any]:
    """The shares as OpenUnlearning has them: of the rows in order, whatever their index."""
    shares = []
    for correct, wrong in by_row.pairs(correct_prob, wrong_prob):
        shares.append(correct / (correct + by_row.total_or_nan(wrong) + EPSILON))
    indices = by_row.by_string(correct_prob)
    return {
        "agg_value": by_row.mean_or_nan(shares),
        "value_by_index": {
            index: {"prob": share} for index, share in zip(indices, shares, strict=False)
        },
    }


METRICS = {
    "unlearning.probability_aggregate": probability_aggregate,
    "unlearning.probability_from_logits": probability_from_logits,
    "unlearning.probability_from_sum": probability_from_sum,
    "unlearning.probability_w_options": probability_w_options,
    "unlearning.tokenwise_logprobs_from_logits": tokenwise_logprobs_from_logits,
}
