"""Metrics over all rows of a task (F1, MCC, BLEU, perplexity), from what the rows hold of them.

`score` computes their values where the results file has none; `compare` computes both sides'
values over the rows that both have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evalprep.numbers import finite_number
from evalprep.results import TaskRun
from evalprep.samples import Metric

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU, CHRF, TER

PERPLEXITIES = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
BITS_PER_BYTE = "bits_per_byte"
# Class of sacrebleu and its arguments, as lm-eval calls them.
_TEXTS: dict[str, tuple[str, dict[str, int]]] = {
    "bleu": ("BLEU", {}),
    "chrf": ("CHRF", {}),
    "chrf++": ("CHRF", {"word_order": 2}),
    "ter": ("TER", {}),
}
#: What a reader raises about rows that do not hold what it takes.
NOT_READABLE = (ValueError, TypeError, ZeroDivisionError, IndexError, KeyError)

Floats = NDArray[np.float64]


class UnreadableRowsError(ValueError):
    """Rows that do not hold what a metric is made of."""


def value_over_rows(task: TaskRun, metric: Metric) -> float | None:
    """The value of a metric over all rows of a task; None where the rows do not make it.

    Pairs of a subtask and a number make one only where the results file says so: a task's own
    aggregation may make any number of them.
    """
    contents = [sample.metrics.get(metric.metric) for sample in task.samples(metric.filter)]
    if not contents:
        return None
    try:
        if metric.metric in PERPLEXITIES:
            columns = likelihoods_of(contents)
            columns = columns[np.isfinite(columns).all(axis=1)]
            value = value_of_likelihoods(metric.metric, columns[:, 0], columns[:, 1])
        else:
            read = counts_reader(metric.metric, [contents])
            if read is macro_of_pairs:
                return None
            (counts,), score_of_sums = read([contents])
            value = score_of_sums(counts.sum(axis=0))
    except (*NOT_READABLE, ImportError):
        return None
    return finite_number(value)


def likelihoods_of(side: Sequence[Any]) -> Floats:
    """Log-likelihood and length of each row of a side, as two columns."""
    lines = [_likelihood(value) for value in side]
    return np.array(lines, dtype=np.float64).reshape(-1, 2)


def _likelihood(value: Any) -> tuple[float, float]:
    """Log-likelihood and length of a row; `perplexity` logs the log-likelihood alone."""
    if isinstance(value, (int, float)):
        return float(value), 1.0
    if isinstance(value, list) and len(value) == 2:
        return float(value[0]), float(value[1])
    return math.nan, math.nan


def value_of_likelihoods(metric: str, likelihoods: Floats, lengths: Floats) -> float | None:
    """A perplexity or the bits per byte of some texts, from nats; None without any."""
    total = math.fsum(lengths)
    if not total > 0:
        return None
    per_unit = -math.fsum(likelihoods) / total
    if metric == BITS_PER_BYTE:
        return per_unit / math.log(2.0)
    return math.exp(per_unit) if per_unit < 700 else math.inf


_Sides = Sequence[Sequence[Any]]
#: The counts of both sides, row by row, and the score of the sums of a side.
_Read = tuple[list[Floats], Callable[[Floats], float]]


def counts_reader(metric: str, sides: _Sides) -> Callable[[_Sides], _Read]:
    """The function that reads counts which add up over rows, and the score of their sums.

    Raises:
        UnreadableRowsError: what the rows of a metric add to it is not known.
    """
    readers = {"f1": _f1, "mcc": _mcc, "brier_score": _brier}
    if metric in _TEXTS:
        return partial(_texts, metric)
    if metric not in readers and all(all(map(_is_of_subtask, side)) for side in sides):
        return macro_of_pairs
    if metric not in readers:
        raise UnreadableRowsError(not_known(metric))
    return readers[metric]


def _is_of_subtask(value: Any) -> bool:
    """Returns whether a row holds the name of its subtask and a number."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    return isinstance(value[0], str) and isinstance(value[1], (int, float))


def macro_of_pairs(sides: _Sides) -> _Read:
    """Mean of the means of subtasks: pairs of subtask and number.

    Subtasks of one row on each side are one stratum, since one row shows no spread of its own.
    """
    rows_of = [Counter(name for name, _ in side) for side in sides]
    names = dict.fromkeys(name for name, _ in chain.from_iterable(sides))
    lone = [name for name in names if all(rows[name] == 1 for rows in rows_of)]
    others = [name for name in names if any(rows[name] != 1 for rows in rows_of)]
    strata = [*others, *lone[:1]]
    places = {name: place for place, name in enumerate(others)}
    places |= dict.fromkeys(lone, len(others))
    subtasks = np.ones(len(strata))
    subtasks[len(others) :] = len(lone)
    counts = []
    for side in sides:
        sums_and_rows = np.zeros((len(side), 2 * len(strata)))
        for row, (name, number) in enumerate(side):
            sums_and_rows[row, places[name]] = float(number)
            sums_and_rows[row, len(strata) + places[name]] = 1.0
        counts.append(sums_and_rows)

    def value(sums: Floats) -> float:
        totals, numbers = np.split(sums, 2)
        present = numbers > 0
        if not present.any():
            return 0.0
        return float(np.average(totals[present] / numbers[present], weights=subtasks[present]))

    return counts, value


def are_shares(sides: _Sides) -> bool:
    """Returns whether all numbers of pairs of subtask and number lie between 0 and 1."""
    return all(0 <= number <= 1 for _, number in chain.from_iterable(sides))


