"""The changes by rescoring a task.

They show whether the scorer or the model makes the difference to published verdicts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from evalprep.readers import SCORER_KEYS
from evalprep.rescore.scorer import Outcome
from evalprep.rescore.values import filters_of
from evalprep.results import (
    Run,
    TaskRun,
    choose_primary,
    metrics_of_filters,
    prepared_work,
    without_addresses,
)
from evalprep.samples import Metric, Sample, number_of, verdict_of

#: The parts of a configuration that make its scorer.
_NAMED = 100  # ids of disagreeing rows that are kept


@dataclass(frozen=True)
class Change:
    """One sample whose score is another one now."""

    sample_id: str
    before: float | None
    now: float | None
    before_answer: str
    now_answer: str
    target: str


@dataclass
class Replay:
    """Published outputs through our scorer.

    Args:
        n: Rows with a published output and verdict.
        agree: Rows on which our scorer gives the published verdict.
        milder, stricter: Rows that only our scorer, or only the published one, calls right.
        scorer_differs: Of the rows whose verdict differs from the published one, those whose
            published output we score differently too.
        model_differs: The others: the same scorer, another output.
        ids: The first rows on which the scorers differ.
    """

    n: int = 0
    agree: int = 0
    milder: int = 0
    stricter: int = 0
    scorer_differs: int = 0
    model_differs: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass
class FilterRescore:
    """One more filter of a task scored anew, by the metric of the task.

    Args:
        filter: Its name.
        previous, now: Mean scores; None where the run, or the task as it is now, lacks the filter.
        up, down: Documents whose score rose and fell.
    """

    filter: str
    previous: float | None = None
    now: float | None = None
    up: int = 0
    down: int = 0


@dataclass
class TaskRescore:
    """One task scored anew; `to_dict` gives it as plain data.

    Args:
        task, metric, filter: What was scored.
        n: Documents.
        previous, now: Mean scores; `previous` is None where nothing had been scored.
        up, down: Documents whose score rose and fell.
        first_scored: Documents that had no score before.
        scorer: What scored it.
        errors: Reason -> documents on which the scorer failed.
        scorer_changed: Which parts of the task's scorer read differently now; None when the run
            does not tell.
        changes: Every changed document.
        replay: Published outputs through our scorer; None without them.
        filters: The other filters of the task, then and now.
        over_all_rows: `previous` and `now` are computed over all rows at once, as a perplexity is.
        not_computed: Why `now` is not known, of such a value.
    """

    task: str
    metric: str
    filter: str
    n: int = 0
    previous: float | None = None
    now: float | None = None
    up: int = 0
    down: int = 0
    first_scored: int = 0
    scorer: str = ""
    errors: dict[str, int] = field(default_factory=dict)
    scorer_changed: list[str] | None = None
    changes: list[Change] = field(default_factory=list)
    replay: Replay | None = None
    filters: list[FilterRescore] = field(default_factory=list)
    over_all_rows: bool = False
    not_computed: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def primary_of(task: TaskRun, fresh: Any) -> Metric:
    """Returns the metric to look at: the run's own choice, else what the loaded task names.

    A `--predict_only` run has no metric, and a task whose filters were edited may not have the
    run's.
    """
    filters = filters_of(fresh)
    declared = fresh.config.metadata or {}
    if task.primary.metric and task.primary.filter in filters:
        declared = {"primary_metric": task.primary.metric, "primary_filter": task.primary.filter}
    metrics = metrics_of_filters(fresh.aggregation(), filters, fresh.higher_is_better())
    return choose_primary(declared, metrics, filters=filters)


def scorer_changes(task: TaskRun, fresh: Any) -> list[str] | None:
    """Parts of the scorer whose logged source or settings differ from today's.

    None when the run has no config.
    """
    logged = task.logged.settings.scorer
    if not task.logged.settings.as_logged:
        return None
    now = fresh.dump_config()

    def text(config: Any, key: str) -> str:
        return without_addresses(json.dumps(config.get(key), default=str, sort_keys=True))

    return [key for key in SCORER_KEYS if text(logged, key) != text(now, key)]


@dataclass
class FilterTally:
    """The changes under one filter beside the primary one, as the rows come.

    Attributes:
        result: What is counted.
        metric: The metric of the task.
        before: Id of a row -> its logged value.
    """

    result: FilterRescore
    metric: str
    before: Mapping[str, float]

    @classmethod
    def of(cls, task: TaskRun, metric: str, name: str) -> FilterTally:
        """The tally of a filter, with the values that the run logged under it."""
        table = task.table(name)
        values = table.metrics.get(metric)
        known = [] if values is None else zip(table.ids, values.tolist(), strict=True)
        before = {row: value for row, value in known if math.isfinite(value)}
        return cls(FilterRescore(name), metric, before)

    def take(self, pairs: Iterator[tuple[Sample, Outcome]]) -> Iterator[tuple[Sample, Outcome]]:
        """Counts changes while the pairs pass through."""
        now = _Mean()
        for sample, outcome in pairs:
            value = _value(outcome.metrics.get(self.result.filter, {}), self.metric)
            now.add(value)
            logged = self.before.get(sample.sample_id)
            if value is not None and logged is not None:
                self.result.up += int(value > logged)
                self.result.down += int(value < logged)
            yield sample, outcome
        self.result.now = now.value
        if self.before:
            self.result.previous = sum(self.before.values()) / len(self.before)


def tallies_beside(task: TaskRun, fresh: Any, primary: Metric) -> list[FilterTally]:
    """Returns a tally for each filter that the run or the task as it is now has beside one."""
    logged = task.table(primary.filter).filters
    names = dict.fromkeys([*filters_of(fresh), *logged])
    return [FilterTally.of(task, primary.metric, name) for name in names if name != primary.filter]


def tally(
    result: TaskRescore, primary: Metric, pairs: Iterator[tuple[Sample, Outcome]]
) -> Iterator[tuple[Sample, Outcome]]:
    """Counts changes into `result` while the pairs pass through."""
    values_before, values_now = _Mean(), _Mean()
    for sample, outcome in pairs:
        result.n += 1
        if outcome.error:
            result.errors[outcome.error] = result.errors.get(outcome.error, 0) + 1
        before = None
        if sample.filter == primary.filter:
            before = _value(sample.metrics, primary.metric)
        now = _value(outcome.metrics.get(primary.filter, {}), primary.metric)
        values_before.add(before)
        values_now.add(now)
        if before is None and now is not None:
            result.first_scored += 1
        elif before != now:
            if now is not None and before is not None:
                result.up += int(now > before)
                result.down += int(now < before)
            answer = outcome.filtered.get(primary.filter, [])
            change = Change(
                sample_id=sample.sample_id,
                before=before,
                now=now,
                before_answer=sample.answer,
                now_answer=str(answer[0] if len(answer) == 1 else answer),
                target=sample.target,
            )
            result.changes.append(change)
        _count_replay(result, primary, sample, outcome, now)
        yield sample, outcome
    result.previous = values_before.value
    result.now = values_now.value


@dataclass
class _Mean:
    """The mean of the values that are known, as they come."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float | None) -> None:
        """Counts a value; an unknown one is left out."""
        if value is not None:
            self.total += value
            self.count += 1

    @property
    def value(self) -> float | None:
        """The mean so far; None without a known value."""
        return self.total / self.count if self.count else None


