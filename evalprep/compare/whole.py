"""Metrics that exist for all rows together (F1, MCC, BLEU, perplexity), compared by what the rows hold of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from custom_metrics.statistics import PairedUnits
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import Difference, from_evidence
from evalprep.compare.pairing import Floats, meet
from evalprep.results import TaskRun
from evalprep.results.sample import OVER_ALL_ROWS
from evalprep.results.scan import first_line

PERPLEXITIES = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
# Class of sacrebleu and its arguments, as lm-eval calls them.
_TEXTS: dict[str, tuple[str, dict[str, int]]] = {
    "bleu": ("BLEU", {}),
    "chrf": ("CHRF", {}),
    "chrf++": ("CHRF", {"word_order": 2}),
    "ter": ("TER", {}),
}
_LOWER = frozenset({*PERPLEXITIES, "ter", "brier_score"})
_POSITIVE_ROWS = 20  # with fewer rows of a positive gold label, F1 stands on too little


def whole_metrics(task: TaskRun) -> list[str]:
    """Names of the metrics over all rows that a task's lines hold values for.

    A mapping is what the aggregation of a pack adds up: only where lm-eval did so is there a number to show.
    """
    first = first_line(task.path)
    found = {} if first is None else {name: one for name, one in first.metrics.items() if name in OVER_ALL_ROWS}
    return [
        name
        for name, value in found.items()
        if not isinstance(value, Mapping) or f"{name},{task.primary.filter}" in task.scores
    ]


def compare_whole(task: TaskRun, against: TaskRun, metric: str, *, confidence: float) -> Conclusion:
    """Compare one metric over all rows of two runs of a task."""
    table, other = task.table(), against.table()
    rows, other_rows = meet(table, other)
    values = [
        [sample.metrics.get(metric) for sample in one.read(chosen)]
        for one, chosen in ((table, rows), (other, other_rows))
    ]
    codes = table.cluster[rows] if table.clusters else None
    units = None if codes is None else [None if code < 0 else int(code) for code in codes.tolist()]
    kind = "perplexity" if metric in PERPLEXITIES else "metric"
    result = Conclusion(f"{task.name}: {metric}", kind, Difference(n=len(rows), binary=False, made_of="counts"))
    try:
        if metric in PERPLEXITIES:
            _perplexity(result, metric, values, units, confidence)
        else:
            _counts(result, metric, values, units, confidence)
    except (ValueError, TypeError, ZeroDivisionError, IndexError, KeyError, ImportError) as error:
        result.not_enough.append(f"no test for this score: its rows cannot be read ({error})")
    if result.difference.previous is None:  # what lm-eval says of all rows
        for side, one in (("now", task), ("previous", against)):
            logged = one.scores.get(f"{metric},{one.primary.filter}")
            if isinstance(logged, (int, float)) and math.isfinite(logged):
                setattr(result.difference, side, float(logged))
    return result


def _perplexity(
    result: Conclusion, metric: str, values: Sequence[Sequence[Any]], units: Any, confidence: float
) -> None:
    sides = [np.array([_likelihood(one) for one in side], dtype=np.float64).reshape(-1, 2) for side in values]
    good: NDArray[np.bool_] = np.all(np.isfinite(np.hstack(sides)), axis=1)
    if left_out := int(np.sum(~good)):
        result.notes.append(f"{left_out} rows without a finite log-likelihood are left out")
    if not np.array_equal(sides[0][good, 1], sides[1][good, 1]):
        result.not_comparable.append("another question: the texts of the two runs differ in length")
        return
    kept = None if units is None else [unit for unit, here in zip(units, good.tolist(), strict=True) if here]
    lengths = sides[0][good, 1]
    ratio = statistics.perplexity_ratio(sides[0][good, 0], sides[1][good, 0], lengths, kept)
    result.difference = from_evidence(
        ratio.difference,
        confidence=confidence,
        higher_is_better=False,
        n=int(good.sum()),
        now=_perplexity_of(metric, sides[0][good, 0], lengths),
        previous=_perplexity_of(metric, sides[1][good, 0], lengths),
        binary=False,
        made_of="counts",
        unit="ratio",
        range=None,
        test="t, log-likelihoods",
        clusters=None if kept is None else round(ratio.difference.units),
    )
    if not ratio.enough:
        result.not_enough.append(f"{ratio.texts} texts: an interval of perplexities takes at least 50")


def _likelihood(value: Any) -> tuple[float, float]:
    """Log-likelihood and length of a row; `perplexity` logs the log-likelihood alone."""
    if isinstance(value, (int, float)):
        return float(value), 1.0
    if isinstance(value, list) and len(value) == 2:
        return float(value[0]), float(value[1])
    return math.nan, math.nan


def _perplexity_of(metric: str, likelihoods: Floats, lengths: Floats) -> float:
    per_unit = -math.fsum(likelihoods) / math.fsum(lengths)
    if metric == "bits_per_byte":
        return per_unit / math.log(2.0)
    return math.exp(per_unit) if per_unit < 700 else math.inf


def _counts(result: Conclusion, metric: str, values: Sequence[Sequence[Any]], units: Any, confidence: float) -> None:
    counts, value = _reader(metric)(values)
    evidence: PairedUnits = statistics.paired_counts(counts[0], counts[1], value, units)
    lower = metric in _LOWER
    result.difference = from_evidence(
        evidence.turned() if lower else evidence,
        confidence=confidence,
        higher_is_better=not lower,
        n=len(values[0]),
        now=value(counts[0].sum(axis=0)),
        previous=value(counts[1].sum(axis=0)),
        binary=False,
        made_of="counts",
        unit="",
        range=evidence.range,
        test="rule G, linearised",
    )
    if metric == "f1" and (positive := int((counts[0][:, 0] + counts[0][:, 2]).sum())) < _POSITIVE_ROWS:
        result.not_enough.append(f"{positive} rows with a positive gold label: F1 takes at least {_POSITIVE_ROWS}")


_Read = tuple[list[Floats], Callable[[Floats], float]]


def _reader(metric: str) -> Callable[[Sequence[Sequence[Any]]], _Read]:
    if metric == "f1":
        return _f1
    if metric == "mcc":
        return _mcc
    if metric == "brier_score":
        return _brier
    if metric in _TEXTS:
        return lambda values: _texts(metric, values)
    raise ValueError(f"{metric} is not one of those that are known")


def _f1(values: Sequence[Sequence[Any]]) -> _Read:
    """Binary F1 of label 1, as lm-eval's `f1`: pairs of gold and predicted label."""
    labels = {label for side in values for pair in side for label in pair}
    if not labels <= {0, 1}:
        raise ValueError("labels beyond 0 and 1")
    counts = [
        np.array([[g == p == 1, g == 0 and p == 1, g == 1 and p == 0] for g, p in side], dtype=np.float64)
        for side in values
    ]

    def value(sums: Floats) -> float:
        bottom = 2 * sums[0] + sums[1] + sums[2]
        return float(2 * sums[0] / bottom) if bottom > 0 else 0.0

    return counts, value


