"""How good a judge is: agreement with another or with a person, what it owes to place and length, calibration."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from custom_metrics.statistics.agreement import (
    agreement_interval,
    cohen_kappa,
    krippendorff_alpha,
    pearson_correlation,
    spearman_correlation,
)
from custom_metrics.statistics.mean import Estimate, mean_interval, proportion_interval, wilson_interval
from evalprep.annotate.answers import Question
from evalprep.errors import BadInput, Problem
from evalprep.packs.rubric import PREFERENCE

#: By sample: (task, sample id) -> value name -> number.
Ratings = Mapping[tuple[str, str], Mapping[str, float]]


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


def agreement(first: Ratings, second: Ratings) -> list[Agreement]:
    """Agreement on every value that both have, over the samples that both rated."""
    names = sorted({name for values in first.values() for name in values} & {n for v in second.values() for n in v})
    found = []
    for name in names:
        both = [key for key in first if name in first[key] and name in second.get(key, {})]
        a, b = [first[key][name] for key in both], [second[key][name] for key in both]
        equal = sum(x == y for x, y in zip(a, b, strict=True))
        low, high = wilson_interval(equal, len(both)) if both else (None, None)
        found.append(
            Agreement(
                name, len(both),
                {"value": equal / len(both) if both else None, "low": low, "high": high},
                _plain(agreement_interval(a, b, statistic=cohen_kappa)),
                _plain(agreement_interval(a, b, statistic=lambda x, y: cohen_kappa(x, y, weights="quadratic"))),
                _number(krippendorff_alpha([a, b]) if both else math.nan),
                _plain(pearson_correlation(a, b)), _plain(spearman_correlation(a, b)),
                _plain(mean_interval([x - y for x, y in zip(a, b, strict=True)])),
            )
        )  # fmt: skip
    return found


def ratings_of(questions: Sequence[Question]) -> dict[tuple[str, str], dict[str, float]]:
    """The values of some questions, by sample; votes by their mean."""
    columns: dict[tuple[str, str], dict[str, list[float]]] = {}
    for one in questions:
        if not one.item.step:
            sample = one.item.samples[0]
            for name, number in (one.judgement().values or {}).items():
                columns.setdefault((sample.task, sample.sample_id), {}).setdefault(name, []).append(number)
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
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(Problem(what=f"cannot be read: {error}", where=str(file))) from error
    try:
        rows = (
            [json.loads(line) for line in text.splitlines() if line.strip()]
            if file.suffix in {".jsonl", ".json"}
            else list(csv.DictReader(io.StringIO(text)))
        )
        found: dict[tuple[str, str], dict[str, float]] = {}
        for row in rows:
            key = (str(row["task"]), str(row["sample_id"]))
            numbers = {name: float(one) for name, one in row.items() if name not in {"task", "sample_id"} and one != ""}
            found[key] = {name: number for name, number in numbers.items() if math.isfinite(number)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise BadInput(
            Problem(
                what=f"holds no labels: {type(error).__name__}: {error}",
                where=str(file),
                allowed="CSV or JSON Lines with task, sample_id and a number per value (named as the rating)",
            )
        ) from error
    return found


@dataclass(frozen=True)
class Preferences:
    """What became of a comparison of two runs.

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
    pairs: dict[tuple[str, str], dict[str, list[float]]] = {}
    lengths: dict[tuple[str, str], tuple[int, int]] = {}
    for one in questions:
        values = one.judgement().values
        if values and PREFERENCE in values and "order" in one.item.about:
            sample = one.item.samples[0]
            key = (sample.task, sample.sample_id)
            pairs.setdefault(key, {}).setdefault(str(one.item.about["order"]), []).append(values[PREFERENCE])
            lengths[key] = tuple(one.item.about["lengths"])
    whole = {
        key: {order: math.fsum(n) / len(n) for order, n in one.items()} for key, one in pairs.items() if len(one) == 2
    }
    means = {key: (one["first"] + one["second"]) / 2 for key, one in whole.items()}
    flips = sum((one["first"] - 0.5) * (one["second"] - 0.5) < 0 for one in whole.values())
    # Shown first is run 1 in the first order and run 2 in the second.
    places = [number for one in whole.values() for number in (one["first"], 1 - one["second"])]
    longer = [
        mean if lengths[key][0] > lengths[key][1] else 1 - mean
        for key, mean in means.items()
        if lengths[key][0] != lengths[key][1]
    ]
    low, high = wilson_interval(flips, len(whole)) if whole else (None, None)
    return Preferences(
        len(whole), _share(list(means.values())),
        sum(one > 0.5 for one in means.values()), sum(one == 0.5 for one in means.values()),
        sum(one < 0.5 for one in means.values()),
        {"value": flips / len(whole) if whole else None, "low": low, "high": high, "count": flips},
        _share(places, len(whole)), _share(longer),
    )  # fmt: skip


def length_bias(questions: Sequence[Question], lengths: Mapping[tuple[str, str], int]) -> dict[str, dict[str, Any]]:
    """Rank correlation of each value with the length of the rated reply; a judge of content should owe little to it."""
    rated = ratings_of(questions)
    names = sorted({name for values in rated.values() for name in values})
    found = {}
    for name in names:
        keys = [key for key in rated if name in rated[key] and key in lengths]
        found[name] = _plain(spearman_correlation([lengths[key] for key in keys], [rated[key][name] for key in keys]))
    return found


def _share(numbers: Sequence[float], n: int | None = None) -> dict[str, Any]:
    """Mean of numbers of 0 to 1 with Wilson's interval, which has a width also where all are equal."""
    if not numbers:
        return {"value": None, "low": None, "high": None, "n": 0}
    count = len(numbers) if n is None else n
    mean = min(1.0, max(0.0, math.fsum(numbers) / len(numbers)))
    low, high = proportion_interval(mean, count)
    return {"value": mean, "low": low, "high": high, "n": count}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _plain(found: Estimate) -> dict[str, Any]:
    return {"value": _number(found.value), "low": found.low, "high": found.high, "n": found.n}
