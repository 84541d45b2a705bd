"""The suite scores of two runs over the rows that both have scored, and what is missing there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from custom_metrics.statistics import Missing
from evalprep.compare.comparable import GOLD
from evalprep.compare.difference import LoneScores, Scale
from evalprep.compare.quantities import Quantities, Quantity, missing_rows
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason
from evalprep.compare.settings import Settings
from evalprep.compare.shared_rows import (
    LoneRows,
    SharedTask,
    lone_tasks,
    shared_tasks,
    with_shared_rows,
)
from evalprep.compare.task import PairedTask
from evalprep.packs import Pack, ScoreSpec
from evalprep.results import Run
from evalprep.score import BUILT_IN, Scores, SuiteScore, score_suite, specs_of

_NOTHING = Missing()


class SharedScores(msgspec.Struct, frozen=True):
    """The suite scores of two runs over the rows that both have scored.

    Attributes:
        runs: The candidate and the baseline.
        tasks: The tasks that both have, over these rows.
        measured: What is measured of each task.
        rows: The rows of each task.
        specs: The declarations of each side's scores, by their ids.
        valued: The scores of each side that have a value over all of its rows.
        lone: The tasks that one side alone has.
        anew: For each side a function that computes its scores over these rows, once.
        tolerated: Share of the expected rows of a task that may be missing.
    """

    runs: tuple[Run, Run]
    tasks: Mapping[str, SharedTask]
    measured: Mapping[str, Quantity]
    rows: Mapping[str, PairedTask]
    specs: tuple[Mapping[str, ScoreSpec], Mapping[str, ScoreSpec]]
    valued: tuple[frozenset[str], frozenset[str]]
    lone: frozenset[str]
    anew: tuple[Callable[[], Mapping[str, SuiteScore]], Callable[[], Mapping[str, SuiteScore]]]
    tolerated: float

    @classmethod
    def of(
        cls,
        runs: tuple[Run, Run],
        scores: tuple[Scores, Scores],
        packs: Mapping[str, Pack],
        settings: Settings,
        measured: Quantities,
        names: Sequence[str],
    ) -> SharedScores:
        """Pairs the rows of the tasks that scores of both sides are made of.

        Args:
            runs: The candidate and the baseline.
            scores: The scores of each over all of its rows.
            packs: All packs.
            settings: What may differ and may be missing.
            measured: The two runs by their tasks.
            names: The tasks.
        """
        any_gold = GOLD in settings.allow
        tasks = shared_tasks(*runs, names, settings.pairing, any_gold=any_gold)
        lone = lone_tasks(*runs, names)
        candidate, baseline = (
            cache(
                partial(
                    score_suite,
                    with_shared_rows(run, tasks, place, lone),
                    packs,
                    scores[place].scored_against,
                )
            )
            for place, run in enumerate(runs)
        )
        now, before = (
            frozenset(score.id for score in side.suite if score.value is not None)
            for side in scores
        )
        return cls(
            runs=runs,
            tasks=tasks,
            measured={task.name: task for task in measured.tasks},
            rows=measured.rows,
            specs=(specs_of(runs[0], packs), specs_of(runs[1], packs)),
            valued=(now, before),
            lone=lone,
            anew=(candidate, baseline),
            tolerated=1.0 if settings.pairing.partial else settings.tolerated_missing,
        )

    def side(self, score: SuiteScore, place: int) -> SuiteScore:
        """A score of a side over the shared rows; one that a log states, over those of the log."""
        if self.is_stated(score.id):
            return score
        is_log = bool(self.runs[place].stated)
        names = self._tasks_computed(score.id, place) if is_log else score.tasks
        read = [self.tasks[name] for name in names if name in self.tasks]
        if all(task.whole[place] for task in read) and self.lone.isdisjoint(score.tasks):
            return score
        return self.anew[place]().get(score.id, score)

    def _tasks_computed(self, name: str, place: int) -> Iterator[str]:
        """The tasks whose rows a score of a log is computed from.

        What the log states is not computed; what has no value over all rows has none over some.
        """
        waiting = [name]
        seen: set[str] = set()
        while waiting:
            each = waiting.pop()
            spec = self.specs[place].get(each)
            if spec is None or each in seen or self.is_stated(each):
                continue
            seen.add(each)
            waiting += [f"{spec.pack}/{parent}" for parent in spec.needs]
            if each in self.valued[place]:
                yield from spec.tasks

    def is_stated(self, name: str) -> bool:
        """True for a score that a log of one side states."""
        return any(name in run.stated for run in self.runs)

    def shortfalls(self, name: str) -> list[Reason]:
        """Returns which tasks and subtasks that a score weighs lack rows scored on both sides."""
        if self.is_stated(name):
            return []
        found: dict[Reason, None] = {}
        for specs in self.specs:
            for spec in _behind(name, specs):
                for task in spec.tasks:
                    quantity = self.measured.get(task)
                    reasons = () if quantity is None else quantity.shortfalls
                    known = {reason.kind for reason in reasons}
                    for reason in self._lacks(spec, task, quantity):
                        if reason.kind not in known:
                            found[reason] = None
        return list(found)

    def _lacks(self, spec: ScoreSpec, name: str, quantity: Quantity | None) -> Iterator[Reason]:
        """Yields the reasons why a task is not enough for a score that is made of it."""
        task = self.tasks.get(name)
        if task is None:
            if name in self.lone:
                side = BASELINE if name in self.runs[0].tasks else CANDIDATE
                yield Reason(Kind.NO_SCORED_PAIR, values={"side": side, "task": name})
            return
        is_built_in = spec.function in BUILT_IN
        if not is_built_in and not task.has_row_scores:
            return  # a function of the replies
        params = spec.params if is_built_in else {}
        rows = int(task.scored(params).sum())
        if not rows:
            yield Reason(Kind.NO_SCORED_PAIR, task=name)
            return
        # A mean over rows weighs rows; whatever else may weigh subtasks.
        subtasks = [] if spec.function == "micro" else task.unpaired_subtasks(params)
        if subtasks:
            yield _lone_subtasks(task, spec, subtasks)
        expected = None if quantity is None else quantity.expected
        if expected is not None:
            for reason in missing_rows(rows, expected, tolerated=self.tolerated):
                yield reason.of(name)

    def missing(
        self, name: str, bounds: tuple[float, float], *, by_row: bool = False
    ) -> Missing | None:
        """The weight of missing rows in a score, more of the score as the better side.

        None where it is not known.

        Args:
            name: Id of the score.
            bounds: Its least and greatest value.
            by_row: Whether it is a plain mean over the rows of its tasks, whatever computes it.
        """
        spec = self._any_specs.get(name)
        if spec is None:
            return None
        scale = Scale(*bounds, bounded=True)
        if spec.function == "mean":
            return self._of_mean(spec, bounds)
        parts = self._parts(spec, by_row=by_row)
        if not parts:
            return None
        if by_row or spec.function == "micro":
            return _micro(parts, scale)
        if spec.function == "macro":
            return _macro(parts, scale)
        return _of_function(parts, scale)

    def _of_mean(self, spec: ScoreSpec, bounds: tuple[float, float]) -> Missing | None:
        """The weight in a mean of other scores: the mean of theirs."""
        needs = [self.missing(f"{spec.pack}/{parent}", bounds) for parent in spec.needs]
        known = [part for part in needs if part is not None]
        if not known or len(known) < len(needs):
            return None
        return _mean(known)

    def _parts(self, spec: ScoreSpec, *, by_row: bool) -> list[LoneRows]:
        """The rows of each subtask of the tasks; empty where a side lacks a task."""
        parts: list[LoneRows] = []
        for name in spec.tasks:
            task = self.tasks.get(name)
            if task is None:
                return []
            params: Mapping[str, Any] = spec.params if spec.function in BUILT_IN else {}
            any_score = spec.function not in BUILT_IN and not (by_row and task.has_row_scores)
            of_task = task.lone_rows(params, any_score=any_score)
            parts += _with_unknown(of_task, self.measured.get(name))
        return parts

    def tolerates(self, name: str, missing: Missing) -> bool:
        """True where the weight of missing rows, which bounds hold, decides and is small.

        Scores of code of their own keep the limits of their tasks, too.
        """
        spec = self._any_specs.get(name)
        return spec is not None and spec.function in BUILT_IN and missing.share <= self.tolerated

    @property
    def _any_specs(self) -> Mapping[str, ScoreSpec]:
        """The declaration of each score on either side, that of the candidate first."""
        return {**self.specs[1], **self.specs[0]}


def _lone_subtasks(task: SharedTask, spec: ScoreSpec, names: Sequence[str]) -> Reason:
    """The reason that subtasks of a task have no row that both sides scored."""
    params = spec.params if spec.function in BUILT_IN else {}
    parts = {part.subtask: part for part in task.lone_rows(params, any_score=False)}
    lone = [parts[name] for name in names if name in parts]
    side = ""
    if lone and all(part.before.size and not part.now.size for part in lone):
        side = CANDIDATE
    elif lone and all(part.now.size and not part.before.size for part in lone):
        side = BASELINE
    known = {"side": side, "subtasks": list(names), "of": len(parts)}
    values = known | {"weighs": spec.function == "macro"}
    return Reason(Kind.NO_SCORED_PAIR, task=task.name, values=values)


def _behind(name: str, specs: Mapping[str, ScoreSpec]) -> Iterator[ScoreSpec]:
    """The declaration of a score, and of all scores that it needs."""
    waiting = [name]
    seen: set[str] = set()
    while waiting:
        spec = specs.get(waiting.pop())
        if spec is None or spec.name in seen:
            continue
        seen.add(spec.name)
        waiting += [f"{spec.pack}/{parent}" for parent in spec.needs]
        yield spec


def _with_unknown(parts: Sequence[LoneRows], quantity: Quantity | None) -> list[LoneRows]:
    """The parts with the rows that neither side has, spread over them by their size."""
    rows = sum(part.rows for part in parts)
    expected = None if quantity is None else quantity.expected
    if expected is None or rows == 0 or expected <= rows:
        return list(parts)
    share = (expected - rows) / rows
    return [replace(part, unknown=part.rows * share) for part in parts]


def _micro(parts: Sequence[LoneRows], scale: Scale) -> Missing:
    now = np.concatenate([part.now for part in parts])
    before = np.concatenate([part.before for part in parts])
    lone = LoneScores(now, before, sum(part.unknown for part in parts))
    return lone.weight(sum(part.pairs for part in parts), scale, higher_is_better=True) or _NOTHING


def _macro(parts: Sequence[LoneRows], scale: Scale) -> Missing:
    weights = []
    for part in parts:
        lone = LoneScores(part.now, part.before, part.unknown)
        weights.append(lone.weight(part.pairs, scale, higher_is_better=True) or _NOTHING)
    return _mean(weights)


def _mean(parts: Sequence[Missing]) -> Missing:
    count = len(parts)
    return Missing(
        sum(part.share for part in parts) / count,
        sum(part.lost_at_most for part in parts) / count,
        sum(part.gained_at_most for part in parts) / count,
    )


def _of_function(parts: Sequence[LoneRows], scale: Scale) -> Missing:
    """The missing share of the task that lacks most, each way over the range of the score."""
    rows: dict[str, float] = {}
    lone: dict[str, float] = {}
    for part in parts:
        rows[part.task] = rows.get(part.task, 0.0) + part.rows + part.unknown
        lone[part.task] = lone.get(part.task, 0.0) + part.rows - part.pairs + part.unknown
    share = max(lone[name] / rows[name] for name in rows if rows[name])
    return Missing(share, share * scale.width, share * scale.width)
