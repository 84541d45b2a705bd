"""Suite scores of SciRIFF.

Corpus metrics of each task by both rules, mean and median of the summary columns.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from custom_metrics.science.corpus import flat_metrics, summary_metrics, task_metrics
from custom_metrics.science.interval import influence
from custom_metrics.science.judge import PAPER_FIELDS
from custom_metrics.science.median import Column, median_interval
from custom_metrics.science.mode import COMPAT
from custom_metrics.science.reply import STATUSES
from custom_metrics.science.rows import Row, row_score, saved_texts, task_of_row
from custom_metrics.science.rules import RuleChange, rule_changes, score_rows
from custom_metrics.science.tasks import TASKS, Task
from custom_metrics.statistics import influence_of, mean_influence, with_interval

Sample = Mapping[str, Any]
Samples = Sequence[Sample]
Params = Mapping[str, Any]
Result = dict[str, Any]
Results = Mapping[str, Mapping[str, Any]]  # name of a score -> its result
Values = Mapping[str, float | None]  # metric -> value; None without one
COMPAT_PREFIX = "compat."


def task(*, rows: Mapping[str, Samples], params: Params, **_: Any) -> Result:
    """One task, scored anew from its samples by both rules.

    The value is the metric `params["metric"]` in corrected mode over all rows. `by_metric` has the
    others with their intervals, those of the original's rule under `compat.`; `parts` hold every
    flat metric in the same way; `rules` what each rule between the two is worth.
    """
    name, task_samples = next(iter(rows.items()))
    kind = TASKS[name]
    samples = own_rows(name, task_samples)
    others = Counter(_task_of(sample) for sample in task_samples)
    foreign = []
    if names := sorted(others.keys() - {"", name}):
        counted = f"{sum(others[other] for other in names)} of {len(task_samples)} rows"
        foreign = [f"{counted} are of another task and left out: {', '.join(names)}"]
    if not samples:
        reason = "; ".join(foreign) or f"no samples of {name}"
        return {"agg_value": None, "reason": reason}
    texts = [
        saved_texts(
            doc=sample["doc"],
            target=sample["target"],
            filtered=sample["filtered"],
            response=sample["response"],
        )
        for sample in samples
    ]
    scored = score_rows(kind, texts)
    metrics = task_metrics(kind, scored)
    flat = flat_metrics(kind, metrics)
    units = units_of(name, samples)
    original, flat_original, stops = _by_the_original(kind, texts)
    corrected = dict(summary_metrics(kind, flat))
    if kind.kind == "relation":
        corrected["f1_overlap_strict"] = flat["all_overlap_strict_f1"]
    by_metric = _measured(kind, corrected, scored, units)
    if original is not None:
        values = summary_metrics(kind, flat_original)
        measured = _measured(kind, values, original, units)
        by_metric |= _under_compat(measured)
    changes = rule_changes(kind, texts, original, scored)
    metric = str(params["metric"])
    parts = _known(flat)
    notes = []
    if kind.is_json:
        counts = metrics["json_counts"]
        parts |= {f"json_{status}": counts[status] for status in STATUSES}
        notes = _reading_notes(counts, flat, len(samples))
    notes += [stops] if stops else _moved(changes, metric)
    if bad := metrics.get("extra", {}).get("bad_references"):
        notes.append(f"{bad} references are not the task's JSON and stand as the default")
    notes += _odd_rows(samples)
    notes += foreign
    return by_metric[metric] | {
        "by_metric": by_metric,
        "parts": parts | _under_compat(_known(flat_original)),
        "notes": notes,
        "rules": [asdict(change) for change in changes],
        "original_stops": stops,
        "value_by_index": {
            str(sample["index"]): {"row_score": row_score(kind, row), "json_status": row.status}
            for sample, row in zip(samples, scored, strict=True)
        },
    }


def _under_compat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the original's rule, under names that say so."""
    return {f"{COMPAT_PREFIX}{key}": value for key, value in values.items()}


def _known(flat: Values) -> dict[str, Any]:
    """The flat metrics that have a value."""
    return {key: value for key, value in flat.items() if value is not None}


def _measured(
    kind: Task, values: Values, rows: Sequence[Row], units: Sequence[str]
) -> dict[str, Result]:
    """Metric -> value with its interval, and what each row adds to it."""
    measured = {}
    for metric, value in values.items():
        if value is None:
            continue
        result = {"agg_value": value, "n": len(rows)}
        influence_of_metric = influence(kind, metric, rows, units)
        if influence_of_metric is not None:
            result = with_interval(result, influence_of_metric)
        measured[metric] = result
    return measured


def _reading_notes(counts: Mapping[str, float], flat: Values, n: int) -> list[str]:
    """Returns how many replies had usable JSON, and how many parts of it were of a wrong type."""
    used = counts["valid_json"] + counts["extract_success"]
    statuses = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    notes = [f"JSON could be used in {used} of {n} replies: {statuses}"]
    faulty, mended = flat["faulty_parts"] or 0, flat["mended_parts"] or 0
    if faulty or mended:
        counted = f"{faulty:g} count as missing, {mended:g} were read all the same"
        notes.append(f"parts of the wrong type: {counted}")
    return notes


