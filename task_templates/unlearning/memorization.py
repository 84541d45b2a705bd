"""The share of a text that the model knows by heart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from custom_metrics.unlearning import memorization as formulas

from .results import Result, column, data_set, with_mean_interval
from .samples import Rows, answer, missing, option, position, responses, single, tally


def exact_memorization(*, rows: Rows, **_: Any) -> Result:
    """Share of tokens that the model predicts right when fed the true text."""
    return _over_greedy_flags(rows, formulas.exact_memorization)


def extraction_strength(*, rows: Rows, **_: Any) -> Result:
    """Share of the text that the model completes by itself."""
    samples = single(rows)
    # A refused text says nothing about the model; one that only tokenises to nothing counts 0, as
    # upstream.
    readable = {
        task: [
            row
            for row in task_rows
            if not any(response.refused for response in responses(row, "answer"))
        ]
        for task, task_rows in rows.items()
    }
    strict = bool(option(samples, "strict_extraction", default=False))
    result = _over_greedy_flags(readable, formulas.extraction_strength, strict=strict)
    refused = len(samples) - len(single(readable))
    if refused:
        return {**result, "skipped": result.get("skipped", {}) | {"too_long": refused}}
    return result


def _over_greedy_flags(rows: Rows, metric: Callable[..., Result], **options: Any) -> Result:
    """A metric of whether the most likely token is the true one.

    Over all scored tokens of a row but the last.
    """
    if empty := missing(rows):
        return empty
    samples = single(rows)
    seen = [answer(row) for row in samples]
    greedy = [list(response.greedy[:-1]) for response in seen]
    result = metric(
        rows=[{"pred_ids": flags, "label_ids": [True] * len(flags)} for flags in greedy], **options
    )
    values = result["value_by_index"].values()
    result["value_by_index"] = dict(zip(map(position, samples), values, strict=True))
    return tally(with_mean_interval(result, column(result, "score"), data_set(rows)), seen)