def not_known(metric: str) -> str:
    """The sentence about rows of which it is not known what they add to a metric."""
    return f"what the rows of {metric} add to it is not known"


def _f1(sides: _Sides) -> _Read:
    """Binary F1 of label 1, as lm-eval's `f1`: pairs of gold and predicted label."""
    if not _labels(sides) <= {0, 1}:
        raise UnreadableRowsError("labels beyond 0 and 1")
    counts = []
    for side in sides:
        lines = []
        for gold, predicted in side:
            is_hit = gold == predicted == 1
            is_false_alarm = gold == 0 and predicted == 1
            is_miss = gold == 1 and predicted == 0
            lines.append([is_hit, is_false_alarm, is_miss])
        counts.append(np.array(lines, dtype=np.float64).reshape(-1, 3))

    def value(sums: Floats) -> float:
        hits, false_alarms, misses = sums
        bottom = 2 * hits + false_alarms + misses
        return float(2 * hits / bottom) if bottom > 0 else 0.0

    return counts, value


def _labels(sides: _Sides) -> set[Any]:
    labels = set()
    for side in sides:
        for gold, predicted in side:
            labels |= {gold, predicted}
    return labels


def _mcc(sides: _Sides) -> _Read:
    """Matthews' correlation for any number of classes (Gorodkin 2004).

    It is computed from the confusion matrix.
    """
    labels = sorted(_labels(sides), key=str)
    size = len(labels)
    place = {label: number for number, label in enumerate(labels)}
    counts = []
    for side in sides:
        lines = np.zeros((len(side), size * size))
        for row, (gold, predicted) in enumerate(side):
            cell = place[gold] * size + place[predicted]
            lines[row, cell] = 1.0
        counts.append(lines)

    def value(sums: Floats) -> float:
        confusion = sums.reshape(size, size)  # gold classes by predicted ones
        total = float(confusion.sum())
        right = float(np.trace(confusion))
        gold = confusion.sum(axis=1)
        predicted = confusion.sum(axis=0)
        by_chance = float(gold @ predicted)
        spread_predicted = total**2 - float(predicted @ predicted)
        spread_gold = total**2 - float(gold @ gold)
        bottom = math.sqrt(max(spread_predicted * spread_gold, 0.0))
        return (right * total - by_chance) / bottom if bottom > 0 else 0.0

    return counts, value


def _brier(sides: _Sides) -> _Read:
    """Mean squared distance of the probabilities from the gold class: [sum, rows]."""
    counts = []
    for side in sides:
        lines = [[_squared_distance(gold, chances), 1.0] for gold, chances in side]
        counts.append(np.array(lines, dtype=np.float64).reshape(-1, 2))

    def value(sums: Floats) -> float:
        distance, rows = sums
        return float(distance / rows) if rows else 0.0

    return counts, value


def _squared_distance(gold: Any, chances: Sequence[float]) -> float:
    """The squared distance of the probabilities of a row from its gold class."""
    target = np.zeros(len(chances))
    target[int(gold)] = 1.0
    distance = np.asarray(chances, dtype=np.float64) - target
    return float(np.sum(distance**2))


def _texts(metric: str, sides: _Sides) -> _Read:
    """Corpus BLEU, chrF, chrF++ and TER of pairs of reference and reply.

    They are computed through sacrebleu's own sentence statistics.
    """
    import sacrebleu.metrics as scorers

    name, arguments = _TEXTS[metric]
    scorer_class = getattr(scorers, name)
    scorer = scorer_class(**arguments)
    counts = []
    for side in sides:
        references = [_references(reference) for reference, _ in side]
        # As lm-eval does: every row counts with as many references as the row with the fewest has.
        streams = [list(stream) for stream in zip(*references, strict=False)]
        replies = [reply if isinstance(reply, str) else str(reply[0]) for _, reply in side]
        # sacrebleu has no public way to its sentence statistics.
        lines = scorer._extract_corpus_statistics(replies, streams)  # noqa: SLF001
        counts.append(np.array(lines, dtype=np.float64))

    if isinstance(scorer, scorers.BLEU):
        return counts, partial(_bleu_of_sums, scorer)
    return counts, partial(_score_of_sums, scorer)


def _score_of_sums(scorer: CHRF | TER, sums: Floats) -> float:
    """The score of summed sentence statistics."""
    score = scorer._compute_score_from_stats(sums.tolist())  # noqa: SLF001
    return float(score.score)


def _bleu_of_sums(scorer: BLEU, sums: Floats) -> float:
    """The same of BLEU, its precisions times the brevity penalty min(1, exp(1 - r / c)).

    sacrebleu cuts the lengths r and c to whole words: a slope in one of them would be a step,
    thousands of times too steep where replies are short.
    """
    orders = scorer.max_ngram_order
    reply_length = float(sums[0])
    reference_length = float(sums[1])
    if not reply_length > 0:
        return 0.0
    precision = scorer.compute_bleu(
        correct=sums[2 : 2 + orders].tolist(),
        total=sums[2 + orders :].tolist(),
        sys_len=1,
        ref_len=1,
        smooth_method=scorer.smooth_method,
        smooth_value=scorer.smooth_value,
        effective_order=scorer.effective_order,
        max_ngram_order=orders,
    )
    penalty = math.exp(min(0.0, 1.0 - reference_length / reply_length))
    return float(precision.score) * penalty


def _references(reference: Any) -> list[str]:
    if isinstance(reference, str):
        return [reference]
    return [str(text) for text in reference]
