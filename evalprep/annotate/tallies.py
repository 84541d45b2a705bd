"""Counts of questions with values, the reasons of those without, and the mean values."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalprep.annotate.answers import Question, numbers_by_value


@dataclass
class TaskTally:
    """One task's questions.

    Args:
        task: The task.
        n_ok: Questions with values; only these are in `means`.
        n_total: All questions.
        n_fixed: Of `n_ok`, those that needed no judge.
        reasons: Status -> questions without values.
        details: What services and refusals said -> questions.
        means: Value -> mean, on the judge's scale.
        distributions: Value -> number -> questions.
    """

    task: str
    n_ok: int
    n_total: int
    n_fixed: int
    reasons: dict[str, int]
    details: dict[str, int]
    means: dict[str, float]
    distributions: dict[str, dict[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def tally(task: str, questions: Sequence[Question]) -> TaskTally:
    """Counts one task's judgements; the first steps of chains are no questions of their own."""
    judgements = [question.judgement() for question in questions if not question.item.step]
    rated = [judgement for judgement in judgements if judgement.values is not None]
    unrated = [judgement for judgement in judgements if judgement.values is None]
    numbers = numbers_by_value(rated)
    reasons = Counter(judgement.reason for judgement in unrated if judgement.reason)
    return TaskTally(
        task,
        n_ok=len(rated),
        n_total=len(judgements),
        n_fixed=sum(judgement.attempts == 0 for judgement in rated),
        reasons=dict(Counter(judgement.status for judgement in unrated)),
        details=dict(reasons.most_common()),
        means={name: statistics.fmean(column) for name, column in numbers.items()},
        distributions={name: _distribution(column) for name, column in numbers.items()},
    )


def _distribution(values: Sequence[float]) -> dict[str, int]:
    return {f"{value:g}": count for value, count in sorted(Counter(values).items())}
