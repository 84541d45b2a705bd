"""The uncertainty of a corpus-level score.

What each row adds to it, by rows or by documents that share rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    """2 correct / (preds + refs).

    Which is the harmonic mean of correct / preds and correct / refs.
    """
    return _safe(2 * correct, preds + refs)


def _bleu(pred_length: Array, ref_length: Array, *grams: Array) -> Array:
    matches = np.stack(grams[:MAX_ORDER])
    totals = np.stack(grams[MAX_ORDER:])
    logs = np.log(np.maximum(_safe(matches, totals), np.finfo(float).tiny)).mean(axis=0)
    penalty = np.exp(np.minimum(0, 1 - ref_length / np.maximum(pred_length, 1)))
    return np.where((matches > 0).all(axis=0), penalty * np.exp(logs), 0.0)


Formula = tuple[Callable[..., Array], tuple[str, ...]]


def _f1_of(correct: str, preds: str, refs: str) -> Formula:
    return _f1, (correct, preds, refs)


_BLEU_COLUMNS = (
    "bleu_pred_length",
    "bleu_ref_length",
    *(f"bleu_match{order}" for order in range(1, MAX_ORDER + 1)),
    *(f"bleu_total{order}" for order in range(1, MAX_ORDER + 1)),
)
_ROWS = "rows"
_FORMULAS: dict[tuple[str, str], Formula] = {
    ("list", "f1"): _f1_of("correct", "preds", "refs"),
    ("ner", "f1"): _f1_of("typed_correct", "typed_preds", "typed_refs"),
    ("relation", "f1_exact"): _f1_of("exact", "preds", "refs"),
    ("relation", "f1_substring"): _f1_of("substring", "preds", "refs"),
    ("relation", "f1_overlap"): _f1_of("overlap", "preds", "refs"),
    ("relation", "f1_overlap_strict"): _f1_of("strict", "preds", "refs"),
    ("fact", "f1_label"): _f1_of("label_correct", "label_preds", "label_refs"),
    ("fact", "f1_evidence_sent"): _f1_of("sentence_correct", "sentence_preds", "sentence_refs"),
    ("fact", "f1_evidence_token"): _f1_of("token_correct", "token_preds", "token_refs"),
    ("qa", "f1_answer"): (_safe, ("answer_f1", _ROWS)),
    ("qa", "f1_evidence"): (_safe, ("evidence_f1", _ROWS)),
    ("summary", "rouge"): (_safe, ("rougeL", _ROWS)),
    ("text", "bleu"): (_bleu, _BLEU_COLUMNS),
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
    function, columns = formula
    if columns[1:] == (_ROWS,):  # a plain mean: where rows stand alone, with the test of a task
        means = [row.counts.get(columns[0], 0) for row in rows]
        return influence_of_mean(keys, means, [row.counts.get(_ROWS, 0) for row in rows])
    counts = [[row.counts.get(column, 0) for column in columns] for row in rows]
    return influence_of_counts(
        keys, counts, lambda sums: float(function(*(np.atleast_1d(total) for total in sums))[0])
    )
