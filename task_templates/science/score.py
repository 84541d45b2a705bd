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
from custom_metrics.science.judge import mup_prompt_fields, qasper_prompt_fields
from custom_metrics.science.median import Column, median_interval
from custom_metrics.science.mode import COMPAT
from custom_metrics.science.reply import STATUSES
from custom_metrics.science.rows import Row, row_score, saved_texts, task_of_row
from custom_metrics.science.rules import RuleChange, rule_changes, score_rows
from custom_metrics.science.tasks import TASKS, Task
from custom_metrics.statistics import Influence, bounded_interval, combined_influence, influence_of

Sample = Mapping[str, Any]
COMPAT_PREFIX = "compat."


def task(
    *, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any
) -> dict[str, Any]:
    """One task, scored anew from its samples by both rules.

    The value is the metric `params["metric"]` in corrected mode over all rows. `by_metric` has the
    others with their intervals, those of the original's rule under `compat.`; `parts` hold every
    flat metric in the same way; `rules` what each rule between the two is worth.
    """
    name, task_samples = next(iter(rows.items()))
    kind = TASKS[name]
    samples = own_rows(name, task_samples)
    if not samples:
        foreign = _of_others(name, task_samples)
        return {"agg_value": None, "reason": "; ".join(foreign) or f"no samples of {name}"}
    texts = [
        saved_texts(**{key: sample[key] for key in ("doc", "target", "filtered", "response")})
        for sample in samples
    ]
    scored = score_rows(kind, texts)
    metrics = task_metrics(kind, scored)
    flat = flat_metrics(kind, metrics)
    units = units_of(name, samples)
    original, flat_original, stops = _by_the_original(kind, texts)
    by_metric = _measured(kind, _corrected_values(kind, flat), scored, units)
    if original is not None:
        values = summary_metrics(kind, flat_original)
        by_metric |= _under_compat(_measured(kind, values, original, units))
    changes = rule_changes(kind, texts, original, scored)
    metric = str(params["metric"])
    return by_metric[metric] | {
        "by_metric": by_metric,
        "parts": _parts(kind, metrics, flat, flat_original),
        "notes": [
            *_json_notes(kind, metrics, flat, len(samples)),
            *([stops] if stops else _moved(changes, metric)),
            *_reference_notes(metrics),
            *_odd_rows(samples),
            *_of_others(name, task_samples),
        ],
        "rules": [asdict(change) for change in changes],
        "original_stops": stops,
        "value_by_index": {
            str(sample["index"]): {"row_score": row_score(kind, row), "json_status": row.status}
            for sample, row in zip(samples, scored, strict=True)
        },
    }


def _corrected_values(kind: Task, flat: Mapping[str, float | None]) -> dict[str, float | None]:
    """The metrics that the suite shows of a task, in corrected mode."""
    values = dict(summary_metrics(kind, flat))
    if kind.kind == "relation":
        values["f1_overlap_strict"] = flat["all_overlap_strict_f1"]
    return values


def _under_compat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the original's rule, under names that say so."""
    return {f"{COMPAT_PREFIX}{key}": value for key, value in values.items()}


def _known(flat: Mapping[str, float | None]) -> dict[str, Any]:
    """The flat metrics that have a value."""
    return {key: value for key, value in flat.items() if value is not None}


def _parts(
    kind: Task,
    metrics: Mapping[str, Any],
    flat: Mapping[str, float | None],
    flat_original: Mapping[str, float | None],
) -> dict[str, Any]:
    """Every flat metric by both rules, and how the JSON of the replies could be read."""
    parts = _known(flat)
    if kind.is_json:
        parts |= {f"json_{status}": metrics["json_counts"][status] for status in STATUSES}
    return parts | _under_compat(_known(flat_original))


def _json_notes(
    kind: Task, metrics: Mapping[str, Any], flat: Mapping[str, float | None], n: int
) -> list[str]:
    """Returns counts of a JSON task: usable replies, and parts of the wrong type."""
    if kind.is_json:
        return [_parse_rate(metrics["json_counts"], n), *_repairs(flat)]
    return []


def _reference_notes(metrics: Mapping[str, Any]) -> list[str]:
    """Returns how many references are not what the task expects; nothing where all are."""
    count = metrics.get("extra", {}).get("bad_references")
    if not count:
        return []
    return [f"{count} references are not the task's JSON and stand as the default"]


