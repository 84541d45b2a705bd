"""The primary metric of a task.

The one number that stands for it. The only owner of that choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evalprep.readers import TaskResults, direction_of
from evalprep.results.headline import with_headline
from evalprep.samples import OVER_ALL_ROWS, Metric

# Where a task does not name its primary metric: the first of these that it has, else its first
# other score. Graded before graded-by-parts, plain accuracy before its length-normalised form, as
# the harness' own tables do.
USUAL_METRICS = ("exact_match", "acc", "prompt_level_strict_acc", "pass@1", "f1", "acc_norm")


def choose_primary(
    metadata: Mapping[str, Any],
    metrics: Sequence[Metric],
    *,
    filters: Sequence[str] = (),
    fallback: str = "none",
) -> Metric:
    """Chooses among the metrics of a task.

    Args:
        metadata: The task's own metadata, which may name `primary_metric` and `primary_filter`.
        metrics: Its scores, in the order in which the task gives them.
        filters: All filters of the task, where they are known: a declared one that is not among
            them does not count.
        fallback: The filter where neither the task nor a score names one.

    Returns:
        The declared metric where the task has it; else the first of `USUAL_METRICS` that it has,
        else its first score. The declared filter where the task has it; else that of the metric's
        first score. A metric without a name where there is no score.
    """
    name = metadata.get("primary_metric")
    declared = isinstance(name, str) and any(metric.metric == name for metric in metrics)
    if not declared:
        name = _usual_metric(metrics)
    of_name = [metric for metric in metrics if metric.metric == name]
    filter_name = _declared_filter(metadata, filters)
    if not of_name:
        first_filter = filters[0] if filters else fallback
        return Metric(metric="", filter=first_filter if filter_name is None else filter_name)
    if filter_name is None:
        filter_name = of_name[0].filter
    primary = metric_at(of_name, filter_name)
    return replace(primary, declared=declared)


def _declared_filter(metadata: Mapping[str, Any], filters: Sequence[str]) -> str | None:
    """The filter that a task's metadata names; None where it names none that the task has."""
    name = metadata.get("primary_filter")
    if not isinstance(name, str):
        return None
    is_known = not filters or name in filters
    return name if is_known else None


def metric_at(of_name: Sequence[Metric], filter_name: str) -> Metric:
    """Returns the one of several metrics of one name that has a filter.

    Where none has, the metric is without stored values.
    """
    for metric in of_name:
        if metric.filter == filter_name:
            return metric
    return replace(of_name[0], filter=filter_name, value=None, stderr=None, text="")


def _usual_metric(metrics: Sequence[Metric]) -> str:
    """The metric that stands for a task that names none; empty where there is none."""
    # Some of lm-eval's metrics exist for all rows together only, so that no row could be compared.
    names = [metric.metric for metric in metrics]
    by_row = [name for name in names if name not in OVER_ALL_ROWS]
    candidates = by_row or names
    for name in USUAL_METRICS:
        if name in candidates:
            return name
    return candidates[0] if candidates else ""


def metrics_of_filters(
    names: Iterable[str], filters: Iterable[str], higher_is_better: Mapping[str, Any]
) -> list[Metric]:
    """Returns the scores that a loaded task will log: each metric under each filter.

    Args:
        names: Metrics of the task; those that are no scores are left out.
        filters: Its filters.
        higher_is_better: Metric -> true, false or null, as lm-eval says it.
    """
    metrics = []
    for filter_name in filters:
        for name in names:
            direction = direction_of(higher_is_better.get(name))
            metric = Metric(metric=name, filter=filter_name, direction=direction)
            if metric.is_score:
                metrics.append(metric)
    return metrics


def primary_score(task: TaskResults) -> tuple[float | None, str]:
    """A task's primary score as lm-eval computed it over all rows.

    It is for tables of a run that is under way.

    Returns:
        The score and `metric,filter`; None and "" without any number.
    """
    scores = [metric for metric in task.metrics if metric.is_score]
    numbers = [metric for metric in scores if metric.value is not None]
    metadata = with_headline(task.name, task.settings.metadata)
    primary = choose_primary(metadata, numbers)
    if primary.value is None:
        return None, ""
    return primary.value, primary.key
