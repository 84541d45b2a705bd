"""How many questions have values, why the others have none, and the mean values."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evalprep.annotate.answers import Question


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
    n_ok: int = 0
    n_total: int = 0
    n_fixed: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    details: dict[str, int] = field(default_factory=dict)
    means: dict[str, float] = field(default_factory=dict)
    distributions: dict[str, dict[str, int]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def tally(task: str, questions: Sequence[Question]) -> TaskTally:
    """Count one task's judgements; the first steps of chains are no questions of their own."""
    found = [one.judgement() for one in questions if not one.item.step]
    ok = [one for one in found if one.values is not None]
    columns: dict[str, list[float]] = {}
    for one in ok:
        for name, value in (one.values or {}).items():
            columns.setdefault(name, []).append(value)
    return TaskTally(
        task,
        n_ok=len(ok),
        n_total=len(found),
        n_fixed=sum(one.attempts == 0 for one in ok),
        reasons=dict(Counter(one.status for one in found if one.values is None)),
        details=dict(Counter(one.reason for one in found if one.values is None and one.reason).most_common()),
        means={name: statistics.fmean(values) for name, values in columns.items()},
        distributions={
            name: {f"{value:g}": count for value, count in sorted(Counter(values).items())}
            for name, values in columns.items()
        },
    )