def _moved(changes: Sequence[RuleChange], metric: str) -> list[str]:
    """Returns which rules move a metric, each alone, in percentage points."""
    moves = []
    for change in changes:
        points = 100 * change.change.get(metric, 0.0)
        if points:
            moves.append(f"{change.rule} {points:+.2f}")
    if not moves:
        return []
    points_by_rule = ", ".join(moves)
    what = "each rule alone moves the original's value by points"
    return [f"{what}: {points_by_rule}"]


def _task_of(sample: Sample) -> str:
    """The task that a row belongs to; empty where it does not tell."""
    return task_of_row(sample["doc"], sample["sample_id"])


def own_rows(name: str, samples: Samples) -> list[Sample]:
    """The rows of a task's file that belong to the task, or do not tell to which they belong.

    Rows of another task, which are in the file by mistake, answer another question.
    """
    return [sample for sample in samples if _task_of(sample) in {"", name}]


def _odd_rows(samples: Samples) -> list[str]:
    """Notes on row ids (`task:split:number`) that matter where scores are compared."""
    ids = [str(sample["doc"].get("_instance_id") or sample["sample_id"]) for sample in samples]
    splits: Counter[str] = Counter()
    for row_id in ids:
        if row_id.count(":") == 2:
            _task, split, _number = row_id.split(":")
            splits[split] += 1
    del splits["validation"]  # published scores are over this split
    notes = []
    repeated = len(ids) - len(set(ids))
    if repeated:
        counted = f"{repeated} of {len(ids)} rows"
        notes.append(f"{counted} are there more than once, and each counts")
    if splits:
        names = ", ".join(sorted(splits))
        of_splits = f"{splits.total()} rows are of the split {names}"
        notes.append(f"{of_splits}; published ones: validation")
    return notes


def _by_the_original(
    kind: Task, texts: Sequence[tuple[str, str]]
) -> tuple[list[Row] | None, dict[str, float | None], str]:
    """Rows, flat metrics and an empty text, by the original's rule.

    Where the original stops at a reply, only the text: it says so.
    """
    try:
        rows = score_rows(kind, texts, COMPAT)
        metrics = task_metrics(kind, rows, COMPAT)
        return rows, flat_metrics(kind, metrics), ""
    except Exception as error:  # noqa: BLE001
        # Reproducing the original's exceptions is what the mode is for.
        cause = f"{type(error).__name__}: {error}"
        return None, {}, f"the original programme stops on these replies with {cause}"


def units_of(name: str, samples: Samples) -> list[str]:
    """Returns what each row shares with others: its paper, else the row itself.

    The same in every metric and every run.
    """
    units = []
    for sample in samples:
        paper = document(name, sample)
        units.append(f"{name}#{sample['sample_id']}" if paper is None else f"{name}##{paper}")
    return units


def document(name: str, sample: Sample) -> str | None:
    """The paper that rows share, from the prepared row or, for other runs, from the prompt."""
    known = sample["doc"].get("cluster_id")
    if isinstance(known, str):
        return known
    if name not in PAPER_FIELDS:
        return None
    return PAPER_FIELDS[name](str(sample["prompt"]))["title"]


def part(*, inputs: Results, params: Params, **_: Any) -> Result:
    """A further metric, `params["metric"]`, of a task that is scored already."""
    (name, result), *_rest = inputs.items()
    metric = str(params["metric"])
    value = result.get("by_metric", {}).get(metric)
    if value:
        return value
    stops = ""
    if metric.startswith(COMPAT_PREFIX):
        stops = result.get("original_stops")
    reason = stops or result.get("reason") or f"{name} has no {metric}"
    return {"agg_value": None, "reason": reason}


def suite(*, inputs: Results, params: Params, **_: Any) -> Result:
    """Mean or median of the summary columns that have a value.

    A task with two columns weighs double, as published.

    What a row adds is put together over the columns that are made of it, so that rows which two
    columns share count once in the interval.
    """
    known = {name: column for name, column in inputs.items() if column.get("agg_value") is not None}
    if not known:
        return {"agg_value": None, "reason": "no summary column has a value"}
    is_median = params["statistic"] == "median"
    average = statistics.median if is_median else statistics.fmean
    values = {name: column["agg_value"] for name, column in known.items()}
    result: Result = {"agg_value": average(values.values())}
    result["parts"] = values
    result["over"] = list(values)
    columns = list(known.values())
    influence = mean_influence(map(influence_of, columns))
    if influence is not None:
        result["n"] = influence.rows
    absent = ", ".join(name for name in inputs if name not in known)
    if absent:
        counted = f"{len(known)} of {len(inputs)} columns"
        result["notes"] = [f"over {counted}, without {absent}"]
    if not is_median:
        return result if influence is None else with_interval(result, influence)
    # A median has an interval of its own, and what each row adds to the columns in the middle.
    ordered = sorted(columns, key=lambda column: float(column["agg_value"]))
    count = len(ordered)
    middle = ordered[(count - 1) // 2 : count // 2 + 1]
    influence_of_middle = mean_influence(map(influence_of, middle))
    if influence_of_middle is not None:
        # A comparison of two runs moves the column in the middle, or the two.
        result["influence"] = influence_of_middle
    known = []
    for column in columns:
        value = float(column["agg_value"])
        influence = influence_of(column)
        if column.get("interval") and influence is not None:
            known.append(Column(value, *column["interval"], influence))
    if len(known) == len(columns):
        result["interval"] = list(median_interval(known))
    return result
