"""Metrics over all rows together (F1, MCC, BLEU, perplexity).

They are compared by what the rows hold of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from custom_metrics.statistics import Missing, PairedUnits
from custom_metrics.statistics.perplexity import FEWEST_TEXTS
from evalprep.compare.agreement import join_directions
from evalprep.compare.comparable import GOLD
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import BITS, POINTS, RATIO, Difference, from_evidence, with_missing
from evalprep.compare.pairing import Floats, ScoredRows, with_run
from evalprep.compare.reasons import Kind, Reason
from evalprep.compare.settings import Settings
from evalprep.compare.task import direction_of, document_codes
from evalprep.results import Metric, Table, TaskRun

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
_POSITIVE_ROWS = 20  # with fewer rows of a positive gold label, F1 stands on too little
_LOWER = frozenset({"ter", "brier_score"})  # by their definition, whatever is logged
_EXPECTED = {  # what the rows of a metric are to hold
    "f1": "pairs of gold and predicted label",
    "mcc": "pairs of gold and predicted label",
    "brier_score": "pairs of gold label and probabilities",
}
_TEXT_PAIRS = "pairs of reference and reply"
_NO_TEST = "no test for this score"
_NOT_READABLE = (ValueError, TypeError, ZeroDivisionError, IndexError, KeyError)


class UnreadableRowsError(ValueError):
    """Rows that do not hold what a metric is made of."""


@dataclass(frozen=True)
class WholeRows:
    """The values of one metric in the rows of two runs, pair by pair.

    Attributes:
        now, before: The values of both sides.
        units: Document of each pair; None where all rows are independent.
        left_out: Pairs with other gold answers, which are no missing rows.
        all_now, all_before: Whether the pairs are all rows of a side.
    """

    now: list[Any]
    before: list[Any]
    units: list[int | None] | None
    left_out: int = 0
    all_now: bool = False
    all_before: bool = False

    @property
    def sides(self) -> tuple[list[Any], list[Any]]:
        """Both sides, the candidate first."""
        return self.now, self.before


def is_whole(metric: Metric) -> bool:
    """True for a metric whose rows hold something that is no number."""
    if metric.kind == "function":
        return metric.value is not None
    return metric.kind == "counts"


def compare_whole(
    task: TaskRun,
    against: TaskRun,
    metric: str,
    settings: Settings,
    *,
    filter_name: str | None = None,
) -> Conclusion:
    """Compares one metric over all rows of two runs of a task."""
    chosen_filter = task.primary.filter if filter_name is None else filter_name
    now = task.metric(metric, chosen_filter)
    before = against.metric(metric, chosen_filter)
    now, contradictions = join_directions(now, before, settings.allow)
    rows = _rows_of(task, against, metric, chosen_filter, settings)
    is_perplexity = metric in PERPLEXITIES
    unit = _unit_without_test(now, before)
    result = Conclusion(
        f"{task.name}: {now.name}",
        "perplexity" if is_perplexity else "metric",
        Difference(
            n=len(rows.now),
            binary=False,
            made_of="counts",
            unit=unit,
            range=1.0 if unit == POINTS else None,
        ),
        metric=metric,
        filter=chosen_filter,
        reasons=contradictions,
    )
    try:
        if is_perplexity:
            _compare_likelihoods(result, metric, rows, settings.confidence)
        else:
            _compare_counts(result, now, before, rows, settings.confidence)
    except UnreadableRowsError as error:
        result.reasons.append(Reason(Kind.NO_TEST, said=f"{_NO_TEST}: {error}"))
    except _NOT_READABLE:
        expected = _EXPECTED.get(metric, _TEXT_PAIRS)
        where = f"metric {metric} of task {task.name}"
        reason = f"{_NO_TEST}: {where} has {_held_by(rows)}; expected {expected}"
        result.reasons.append(Reason(Kind.NO_TEST, said=reason))
    except ImportError:
        reason = f"{_NO_TEST}: {metric} takes the package sacrebleu"
        result.reasons.append(Reason(Kind.NO_TEST, said=reason))
    if not is_perplexity:
        _take_missing(result, task, against, rows, settings)
    difference = result.difference
    if difference.previous is None:  # what lm-eval says of all rows
        difference.now = now.value
        difference.previous = before.value
        difference.higher_is_better = direction_of(now)
    return result


def _held_by(rows: WholeRows) -> str:
    """What the rows of a metric hold, by the first of them."""
    first = next((value for value in chain(rows.now, rows.before) if value is not None), None)
    if isinstance(first, (int, float)):
        return "plain numbers"
    if isinstance(first, str):
        return "plain texts"
    if isinstance(first, dict):
        return "mappings"
    if isinstance(first, list) and first:
        kinds = {str: "texts", list: "lists", int: "numbers", float: "numbers", dict: "mappings"}
        of_kind = dict.fromkeys(kinds.get(type(part), "other values") for part in first)
        return f"lists of {len(first)} ({' and '.join(of_kind)})"
    return "no values"


def _take_missing(
    result: Conclusion, task: TaskRun, against: TaskRun, rows: WholeRows, settings: Settings
) -> None:
    """Widens the interval of a score of counts by the share of units that are missing."""
    item = result.difference
    if item.range is None or settings.pairing.partial or task.tool != against.tool:
        return
    tables = (side.table(result.filter) for side in (task, against))
    sizes = [len(set(table.ids)) for table in tables]
    sizes += [side.logged.rows.effective or 0 for side in (task, against)]
    pick = min if "limit" in settings.allow else max
    expected = pick(filter(None, sizes), default=0) - rows.left_out
    share = 1.0 - len(rows.now) / max(expected, 1)
    bound = max(share, 0.0) * item.range
    missing = Missing(max(share, 0.0), bound, bound)
    result.difference = with_missing(item, missing, settings.confidence)


def _unit_without_test(now: Metric, before: Metric) -> str:
    """Points for shares; empty for scores on another scale, or on one that is not known."""
    return POINTS if now.range == before.range == (0.0, 1.0) else ""


def _rows_of(
    task: TaskRun, against: TaskRun, metric: str, filter_name: str, settings: Settings
) -> WholeRows:
    table = task.table(filter_name)
    other = against.table(filter_name)
    pairs = with_run(
        ScoredRows(table, np.zeros(len(table)), task.tool),
        ScoredRows(other, np.zeros(len(other)), against.tool),
        settings.pairing,
        any_gold=GOLD in settings.allow,
    )
    codes = document_codes(table, pairs.rows, settings.cluster)
    units = None
    if codes is not None:
        units = [None if code < 0 else code for code in codes.tolist()]
    now = _row_contents(table, pairs.rows, metric)
    before = _row_contents(other, pairs.other_rows, metric)
    return WholeRows(
        now,
        before,
        units,
        left_out=0 if GOLD in settings.allow else len(pairs.other_gold),
        all_now=len(now) == len(table),
        all_before=len(before) == len(other),
    )


def _row_contents(table: Table, rows: NDArray[np.int64], metric: str) -> list[Any]:
    return [sample.metrics.get(metric) for sample in table.read(rows)]


def _kept_units(rows: WholeRows, kept: NDArray[np.bool_]) -> list[int | None] | None:
    """The documents of the rows that are kept; None where all rows are independent."""
    if rows.units is None:
        return None
    pairs = zip(rows.units, kept.tolist(), strict=True)
    return [unit for unit, is_kept in pairs if is_kept]


def _compare_likelihoods(
    result: Conclusion, metric: str, rows: WholeRows, confidence: float
) -> None:
    """Perplexities as a ratio, bits per byte as a difference in bits."""
    now = _likelihoods(rows.now)
    before = _likelihoods(rows.before)
    is_finite = np.isfinite(np.hstack([now, before]))
    good: NDArray[np.bool_] = np.all(is_finite, axis=1)
    dropped = int(np.sum(~good))
    if dropped:
        result.notes.append(f"{dropped} rows without a finite log-likelihood are left out")
    texts = int(good.sum())
    likelihoods, lengths = now[good, 0], now[good, 1]
    other_likelihoods, other_lengths = before[good, 0], before[good, 1]
    if not np.array_equal(lengths, other_lengths):
        result.reasons.append(Reason(Kind.TEXTS))
        return
    units = _kept_units(rows, good)
    known: dict[str, Any] = {
        "n": texts,
        "now": _value_of(metric, likelihoods, lengths),
        "previous": _value_of(metric, other_likelihoods, lengths),
        "binary": False,
        "made_of": "counts",
        "range": None,
    }
    if metric == BITS_PER_BYTE:
        bits = statistics.bits_difference(likelihoods, other_likelihoods, lengths, units)
        evidence = bits.difference.turned()
        relative_low, relative_high = bits.relative.interval(confidence)
        known["unit"] = BITS
        known["relative"] = bits.relative.value
        known["relative_low"] = relative_low
        known["relative_high"] = relative_high
    else:
        ratio = statistics.perplexity_ratio(likelihoods, other_likelihoods, lengths, units)
        evidence = ratio.difference
        known["unit"] = RATIO
    result.difference = from_evidence(
        evidence,
        confidence=confidence,
        higher_is_better=False,
        test="t, log-likelihoods",
        clusters=None if units is None else round(evidence.units),
        **known,
    )
    if texts < FEWEST_TEXTS:
        fewest = f"an interval of perplexities takes at least {FEWEST_TEXTS}"
        result.reasons.append(Reason(Kind.FEW_ROWS, said=f"{texts} texts: {fewest}"))


def _likelihoods(side: Sequence[Any]) -> Floats:
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


def _value_of(metric: str, likelihoods: Floats, lengths: Floats) -> float | None:
    total = math.fsum(lengths)
    if not total > 0:
        return None
    per_unit = -math.fsum(likelihoods) / total
    if metric == BITS_PER_BYTE:
        return per_unit / math.log(2.0)
    return math.exp(per_unit) if per_unit < 700 else math.inf


def _compare_counts(
    result: Conclusion, metric: Metric, before: Metric, rows: WholeRows, confidence: float
) -> None:
    """A score that is a function of counts which add up over rows."""
    read_sides = _reader(metric.metric, rows.sides)
    (counts, other_counts), score_of_sums = read_sides(rows.sides)
    now_value = score_of_sums(counts.sum(axis=0))
    before_value = score_of_sums(other_counts.sum(axis=0))
    if read_sides is _macro:
        # A task's own aggregation may make any number of pairs of subtask and number.
        _refuse_other_value(metric, now_value, is_complete=rows.all_now)
        _refuse_other_value(before, before_value, is_complete=rows.all_before)
    linearised = statistics.paired_counts(counts, other_counts, score_of_sums, rows.units)
    bounds = metric.range
    if bounds is None and read_sides is _macro and _are_shares(rows.sides):
        bounds = (0.0, 1.0)
    width = None
    if bounds is not None:
        low, high = bounds
        width = high - low
    evidence: PairedUnits = replace(linearised, widest=width)
    higher_is_better = False if metric.metric in _LOWER else direction_of(metric)
    result.difference = from_evidence(
        evidence.turned() if higher_is_better is False else evidence,
        confidence=confidence,
        higher_is_better=higher_is_better,
        n=len(rows.now),
        now=now_value,
        previous=before_value,
        binary=False,
        made_of="counts",
        unit=POINTS if bounds == (0.0, 1.0) else "",
        range=width or evidence.range,
        test="paired interval with pseudo-rows, linearised score",
    )
    if metric.metric == "f1":
        _check_positive_rows(result, counts)


def _check_positive_rows(result: Conclusion, counts: Floats) -> None:
    """Notes where too few rows have the positive gold label for F1."""
    hits, misses = counts[:, 0], counts[:, 2]
    positive = int((hits + misses).sum())
    if positive < _POSITIVE_ROWS:
        fewest = f"F1 takes at least {_POSITIVE_ROWS}"
        reason = f"{positive} rows with a positive gold label: {fewest}"
        result.reasons.append(Reason(Kind.FEW_ROWS, said=reason))


_Sides = Sequence[Sequence[Any]]
#: The counts of both sides, row by row, and the score of the sums of a side.
_Read = tuple[list[Floats], Callable[[Floats], float]]


def _reader(metric: str, sides: _Sides) -> Callable[[_Sides], _Read]:
    readers = {"f1": _f1, "mcc": _mcc, "brier_score": _brier}
    if metric in _TEXTS:
        return partial(_texts, metric)
    if metric not in readers and all(all(map(_is_of_subtask, side)) for side in sides):
        return _macro
    if metric not in readers:
        raise UnreadableRowsError(_not_known(metric))
    return readers[metric]


def _is_of_subtask(value: Any) -> bool:
    """Returns whether a row holds the name of its subtask and a number."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    return isinstance(value[0], str) and isinstance(value[1], (int, float))


