"""The mean of several tasks' differences, with limits made of the limits of each task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custom_metrics.statistics.missing import Incomplete, Paired, paired_ends
from custom_metrics.statistics.normal import critical_value
from custom_metrics.statistics.roots import p_of_reaching
from custom_metrics.statistics.score import Interval, PairedVerdicts

ENOUGH_PAIRS = 50  # of every task, for one-sided limits


@dataclass(frozen=True)
class TaskDifference:
    """One task's difference on a scale of width 1.

    Args:
        evidence: The difference on the task's own scale, more is better.
        width: The range of the task's score, by which it is divided.
    """

    evidence: Paired | Incomplete
    width: float = 1.0

    @property
    def value(self) -> float:
        """The difference."""
        return self.evidence.value / self.width

    def interval(self, confidence: float, *, cautious: bool) -> Interval:
        """The task's own interval; `cautious` takes the wider one of graded rows."""
        if isinstance(self.evidence, Incomplete):
            low, high = self.evidence.interval(confidence, cautious=cautious)
        else:
            low, high = paired_ends(self.evidence, confidence, cautious=cautious)
        return Interval(low / self.width, high / self.width)

    @property
    def paired(self) -> Paired:
        """The evidence of the paired rows."""
        return self.evidence.evidence if isinstance(self.evidence, Incomplete) else self.evidence


@dataclass(frozen=True)
class MeanDifference:
    r"""The mean m of k tasks' differences, m -+ sqrt(sum_j (m_j - limit_j)^2) / k.

    limit_j is the end of task j's own interval at the same level (square-and-add; Zou and Donner
    2008), of graded tasks that of a gate's pass where a pass is
    read. For one task it is the task's own interval. The interval has a width also where no verdict
    changed, and a small task beside large ones keeps its own uncertainty.
    """

    tasks: tuple[TaskDifference, ...]

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("a mean takes at least one task")

    @property
    def value(self) -> float:
        """The mean difference."""
        return math.fsum(task.value for task in self.tasks) / len(self.tasks)

    @property
    def one_sided(self) -> bool:
        """True where a pass may be read from one-sided limits.

        That takes right-or-wrong tasks of at least 50 pairs each; otherwise a pass is read from the
        two-sided interval.
        """
        return all(
            isinstance(task.paired, PairedVerdicts) and task.paired.n >= ENOUGH_PAIRS
            for task in self.tasks
        )

    def interval(self, confidence: float = 0.95, *, cautious: bool = False) -> Interval:
        """Interval of the true mean difference; `cautious` takes the wider limits of a pass.

        Raises:
            ValueError: `confidence` is not strictly between 0 and 1.
        """
        if len(self.tasks) == 1:
            return self.tasks[0].interval(confidence, cautious=cautious)
        low_squares = []
        high_squares = []
        for task in self.tasks:
            low, high = task.interval(confidence, cautious=cautious)
            low_squares.append((task.value - low) ** 2)
            high_squares.append((high - task.value) ** 2)
        count = len(self.tasks)
        below = math.sqrt(math.fsum(low_squares)) / count
        above = math.sqrt(math.fsum(high_squares)) / count
        return Interval(self.value - below, self.value + above)

    def p(self, at: float = 0.0) -> float:
        """Two-sided p of a true difference: the level at which the interval just reaches it."""
        if self.value == at:
            return 1.0
        if len(self.tasks) == 1:
            return self.tasks[0].evidence.p(at * self.tasks[0].width)
        return p_of_reaching(self.interval, self.value, at)

    def turned(self) -> MeanDifference:
        """The same with the sign of every difference turned."""
        return MeanDifference(
            tuple(TaskDifference(task.evidence.turned(), task.width) for task in self.tasks)
        )

    def worst(self, confidence: float = 0.95) -> float:
        """Lower end that a gate's pass is read from.

        It is that of the one-sided interval where `one_sided` is true.
        """
        if len(self.tasks) > 1:
            level = 2.0 * confidence - 1.0 if self.one_sided else confidence
            return self.interval(level, cautious=True).low
        task = self.tasks[0]
        if isinstance(task.paired, PairedVerdicts):
            return task.evidence.worst(confidence) / task.width
        return task.interval(confidence, cautious=True).low


def overall_interval(tasks: Sequence[Mapping[str, int]], confidence: float = 0.95) -> Interval:
    """Interval of the mean difference of right-or-wrong tasks; see `MeanDifference`.

    Args:
        tasks: `n`, `gained` and `lost` of each task.
        confidence: Level.

    Raises:
        ValueError: no task, or impossible counts or level.

    >>> [round(end, 4) for end in overall_interval([{"n": 100, "gained": 0, "lost": 0}])]
    [-0.037, 0.037]
    """
    critical_value(confidence)  # raises for a level that is none
    differences = []
    for task in tasks:
        verdicts = PairedVerdicts(task["n"], task["gained"], task["lost"])
        differences.append(TaskDifference(verdicts))
    return MeanDifference(tuple(differences)).interval(confidence)
