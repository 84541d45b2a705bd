"""Scores a run: tasks and groups, then the graph of each of its packs; published values beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec

from evalprep.annotate import JudgeEffort, Ratings, ledger_of
from evalprep.files import as_mapping
from evalprep.numbers import finite_number
from evalprep.packs import Pack, ScoreSpec
from evalprep.results import (
    Run,
    answers_without_box,
    incomplete,
    odd_verdicts,
    packs_elsewhere,
    part_of,
)
from evalprep.score.against import FINETUNED, REFERENCE, Against, Identity, Side
from evalprep.score.outcome import checked, range_of
from evalprep.score.owners import packs_of, without_pack
from evalprep.score.plan import plan_behind
from evalprep.score.published import Published, looked_up, published_for
from evalprep.score.reference import (
    Other,
    Reference,
    References,
    Remembered,
    Results,
    ScoredAgainst,
    named_reference,
)
from evalprep.score.result import Result
from evalprep.score.suite import Scores, SuiteScore
from evalprep.score.task import TaskScore, score_groups, score_tasks
from evalprep.score.unsampled import stored_scores
from evalprep.score.walk import Walk

_ITS_OWN_REFERENCE = (
    "the run is its own reference: a score that compares with the reference says nothing of it"
)


def score_run(
    run: Run,
    packs: Mapping[str, Pack] | None = None,
    *,
    reference: Reference | None = None,
    finetuned: Reference | None = None,
    is_reference: bool = False,
) -> Scores:
    """Scores a run: tasks, groups, and the suite scores of its packs that its tasks allow.

    Args:
        run: The run.
        packs: All packs; without them only tasks and groups are scored.
        reference: A reference run, or its results, for scores that compare with one; the one that
            the run's tasks name in their metadata by default. For many runs a `Remembered` one is
            scored once, and `References` hold one for each model.
        finetuned: The same of the model that the run's model was made from.
        is_reference: The run is shown as the row of the reference, and may be measured against
            itself.

    Raises:
        BadInput: a mistake in a pack's declarations.
    """
    packs = packs or {}
    tasks = score_tasks(run)
    owners = packs_of(run, packs)
    notes = _notes_about_packs(run, packs, owners)
    about_reference = ""
    if reference is None and owners:
        reference, about_reference = named_reference(run, owners)
    for named in (reference, finetuned):
        if isinstance(named, References):
            notes += named.notes_on(run)
    against = ScoredAgainst(_of_run(reference, run), _of_run(finetuned, run), is_reference)
    suite: list[SuiteScore] = []
    for pack in owners:
        walked = _walk_pack(pack, run, against)
        published = list(looked_up(plan_behind(run), pack.name))
        if pack.published_file:
            published = [*published_for(run.model, pack.published), *published]
        _place_beside_tasks(published, tasks, pack, run)
        suite += _suite_scores(walked, published, run)
        notes += walked.walk.notes
    ratings, judges = _judged(run, owners)
    return Scores(
        run=run.label,
        model=run.model,
        tasks=list(tasks.values()),
        groups=score_groups(run),
        suite=suite,
        notes=[
            *run.notes,
            *filter(None, (about_reference,)),
            *incomplete(run),
            *odd_verdicts(run),
            *answers_without_box(run),
            *notes,
            *ratings.notes,
        ],
        ratings=ratings,
        stored=stored_scores(run),
        efforts=run.efforts,
        judges=judges,
        scored_against=against,
    )


def score_suite(
    run: Run, packs: Mapping[str, Pack], against: ScoredAgainst | None
) -> dict[str, SuiteScore]:
    """The suite scores of a run by their ids, without its tasks and published values.

    Args:
        run: The run.
        packs: All packs.
        against: What scores compare with, as `Scores.scored_against` names it.
    """
    suite: list[SuiteScore] = []
    for pack in packs_of(run, packs):
        suite += _suite_scores(_walk_pack(pack, run, against or ScoredAgainst()), (), run)
    return {score.id: score for score in suite}


def specs_of(run: Run, packs: Mapping[str, Pack]) -> dict[str, ScoreSpec]:
    """The declarations of a run's suite scores by their ids, parents first."""
    specs: dict[str, ScoreSpec] = {}
    for pack in packs_of(run, packs):
        walk = Walk(pack, run)
        specs |= {f"{pack.name}/{name}": spec for name, spec in walk.specs.items()}
    return specs


def _judged(run: Run, packs: Sequence[Pack]) -> tuple[Ratings, list[JudgeEffort]]:
    """Returns what judges said of a run, and what they took."""
    if ledger_of(run) is None:
        return Ratings(), []
    from evalprep.annotate import judge_efforts, ratings_of_run

    return ratings_of_run(run, packs), judge_efforts(run)


