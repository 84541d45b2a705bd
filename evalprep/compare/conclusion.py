"""A quantity with its word: which one a difference gets, and the sentence that follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from evalprep.compare.difference import (
    ALPHA,
    FEWEST_A_TASK,
    FEWEST_CHANGED,
    POWER,
    Difference,
    without_difference,
)
from evalprep.compare.limit import Limit
from evalprep.compare.quantities import Quantity
from evalprep.compare.reasons import Kind
from evalprep.numbers import p_value
from evalprep.terminal import counted

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"
NO_DIFFERENCE = "no difference shown"
NOT_COMPARABLE = "not comparable"
NOT_ENOUGH = "not enough evidence"
#: Where no direction is better.
DIFFERENT = "different"
WORDS = (BETTER, WORSE, EQUIVALENT, DIFFERENT, NO_DIFFERENCE, NOT_COMPARABLE, NOT_ENOUGH)


@dataclass(frozen=True)
class Conclusion(Quantity):
    """The verdict about one quantity of two runs.

    Attributes:
        p_holm: `difference.p` adjusted for the number of quantities of its family that have a test.
        verdict: One of `WORDS`; empty of what is described alone.
        words: The verdict as a sentence.
    """

    p_holm: float | None = None
    verdict: str = ""
    words: str = ""

    @property
    def shown(self) -> bool:
        """True where a difference is shown."""
        return self.verdict in {BETTER, WORSE, DIFFERENT}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the reasons whole, as sentences, and the kinds of what it lacks."""
        own = dict(vars(self))
        del own["difference"], own["duplicate_of"]
        return {
            **own,
            **self.difference.to_dict(),
            "notes": list(self.notes),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "not_comparable": self.not_comparable,
            "not_enough": self.not_enough,
            "lacks": list(dict.fromkeys(reason.kind.value for reason in self.shortfalls)),
        }


def concluded(
    quantity: Quantity,
    p: float | None,
    *,
    alpha: float = ALPHA,
    level: float | None = None,
    margin: Limit | None = None,
) -> Conclusion:
    """A quantity with its word and its sentence.

    Args:
        quantity: What is concluded of.
        p: The adjusted p-value.
        alpha: Level of the family.
        level: Of one test in it, for the difference that would be found; `alpha` by default.
        margin: Differences smaller than this do not matter; without one nothing is called
            equivalent.
    """
    item = _difference(quantity, alpha if level is None else level)
    p = None if p is None or math.isnan(p) else p
    verdict, words = _verdict_and_words(quantity, item, p, alpha, margin)
    return _conclusion(quantity, item, p_holm=p, verdict=verdict, words=words)


def mirrored(conclusion: Conclusion, *, alpha: float = ALPHA) -> Conclusion:
    """What is concluded of the same two runs with the sides exchanged.

    Its notes, which name the sides, are left out.

    Args:
        conclusion: Of the two runs, without a margin.
        alpha: Level of its family.
    """
    item = conclusion.difference.mirrored()
    reasons = [reason.mirrored() for reason in conclusion.reasons]
    turned = replace(conclusion, difference=item, reasons=reasons, notes=())
    verdict, words = _verdict_and_words(turned, item, conclusion.p_holm, alpha, None)
    return replace(turned, verdict=verdict, words=words)


def described(quantity: Quantity, level: float) -> Conclusion:
    """A quantity with its numbers and without a word.

    Args:
        quantity: What is described.
        level: Of a test of it alone.
    """
    item = _difference(quantity, level)
    words = ""
    if quantity.counts:
        words = f"{item.change(sign=True)} observed, without a verdict"
    return _conclusion(quantity, item, words=words)


def _difference(quantity: Quantity, level: float) -> Difference:
    """The difference with what a test would find; of two metrics the values alone."""
    item = quantity.difference
    if any(reason.kind is Kind.METRIC for reason in quantity.reasons):
        item = without_difference(item)
    return item.at_level(level)


def _conclusion(quantity: Quantity, item: Difference, **own: Any) -> Conclusion:
    known = {each.name: getattr(quantity, each.name) for each in fields(Quantity)}
    return Conclusion(**{**known, "difference": item}, **own)


def _verdict_and_words(
    quantity: Quantity, item: Difference, p: float | None, alpha: float, margin: Limit | None
) -> tuple[str, str]:
    """One of `WORDS`, and the sentence."""
    if quantity.refusals:
        return NOT_COMPARABLE, "; ".join(quantity.not_comparable)
    if quantity.reasons:
        return NOT_ENOUGH, "; ".join(quantity.not_enough)
    if item.evidence is None or item.delta is None:
        if item.constant is None:
            return NOT_ENOUGH, "no test for this score"
        change = constant_change(item)
        return NOT_ENOUGH, f"{change}; without bounds of the score there is no interval"
    tolerated = None if margin is None else margin.of(item.previous, item.hundred_points)
    if p is not None and p < alpha:
        verdict, words = _shown(item, p)
    elif _is_within(item, tolerated):
        verdict, words = EQUIVALENT, f"any difference is smaller than {item.scaled(tolerated)}"
    else:
        verdict, words = NO_DIFFERENCE, _not_shown(item, p)
    return verdict, words if item.constant is None else f"{constant_change(item)}; {words}"


def constant_change(item: Difference) -> str:
    """The sentence for rows that all changed by the same amount."""
    rows = counted(item.n, "row")
    change = item.scaled(item.constant, sign=True)
    return f"every one of {rows} changed by {change}"


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
