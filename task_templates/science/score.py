"""Suite scores of SciRIFF: corpus metrics of each task in both modes, mean and median of the summary columns."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from custom_metrics.science.corpus import flat_metrics, summary_metrics, task_metrics
from custom_metrics.science.interval import bootstrap_interval, influence
from custom_metrics.science.judge import mup_prompt_fields, qasper_prompt_fields, scaled
from custom_metrics.science.mode import COMPAT, CORRECTED
from custom_metrics.science.reply import STATUSES
from custom_metrics.science.rows import Row, row_score, saved_texts, score_row
from custom_metrics.science.tasks import TASKS, Task
from custom_metrics.statistics import Influence, combined_influence, influence_of, influence_of_mean

from .annotators import PROMPT_VERSION

Sample = Mapping[str, Any]
COMPAT_PREFIX = "compat."


def task(*, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """One task, scored anew from its samples.

    The value is the metric `params["metric"]` in corrected mode over all rows, `by_metric` has the others with their
    intervals; `parts` hold every flat metric, and those that the original programme gives under `compat.`.
    """
    name, samples = next(iter(rows.items()))
    kind = TASKS[name]
    if not samples:
        return {"agg_value": None, "reason": f"no samples of {name}"}
    scored = [_scored(kind, sample, CORRECTED) for sample in samples]
    metrics = task_metrics(kind, scored)
    flat = flat_metrics(kind, metrics)
    values = summary_metrics(kind, flat)
    if kind.kind == "relation":
        values["f1_overlap_strict"] = flat["all_overlap_strict_f1"]
    documents = [_document(name, sample) for sample in samples]
    intervals = {metric: bootstrap_interval(kind, metric, scored, documents) for metric in values}
    parts = {key: value for key, value in flat.items() if value is not None}
    compat, notes = _compat(kind, samples)
    if kind.is_json:
        parts |= {f"json_{status}": metrics["json_counts"][status] for status in STATUSES}
        notes.insert(0, _parse_rate(metrics["json_counts"], len(samples)))
    parts |= {f"{COMPAT_PREFIX}{key}": value for key, value in compat.items() if value is not None}
    if bad := metrics.get("extra", {}).get("bad_references"):
        notes.append(f"{bad} references are not the task's JSON and stand as the default")
    notes += _odd_rows(name, samples)
    keys = [
        f"{name}##{document}" if document is not None else f"{name}#{sample['sample_id']}"
        for document, sample in zip(documents, samples, strict=True)
    ]
    by_metric = {
        metric: {"agg_value": value, "n": len(samples), "influence": partial(influence, kind, metric, scored, keys)}
        | _bounds(intervals[metric])
        for metric, value in values.items()
        if value is not None
    }
    return by_metric[str(params["metric"])] | {
        "by_metric": by_metric,
        "parts": parts,
        "notes": notes,
        "value_by_index": {
            str(sample["index"]): {"row_score": row_score(kind, row), "json_status": row.status}
            for sample, row in zip(samples, scored, strict=True)
        },
    }


def _parse_rate(counts: Mapping[str, float], n: int) -> str:
    statuses = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    return f"JSON could be used in {counts['valid_json'] + counts['extract_success']} of {n} replies: {statuses}"


def _odd_rows(name: str, samples: Sequence[Sample]) -> list[str]:
    """What the ids of the rows (`task:split:number`) say that a comparison with other scores should know."""
    ids = [str(sample["doc"].get("_instance_id") or sample["sample_id"]) for sample in samples]
    parts = [one.split(":") for one in ids if one.count(":") == 2]
    notes = []
    if repeated := len(ids) - len(set(ids)):
        notes.append(f"{repeated} of {len(ids)} rows are there more than once, and each counts")
    if others := Counter(task for task, _, _ in parts if task != name):
        notes.append(f"{others.total()} rows are of another task: {', '.join(sorted(others))}")
    if splits := Counter(split for _, split, _ in parts if split != "validation"):
        notes.append(f"{splits.total()} rows are of the split {', '.join(sorted(splits))}; published ones: validation")
    return notes


def _bounds(interval: tuple[float, float] | None) -> dict[str, list[float]]:
    return {} if interval is None else {"interval": list(interval)}


def _compat(kind: Task, samples: Sequence[Sample]) -> tuple[dict[str, float | None], list[str]]:
    """The flat metrics of the original; where it stops at a reply, only the sentence that it does."""
    try:
        flat = flat_metrics(kind, task_metrics(kind, [_scored(kind, one, COMPAT) for one in samples], COMPAT))
    except Exception as error:  # noqa: BLE001 - reproducing the original's exceptions is what the mode is for
        return {}, [f"the original programme stops on these replies with {type(error).__name__}: {error}"]
    return flat, []


def _scored(kind: Task, sample: Sample, mode: str) -> Row:
    texts = {name: sample[name] for name in ("doc", "target", "filtered", "response")}
    return score_row(kind, *saved_texts(**texts), mode)


def _document(name: str, sample: Sample) -> str | None:
    """The paper that rows share, from the prepared row or, for other runs, from the prompt."""
    known = sample["doc"].get("cluster_id")
    if isinstance(known, str):
        return known
    fields = {"mup_single_document_summarization": mup_prompt_fields, "qasper_abstractive_qa": qasper_prompt_fields}
    return fields[name](str(sample["prompt"]))["title"] if name in fields else None


def part(*, inputs: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """A further metric, `params["metric"]`, of a task that is scored already."""
    (name, result), *_rest = inputs.items()
    found = result.get("by_metric", {}).get(params["metric"])
    return found or {"agg_value": None, "reason": result.get("reason") or f"{name} has no {params['metric']}"}


def judged(*, rows: Mapping[str, Sequence[Sample]], **_: Any) -> dict[str, Any]:
    """Mean rating of a judge, scaled from 1..5 to 0..1, ratings of 1 included.

    A rating stands in `judge_rating` among a sample's metrics; null there is a reply of the judge without one.
    """
    (samples,) = rows.values()
    ratings = [sample["metrics"].get("judge_rating") for sample in samples]
    known = [scaled(float(rating)) for rating in ratings if isinstance(rating, (int, float))]
    judgements = [sample["judgement"] for sample in samples if "judgement" in sample]
    skipped = Counter(one["status"] for one in judgements if one["ratings"] is None)
    skipped["unreadable judgement"] += sum(
        "judgement" not in sample and sample["metrics"].get("judge_rating", 0) is None for sample in samples
    )
    result: dict[str, Any] = {"skipped": {reason: count for reason, count in skipped.items() if count}}
    if judgements:
        version = next((one["version"] for one in judgements if one.get("version")), PROMPT_VERSION)
        result["judge"] = {"model": judgements[0]["judge"], "prompt_version": version, "asked": len(judgements)}
    if not known:
        return result | {"agg_value": None, "reason": "no judge has rated it: `evalprep judge RUN --model NAME`"}
    rated = [row["sample_id"] for row, one in zip(samples, ratings, strict=True) if isinstance(one, (int, float))]
    result |= {"agg_value": statistics.fmean(known), "n": len(known), "distributions": {"rating, scaled": known}}
    result["influence"] = partial(influence_of_mean, [f"{next(iter(rows))}#{one}" for one in rated], known)
    if judgements:
        result["notes"] = [f"rated by {judgements[0]['judge']}: {len(known)} of {len(judgements)} questions"]
    return result


def suite(*, inputs: Mapping[str, Mapping[str, Any]], params: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Mean or median of the summary columns that have a value; a task with two columns weighs double, as published."""
    values = {name: result["agg_value"] for name, result in inputs.items() if result.get("agg_value") is not None}
    absent = [name for name in inputs if name not in values]
    if not values:
        return {"agg_value": None, "reason": "no summary column has a value"}
    value = statistics.median(values.values()) if params["statistic"] == "median" else statistics.fmean(values.values())
    result: dict[str, Any] = {"agg_value": value, "n": len(values), "parts": values}
    if params["statistic"] != "median":
        result["influence"] = partial(_mean_influence, [inputs[name] for name in values])
    if absent:
        result["notes"] = [f"over {len(values)} of {len(inputs)} columns, without {', '.join(absent)}"]
    return result


def _mean_influence(parts: Sequence[Mapping[str, Any]]) -> Influence | None:
    found = [influence_of(part) for part in parts]
    known = [one for one in found if one is not None]
    return combined_influence((1 / len(known), one) for one in known) if len(known) == len(found) else None
