"""Suite scores of SciRIFF: corpus metrics of each task by both rules, mean and median of the summary columns."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from custom_metrics.science.corpus import flat_metrics, summary_metrics, task_metrics
from custom_metrics.science.interval import influence
from custom_metrics.science.judge import mup_prompt_fields, qasper_prompt_fields
from custom_metrics.science.mode import COMPAT
from custom_metrics.science.reply import STATUSES
from custom_metrics.science.rows import Row, row_score, saved_texts, task_of_row
from custom_metrics.science.rules import RuleChange, rule_changes, score_rows
from custom_metrics.science.tasks import TASKS, Task
from custom_metrics.statistics import Influence, bounded_interval, combined_influence, influence_of

Sample = Mapping[str, Any]
COMPAT_PREFIX = "compat."


def task(*, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """One task, scored anew from its samples by both rules.

    The value is the metric `params["metric"]` in corrected mode over all rows. `by_metric` has the others with their
    intervals, those of the original's rule under `compat.`; `parts` hold every flat metric in the same way; `rules`
    what each rule between the two is worth.
    """
    name, given = next(iter(rows.items()))
    kind, samples = TASKS[name], own_rows(name, given)
    if not samples:
        foreign = _of_others(name, given)
        return {"agg_value": None, "reason": "; ".join(foreign) or f"no samples of {name}"}
    texts = [saved_texts(**{key: one[key] for key in ("doc", "target", "filtered", "response")}) for one in samples]
    scored = score_rows(kind, texts)
    metrics = task_metrics(kind, scored)
    flat = flat_metrics(kind, metrics)
    values = summary_metrics(kind, flat)
    if kind.kind == "relation":
        values["f1_overlap_strict"] = flat["all_overlap_strict_f1"]
    units = units_of(name, samples)
    by_metric = _measured(kind, values, scored, units)
    parts = {key: value for key, value in flat.items() if value is not None}
    notes = []
    if kind.is_json:
        parts |= {f"json_{status}": metrics["json_counts"][status] for status in STATUSES}
        notes.append(_parse_rate(metrics["json_counts"], len(samples)))
        notes += _repairs(flat)
    original, flat_original, stops = _by_the_original(kind, texts)
    parts |= {f"{COMPAT_PREFIX}{key}": value for key, value in flat_original.items() if value is not None}
    if original is not None:
        of_original = _measured(kind, summary_metrics(kind, flat_original), original, units)
        by_metric |= {f"{COMPAT_PREFIX}{key}": one for key, one in of_original.items()}
    changes = rule_changes(kind, texts, original, scored)
    wanted = str(params["metric"])
    notes += [stops] if stops else _moved(changes, wanted)
    if bad := metrics.get("extra", {}).get("bad_references"):
        notes.append(f"{bad} references are not the task's JSON and stand as the default")
    notes += [*_odd_rows(samples), *_of_others(name, given)]
    return by_metric[wanted] | {
        "by_metric": by_metric,
        "parts": parts,
        "notes": notes,
        "rules": [asdict(one) for one in changes],
        "original_stops": stops,
        "value_by_index": {
            str(sample["index"]): {"row_score": row_score(kind, row), "json_status": row.status}
            for sample, row in zip(samples, scored, strict=True)
        },
    }


def _measured(
    kind: Task, values: Mapping[str, float | None], rows: Sequence[Row], units: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Metric -> value with its interval, and what each row adds to it."""
    found = {}
    for metric, value in values.items():
        if value is None:
            continue
        found[metric] = with_interval({"agg_value": value, "n": len(rows)}, influence(kind, metric, rows, units))
    return found


def with_interval(result: dict[str, Any], found: Influence | None) -> dict[str, Any]:
    """A result with the interval of its value and what each row adds to it, as far as these are known."""
    if found is None:
        return result
    interval = bounded_interval(result["agg_value"], found)
    return result | {"influence": found} | ({} if interval is None else {"interval": list(interval)})


def _parse_rate(counts: Mapping[str, float], n: int) -> str:
    statuses = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    return f"JSON could be used in {counts['valid_json'] + counts['extract_success']} of {n} replies: {statuses}"


def _repairs(flat: Mapping[str, float | None]) -> list[str]:
    """How many parts of replies had the wrong type; nothing where none had."""
    faulty, mended = flat["faulty_parts"] or 0, flat["mended_parts"] or 0
    if not faulty and not mended:
        return []
    return [f"parts of the wrong type: {faulty:g} count as missing, {mended:g} were read all the same"]