def _mcc(values: Sequence[Sequence[Any]]) -> _Read:
    """Matthews' correlation for any number of classes (Gorodkin 2004), from the confusion matrix."""
    labels = sorted({label for side in values for pair in side for label in pair}, key=str)
    size, place = len(labels), {label: at for at, label in enumerate(labels)}
    counts = []
    for side in values:
        lines = np.zeros((len(side), size * size))
        for row, (gold, said) in enumerate(side):
            lines[row, place[gold] * size + place[said]] = 1.0
        counts.append(lines)

    def value(sums: Floats) -> float:
        table = sums.reshape(size, size)
        total, right = float(table.sum()), float(np.trace(table))
        gold, said = table.sum(axis=1), table.sum(axis=0)
        bottom = math.sqrt(max((total**2 - float(said @ said)) * (total**2 - float(gold @ gold)), 0.0))
        return (right * total - float(gold @ said)) / bottom if bottom > 0 else 0.0

    return counts, value


def _brier(values: Sequence[Sequence[Any]]) -> _Read:
    """Mean squared distance of the probabilities from the gold class: [sum, rows]."""
    counts = []
    for side in values:
        lines = []
        for gold, shares in side:
            target = np.zeros(len(shares))
            target[int(gold)] = 1.0
            lines.append([float(np.sum((np.asarray(shares, dtype=np.float64) - target) ** 2)), 1.0])
        counts.append(np.array(lines, dtype=np.float64).reshape(-1, 2))
    return counts, lambda sums: float(sums[0] / sums[1]) if sums[1] else 0.0


def _texts(metric: str, values: Sequence[Sequence[Any]]) -> _Read:
    """Corpus BLEU, chrF, chrF++ and TER through sacrebleu's own sentence statistics, pairs of reference and reply."""
    import sacrebleu.metrics as scorers

    name, arguments = _TEXTS[metric]
    scorer = getattr(scorers, name)(**arguments)
    counts = []
    for side in values:
        references = [[one] if isinstance(one, str) else [str(text) for text in one] for one, _ in side]
        # As lm-eval does: every row counts with as many references as the row with the fewest has.
        streams = [list(one) for one in zip(*references, strict=False)]
        replies = [said if isinstance(said, str) else str(said[0]) for _, said in side]
        # sacrebleu has no public way to its sentence statistics.
        counts.append(np.array(scorer._extract_corpus_statistics(replies, streams), dtype=np.float64))  # noqa: SLF001

    def value(sums: Floats) -> float:
        return float(scorer._compute_score_from_stats(sums.tolist()).score)  # noqa: SLF001

    return counts, value
