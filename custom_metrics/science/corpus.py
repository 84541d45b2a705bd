"""Metrics of one task over all its rows, in the three layouts of the result files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from custom_metrics.science.attributed_qa import qa_result
from custom_metrics.science.fact_checking_f1 import fact_result
from custom_metrics.science.list_f1 import list_result, prediction_parse
from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.ner_f1 import ner_result
from custom_metrics.science.normalize import FAULTY, MENDED, Counts, add, fraction
from custom_metrics.science.overlap import ROUGES, bleu_result
from custom_metrics.science.relation_f1 import relation_result, strict_result
from custom_metrics.science.reply import count_statuses
from custom_metrics.science.rows import Row
from custom_metrics.science.tasks import Task

SETS = ("valid_json", "all")
_PRF = ("p", "r", "f1")


def total(rows: Iterable[Row]) -> Counts:
    """Summed counts of some rows."""
    counts: Counts = {}
    for row in rows:
        add(counts, row.counts)
    return counts


def _result(task: Task, counts: Counts, mode: str) -> dict[str, Any]:
    if task.kind == "qa":
        # `attributed_qa` with ROUGE of the answers, over all rows and over those with an answer.
        result = qa_result(counts, mode)
        for suffix, rows in (("parsed", "answer_yes"), ("all", "rows")):
            n = counts.get(rows, 0)
            for name in ROUGES:
                # A row without an answer has ROUGE 0, so the sum is the same for both.
                result["scores"][f"{name}_{suffix}"] = counts[name] / n if n else None
        return result
    results = {
        "list": list_result,
        "ner": ner_result,
        "relation": relation_result,
        "fact": fact_result,
    }
    return results[task.kind](counts)


def task_metrics(task: Task, rows: Sequence[Row], mode: str = CORRECTED) -> dict[str, Any]:
    """Metrics of a task, nested as in `metrics.json`, without a judge's rating.

    Tasks answered in JSON are scored over two sets: `all` rows, failures standing as the default,
    and `valid_json`, the rows whose status is not `extract_failure`. In corrected mode `extra`
    holds what the original does not report: BLEU over canonical JSON, F1 with an equal effect
    label, parse counts of predictions alone, references that are not JSON, and how many parts of
    replies had the wrong type (`faulty_parts` stand as missing, `mended_parts` were read).

    Raises:
        ZeroDivisionError: in compat mode, when every prediction is empty.
    """
    counts = total(rows)
    metrics: dict[str, Any] = {}
    if task.is_json:
        metrics |= _json_metrics(task, rows, counts, mode)
    if task.kind == "summary":
        size = counts.get("rows", 0)
        metrics["rouge"] = {name: fraction(counts.get(name, 0), size) for name in ROUGES}
    metrics["bleu"] = bleu_result(counts, mode)
    return metrics


def _json_metrics(task: Task, rows: Sequence[Row], counts: Counts, mode: str) -> dict[str, Any]:
    """Metrics of a task that is answered in JSON, over both sets of rows."""
    readable = total(row for row in rows if row.parsed)
    by_set = {"valid_json": readable, "all": counts}
    key = "results" if task.kind in {"fact", "qa"} else "f1"
    metrics: dict[str, Any] = {}
    metrics[key] = {name: _result(task, by_set[name], mode) for name in SETS}
    if not is_compat(mode):
        metrics["extra"] = _extra(task, rows, by_set)
    statuses = (row.status or "extract_failure" for row in rows)
    metrics["json_counts"] = count_statuses(statuses)
    return metrics


def _extra(task: Task, rows: Sequence[Row], by_set: Mapping[str, Counts]) -> dict[str, Any]:
    """Returns what the original does not report, of each set and of all rows."""
    extra: dict[str, Any] = {}
    if task.kind == "list":
        extra = {name: {"prediction_parse": prediction_parse(by_set[name])} for name in SETS}
    if task.kind == "relation":
        extra = {name: {"overlap_strict": strict_result(by_set[name])} for name in SETS}
    counts = by_set["all"]
    prefix = "canonical_"
    canonical = {
        name.removeprefix(prefix): count
        for name, count in counts.items()
        if name.startswith(prefix)
    }
    return {
        **extra,
        "bleu_canonical": bleu_result(canonical),
        "bad_references": sum(not row.reference_ok for row in rows),
        "parts": {name: counts.get(name, 0) for name in (FAULTY, MENDED)},
    }


def flat_metrics(task: Task, metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """The metrics of a task on one level, named as in `metrics_flat.json`."""
    flat: dict[str, float | None] = {}
    if task.is_json:
        for name in SETS:
            flat |= _flat_set(task, metrics, name)
    if task.kind == "summary":
        flat |= metrics["rouge"]
        comparison = metrics.get("lm_judge", {}).get("reference_comparison", {})
        for key, value in comparison.items():
            name = key.removeprefix("lm_judge_")
            flat[f"lm_judge_reference_comparison_{name}"] = value
    flat["bleu"] = metrics["bleu"]
    if task.is_json:
        flat["json_parsed"] = metrics["json_counts"]["frac_success"]
    if task.is_json and "extra" in metrics:
        flat["bleu_canonical"] = metrics["extra"]["bleu_canonical"]
        flat |= metrics["extra"]["parts"]
    for key, value in flat.items():
        if isinstance(value, float) and math.isnan(value):
            flat[key] = None
    return flat


def _flat_set(task: Task, metrics: Mapping[str, Any], name: str) -> dict[str, float | None]:
    """Returns the metrics over one set of a task's rows: `all` or `valid_json`."""
    results = metrics["f1"] if "f1" in metrics else metrics["results"]
    values = _FLATTEN[task.kind](results[name])
    extras = metrics.get("extra", {}).get(name, {})
    for key, extra in extras.items():
        if key == "prediction_parse":
            values["frac_parsed_predictions"] = extra["frac_success"]
        else:
            values |= _prf(f"{key}_", extra)
    return {f"{name}_{key}": value for key, value in values.items()}


