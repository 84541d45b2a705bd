"""One reply and its reference as a scored row.

Parse status, values, and counts that sum up to the task's metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from custom_metrics.extract.thinking import strip_thinking
from custom_metrics.science.answer import read_answer
from custom_metrics.science.attributed_qa import predicted_answer, qa_counts
from custom_metrics.science.fact_checking_f1 import fact_counts
from custom_metrics.science.list_f1 import list_counts
from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.ner_f1 import ner_counts
from custom_metrics.science.normalize import Counts, precision_recall_f1
from custom_metrics.science.overlap import bleu_counts, bleu_result, canonical_json, rouge_rows
from custom_metrics.science.relation_f1 import relation_counts
from custom_metrics.science.reply import json_parse, strip_eos
from custom_metrics.science.tasks import Task

_COUNTS: dict[str, Callable[..., Counts]] = {
    "list": list_counts,
    "ner": ner_counts,
    "relation": relation_counts,
    "fact": fact_counts,
    "qa": qa_counts,
}


@dataclass
class Row:
    """One scored reply.

    Attributes:
        reply: The reply without end tokens.
        text: What is scored of it: in corrected mode without thinking traces.
        reference: The reference as text.
        status: How JSON was found in it; None for tasks in plain text.
        pred: The value that was scored.
        ref: The reference's value.
        reference_ok: Whether the reference is JSON; one that is not stands as the default.
        counts: Addends of the task's metrics.
    """

    reply: str
    text: str
    reference: str
    status: str | None = None
    pred: Any = None
    ref: Any = None
    reference_ok: bool = True
    counts: Counts = field(default_factory=dict)

    @property
    def parsed(self) -> bool:
        """Returns whether the row belongs to the set `valid_json`."""
        return self.status != "extract_failure"

    @property
    def answer(self) -> str | None:
        """The answer that a reply to `qasper_abstractive_qa` gives."""
        return predicted_answer(self.pred)


def score_row(task: Task, reply: str, reference: str, mode: str = CORRECTED) -> Row:
    """Parses and scores one reply.

    Args:
        task: The task.
        reply: The model's text as logged, end tokens included.
        reference: The reference as text.
        mode: "corrected" never raises; "compat" raises where the original stops.

    Raises:
        ValueError: compat mode and a reference that is not JSON.
    """
    compat = is_compat(mode, "reference")
    reply = strip_eos(reply, mode)
    text = reply if is_compat(mode, "thinking") else strip_thinking(reply)[0]
    row = Row(reply, text, reference)
    row.counts |= bleu_counts(row.text, reference)
    if task.kind == "summary":
        row.counts |= {"rows": 1} | rouge_rows([row.text], [reference])[0]
    if not task.is_json:
        return row
    parsed_reference = json_parse(reference, task.default, task.original_class, mode)
    row.ref = parsed_reference["value"]
    row.reference_ok = parsed_reference["status"] == "valid_json"
    if compat and not row.reference_ok:
        raise ValueError(f"the reference of a row of {task.name} is not JSON: {reference[:80]!r}")
    if not compat:
        # A reference to rely on has the container type of the default, with all its keys.
        is_typed = isinstance(row.ref, type(task.default))
        row.reference_ok = row.reference_ok and is_typed
        if not is_typed:
            row.ref = task.default
        elif isinstance(row.ref, dict):
            row.ref = task.default | row.ref
    parsed = read_answer(task, row.text, mode)
    row.status = parsed["status"]
    row.pred = parsed["value"]
    row.counts |= _COUNTS[task.kind](row.pred, row.ref, mode=mode)
    if not is_compat(mode):
        # BLEU over canonical JSON; a reply without JSON stands as it is.
        prediction = canonical_json(row.pred) if row.parsed else row.text
        bleu = bleu_counts(prediction, canonical_json(row.ref))
        row.counts |= {f"canonical_{name}": value for name, value in bleu.items()}
    if task.kind == "qa":
        known = row.ref["answer"] if isinstance(row.ref, Mapping) else None
        answers = [predicted_answer(answer, mode) for answer in (row.pred, {"answer": known})]
        own, right = ([answer or ""] for answer in answers)
        row.counts |= rouge_rows(own, right)[0]
    return row


def saved_texts(
    *, doc: Mapping[str, Any], target: str, filtered: Any, response: Any
) -> tuple[str, str]:
    """The reply and the reference of a saved sample, whichever task YAML made the run.

    The reference is the data set's own column where the row has it: lm-eval's `target` is no longer
    JSON where a template rendered a list.
    """
    reply = filtered if isinstance(filtered, str) else response
    if not isinstance(reply, str):
        reply = str(reply[0]) if reply else ""
    columns = (doc.get(name) for name in ("target", "output"))
    return reply, next((text for text in columns if isinstance(text, str)), target)


def task_of_row(doc: Mapping[str, Any], sample_id: object = "") -> str:
    """The task that the id of a row (`task:split:number`) names; empty where it names none.

    >>> task_of_row({"_instance_id": "scierc_ner:validation:7"}), task_of_row({}, "17")
    ('scierc_ner', '')
    """
    parts = str(doc.get("_instance_id") or sample_id).split(":")
    return parts[0] if len(parts) == 3 else ""


def row_score(task: Task, row: Row) -> float:
    """One number in [0, 1] for a row, higher is better, to compare models row by row.

    F1 of the row (1 where nothing was expected and nothing given) for lists, entities and relations
    (token overlap); whether the verdict is right; answer F1; ROUGE-L; BLEU of the row. A reply
    without JSON of the task's type has 0, although the default that stands for it may happen to be
    right. The published scores are formed over the corpus and are no means of these.
    """
    if not row.parsed or (task.is_json and not isinstance(row.pred, type(task.default))):
        return 0.0
    if task.kind in _F1_COUNTS:
        return _row_f1(row, _F1_COUNTS[task.kind])
    if task.kind == "fact":
        verdict = row.pred.get("verdict")
        return float(("NEI" if verdict is None else verdict) == row.ref["verdict"])
    if task.kind == "qa":
        return row.counts["answer_f1"]
    if task.kind == "summary":
        return row.counts["rougeL"]
    return bleu_result(row.counts)


class _F1Counts(NamedTuple):
    """The counts that F1 of a row is made of."""

    correct: str
    preds: str = "preds"
    refs: str = "refs"


_F1_COUNTS = {
    "list": _F1Counts("correct"),
    "ner": _F1Counts("typed_correct", "typed_preds", "typed_refs"),
    "relation": _F1Counts("overlap"),
}


def _row_f1(row: Row, names: _F1Counts) -> float:
    """F1 of a row; 1 where nothing was expected and nothing given."""
    preds, refs = row.counts[names.preds], row.counts[names.refs]
    if preds == refs == 0:
        return 1.0
    return float(precision_recall_f1(row.counts[names.correct], preds, refs)["f1"])
