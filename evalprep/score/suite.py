"""The suite scores of a run: a walk over the graph, with published scores beside the results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from evalprep.annotate.ratings import Ratings, ratings_of_run
from evalprep.files import as_mapping
from evalprep.packs.pack import Pack
from evalprep.packs.plan import ScoreSpec
from evalprep.results import Run
from evalprep.results.facts import NONE, expected_rows, incomplete, limit_of
from evalprep.results.record import packs_elsewhere
from evalprep.results.reply import few_read
from evalprep.score.owners import packs_of, without_pack
from evalprep.score.published import Published, published_for
from evalprep.score.reference import Remembered, Results, named_reference
from evalprep.score.task import GroupScore, TaskScore, score_groups, score_task
from evalprep.score.unsampled import StoredScore, stored_scores
from evalprep.score.walk import Walk, without_influence

#: What scores compare with.
Reference = Run | Remembered | Results


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
        result: The mapping that the function returned.
        influence: What each row adds to the score, or a function that tells; None where that is not known.
        withheld: Why published values may not stand beside it; empty where they may.
        made_of: How its uncertainty is found; `none` for a score that is itself a p-value.
        tasks: Every task behind it.
        rule: By which rule it was computed, where a score has several; values of two rules are not compared.
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
    result: dict[str, Any] = field(default_factory=dict, repr=False)
    influence: Any = field(default=None, repr=False)
    withheld: str = ""
    made_of: str = ""
    tasks: tuple[str, ...] = ()
    rule: str = ""

    @property
    def few_read(self) -> str:
        """Said where it has a value, and most answers are left out of it as unreadable; empty else."""
        return few_read(self.result) if self.value is not None else ""

    @property
    def id(self) -> str:
        """`pack/name`: two packs may give one name to two scores."""
        return f"{self.pack}/{self.name}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the full result."""
        bare = asdict(replace(self, result={}, influence=None))
        return {key: value for key, value in bare.items() if key not in {"result", "influence"}}


@dataclass
class Scores:
    """Everything that `evalprep score` says about a run; `to_dict` gives it as plain data."""

    run: str
    model: str
    tasks: list[TaskScore]
    groups: list[GroupScore]
    suite: list[SuiteScore]
    notes: list[str] = field(default_factory=list)
    ratings: Ratings = field(default_factory=Ratings)
    stored: list[StoredScore] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN and infinity as None. `results` holds the full result of each suite score."""
        plain = {
            "kind": "evalprep scores",
            "run": self.run,
            "model": self.model,
            "tasks": [asdict(task) for task in self.tasks],
            "stored": [asdict(one) for one in self.stored],
            "groups": [asdict(group) for group in self.groups],
            "suite": [score.to_dict() for score in self.suite],
            "results": {score.id: score.result for score in self.suite},
            "ratings": self.ratings.to_dict(),
            "notes": self.notes,
        }
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per suite score as a data frame."""
        import pandas as pd

        hidden = {"result", "published", "tags", "range", "influence", "tasks"}
        return pd.DataFrame(
            [{key: value for key, value in vars(score).items() if key not in hidden} for score in self.suite]
        )


def name_among(score: SuiteScore, suite: Iterable[SuiteScore]) -> str:
    """How people see a score: its name, with its pack where another pack has a score of that name."""
    return score.id if any(one.name == score.name and one.pack != score.pack for one in suite) else score.name


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def score_run(run: Run, packs: Mapping[str, Pack] | None = None, *, reference: Reference | None = None) -> Scores:
    """Score a run: every task, every group, and every suite score of its packs that its tasks allow.

    Args:
        run: The run.
        packs: All packs; without them only tasks and groups are scored.
        reference: A reference run, or its results, for scores that compare with one; the one that the run's tasks
            name in their metadata by default. For many runs a `Remembered` one is scored once.

    Raises:
        BadInput: a mistake in a pack's declarations.
    """
    suite: list[SuiteScore] = []
    notes: list[str] = []
    tasks = {name: score_task(name, task) for name, task in run.tasks.items()}
    for name, score in tasks.items():
        score.expected = expected_rows(run, run.tasks[name])
    own = packs_of(run, packs or {})
    elsewhere = packs_elsewhere(run, packs) if packs else ""
    if elsewhere:
        notes.append(elsewhere)
    elif packs and not own and run.tasks:
        notes.append(without_pack(run, packs))
    if reference is None and own:
        reference = named_reference(run, own)
    for pack in own:
        walk = Walk(pack, run, None)
        names = walk.applicable()
        wanted = {name for one in names for name in walk.specs[one].reference}
        walk.reference = _reference_results(pack, reference, wanted)
        results = walk.evaluate(names)
        if run.stated:
            # What a log does not hold is no failure of the run.
            shown = {name for name in names if name in walk.stated or walk.specs[name].reference}
            names = [name for name in names if name in shown or results[name].get("agg_value") is not None]
        notes += walk.notes
        published = list(published_for(run.model, pack.published)) if pack.published_file else []
        parts = {name: partial_rows(run, [name]) for name in run.tasks}
        for entry in published:
            if entry.score not in tasks or entry.withheld(*_told(pack, run, [entry.score])):
                continue
            if parts[entry.score]:
                tasks[entry.score].withheld = parts[entry.score]
            else:
                tasks[entry.score].published.append(entry)
        suite += [
            _suite_score(
                walk.specs[name],
                results[name],
                published,
                walk.reference,
                walk.tasks_of[name],
                partial_rows(run, walk.tasks_of[name]),
                _told(pack, run, walk.tasks_of[name]),
            )
            for name in walk.specs
            if name in names
        ]
    ratings = ratings_of_run(run, own)
    return Scores(
        run=run.label,
        model=run.model,
        tasks=list(tasks.values()),
        groups=score_groups(run),
        suite=suite,
        notes=[*run.notes, *incomplete(run), *notes, *ratings.notes],
        ratings=ratings,
        stored=stored_scores(run),
    )


