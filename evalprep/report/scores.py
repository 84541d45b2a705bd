"""Suite scores and groups of several runs, lined up by name.

A score's result may bring more than its number, and any pack may use that: `explain` (one sentence; without it, the
`note` in pack.yaml is shown), `parts` (name -> number), `notes`, `skipped`, and `distributions` (name -> numbers),
which are drawn over one another, for instance the truth ratios of a model and of its reference. Without
`distributions`, graded values in `value_by_index` are drawn. `categories` (name -> result) are drawn as bars with a
line at the score, `records` (`best` and `worst`, each a list of `sample_id`, `value`, `prompt`, `target`, `reply`) as
tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evalprep.report.text import plain
from evalprep.results import Run
from evalprep.score import GroupScore, Scores, SuiteScore
from evalprep.score.unsampled import stored_scores

_DRAWN = 1000  # values of a distribution that are kept; a curve of more looks the same
_KEPT = ("agg_value", "interval", "stderr", "n", "read", "rule", "clusters", "reason", "parts", "skipped")


def suite_of(scores: Sequence[Scores], notes: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Every suite score of any run, with its result per run; None where a run does not have it.

    Args:
        scores: One entry per run.
        notes: `pack/name` of a score -> its `note` in pack.yaml.
    """
    by_name = [{score.id: score for score in one.suite} for one in scores]
    names = dict.fromkeys(name for one in by_name for name in one)
    return [_line_up([one.get(name) for one in by_name], (notes or {}).get(name, "")) for name in names]


def _line_up(found: Sequence[SuiteScore | None], note: str) -> dict[str, Any]:
    first = next(score for score in found if score is not None)
    explain = next((str(score.result["explain"]) for score in found if score and score.result.get("explain")), note)
    published: dict[tuple[Any, ...], dict[str, Any]] = {}
    for score in found:
        for entry in score.published if score else ():
            published.setdefault((entry.value, entry.source, entry.note), asdict(entry))
    return {
        "name": first.name,
        "title": first.title,
        "pack": first.pack,
        "better": first.better,
        "range": list(first.range),
        "explain": explain,
        "published": plain(list(published.values())),
        "runs": [None if score is None else _result(score) for score in found],
    }


def _result(score: SuiteScore) -> dict[str, Any]:
    result = score.result
    notes = result.get("notes") or []
    shown = {name: result[name] for name in _KEPT if result.get(name) is not None}
    value = score.value
    if result.get("undefined") is True:
        value = shown["interval"] = None
        shown["reason"] = "undefined"
    drawn = result.get("distributions") or _by_index(result.get("value_by_index"))
    return dict(
        plain(shown | {"agg_value": value, "reference": score.reference})
        | {
            "few_read": score.few_read,
            "notes": [str(note) for note in ([notes] if isinstance(notes, str) else notes)],
            "distributions": {str(name): thin(values) for name, values in drawn.items()},
            "categories": _categories(result.get("categories")),
            "records": _records(result.get("records")),
        }
    )


def _categories(found: Any) -> list[dict[str, Any]]:
    """The categories of a score, the highest first; those without a value are left out."""
    made = []
    for name, one in found.items() if isinstance(found, Mapping) else ():
        value = one.get("agg_value") if isinstance(one, Mapping) else None
        if isinstance(value, (int, float)) and math.isfinite(value):
            low, high = one.get("interval") or (None, None)
            made.append({"name": str(name), "agg_value": value, "low": low, "high": high, "n": one.get("n")})
    return [dict(plain(one)) for one in sorted(made, key=lambda one: -one["agg_value"])]


def _records(found: Any) -> dict[str, list[dict[str, Any]]]:
    """The best and the worst records of a score, as far as they have the keys that the page shows."""
    keys = ("sample_id", "value", "prompt", "target", "reply")
    lists = {end: found.get(end) for end in ("best", "worst")} if isinstance(found, Mapping) else {}
    return {
        end: [dict(plain({key: one.get(key) for key in keys})) for one in several if isinstance(one, Mapping)]
        for end, several in lists.items()
        if isinstance(several, list)
    }


def _by_index(rows: Any) -> dict[str, list[float]]:
    """Columns of `value_by_index` that hold graded values: a histogram of zeros and ones says nothing."""
    columns: dict[str, list[float]] = {}
    for row in rows.values() if isinstance(rows, Mapping) else ():
        for name, value in row.items() if isinstance(row, Mapping) else ():
            if isinstance(value, float) and math.isfinite(value):
                columns.setdefault(str(name), []).append(value)
    graded = {name: values for name, values in columns.items() if len(set(values)) > 2}
    # Several columns have several scales; one alone is sure to be the score itself.
    return graded if len(columns) == 1 else {}


def thin(values: Iterable[Any]) -> dict[str, Any]:
    """A distribution as its size and at most 1,000 of its sorted values, in even steps, both ends kept.

    >>> thin([3, 1, 2])
    {'n': 3, 'values': [1.0, 2.0, 3.0]}
    """
    known = sorted(float(one) for one in values if isinstance(one, (int, float)) and math.isfinite(one))
    size = len(known)
    if size > _DRAWN:
        known = [known[round(at * (size - 1) / (_DRAWN - 1))] for at in range(_DRAWN)]
    return {"n": size, "values": [float(f"{one:.6g}") for one in known]}


def stored_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Scores that results files hold of tasks without samples, lined up by task, metric and filter."""
    by_name = [{(one.task, one.metric, one.filter): one for one in stored_scores(run)} for run in runs]
    made = []
    for name in dict.fromkeys(name for one in by_name for name in one):
        found = [one.get(name) for one in by_name]
        values = [one.value for one in found if one is not None]
        task, metric, filter_name = name
        made.append(
            {
                "task": task,
                "metric": metric,
                "filter": filter_name,
                "percent": all(0 <= value <= 1 for value in values),
                "runs": [one and {"value": one.value, "stderr": one.stderr, "n": one.n} for one in found],
            }
        )
    return made


def groups_of(scores: Sequence[Scores]) -> list[dict[str, Any]]:
    """The harness' groups of any run: all rows pooled, and the mean of the tasks' means."""
    by_name = [{group.group: group for group in one.groups} for one in scores]
    names = dict.fromkeys(name for one in by_name for name in one)
    return [{"name": name, "runs": [_group(one.get(name)) for one in by_name]} for name in names]


def _group(group: GroupScore | None) -> dict[str, Any] | None:
    if group is None:
        return None
    kept = ("agg_value", "interval", "n", "rule")
    parts = {kind: {name: getattr(group, kind).get(name) for name in kept} for kind in ("micro", "macro")}
    return dict(plain({"tasks": group.tasks, **parts}))
