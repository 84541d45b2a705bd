"""Metrics over all rows together (F1, MCC, BLEU, perplexity).

They are compared by what the rows hold of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from custom_metrics import statistics
from custom_metrics.statistics import Missing, PairedUnits
from custom_metrics.statistics.perplexity import FEWEST_TEXTS
from evalprep.compare.agreement import direction_of, join_directions
from evalprep.compare.comparable import GOLD
from evalprep.compare.difference import (
    BITS,
    POINTS,
    RATIO,
    Difference,
    differing_value,
    from_evidence,
    with_missing,
)
from evalprep.compare.documents import Codes, document_codes
from evalprep.compare.pairing import Floats
from evalprep.compare.quantities import Measured
from evalprep.compare.reasons import Kind, Reason
from evalprep.compare.settings import Settings
from evalprep.compare.sides import PairedMetric
from evalprep.samples import UNKNOWN, Flags, Metric, Paired, Rows, Table
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
#: What the paired rows of both sides hold of a metric, the candidate first.
Contents = tuple[list[Any], list[Any]]


def key_over_rows(task: str, metric: Metric) -> str:
    """The key of a metric over all rows; transforms of one likelihood share it."""
    return f"{task}: {'likelihood' if metric.metric in PERPLEXITIES else metric.key}"


def kind_over_rows(metric: Metric) -> str:
    """The kind of a quantity over all rows."""
    return "perplexity" if metric.metric in PERPLEXITIES else "metric"


def measure_whole(paired: PairedMetric, settings: Settings) -> Measured:
    """Measures one metric over all rows of two runs of a task.

    Args:
        paired: The metric and the rows that met.
        settings: Levels, limits, and what may differ.
    """
    name, table, match = paired.metric.metric, paired.table, paired.pairs.match
    any_gold = GOLD in settings.allow
    now, before = (task.metric(name, table.filter) for _, _, task in paired.sides.named)
    now, contradictions = join_directions(now, before, settings.allow)
    kept = match.kept(settings.pairing, any_gold=any_gold)
    places = match.left[kept], match.right[kept]
    contents = [
        _contents(side.table, rows, name) for side, rows in zip(match.sides, places, strict=True)
    ]
    scored = [
        at
        for at, (own, base) in enumerate(zip(*contents, strict=True))
        if own is not None and base is not None
    ]
    sides = [contents[0][at] for at in scored], [contents[1][at] for at in scored]
    units = document_codes(match, places[0][scored], places[1][scored], settings.cluster)
    measured = _measured((now, before), sides, match, units, settings.confidence)
    item = measured.difference
    if name not in PERPLEXITIES:
        left_out = 0 if any_gold else int(match.gold_differs.sum())
        item = _with_missing(item, paired, len(sides[0]), left_out, settings)
    if item.previous is None:  # what lm-eval says of all rows
        item = replace(
            item, now=now.value, previous=before.value, higher_is_better=direction_of(now)
        )
    item = replace(
        item,
        own_now=differing_value(now.value, item.now),
        own_previous=differing_value(before.value, item.previous),
    )
    return Measured(item, [*contradictions, *measured.reasons], measured.notes)


def _contents(table: Table, rows: Rows, metric: str) -> list[Any]:
    """What some rows hold of a metric; None of a row without it, and of one whose scorer failed."""
    failed = table.scoring_failed[rows].tolist()
    samples = zip(table.read(rows.tolist()), failed, strict=True)
    return [None if has_failed else sample.metrics.get(metric) for sample, has_failed in samples]


def _measured(
    metrics: tuple[Metric, Metric],
    sides: Contents,
    match: Paired,
    units: Codes | None,
    confidence: float,
) -> Measured:
    """The difference that rows make; without one, the reason.

    Args:
        metrics: As each side states it.
        sides: What the paired rows of each side hold.
        match: The pairs.
        units: Document of each pair; None where all rows are independent.
        confidence: Of the interval.
    """
    metric = metrics[0].metric
    try:
        if metric in PERPLEXITIES:
            return _compare_likelihoods(metric, sides, units, confidence)
        return _compare_counts(metrics, sides, match, units, confidence)
    except UnreadableRowsError as error:
        why = f"{error}: they hold {_held_by(sides)}"
    except NOT_READABLE:
        expected = _EXPECTED.get(metric, _TEXT_PAIRS)
        why = f"the rows of {metric} have {_held_by(sides)}; expected {expected}"
    except ImportError:
        why = f"{metric} takes the package sacrebleu"
    # A score of which no difference is known, in points where both sides count in shares.
    is_share = metrics[0].range == metrics[1].range == (0.0, 1.0)
    values = Difference(
        n=len(sides[0]),
        binary=False,
        made_of="counts",
        unit=POINTS if is_share else "",
        range=1.0 if is_share else None,
    )
    return Measured(values, [Reason(Kind.NO_TEST, said=f"{_NO_TEST}: {why}")])


def _held_by(sides: Contents) -> str:
    """What the rows of a metric hold, by the first of them."""
    first = next((value for value in chain(*sides) if value is not None), None)
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
    item: Difference, paired: PairedMetric, rows: int, left_out: int, settings: Settings
) -> Difference:
    """Widens the interval of a score of counts by the share of units that are missing.

    Args:
        item: The score.
        paired: Its metric.
        rows: Pairs that count.
        left_out: Pairs with other gold answers, which are no missing rows.
        settings: What may be missing.
    """
    if item.range is None or settings.pairing.partial or len(set(paired.pairs.tools)) > 1:
        return item
    sizes = [side.table.id_count for side in paired.pairs.match.sides]
    sizes += [task.logged.rows.effective or 0 for _, _, task in paired.sides.named]
    pick = min if "limit" in settings.allow else max
    expected = pick(filter(None, sizes), default=0) - left_out
    share = 1.0 - rows / max(expected, 1)
    bound = max(share, 0.0) * item.range
    return with_missing(item, Missing(max(share, 0.0), bound, bound), settings.confidence)


def _compare_likelihoods(
    metric: str, sides: Contents, units: Codes | None, confidence: float
) -> Measured:
    """Perplexities as a ratio, bits per byte as a difference in bits."""
    now, before = map(likelihoods_of, sides)
    is_finite = np.isfinite(np.hstack([now, before]))
    good: Flags = np.all(is_finite, axis=1)
    dropped = int(np.sum(~good))
    notes = [f"{dropped} rows without a finite log-likelihood are left out"] if dropped else []
    texts = int(good.sum())
    likelihoods, lengths = now[good, 0], now[good, 1]
    other_likelihoods, other_lengths = before[good, 0], before[good, 1]
    if not np.array_equal(lengths, other_lengths):
        nothing = Difference(n=len(sides[0]), binary=False, made_of="counts", unit="", range=None)
        return Measured(nothing, [Reason(Kind.TEXTS)], notes)
    groups = None if units is None else _units_of(units[good])
    known: dict[str, Any] = {
        "n": texts,
        "now": value_of_likelihoods(metric, likelihoods, lengths),
        "previous": value_of_likelihoods(metric, other_likelihoods, lengths),
        "binary": False,
        "made_of": "counts",
        "range": None,
    }
    if metric == BITS_PER_BYTE:
        bits = statistics.bits_difference(likelihoods, other_likelihoods, lengths, groups)
        evidence = bits.difference.turned()
        relative_low, relative_high = bits.relative.interval(confidence)
        known["unit"] = BITS
        known["relative"] = bits.relative.value
        known["relative_low"] = relative_low
        known["relative_high"] = relative_high
        exchanged = statistics.bits_difference(other_likelihoods, likelihoods, lengths, groups)
        share = exchanged.relative
        known["relative_exchanged"] = share.value, *share.interval(confidence)
    else:
        ratio = statistics.perplexity_ratio(likelihoods, other_likelihoods, lengths, groups)
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


def _units_of(codes: Codes) -> list[int | None]:
    """The document of each row; None for a row of its own."""
    return [None if code == UNKNOWN else code for code in codes.tolist()]


def _compare_counts(
    metrics: tuple[Metric, Metric],
    sides: Contents,
    match: Paired,
    units: Codes | None,
    confidence: float,
) -> Measured:
    """A score that is a function of counts which add up over rows."""
    metric = metrics[0]
    read_sides = counts_reader(metric.metric, sides)
    (counts, other_counts), score_of_sums = read_sides(sides)
    values = score_of_sums(counts.sum(axis=0)), score_of_sums(other_counts.sum(axis=0))
    if read_sides is macro_of_pairs:
        # A task's own aggregation may make any number of pairs of subtask and number.
        for stated, value, side in zip(metrics, values, match.sides, strict=True):
            if len(sides[0]) != len(side) or stated.value is None:
                continue
            if not math.isclose(value, stated.value, rel_tol=1e-6, abs_tol=1e-9):
                raise UnreadableRowsError(not_known(stated.metric))
    groups = None if units is None else _units_of(units)
    linearised = statistics.paired_counts(counts, other_counts, score_of_sums, groups)
    bounds = metric.range
    if bounds is None and read_sides is macro_of_pairs and are_shares(sides):
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
        n=len(sides[0]),
        now=values[0],
        previous=values[1],
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
