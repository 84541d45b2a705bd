"""The scores of a run as records: suite scores, and all scores together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from msgspec import to_builtins

from evalprep.annotate import JudgeEffort, Ratings
from evalprep.results import Efforts, few_read
from evalprep.samples import SHARE
from evalprep.score.against import Against
from evalprep.score.published import Published
from evalprep.score.reference import ScoredAgainst
from evalprep.score.remarks import guessed_metric, notes_of_task
from evalprep.score.result import Result
from evalprep.score.task import GroupScore, TaskScore
from evalprep.score.unsampled import StoredScore


@dataclass
class SuiteScore:
    """One suite score.

    Args:
        name, pack, title, better, range, tags: As declared.
        value: The number; None with a `reason`.
        stderr, low, high: Its uncertainty, where it has one (95 % interval).
        n: Rows behind it.
        reference: The same score of the reference run.
        published: Published values, the reference ones first.
        result: All that its function gave.
        withheld: Why published values may not stand beside it; empty where they may.
        made_of: How its uncertainty is found; `none` for a score that is itself a p-value.
        tasks: Every task behind it.
        rule: By which rule it was computed, where a score has several; values of two rules are not
            compared.
        against: What it was measured against: the reference, the finetuned model, or a constant.
    """

    name: str
    pack: str
    title: str
    better: str
    range: tuple[float | None, float | None]
    value: float | None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str = ""
    reference: float | None = None
    published: list[Published] = field(default_factory=list)
    tags: Mapping[str, Any] = field(default_factory=dict)
    result: Result = field(default_factory=Result, repr=False)
    withheld: str = ""
    made_of: str = ""
    tasks: tuple[str, ...] = ()
    rule: str = ""
    against: tuple[Against, ...] = ()

    @property
    def few_read(self) -> str:
        """A remark where its value leaves out most answers as unreadable; else empty."""
        return few_read(self.result.returned) if self.value is not None else ""

    @property
    def unit(self) -> str:
        """The unit: `share` for a score between 0 and 1, which is shown in percent; else empty.

        A p-value has no unit.
        """
        return SHARE if self.range == (0.0, 1.0) and self.made_of != "none" else ""

    @property
    def notes(self) -> list[str]:
        """The notes of its result."""
        return self.result.notes

    @property
    def explain(self) -> str:
        """One sentence on what it is, as its function says; empty where it says none."""
        return self.result.explain or ""

    @property
    def is_undefined(self) -> bool:
        """True where the number only shows a guard against a division by zero."""
        return self.result.undefined is True

    @property
    def over(self) -> list[str]:
        """The scores that it is made of, where it takes those that have a value."""
        return self.result.over

    @property
    def read(self) -> tuple[int, int]:
        """Returns how many answers it is made of, and of how many; zeros where it does not tell."""
        return self.result.read or (0, 0)

    @property
    def remarks(self) -> list[str]:
        """The notes of its result, and what was left out of it and why; each once."""
        skipped = self.result.skipped or {}
        left_out = [f"{count} left out: {reason}" for reason, count in skipped.items()]
        stated = self.result.stated
        of_log = [] if stated is None else [f"the log itself states {stated:.6g}"]
        return list(dict.fromkeys([*self.notes, *left_out, *of_log]))

    @property
    def against_text(self) -> str:
        """What it was measured against, in words; empty for a score of this run alone."""
        return "; ".join(each.words for each in self.against)

    @property
    def id(self) -> str:
        """`pack/name`: two packs may give one name to two scores."""
        return f"{self.pack}/{self.name}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the full result."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        del plain["result"]
        plain["published"] = [asdict(entry) for entry in self.published]
        plain["against"] = [each.to_dict() for each in self.against]
        return plain | {"notes": self.remarks, "few_read": self.few_read}


@dataclass
class Scores:
    """Everything that `evalprep score` says about a run; `to_dict` gives it as plain data.

    `scored_against` is what scores that compare with a reference were held against.
    """

    run: str
    model: str
    tasks: list[TaskScore]
    groups: list[GroupScore]
    suite: list[SuiteScore]
    notes: list[str] = field(default_factory=list)
    ratings: Ratings = field(default_factory=Ratings)
    stored: list[StoredScore] = field(default_factory=list)
    efforts: Efforts = field(default_factory=Efforts)
    judges: list[JudgeEffort] = field(default_factory=list)
    scored_against: ScoredAgainst | None = field(default=None, repr=False)

    @property
    def has_values(self) -> bool:
        """True where any task, metric over all rows, stored score or suite score has a value."""
        of_tasks = any(task.micro.n or task.further for task in self.tasks)
        return of_tasks or bool(self.stored) or any(score.value is not None for score in self.suite)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN and infinity as None.

        `results` holds the full result of each suite score.
        """
        plain = {
            "kind": "evalprep scores",
            "run": self.run,
            "model": self.model,
            "tasks": [
                task.to_dict() | {"notes": [*notes_of_task(task), *guessed_metric(task)]}
                for task in self.tasks
            ],
            "stored": [score.to_dict() for score in self.stored],
            "groups": [group.to_dict() for group in self.groups],
            "suite": [score.to_dict() for score in self.suite],
            "results": {score.id: score.result.to_dict() for score in self.suite},
            "ratings": self.ratings.to_dict(),
            "efforts": {**to_builtins(self.efforts), "judges": to_builtins(self.judges)},
            "notes": self.notes,
        }
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per suite score as a data frame."""
        import pandas as pd

        hidden = {"result", "published", "tags", "range", "tasks", "against"}
        shown = [each.name for each in fields(SuiteScore) if each.name not in hidden]
        rows = [
            {name: getattr(score, name) for name in shown} | {"against": score.against_text}
            for score in self.suite
        ]
        return pd.DataFrame(rows)


def name_among(score: SuiteScore, suite: Iterable[SuiteScore]) -> str:
    """Returns the name of a score, with its pack where another pack has a score of that name."""
    ambiguous = any(other.name == score.name and other.pack != score.pack for other in suite)
    return score.id if ambiguous else score.name


def _strict(value: Any) -> Any:
    """A value as strict JSON has it; NaN and infinity as None."""
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