def partial_rows(run: Run, names: Iterable[str]) -> str:
    """Returns `8 of 68 rows` where a task covers a part of its data.

    Such a score is not what was published.
    """
    parts = [part_of(run.tasks[name]) for name in names if name in run.tasks]
    return ", ".join(dict.fromkeys(filter(None, parts)))


def _notes_about_packs(run: Run, packs: Mapping[str, Pack], owners: Sequence[Pack]) -> list[str]:
    """Returns why packs of the run are missing, where any are."""
    if not packs:
        return []
    if elsewhere := packs_elsewhere(run, packs):
        return [elsewhere]
    return [without_pack(run, packs)] if run.tasks and not owners else []


# --- the graph of a pack


@dataclass
class _Walked:
    """A pack's graph walked over a run: the scores to show, and the results of all of them."""

    walk: Walk
    names: list[str]
    results: dict[str, Result] = field(repr=False)


def _of_run(named: Reference | None, run: Run) -> Other | None:
    """The other model for a run, of one or of several."""
    return named.of(run) if isinstance(named, References) else named


def _walk_pack(pack: Pack, run: Run, against: ScoredAgainst) -> _Walked:
    walk = Walk(pack, run)
    names = walk.applicable()
    for role in (REFERENCE, FINETUNED):
        other: Other | None = getattr(against, role)
        needed = set(chain.from_iterable(getattr(walk.specs[name], role) for name in names))
        results = _reference_results(pack, other, needed)
        if results is not None:
            walk.sides[role] = _side(
                pack, walk, role, other, results, is_reference=against.is_reference
            )
        if role == REFERENCE:
            of_pack = _notes_on_reference(pack, run, other, walk, is_needed=bool(needed))
            walk.notes |= dict.fromkeys(of_pack)
    results = walk.evaluate(names)
    if run.stated:
        # What a log does not hold is no failure of the run, and is not shown.
        names = [
            name
            for name in names
            if name in walk.stated or walk.compares(name) or results[name].value is not None
        ]
    return _Walked(walk, names, results)


def _side(
    pack: Pack,
    walk: Walk,
    role: str,
    other: Other | None,
    results: Mapping[str, Result],
    *,
    is_reference: bool,
) -> Side:
    """Another model with who it is; plain results tell nothing of their model."""
    run = other.run if isinstance(other, Remembered) else other
    if not isinstance(run, Run):
        return Side(role, Identity(label="the results that were given"), results)
    identity = Identity.of(run, [pack])
    is_subject = walk.identity.is_same_run(identity) and (is_reference or role == FINETUNED)
    doubts = getattr(pack.module("references"), "doubt_of", None) if role == REFERENCE else None
    doubt = "" if doubts is None or is_subject else str(doubts(results) or "")
    return Side(role, identity, results, is_subject, doubt)


def _notes_on_reference(
    pack: Pack, run: Run, reference: Other | None, walk: Walk, *, is_needed: bool
) -> Iterator[str]:
    """Yields what a reader must know of the reference: it is the run, or has unmatched parts."""
    other = reference.run if isinstance(reference, Remembered) else reference
    if not isinstance(other, Run):
        return
    if is_needed and any(run.shares_file(other, name) for name in run.tasks):
        yield _ITS_OWN_REFERENCE
    yield from _notes_on_unmatched(pack, other, walk)


def _notes_on_unmatched(pack: Pack, reference: Run, walk: Walk) -> list[str]:
    """Returns notes on parts of a reference log without a match, by the pack's `references.py`."""
    notes_on_unmatched = getattr(pack.module("references"), "notes_on_unmatched", None)
    if not reference.stated or notes_on_unmatched is None:
        return []
    own = f"{pack.name}/"
    stated = [name.removeprefix(own) for name in reference.stated if name.startswith(own)]
    try:
        return [str(note) for note in notes_on_unmatched(stated, walk.applicable())]
    except Exception as error:  # noqa: BLE001 - the scores are there; a note must not cost them
        return [f"references.py of pack {pack.name} failed: {type(error).__name__}: {error}"]


def _reference_results(
    pack: Pack, reference: Other | None, needed: set[str]
) -> Mapping[str, Result] | None:
    if reference is None:
        return None
    if isinstance(reference, Remembered):
        key = (pack.name, frozenset(needed))
        if key not in reference.results:
            reference.results[key] = _reference_results(pack, reference.run, needed) or {}
        return reference.results[key]
    if isinstance(reference, Run):
        return _results_of_run(pack, reference, needed)
    return _results_of_file(pack, reference)


