"""The suite scores of one rule, where a pack has several.

Which rule is asked for is `results.scoring_rule`'s to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalprep.packs import Pack
from evalprep.results import Run, by_rule, check_rule
from evalprep.score.suite import Scores


def of_rule(scores: Scores, rule: str, packs: Mapping[str, Pack]) -> Scores:
    """Scores without the suite scores that follow another rule; all of them without a rule."""
    kept = [
        score
        for score in scores.suite
        if score.pack not in packs or packs[score.pack].follows(rule, score.rule)
    ]
    return replace(scores, suite=kept) if rule else scores


def sides_by_rule(
    sides: Sequence[Run | Scores], rule: str, packs: Mapping[str, Pack]
) -> list[Run | Scores]:
    """Runs, and scores without samples, as they are read by a rule; without one, as they are.

    Raises:
        BadInput: no pack of these sides has the rule.
    """
    if not rule:
        return list(sides)
    names = [
        {*side.tasks} if isinstance(side, Run) else {score.pack for score in side.suite}
        for side in sides
    ]
    own = [
        pack for pack in packs.values() if any({pack.name, *pack.tasks} & name for name in names)
    ]
    check_rule(rule, own, "--rule")
    return [
        by_rule([side], rule, packs)[0] if isinstance(side, Run) else of_rule(side, rule, packs)
        for side in sides
    ]
