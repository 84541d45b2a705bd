"""The words: which one a difference gets, and the sentence that follows it. The only place that chooses them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_metrics import statistics
from evalprep.compare.difference import ALPHA, POWER, Difference
from evalprep.results.facts import rows_missing
from evalprep.terminal import counted

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"
NO_DIFFERENCE = "no difference shown"
NOT_COMPARABLE = "not comparable"
NOT_ENOUGH = "not enough evidence"
#: Where no direction is better.
DIFFERENT = "different"
WORDS = (BETTER, WORSE, EQUIVALENT, DIFFERENT, NO_DIFFERENCE, NOT_COMPARABLE, NOT_ENOUGH)
TOLERATED_MISSING = 0.01  # share of the expected rows that may be missing


@dataclass
class Conclusion:
    """What is said about one quantity of two runs.

    Args:
        name: The quantity: a task, `pack/score`, or `task: metric`.
        kind: `task`, `suite`, `metric`, `perplexity` or `overall`.
        difference: The numbers.
        p_holm: `difference.p` adjusted for the number of quantities of its kind that have a test.
        verdict: One of `WORDS`.
        words: The verdict as a sentence.
        not_comparable: Why the two sides did not answer the same question; empty where they did.
        not_enough: Why the numbers do not carry a verdict; empty where they do.
        expected: Rows that there should be; None where that is not known.
        notes: What the reader should know.
        rule: The scoring rule of a suite score that has one of several.
    """

    name: str
    kind: str
    difference: Difference
    p_holm: float | None = None
    verdict: str = ""
    words: str = ""
    not_comparable: list[str] = field(default_factory=list)
    not_enough: list[str] = field(default_factory=list)
    expected: int | None = None
    notes: list[str] = field(default_factory=list)
    rule: str = ""

    @property
    def counts(self) -> bool:
        """Whether it may carry a verdict: comparable, with evidence."""
        return not self.not_comparable and not self.not_enough and self.difference.evidence is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        own = {name: value for name, value in vars(self).items() if name != "difference"}
        return own | self.difference.to_dict()

    def decide(self, p: float | None, *, alpha: float = ALPHA, margin: float | None = None) -> None:
        """Choose the word and write the sentence.

        Args:
            p: The adjusted p-value.
            alpha: Level.
            margin: Differences smaller than this do not matter; without one nothing is called equivalent.
        """
        item = self.difference
        self.p_holm = None if p is None or math.isnan(p) else p
        if self.not_comparable:
            self.verdict, self.words = NOT_COMPARABLE, "; ".join(self.not_comparable)
            return
        if self.not_enough or item.evidence is None or item.delta is None:
            self.verdict, self.words = NOT_ENOUGH, "; ".join(self.not_enough) or "no test for this score"
            return
        size = item.scaled(abs(item.delta))
        shown = self.p_holm is not None and self.p_holm < alpha
        tested = f" (p = {self.p_holm:.2g})" if self.p_holm is not None else ""
        if shown and item.higher_is_better is None:
            self.verdict = DIFFERENT
            self.words = f"{'higher' if item.delta > 0 else 'lower'} by {size}{tested}"
        elif shown:
            self.verdict = BETTER if (item.drop or 0.0) < 0 else WORSE
            self.words = f"{self.verdict} by {size}{tested}"
        elif margin is not None and item.low is not None and item.high is not None and (
            -margin < item.low and item.high < margin
        ):  # fmt: skip
            self.verdict, self.words = EQUIVALENT, f"any difference is smaller than {item.scaled(margin)}"
        else:
            self.verdict = NO_DIFFERENCE
            found = f"; {item.scaled(item.mde)} would be found with {POWER:.0%} probability" if item.mde else ""
            if item.gained == item.lost == 0 and item.made_of == "rows" and item.binary:
                self.words = f"same verdict on all {counted(item.n, 'row')}{found}"
            elif item.delta == 0 and item.made_of == "rows" and item.agreement == 1.0:
                self.words = f"same score on all {counted(item.n, 'row')}{found}"
            else:
                self.words = f"no difference shown, {size}{tested}{found}"


def missing_rows(conclusion: Conclusion, expected: int, why: str = "", *, tolerated: float = TOLERATED_MISSING) -> None:
    """Say so where more than the tolerated share of the expected rows is missing."""
    conclusion.expected = expected
    missing = expected - conclusion.difference.n
    if missing > tolerated * expected:
        conclusion.not_enough.append(rows_missing(missing, expected) + (f" ({why})" if why else ""))


def conclude(found: Sequence[Conclusion], *, confidence: float, margin: float | None = None) -> None:
    """Adjust over all that carry a verdict, and find the words of all."""
    tested = [one for one in found if one.counts and one.difference.p is not None]
    adjusted = statistics.holm([one.difference.p or 0.0 for one in tested])
    level = (1 - confidence) / max(1, len(tested))
    by_id = dict(zip(map(id, tested), adjusted, strict=True))
    for one in found:
        one.difference.set_detectable(level)
        one.decide(by_id.get(id(one)), alpha=1 - confidence, margin=margin)
