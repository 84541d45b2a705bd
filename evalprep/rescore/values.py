"""The values of every metric of a task as its rows are scored, and the scores over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalprep.numbers import finite_number
from evalprep.readers import direction_of
from evalprep.rescore.scorer import Outcome
from evalprep.samples import Metric


class MetricValues:
    """The value of each row for every metric and filter, in the order of the rows.

    Attributes:
        filters: The filters of the task.
        rows: Rows so far.
    """

    def __init__(self, filters: Sequence[str]) -> None:
        self.filters = filters
        self.rows = 0
        self._values: dict[tuple[str, str], list[Any]] = {}

    def add(self, outcome: Outcome) -> None:
        """Adds a row under every filter."""
        self.rows += 1
        for filter_name in self.filters:
            for metric, value in outcome.metrics.get(filter_name, {}).items():
                self._values.setdefault((metric, filter_name), []).append(value)

    def metrics(self, task: Any) -> tuple[Metric, ...]:
        """Returns the scores over all rows, as the task of lm-eval aggregates them."""
        aggregation = task.aggregation()
        higher_is_better = task.higher_is_better()
        metrics = []
        for (name, filter_name), values in self._values.items():
            value, text = _aggregated(aggregation, name, values)
            direction = direction_of(higher_is_better.get(name))
            metrics.append(
                Metric(metric=name, filter=filter_name, value=value, direction=direction, text=text)
            )
        return tuple(metrics)


def filters_of(task: Any) -> list[str]:
    """Returns the names of a task's filters; the harness offers no public access."""
    return [ensemble.name for ensemble in task._filters]  # noqa: SLF001


def _aggregated(
    aggregation: Mapping[str, Any], metric: str, values: list[Any]
) -> tuple[float | None, str]:
    """The value of a metric over all rows, or what stands in its place."""
    try:
        value = aggregation[metric](values)
    except Exception as error:  # noqa: BLE001
        # An aggregation that fails leaves its score out, not the run.
        return None, f"{type(error).__name__}: {error}"
    number = finite_number(value.item() if hasattr(value, "item") else value)
    return number, "" if number is not None else str(value)