def partial_rows(run: Run, names: Iterable[str]) -> str:
    """`8 of 68 rows` where a task was run over a part of its data; such a score is not what was published."""
    limits = [limit_of(run, run.tasks[name]) for name in names if name in run.tasks]
    return ", ".join(dict.fromkeys(str(limit) for limit in limits if limit not in (None, NONE)))


def _reference_results(pack: Pack, reference: Reference | None, wanted: set[str]) -> Results | None:
    if reference is None:
        return None
    if isinstance(reference, Remembered):
        key = (pack.name, frozenset(wanted))
        if key not in reference.results:
            reference.results[key] = _reference_results(pack, reference.run, wanted) or {}
        return reference.results[key]
    if not isinstance(reference, Run):
        # Scores of ours go by `pack/name`, foreign logs by the pack's own names.
        own = {name.removeprefix(f"{pack.name}/"): result for name, result in reference.items()}
        return {name: result for name, result in own.items() if "/" not in name or name in pack.suite_scores}
    if not wanted and not reference.stated:
        return {}
    # Also those that nothing needs, so that the reference's own value stands beside each score.
    walk = Walk(pack, reference, None)
    wanted = {name for name in wanted if name in walk.specs} if reference.stated else wanted
    return walk.evaluate({*wanted, *(name for name in walk.applicable() if not walk.specs[name].reference)})


def _told(pack: Pack, run: Run, names: Iterable[str]) -> tuple[str, list[Mapping[str, Any]]]:
    """The rule that some tasks follow, empty where they do not share one, and what the pack wrote of their settings."""
    metadata = [run.tasks[name].metadata for name in names if name in run.tasks]
    rules = {str(one.get("rule") or "") for one in metadata}
    return (rules.pop() if len(rules) == 1 else ""), [as_mapping(one.get(pack.name)) for one in metadata]


def _suite_score(
    spec: ScoreSpec,
    result: dict[str, Any],
    published: list[Published],
    reference: Results | None,
    tasks: Sequence[str],
    part: str,
    told: tuple[str, list[Mapping[str, Any]]],
) -> SuiteScore:
    named = [one for one in published if one.score == spec.name]
    rule = str(result.get("scored_by") or spec.rule)  # a log may tell that it was scored by another rule than ours
    why = [one.withheld(rule or told[0], told[1]) for one in named]
    fitting = [one for one, reason in zip(named, why, strict=True) if not reason]
    value = result.get("agg_value")
    influences = result.get("influence")
    result = without_influence(result)
    low, high = result.get("interval") or (None, None)
    # A score that compares with the reference has no value of the reference to stand beside it.
    other = None if spec.reference else _value_beside(result, (reference or {}).get(spec.name, {}))
    return SuiteScore(
        name=spec.name,
        pack=spec.pack,
        title=spec.title,
        better=spec.better,
        range=spec.range,
        value=float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None,
        stderr=result.get("stderr"),
        low=low,
        high=high,
        n=result.get("n"),
        reason=str(result.get("reason") or ""),
        reference=other,
        published=[] if part else fitting,
        withheld=part if fitting else "; ".join(dict.fromkeys(why)),
        tasks=tuple(tasks),
        tags=spec.tags,
        result=result,
        influence=influences,
        made_of=spec.made_of,
        rule=rule,
    )


def _value_beside(result: Mapping[str, Any], reference: Mapping[str, Any]) -> Any:
    """The reference's value of a score, unless both have rows and not as many: those were other questions."""
    rows = [len(one.get("value_by_index") or ()) for one in (result, reference)]
    return reference.get("agg_value") if 0 in rows or rows[0] == rows[1] else None
