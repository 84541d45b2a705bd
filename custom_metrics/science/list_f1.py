"""F1 of answer lists (bioasq_list_qa, multicite_intent_classification)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import (
    FAULTY,
    Counts,
    add,
    fraction,
    normalize_list_entry,
    precision_recall_f1,
)


def _entries(values: Any, mode: str) -> tuple[set[str], bool, int]:
    """Normalised entries, whether they could be read, and how many parts were left out.

    A value that is no list has no entries in corrected mode; the original takes a string's
    characters or an object's keys. An entry that cannot be normalised is left out by itself; in the
    original it spoils the list, which becomes one empty, false entry.
    """
    if not is_compat(mode, "container") and not isinstance(values, list):
        return set(), False, 1
    try:
        entries = {normalize_list_entry(value) for value in values}
    except TypeError:
        if is_compat(mode, "faulty_part") or not isinstance(values, list):
            return {""}, False, 1
    else:
        return entries, True, 0
    readable = [entry for entry in map(_readable, values) if entry is not None]
    return set(readable), bool(readable), len(values) - len(readable)


def _readable(value: Any) -> str | None:
    try:
        return normalize_list_entry(value)
    except TypeError:
        return None


def list_counts(pred: Any, ref: Any, mode: str = CORRECTED) -> Counts:
    """Counts of one row.

    `correct`, `preds`, `refs`, and whether prediction and reference could be read.
    """
    predicted, pred_read, faulty = _entries(pred, mode)
    expected, ref_read, _ = _entries(ref, mode)
    return {
        "correct": len(predicted & expected),
        "preds": len(predicted),
        "refs": len(expected),
        "pred_read": int(pred_read),
        "pred_unread": int(not pred_read),
        "read": int(pred_read) + int(ref_read),
        "unread": int(not pred_read) + int(not ref_read),
        FAULTY: faulty,
    }


def list_result(counts: Mapping[str, float]) -> dict[str, Any]:
    """The result of `list_f1` from summed `list_counts`."""
    read = counts.get("read", 0)
    unread = counts.get("unread", 0)
    return {
        "f1": precision_recall_f1(
            counts.get("correct", 0), counts.get("preds", 0), counts.get("refs", 0)
        ),
        "parse_counts": {
            "success": read,
            "failure": unread,
            "frac_success": fraction(read, read + unread),
        },
    }


def list_f1(instances: Iterable[Mapping[str, Any]], mode: str = CORRECTED) -> dict[str, Any]:
    """Micro F1 of sets of normalised list entries, in [0, 1], higher is better.

    `correct` is the size of the intersection, summed over rows before precision and recall are
    formed. `parse_counts` counts predictions and references together, as the original does;
    `list_prediction_parse` counts predictions.

    Args:
        instances: Rows with `pred` and `ref`, each a JSON value.
        mode: "corrected" or "compat".

    Returns:
        `{"f1": {"p", "r", "f1"}, "parse_counts": {"success", "failure", "frac_success"}}`.

    >>> list_f1([{"pred": ["A", "b"], "ref": ["a"]}])["f1"]
    {'p': 0.5, 'r': 1.0, 'f1': 0.6666666666666666}
    """
    total: Counts = {}
    for instance in instances:
        add(total, list_counts(instance["pred"], instance["ref"], mode))
    return list_result(total)


def list_prediction_parse(
    instances: Iterable[Mapping[str, Any]], mode: str = CORRECTED
) -> dict[str, float]:
    """Returns how many predictions were readable lists; `frac_success` in [0, 1], higher is better.

    The fraction of the original mixes in the references, which are always readable, so it cannot
    fall below 0.5.
    """
    total: Counts = {"pred_read": 0, "pred_unread": 0}
    for instance in instances:
        add(total, list_counts(instance["pred"], instance["ref"], mode))
    return prediction_parse(total)


def prediction_parse(counts: Mapping[str, float]) -> dict[str, float]:
    """The result of `list_prediction_parse` from summed `list_counts`."""
    read = counts.get("pred_read", 0)
    unread = counts.get("pred_unread", 0)
    return {"success": read, "failure": unread, "frac_success": fraction(read, read + unread)}


METRICS: dict[str, Callable[..., Any]] = {
    "science.list_f1": list_f1,
    "science.list_prediction_parse": list_prediction_parse,
}
