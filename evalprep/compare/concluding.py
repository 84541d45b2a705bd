"""All conclusions of a page or a call at once: the only place where one is made.

One adjustment (Holm) runs over C candidates times T deciding quantities and, where there are
several, the C means over tasks; words, headlines, stars and exit codes read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress
from typing import Any, NamedTuple

import msgspec

from custom_metrics import statistics
from custom_metrics.statistics import MeanDifference
from evalprep.compare.comparison import Comparison
from evalprep.compare.conclusion import Conclusion, concluded, described
from evalprep.compare.limit import Limit, as_limit
from evalprep.compare.quantities import Quantities, Quantity, TwoRuns


class _Kind(NamedTuple):
    """The kind of a family: what it is of, the rule of its scores, and whether they decide."""

    of: str
    rule: str = ""
    decides: bool = False


_DECIDING = _Kind("deciding", decides=True)


class _Member(NamedTuple):
    """A quantity in a family; those of one key count once, as the one with the smallest p."""

    key: str
    quantity: Quantity


def conclude(compared: Sequence[Quantities], *, judged: int | None = None) -> list[Comparison]:
    """Concludes all comparisons of a page or a call.

    What decides is one family over all candidates; what does not is one for each candidate.

    Args:
        compared: One for each candidate.
        judged: Place of the candidate that alone is judged; the others are described. None for all.
    """
    if not compared:
        return []
    families = [_families(each, place) for place, each in enumerate(compared)]
    is_judged = [judged in {None, place} for place in range(len(compared))]
    chosen = compress(families, is_judged)
    members_of_page = chain.from_iterable(own.get(_DECIDING, []) for own in chosen)
    page = _Family.of(list(members_of_page), compared[0])
    candidates = len(compared) if judged is None else 1
    comparisons = []
    for each, own, counts in zip(compared, families, is_judged, strict=True):
        conclusions: dict[int, Conclusion] = {}
        for kind, members in own.items():
            if not counts:
                alone = {id(item): described(item, 1 - each.confidence) for _, item in members}
                conclusions |= alone
                continue
            family = page if kind == _DECIDING else _Family.of(members, each)
            conclusions |= family.conclusions(members)
        comparisons.append(
            _comparison(each, conclusions, candidates=candidates, described=not counts)
        )
    return comparisons


def conclude_pairs(compared: Sequence[Quantities], pairs: int) -> list[Comparison]:
    """Concludes all pairs of a table whose runs are held against each other.

    Args:
        compared: The pairs that the table needs.
        pairs: All pairs of its runs; those that are not compared count as far as they could.
    """
    conclusions: dict[int, Conclusion] = {}
    families = [_families(each, place) for place, each in enumerate(compared)]
    for kind in dict.fromkeys(chain.from_iterable(families)):
        of_kind = [own.get(kind, []) for own in families]
        most = max(len({key for key, item in own if item.has_test}) for own in of_kind)
        members = list(chain.from_iterable(of_kind))
        family = _Family.of(members, compared[0], hypotheses=most * pairs)
        conclusions |= family.conclusions(members)
    return [_comparison(each, conclusions) for each in compared]


def deciding(comparison: Comparison) -> dict[int, str]:
    """The identity of each conclusion that decides -> its key in the family of its page."""
    members = _families(comparison, 0).get(_DECIDING, [])
    return {id(item): key for key, item in members}


def adjusted_by_key(tests: Iterable[tuple[str, float]], hypotheses: int = 0) -> dict[str, float]:
    """Adjusts p over a family (Holm), in which those of one key count once, as the smallest.

    Args:
        tests: Key and p of each test.
        hypotheses: How many keys there are, where more than are at hand.

    >>> adjusted_by_key([("a", 0.01), ("a", 0.5), ("b", 0.04)])
    {'a': 0.02, 'b': 0.04}
    """
    smallest: dict[str, float] = {}
    for key, p in tests:
        smallest[key] = min(p, smallest.get(key, 1.0))
    others = max(0, hypotheses - len(smallest))
    adjusted = statistics.holm([*smallest.values(), *[1.0] * others])
    return dict(zip(smallest, adjusted, strict=False))


def _families(each: TwoRuns[Any], place: int) -> dict[_Kind, list[_Member]]:
    """The members that one comparison adds to the families of its page, by the kind of family.

    Beside what decides there are advisory quantities, helpers among suite scores, and scores by
    another rule.
    """
    # The scoring rule whose suite scores decide: the usual one where it is among them.
    page_rule = min((item.rule for item in each.suite if item.decides), default="")
    families: dict[_Kind, list[_Member]] = {}
    for item in (*each.of_tasks, *each.suite):
        member = _Member(f"{place} {item.key}", item)
        families.setdefault(_kind_of(item, page_rule), []).append(member)
    if each.overall is not None:
        members = families.setdefault(_DECIDING, [])
        members.append(_Member(_key_of_mean(each.overall, members, place), each.overall))
    return families


def _kind_of(item: Quantity, page_rule: str) -> _Kind:
    if item.decides and item.rule in {"", page_rule}:
        return _DECIDING
    return _Kind("suite", item.rule, item.decides) if item.kind == "suite" else _Kind("task")


def _key_of_mean(mean: Quantity, members: Sequence[_Member], place: int) -> str:
    """The key of a mean over tasks; of one task alone it is that task's own."""
    evidence = mean.difference.evidence
    if isinstance(evidence, MeanDifference) and len(evidence.tasks) == 1:
        only = evidence.tasks[0].evidence
        for key, item in members:
            if item.difference.evidence is only:
                return key
    return f"{place} {mean.key}"