def _results_of_file(pack: Pack, results: Results) -> dict[str, Result]:
    """The results of one pack.

    Scores of ours go by `pack/name`, foreign logs by the pack's own names.
    """
    by_name: dict[str, Result] = {}
    for name, returned in results.items():
        own_name = name.removeprefix(f"{pack.name}/")
        if "/" not in own_name or own_name in pack.suite_scores:
            bounds = range_of(pack, own_name)
            by_name[own_name] = checked(returned, f"the reference's {name}", bounds)
    return by_name


def _results_of_run(pack: Pack, reference: Run, needed: set[str]) -> dict[str, Result]:
    """The results that scores need, and those that stand beside the run's own."""
    if not needed and not reference.stated:
        return {}
    walk = Walk(pack, reference)
    known = {name for name in needed if name in walk.specs} if reference.stated else needed
    beside = {name for name in walk.applicable() if not walk.specs[name].reference}
    return walk.evaluate(known | beside)


# --- published values


class _TaskSettings(msgspec.Struct, frozen=True):
    """The settings of a score that the tasks behind it state.

    They are their common rule, and the pack's settings of each.
    """

    rule: str
    settings: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, pack: Pack, run: Run, names: Iterable[str]) -> _TaskSettings:
        metadata = [run.tasks[name].metadata for name in names if name in run.tasks]
        rules = {str(task.get("rule") or "") for task in metadata}
        settings = tuple(as_mapping(task.get(pack.name)) for task in metadata)
        return cls(rules.pop() if len(rules) == 1 else "", settings)


def _place_beside_tasks(
    published: Iterable[Published], tasks: Mapping[str, TaskScore], pack: Pack, run: Run
) -> None:
    """Puts published values of tasks beside them, or says why they may not stand there."""
    for entry in published:
        task = tasks.get(entry.score)
        if task is None:
            continue
        task_settings = _TaskSettings.of(pack, run, [task.task])
        if entry.withheld(task_settings.rule, task_settings.settings):
            continue
        if partial := partial_rows(run, [task.task]):
            task.withheld = partial
        else:
            task.published.append(entry)


# --- suite scores


def _suite_scores(walked: _Walked, published: Sequence[Published], run: Run) -> list[SuiteScore]:
    walk = walked.walk
    shown = {*walked.names}
    return [
        _suite_score(spec, walked, [entry for entry in published if entry.score == name], run)
        for name, spec in walk.specs.items()
        if name in shown
    ]


def _fitting(
    published: Sequence[Published], rule: str, settings: Sequence[Mapping[str, Any]]
) -> tuple[list[Published], str]:
    """The published values that were computed alike, and the reasons why others are withheld."""
    fitting: list[Published] = []
    reasons: list[str] = []
    for entry in published:
        reason = entry.withheld(rule, settings)
        reasons.append(reason)
        if not reason:
            fitting.append(entry)
    return fitting, "; ".join(dict.fromkeys(reasons))


def _suite_score(
    spec: ScoreSpec, walked: _Walked, published: Sequence[Published], run: Run
) -> SuiteScore:
    walk, result = walked.walk, walked.results[spec.name]
    tasks = walk.tasks_of[spec.name]
    task_settings = _TaskSettings.of(walk.pack, run, tasks)
    # A log may state that it was scored by another rule than ours.
    rule = result.scored_by or spec.rule
    # It may state its settings, too, where it has no rows that could.
    settings = task_settings.settings or (result.scored_with or {},)
    fitting, withheld = _fitting(published, rule or task_settings.rule, settings)
    partial = partial_rows(run, tasks)
    low, high = result.interval or (None, None)
    return SuiteScore(
        name=spec.name,
        pack=spec.pack,
        title=spec.title,
        better=spec.better,
        range=spec.range,
        value=finite_number(result.value),
        stderr=result.stderr,
        low=low,
        high=high,
        n=result.n,
        reason=result.reason or "",
        reference=_reference_value(spec, result, walk.sides.get(REFERENCE)),
        published=[] if partial else fitting,
        withheld=partial if fitting else withheld,
        tasks=tuple(tasks),
        tags=spec.tags,
        result=result,
        made_of=spec.made_of,
        rule=rule,
        against=tuple(map(Against.of_mapping, result.against)),
    )


def _reference_value(spec: ScoreSpec, result: Result, reference: Side | None) -> float | None:
    """The reference's value of a score.

    None beside a score that compares with the reference itself.

    None, too, where both have rows and not as many: those were other questions.
    """
    other = None if reference is None else reference.results.get(spec.name)
    if spec.reference or other is None:
        return None
    rows = len(result.value_by_index or ())
    other_rows = len(other.value_by_index or ())
    has_other_questions = rows > 0 and other_rows > 0 and rows != other_rows
    return None if has_other_questions else other.value
