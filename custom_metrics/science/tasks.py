"""The nine tasks: how their replies are read, and what stands in for a failure.

Each names the numbers that go into the summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from custom_metrics.science.normalize import flatten
from custom_metrics.science.relation_f1 import TUPLE_LENGTH

BIORED_TYPES = ("CellLine", "Chemical", "Disease", "Gene", "Species", "Variant")
SCIERC_TYPES = ("Generic", "Material", "Method", "Metric", "OtherScientificTerm", "Task")


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: Task id, the part of `_instance_id` before the first colon.
        alias: Name in tables.
        kind: How it is scored: `list`, `ner`, `relation`, `fact`, `qa`, `summary` or `text`.
        default: Stands in for a reply without usable JSON; None where replies are plain text.
        original_class: Class name in the original programme; one parsing rule asks for it.
        summary: Metrics of the task that its summary reports.
    """

    name: str
    alias: str
    kind: str
    default: Any
    original_class: str
    summary: tuple[str, ...]

    @property
    def is_json(self) -> bool:
        """Returns whether replies are JSON."""
        return self.default is not None

    def fits(self, value: Any) -> bool:
        """Returns whether a JSON value looks like an answer to this task, right or wrong.

        An object has one of the default's keys; a list of relations holds a list, or is one tuple
        by itself; another list holds a string at some depth. `[1]`, `[]`, `{}` and `{"a": 1}` are
        found in prose as well and do not fit.
        """
        if isinstance(self.default, dict):
            return isinstance(value, dict) and not self.default.keys().isdisjoint(value)
        if not isinstance(value, list):
            return False
        if self.kind == "relation":
            return any(isinstance(item, list) for item in value) or len(value) == TUPLE_LENGTH
        return any(isinstance(leaf, str) for leaf in flatten(value))


_ALL = (
    Task("bioasq_list_qa", "bioasq", "list", [], "BioASQ", ("f1",)),
    Task("biored_ner", "biored", "ner", {kind: [] for kind in BIORED_TYPES}, "Biored", ("f1",)),
    Task("discomat_te", "discomat", "text", None, "EvalTask", ("bleu",)),
    Task(
        "evidence_inference",
        "evidence_inference",
        "relation",
        [],
        "EvidenceInference",
        ("f1_exact", "f1_substring", "f1_overlap"),
    ),
    Task("multicite_intent_classification", "multicite", "list", [], "MultiCite", ("f1",)),
    Task(
        "mup_single_document_summarization",
        "mup",
        "summary",
        None,
        "MUP",
        ("lm_judge_reference", "rouge"),
    ),
    Task(
        "qasper_abstractive_qa",
        "qasper",
        "qa",
        {"answer": None, "evidence": None},
        "Qasper",
        ("lm_judge_answer", "f1_answer", "f1_evidence"),
    ),
    Task("scierc_ner", "scierc", "ner", {kind: [] for kind in SCIERC_TYPES}, "SciERC", ("f1",)),
    Task(
        "scifact_entailment",
        "scifact",
        "fact",
        {"verdict": "NEI", "evidence": []},
        "SciFact",
        ("f1_label", "f1_evidence_sent", "f1_evidence_token"),
    ),
)

TASKS: Mapping[str, Task] = {task.name: task for task in _ALL}

SUMMARY_COLUMNS = (
    ("bioasq_list_qa", "f1"),
    ("biored_ner", "f1"),
    ("discomat_te", "bleu"),
    ("evidence_inference", "f1_overlap"),
    ("multicite_intent_classification", "f1"),
    ("mup_single_document_summarization", "lm_judge_reference"),
    ("qasper_abstractive_qa", "lm_judge_answer"),
    ("qasper_abstractive_qa", "f1_evidence"),
    ("scierc_ner", "f1"),
    ("scifact_entailment", "f1_label"),
    ("scifact_entailment", "f1_evidence_token"),
)
"""Columns of the summary table, in the order of the paper.

Their mean and median are the suite's scores.
"""
