"""Suite scores and groups of several runs, lined up by name.

A score's result may bring more than its number, and any pack may use that: `explain` (one sentence;
without it, the `note` in pack.yaml is shown), `parts` (name -> number), `notes`, `skipped`, and
`distributions` (name -> numbers), which are drawn over one another, for instance the truth ratios
of a model and of its reference. Without `distributions`, graded values in `value_by_index` are
drawn. `categories` (name -> result) are drawn as bars with a line at the score, `records` (`best`
and `worst`, each a list of `sample_id`, `value`, `prompt`, `target`, `reply`) as tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, cast

from evalprep.numbers import finite_number
from evalprep.report.content import (
    CategoryPart,
    Distribution,
    GroupPart,
    GroupRunPart,
    PublishedPart,
    RecordPart,
    StoredPart,
    StoredValue,
    SuitePart,
    SuiteRunPart,
)
from evalprep.report.text import plain
from evalprep.results import Run
from evalprep.samples import SHARE
from evalprep.score import Estimate, GroupScore, Scores, SuiteScore, stored_scores

_DRAWN = 1000  # values of a distribution that are kept; a curve of more looks the same


def suite_of(scores: Sequence[Scores], notes: Mapping[str, str] | None = None) -> list[SuitePart]:
    """Every suite score of any run, with its result per run; None where a run does not have it.

    Args:
        scores: One entry per run.
        notes: `pack/name` of a score -> its `note` in pack.yaml.
    """
    by_name = [{score.id: score for score in scored_run.suite} for scored_run in scores]
    names = dict.fromkeys(chain.from_iterable(by_name))
    return [
        _line_up([run_scores.get(name) for run_scores in by_name], (notes or {}).get(name, ""))
        for name in names
    ]


def _line_up(scores: Sequence[SuiteScore | None], note: str) -> SuitePart:
    first = next(score for score in scores if score is not None)
    explain = next((score.explain for score in scores if score and score.explain), note)
    return {
        "name": first.name,
        "title": first.title,
        "pack": first.pack,
        "better": first.better,
        "range": list(first.range),
        "unit": first.unit,
        "explain": explain,
        "published": _published_values(scores),
        "runs": [None if score is None else _result(score) for score in scores],
    }


def _published_values(scores: Sequence[SuiteScore | None]) -> list[PublishedPart]:
    """The published values of all runs, each once."""
    published: dict[tuple[Any, ...], PublishedPart] = {}
    for score in filter(None, scores):
        for entry in score.published:
            part = cast(PublishedPart, plain(asdict(entry)))
            published.setdefault((entry.value, entry.source, entry.note), part)
    return list(published.values())


def _result(score: SuiteScore) -> SuiteRunPart:
    result = score.result
    shown = {
        "agg_value": result.value,
        "interval": result.interval,
        "stderr": result.stderr,
        "n": result.n,
        "read": result.read,
        "rule": result.rule,
        "clusters": result.clusters,
        "reason": result.reason,
        "parts": result.parts,
        "skipped": result.skipped,
    }
    known: dict[str, Any] = {name: value for name, value in shown.items() if value is not None}
    if score.is_undefined:
        known["interval"] = None
        known["reason"] = "undefined"
    known["agg_value"] = None if score.is_undefined else score.value
    known["reference"] = score.reference
    drawn = result.distributions or _by_index(result.value_by_index)
    part = {
        **plain(known),
        "few_read": score.few_read,
        "notes": [*score.notes, *(f"measured against {each.described}" for each in score.against)],
        "against": [each.to_dict() for each in score.against],
        "distributions": {str(name): thin(values) for name, values in drawn.items()},
        "categories": _categories(result.categories),
        "records": _records(result.records),
    }
    return cast(SuiteRunPart, part)


def _categories(categories: Any) -> list[CategoryPart]:
    """The categories of a score, the highest first; those without a value are left out."""
    if not isinstance(categories, Mapping):
        return []
    entries: list[CategoryPart] = []
    for name, category in categories.items():
        value = category.get("agg_value") if isinstance(category, Mapping) else None
        if finite_number(value) is not None:
            low, high = category.get("interval") or (None, None)
            count = category.get("n")
            entry = {"name": str(name), "agg_value": value, "low": low, "high": high, "n": count}
            entries.append(cast(CategoryPart, plain(entry)))
    return sorted(entries, key=lambda entry: -entry["agg_value"])


_RECORD_KEYS = ("sample_id", "value", "prompt", "target", "reply")


def _records(records: Any) -> dict[str, list[RecordPart]]:
    """The best and the worst records of a score, with the keys that the page shows."""
    if not isinstance(records, Mapping):
        return {}
    parts = {}
    for end in ("best", "worst"):
        listed = records.get(end)
        if isinstance(listed, list):
            known = [record for record in listed if isinstance(record, Mapping)]
            shown = [{key: record.get(key) for key in _RECORD_KEYS} for record in known]
            parts[end] = cast(list[RecordPart], plain(shown))
    return parts


def _by_index(rows: Any) -> dict[str, list[float]]:
    """Columns of `value_by_index` that hold graded values.

    A histogram of zeros and ones says nothing.
    """
    if not isinstance(rows, Mapping):
        return {}
    columns: dict[str, list[float]] = {}
    for row in rows.values():
        if not isinstance(row, Mapping):
            continue
        for name, value in row.items():
            if isinstance(value, float) and math.isfinite(value):
                columns.setdefault(str(name), []).append(value)
    graded = {name: values for name, values in columns.items() if len(set(values)) > 2}
    # Several columns have several scales; one alone is sure to be the score itself.
    return graded if len(columns) == 1 else {}


def thin(values: Iterable[Any]) -> Distribution:
    """A distribution as its size and at most 1,000 of its sorted values, both ends kept.

    >>> thin([3, 1, 2])
    {'n': 3, 'values': [1.0, 2.0, 3.0]}
    """
    numbers = map(finite_number, values)
    known = sorted(number for number in numbers if number is not None)
    size = len(known)
    if size > _DRAWN:
        known = [known[round(at * (size - 1) / (_DRAWN - 1))] for at in range(_DRAWN)]
    return {"n": size, "values": [float(f"{value:.6g}") for value in known]}


def stored_of(runs: Sequence[Run]) -> list[StoredPart]:
    """Stored scores of tasks without samples, lined up by task, metric and filter."""
    by_name = [
        {
            (stored_score.task, stored_score.metric, stored_score.filter): stored_score
            for stored_score in stored_scores(run)
        }
        for run in runs
    ]
    entries: list[StoredPart] = []
    for name in dict.fromkeys(chain.from_iterable(by_name)):
        scores = [run_scores.get(name) for run_scores in by_name]
        values: list[StoredValue | None] = [
            None
            if score is None
            else {"value": score.value, "stderr": score.stderr, "n": score.n, "part": score.part}
            for score in scores
        ]
        task, metric, filter_name = name
        entries.append(
            {
                "task": task,
                "metric": metric,
                "filter": filter_name,
                "percent": all(score.unit == SHARE for score in scores if score is not None),
                "runs": values,
            }
        )
    return entries


def groups_of(scores: Sequence[Scores]) -> list[GroupPart]:
    """lm-eval's groups that have a value: all rows pooled, and the mean of the tasks' means.

    The notes of the others give the reason.
    """
    by_name = [
        {
            group.group: group
            for group in score.groups
            if group.micro.value is not None or group.macro.value is not None
        }
        for score in scores
    ]
    names = dict.fromkeys(chain.from_iterable(by_name))
    return [
        {"name": name, "runs": [_group(run_groups.get(name)) for run_groups in by_name]}
        for name in names
    ]


def _group(group: GroupScore | None) -> GroupRunPart | None:
    if group is None:
        return None
    parts = {"micro": _fields_of(group.micro), "macro": _fields_of(group.macro)}
    return cast(GroupRunPart, plain({"tasks": group.tasks, **parts}))


def _fields_of(estimate: Estimate) -> dict[str, Any]:
    return {
        "agg_value": estimate.value,
        "interval": estimate.interval,
        "n": estimate.n,
        "rule": estimate.rule or None,
    }
