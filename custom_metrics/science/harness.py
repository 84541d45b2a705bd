"""The functions that the task YAMLs of the science pack name: `process_results` and aggregations.

lm-eval writes nothing before all tasks are scored, so nothing here raises: a reply on which scoring
fails counts as a failed reply and sets `scorer_error` to 1.

Micro F1 and corpus BLEU are no means of row values. Such metrics are logged as the counts that a
row adds (a mapping), and the aggregation forms the score from the sums. `row_score` is a number per
row in [0, 1] for paired comparisons.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from custom_metrics.science.mode import COMPAT
from custom_metrics.science.normalize import FAULTY, MENDED, Counts, add, precision_recall_f1
from custom_metrics.science.overlap import ROUGES, bleu_result
from custom_metrics.science.reply import count_statuses
from custom_metrics.science.rows import Row, row_score, score_row
from custom_metrics.science.tasks import TASKS, Task

_log = logging.getLogger(__name__)

# Metric -> the columns of a row's counts that stand for correct, predicted and expected.
_F1: dict[str, dict[str, tuple[str, str, str]]] = {
    "list": {"f1": ("correct", "preds", "refs")},
    "ner": {
        "f1": ("typed_correct", "typed_preds", "typed_refs"),
        "f1_untyped": ("untyped_correct", "untyped_preds", "untyped_refs"),
    },
    "relation": {
        "f1_overlap": ("overlap", "preds", "refs"),
        "f1_overlap_strict": ("strict", "preds", "refs"),
        "f1_substring": ("substring", "preds", "refs"),
        "f1_exact": ("exact", "preds", "refs"),
    },
    "fact": {
        "f1_label": ("label_correct", "label_preds", "label_refs"),
        "f1_evidence_sent": ("sentence_correct", "sentence_preds", "sentence_refs"),
        "f1_evidence_token": ("token_correct", "token_preds", "token_refs"),
    },
}
_MEANS = {
    "qa": {"f1_answer": "answer_f1", "f1_evidence": "evidence_f1"},
    "summary": {name: name for name in ROUGES},
}


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Scores one reply in corrected mode.

    Args:
        doc: A prepared row (`task` names the task, `target` is the reference) or a row of the data
            set itself.
        results: The reply.

    Returns:
        `row_score`, `bleu` (counts), `unparsed`, `scorer_error`, for JSON tasks `json_status` (the
        parse status), `faulty_parts` and `mended_parts` (parts of the wrong type that count as
        missing, or were read all the same), and the metrics of the task: F1 scores as counts, means
        as numbers. `row_score_compat` is the row score by the original's rule, null where the
        original stops at the reply.
    """
    task = TASKS[str(doc.get("task") or doc["_instance_id"].split(":")[0])]
    reference = str(doc["target"] if "target" in doc else doc["output"])
    reply = results[0] if results else ""
    if isinstance(reply, (list, tuple)):
        reply = reply[0] if reply else ""
    try:
        row = score_row(task, str(reply), reference)
        values = _values(task, row)
        values["scorer_error"] = 0
    except Exception as error:  # noqa: BLE001 - one reply must not lose the run, see above
        _log.warning("sample %s was not scored: %r", doc.get("sample_id"), error)
        values = _values(task, score_row(task, "", ""))
        values["scorer_error"] = 1
    values["row_score_compat"] = _by_the_original(task, str(reply), reference)
    return values


def _by_the_original(task: Task, reply: str, reference: str) -> float | None:
    try:
        return row_score(task, score_row(task, reply, reference, COMPAT))
    except Exception:  # noqa: BLE001 - the original's exceptions are what the mode reproduces
        return None


def _values(task: Task, row: Row) -> dict[str, Any]:
    counts = row.counts
    bleu = {name: value for name, value in counts.items() if name.startswith("bleu_")}
    values: dict[str, Any] = {
        "row_score": row_score(task, row),
        "unparsed": int(not row.parsed),
        "bleu": bleu,
    }
    if task.is_json:
        values["json_status"] = row.status
        values["faulty_parts"] = int(counts.get(FAULTY, 0))
        values["mended_parts"] = int(counts.get(MENDED, 0))
    for metric, (correct, preds, refs) in _F1.get(task.kind, {}).items():
        values[metric] = {"correct": counts[correct], "preds": counts[preds], "refs": counts[refs]}
    for metric, column in _MEANS.get(task.kind, {}).items():
        values[metric] = counts[column]
    return values


def mean_of_known(values: Iterable[float | None]) -> float:
    """Mean over the rows that have a number; NaN without any.

    >>> mean_of_known([1.0, None, 0.5])
    0.75
    """
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


def _sum(rows: Iterable[Mapping[str, float]]) -> Counts:
    total: Counts = {}
    for row in rows:
        add(total, dict(row))
    return total


def micro_f1(rows: Iterable[Mapping[str, float]]) -> float:
    """F1 of counts summed over rows, in [0, 1], higher is better.

    >>> micro_f1([{"correct": 1, "preds": 1, "refs": 1}, {"correct": 0, "preds": 1, "refs": 1}])
    0.5
    """
    total = _sum(rows)
    return float(
        precision_recall_f1(*(total.get(name, 0) for name in ("correct", "preds", "refs")))["f1"]
    )


def corpus_bleu(rows: Iterable[Mapping[str, float]]) -> float:
    """Corpus BLEU of counts summed over rows, in [0, 1], higher is better."""
    return bleu_result(_sum(rows))


def frac_success(statuses: Iterable[str]) -> float:
    """Share of replies whose JSON could be used (`valid_json`, `extract_success`).

    In [0, 1], higher is better.

    >>> frac_success(["valid_json", "null_json", "extract_failure", "extract_success"])
    0.5
    """
    return count_statuses(statuses)["frac_success"]


def total(counts: Iterable[float]) -> float:
    """Sum over rows, for what is counted and not averaged.

    >>> total([0, 2, 1])
    3
    """
    return sum(counts)