def _value(metrics: dict[str, Any], name: str) -> float | None:
    number, weight = number_of(metrics.get(name), name)
    return number if weight else None


def _count_replay(
    result: TaskRescore, primary: Metric, sample: Sample, outcome: Outcome, now: float | None
) -> None:
    verdict = verdict_of(sample.doc.get("previously_is_correct"))
    again = _value(outcome.replay.get(primary.filter, {}), primary.metric)
    if verdict < 0 or again is None:
        return
    replay = result.replay = result.replay or Replay()
    published, ours = bool(verdict), again >= 0.5
    replay.n += 1
    replay.agree += int(published == ours)
    replay.milder += int(ours and not published)
    replay.stricter += int(published and not ours)
    if published != ours and len(replay.ids) < _NAMED:
        replay.ids.append(sample.sample_id)
    if now is not None and (now >= 0.5) != published:
        replay.scorer_differs += int(published != ours)
        replay.model_differs += int(published == ours)


def versions_before(run: Run) -> dict[str, str]:
    """Package versions that the run was prepared and scored with, as far as its files tell."""
    prepared = prepared_work(run)
    versions = {} if prepared is None else dict(prepared.versions)
    if run.settings.lm_eval_version:
        versions["lm_eval"] = run.settings.lm_eval_version
    return versions
