"""The ratings of judges on a run, and their effort, in sum: the values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from evalprep.results import Effort


@dataclass(frozen=True)
class Rater:
    """One judge's ratings of one value; a sample's votes count as their mean.

    Attributes:
        judge: The model.
        n: Samples with a rating; only these are in the mean.
        mean, low, high: Mean rating with its 95 % interval.
        distribution: Rating -> samples.
        both, equal, alpha: Samples that the judge that counts has rated too, those of them with the
            same rating, and Krippendorff's alpha of the two; None for that judge itself.
    """

    judge: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    distribution: Mapping[str, int]
    both: int | None = None
    equal: int | None = None
    alpha: float | None = None


@dataclass(frozen=True)
class Apart:
    """A sample whose raters or votes differ: by how much, and what each said."""

    sample_id: str
    index: int
    spread: float
    votes: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Rated:
    """One value of one rubric on one task.

    Attributes:
        task, rubric, name: What was rated, by which annotator, and the name of the value.
        low, high, better: The scale; None where the annotator does not say.
        asked: Samples that there is a question about.
        reasons: Why the others of them have no rating of the judge that counts: status -> samples.
        raters: The judge that counts, then the others that the ledger knows.
        apart: Samples whose raters differ, the furthest apart first; with one rater those whose
            votes differ.
        differing: Their number, which may be larger than the list.
    """

    task: str
    rubric: str
    name: str
    low: float | None
    high: float | None
    better: str
    asked: int
    reasons: Mapping[str, int]
    raters: Sequence[Rater]
    apart: Sequence[Apart]
    differing: int


@dataclass(frozen=True)
class Preferred:
    """The share of a task's replies that a judge prefers to those of another run.

    Attributes:
        task, rubric, judge: What was compared, how, and by whom.
        other: The other run's name.
        asked: Pairs that there are questions about.
        found: See `quality.Preferences`; its `win_rate` is for this run.
        apart: Pairs whose verdict followed the place, and not the reply.
    """

    task: str
    rubric: str
    judge: str
    other: str
    asked: int
    found: Mapping[str, Any]
    apart: Sequence[str]


@dataclass
class Ratings:
    """Everything that judges said of a run, in sum."""

    values: list[Rated] = field(default_factory=list)
    preferences: list[Preferred] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "values": [asdict(value) for value in self.values],
            "preferences": [asdict(p) for p in self.preferences],
        }


class JudgeEffort(msgspec.Struct, frozen=True):
    """The effort of one judge for one task.

    Attributes:
        task: The task whose replies were judged.
        rubric: What was asked: the name of the annotator.
        judge: The model.
        effort: Answered requests and their tokens.
        cost: By the prices that were given to `evalprep judge`; None is unknown.
    """

    task: str
    rubric: str
    judge: str
    effort: Effort
    cost: float | None = None
