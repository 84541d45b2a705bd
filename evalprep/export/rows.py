"""The samples of a task with the scores of all filters, as exports take them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from custom_metrics.finite import finite_number
from evalprep.results import SampleView, TaskRun
from evalprep.samples import Metric, Sample, number_of


@dataclass
class _OtherFilters:
    """The scores that other filters than the primary one give each row, from columns of numbers.

    Attributes:
        values: Row -> one mapping of scores for each time that the row stands in the file.
    """

    values: dict[tuple[str, int], list[dict[str, float | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @classmethod
    def of(cls, task: TaskRun, metrics: Sequence[Metric]) -> _OtherFilters:
        """Those of a task."""
        others = cls()
        for name in dict.fromkeys(metric.filter for metric in metrics):
            if name != task.primary.filter:
                others._add(task, [metric for metric in metrics if metric.filter == name])
        return others

    def _add(self, task: TaskRun, metrics: Sequence[Metric]) -> None:
        """Adds the scores of one filter."""
        table = task.table(metrics[0].filter)
        columns = {metric.key: task.values(metric) for metric in metrics}
        times_before: dict[tuple[str, int], int] = defaultdict(int)
        for place, (sample_id, doc_id) in enumerate(zip(table.ids, table.doc_id, strict=True)):
            key = sample_id, int(doc_id)
            entries = self.values[key]
            number = times_before[key]
            times_before[key] += 1
            if number == len(entries):
                entries.append({})
            for name, column in columns.items():
                entries[number][name] = finite_number(float(column[place]))

    def take(self, sample: Sample) -> dict[str, float | None]:
        """The scores of the next row of this id and place; empty without one."""
        entries = self.values.get((sample.sample_id, sample.doc_id))
        return entries.pop(0) if entries else {}


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
    others = _OtherFilters.of(task, metrics if filter_name is None else [])
    chosen = task.primary.filter if filter_name is None else filter_name
    own = [metric for metric in metrics if metric.filter == chosen]
    for sample in task.samples(chosen):
        scores: dict[str, float | None] = {}
        for metric in own:
            value, _ = number_of(sample.metrics.get(metric.metric), metric.metric)
            scores[metric.key] = finite_number(value)
        scores |= others.take(sample)
        yield SampleView(task.name, sample, task.primary, scores=scores)
