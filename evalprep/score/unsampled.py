"""Scores that lm-eval stored for tasks without samples: all that can be said of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evalprep.results import Run
from evalprep.results.facts import expected_rows
from evalprep.results.primary import choose_primary, logged_scores

WITHOUT_SAMPLES = "as lm-eval stored it, without samples"


@dataclass(frozen=True)
class StoredScore:
    """One stored score of a task.

    Args:
        task, metric, filter: What was scored.
        value: The score.
        stderr: Its standard error as lm-eval computed it; None without one.
        n: Rows; None where the results file does not tell.
        primary: Whether it stands for its task.
        higher_is_better: Direction of the metric.
    """

    task: str
    metric: str
    filter: str
    value: float
    stderr: float | None
    n: int | None
    primary: bool
    higher_is_better: bool = True

    @property
    def name(self) -> str:
        """The metric, with its filter where that is a choice."""
        return self.metric if self.filter == "none" else f"{self.metric} ({self.filter})"


def stored_scores(run: Run) -> list[StoredScore]:
    """Every stored score of the tasks that have no samples, the primary one of each task first."""
    found = []
    for name, task in run.stored.items():
        keys = [one for one in logged_scores(task.scores) if _number(task.scores.get(",".join(one))) is not None]
        primary = choose_primary(task.metadata, keys, task.directions)
        rows = expected_rows(run, task)
        for metric, filter_name in sorted(keys, key=lambda one: one != (primary.metric, primary.filter)):
            value = _number(task.scores.get(f"{metric},{filter_name}"))
            stderr = _number(task.scores.get(f"{metric}_stderr,{filter_name}"))
            first = (metric, filter_name) == (primary.metric, primary.filter)
            up = task.directions.get(metric) is not False
            found.append(StoredScore(name, metric, filter_name, value or 0.0, stderr, rows, first, up))
    return found


def _number(value: Any) -> float | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        return float(value) if usable and math.isfinite(value) else None
    except OverflowError:
        return None
