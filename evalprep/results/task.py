"""One task of a run: its samples, and what the results file says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from evalprep.packs.plan import TaskPlan
from evalprep.results.cache import cached_table
from evalprep.results.primary import (
    COUNTS_OF_REPLIES,
    NOT_SCORES,
    Primary,
    Turned,
    choose_primary,
    directions_of,
    logged_scores,
)
from evalprep.results.sample import Damage, Sample, number_of, read_samples
from evalprep.results.scan import first_line
from evalprep.results.table import Table
from evalprep.terminal import tracked


@dataclass
class TaskRun:
    """One task of a run.

    Args:
        name: The task's name.
        path: Its samples file.
        config: Its `configs` entry of the results file; empty without one.
        scores: Its `results` entry.
        directions: Metric name -> higher is better.
        planned: The task in the plan of the run, where the run's record is there.
        chosen: The number that is read of it by the rule that was asked for (`results.rule`), instead of its own.
        turned: Which way is better, and the pack that says so, where that is not lm-eval's word.
        values_only: Its rows are of a log that keeps values and no replies: no score can be computed from them.
    """

    name: str
    path: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    directions: Mapping[str, Any] = field(default_factory=dict)
    planned: TaskPlan | None = None
    values_only: bool = False
    turned: Turned | None = None
    chosen: Primary | None = None
    _tables: dict[tuple[str, str | None], Table] = field(default_factory=dict, repr=False)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The task YAML's `metadata`; the plan's primary metric wins, as lm-eval's own tasks cannot name one."""
        found = self.config.get("metadata")
        given = found if isinstance(found, dict) else {}
        if self.planned is None or self.planned.primary is None:
            return given
        metric, filter_name = self.planned.primary
        return {**given, "primary_metric": metric, "primary_filter": filter_name}

    @cached_property
    def primary(self) -> Primary:
        """The number that stands for the task (`choose_primary`), among the metrics that its lines have values of."""
        if self.chosen is not None:
            return self.chosen
        scores, first = logged_scores(self.scores), first_line(self.path)
        if first is not None:
            usable = [name for name, value in first.metrics.items() if number_of(value, name)[1]]
            usable = [name for name in usable if name not in NOT_SCORES]
            # An aggregate of pairs or texts has no value per row; what the lines hold decides.
            scores = [one for one in scores if one[0] in usable] or [(name, first.filter) for name in usable]
        return choose_primary(
            self.metadata, scores, self.directions, fallback=first.filter if first is not None else "none"
        )

    @property
    def without_score(self) -> str:
        """Why no row has a score that could be averaged or compared; empty where rows have one."""
        if self.primary.metric:
            return ""
        whole = logged_scores(self.scores)
        if not whole and any(name.partition(",")[0] in COUNTS_OF_REPLIES for name in self.scores):
            return "a row has no score of its own; scores of the suite are made of the replies"
        if not whole:
            return "the run logged no score (--predict_only?); `evalprep rescore` scores saved outputs"
        said = ", ".join(f"{metric} {_four(self.scores.get(f'{metric},{name}'))}" for metric, name in whole)
        return f"{said}, says lm-eval, computed over all rows at once: rows have no score of their own to compare"

    def table(self, filter_name: str | None = None, *, id_source: str | None = None) -> Table:
        """The samples of one filter, the primary one by default, as columns."""
        chosen = self.primary.filter if filter_name is None else filter_name
        key = (chosen, id_source)
        if key not in self._tables:
            self._tables[key] = cached_table(self.path, chosen, id_source=id_source)
        return self._tables[key]

    def read(self, filter_name: str | None = None) -> Iterator[Sample | Damage]:
        """Stream the samples of one filter, the primary one by default, in bounded memory."""
        return read_samples(self.path, filter_name=self.primary.filter if filter_name is None else filter_name)

    def samples(self, filter_name: str | None = None) -> Iterator[Sample]:
        """`read` without the damaged lines."""
        found = (item for item in self.read(filter_name) if isinstance(item, Sample))
        known = next((len(table) for table in self._tables.values()), None)
        return tracked(found, self.name, known)


def _four(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float)) else str(value)


def task_of(
    results: Mapping[str, Any],
    task: str,
    path: Path,
    planned: TaskPlan | None = None,
    turned: Turned | None = None,
) -> TaskRun:
    """One task of a results file, with the samples of a file; `turned` where a pack says which way is better."""

    def part(key: str) -> dict[str, Any]:
        table = results.get(key)
        value = table.get(task) if isinstance(table, dict) else None
        return value if isinstance(value, dict) else {}

    scores = part("results")
    directions = directions_of(part("higher_is_better"), scores, turned)
    return TaskRun(task, path, part("configs"), scores, directions, planned, turned=turned)
