"""Two sides that are one run: read from one file or its copy, or with the same replies.

Such sides cannot differ, and their comparison reads like a proof that nothing got worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from evalprep.compare.reasons import Kind, Reason
from evalprep.places import last_part
from evalprep.results import Run

if TYPE_CHECKING:
    from evalprep.compare.task import PairedTask

#: Replies below which two models may well agree to the letter.
_FEWEST_REPLIES = 20


def same_file(run: Run, other: Run | None, task: str) -> list[Reason]:
    """The reason where both sides of a task are read from one file or its copy.

    Args:
        run: The candidate.
        other: The baseline; None for published verdicts.
        task: The task.
    """
    if other is None or not run.shares_file(other, task):
        return []
    return [Reason(Kind.SAME_FILE)]


class SameOutputs(msgspec.Struct, frozen=True):
    """The outputs that two sides have in common although they should be of two runs.

    Attributes:
        warnings: That both sides are one run, and equal replies of two models.
        notes: Equal replies of two runs of one model.
    """

    warnings: list[str] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


def same_outputs(
    run: Run, other: Run | None, tasks: Sequence[str], compared: Sequence[PairedTask]
) -> SameOutputs:
    """Says whether two runs are one, or have the same replies.

    Args:
        run: The candidate.
        other: The baseline; None for published verdicts, which have no replies.
        tasks: The tasks that both have.
        compared: The rows of those of them that are compared.
    """
    if other is None:
        return SameOutputs()
    if tasks and all(run.shares_file(other, name) for name in tasks):
        return SameOutputs(["candidate and baseline are the same run"])
    count = _identical_replies(compared)
    is_rescored = run.rescored_from is not None or other.rescored_from is not None
    if count < _FEWEST_REPLIES or is_rescored:
        return SameOutputs()
    sentence = f"all {count} compared replies are the same to the letter"
    if last_part(run.model) == last_part(other.model):
        return SameOutputs(notes=[sentence])
    models = f"although the models are {run.model} and {other.model}"
    doubt = "were both sides made by one model, or is one a copy of the other?"
    return SameOutputs([f"{sentence}, {models}: {doubt}"])


def _identical_replies(compared: Sequence[PairedTask]) -> int:
    """The number of pairs, where the replies of every pair are the same; else 0."""
    counts = [rows.identical_outputs or 0 for rows in compared]
    is_each_the_same = all(
        rows.by_row and count == rows.pairs.now.size
        for count, rows in zip(counts, compared, strict=True)
    )
    return sum(counts) if is_each_the_same else 0
