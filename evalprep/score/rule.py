"""The suite scores of one rule, where a pack has several; which rule is asked for is `results.rule`'s to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalprep.packs.pack import Pack
from evalprep.results import Run, by_rule
from evalprep.results.rule import check_rule
from evalprep.score.suite import Scores


def of_rule(scores: Scores, rule: str, packs: Mapping[str, Pack]) -> Scores:
    """Scores without the suite scores that follow another rule; all of them without a rule."""
    kept = [one for one in scores.suite if one.pack not in packs or packs[one.pack].follows(rule, one.rule)]
    return replace(scores, suite=kept) if rule else scores


def sides_by_rule(sides: Sequence[Run | Scores], rule: str, packs: Mapping[str, Pack]) -> list[Run | Scores]:
    """Runs, and scores without samples, as they are read by a rule; without one, as they are.

    Raises:
        BadInput: no pack of these sides has the rule.
    """
    if not rule:
        return list(sides)
    names = [{*one.tasks} if isinstance(one, Run) else {score.pack for score in one.suite} for one in sides]
    own = [pack for pack in packs.values() if any({pack.name, *pack.tasks} & found for found in names)]
    check_rule(rule, own, "--rule")
    return [by_rule([one], rule, packs)[0] if isinstance(one, Run) else of_rule(one, rule, packs) for one in sides]
