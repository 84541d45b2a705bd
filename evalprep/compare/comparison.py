"""A run compared with published verdicts or with another run, over all its tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from custom_metrics import statistics
from evalprep.compare.difference import ALPHA, Difference, decide, detectable, difference
from evalprep.compare.flips import Flip
from evalprep.compare.identity import mismatch, warnings_for
from evalprep.compare.pairing import Pairs, with_published, with_run
from evalprep.compare.task import TaskComparison, compare_task
from evalprep.errors import BadInput, Problem
from evalprep.results import Primary, Run, TaskRun
from evalprep.terminal import counted

PUBLISHED = "published verdicts"


@dataclass
class Comparison:
    """The whole comparison; `to_dict` gives it as plain data, `flips` streams the changed samples with their texts.

    Args:
        run, other: Labels of the two sides.
        tasks: One entry per task, in name order.
        overall: All pairs of tasks with right-or-wrong scores together, each row weighing the same; None without any.
        overall_verdict, overall_words: Its verdict.
        macro_delta, macro_low, macro_high: Mean of the tasks' deltas, each task weighing the same.
        confidence: Of all intervals; 1 - confidence is the level of the verdicts.
        warnings: What makes the comparison doubtful.
        notes: What was decided on the user's behalf.
        missing_tasks: Tasks of the other run that this one lacks; extra_tasks the reverse.
    """

    run: str
    other: str
    tasks: list[TaskComparison]
    overall: Difference | None
    overall_verdict: str
    overall_words: str
    macro_delta: float | None
    macro_low: float | None
    macro_high: float | None
    confidence: float
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing_tasks: list[str] = field(default_factory=list)
    extra_tasks: list[str] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        """Pairs over all tasks."""
        return sum(task.difference.n for task in self.tasks)

    @property
    def worse(self) -> list[str]:
        """Tasks whose verdict is `worse`."""
        return [task.task for task in self.tasks if task.verdict == "worse"]

    def flips(self) -> Iterator[Flip]:
        """Every changed sample of every task, with its texts."""
        for task in self.tasks:
            yield from task.flips()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts of flips; NaN and infinity as None, so that it is strict JSON."""
        plain = {name: value for name, value in vars(self).items() if name not in {"tasks", "overall"}}
        plain["tasks"] = [task.to_dict() for task in self.tasks]
        plain["overall"] = None if self.overall is None else asdict(self.overall)
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per task as a data frame."""
        import pandas as pd

        flat = [
            {name: value for name, value in task.to_dict().items() if not isinstance(value, (list, dict))}
            for task in self.tasks
        ]
        return pd.DataFrame(flat)

    def flips_to_pandas(self) -> Any:
        """One row per changed sample as a data frame, texts included."""
        import pandas as pd

        return pd.DataFrame([flip.to_dict() for flip in self.flips()])


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def compare_runs(
    run: Run,
    other: Run | None = None,
    *,
    tasks: list[str] | None = None,
    metric: str | None = None,
    filter_name: str | None = None,
    confidence: float = 1 - ALPHA,
    same_prompt_only: bool = False,
) -> Comparison:
    """Compare a run with the verdicts published in its rows, or with another run.

    Args:
        run: The run to judge.
        other: What it is held against; None for the published verdicts (`doc.previously_is_correct`).
        tasks: Task or group names; all tasks by default.
        metric: Metric to compare instead of each task's primary one.
        filter_name: Filter to read instead of each task's primary one.
        confidence: Of intervals; verdicts use the level 1 - confidence, adjusted over tasks by Holm.
        same_prompt_only: Leave out pairs whose prompts are known to differ.

    Raises:
        BadInput: an unknown task, metric or filter; a confidence outside (0, 1); two runs without a common task.
    """
    if not 0.0 < confidence < 1.0:
        raise BadInput(Problem(what=f"confidence {confidence} is not between 0 and 1", fix="0.95 is usual"))
    chosen = run.select(tasks)
    compared: list[TaskComparison] = []
    for name, task in chosen.items():
        if other is not None and name not in other.tasks:
            continue
        primary = _primary(task, metric, filter_name)
        against = other.tasks[name] if other is not None else None
        compared.append(_one(task, against, primary, run, other, confidence, same_prompt_only=same_prompt_only))
    if other is not None and not compared:
        raise BadInput(
            Problem(
                what="the two runs have no task in common",
                where=f"{run.files.folder} and {other.files.folder}",
                allowed=f"one has {', '.join(run.tasks) or 'none'}; the other {', '.join(other.tasks) or 'none'}",
            )
        )
    adjusted = statistics.holm([math.nan if task.difference.p is None else task.difference.p for task in compared])
    level = (1 - confidence) / max(1, sum(not math.isnan(p) for p in adjusted))
    for task_result, p in zip(compared, adjusted, strict=True):
        item = task_result.difference
        item.mde = detectable(item.stderr, item.clusters, alpha=level)
        task_result.p_holm = None if math.isnan(p) else p
        task_result.verdict, task_result.words = decide(
            task_result.difference, task_result.p_holm, alpha=1 - confidence
        )
    overall = _overall(compared, confidence)
    verdict, words = decide(overall, overall.p, alpha=1 - confidence) if overall else ("nothing to compare", "")
    macro = _macro(compared, confidence)
    return Comparison(
        run=run.label,
        other=PUBLISHED if other is None else other.label,
        tasks=compared,
        overall=overall,
        overall_verdict=verdict,
        overall_words=words,
        macro_delta=macro[0],
        macro_low=macro[1],
        macro_high=macro[2],
        confidence=confidence,
        warnings=_warnings(run, other, compared),
        notes=list(dict.fromkeys([*run.notes, *(other.notes if other is not None else [])])),
        missing_tasks=[] if other is None or tasks else [name for name in other.tasks if name not in run.tasks],
        extra_tasks=[] if other is None else [name for name in chosen if name not in other.tasks],
    )


def _primary(task: TaskRun, metric: str | None, filter_name: str | None) -> Primary:
    primary = task.primary
    if metric is None and filter_name is None:
        return primary
    name = metric if metric is not None else primary.metric
    chosen = Primary(
        name, filter_name or primary.filter, declared=True, higher_is_better=task.directions.get(name) is not False
    )
    table = task.table(chosen.filter)
    if chosen.filter not in table.filters:
        raise BadInput(
            Problem(what=f"no filter {chosen.filter!r}", where=f"task {task.name}", allowed=", ".join(table.filters))
        )
    if chosen.metric not in table.metrics:
        raise BadInput(
            Problem(what=f"no metric {chosen.metric!r}", where=f"task {task.name}", allowed=", ".join(table.metrics))
        )
    return chosen


def _one(
    task: TaskRun,
    against: TaskRun | None,
    primary: Primary,
    run: Run,
    other: Run | None,
    confidence: float,
    *,
    same_prompt_only: bool,
) -> TaskComparison:
    table = task.table(primary.filter)
    notes: list[str] = []
    if against is None:
        other_table = None
        pairs = with_published(table, primary.metric)
    else:
        other_metric, other_filter = primary.metric, primary.filter
        other_table = against.table(other_filter)
        if len(other_table) == 0 or primary.metric not in other_table.metrics:
            other_metric, other_filter = against.primary.metric, against.primary.filter
            other_table = against.table(other_filter)
            if other_metric:
                notes.append(f"the other run is read by its own {other_metric} ({other_filter})")
        if table.id_source != other_table.id_source:
            table = task.table(primary.filter, id_source="doc_hash")
            other_table = against.table(other_filter, id_source="doc_hash")
            notes.append("the runs name their rows differently; rows are matched by their content")
        pairs = with_run(table, primary.metric, other_table, other_metric)
    if same_prompt_only:
        pairs = pairs.keep(~pairs.prompt_differs)
    if not primary.metric:
        notes.append(task.without_score)
    elif not primary.declared:
        notes.append(f"no primary metric is named; {primary.metric} ({primary.filter}) was taken")
    if primary.metric and pairs.rows.size == 0:
        notes.append(_why_nothing(against))
    weights = table.weights.get(primary.metric)
    if weights is not None and np.unique(weights[pairs.rows]).size > 1:
        notes.append(f"{primary.metric} has several values in a row; each row counts once here, by their mean")
    result = compare_task(
        task.name,
        primary.metric,
        table,
        other_table,
        pairs,
        declared=primary.declared,
        higher_is_better=primary.higher_is_better,
        confidence=confidence,
        models=(run.model, "" if other is None else other.model),
    )
    result.notes = notes + result.notes
    return result


def _why_nothing(against: TaskRun | None) -> str:
    if against is None:
        return "no row carries a published verdict (doc.previously_is_correct); name another run to compare with"
    return against.without_score or "no row has a score in both runs"


def _overall(tasks: list[TaskComparison], confidence: float) -> Difference | None:
    usable = [task for task in tasks if task.difference.binary and task.difference.n and task.pairs is not None]
    if not usable:
        return None
    # Directions are turned so that 1 is good; cluster codes are kept apart between tasks.
    now, before, clusters, shift = [], [], [], 0
    for task in usable:
        pairs: Pairs = task.pairs  # type: ignore[assignment]
        turned = not task.difference.higher_is_better
        now.append(1 - pairs.now if turned else pairs.now)
        before.append(1 - pairs.before if turned else pairs.before)
        codes = task.table.cluster[pairs.rows]  # type: ignore[union-attr]
        clusters.append(np.where(codes < 0, codes, codes + shift))
        shift += int(codes.max(initial=-1)) + 1
    grouped = np.concatenate(clusters) if shift else None
    return difference(np.concatenate(now), np.concatenate(before), grouped, confidence=confidence)


def _macro(tasks: list[TaskComparison], confidence: float) -> tuple[float | None, float | None, float | None]:
    usable = [task.difference for task in tasks if task.difference.delta is not None and task.difference.binary]
    if not usable:
        return None, None, None
    signs = [1.0 if item.higher_is_better else -1.0 for item in usable]
    mean = sum(sign * (item.delta or 0.0) for sign, item in zip(signs, usable, strict=True)) / len(usable)
    if any(item.stderr is None for item in usable):
        return mean, None, None
    half = statistics.critical_value(confidence) * math.hypot(*(item.stderr or 0.0 for item in usable)) / len(usable)
    return mean, mean - half, mean + half


def _warnings(run: Run, other: Run | None, tasks: list[TaskComparison]) -> list[str]:
    found = []
    if other is None:
        found += warnings_for(run)
    else:
        names = [one.model.rstrip("/").rpartition("/")[2] for one in (run, other)]
        found += [f"the runs are of different models: {one}" for one in mismatch(*names)]
    for task in tasks:
        counts = task.counts
        if counts["changed_prompt"]:
            sent = "was not the prepared one" if other is None else "differs between the runs"
            found.append(f"{task.task}: the prompt {sent} on {counted(counts['changed_prompt'], 'row')}")
        if counts["duplicates"]:
            found.append(f"{task.task}: {counted(counts['duplicates'], 'id occurs', 'ids occur')} more than once")
        if counts["damaged"]:
            found.append(f"{task.task}: {counted(counts['damaged'], 'damaged line')}, first {task.damage[0]}")
        if other is not None and (counts["missing"] or counts["extra"]):
            found.append(f"{task.task}: {counted(counts['missing'], 'row')} missing, {counts['extra']} extra")
    return found