def _prf(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{prefix}{part}": values[part] for part in _PRF}


def _flat_list(result: Mapping[str, Any]) -> dict[str, Any]:
    parsed = result["parse_counts"]["frac_success"]
    return {**_prf("", result["f1"]), "frac_parsed": parsed}


def _flat_ner(result: Mapping[str, Any]) -> dict[str, Any]:
    return _prf("typed_", result["typed"]) | _prf("untyped_", result["untyped"])


def _flat_relation(result: Mapping[str, Any]) -> dict[str, Any]:
    flat = {"frac_valid_list": result["parse_counts"]["frac_success"]}
    for how in ("exact", "substring", "overlap"):
        flat |= _prf(f"{how}_", result[how])
    return flat


def _flat_fact(result: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for part in ("label", "evidence_sent", "evidence_tok"):
        flat |= _prf(f"{part}_", result["f1"][part])
    for part in ("correct_verdict", "correct_evidence"):
        flat[f"{part}_frac_parsed"] = result["answer_parse"][part]["frac_success"]
    return flat


def _flat_qa(result: Mapping[str, Any]) -> dict[str, Any]:
    flat = {}
    for part, counts in result["answer_parse"].items():
        flat[f"{part}_frac_parsed"] = counts["frac_success"]
    return {**flat, **result["scores"]}


_FLATTEN = {
    "list": _flat_list,
    "ner": _flat_ner,
    "relation": _flat_relation,
    "fact": _flat_fact,
    "qa": _flat_qa,
}

# Where each summary metric stands in the flat layout.
_SUMMARY = {
    "list": {"f1": "all_f1"},
    "ner": {"f1": "all_typed_f1"},
    "relation": {
        "f1_exact": "all_exact_f1",
        "f1_substring": "all_substring_f1",
        "f1_overlap": "all_overlap_f1",
    },
    "fact": {
        "f1_label": "all_label_f1",
        "f1_evidence_sent": "all_evidence_sent_f1",
        "f1_evidence_token": "all_evidence_tok_f1",
    },
    "qa": {
        "lm_judge_answer": "all_lm_judge",
        "f1_answer": "all_f1_answer_all",
        "f1_evidence": "all_f1_evidence_all",
    },
    "summary": {
        "lm_judge_reference": "lm_judge_reference_comparison_avg_rating",
        "rouge": "rougeL",
    },
    "text": {"bleu": "bleu"},
}


def summary_metrics(task: Task, flat: Mapping[str, float | None]) -> dict[str, float | None]:
    """The metrics that stand for a task, named as in `metrics_summary.json`.

    None for one that was not measured.
    """
    sources = _SUMMARY[task.kind]
    return {name: flat.get(source) for name, source in sources.items()}
