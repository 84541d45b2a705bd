"""A loaded task's own filters and scorer.

They are applied to replies of our making, and the time that each takes is measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from evalprep.check.bound import cpu_bound, cpu_seconds
from evalprep.check.loading import LoadedTask
from evalprep.check.metrics import metric_names
from evalprep.check.replies import HARD

SLOW_SECONDS, BOUND_SECONDS = 1.0, 10.0


@dataclass
class Verdict:
    """The verdict of a task on one reply to one row: filter -> metric -> value."""

    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    filtered: dict[str, Any] = field(default_factory=dict)

    def value(self, metric: str, filter_name: str) -> float | None:
        """A metric as a number; a list counts as its mean."""
        value = self.metrics.get(filter_name, {}).get(metric)
        if (
            isinstance(value, list)
            and value
            and all(isinstance(number, int | float) for number in value)
        ):
            value = sum(value) / len(value)
        return float(value) if isinstance(value, int | float) else None


class Scorer:
    """Runs a task's filters and process_results on replies that no model made."""

    def __init__(self, loaded: LoadedTask) -> None:
        from evalprep.results import choose_primary, metrics_of_filters

        self.loaded = loaded
        self.task = loaded.task
        self.slowest = (0.0, "", "")
        metadata = loaded.leaf.metadata
        # lm-eval has no public name for them.
        self.filters: list[str] = [ensemble.name for ensemble in self.task._filters]  # noqa: SLF001
        names = metric_names(loaded.leaf) or list(self.task.aggregation())
        metrics = metrics_of_filters(names, self.filters, self.task.higher_is_better())
        primary = choose_primary(metadata, metrics, filters=self.filters)
        # The check gives replies that earn credit; what counts mistakes, or has no known
        # direction, is not asked about them.
        self.metric = primary.metric if primary.direction == "up" else ""
        self.filter = primary.filter
        self.draws = max(int(self.task.get_config("repeats") or 1), 1)

    def score(self, number: int, replies: list[Any], label: str) -> Verdict:
        """Scores one row.

        Args:
            number: The row.
            replies: One reply per request of the row.
            label: What kind of reply it is, for messages.

        Raises:
            TimeBoundError: it took more CPU time than the bound.
            Exception: whatever the task's own code raises.
        """
        # Scorers may work in processes of their own; asking for their time costs a millisecond.
        clock = cpu_seconds if label in HARD else time.process_time
        started = clock()
        verdict = self._score(number, replies)
        spent = clock() - started
        if spent > max(self.slowest[0], SLOW_SECONDS):
            # The first use of a library loads its tables; only what is slow twice is slow.
            started = clock()
            self._score(number, replies)
            spent = min(spent, clock() - started)
        if spent > self.slowest[0]:
            self.slowest = (spent, self.loaded.row_name(number), label)
        return verdict

    def _score(self, number: int, replies: list[Any]) -> Verdict:
        requests, verdict = self.loaded.instances[number], Verdict()
        for request, reply in zip(requests, replies, strict=True):
            # A task of several draws takes as many; one reply alone would be an error of the
            # check's own.
            request.resps = [reply] * self.draws
            request.filtered_resps = {}
        with cpu_bound(BOUND_SECONDS):
            for ensemble in self.task._filters:  # noqa: SLF001 - as above
                ensemble.apply(requests)
            for name in self.filters:
                filtered = [request.filtered_resps[name] for request in requests]
                verdict.filtered[name] = filtered[0]
                verdict.metrics[name] = dict(self.task.process_results(requests[0].doc, filtered))
        return verdict
