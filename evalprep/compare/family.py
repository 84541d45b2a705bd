"""The family of a page: all quantities that decide, over all of its candidates.

One adjustment (Holm) runs over C candidates times T deciding quantities and, where there are
several, the C means over tasks; words, headlines, stars and exit codes read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from custom_metrics.statistics import MeanDifference
from evalprep.compare.conclusion import Conclusion, Member, conclude, family_key

if TYPE_CHECKING:
    from evalprep.compare.comparison import Comparison


def conclude_page(comparisons: Sequence[Comparison], *, judged: int | None = None) -> None:
    """Finds the words of all conclusions of a page or a call.

    Args:
        comparisons: One for each candidate.
        judged: Place of the candidate that alone is judged; the others are described. None for all.
    """
    chosen = []
    for place, comparison in enumerate(comparisons):
        comparison.described = judged not in {None, place}
        comparison.candidates = len(comparisons) if judged is None else 1
        if not comparison.described:
            chosen.append(comparison)
    _conclude(_numbered(map(_members, chosen)), chosen)
    for comparison in comparisons:
        for family in _other_families(comparison).values():
            _conclude(family, [comparison])
        quantities = comparison.conclusions if comparison.described else [comparison.pooled]
        for item in quantities:
            if item is not None:
                item.describe()


def conclude_pairs(comparisons: Sequence[Comparison], pairs: int) -> None:
    """Finds the words of all conclusions of a table whose runs are held against each other.

    Args:
        comparisons: The pairs that the table needs.
        pairs: All pairs of its runs; those that are not compared count as far as they could.
    """
    others = [_other_families(comparison) for comparison in comparisons]
    of_kind = [[families.get(kind, []) for families in others] for kind in set().union(*others)]
    for families in (list(map(_members, comparisons)), *of_kind):
        most = max(map(_hypotheses, families), default=0)
        _conclude(_numbered(families), comparisons, most * pairs)


def deciding(comparison: Comparison) -> list[Conclusion]:
    """The quantities that decide, each with a part in the family of its page."""
    return [item for _, item in _members(comparison)]


def _members(comparison: Comparison) -> list[Member]:
    """What a candidate adds to the family: its deciding quantities, and the mean of several."""
    items = [*_of_tasks(comparison), *comparison.suite]
    rule = _rule_of_page(comparison)
    of_rule = [item for item in items if item.decides and item.rule in {"", rule}]
    members = [(family_key(item), item) for item in of_rule]
    mean = comparison.overall
    if mean is None:
        return members
    evidence = mean.difference.evidence
    key = family_key(mean)
    if isinstance(evidence, MeanDifference) and len(evidence.tasks) == 1:
        only = evidence.tasks[0].evidence
        keys = (own for own, item in members if item.difference.evidence is only)
        key = next(keys, key)
    return [*members, (key, mean)]


def _of_tasks(comparison: Comparison) -> list[Conclusion]:
    return [*comparison.tasks, *comparison.metrics, *comparison.further, *comparison.stored]


def _rule_of_page(comparison: Comparison) -> str:
    """The scoring rule whose suite scores decide: the usual one where it is among them."""
    return min((item.rule for item in comparison.suite if item.decides), default="")


def _other_families(comparison: Comparison) -> dict[tuple[str, str, bool], list[Member]]:
    """Advisory quantities, helpers among suite scores, and scores by another rule.

    Each has what its members are of, the rule of its scores, and whether they would decide by it.
    """
    of_tasks = [item for item in _of_tasks(comparison) if not item.decides]
    page_rule = _rule_of_page(comparison)
    families = {("task", "", False): [(family_key(item), item) for item in of_tasks]}
    for item in comparison.suite:
        if not item.decides or item.rule not in {"", page_rule}:
            members = families.setdefault(("suite", item.rule, item.decides), [])
            members.append((family_key(item), item))
    return families


def _numbered(families: Iterable[Sequence[Member]]) -> list[Member]:
    """The members of several candidates, whose keys are their own."""
    numbered = [
        [(f"{place} {key}", item) for key, item in family] for place, family in enumerate(families)
    ]
    return list(chain.from_iterable(numbered))


def _hypotheses(members: Sequence[Member]) -> int:
    """The hypotheses of a family: a quantity without a test is none."""
    return len({key for key, item in members if item.has_test})


def _conclude(
    members: Sequence[Member], comparisons: Sequence[Comparison], hypotheses: int = 0
) -> None:
    if members:
        first = comparisons[0]
        conclude(members, confidence=first.confidence, margin=first.margin, hypotheses=hypotheses)