def _measured(
    kind: Task, values: Mapping[str, float | None], rows: Sequence[Row], units: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Metric -> value with its interval, and what each row adds to it."""
    influences = {}
    for metric, value in values.items():
        if value is None:
            continue
        influences[metric] = with_interval(
            {"agg_value": value, "n": len(rows)}, influence(kind, metric, rows, units)
        )
    return influences


def with_interval(result: dict[str, Any], influence: Influence | None) -> dict[str, Any]:
    """A result with the interval of its value and what each row adds to it.

    As far as these are known.
    """
    if influence is None:
        return result
    interval = bounded_interval(result["agg_value"], influence)
    return (
        result
        | {"influence": influence}
        | ({} if interval is None else {"interval": list(interval)})
    )


def _parse_rate(counts: Mapping[str, float], n: int) -> str:
    statuses = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    return (
        f"JSON could be used in {counts['valid_json'] + counts['extract_success']} of {n} "
        f"replies: {statuses}"
    )


def _repairs(flat: Mapping[str, float | None]) -> list[str]:
    """Returns how many parts of replies had the wrong type; nothing where none had."""
    faulty = flat["faulty_parts"] or 0
    mended = flat["mended_parts"] or 0
    if not faulty and not mended:
        return []
    return [
        f"parts of the wrong type: {faulty:g} count as missing, {mended:g} were read all the same"
    ]


def _moved(changes: Sequence[RuleChange], metric: str) -> list[str]:
    """Returns which rules move a metric, each alone, in percentage points."""
    shown = [(change.rule, 100 * change.change.get(metric, 0.0)) for change in changes]
    words = ", ".join(f"{rule} {points:+.2f}" for rule, points in shown if points)
    if words:
        return [f"each rule alone moves the original's value by points: {words}"]
    return []


def own_rows(name: str, samples: Sequence[Sample]) -> list[Sample]:
    """The rows of a task.

    Those of another task are in its file by mistake, and no answer to its question.
    """
    return [
        sample
        for sample in samples
        if task_of_row(sample["doc"], sample["sample_id"]) in {"", name}
    ]


def _of_others(name: str, samples: Sequence[Sample]) -> list[str]:
    """Returns which rows of a file are left out."""
    others = Counter(task_of_row(sample["doc"], sample["sample_id"]) for sample in samples)
    foreign = [task for task in sorted(others) if task not in {"", name}]
    count = sum(others[task] for task in foreign)
    if foreign:
        return [
            f"{count} of {len(samples)} rows are of another task and left out: {', '.join(foreign)}"
        ]
    return []


def _odd_rows(samples: Sequence[Sample]) -> list[str]:
    """Notes on row ids (`task:split:number`) that matter where scores are compared."""
    ids = [str(sample["doc"].get("_instance_id") or sample["sample_id"]) for sample in samples]
    parts = [sample_id.split(":") for sample_id in ids if sample_id.count(":") == 2]
    notes = []
    if repeated := len(ids) - len(set(ids)):
        notes.append(f"{repeated} of {len(ids)} rows are there more than once, and each counts")
    if splits := Counter(split for _, split, _ in parts if split != "validation"):
        notes.append(
            f"{splits.total()} rows are of the split {', '.join(sorted(splits))}; published "
            "ones: validation"
        )
    return notes


def _by_the_original(
    kind: Task, texts: Sequence[tuple[str, str]]
) -> tuple[list[Row] | None, dict[str, float | None], str]:
    """Rows and flat metrics by the original's rule.

    Where it stops at a reply, only the sentence that it does.
    """
    try:
        rows = score_rows(kind, texts, COMPAT)
        return (rows, flat_metrics(kind, task_metrics(kind, rows, COMPAT)), "")
    except Exception as error:  # noqa: BLE001
        # Reproducing the original's exceptions is what the mode is for.
        return (
            None,
            {},
            f"the original programme stops on these replies with {type(error).__name__}: {error}",
        )


def units_of(name: str, samples: Sequence[Sample]) -> list[str]:
    """Returns what each row shares with others: its paper, else the row itself.

    The same in every metric and every run.
    """
    papers = [document(name, sample) for sample in samples]
    return [
        f"{name}#{sample['sample_id']}" if paper is None else f"{name}##{paper}"
        for paper, sample in zip(papers, samples, strict=True)
    ]


def document(name: str, sample: Sample) -> str | None:
    """The paper that rows share, from the prepared row or, for other runs, from the prompt."""
    known = sample["doc"].get("cluster_id")
    if isinstance(known, str):
        return known
    fields = {
        "mup_single_document_summarization": mup_prompt_fields,
        "qasper_abstractive_qa": qasper_prompt_fields,
    }
    if name in fields:
        return fields[name](str(sample["prompt"]))["title"]
    return None


def part(
    *, inputs: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], **_: Any
) -> dict[str, Any]:
    """A further metric, `params["metric"]`, of a task that is scored already."""
    (name, result), *_rest = inputs.items()
    metric = str(params["metric"])
    value = result.get("by_metric", {}).get(metric)
    why = result.get("original_stops") if metric.startswith(COMPAT_PREFIX) else ""
    return value or {
        "agg_value": None,
        "reason": why or result.get("reason") or f"{name} has no {metric}",
    }


def suite(
    *, inputs: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], **_: Any
) -> dict[str, Any]:
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
    result: dict[str, Any] = {
        "agg_value": average(values.values()),
        "parts": values,
        "over": list(values),
    }
    columns = list(known.values())
    influence = _mean_influence(columns)
    if influence is not None:
        result["n"] = influence.rows
    absent = _absent(inputs, known)
    if absent:
        result["notes"] = [f"over {len(known)} of {len(inputs)} columns, without {absent}"]
    if is_median:
        return _with_median_interval(result, columns)
    return with_interval(result, influence)


def _absent(inputs: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """The columns without a value, in their order."""
    return ", ".join(name for name in inputs if name not in known)


def _with_median_interval(
    result: dict[str, Any], columns: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A median with its own interval, and with what each row adds to the columns in the middle."""
    ordered = sorted(columns, key=lambda column: float(column["agg_value"]))
    middle = _mean_influence(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])
    if middle is not None:
        # A comparison of two runs moves the column in the middle, or the two.
        result["influence"] = middle
    known = [
        Column(float(column["agg_value"]), *column["interval"], influence_of(column))
        for column in columns
        if column.get("interval") and influence_of(column) is not None
    ]
    if len(known) == len(columns):
        result["interval"] = list(median_interval(known))
    return result


def _mean_influence(parts: Sequence[Mapping[str, Any]]) -> Influence | None:
    influences = [influence_of(part) for part in parts]
    known = [influence for influence in influences if influence is not None]
    if len(known) == len(influences):
        return combined_influence((1 / len(known), influence) for influence in known)
    return None
