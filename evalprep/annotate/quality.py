"""The quality of a judge.

Agreement with another or with a person, what it owes to place and length, calibration.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from custom_metrics.statistics.agreement import (
    agreement_interval,
    cohen_kappa,
    krippendorff_alpha,
    pearson_correlation,
    spearman_correlation,
)
from custom_metrics.statistics.mean import (
    Estimate,
    mean_interval,
    proportion_interval,
    wilson_interval,
)
from evalprep.annotate.answers import Question
from evalprep.errors import BadInput, Problem
from evalprep.files import read_text
from evalprep.packs import PREFERENCE

#: By sample: (task, sample id) -> value name -> number.
RowRatings = Mapping[tuple[str, str], Mapping[str, float]]
#: By sample: order in which the two answers were shown -> verdicts.
_Verdicts = dict[tuple[str, str], dict[str, list[float]]]
#: By sample: characters of the two answers.
_Lengths = dict[tuple[str, str], tuple[int, int]]


@dataclass(frozen=True)
class Agreement:
    """Agreement of two raters on one value.

    Args:
        value: What was rated.
        n: Samples that both rated.
        same: Share with equal ratings, with Wilson's interval.
        kappa, weighted_kappa: Cohen's, plain and with quadratic weights, with bootstrap intervals.
        alpha: Krippendorff's, of intervals.
        pearson, spearman: Correlations with Fisher's intervals.
        difference: Mean of the first rater's minus the second's.
    """

    value: str
    n: int
    same: dict[str, Any]
    kappa: dict[str, Any]
    weighted_kappa: dict[str, Any]
    alpha: float | None
    pearson: dict[str, Any]
    spearman: dict[str, Any]
    difference: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def agreement(first: RowRatings, second: RowRatings) -> list[Agreement]:
    """Agreement on every value that both have, over the samples that both rated."""
    names = _value_names(first) & _value_names(second)
    return [_agreement_on(name, first, second) for name in sorted(names)]


def _value_names(ratings: RowRatings) -> set[str]:
    return set(chain.from_iterable(ratings.values()))


def _agreement_on(name: str, first: RowRatings, second: RowRatings) -> Agreement:
    """Agreement on one value."""
    both = [row for row in first if name in first[row] and name in second.get(row, {})]
    a = [first[row][name] for row in both]
    b = [second[row][name] for row in both]
    pairs = list(zip(a, b, strict=True))
    equal = sum(x == y for x, y in pairs)
    differences = [x - y for x, y in pairs]
    quadratic_kappa = partial(cohen_kappa, weights="quadratic")
    alpha = krippendorff_alpha([a, b]) if both else math.nan
    return Agreement(
        value=name,
        n=len(both),
        same=_share_of_count(equal, len(both)),
        kappa=_plain(agreement_interval(a, b, statistic=cohen_kappa)),
        weighted_kappa=_plain(agreement_interval(a, b, statistic=quadratic_kappa)),
        alpha=_number(alpha),
        pearson=_plain(pearson_correlation(a, b)),
        spearman=_plain(spearman_correlation(a, b)),
        difference=_plain(mean_interval(differences)),
    )


def _share_of_count(count: int, n: int) -> dict[str, Any]:
    """A share with Wilson's interval; None where there is nothing to count."""
    if not n:
        return {"value": None, "low": None, "high": None}
    low, high = wilson_interval(count, n)
    return {"value": count / n, "low": low, "high": high}


def ratings_of(questions: Sequence[Question]) -> dict[tuple[str, str], dict[str, float]]:
    """The values of some questions, by sample; votes by their mean."""
    columns: dict[tuple[str, str], dict[str, list[float]]] = {}
    for question in questions:
        if not question.item.step:
            sample = question.item.samples[0]
            for name, number in (question.judgement().values or {}).items():
                columns.setdefault((sample.task, sample.sample_id), {}).setdefault(name, []).append(
                    number
                )
    return {
        key: {name: math.fsum(numbers) / len(numbers) for name, numbers in values.items()}
        for key, values in columns.items()
    }


