"""The readings of one task's replies: the one that a comparison uses, and those beside it.

Every filter of a task reads the same replies. A comparison with published verdicts uses the rule of
those verdicts (`results.published_rule`), all other numbers the task's own metric and filter. Where
two readings are further apart than the interval is wide, the user has to choose one.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from evalprep.compare.difference import Difference
from evalprep.compare.reasons import Kind, Reason
from evalprep.numbers import number, percent
from evalprep.results import PublishedReading, TaskRun, note_on_thoughts
from evalprep.samples import Metric, Table


class Reading(msgspec.Struct, frozen=True):
    """The mean of one reading of a task over its rows.

    Attributes:
        metric: Metric and filter.
        mean: The mean of the rows with a number; None without any.
        is_share: Whether no row is above 1.
    """

    metric: Metric
    mean: float | None
    is_share: bool

    @classmethod
    def of(cls, task: TaskRun, metric: Metric) -> Reading:
        """The reading of a task by a metric and its filter."""
        values = task.table(metric.filter).numbers(metric.metric)
        known = values[np.isfinite(values)]
        if not known.size:
            return cls(metric, None, is_share=False)
        return cls(metric, float(known.mean()), bool(known.max() <= 1))

    @property
    def shown(self) -> str:
        """The mean for people: of shares in percent."""
        return percent(self.mean) if self.is_share else number(self.mean)


def readings_of(task: TaskRun, metric: str) -> list[Reading]:
    """Returns the readings of a task by each of its filters that has a metric."""
    filters = [name for name in task.table().filters if metric in task.table(name).metrics]
    return [Reading.of(task, task.metric(metric, name)) for name in filters]


def notes_on_published(own: TaskRun, published: PublishedReading) -> Iterator[str]:
    """Yields how a task is read to be held against published verdicts, and what is beside it.

    Args:
        own: The task as every other verb reads it.
        published: Its reading by the rule of the verdicts.
    """
    primary, metric = own.primary, published.metric
    if published.unknown:
        yield published.unknown
    if published.applied:
        yield "no filter of the run is the published rule; the pack's own is applied to the replies"
    if (metric.metric, metric.filter) != (primary.metric, primary.filter):
        edited = ", edited" if primary.filter in published.edited else ""
        yield (
            "compared by the rule of the published verdicts, "
            f"{metric.metric} ({metric.filter}); the task's own "
            f"{primary.metric} ({primary.filter}{edited}) is {Reading.of(own, primary).shown}"
        )
    for name in published.edited:
        if name not in {primary.filter, metric.filter} and name in own.table().filters:
            reading = Reading.of(own, own.metric(metric.metric, name))
            yield f"{metric.metric} ({name}, edited) is {reading.shown}"


def reason_of_two_readings(
    first: Reading, second: Reading, item: Difference, option: str = ""
) -> Reason | None:
    """The reason where two readings of the same replies are too far apart for a verdict.

    Args:
        first: The reading that a conclusion stands on.
        second: Another reading.
        item: The difference that the first one gives.
        option: The option that chooses a reading; by default that of the first one's filter.

    Returns:
        None where they differ by no more than the interval is wide.
    """
    if first.mean is None or second.mean is None or item.low is None or item.high is None:
        return None
    if abs(first.mean - second.mean) <= item.high - item.low:
        return None
    readings = [f"{first.metric.name} is {first.shown}", f"{second.metric.name} {second.shown}"]
    choice = option or f"--metric @{first.metric.filter}"
    return Reason(Kind.READINGS, values={"readings": readings, "choice": choice})


def doubts_on_replies(table: Table, side: str) -> list[str]:
    """Returns the warning where most replies of a side end inside an unfinished thought."""
    return [f"{side}: {note}" for note in note_on_thoughts(table)]
