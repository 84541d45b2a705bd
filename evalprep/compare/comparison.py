"""A run compared with published verdicts or with another run, over all its tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalprep.compare.comparable import check_allowed
from evalprep.compare.conclusion import TOLERATED_MISSING, WORSE, Conclusion, conclude, missing_rows
from evalprep.compare.difference import ALPHA
from evalprep.compare.flips import Flip
from evalprep.compare.identity import mismatch, warnings_for
from evalprep.compare.overall import overall
from evalprep.compare.sides import Sides, chosen_primary, compare_sides
from evalprep.compare.stored import compare_stored
from evalprep.compare.task import TaskComparison
from evalprep.compare.whole import compare_whole, whole_metrics
from evalprep.errors import BadInput, Problem, Problems
from evalprep.results import Run, agreed
from evalprep.results.facts import expected_rows
from evalprep.terminal import counted

PUBLISHED = "published verdicts"
_NAMED = 5  # ids that a sentence names


@dataclass
class Comparison:
    """The whole comparison; `to_dict` gives it as plain data, `flips` streams the changed samples with their texts.

    Args:
        run, other: Labels of the candidate and of the baseline.
        tasks: One entry per task, in name order.
        overall: The mean over all tasks that have a score, each on its own scale from 0 to 1 and in its own direction.
        metrics: Metrics that exist for all rows together: F1, BLEU, perplexity and the like.
        stored: Tasks without samples, by their stored scores.
        suite: Suite scores, where packs were given.
        pooled: All pairs of tasks with right-or-wrong scores together, each row weighing the same; None with fewer than
            two such tasks.
        confidence: Of all intervals; 1 - confidence is the level of the verdicts.
        margin: Differences smaller than this do not matter.
        allow: Facts of the question that may differ.
        warnings: What makes the comparison doubtful.
        notes: What was decided on the user's behalf.
        rule: The scoring rule by which both are read; empty where no rule was asked for.
        missing_tasks: Tasks of the baseline that the candidate lacks; extra_tasks the reverse.
    """

    run: str
    other: str
    tasks: list[TaskComparison]
    overall: Conclusion | None
    pooled: Conclusion | None
    confidence: float
    metrics: list[Conclusion] = field(default_factory=list)
    stored: list[Conclusion] = field(default_factory=list)
    suite: list[Conclusion] = field(default_factory=list)
    margin: float | None = None
    allow: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing_tasks: list[str] = field(default_factory=list)
    extra_tasks: list[str] = field(default_factory=list)
    rule: str = ""

    @property
    def pairs(self) -> int:
        """Pairs over all tasks."""
        return sum(task.difference.n for task in self.tasks)

    @property
    def conclusions(self) -> list[Conclusion]:
        """Everything that is concluded, the tasks first."""
        together = [one for one in (self.overall, self.pooled) if one is not None]
        return [*self.tasks, *self.metrics, *self.stored, *self.suite, *together]

    @property
    def worse(self) -> list[str]:
        """Names of what is worse."""
        return [one.name for one in self.conclusions if one.verdict == WORSE]

    @property
    def concluded(self) -> bool:
        """Whether anything could be said at all."""
        return any(one.counts for one in self.conclusions)

    def flips(self) -> Iterator[Flip]:
        """Every changed sample of every task, with its texts."""
        for task in self.tasks:
            yield from task.flips()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts of flips; NaN and infinity as None, so that it is strict JSON."""
        lists, together = ("tasks", "metrics", "stored", "suite"), ("overall", "pooled")
        plain = {name: value for name, value in vars(self).items() if name not in {*lists, *together}}
        plain |= {name: [one.to_dict() for one in getattr(self, name)] for name in lists}
        plain |= {name: None if (one := getattr(self, name)) is None else one.to_dict() for name in together}
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per task as a data frame."""
        import pandas as pd

        flat = [
            {name: value for name, value in task.to_dict().items() if not isinstance(value, (list, dict))}
            for task in self.tasks
        ]
        return pd.DataFrame(flat)

    def flips_to_pandas(self) -> Any:
        """One row per changed sample as a data frame, texts included."""
        import pandas as pd

        return pd.DataFrame([flip.to_dict() for flip in self.flips()])


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def compare_runs(
    run: Run,
    other: Run | None = None,
    *,
    tasks: list[str] | None = None,
    metric: str | None = None,
    filter_name: str | None = None,
    confidence: float = 1 - ALPHA,
    margin: float | None = None,
    allow: Sequence[str] = (),
    tolerated_missing: float = TOLERATED_MISSING,
    same_prompt_only: bool = False,
) -> Comparison:
    """Compare a run with the verdicts published in its rows, or with another run.

    Args:
        run: The candidate: the run under test.
        other: The baseline that it is held against; None for the published verdicts (`doc.previously_is_correct`).
        tasks: Task or group names; all tasks by default.
        metric: Metric to compare instead of each task's primary one.
        filter_name: Filter to read instead of each task's primary one.
        confidence: Of intervals; verdicts use the level 1 - confidence, adjusted over tasks by Holm.
        margin: Differences smaller than this do not matter: within it two runs are called equivalent.
        allow: Facts of the question that may differ (docs/commands/compare.md).
        tolerated_missing: Share of the expected rows that may be missing.
        same_prompt_only: Leave out pairs whose prompts are known to differ.

    Raises:
        BadInput: an unknown task, metric, filter or fact; a confidence outside (0, 1); two runs without a common task.
    """
    problems = Problems()
    if not 0.0 < confidence < 1.0:
        problems.add(f"confidence {confidence} is not between 0 and 1", fix="0.95 is usual")
    if margin is not None and not 0.0 < margin < math.inf:
        problems.add(f"margin {margin} is not a number above 0", where="--margin", fix="0.02 is two points")
    check_allowed(allow, "--allow", problems)
    problems.raise_if_any()
    if other is not None:
        run, other = agreed([run, other])
    chosen = run.select(tasks)
    compared = [
        compare_sides(
            Sides(run, task, other, None if other is None else other.tasks[name]),
            chosen_primary(task, metric, filter_name, published=other is None),
            confidence,
            allow=allow,
            tolerated_missing=tolerated_missing,
            same_prompt_only=same_prompt_only,
        )
        for name, task in chosen.items()
        if other is None or name in other.tasks
    ]
    metrics, stored = ([], []) if other is None else _without_rows(run, other, compared, tasks, confidence, allow)
    if other is not None and not compared and not stored:
        raise BadInput(
            Problem(
                what="the two runs have no task in common",
                where=f"{run.files.folder} and {other.files.folder}",
                allowed=f"one has {', '.join(run.tasks) or 'none'}; the other {', '.join(other.tasks) or 'none'}",
            )
        )
    for family in (compared, metrics, stored):
        conclude(family, confidence=confidence, margin=margin)
    whole, pooled = overall(compared, confidence=confidence)
    for one in (whole, pooled):
        if one is not None:
            conclude([one], confidence=confidence, margin=margin)
    return Comparison(
        run=run.label,
        other=PUBLISHED if other is None else other.label,
        tasks=compared,
        overall=whole,
        pooled=pooled,
        confidence=confidence,
        metrics=metrics,
        stored=stored,
        margin=margin,
        allow=tuple(allow),
        rule=run.rule,
        warnings=_warnings(run, other, compared),
        notes=list(dict.fromkeys([*run.notes, *(other.notes if other is not None else [])])),
        missing_tasks=[] if other is None or tasks else [name for name in other.tasks if name not in run.tasks],
        extra_tasks=[] if other is None else [name for name in chosen if name not in other.tasks],
    )


def _without_rows(
    run: Run,
    other: Run,
    compared: Sequence[TaskComparison],
    names: list[str] | None,
    confidence: float,
    allow: Sequence[str],
) -> tuple[list[Conclusion], list[Conclusion]]:
    """Metrics over all rows of the compared tasks, and stored scores of tasks of which a side lacks the samples."""
    metrics = []
    for one in compared:
        task, against = run.tasks[one.name], other.tasks[one.name]
        shared = [name for name in whole_metrics(task) if name in whole_metrics(against)]
        for metric in shared:
            found = compare_whole(task, against, metric, confidence=confidence)
            found.not_comparable = one.not_comparable + found.not_comparable
            found.not_enough += [why for why in one.not_enough if "expected rows" in why and one.metric]
            if one.difference.n == 0 and one.expected is None:
                expected = max(expected_rows(run, task) or 0, expected_rows(other, against) or 0, found.difference.n)
                missing_rows(found, expected)
            metrics.append(found)
    paired = {one.name for one in compared}
    lone = [name for name in (*run.tasks, *run.stored) if name not in paired and (not names or name in names)]
    return metrics, compare_stored(run, other, lone, confidence=confidence, allow=allow)


def _warnings(run: Run, other: Run | None, tasks: list[TaskComparison]) -> list[str]:
    found = []
    if other is None:
        found += warnings_for(run)
    else:
        names = (run.model.rstrip("/").rpartition("/")[2], other.model.rstrip("/").rpartition("/")[2])
        found += [f"the runs are of different models: {one}" for one in mismatch(*names, ("candidate", "baseline"))]
    for task in tasks:
        counts = task.counts_of
        if counts["changed_prompt"]:
            sent = "was not the prepared one" if other is None else "differs between the runs"
            found.append(f"{task.name}: the prompt {sent} on {counted(counts['changed_prompt'], 'row')}")
        for name, one, many in (
            ("duplicates", "id occurs more than once and is left out", "ids occur more than once and are left out"),
            ("unscored", "row has no finite score and is left out", "rows have no finite score and are left out"),
            (
                "unreadable",
                "published verdict is neither true nor false",
                "published verdicts are neither true nor false",
            ),
        ):
            if counts[name]:
                ids: list[str] = getattr(task, name)
                found.append(f"{task.name}: {counted(counts[name], one, many)}: {', '.join(ids[:_NAMED])}")
        if counts["damaged"]:
            found.append(f"{task.name}: {counted(counts['damaged'], 'damaged line')}, first {task.damage[0]}")
        if other is not None and (counts["missing"] or counts["extra"]):
            found.append(f"{task.name}: {counted(counts['missing'], 'row')} missing, {counts['extra']} extra")
    return found
