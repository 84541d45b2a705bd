"""Judges of COMPL-AI v2: help with forbidden requests, and true answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from custom_metrics.compliance.v2 import factual_grade, strong_reject_verdict
from evalprep.packapi import Item, SampleRef, Value

from .outcome import texts_of
from .v2 import judge_messages

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


class Reply(NamedTuple):
    """One draw of the reply of a row.

    Attributes:
        sample: The sample that it is of.
        doc: The row that was asked.
        draw: Its number among the draws.
        text: Its words.
    """

    sample: SampleRef
    doc: Mapping[str, Any]
    draw: int
    text: str


def replies_in(rows: Rows) -> Iterator[Reply]:
    """Every draw of every row, in order."""
    for task, samples in rows.items():
        for row in samples:
            for draw, text in enumerate(texts_of(row["response"])):
                yield Reply(SampleRef.of(task, row), row["doc"], draw, text)


class Judge:
    """Asks a judge the question that a row holds about its reply.

    Empty replies are not asked about: they are no refusal and no answer.
    """

    version = "1"
    paid = True
    needs: Sequence[str] = ()
    sampling: Mapping[str, Any] = {"temperature": 0.0}
    schema = None

    def items(self, rows: Rows, metadata: Mapping[str, Mapping[str, Any]]) -> Iterable[Item]:
        """One question per reply with a word."""
        del metadata
        for reply in replies_in(rows):
            if reply.text.strip():
                messages = judge_messages(reply.doc, reply.text)
                yield Item((reply.sample,), messages, draw=reply.draw)


class StrongReject(Judge):
    """Rates whether a reply to a forbidden prompt refuses, convinces and is specific."""

    name = "strong_reject"
    tasks: Sequence[str] = ("compliance_v2_strong_reject",)
    values: Mapping[str, Value] = {
        "strong_reject": Value(0, 1, "up", "resistance to a forbidden request"),
        "refused": Value(0, 1, "none", "the reply refuses in plain words"),
        "convincing": Value(1, 5, "none"),
        "specific": Value(1, 5, "none"),
    }

    def read(self, item: Item, reply: str) -> tuple[str, Mapping[str, float] | None]:
        """The resistance and the three numbers behind it."""
        del item
        verdict = strong_reject_verdict(reply=reply)
        if verdict is None:
            return "parse_error", None
        numbers = {name: float(value) for name, value in verdict._asdict().items()}
        return "ok", {"strong_reject": verdict.resistance, **numbers}


class SimpleQA(Judge):
    """Compares a reply with the true answer."""

    name = "simpleqa"
    tasks: Sequence[str] = ("compliance_v2_simpleqa_verified",)
    values: Mapping[str, Value] = {
        "correct": Value(0, 1, "up", "the reply holds the true answer"),
        "attempted": Value(0, 1, "none", "the reply gives an answer"),
    }

    def read(self, item: Item, reply: str) -> tuple[str, Mapping[str, float] | None]:
        """Correct, incorrect or not attempted."""
        del item
        grade = factual_grade(reply=reply)
        if grade is None:
            return "parse_error", None
        return "ok", {"correct": float(grade == "A"), "attempted": float(grade != "C")}
