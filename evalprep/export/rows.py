"""The samples of a task with the scores of all filters, as exports take them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from custom_metrics.finite import finite_number
from evalprep.results import SampleView, TaskRun
from evalprep.samples import Metric, number_of


def row_metrics(task: TaskRun) -> list[Metric]:
    """Returns the metrics of which rows have numbers, the primary one first."""
    metrics = [metric for metric in task.metrics if metric.kind == "rows"]
    return sorted(metrics, key=lambda metric: metric.key != task.primary.key)


def rows_of(task: TaskRun, filter_name: str | None = None) -> Iterator[SampleView]:
    """Streams the samples of a task in the order of its file.

    Args:
        task: The task.
        filter_name: The filter whose answers and scores are taken; by default that of the primary
            metric, beside the scores of all others.
    """
    metrics = row_metrics(task)
    chosen = task.primary.filter if filter_name is None else filter_name
    own = [metric for metric in metrics if metric.filter == chosen]
    beside = [metric for metric in metrics if filter_name is None and metric.filter != chosen]
    others = _by_row(task, beside)
    for sample in task.samples(chosen):
        scores: dict[str, float | None] = {}
        for metric in own:
            value, _ = number_of(sample.metrics.get(metric.metric), metric.metric)
            scores[metric.key] = finite_number(value)
        entries = others.get((sample.sample_id, sample.doc_id))
        if entries:
            scores |= entries.pop(0)
        yield SampleView(task.name, sample, task.primary, scores=scores)


def _by_row(
    task: TaskRun, metrics: Sequence[Metric]
) -> dict[tuple[str, int], list[dict[str, float | None]]]:
    """Id and place of a row -> the scores of other filters, once for each time that it is there."""
    scores: dict[tuple[str, int], list[dict[str, float | None]]] = defaultdict(list)
    for name in dict.fromkeys(metric.filter for metric in metrics):
        table = task.table(name)
        own = [metric for metric in metrics if metric.filter == name]
        columns = {metric.key: task.values(metric) for metric in own}
        times_before: Counter[tuple[str, int]] = Counter()
        for place, key in enumerate(zip(table.ids, table.doc_id.tolist(), strict=True)):
            number = times_before[key]
            times_before[key] += 1
            if number == len(scores[key]):
                scores[key].append({})
            for metric_key, column in columns.items():
                scores[key][number][metric_key] = finite_number(float(column[place]))
    return scores
