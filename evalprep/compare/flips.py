"""Samples whose verdict changed, with the reason as far as the files tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from evalprep.results import (
    Replier,
    Sample,
    SampleView,
    choice_margin,
    extraction_failed,
    has_reply,
    text_of,
)
from evalprep.tables import write_rows

#: Causes of a changed verdict; the first one that holds counts.
PROMPT_DIFFERS = "prompt differs"
SAME_OUTPUT = "same output, other verdict"
TRUNCATED = "truncated"
EXTRACTION_FAILED = "extraction failed"
NEAR_TIE = "near tie"
ANSWER_DIFFERS = "answer differs"
# Choices this near, in log-likelihood per character, change places by data type and batch size.
_TIE = 0.01


class FlipCause(msgspec.Struct, frozen=True):
    """A flip without its texts: row of the candidate, `gained` or `lost`, and the cause."""

    row: int
    direction: str
    cause: str


class Flip(msgspec.Struct, frozen=True):
    """One sample that is right on one side only (for graded metrics: whose score moved).

    Args:
        task: Task name.
        subtask: Subtask name, or empty.
        sample_id: The row.
        doc_id: Its position in the split.
        direction: `gained` or `lost`, seen from the run.
        cause: Why, from `cause_of`.
        baseline_score, candidate_score: The two scores.
        target: The gold answer.
        baseline_answer, candidate_answer: Extracted answers; the published one is not known.
        baseline_output, candidate_output: The replies.
        prompt: The prompt that the candidate sent.
    """

    task: str
    subtask: str
    sample_id: str
    doc_id: int
    direction: str
    cause: str
    baseline_score: float
    candidate_score: float
    target: str
    baseline_answer: str
    candidate_answer: str
    baseline_output: str
    candidate_output: str
    prompt: str

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return structs.asdict(self)


Repliers = tuple[Replier, Replier]
NOBODY: Repliers = (Replier(), Replier())


class Change(msgspec.Struct, frozen=True):
    """A pair whose scores differ.

    Args:
        sample: The run's sample.
        other: The other run's; None against published verdicts.
        subtask: Name of its subtask, or empty.
        baseline_output: The reply of the baseline; None where it is not known.
        now, before: The two scores.
        gained: Whether the run is the side that is right (for graded metrics: better).
        prompt_differs: Whether the two sides saw different prompts.
    """

    sample: Sample
    other: Sample | None
    subtask: str
    baseline_output: str | None
    now: float
    before: float
    gained: bool
    prompt_differs: bool

    @property
    def direction(self) -> str:
        """`gained` or `lost`, seen from the run."""
        return "gained" if self.gained else "lost"


def cause_of(change: Change, repliers: Repliers = NOBODY) -> str:
    """Returns why a verdict changed: the first of the causes above that holds.

    Args:
        change: The pair.
        repliers: Who wrote the replies of the two sides.
    """
    sample, other = change.sample, change.other
    if change.prompt_differs:
        return PROMPT_DIFFERS
    if _has_same_output(change):
        return SAME_OUTPUT
    if _is_near_tie(sample) or (other is not None and _is_near_tie(other)):
        return NEAR_TIE
    replier, other_replier = repliers
    if not change.gained:
        return _fault_of_reply(sample, replier)
    return ANSWER_DIFFERS if other is None else _fault_of_reply(other, other_replier)


def _has_same_output(change: Change) -> bool:
    """Returns whether the replies of both sides are the same but for blanks around them."""
    output = change.baseline_output
    if output is None or not has_reply(change.sample):
        return False
    return output.strip() == text_of(change.sample).strip()


def _fault_of_reply(sample: Sample, replier: Replier) -> str:
    """Returns what is wrong with a reply that is not right, as far as its form tells."""
    if replier.cut(sample):  # None, not known, is no cause
        return TRUNCATED
    return EXTRACTION_FAILED if extraction_failed(sample) else ANSWER_DIFFERS


def _is_near_tie(sample: Sample) -> bool:
    margin = choice_margin(sample)
    return margin is not None and margin < _TIE


def make_flip(task: str, change: Change, cause: str) -> Flip:
    """A change with its texts."""
    sample, other = change.sample, change.other
    return Flip(
        task=task,
        subtask=change.subtask,
        sample_id=sample.sample_id,
        doc_id=sample.doc_id,
        direction=change.direction,
        cause=cause,
        baseline_score=change.before,
        candidate_score=change.now,
        target=sample.target,
        baseline_answer="" if other is None else other.answer,
        candidate_answer=sample.answer,
        baseline_output=change.baseline_output or "",
        candidate_output=text_of(sample),
        prompt=sample.prompt,
    )


def with_baseline(view: SampleView, change: Change, cause: str) -> SampleView:
    """A changed sample with the baseline's score and reply, and the cause of the change."""
    is_explained = cause == ANSWER_DIFFERS and view.reason
    return replace(
        view,
        reason=view.reason if is_explained else cause,
        score=change.now,
        baseline_score=change.before,
        baseline_reply=change.baseline_output,
    )


def write_csv(flips: Iterable[Flip], path: Path) -> int:
    """Writes flips as CSV, one row each; returns their number."""
    return write_rows(chain([Flip.__struct_fields__], map(structs.astuple, flips)), path)