def read_labels(file: Path) -> dict[tuple[str, str], dict[str, float]]:
    """A person's labels: CSV or JSON Lines with `task`, `sample_id` and a column per value.

    Raises:
        BadInput: no such file, no such columns, or labels that are no numbers.
    """
    try:
        text = read_text(file, own=True, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(Problem(what=f"cannot be read: {error}", where=str(file))) from error
    try:
        labels: dict[tuple[str, str], dict[str, float]] = {}
        for row in _label_rows(text, json_lines=file.suffix in {".jsonl", ".json"}):
            # The finite numbers of a row, by column.
            numbers = {
                name: float(value)
                for name, value in row.items()
                if name not in {"task", "sample_id"} and value != ""
            }
            labels[str(row["task"]), str(row["sample_id"])] = {
                name: number for name, number in numbers.items() if math.isfinite(number)
            }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise BadInput(
            Problem(
                what=f"holds no labels: {type(error).__name__}: {error}",
                where=str(file),
                allowed="CSV or JSON Lines with task, sample_id and a number per value (named "
                "as the rating)",
            )
        ) from error
    return labels


def _label_rows(text: str, *, json_lines: bool) -> list[dict[str, Any]]:
    """The rows of JSON Lines, else of CSV."""
    if json_lines:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return list(csv.DictReader(io.StringIO(text)))


@dataclass(frozen=True)
class Preferences:
    """The outcome of a comparison of two runs.

    Args:
        n: Pairs with a verdict in both orders.
        win_rate: Mean preference for the first run over both orders, with its interval.
        wins, ties, losses: Pairs by their mean preference.
        flips: Pairs whose verdict followed the place and not the answer.
        first_place: Share of verdicts for the answer that was shown first, ties as a half.
        longer: Share of verdicts for the longer answer, among pairs of unequal length.
    """

    n: int
    win_rate: dict[str, Any]
    wins: int
    ties: int
    losses: int
    flips: dict[str, Any]
    first_place: dict[str, Any]
    longer: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def preferences(questions: Sequence[Question]) -> Preferences:
    """Wins, and the bias for place and length, of questions that were asked in both orders."""
    verdicts, lengths = _verdicts(questions)
    in_both_orders = {key: by_order for key, by_order in verdicts.items() if len(by_order) == 2}
    means = {}
    flips = 0
    # Shown first is run 1 in the first order and run 2 in the second.
    wins_of_first_place: list[float] = []
    for key, by_order in in_both_orders.items():
        mean_by_order = {
            order: math.fsum(values) / len(values) for order, values in by_order.items()
        }
        means[key] = (mean_by_order["first"] + mean_by_order["second"]) / 2
        if (mean_by_order["first"] - 0.5) * (mean_by_order["second"] - 0.5) < 0:
            flips += 1
        wins_of_first_place += [mean_by_order["first"], 1 - mean_by_order["second"]]
    pairs = len(in_both_orders)
    # Preference for the longer answer, of pairs of unequal length.
    preference = []
    for key, mean in means.items():
        first, second = lengths[key]
        if first != second:
            preference.append(mean if first > second else 1 - mean)
    return Preferences(
        n=pairs,
        win_rate=_share(list(means.values())),
        wins=sum(mean > 0.5 for mean in means.values()),
        ties=sum(mean == 0.5 for mean in means.values()),
        losses=sum(mean < 0.5 for mean in means.values()),
        flips={**_share_of_count(flips, pairs), "count": flips},
        first_place=_share(wins_of_first_place, pairs),
        longer=_share(preference),
    )


def _verdicts(questions: Sequence[Question]) -> tuple[_Verdicts, _Lengths]:
    """Verdicts of every pair by the order it was shown in, and the lengths of its two answers."""
    verdicts: _Verdicts = {}
    lengths: _Lengths = {}
    for question in questions:
        values, about = question.judgement().values, question.item.about
        if values and PREFERENCE in values and "order" in about:
            sample = question.item.samples[0]
            key = (sample.task, sample.sample_id)
            by_order = verdicts.setdefault(key, {})
            by_order.setdefault(str(about["order"]), []).append(values[PREFERENCE])
            lengths[key] = tuple(about["lengths"])
    return verdicts, lengths


def length_bias(
    questions: Sequence[Question], lengths: Mapping[tuple[str, str], int]
) -> dict[str, dict[str, Any]]:
    """Rank correlation of each value with the length of the rated reply.

    A judge of content should owe little to it.
    """
    rated = ratings_of(questions)
    correlations = {}
    for name in sorted(_value_names(rated)):
        keys = [key for key in rated if name in rated[key] and key in lengths]
        correlations[name] = _plain(
            spearman_correlation([lengths[key] for key in keys], [rated[key][name] for key in keys])
        )
    return correlations


def _share(numbers: Sequence[float], n: int | None = None) -> dict[str, Any]:
    """Mean of numbers from 0 to 1, with Wilson's interval.

    Its interval has a width also where all numbers are equal.
    """
    if not numbers:
        return {"value": None, "low": None, "high": None, "n": 0}
    count = len(numbers) if n is None else n
    mean = min(1.0, max(0.0, math.fsum(numbers) / len(numbers)))
    low, high = proportion_interval(mean, count)
    return {"value": mean, "low": low, "high": high, "n": count}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": _number(estimate.value),
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
    }
