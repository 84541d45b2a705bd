"""Means over a set and its categories, and the records that fmeval saves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

RECORD_COLUMNS = (
    "model_input",
    "prompt",
    "model_output",
    "model_log_probability",
    "target_output",
    "category",
    "context",
    "sent_more_input",
    "sent_less_input",
    "sent_more_prompt",
    "sent_less_prompt",
    "sent_more_log_prob",
    "sent_less_log_prob",
    "error",
)
"""Columns of a saved record in their order; the scores come last."""


def _mean(values: Sequence[Any]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def aggregate(*, rows: Sequence[Mapping[str, Any]], score_names: Sequence[str]) -> dict[str, Any]:
    """Mean of each score over a set and over each category.

    Rows without a value are left out of that mean.

    Args:
        rows: Mappings with the scores, and `category` where there are any.
        score_names: Names of the scores.

    Returns:
        `dataset`: name -> mean, None where no row has a value; `categories`: category -> the same,
        or None where no row has a category.

    >>> aggregate(rows=[{"s": 0.25}, {"s": 0.75}], score_names=["s"])
    {'dataset': {'s': 0.5}, 'categories': None}
    """
    by_category: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("category") is not None:
            by_category.setdefault(str(row["category"]), []).append(row)
    categories = {
        category: _means(rows_of_category, score_names)
        for category, rows_of_category in by_category.items()
    }
    return {"dataset": _means(rows, score_names), "categories": categories or None}


def _means(
    rows: Sequence[Mapping[str, Any]], score_names: Sequence[str]
) -> dict[str, float | None]:
    """Score -> its mean over the rows."""
    return {name: _mean([row.get(name) for row in rows]) for name in score_names}


def output_record(*, row: Mapping[str, Any], score_names: Sequence[str]) -> dict[str, Any]:
    """Writes a row as fmeval saves it: its known columns in order, then its scores.

    Args:
        row: Columns and scores; other keys are left out.
        score_names: Names of the scores.

    Returns:
        The columns there are, and `scores`, a list of `name` with `value`, or with `error` where
        the row has an error and no value.

    >>> output_record(row={"model_output": "o", "junk": 1, "s": 0.5}, score_names=["s"])
    {'model_output': 'o', 'scores': [{'name': 's', 'value': 0.5}]}
    """
    record: dict[str, Any] = {name: row[name] for name in RECORD_COLUMNS if name in row}
    scores: list[dict[str, Any]] = []
    for name in score_names:
        value = row.get(name)
        if value is None and row.get("error"):
            scores.append({"name": name, "error": row["error"]})
        else:
            scores.append({"name": name, "value": value})
    record["scores"] = scores
    return record


def output_path(
    *,
    dir: str,  # noqa: A002 - the argument's public name
    eval_name: str,
    dataset_name: str,
) -> str:
    """Path of the records that fmeval saves.

    Args:
        dir: Folder.
        eval_name: Name of the algorithm.
        dataset_name: Name of the data set.

    >>> output_path(dir="eval_results", eval_name="toxicity", dataset_name="bold")
    'eval_results/toxicity_bold.jsonl'
    """
    return str(PurePosixPath(dir) / f"{eval_name}_{dataset_name}.jsonl")


def score_equality(*, a: float | None, b: float | None, abs_tol: float = 1e-3) -> bool:
    """Tells whether two scores are one to fmeval, which allows for 0.001 between them.

    Args:
        a: One score, or None.
        b: The other.
        abs_tol: Allowed distance; beside it a relative one of 1e-9 is always allowed.
    """
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, abs_tol=abs_tol)


METRICS = {
    "fm.aggregate": aggregate,
    "fm.output_path": output_path,
    "fm.output_record": output_record,
    "fm.score_equality": score_equality,
}
