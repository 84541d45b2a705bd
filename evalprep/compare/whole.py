"""Metrics over all rows together (F1, MCC, BLEU, perplexity).

They are compared by what the rows hold of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from custom_metrics.statistics import Missing, PairedUnits
from custom_metrics.statistics.perplexity import FEWEST_TEXTS
from evalprep.compare.agreement import join_directions
from evalprep.compare.comparable import GOLD
from evalprep.compare.difference import BITS, POINTS, RATIO, Difference, from_evidence, with_missing
from evalprep.compare.pairing import Floats
from evalprep.compare.quantities import Measured
from evalprep.compare.reasons import Kind, Reason
from evalprep.compare.settings import Settings
from evalprep.compare.task import direction_of, document_codes
from evalprep.results import Metric, Table, TaskRun
from evalprep.samples import pair_rows
from evalprep.score import (
    BITS_PER_BYTE,
    NOT_READABLE,
    PERPLEXITIES,
    UnreadableRowsError,
    are_shares,
    counts_reader,
    likelihoods_of,
    macro_of_pairs,
    not_known,
    value_of_likelihoods,
)

_POSITIVE_ROWS = 20  # with fewer rows of a positive gold label, F1 stands on too little
_LOWER = frozenset({"ter", "brier_score"})  # by their definition, whatever is logged
_EXPECTED = {  # what the rows of a metric are to hold
    "f1": "pairs of gold and predicted label",
    "mcc": "pairs of gold and predicted label",
    "brier_score": "pairs of gold label and probabilities",
}
_TEXT_PAIRS = "pairs of reference and reply"
_NO_TEST = "no test for this score"


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


def key_over_rows(task: str, metric: Metric) -> str:
    """The key of a metric over all rows; transforms of one likelihood share it."""
    return f"{task}: {'likelihood' if metric.metric in PERPLEXITIES else metric.key}"


def kind_over_rows(metric: Metric) -> str:
    """The kind of a quantity over all rows."""
    return "perplexity" if metric.metric in PERPLEXITIES else "metric"


def measure_whole(
    task: TaskRun, against: TaskRun, metric: str, settings: Settings, filter_name: str | None = None
) -> Measured:
    """Measures one metric over all rows of two runs of a task.

    Args:
        task: The candidate's.
        against: The baseline's.
        metric: Name of the metric.
        settings: Levels, limits, and what may differ.
        filter_name: That of the task's primary metric by default.
    """
    chosen_filter = task.primary.filter if filter_name is None else filter_name
    now = task.metric(metric, chosen_filter)
    before = against.metric(metric, chosen_filter)
    now, contradictions = join_directions(now, before, settings.allow)
    rows = _rows_of(task, against, metric, chosen_filter, settings)
    measured = _measured(now, before, rows, settings.confidence)
    difference = measured.difference
    if metric not in PERPLEXITIES:
        difference = _with_missing(difference, task, against, rows, chosen_filter, settings)
    if difference.previous is None:  # what lm-eval says of all rows
        difference = replace(
            difference, now=now.value, previous=before.value, higher_is_better=direction_of(now)
        )
    return Measured(difference, [*contradictions, *measured.reasons], measured.notes)


def _measured(now: Metric, before: Metric, rows: WholeRows, confidence: float) -> Measured:
    """The difference that rows make; without one, the reason."""
    metric = now.metric
    try:
        if metric in PERPLEXITIES:
            return _compare_likelihoods(metric, rows, confidence)
        return _compare_counts(now, before, rows, confidence)
    except UnreadableRowsError as error:
        why = f"{error}: they hold {_held_by(rows)}"
    except NOT_READABLE:
        expected = _EXPECTED.get(metric, _TEXT_PAIRS)
        why = f"the rows of {metric} have {_held_by(rows)}; expected {expected}"
    except ImportError:
        why = f"{metric} takes the package sacrebleu"
    return Measured(
        _without_test(now, before, rows), [Reason(Kind.NO_TEST, said=f"{_NO_TEST}: {why}")]
    )


def _without_test(now: Metric, before: Metric, rows: WholeRows) -> Difference:
    """A score of which no difference is known, in points where both sides count in shares."""
    is_share = now.range == before.range == (0.0, 1.0)
    return Difference(
        n=len(rows.now),
        binary=False,
        made_of="counts",
        unit=POINTS if is_share else "",
        range=1.0 if is_share else None,
    )


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


def _with_missing(
    item: Difference,
    task: TaskRun,
    against: TaskRun,
    rows: WholeRows,
    filter_name: str,
    settings: Settings,
) -> Difference:
    """Widens the interval of a score of counts by the share of units that are missing."""
    if item.range is None or settings.pairing.partial or task.tool != against.tool:
        return item
    tables = (side.table(filter_name) for side in (task, against))
    sizes = [len(set(table.ids)) for table in tables]
    sizes += [side.logged.rows.effective or 0 for side in (task, against)]
    pick = min if "limit" in settings.allow else max
    expected = pick(filter(None, sizes), default=0) - rows.left_out
    share = 1.0 - len(rows.now) / max(expected, 1)
    bound = max(share, 0.0) * item.range
    return with_missing(item, Missing(max(share, 0.0), bound, bound), settings.confidence)


def _rows_of(
    task: TaskRun, against: TaskRun, metric: str, filter_name: str, settings: Settings
) -> WholeRows:
    table = task.table(filter_name)
    other = against.table(filter_name)
    rules, any_gold = settings.pairing, GOLD in settings.allow
    match = pair_rows(table, other, tools=(task.tool, against.tool), rules=rules)
    kept = match.kept(rules, any_gold=any_gold)
    codes = document_codes(table, match, match.left[kept], settings.cluster)
    units = None
    if codes is not None:
        units = [None if code < 0 else code for code in codes.tolist()]
    now = _row_contents(table, match.left[kept], metric)
    before = _row_contents(other, match.right[kept], metric)
    return WholeRows(
        now,
        before,
        units,
        left_out=0 if any_gold else int(match.gold_differs.sum()),
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


def _compare_likelihoods(metric: str, rows: WholeRows, confidence: float) -> Measured:
    """Perplexities as a ratio, bits per byte as a difference in bits."""
    now = likelihoods_of(rows.now)
    before = likelihoods_of(rows.before)
    is_finite = np.isfinite(np.hstack([now, before]))
    good: NDArray[np.bool_] = np.all(is_finite, axis=1)
    dropped = int(np.sum(~good))
    notes = [f"{dropped} rows without a finite log-likelihood are left out"] if dropped else []
    texts = int(good.sum())
    likelihoods, lengths = now[good, 0], now[good, 1]
    other_likelihoods, other_lengths = before[good, 0], before[good, 1]
    if not np.array_equal(lengths, other_lengths):
        nothing = Difference(n=len(rows.now), binary=False, made_of="counts", unit="", range=None)
        return Measured(nothing, [Reason(Kind.TEXTS)], notes)
    units = _kept_units(rows, good)
    known: dict[str, Any] = {
        "n": texts,
        "now": value_of_likelihoods(metric, likelihoods, lengths),
        "previous": value_of_likelihoods(metric, other_likelihoods, lengths),
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
    item = from_evidence(
        evidence,
        confidence=confidence,
        higher_is_better=False,
        test="t, log-likelihoods",
        clusters=None if units is None else round(evidence.units),
        **known,
    )
    if texts >= FEWEST_TEXTS:
        return Measured(item, notes=notes)
    fewest = f"{texts} texts: an interval of perplexities takes at least {FEWEST_TEXTS}"
    return Measured(item, [Reason(Kind.FEW_ROWS, said=fewest)], notes)


def _compare_counts(metric: Metric, before: Metric, rows: WholeRows, confidence: float) -> Measured:
    """A score that is a function of counts which add up over rows."""
    read_sides = counts_reader(metric.metric, rows.sides)
    (counts, other_counts), score_of_sums = read_sides(rows.sides)
    now_value = score_of_sums(counts.sum(axis=0))
    before_value = score_of_sums(other_counts.sum(axis=0))
    if read_sides is macro_of_pairs:
        # A task's own aggregation may make any number of pairs of subtask and number.
        _refuse_other_value(metric, now_value, is_complete=rows.all_now)
        _refuse_other_value(before, before_value, is_complete=rows.all_before)
    linearised = statistics.paired_counts(counts, other_counts, score_of_sums, rows.units)
    bounds = metric.range
    if bounds is None and read_sides is macro_of_pairs and are_shares(rows.sides):
        bounds = (0.0, 1.0)
    width = None
    if bounds is not None:
        low, high = bounds
        width = high - low
    evidence: PairedUnits = replace(linearised, widest=width)
    higher_is_better = False if metric.metric in _LOWER else direction_of(metric)
    item = from_evidence(
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
    return Measured(item, _few_positive_rows(counts) if metric.metric == "f1" else [])


def _few_positive_rows(counts: Floats) -> list[Reason]:
    """The reason where too few rows have the positive gold label for F1."""
    hits, misses = counts[:, 0], counts[:, 2]
    positive = int((hits + misses).sum())
    if positive >= _POSITIVE_ROWS:
        return []
    fewest = f"F1 takes at least {_POSITIVE_ROWS}"
    return [Reason(Kind.FEW_ROWS, said=f"{positive} rows with a positive gold label: {fewest}")]


def _refuse_other_value(metric: Metric, value: float, *, is_complete: bool) -> None:
    """Refuses rows that do not make the value that lm-eval logged of all of them.

    Raises:
        UnreadableRowsError: they do not.
    """
    if not is_complete or metric.value is None:
        return
    if not math.isclose(value, metric.value, rel_tol=1e-6, abs_tol=1e-9):
        raise UnreadableRowsError(not_known(metric.metric))
