"""The weight of missing rows in a suite score, by what the score weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from custom_metrics.statistics import Missing
from evalprep.compare.difference import LoneScores, Scale
from evalprep.compare.quantities import Quantity
from evalprep.compare.shared_rows import LoneRows, SharedTask
from evalprep.packs import ScoreSpec
from evalprep.score import BUILT_IN

_NOTHING = Missing()


@dataclass(frozen=True)
class ScoreRows:
    """The rows behind the suite scores of two runs.

    Attributes:
        tasks: The tasks that both have.
        specs: The declarations of the scores, by their ids.
        measured: What is measured of the tasks.
    """

    tasks: Mapping[str, SharedTask]
    specs: Mapping[str, ScoreSpec]
    measured: Mapping[str, Quantity]

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
        spec = self.specs.get(name)
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