def _macro(sides: _Sides) -> _Read:
    """Mean of the means of subtasks: pairs of subtask and number."""
    names = dict.fromkeys(name for name, _ in chain.from_iterable(sides))
    places = {name: place for place, name in enumerate(names)}
    counts = []
    for side in sides:
        sums_and_rows = np.zeros((len(side), 2 * len(places)))
        for row, (name, number) in enumerate(side):
            sums_and_rows[row, places[name]] = float(number)
            sums_and_rows[row, len(places) + places[name]] = 1.0
        counts.append(sums_and_rows)

    def value(sums: Floats) -> float:
        totals, numbers = np.split(sums, 2)
        present = numbers > 0
        if not present.any():
            return 0.0
        return float(np.mean(totals[present] / numbers[present]))

    return counts, value


def _are_shares(sides: _Sides) -> bool:
    """Returns whether all numbers of pairs of subtask and number lie between 0 and 1."""
    return all(0 <= number <= 1 for _, number in chain.from_iterable(sides))


def _refuse_other_value(metric: Metric, value: float, *, is_complete: bool) -> None:
    """Refuses rows that do not make the value that lm-eval logged of all of them.

    Raises:
        UnreadableRowsError: they do not.
    """
    if not is_complete or metric.value is None:
        return
    if not math.isclose(value, metric.value, rel_tol=1e-6, abs_tol=1e-9):
        raise UnreadableRowsError(_not_known(metric.metric))


def _not_known(metric: str) -> str:
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
        return _correlation(sums.reshape(size, size))

    return counts, value


def _correlation(confusion: NDArray[np.float64]) -> float:
    """Matthews' correlation of a confusion matrix, gold classes by predicted ones."""
    total = float(confusion.sum())
    right = float(np.trace(confusion))
    gold = confusion.sum(axis=1)
    predicted = confusion.sum(axis=0)
    by_chance = float(gold @ predicted)
    spread_predicted = total**2 - float(predicted @ predicted)
    spread_gold = total**2 - float(gold @ gold)
    bottom = math.sqrt(max(spread_predicted * spread_gold, 0.0))
    return (right * total - by_chance) / bottom if bottom > 0 else 0.0


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
        replies = [_reply_text(reply) for _, reply in side]
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


def _reply_text(reply: Any) -> str:
    return reply if isinstance(reply, str) else str(reply[0])