class _Family(msgspec.Struct, frozen=True):
    """A family with its p-values adjusted (Holm).

    Attributes:
        adjusted: Key of its members that have a test -> adjusted p.
        alpha: Level of the family.
        level: Of one test in it.
        margin: Differences smaller than this do not matter.
    """

    adjusted: Mapping[str, float]
    alpha: float
    level: float
    margin: Limit | None

    @classmethod
    def of(
        cls, members: Sequence[_Member], settings: Quantities, *, hypotheses: int = 0
    ) -> _Family:
        """Adjusts over all members that have a test.

        Args:
            members: Those at hand.
            settings: Confidence and margin.
            hypotheses: How many members it has, where more than are at hand.
        """
        tests = ((key, _own_p(item)) for key, item in members)
        adjusted = adjusted_by_key(
            [(key, p) for key, p in tests if p is not None], hypotheses=hypotheses
        )
        alpha = 1 - settings.confidence
        level = alpha / max(1, len(adjusted), hypotheses)
        margin = None if settings.margin is None else as_limit(settings.margin)
        return cls(adjusted=adjusted, alpha=alpha, level=level, margin=margin)

    def conclusions(self, members: Sequence[_Member]) -> dict[int, Conclusion]:
        """What is concluded of some members, by the identity of their quantities."""
        conclusions = {}
        for key, item in members:
            p = _own_p(item)
            conclusions[id(item)] = concluded(
                item,
                None if p is None else max(self.adjusted[key], p),
                alpha=self.alpha,
                level=self.level,
                margin=self.margin,
            )
        return conclusions


def _own_p(item: Quantity) -> float | None:
    """The p-value of a quantity that counts; None of any other.

    1 where too few rows changed for a word, or the tasks of a mean have too few.
    """
    if not item.has_test:
        return None
    return item.difference.p if item.difference.may_have_word else 1.0


def _comparison(each: Quantities, conclusions: Mapping[int, Conclusion], **page: Any) -> Comparison:
    """Two runs with what is concluded of their quantities; pooled verdicts are described.

    Args:
        each: The two runs.
        conclusions: By the identity of the quantities.
        page: The fields of a comparison that are about its page.
    """
    parts: dict[str, Any] = {
        name: [conclusions[id(item)] for item in getattr(each, name)]
        for name in ("tasks", "metrics", "further", "stored", "suite")
    }
    parts["overall"] = None if each.overall is None else conclusions[id(each.overall)]
    pooled = each.pooled
    parts["pooled"] = None if pooled is None else described(pooled, 1 - each.confidence)
    return Comparison(**{**vars(each), **parts}, **page)
