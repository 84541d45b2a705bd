"""The choice of the run that may be called the best at a quantity.

Those that no other is shown to be better than.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import ALPHA
from evalprep.terminal import counted

#: Rows that a first place and a gate take.
FEWEST_ROWS = 20
#: Number of runs -> why there is no first place.
_TOO_FEW = ("no run has a comparable value", "only one run has a comparable value")
_UNTESTED = "there is no paired test of it"


class Leaders(msgspec.Struct, frozen=True):
    """The best value, and those that are not shown to be worse.

    Attributes:
        keys: The runs; empty where nothing may be said.
        reason: Why nothing may be said.
        pair: The two runs that the reason is about, in its order; None where it is about all.
    """

    keys: frozenset[int]
    reason: str = ""
    pair: tuple[int, int] | None = None


def leaders(
    values: Mapping[int, float],
    conclusion: Callable[[int, int], Conclusion | None],
    *,
    higher_is_better: bool,
    alpha: float = ALPHA,
) -> Leaders:
    """Finds the runs that share the first place.

    The run with the best value is held against each other one by the paired test of its quantity.
    Which one is the best was read off the same data, so that p is adjusted over all pairs of runs,
    as if each had been tested.

    Args:
        values: Number of a run -> value; of runs that may be compared.
        conclusion: What is concluded of two runs, the candidate first; None where nothing is.
        higher_is_better: The direction.
        alpha: Level of all pairs together.

    >>> leaders({0: 1.0}, lambda candidate, baseline: None, higher_is_better=True).reason
    'only one run has a comparable value'
    """
    if len(values) < 2:
        return _no_leader(_TOO_FEW[len(values)])
    sign = 1.0 if higher_is_better else -1.0
    best = max(values, key=lambda key: sign * values[key])
    shared = {best}
    for key in values:
        if key == best:
            continue
        outcome = conclusion(best, key)
        if outcome is None:
            return _no_leader(_UNTESTED)
        if not outcome.has_test or outcome.difference.n < FEWEST_ROWS:
            return _no_leader(_why_untested(outcome), (best, key))
        if _differs(outcome, alpha) and _is_worse(outcome):
            return _no_leader("the logged values and the rows contradict each other")
        if not shown_better(outcome, alpha):
            shared.add(key)
    if len(shared) == len(values):
        return _no_leader("no run is shown to be better than another")
    return Leaders(frozenset(shared))


def _no_leader(reason: str, pair: tuple[int, int] | None = None) -> Leaders:
    return Leaders(frozenset(), reason, pair)


def adjusted_p(outcome: Conclusion) -> float:
    """P after Holm's adjustment over the family of the page."""
    p = outcome.p_holm if outcome.p_holm is not None else outcome.difference.p
    return 1.0 if p is None else p


def shown_better(outcome: Conclusion, level: float) -> bool:
    """True where the candidate is shown to be better at a level."""
    return _differs(outcome, level) and not _is_worse(outcome)


def _differs(outcome: Conclusion, level: float) -> bool:
    return outcome.counts and adjusted_p(outcome) < level


def _is_worse(outcome: Conclusion) -> bool:
    drop = outcome.difference.drop
    return drop is not None and drop > 0


def _why_untested(outcome: Conclusion) -> str:
    """The reason where a conclusion of two runs has no test."""
    reasons = [*outcome.not_comparable, *outcome.not_enough]
    rows = outcome.difference.n
    if not reasons and outcome.difference.p is not None and rows < FEWEST_ROWS:
        return f"{counted(rows, 'row')}, and a first place takes {FEWEST_ROWS}"
    return "; ".join(reasons) or outcome.words or _UNTESTED
