"""Scores of a judge's ratings, as they are read here and as the original reads them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from custom_metrics.science.judge import qa_judge_rating, scaled, summary_judge_rating
from custom_metrics.statistics import influence_of_mean, median_interval, with_interval

from .annotators import METRIC, PROMPT_VERSION, QA
from .score import Sample, own_rows, units_of

_NOT_ASKED = "no judge has rated it: `evalprep judge RUN --model NAME`"


def mean(*, rows: Mapping[str, Sequence[Sample]], **_: Any) -> dict[str, Any]:
    """Mean rating of a judge, scaled from 1..5 to 0..1, ratings of 1 included.

    A rating stands in `judge_rating` among a sample's metrics; null there is a reply of the judge
    without one.
    """
    (name, task_samples), *_rest = rows.items()
    samples = own_rows(name, task_samples)
    ratings = [(sample, sample["metrics"].get(METRIC)) for sample in samples]
    known = [
        (sample, scaled(float(rating)))
        for sample, rating in ratings
        if isinstance(rating, (int, float))
    ]
    result = _mean(name, known) | _who(samples)
    # The samples without a readable rating, counted by reason.
    skipped = Counter(
        judgement["status"] for judgement in _judgements(samples) if judgement["ratings"] is None
    )
    for sample in samples:
        if "judgement" not in sample and sample["metrics"].get(METRIC, 0) is None:
            skipped["unreadable judgement"] += 1
    result["skipped"] = dict(skipped)
    if not known:
        return result
    judgements = _judgements(samples)
    if judgements:
        result["notes"] = [
            f"rated by {judgements[0]['judge']}: {len(known)} of {len(judgements)} questions"
        ]
    # Its interval is over papers; no row adds a share of its own to it.
    scores = [score for _, score in known]
    median = median_interval(scores, units_of(name, [sample for sample, _ in known]))
    of_median: dict[str, Any] = {"agg_value": median.value, "n": median.n}
    if median.low is not None:
        of_median["interval"] = [median.low, median.high]
    result["by_metric"] = {"median": of_median | {"notes": result.get("notes", [])}}
    return result


def _judgements(samples: Sequence[Sample]) -> list[Mapping[str, Any]]:
    return [sample["judgement"] for sample in samples if "judgement" in sample]


def by_the_original(*, rows: Mapping[str, Sequence[Sample]], **_: Any) -> dict[str, Any]:
    """Mean rating as the original reads the same replies of the judge.

    For answers a reply without `Rating:` and a whole number behind it is a 3, and one without an
    answer a 1, unless a file of ratings has one for it: the original takes such a file as it is.
    Of summaries only ratings of 2 to 5 enter the mean, and a reply that is not one
    number behind its mark is dropped.
    """
    (name, task_samples), *_rest = rows.items()
    samples = own_rows(name, task_samples)
    read: list[tuple[Sample, float]] = []
    for sample in samples:
        score = _as_the_original_reads(name, sample)
        if score is not None:
            read.append((sample, score))
    kept = read if name == QA else [(sample, score) for sample, score in read if score]
    if read and not kept:
        return {
            "agg_value": None,
            "reason": "the original stops: it drops every rating of 1, and no other is left",
        }
    result = _mean(name, kept) | _who(samples)
    if dropped := len(read) - len(kept):
        result["notes"] = [f"the original drops {dropped} ratings of 1"]
    return result


def _as_the_original_reads(name: str, sample: Sample) -> float | None:
    """A scaled rating; None where there is none, or the original drops it."""
    rating = sample["metrics"].get(METRIC)
    reply = sample.get("judgement", {}).get("reply")
    imported = _imported_rating(reply)
    if not isinstance(reply, str) or imported is not None:
        known = rating if imported is None else imported
        return scaled(float(known)) if isinstance(known, (int, float)) else None
    if name == QA:
        return scaled(qa_judge_rating(reply))
    score = summary_judge_rating(reply)
    return score if isinstance(score, float) else None


def _imported_rating(reply: Any) -> float | None:
    """The rating of another tool in a kept reply; None for words of a judge."""
    try:
        content = json.loads(reply)
    except (TypeError, ValueError, RecursionError):
        return None
    numbers = content.values() if isinstance(content, dict) else ()
    return next((number for number in numbers if isinstance(number, (int, float))), None)


def _who(samples: Sequence[Sample]) -> dict[str, Any]:
    judgements = _judgements(samples)
    if not judgements:
        return {}
    versions = [judgement["version"] for judgement in judgements if judgement.get("version")]
    return {
        "judge": {
            "model": judgements[0]["judge"],
            "prompt_version": versions[0] if versions else PROMPT_VERSION,
            "asked": len(judgements),
        }
    }


def _mean(name: str, known: Sequence[tuple[Sample, float]]) -> dict[str, Any]:
    """Mean of scaled ratings.

    Rows of one paper are one unit, as in the other columns of the task.
    """
    if not known:
        return {"agg_value": None, "reason": _NOT_ASKED}
    units = units_of(name, [sample for sample, _ in known])
    values = [score for _, score in known]
    result = {
        "agg_value": fmean(values),
        "n": len(known),
        "distributions": {"rating, scaled": values},
    }
    return with_interval(result, influence_of_mean(units, values))
