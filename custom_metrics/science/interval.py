"""How sure a corpus-level score is: percentile bootstrap over rows, or over documents that share rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics.science.overlap import MAX_ORDER
from custom_metrics.science.rows import Row
from custom_metrics.science.tasks import Task
from custom_metrics.statistics import Influence, influence_of_counts

Array = NDArray[np.float64]
_BATCH = 250
RESAMPLES = 1_000


def _safe(top: Array, bottom: Array) -> Array:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _f1(correct: Array, preds: Array, refs: Array) -> Array:
    """2 correct / (preds + refs), which is the harmonic mean of correct / preds and correct / refs."""
    return _safe(2 * correct, preds + refs)


def _bleu(pred_length: Array, ref_length: Array, *grams: Array) -> Array:
    matches, totals = np.stack(grams[:MAX_ORDER]), np.stack(grams[MAX_ORDER:])
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
    ("qa", "f1_answer"): (_safe, ("answer_f1", "rows")),
    ("qa", "f1_evidence"): (_safe, ("evidence_f1", "rows")),
    ("summary", "rouge"): (_safe, ("rougeL", "rows")),
    ("text", "bleu"): (_bleu, _BLEU_COLUMNS),
}


def clustered(rows: Sequence[Row], clusters: Sequence[Any], columns: Sequence[str]) -> Array:
    """Counts summed within clusters, shape (clusters, columns); a row without a cluster (None) is one of its own."""
    place: dict[Any, int] = {}
    index = [
        place.setdefault(("row", number) if name is None else ("cluster", name), len(place))
        for number, name in enumerate(clusters)
    ]
    sums = np.zeros((len(place), len(columns)))
    values = np.array([[row.counts.get(column, 0) for column in columns] for row in rows], dtype=float)
    np.add.at(sums, index, values.reshape(len(rows), len(columns)))
    return sums


def bootstrap_interval(
    task: Task,
    metric: str,
    rows: Sequence[Row],
    clusters: Sequence[Any] | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Percentile bootstrap interval of a summary metric.

    Args:
        task: The task.
        metric: A summary metric of the task.
        rows: All rows.
        clusters: What each row shares with others, None for rows of their own.
        level: Coverage.
        resamples: Number of resamples.
        seed: Seed of the draws.

    Returns:
        (low, high), or None with fewer than two clusters or for a metric without a formula, such as a judge's rating.
    """
    values = bootstrap_values(task, metric, rows, clusters, resamples=resamples, seed=seed)
    return None if values is None else interval_of(values, level)


def interval_of(values: Array, level: float = 0.95) -> tuple[float, float]:
    """The central share of a bootstrap's values."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap_values(
    task: Task,
    metric: str,
    rows: Sequence[Row],
    clusters: Sequence[Any] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Array | None:
    """A summary metric over resampled rows.

    Rows (or whole clusters) are drawn with replacement, their counts summed, and the metric formed anew from the sums,
    as it is for the task itself (Efron 1979; Field and Welsh 2007 for clusters). With one seed, two metrics of the same
    rows are formed over the same draws, so that a mean of both may be taken draw by draw.

    Returns:
        One value per resample, or None as in `bootstrap_interval`.
    """
    formula = _FORMULAS.get((task.kind, metric))
    if formula is None or not rows:
        return None
    function, columns = formula
    sums = clustered(rows, [None] * len(rows) if clusters is None else clusters, columns)
    size = len(sums)
    if size < 2:
        return None
    generator = np.random.default_rng(seed)
    values: list[Array] = []
    for start in range(0, resamples, _BATCH):
        # Multinomial weights are the number of times that each cluster is drawn; batches bound the memory.
        weights = generator.multinomial(size, np.full(size, 1 / size), size=min(_BATCH, resamples - start))
        values.append(function(*(weights @ sums).T))
    return np.concatenate(values)


def influence(task: Task, metric: str, rows: Sequence[Row], keys: Sequence[str]) -> Influence | None:
    """What each row adds to a summary metric, for the paired interval of two runs; None without a formula.

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
    counts = [[row.counts.get(column, 0) for column in columns] for row in rows]
    return influence_of_counts(keys, counts, lambda sums: float(function(*(np.atleast_1d(one) for one in sums))[0]))
