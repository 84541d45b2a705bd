"""One task of two runs, or of a run and its published verdicts: what is read of it, and which rows are paired."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from evalprep.compare.comparable import differing, manner_notes, prompt_reason, reasons
from evalprep.compare.conclusion import missing_rows
from evalprep.compare.pairing import Pairs, with_published, with_run
from evalprep.compare.task import TaskComparison, compare_task
from evalprep.errors import BadInput, Problem
from evalprep.numbers import number, percent
from evalprep.results import UNKNOWN, Primary, Run, Table, TaskRun
from evalprep.results.facts import expected_rows
from evalprep.results.reply import Replier
from evalprep.terminal import counted

STRICT = "strict-match"  # the filter that is the published rule
_NAMED = 5  # ids that a sentence names


def chosen_primary(task: TaskRun, metric: str | None, filter_name: str | None, *, published: bool) -> Primary:
    """What is compared of a task: what the user names, else its own primary metric, or that of the published verdicts.

    Raises:
        BadInput: the task lacks the metric or the filter.
    """
    primary = task.primary
    if metric is None and filter_name is None:
        return _rule_of_published(task) if published else primary
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


def _rule_of_published(task: TaskRun) -> Primary:
    """Metric and filter that follow the rule of the published verdicts, where the task has them.

    Metadata may name them (`published_metric`, `published_filter`); else it is the filter `strict-match`, which by its
    contract is the published rule.
    """
    primary, table = task.primary, task.table()
    named = {key: task.metadata.get(f"published_{key}") for key in ("metric", "filter")}
    metric, filter_name = named["metric"] or primary.metric, named["filter"] or STRICT
    if filter_name not in table.filters or metric not in task.table(filter_name).metrics:
        return primary
    return replace(primary, metric=metric, filter=filter_name)


@dataclass(frozen=True)
class Sides:
    """One task of both runs; without `other` the baseline is the published verdicts."""

    run: Run
    task: TaskRun
    other: Run | None
    against: TaskRun | None


def compare_sides(
    sides: Sides,
    primary: Primary,
    confidence: float,
    *,
    allow: Collection[str],
    tolerated_missing: float,
    same_prompt_only: bool,
) -> TaskComparison:
    """Pair the rows of both sides of a task, and say what they carry.

    Args:
        sides: The task in both runs.
        primary: What is compared.
        confidence: Of the interval.
        allow: Facts of the question that may differ.
        tolerated_missing: Share of the expected rows that may be missing.
        same_prompt_only: Leave out pairs whose prompts are known to differ.
    """
    task, against = sides.task, sides.against
    table = task.table(primary.filter)
    notes: list[str] = []
    if against is None:
        other_table = None
        pairs = with_published(table, primary.metric)
        if (primary.metric, primary.filter) != (task.primary.metric, task.primary.filter):
            notes.append(_beside(task, primary))
    else:
        other_metric, other_filter = primary.metric, primary.filter
        other_table = against.table(other_filter)
        if len(other_table) == 0 or primary.metric not in other_table.metrics:
            other_metric, other_filter = against.primary.metric, against.primary.filter
            other_table = against.table(other_filter)
            if other_metric:
                notes.append(f"the baseline is read by its own {other_metric} ({other_filter})")
        if table.id_source != other_table.id_source:
            table = task.table(primary.filter, id_source="doc_hash")
            other_table = against.table(other_filter, id_source="doc_hash")
            notes.append("the runs name their rows differently; rows are matched by their content")
        pairs = with_run(table, primary.metric, other_table, other_metric)
    paired = pairs.rows.size
    changed = int(pairs.prompt_differs.sum())
    if same_prompt_only:
        pairs = pairs.keep(~pairs.prompt_differs)
    notes += _what_was_read(task, primary, table, pairs, against)
    result = compare_task(
        task.name,
        primary.metric,
        table,
        other_table,
        pairs,
        declared=primary.declared,
        higher_is_better=primary.higher_is_better,
        confidence=confidence,
        repliers=(Replier.of(sides.run), Replier() if sides.other is None else Replier.of(sides.other)),
    )
    if sides.other is not None and against is not None:
        result.differs = differing(sides.run, task, sides.other, against)
        result.not_comparable = reasons(result.differs, allow)
        result.notes += manner_notes(result.differs)
    if not same_prompt_only and not result.not_comparable:
        why = prompt_reason(changed, paired, result.differs, allow)
        result.not_comparable += [why] if why else []
    if result.difference.n == 0:
        result.not_enough.append("no row was scored on both sides")
    else:
        kept_out = paired - pairs.rows.size
        pick = min if "limit" in allow else max
        expected = pick(_expected(sides, table, other_table)) - kept_out
        missing_rows(result, expected, _why_missing(pairs), tolerated=tolerated_missing)
    result.notes = notes + result.notes
    return result


def _what_was_read(task: TaskRun, primary: Primary, table: Table, pairs: Pairs, against: TaskRun | None) -> list[str]:
    """What the reader should know of the metric, and of rows that have no number or several."""
    notes = []
    if not primary.metric:
        notes.append(task.without_score)
    elif not primary.declared:
        notes.append(f"no primary metric is named; {primary.metric} ({primary.filter}) was taken")
    if primary.metric and pairs.rows.size == 0:
        notes.append(_why_nothing(against))
    weights = table.weights.get(primary.metric)
    if weights is not None and np.unique(weights[pairs.rows]).size > 1:
        notes.append(f"{primary.metric} has several values in a row; each row counts once here, by their mean")
    return notes


def _beside(task: TaskRun, primary: Primary) -> str:
    values = task.table().metrics.get(task.primary.metric, np.empty(0))
    known = values[np.isfinite(values)]
    mean = float(known.mean()) if known.size else None
    own = percent(mean) if known.size and known.max() <= 1 else number(mean)
    return (
        f"compared by the rule of the published verdicts, {primary.metric} ({primary.filter}); the task's own "
        f"{task.primary.metric} ({task.primary.filter}) is {own}"
    )


def _expected(sides: Sides, table: Table, other: Table | None) -> list[int]:
    """Rows that each side was to answer, and at least as many as it names."""
    own = max(expected_rows(sides.run, sides.task) or 0, len(set(table.ids)) if table.duplicates() else len(table))
    if sides.other is None or sides.against is None or other is None:
        # Rows without a published verdict are not expected to be paired.
        return [own - int(np.sum(table.previous == UNKNOWN))]
    held = len(set(other.ids)) if other.duplicates() else len(other)
    return [own, max(expected_rows(sides.other, sides.against) or 0, held)]


def _why_missing(pairs: Pairs) -> str:
    parts = [
        (pairs.duplicates, "id occurs twice", "ids occur twice"),
        (pairs.unscored, "row without a finite score", "rows without a finite score"),
        (pairs.unreadable, "unreadable published verdict", "unreadable published verdicts"),
    ]
    return ", ".join(
        f"{counted(len(ids), one, many)}: {', '.join(ids[:_NAMED])}{', ...' if len(ids) > _NAMED else ''}"
        for ids, one, many in parts
        if ids
    )


def _why_nothing(against: TaskRun | None) -> str:
    if against is None:
        return "no row carries a published verdict (doc.previously_is_correct); name another run to compare with"
    return against.without_score or "no row has a score in both runs"
