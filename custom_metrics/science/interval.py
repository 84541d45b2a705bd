"""The uncertainty of a corpus-level score.

It comes from what each row adds to the score, by rows or by documents that share rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from custom_metrics.science.overlap import MAX_ORDER
from custom_metrics.science.rows import Row
from custom_metrics.science.tasks import Task
from custom_metrics.statistics import Influence, influence_of_counts, influence_of_mean

Array = NDArray[np.float64]


def _safe(top: Array, bottom: Array) -> Array:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _f1(correct: Array, preds: Array, refs: Array) -> Array:
    """F1 as 2 correct / (preds + refs).

    That is the harmonic mean of correct / preds and correct / refs.
    """
    return _safe(2 * correct, preds + refs)


def _bleu(pred_length: Array, ref_length: Array, *grams: Array) -> Array:
    matches = np.stack(grams[:MAX_ORDER])
    totals = np.stack(grams[MAX_ORDER:])
    precisions = np.maximum(_safe(matches, totals), np.finfo(float).tiny)
    logs = np.log(precisions).mean(axis=0)
    ratio = ref_length / np.maximum(pred_length, 1)
    penalty = np.exp(np.minimum(0, 1 - ratio))
    has_matches = (matches > 0).all(axis=0)
    return np.where(has_matches, penalty * np.exp(logs), 0.0)


class _Formula(NamedTuple):
    """A metric as a function of sums over rows, and the counts that are summed."""

    function: Callable[..., Array]
    columns: tuple[str, ...]

    @property
    def is_mean(self) -> bool:
        """Returns whether the metric is a plain mean over rows."""
        return self.columns[1:] == (_ROWS,)

    def of_sums(self, sums: Array) -> float:
        """Returns the metric; the functions take arrays."""
        columns = [np.atleast_1d(total) for total in sums]
        return float(self.function(*columns)[0])


def _f1_of(correct: str, preds: str, refs: str) -> _Formula:
    return _Formula(_f1, (correct, preds, refs))


def _mean_of(column: str) -> _Formula:
    return _Formula(_safe, (column, _ROWS))


_ORDERS = range(1, MAX_ORDER + 1)
_BLEU_COLUMNS = (
    "bleu_pred_length",
    "bleu_ref_length",
    *(f"bleu_match{order}" for order in _ORDERS),
    *(f"bleu_total{order}" for order in _ORDERS),
)
_ROWS = "rows"
_FORMULAS: dict[tuple[str, str], _Formula] = {
    ("list", "f1"): _f1_of("correct", "preds", "refs"),
    ("ner", "f1"): _f1_of("typed_correct", "typed_preds", "typed_refs"),
    ("relation", "f1_exact"): _f1_of("exact", "preds", "refs"),
    ("relation", "f1_substring"): _f1_of("substring", "preds", "refs"),
    ("relation", "f1_overlap"): _f1_of("overlap", "preds", "refs"),
    ("relation", "f1_overlap_strict"): _f1_of("strict", "preds", "refs"),
    ("fact", "f1_label"): _f1_of("label_correct", "label_preds", "label_refs"),
    ("fact", "f1_evidence_sent"): _f1_of("sentence_correct", "sentence_preds", "sentence_refs"),
    ("fact", "f1_evidence_token"): _f1_of("token_correct", "token_preds", "token_refs"),
    ("qa", "f1_answer"): _mean_of("answer_f1"),
    ("qa", "f1_evidence"): _mean_of("evidence_f1"),
    ("summary", "rouge"): _mean_of("rougeL"),
    ("text", "bleu"): _Formula(_bleu, _BLEU_COLUMNS),
}


def influence(
    task: Task, metric: str, rows: Sequence[Row], keys: Sequence[str]
) -> Influence | None:
    """Returns what each row adds to a summary metric, for intervals of one run and of two.

    None without a formula.

    Args:
        task: The task.
        metric: A summary metric of the task.
        rows: All rows.
        keys: What each row shares with others: its document, else the row itself.
    """
    formula = _FORMULAS.get((task.kind, metric))
    if formula is None or not rows:
        return None
    if formula.is_mean:  # where rows stand alone, with the test of a task
        values = _column(rows, formula.columns[0])
        return influence_of_mean(keys, values, _column(rows, _ROWS))
    counts = [[row.counts.get(column, 0) for column in formula.columns] for row in rows]
    return influence_of_counts(keys, counts, formula.of_sums)


def _column(rows: Sequence[Row], name: str) -> list[float]:
    """One count of all rows; 0 of a row without it."""
    return [row.counts.get(name, 0) for row in rows]
