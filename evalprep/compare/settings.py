"""The settings of a comparison: levels, limits, and what may differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalprep.compare.comparable import check_allowed
from evalprep.compare.difference import ALPHA
from evalprep.compare.limit import Limit, as_limit
from evalprep.compare.quantities import TOLERATED_MISSING
from evalprep.errors import Problems
from evalprep.samples import BY_CONTENT, Metric, PairRules

#: The metrics that decide: each task's primary one, or all of them.
PRIMARY, ALL = "primary", "all"


@dataclass(frozen=True)
class Settings:
    """The settings of a comparison.

    Args:
        confidence: Of intervals; verdicts use the level 1 - confidence, adjusted over quantities by
            Holm.
        margin: Differences smaller than this do not matter: within it two runs are called
            equivalent.
        allow: Facts of the question that may differ (docs/commands/compare.md).
        tolerated_missing: Share of the expected rows that may be missing.
        cluster: Field of the rows whose equal values make one document.
        deciding: The metrics that decide: `primary`, `all`, or names of metrics, each with
            `@filter` where one filter alone is meant.
        pairing: What the user decides about which rows are the same question.
    """

    confidence: float = 1 - ALPHA
    margin: Limit | float | None = None
    allow: tuple[str, ...] = ()
    tolerated_missing: float = TOLERATED_MISSING
    cluster: str = ""
    deciding: str | Sequence[str] = PRIMARY
    pairing: PairRules = BY_CONTENT

    def check(self) -> None:
        """Refuses settings that are none.

        Raises:
            BadInput: a confidence outside (0, 1), a margin that is no number above 0, an unknown
                fact.
        """
        problems = Problems()
        if not 0.0 < self.confidence < 1.0:
            problems.add(
                f"confidence {self.confidence} is not between 0 and 1", fix="0.95 is usual"
            )
        if self.margin is not None and not 0.0 < as_limit(self.margin).value < math.inf:
            problems.add(
                f"margin {self.margin} is not a number above 0",
                where="--margin",
                fix='write "2 points", or 0.02',
            )
        check_allowed(self.allow, "--allow", problems)
        problems.raise_if_any()

    def decides(self, metric: str, filter_name: str, *, primary: bool) -> bool:
        """True where a metric of a task takes part in the decision."""
        if self.deciding == PRIMARY:
            return primary
        if self.deciding == ALL:
            return True
        return metric in self.deciding or f"{metric}@{filter_name}" in self.deciding

    def decides_task(self, first: Metric, metrics: Sequence[Metric]) -> bool:
        """True where the first metric of a task decides: also where it has none that does."""
        if self.decides(first.metric, first.filter, primary=True):
            return True
        return not any(self.decides(each.metric, each.filter, primary=False) for each in metrics)
