"""Verdicts of other scorers on the same replies, which a task logs beside its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evalprep.results import TaskRun
from evalprep.terminal import counted


@dataclass
class Opinion:
    """Another scorer's verdicts held against the primary metric's.

    Args:
        scorer: Metric that holds them; the task's `metadata.second_opinions` names it.
        n: Rows that have both.
        value: Mean of the other scorer.
        only_it: Rows that only the other scorer calls right.
        only_ours: Rows that only the primary metric calls right.
        samples: Ids of the rows on which they disagree, in order.
    """

    scorer: str
    n: int
    value: float
    only_it: int
    only_ours: int
    samples: list[str] = field(default_factory=list)

    def line(self, task: str, metric: str, *, most: int = 5) -> str:
        """One line for a report: on how many rows, which way, which rows."""
        rows = f"{len(self.samples)} of {counted(self.n, 'row')}"
        head = f"{task}: {self.scorer} differs from {metric} on {rows}"
        if not self.samples:
            return head
        rest = f" and {len(self.samples) - most} more" if len(self.samples) > most else ""
        alone = f"{self.only_it} right by it alone, {self.only_ours} by {metric} alone"
        return f"{head} ({alone}): {', '.join(self.samples[:most])}{rest}"


def second_opinions(task: TaskRun) -> list[Opinion]:
    """Compares the verdicts of every scorer that the task names in `metadata.second_opinions`."""
    names = task.metadata.get("second_opinions")
    table = task.table()
    ours = table.metrics.get(task.primary.metric)
    if not isinstance(names, list) or ours is None:
        return []
    opinions = []
    for name in map(str, names):
        other = table.metrics.get(name)
        if other is None:
            continue
        both = ~np.isnan(ours) & ~np.isnan(other)
        if not both.any():
            continue
        differ = np.flatnonzero(both & (ours != other))
        opinions.append(
            Opinion(
                scorer=name,
                n=int(both.sum()),
                value=float(other[both].mean()),
                only_it=int((other[differ] > ours[differ]).sum()),
                only_ours=int((other[differ] < ours[differ]).sum()),
                samples=table.ids.at(differ),
            )
        )
    return opinions
