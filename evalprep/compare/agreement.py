"""The agreement of two runs on the meaning of one metric.

They may differ in its direction, in its scale, or in which metrics they log at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from evalprep.compare.pairing import Floats
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason
from evalprep.results import Run
from evalprep.samples import Metric
from evalprep.terminal import shortlist

DIRECTION, SCALE, SCORER = "direction", "scale", "scorer"
_NAMED = 4  # tasks that a sentence names
_UNKNOWN = "unknown"
_LEAST_RATIO, _MOST_RATIO = 30.0, 300.0  # of two means, where one is taken for percent


def direction_of(metric: Metric) -> bool | None:
    """True where higher is better, False where lower is, None where that is not known."""
    return {"up": True, "down": False}.get(metric.direction)


def join_directions(
    metric: Metric, other: Metric | None, allow: Collection[str]
) -> tuple[Metric, list[Reason]]:
    """The metric with the direction that both sides state, and the reason where they contradict.

    A side that states none leaves the choice to the other, as one without a range or a unit does.

    >>> from evalprep.samples import Metric
    >>> err = Metric(metric="err", direction="down")
    >>> [reason.option for reason in join_directions(err, replace(err, direction="up"), ())[1]]
    ['direction']
    """
    if other is None:
        return metric, []
    metric = replace(metric, range=metric.range or other.range, unit=metric.unit or other.unit)
    if other.direction in {_UNKNOWN, metric.direction}:
        return metric, []
    if metric.direction == _UNKNOWN:
        return replace(metric, direction=other.direction), []
    if DIRECTION in allow:
        return metric, []
    words = {"up": "higher", "down": "lower"}
    stated = {
        "metric": metric.metric,
        CANDIDATE: words[metric.direction],
        BASELINE: words[other.direction],
    }
    reason = Reason(Kind.DIRECTION, option=DIRECTION, values=stated)
    return replace(metric, direction=_UNKNOWN), [reason]


def scale_reasons(
    metric: Metric, now: Floats, before: Floats, allow: Collection[str]
) -> list[Reason]:
    """The reason where one side counts in shares and the other does not.

    Of a metric whose range is known, one side alone has values outside of it. Of any other, one
    side has shares, and the other has 0 and 100, or a mean of about a hundred times as much.
    """
    if SCALE in allow or not now.size or not before.size:
        return []
    sides = {CANDIDATE: now, BASELINE: before}
    if metric.range is None:
        return _percent_reasons(metric, sides)
    low, high = metric.range
    spans_outside = {}
    for name, values in sides.items():
        least, most = float(values.min()), float(values.max())
        if least < low or most > high:
            spans_outside[name] = f"{least:g} to {most:g}"
    if len(spans_outside) != 1:
        return []
    ((name, span),) = spans_outside.items()
    bounds = f"between {low:g} and {high:g}"
    known = {"side": name, "metric": metric.metric, "span": span, "bounds": bounds}
    return [Reason(Kind.SCALE, option=SCALE, values=known)]


def _percent_reasons(metric: Metric, sides: Mapping[str, Floats]) -> list[Reason]:
    """The reason where one side of a metric without a known range has shares, the other percent."""
    shares = [name for name, values in sides.items() if _lies_below(values, 1.0)]
    if len(shares) != 1:
        return []
    share = shares[0]
    percent = next(name for name in sides if name != share)
    values = sides[percent]
    if not _lies_below(values, 100.0):
        return []
    mean_share = float(np.mean(sides[share]))
    mean_percent = float(np.mean(values))
    ratio = mean_percent / mean_share if mean_share > 0.0 else 0.0
    is_end = (values == 0.0) | (values == 100.0)
    only_ends = bool(np.all(is_end))
    if not only_ends and not _LEAST_RATIO <= ratio <= _MOST_RATIO:
        return []
    known = {"metric": metric.metric, "percent": percent, "share": share}
    return [Reason(Kind.SCALE, option=SCALE, values=known)]


def _lies_below(values: Floats, most: float) -> bool:
    """Returns whether all values are between 0 and another number."""
    is_between = (values >= 0.0) & (values <= most)
    return bool(np.all(is_between))


#: Metric and filter.
_Score = tuple[str, str]


def lone_metrics(
    run: Run, other: Run, tasks: Collection[str]
) -> dict[str, dict[_Score, list[str]]]:
    """Metrics of some tasks that one side alone logs.

    The result maps the side that lacks them -> metric, filter -> tasks.
    """
    candidate_lacks: dict[_Score, list[str]] = {}
    baseline_lacks: dict[_Score, list[str]] = {}
    for name in tasks:
        task, against = run.known(name), other.known(name)
        if task is None or against is None:
            continue
        scores = _scores_of(task.metrics)
        baseline_scores = _scores_of(against.metrics)
        if not scores or not baseline_scores:
            continue  # a side without any score is named for that
        for score in sorted(baseline_scores - scores):
            candidate_lacks.setdefault(score, []).append(name)
        for score in sorted(scores - baseline_scores):
            baseline_lacks.setdefault(score, []).append(name)
    return {"candidate": candidate_lacks, "baseline": baseline_lacks}


def _scores_of(metrics: Sequence[Metric]) -> set[_Score]:
    return {(metric.metric, metric.filter) for metric in metrics if metric.is_score}


def lone_metric_sentences(lacking: Mapping[_Score, Sequence[str]], side: str) -> list[str]:
    """One sentence for each metric that a side lacks, with its tasks.

    >>> lone_metric_sentences({("acc_norm", "none"): ["a", "b"]}, "candidate")
    ['the candidate has no acc_norm of a, b']
    """
    sentences = []
    for (metric, filter_name), tasks in lacking.items():
        label = Metric(metric=metric, filter=filter_name).name
        names = shortlist(tasks, _NAMED)
        sentences.append(f"the {side} has no {label} of {names}")
    return sentences
