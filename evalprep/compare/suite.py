"""Suite scores of two runs, with a paired interval wherever it is known what each row adds to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custom_metrics import statistics
from evalprep.compare.comparison import Comparison, compare_runs
from evalprep.compare.conclusion import TOLERATED_MISSING, Conclusion, conclude
from evalprep.compare.difference import ALPHA, Difference, from_evidence
from evalprep.packs.pack import Pack
from evalprep.packs.plan import P_VALUE
from evalprep.results import Run
from evalprep.score import Scores, SuiteScore, score_run
from evalprep.terminal import shortlist

_NAMED = 4  # scores that a sentence names
_DIRECTIONS = {"up": True, "down": False}


def compare_suite(
    run: Run,
    other: Run,
    packs: Mapping[str, Pack],
    *,
    confidence: float = 1 - ALPHA,
    margin: float | None = None,
    allow: Sequence[str] = (),
    tolerated_missing: float = TOLERATED_MISSING,
    scores: tuple[Scores, Scores] | None = None,
    tasks: Comparison | None = None,
) -> list[Conclusion]:
    """Compare every suite score that both runs have a declaration of.

    Args:
        run: The candidate.
        other: The baseline.
        packs: All packs.
        confidence: As in `compare_runs`, like the next three.
        margin: Differences smaller than this do not matter.
        allow: Facts of the question that may differ.
        tolerated_missing: Share of the expected rows that may be missing.
        scores: Scores of both runs, where they are known already.
        tasks: The comparison of the tasks, where it is known already.
    """
    now, before = scores or (score_run(run, packs), score_run(other, packs))
    earlier = {(score.pack, score.name): score for score in before.suite}
    pairs = [(score, earlier[score.pack, score.name]) for score in now.suite if (score.pack, score.name) in earlier]
    if not pairs:
        return []
    shared = [name for name in run.tasks if name in other.tasks]
    whole = tasks or compare_runs(
        run, other, tasks=shared, confidence=confidence, allow=allow, tolerated_missing=tolerated_missing
    )
    of_task = {task.name: task for task in whole.tasks}
    found = [_one(score, base, of_task, confidence) for score, base in pairs]
    _conclude(found, confidence, margin)
    return found


def compare_scores(
    now: Scores, before: Scores, *, confidence: float = 1 - ALPHA, margin: float | None = None
) -> Comparison:
    """Compare scores of which at least one side has no samples: values beside each other, and nothing is tested."""
    earlier = {score.id: score for score in before.suite}
    found = [_one(score, earlier[score.id], {}, confidence) for score in now.suite if score.id in earlier]
    _conclude(found, confidence, margin)
    comparison = Comparison(now.run, before.run, [], None, None, confidence, suite=found, margin=margin)
    comparison.notes += dict.fromkeys([*now.notes, *before.notes])
    comparison.notes += [
        f"{score.id}: one side alone has it"
        for score in now.suite
        if score.id not in earlier and score.value is not None
    ]
    return comparison


def _other_parts(score: SuiteScore, base: SuiteScore) -> str:
    """Why two scores that are made of the scores at hand are not made of the same ones; empty where they are."""
    own, other = ([str(name) for name in one.result.get("over") or []] for one in (score, base))
    lone = [*(name for name in own if name not in other), *(name for name in other if name not in own)]
    if score.value is None or base.value is None or not lone:
        return ""
    return (
        f"another question: over {len(own)} scores against {len(other)}, on one side alone: {shortlist(lone, _NAMED)}"
    )


def _conclude(found: Sequence[Conclusion], confidence: float, margin: float | None) -> None:
    """Adjust over the scores of one rule at a time: the same scores by another rule are no further chances."""
    for rule in dict.fromkeys(one.rule for one in found):
        conclude([one for one in found if one.rule == rule], confidence=confidence, margin=margin)


def _one(score: SuiteScore, base: SuiteScore, tasks: Mapping[str, Conclusion], confidence: float) -> Conclusion:
    better = _DIRECTIONS.get(score.better)
    width = None if None in score.range else float(score.range[1] or 0.0) - float(score.range[0] or 0.0)
    item = Difference(
        n=min(score.n or 0, base.n or 0),
        previous=base.value,
        now=score.value,
        binary=False,
        higher_is_better=better,
        range=width,
        unit="points" if score.range == (0.0, 1.0) else "",
        made_of=score.made_of or "function",
    )
    result = Conclusion(f"{score.pack}/{score.name}", "suite", item, rule=score.rule)
    behind = [tasks[name] for name in score.tasks if name in tasks]
    for one in behind:
        result.not_comparable += [f"{one.name}: {why}" for why in one.not_comparable]
        # What has no score by row can still be part of a score with code of its own.
        result.not_enough += [f"{one.name}: {why}" for why in one.not_enough if "expected rows" in why]
    if score.rule != base.rule:
        rules = " and ".join(one.rule or "the usual rule" for one in (score, base))
        result.not_comparable.append(f"scored by different rules: {rules}")
    if why := _other_parts(score, base):
        result.not_comparable.append(why)
    references = [one.result.get("reference_sha256") for one in (score, base)]
    if references[0] != references[1] and score.value is not None and base.value is not None:
        result.not_comparable.append("another question: the two are held against different references")
    result.not_enough += [why for why in (score.few_read, base.few_read) if why]
    if score.value is None or base.value is None:
        side = score if score.value is None else base
        result.not_enough.append(f"no value on one of the sides: {side.reason or 'no reason is given'}")
        return result
    item.delta = score.value - base.value
    if score.made_of == P_VALUE:
        result.not_enough.append("a p-value itself: no interval, and two of them are not tested")
        return result
    candidate, baseline = (statistics.influence_of({"influence": one.influence}) for one in (score, base))
    if candidate is None or baseline is None:
        result.not_enough.append("no test for this score: what each row adds to it is not known")
        return result
    sign = -1.0 if better is False else 1.0
    evidence = statistics.paired_influence(item.delta, candidate, baseline)
    if sign < 0:
        evidence = evidence.turned()
    known = {name: getattr(item, name) for name in ("previous", "now", "binary", "unit", "made_of")}
    rows = {*candidate.units, *baseline.units}
    documents = max(candidate.rows, baseline.rows) > len(rows)
    result.difference = from_evidence(
        evidence,
        confidence=confidence,
        higher_is_better=better,
        n=item.n or max(candidate.rows, baseline.rows),
        clusters=len(rows) if documents else None,
        test="rule G, linearised",
        range=evidence.range,
        **known,
    )
    return result
