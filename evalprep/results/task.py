"""One task of a run: its metrics, its samples, and what the results file says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from evalprep.packs import TaskPlan
from evalprep.readers import COUNTED, TaskResults, known_metric
from evalprep.results.directions import Turned
from evalprep.results.headline import with_headline
from evalprep.results.primary import choose_primary, metric_at
from evalprep.samples import (
    COUNTS_OF_REPLIES,
    LM_EVAL,
    NO_METRIC,
    Damage,
    Direction,
    FirstValues,
    Kind,
    Metric,
    Sample,
    SampleFile,
    SampleSource,
    Table,
    VerdictCheck,
    cached_table,
    check_lines,
    check_verdicts,
    first_sample,
    first_values,
    number_of,
    samples_of,
)
from evalprep.terminal import tracked


@dataclass
class TaskRun:
    """One task of a run.

    Attributes:
        name: The task's name.
        source: Where its samples are read from.
        logged: What the results file holds of it; empty without one.
        planned: The task in the plan of the run, where the run's record is there.
        chosen: The metric that is read of it by the rule that was asked for
            (`results.scoring_rule`), instead of its own.
        chosen_filter: Whether the user named the filter of `chosen`, too.
        turned: Which way is better, and the pack that says so, where that is not lm-eval's word.
        tool: The tool that wrote its rows; ids of one tool mean nothing to another.
        undecided: Its metrics, where several could stand for it and nothing says which.
        values_only: Its rows are of a log that keeps values and no replies: no score can be
            computed from them.
        kept: Filter -> its rows that count alone; empty where every row of the samples does.
    """

    name: str
    source: SampleSource
    logged: TaskResults
    planned: TaskPlan | None = None
    values_only: bool = False
    turned: Turned | None = None
    chosen: Metric | None = None
    chosen_filter: bool = False
    tool: str = LM_EVAL
    undecided: tuple[str, ...] = ()
    kept: Mapping[str, Table] = field(default_factory=dict, repr=False)
    _tables: dict[str, Table] = field(default_factory=dict, repr=False)

    @property
    def path(self) -> Path:
        """Its samples file, or the file or folder of the log that its samples are of."""
        return self.source.path

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The task YAML's `metadata`.

        The plan's primary metric wins, as lm-eval's own tasks cannot name one.
        """
        logged = self.logged.settings.metadata
        if self.planned is None or self.planned.primary is None:
            return with_headline(self.name, logged)
        metric, filter_name = self.planned.primary
        return {**logged, "primary_metric": metric, "primary_filter": filter_name}

    @cached_property
    def metrics(self) -> list[Metric]:
        """Every score of the task.

        Those of the results file come first, in its order, then those of its lines alone.

        `Metric.kind` says whether rows have a number each.
        """
        scores = [metric for metric in self.logged.metrics if metric.is_score]
        metrics = [self._directed(metric) for metric in scores]
        logged_names = {metric.metric for metric in metrics}
        rows = self._first_values
        for name in rows.values:
            if name in logged_names:
                continue
            metric = self._unlogged(name, rows.filter)
            if metric.is_score:
                metrics.append(metric)
        with_kinds = []
        for metric in metrics:
            kind = _kind_of(metric, rows.values.get(metric.metric))
            with_kinds.append(replace(metric, kind=kind))
        return with_kinds

    @cached_property
    def first_sample(self) -> Sample | None:
        """Its first usable sample, under whichever filter; None without one."""
        return first_sample(self.source)

    @cached_property
    def _first_values(self) -> FirstValues:
        scores = [metric.metric for metric in self.logged.metrics if metric.is_score]
        return first_values(self.source, scores)

    @property
    def lost_its_scores(self) -> bool:
        """Returns whether rows name scores of which none has a number."""
        values = self._first_values.values
        named = [metric.metric for metric in self.metrics if metric.metric in values]
        return bool(named) and all(values[name] is None for name in named)

    @cached_property
    def primary(self) -> Metric:
        """The metric that stands for the task, among those that its rows have numbers of.

        Its name is empty where no row has a score (`without_score` says why).
        """
        if self.chosen is not None:
            return self.chosen
        if self.undecided:
            return NO_METRIC
        filters = self.logged.settings.filters
        rows = self._first_values
        if not rows.values:
            return choose_primary(self.metadata, self.metrics, filters=filters)
        numbered = [metric for metric in self.metrics if metric.kind == "rows"]
        return choose_primary(self.metadata, numbered, filters=filters, fallback=rows.filter)

    @cached_property
    def headline(self) -> Metric:
        """The metric that stands for the task, of whatever kind.

        It is the primary one, else one over all rows.
        """
        if self.primary.metric or self.undecided or not self.metrics:
            return self.primary
        return choose_primary(self.metadata, self.metrics)

    @cached_property
    def verdict_check(self) -> VerdictCheck:
        """Its multiple-choice verdicts held against their log-likelihoods.

        Nothing is checked of a task with a scorer of its own.
        """
        settings = self.logged.settings
        if settings.output_type not in {"", "multiple_choice"}:
            return VerdictCheck()
        values = self._first_values.values
        has_verdicts = "acc" in values or "acc_norm" in values
        has_own_scorer = bool(settings.scorer.get("process_results"))
        if not has_verdicts or has_own_scorer:
            return VerdictCheck()
        filter_name, source = self.primary.filter, self.source
        if isinstance(source, SampleFile) and source.is_lines:
            rows = next((len(table) for table in self._tables.values()), None)
            return check_lines(tracked(source.lines(), self.name, rows), filter_name)
        return check_verdicts(self.samples(filter_name))

    def metric(self, name: str, filter_name: str) -> Metric:
        """Returns one metric.

        It is without stored values where the results file has none for this filter.
        """
        of_name = [metric for metric in self.metrics if metric.metric == name]
        if not of_name:
            of_name = [self._unlogged(name, filter_name)]
        return metric_at(of_name, filter_name)

    def metric_of(self, key: str) -> Metric | None:
        """Returns the metric with a key (`metric,filter`); None where the task has none."""
        return next((metric for metric in self.metrics if metric.key == key), None)

    def directed(self, metric: Metric | None) -> Metric | None:
        """Returns a metric of the results file in the direction that a pack gives the task."""
        if metric is None:
            return None
        return self._directed(metric)

    def _unlogged(self, name: str, filter_name: str) -> Metric:
        """A metric that the results file has no value of."""
        known = known_metric(name)
        metric = Metric(
            metric=name,
            filter=filter_name,
            direction=self.logged.directions.get(name, known.direction),
            aggregation=known.aggregation,
            unit=known.unit,
            range=known.range,
        )
        return self._directed(metric)

    def _directed(self, metric: Metric) -> Metric:
        """A metric in the direction that a pack gives the task."""
        if self.turned is None:
            return metric
        direction: Direction = "up" if self.turned[0] == "up" else "down"
        return replace(metric, direction=direction)

    @property
    def without_score(self) -> str:
        """Returns why no row has a score that could be averaged or compared.

        Empty where rows have one.
        """
        if self.primary.metric:
            return ""
        if self.undecided:
            names = ", ".join(self.undecided)
            return f"it has several metrics ({names}); name the one that counts with --metric"
        if self.tool != LM_EVAL:
            return "its log has no score of any row"
        logged = self.logged.metrics
        scores = [metric for metric in logged if metric.is_score]
        if scores:
            why = "computed over all rows at once: rows have no score of their own to compare"
            if self.lost_its_scores:
                why = "and no row has a number"
            return f"lm-eval reports {_names_and_values(scores)}, {why}"
        if any(metric.metric in COUNTS_OF_REPLIES for metric in logged):
            return "a row has no score of its own; scores of the suite are made of the replies"
        return "the run logged no score (--predict_only?); `evalprep rescore` scores saved outputs"

    def table(self, filter_name: str | None = None) -> Table:
        """Returns the samples of one filter, the primary one by default, as columns."""
        chosen = self.primary.filter if filter_name is None else filter_name
        if chosen in self.kept:
            return self.kept[chosen]
        if chosen not in self._tables:
            self._tables[chosen] = cached_table(self.source, chosen)
        return self._tables[chosen]

    def values(self, metric: Metric) -> NDArray[np.float64]:
        """Returns the number of each row for a metric; NaN where a row has none."""
        return self.table(metric.filter).numbers(metric.metric)

    def read(self, filter_name: str | None = None) -> Iterator[Sample | Damage]:
        """Streams the samples of one filter, and the lines that could not be used.

        The filter is the primary one by default.
        """
        chosen = self.primary.filter if filter_name is None else filter_name
        return samples_of(self.source, chosen)

    def samples(self, filter_name: str | None = None) -> Iterator[Sample]:
        """Streams the samples of one filter without the damaged lines.

        The filter is the primary one by default.
        """
        usable = (item for item in self.read(filter_name) if isinstance(item, Sample))
        rows = next((len(table) for table in self._tables.values()), None)
        return tracked(usable, self.name, rows)


def _names_and_values(metrics: Iterable[Metric]) -> str:
    """The names of metrics with their values, equal values once: `bleu, chrf 31.2, ter 60.1`."""
    names_by_value: dict[str, list[str]] = {}
    for metric in metrics:
        value = metric.text or "None" if metric.value is None else f"{metric.value:.4g}"
        names_by_value.setdefault(value, []).append(metric.metric)
    return ", ".join(f"{', '.join(names)} {value}" for value, names in names_by_value.items())


def _kind_of(metric: Metric, value: Any) -> Kind:
    """The kind of a metric by a value of one of its rows: the value decides, not the name."""
    _, weight = number_of(value, metric.metric)
    if weight:
        return "rows"
    if not isinstance(value, list | dict | int | float):
        return "stored"
    return "counts" if metric.aggregation in COUNTED else "function"