def _moved(changes: Sequence[RuleChange], metric: str) -> list[str]:
    """Which rules move a metric, each alone, in percentage points."""
    shown = [(one.rule, 100 * one.change.get(metric, 0.0)) for one in changes]
    told = ", ".join(f"{rule} {points:+.2f}" for rule, points in shown if points)
    return [f"each rule alone moves the original's value by points: {told}"] if told else []


def own_rows(name: str, samples: Sequence[Sample]) -> list[Sample]:
    """The rows of a task: those of another are in its file by mistake, and no answer to its question."""
    return [one for one in samples if task_of_row(one["doc"], one["sample_id"]) in {"", name}]


def _of_others(name: str, samples: Sequence[Sample]) -> list[str]:
    """Which rows of a file are left out."""
    others = Counter(task_of_row(one["doc"], one["sample_id"]) for one in samples)
    foreign = [task for task in sorted(others) if task not in {"", name}]
    count = sum(others[task] for task in foreign)
    return [f"{count} of {len(samples)} rows are of another task and left out: {', '.join(foreign)}"] if foreign else []


def _odd_rows(samples: Sequence[Sample]) -> list[str]:
    """What the ids of the rows (`task:split:number`) say that a comparison with other scores should know."""
    ids = [str(sample["doc"].get("_instance_id") or sample["sample_id"]) for sample in samples]
    parts = [one.split(":") for one in ids if one.count(":") == 2]
    notes = []
    if repeated := len(ids) - len(set(ids)):
        notes.append(f"{repeated} of {len(ids)} rows are there more than once, and each counts")
    if splits := Counter(split for _, split, _ in parts if split != "validation"):
        notes.append(f"{splits.total()} rows are of the split {', '.join(sorted(splits))}; published ones: validation")
    return notes


def _by_the_original(
    kind: Task, texts: Sequence[tuple[str, str]]
) -> tuple[list[Row] | None, dict[str, float | None], str]:
    """Rows and flat metrics by the original's rule; where it stops at a reply, only the sentence that it does."""
    try:
        rows = score_rows(kind, texts, COMPAT)
        return rows, flat_metrics(kind, task_metrics(kind, rows, COMPAT)), ""
    except Exception as error:  # noqa: BLE001 - reproducing the original's exceptions is what the mode is for
        return None, {}, f"the original programme stops on these replies with {type(error).__name__}: {error}"


def units_of(name: str, samples: Sequence[Sample]) -> list[str]:
    """What each row shares with others: its paper, else the row itself; the same in every metric and every run."""
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
    fields = {"mup_single_document_summarization": mup_prompt_fields, "qasper_abstractive_qa": qasper_prompt_fields}
    return fields[name](str(sample["prompt"]))["title"] if name in fields else None


def part(*, inputs: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """A further metric, `params["metric"]`, of a task that is scored already."""
    (name, result), *_rest = inputs.items()
    metric = str(params["metric"])
    found = result.get("by_metric", {}).get(metric)
    why = result.get("original_stops") if metric.startswith(COMPAT_PREFIX) else ""
    return found or {"agg_value": None, "reason": why or result.get("reason") or f"{name} has no {metric}"}


def suite(*, inputs: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Mean or median of the summary columns that have a value; a task with two columns weighs double, as published.

    What a row adds is put together over the columns that are made of it, so that rows which two columns share count
    once in the interval.
    """
    values = {name: result["agg_value"] for name, result in inputs.items() if result.get("agg_value") is not None}
    absent = [name for name in inputs if name not in values]
    if not values:
        return {"agg_value": None, "reason": "no summary column has a value"}
    median = params["statistic"] == "median"
    value = statistics.median(values.values()) if median else statistics.fmean(values.values())
    result: dict[str, Any] = {"agg_value": value, "parts": values, "over": list(values)}
    columns = [inputs[name] for name in values]
    found = _mean_influence(columns)
    if found is not None:
        result["n"] = found.rows
    if median:
        # The column in the middle, or the two, decide. Where others are close the median moves less than they do, and
        # the interval is the wider one.
        ordered = sorted(columns, key=lambda one: float(one["agg_value"]))
        found = _mean_influence(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])
    if absent:
        result["notes"] = [f"over {len(values)} of {len(inputs)} columns, without {', '.join(absent)}"]
    return with_interval(result, found)


def _mean_influence(parts: Sequence[Mapping[str, Any]]) -> Influence | None:
    found = [influence_of(part) for part in parts]
    known = [one for one in found if one is not None]
    return combined_influence((1 / len(known), one) for one in known) if len(known) == len(found) else None
