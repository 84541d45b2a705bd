"""How many questions have a rating, why the others have none, and the mean ratings."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evalprep.annotate.question import NOT_ASKED, Asked, Judgement


@dataclass
class TaskTally:
    """One task's questions.

    Args:
        task: The task.
        n_ok: Questions with ratings; only these are in `means`.
        n_total: All questions.
        n_fixed: Of `n_ok`, those that needed no judge.
        reasons: Status -> questions without ratings.
        details: What services and refusals said -> questions.
        means: Rating name -> mean, on the judge's scale.
    """

    task: str
    n_ok: int = 0
    n_total: int = 0
    n_fixed: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    details: dict[str, int] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def tally(task: str, questions: Sequence[Asked], judgements: Mapping[str, Judgement]) -> TaskTally:
    """Count one task's judgements, by key."""
    found = [judgements.get(asked.key, Judgement(NOT_ASKED)) for asked in questions]
    ok = [one for one in found if one.ratings is not None]
    columns: dict[str, list[float]] = {}
    for one in ok:
        for name, value in (one.ratings or {}).items():
            columns.setdefault(name, []).append(value)
    return TaskTally(
        task,
        n_ok=len(ok),
        n_total=len(found),
        n_fixed=sum(one.attempts == 0 for one in ok),
        reasons=dict(Counter(one.status for one in found if one.ratings is None)),
        details=dict(Counter(one.reason for one in found if one.ratings is None and one.reason).most_common()),
        means={name: statistics.fmean(values) for name, values in columns.items()},
    )
