"""Samples whose verdict changed, with the reason as far as the files tell."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from evalprep.results import Replier, extraction_failed, has_reply, text_of
from evalprep.samples import Sample, choice_margin
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
#: Names of a flip's values in a table, in their order.
_COLUMNS = (
    *("task", "subtask", "sample_id", "doc_id", "direction", "cause"),
    *("baseline_score", "candidate_score", "target", "baseline_answer", "candidate_answer"),
    *("baseline_output", "candidate_output", "prompt"),
)

_values = attrgetter(*_COLUMNS)

Repliers = tuple[Replier, Replier]
NOBODY: Repliers = (Replier(), Replier())


class Flip(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One sample that is right on one side only (for graded metrics: whose score moved).

    Texts are read from the lines when they are asked for.

    Attributes:
        task, subtask: Where it belongs; the subtask is empty without one.
        row: Row of the candidate.
        sample: The candidate's line.
        other: The baseline's; None against published verdicts.
        candidate_score, baseline_score: The two scores.
        gained: Whether the candidate is the side that is right (for graded metrics: better).
        prompt_differs: Whether the two sides saw different prompts.
        repliers: Who wrote the replies of the two sides.
    """

    task: str
    subtask: str
    row: int
    sample: Sample
    other: Sample | None
    candidate_score: float
    baseline_score: float
    gained: bool
    prompt_differs: bool
    repliers: Repliers = NOBODY

    @property
    def sample_id(self) -> str:
        """Identity of the row in the candidate."""
        return self.sample.sample_id

    @property
    def doc_id(self) -> int:
        """Its position in the split."""
        return self.sample.doc_id

    @property
    def direction(self) -> str:
        """`gained` or `lost`, seen from the candidate."""
        return "gained" if self.gained else "lost"

    @cached_property
    def cause(self) -> str:
        """Why the verdict changed: the first of the causes above that holds."""
        sample, other = self.sample, self.other
        if self.prompt_differs:
            return PROMPT_DIFFERS
        if self._has_same_output:
            return SAME_OUTPUT
        if _is_near_tie(sample) or (other is not None and _is_near_tie(other)):
            return NEAR_TIE
        replier, other_replier = self.repliers
        if not self.gained:
            return _fault_of_reply(sample, replier)
        return ANSWER_DIFFERS if other is None else _fault_of_reply(other, other_replier)

    @property
    def _has_same_output(self) -> bool:
        """True where the replies of both sides are the same but for blanks around them."""
        output = self.baseline_reply
        if output is None or not has_reply(self.sample):
            return False
        return output.strip() == self.candidate_output.strip()

    @property
    def baseline_reply(self) -> str | None:
        """The reply of the baseline; None where it is not known."""
        if self.other is None:
            return self.sample.previous_output
        return text_of(self.other) if has_reply(self.other) else None

    @property
    def target(self) -> str:
        """The gold answer as the candidate logged it."""
        return self.sample.target

    @property
    def baseline_answer(self) -> str:
        """The extracted answer of the baseline; empty of a published one, which is not known."""
        return "" if self.other is None else self.other.answer

    @property
    def candidate_answer(self) -> str:
        """That of the candidate."""
        return self.sample.answer

    @property
    def baseline_output(self) -> str:
        """The reply of the baseline; empty where it is not known."""
        return self.baseline_reply or ""

    @cached_property
    def candidate_output(self) -> str:
        """The reply of the candidate."""
        return text_of(self.sample)

    @property
    def prompt(self) -> str:
        """The prompt that the candidate sent."""
        return self.sample.prompt

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return dict(zip(_COLUMNS, _values(self), strict=True))


def _fault_of_reply(sample: Sample, replier: Replier) -> str:
    """Returns what is wrong with a reply that is not right, as far as its form tells."""
    if replier.cut(sample):  # None, not known, is no cause
        return TRUNCATED
    return EXTRACTION_FAILED if extraction_failed(sample) else ANSWER_DIFFERS


def _is_near_tie(sample: Sample) -> bool:
    margin = choice_margin(sample)
    return margin is not None and margin < _TIE


def write_csv(flips: Iterable[Flip], path: Path) -> int:
    """Writes flips as CSV, one row each; returns their number."""
    return write_rows(chain([_COLUMNS], map(_values, flips)), path)
