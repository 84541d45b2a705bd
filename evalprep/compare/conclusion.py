"""The words: which one a difference gets, and the sentence that follows it.

The only place that chooses them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_metrics import statistics
from evalprep.compare.difference import (
    ALPHA,
    FEWEST_A_TASK,
    FEWEST_CHANGED,
    POWER,
    Difference,
    without_difference,
)
from evalprep.compare.reasons import Kind, Reason, sentences
from evalprep.errors import BadInput, Problem
from evalprep.numbers import p_value
from evalprep.terminal import counted, shortlist

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"
NO_DIFFERENCE = "no difference shown"
NOT_COMPARABLE = "not comparable"
NOT_ENOUGH = "not enough evidence"
#: Where no direction is better.
DIFFERENT = "different"
WORDS = (BETTER, WORSE, EQUIVALENT, DIFFERENT, NO_DIFFERENCE, NOT_COMPARABLE, NOT_ENOUGH)
TOLERATED_MISSING = 0.01  # share of the expected rows that may be missing
#: Kind of a conclusion about a row metric that is not the primary one.
SECONDARY = "secondary"


@dataclass
class Conclusion:
    """The verdict about one quantity of two runs.

    Args:
        name: The quantity: a task, `pack/score`, or `task: metric`.
        kind: `task`, `secondary`, `suite`, `metric`, `perplexity`, `stored` or `overall`.
        difference: The numbers.
        p_holm: `difference.p` adjusted for the number of quantities of its family that have a test.
        verdict: One of `WORDS`.
        words: The verdict as a sentence.
        reasons: Why it carries no word; empty where it may.
        expected: Rows that there should be; None where that is not known.
        notes: What the reader should know.
        rule: The scoring rule of a suite score that has one of several.
        metric, filter: The metric of a task that this is about; empty for other quantities.
        decides: False for advisory quantities: metrics beside those that decide.
        duplicate_of: Key of what this is a transform or a copy of; such quantities count once.
    """

    name: str
    kind: str
    difference: Difference
    p_holm: float | None = None
    verdict: str = ""
    words: str = ""
    reasons: list[Reason] = field(default_factory=list)
    expected: int | None = None
    notes: list[str] = field(default_factory=list)
    rule: str = ""
    metric: str = ""
    filter: str = ""
    decides: bool = True
    duplicate_of: str = ""

    @property
    def refusals(self) -> list[Reason]:
        """The reasons why the two sides did not answer the same question."""
        return [reason for reason in self.reasons if reason.kind.refuses]

    @property
    def shortfalls(self) -> list[Reason]:
        """The reasons why the numbers are not enough evidence."""
        return [reason for reason in self.reasons if not reason.kind.refuses]

    @property
    def not_comparable(self) -> list[str]:
        """The refusals in words."""
        return sentences(self.refusals)

    @property
    def not_enough(self) -> list[str]:
        """The shortfalls in words."""
        return sentences(self.shortfalls)

    @property
    def counts(self) -> bool:
        """True where it may carry a verdict: comparable, with evidence."""
        if self.reasons:
            return False
        return self.difference.evidence is not None

    @property
    def has_test(self) -> bool:
        """True where it has a part in the adjustment of its page."""
        return self.counts and self.difference.p is not None

    @property
    def shown(self) -> bool:
        """True where a difference is shown."""
        return self.verdict in {BETTER, WORSE, DIFFERENT}

    @property
    def task(self) -> str:
        """The task of a quantity of one task."""
        return self.name.partition(": ")[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        own = dict(vars(self))
        del own["difference"], own["duplicate_of"]
        return own | self.difference.to_dict() | plain_reasons(self)

    def decide(self, p: float | None, *, alpha: float = ALPHA, margin: float | None = None) -> None:
        """Choose the word and write the sentence.

        Args:
            p: The adjusted p-value.
            alpha: Level.
            margin: Differences smaller than this do not matter; without one nothing is called
                equivalent.
        """
        if any(reason.kind is Kind.METRIC for reason in self.reasons):
            self.difference = without_difference(self.difference)
        self.p_holm = None if p is None or math.isnan(p) else p
        self.verdict, self.words = self._verdict_and_words(alpha, margin)
        if self.difference.constant is not None and self.counts:
            self.words = f"{constant_change(self.difference)}; {self.words}"

    def describe(self) -> None:
        """Leave the numbers without a word."""
        self.p_holm = None
        self.verdict = ""
        self.words = ""
        if self.counts:
            self.words = f"{self.difference.change(sign=True)} observed, without a verdict"

    def _verdict_and_words(self, alpha: float, margin: float | None) -> tuple[str, str]:
        """One of `WORDS`, and the sentence."""
        item = self.difference
        if self.refusals:
            return NOT_COMPARABLE, "; ".join(self.not_comparable)
        if self.reasons:
            return NOT_ENOUGH, "; ".join(self.not_enough)
        if item.evidence is None or item.delta is None:
            return NOT_ENOUGH, _no_test(item)
        if self.p_holm is not None and self.p_holm < alpha:
            return _shown(item, self.p_holm)
        if _is_within(item, margin):
            return EQUIVALENT, f"any difference is smaller than {item.scaled(margin)}"
        return NO_DIFFERENCE, _not_shown(item, self.p_holm)


def plain_reasons(conclusion: Conclusion) -> dict[str, list[Any]]:
    """The reasons of a conclusion for JSON: whole, as sentences, and the kinds of what it lacks."""
    return {
        "reasons": [reason.to_dict() for reason in conclusion.reasons],
        "not_comparable": conclusion.not_comparable,
        "not_enough": conclusion.not_enough,
        "lacks": list(dict.fromkeys(reason.kind.value for reason in conclusion.shortfalls)),
    }


def constant_change(item: Difference) -> str:
    """The sentence for rows that all changed by the same amount."""
    rows = counted(item.n, "row")
    change = item.scaled(item.constant, sign=True)
    return f"every one of {rows} changed by {change}"


def _no_test(item: Difference) -> str:
    """The reason where there is no interval."""
    if item.constant is None:
        return "no test for this score"
    return f"{constant_change(item)}; without bounds of the score there is no interval"


def _shown(item: Difference, p: float) -> tuple[str, str]:
    """Word and sentence of a difference that is shown."""
    if item.higher_is_better is None:
        return DIFFERENT, f"changed by {item.change(sign=True)} ({p_value(p)})"
    drop = item.drop or 0.0
    verdict = BETTER if drop < 0 else WORSE
    return verdict, f"{verdict} by {item.change()} ({p_value(p)}){beside_better(verdict, item)}"


def beside_better(verdict: str, item: Difference) -> str:
    """What a better on graded rows leaves open, behind a semicolon; empty for other words."""
    sentence = item.unseen_losses if verdict == BETTER else ""
    return f"; {sentence}" if sentence else ""


def _is_within(item: Difference, margin: float | None) -> bool:
    """True where the interval lies within the margin."""
    if margin is None or item.low is None or item.high is None:
        return False
    return -margin < item.low and item.high < margin


def _not_shown(item: Difference, p: float | None) -> str:
    """The sentence of a difference that is not shown.

    What was seen, and what would have been found.
    """
    detectable = ""
    if item.mde:
        size = item.scaled(item.mde)
        detectable = f"; {size} would be detected with {POWER:.0%} probability"
    rows = counted(item.n, "row")
    if item.made_of == "rows" and item.agreement == 1.0:
        kind = "verdict" if item.binary else "score"
        return f"same {kind} on all {rows}{detectable}"
    change = item.change(sign=True)
    own_p = item.p if p is not None and not item.may_have_word else p
    tested = f" ({p_value(own_p)})" if own_p is not None else ""
    on_rows = f", {rows}" if item.n else ""
    return f"{change} observed{tested}{on_rows}{_few_changed(item)}{detectable}"


def _few_changed(item: Difference) -> str:
    """Why rows whose interval excludes zero carry no word; empty where enough changed."""
    if item.may_have_word or item.p is None or item.p >= ALPHA:
        return ""
    if item.has_enough_changed:
        rows = f"{item.rows_a_task or 0:.3g} rows a task"
        return f", {rows}, and better or worse in a mean takes {FEWEST_A_TASK}"
    units = "rows" if item.clusters is None else "documents"
    changed = f"{item.changed} of them" if item.clusters is None else f"{item.changed} {units}"
    return f", {changed} changed, and better or worse takes {FEWEST_CHANGED} changed {units}"


def missing_rows(
    rows: int, expected: int, why: Sequence[str] = (), *, tolerated: float = TOLERATED_MISSING
) -> list[Reason]:
    """The reason where more than the tolerated share of the expected rows is missing."""
    missing = expected - rows
    if missing <= tolerated * expected:
        return []
    values = {"missing": missing, "expected": expected, "why": list(why)}
    return [Reason(Kind.MISSING_ROWS, values=values)]


def refuse_wide_margin(conclusions: Sequence[Conclusion], margin: float | None) -> None:
    """Refuses a margin that holds every possible difference of a score, such as 2 for two points.

    Raises:
        BadInput: a deciding score has bounds, and they are no further apart than the margin.
    """
    if margin is None:
        return
    spans = {
        item.name: item.difference.range
        for item in conclusions
        if item.decides and item.difference.bounded and item.difference.range is not None
    }
    names = [name for name, span in spans.items() if span <= margin]
    if not names:
        return
    least = min(spans[name] for name in names)
    share = f"{margin / 100:g} is {margin:g} points" if least <= 1 <= margin < 100 else ""
    raise BadInput(
        Problem(
            what=f"margin {margin:g} calls every difference equivalent: "
            f"the scores of {shortlist(names)} span {least:g}",
            where="--margin",
            allowed=f"a number below {least:g}",
            fix=share,
        )
    )


#: A conclusion of a family and its key; members of one key count once.
Member = tuple[str, Conclusion]


def conclude(
    family: Sequence[Member], *, confidence: float, margin: float | None = None, hypotheses: int = 0
) -> None:
    """Adjust over all of one family that carry a verdict, and find the words of all.

    Members of one key count once: as the one with the smallest p.

    Args:
        family: Its members at hand.
        confidence: 1 less the level of the family.
        margin: Differences smaller than this do not matter.
        hypotheses: How many members it has, where more than are at hand.
    """
    p_of_item = {id(item): _own_p(item) for _, item in family}
    smallest: dict[str, float] = {}
    for key, item in family:
        p = p_of_item[id(item)]
        if p is not None:
            smallest[key] = min(p, smallest.get(key, 1.0))
    others = max(0, hypotheses - len(smallest))
    p_adjusted = statistics.holm([*smallest.values(), *[1.0] * others])
    adjusted = dict(zip(smallest, p_adjusted, strict=False))
    alpha = 1 - confidence
    level = alpha / max(1, len(smallest) + others)
    for key, item in family:
        item.difference.set_detectable(level)
        p_holm = None
        p = p_of_item[id(item)]
        if p is not None:
            p_holm = max(adjusted[key], p)
        item.decide(p_holm, alpha=alpha, margin=margin)


def _own_p(item: Conclusion) -> float | None:
    """The p-value of a conclusion that counts; None of any other.

    1 where too few rows changed for a word, or the tasks of a mean have too few.
    """
    if not item.has_test:
        return None
    return item.difference.p if item.difference.may_have_word else 1.0


def family_key(item: Conclusion) -> str:
    """The key of a quantity: copies of a column and transforms of one likelihood share it."""
    return item.duplicate_of or f"{item.kind} {item.name}"
