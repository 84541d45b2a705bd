"""The sides of a report or a comparison: runs, and scores without samples.

Scores without samples are logs of others that a pack can read, or a `scores.json` of ours. Which
rule is asked for is `results.scoring_rule`'s to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evalprep.packs import Pack
from evalprep.results import Run, by_rule, check_rule, name_of_log, open_run
from evalprep.score.exporting import export_as
from evalprep.score.reference import OtherModels
from evalprep.score.scoring import score_run
from evalprep.score.suite import Scores

NOTE = "holds scores without samples: rows cannot be paired, and nothing is tested"


def open_side(
    path: Path | str, packs: Callable[[], Mapping[str, Pack]], *, timestamp: str
) -> Run | Scores:
    """A run, of lm-eval or of a log with rows or with lm-eval's own scores, or a log's scores.

    Packs are read for logs alone.

    Raises:
        BadInput: neither.
    """
    run = open_run(path, _on_demand(packs), timestamp=timestamp)
    has_tasks = bool(run.tasks or (run.stored and not run.stated))
    if run.log is None or has_tasks:
        return run
    scores = score_run(run, packs())
    name = run.model if run.stated else name_of_log(run.log)
    return replace(scores, run=name, model=name, notes=[*scores.notes, f"{name} {NOTE}"])


def _on_demand(packs: Callable[[], Mapping[str, Pack]]) -> Iterator[Pack]:
    yield from packs().values()


def score_by_rule(
    run: Run,
    packs: Mapping[str, Pack],
    rule: str,
    others: OtherModels | None = None,
    *,
    is_reference: bool = False,
) -> Scores:
    """Scores a run against the models that the user names.

    Args:
        run: The run.
        packs: All packs.
        rule: The rule that is asked for: scores of other rules are left out; empty for all.
        others: References and finetuned models; those that the run's tasks name by default.
        is_reference: As of `score_run`.
    """
    others = others or OtherModels()
    scores = score_run(
        run,
        packs,
        reference=others.reference,
        finetuned=others.finetuned,
        is_reference=is_reference,
    )
    return of_rule(scores, rule, packs)


def all_scores(
    sides: Sequence[Run | Scores], packs: Mapping[str, Pack], rule: str, labels: Sequence[str]
) -> list[Scores]:
    """The scores of every side, those of another rule left out; the first are called by labels."""
    scores = [
        score_by_rule(side, packs, rule) if isinstance(side, Run) else of_rule(side, rule, packs)
        for side in sides
    ]
    named = [replace(side, run=label) for side, label in zip(scores, labels, strict=False)]
    return [*named, *scores[len(named) :]]


def export_scores(scores: Scores, packs: Iterable[Pack], place: Path, out_dir: Path) -> list[Path]:
    """Lets packs write their result files about scores without samples.

    See `evalprep.score.exporting`.
    """
    # Few commands export, and this import takes long.
    from evalprep.packapi import ExportRun

    folder = (place if place.is_dir() else place.parent).resolve()
    return export_as(
        scores,
        ExportRun(
            label=scores.run,
            model=scores.model,
            folder=folder,
            settings={},
            lm_eval_version=None,
            tasks={},
        ),
        packs,
        out_dir,
    )


def of_rule(scores: Scores, rule: str, packs: Mapping[str, Pack]) -> Scores:
    """Scores without the suite scores that follow another rule; all of them without a rule."""
    kept = [
        score
        for score in scores.suite
        if score.pack not in packs or packs[score.pack].follows(rule, score.rule)
    ]
    return replace(scores, suite=kept) if rule else scores


def sides_by_rule(
    sides: Sequence[Run | Scores], rule: str, packs: Mapping[str, Pack]
) -> list[Run | Scores]:
    """Runs, and scores without samples, as they are read by a rule; without one, as they are.

    Raises:
        BadInput: no pack of these sides has the rule.
    """
    if not rule:
        return list(sides)
    names = [
        {*side.tasks} if isinstance(side, Run) else {score.pack for score in side.suite}
        for side in sides
    ]
    own = [
        pack for pack in packs.values() if any({pack.name, *pack.tasks} & name for name in names)
    ]
    check_rule(rule, own, "--rule")
    return [
        by_rule([side], rule, packs)[0] if isinstance(side, Run) else of_rule(side, rule, packs)
        for side in sides
    ]
