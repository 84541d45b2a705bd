"""Suite scores of two runs.

They have a paired interval wherever it is known what each row adds to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from custom_metrics import statistics
from evalprep.compare.comparison import Comparison, compare_runs
from evalprep.compare.conclusion import TOLERATED_MISSING, Conclusion, conclude
from evalprep.compare.difference import ALPHA, POINTS, Difference, difference, from_evidence
from evalprep.compare.pairing import Floats
from evalprep.compare.same_outputs import SAME_FILE
from evalprep.compare.task import TaskComparison
from evalprep.packs import P_VALUE, Pack
from evalprep.results import UNKNOWN, Run
from evalprep.score import Scores, SuiteScore, packs_of, score_run
from evalprep.terminal import counted, shortlist

_NAMED = 4  # scores that a sentence names
_DIRECTIONS = {"up": True, "down": False}
HELPER = "helper"  # of a score that is a part of others and no conclusion by itself


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
    """Compares every suite score that both runs have a declaration of.

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
    pairs = _pairs(now, before)
    if not pairs:
        return []
    shared = [name for name in run.tasks if name in other.tasks]
    compared = tasks or compare_runs(
        run,
        other,
        tasks=shared,
        confidence=confidence,
        allow=tuple(allow),
        tolerated_missing=tolerated_missing,
    )
    task_conclusions = {task.name: task for task in compared.tasks}
    conclusions = []
    for score, base in pairs:
        conclusion = _compare_score(score, base, task_conclusions, confidence)
        conclusion.decides = _is_headline(score, packs.get(score.pack))
        conclusions.append(conclusion)
    _conclude(conclusions, confidence, margin)
    return conclusions


def compare_scores(
    now: Scores, before: Scores, *, confidence: float = 1 - ALPHA, margin: float | None = None
) -> Comparison:
    """Compares scores of which at least one side has no samples.

    Values beside each other, and nothing is tested.
    """
    pairs = _pairs(now, before)
    conclusions = [_compare_score(score, base, {}, confidence) for score, base in pairs]
    _conclude(conclusions, confidence, margin)
    comparison = Comparison(
        now.run, before.run, [], None, None, confidence, suite=conclusions, margin=margin
    )
    comparison.notes += dict.fromkeys([*now.notes, *before.notes])
    paired = {score.id for score, _ in pairs}
    for score in now.suite:
        if score.id not in paired and score.value is not None:
            comparison.notes.append(f"{score.id}: only one side has it")
    return comparison


def tasks_without_mean(runs: Sequence[Run], packs: Mapping[str, Pack]) -> set[str]:
    """The tasks of packs that name what a comparison concludes, in place of a mean over tasks."""
    names: set[str] = set()
    for run in runs:
        for pack in packs_of(run, packs):
            if pack.conclusion is not None:
                names |= _tasks_of_pack(run, pack)
                names |= _tasks_of_scores(pack)
    return names


def _tasks_of_pack(run: Run, pack: Pack) -> set[str]:
    """The tasks of a run that belong to a pack."""
    names: set[str] = set()
    for name, task in run.known_tasks.items():
        if name in pack.tasks or task.metadata.get("pack") == pack.name:
            names.add(name)
    return names


def _tasks_of_scores(pack: Pack) -> set[str]:
    """The tasks that the suite scores of a pack are made of."""
    names: set[str] = set()
    for spec in pack.suite_scores.values():
        names |= {*spec.task, *spec.tasks}
    return names


def _is_headline(score: SuiteScore, pack: Pack | None) -> bool:
    """True for a score that is concluded on: those that its pack names, else all but helpers."""
    if pack is not None and pack.conclusion is not None:
        return score.name in pack.conclusion
    return score.better != HELPER


def _pairs(now: Scores, before: Scores) -> list[tuple[SuiteScore, SuiteScore]]:
    """The scores that both sides have."""
    baseline = {score.id: score for score in before.suite}
    shared = [score for score in now.suite if score.id in baseline]
    return [(score, baseline[score.id]) for score in shared]


def _other_parts(score: SuiteScore, base: SuiteScore) -> str:
    """Returns why two scores that are made of the scores at hand are not made of the same ones.

    Empty where they are.
    """
    own, other = score.over, base.over
    lone = [name for name in own if name not in other]
    lone += [name for name in other if name not in own]
    if score.value is None or base.value is None or not lone:
        return ""
    scores = counted(len(own), "score")
    means = f"the mean is over {scores}, the baseline's over {len(other)}"
    return f"{means}; one side alone has {shortlist(lone, _NAMED)}"


def _conclude(conclusions: Sequence[Conclusion], confidence: float, margin: float | None) -> None:
    """Adjusts over the headline scores of one rule at a time, and apart from them over the others.

    The same scores by another rule are no further chances.
    """
    families: dict[tuple[str, bool], list[Conclusion]] = {}
    for item in conclusions:
        key = item.rule, item.decides
        families.setdefault(key, []).append(item)
    for family in families.values():
        conclude(family, confidence=confidence, margin=margin)


def _compare_score(
    score: SuiteScore, base: SuiteScore, tasks: Mapping[str, Conclusion], confidence: float
) -> Conclusion:
    """One score of both sides."""
    name = f"{score.pack}/{score.name}"
    result = Conclusion(name, "suite", _values_of(score, base), rule=score.rule)
    _check_tasks(result, score, tasks)
    result.not_comparable += _other_question(score, base)
    result.not_enough += [reason for reason in (score.few_read, base.few_read) if reason]
    item = result.difference
    if score.value is None or base.value is None:
        side = score if score.value is None else base
        reason = side.reason or "no reason is given"
        result.not_enough.append(f"no value on one of the sides: {reason}")
        return result
    item.delta = score.value - base.value
    if score.made_of == P_VALUE:
        result.not_enough.append("a p-value itself: no interval, and two of them are not tested")
        return result
    tested = _tested_rows(score, base, tasks, confidence)
    documents = _documents_of(_known_tasks(score, tasks))
    tested = tested or _tested(score, base, item, documents, confidence)
    if tested is None:
        result.not_enough.append("no test for this score: what each row adds to it is not known")
        return result
    result.difference = tested
    return result


def _values_of(score: SuiteScore, base: SuiteScore) -> Difference:
    """Both values, without a test."""
    bounds = _bounds(score)
    width = None
    if bounds is not None:
        low, high = bounds
        width = high - low
    return Difference(
        n=min(score.n or 0, base.n or 0),
        previous=base.value,
        now=score.value,
        binary=False,
        higher_is_better=_DIRECTIONS.get(score.better),
        range=width,
        unit=POINTS if score.range == (0.0, 1.0) else "",
        made_of=score.made_of or "function",
    )


def _check_tasks(result: Conclusion, score: SuiteScore, tasks: Mapping[str, Conclusion]) -> None:
    """Excludes a score for the reason that excludes a task behind it."""
    for name in score.tasks:
        task = tasks.get(name)
        if task is None:
            continue
        result.not_comparable += [f"{name}: {reason}" for reason in task.not_comparable]
        for reason in task.not_enough:
            # What has no score by row can still be part of a score with code of its own.
            if "expected rows" in reason or reason == SAME_FILE:
                result.not_enough.append(f"{name}: {reason}")


def _other_question(score: SuiteScore, base: SuiteScore) -> list[str]:
    """Returns why two values of a score do not answer the same question."""
    reasons = []
    if score.rule != base.rule:
        rules = [side.rule or "the usual rule" for side in (score, base)]
        reasons.append(f"scored by different rules: {' and '.join(rules)}")
    other_parts = _other_parts(score, base)
    if other_parts:
        reasons.append(other_parts)
    both_have_values = score.value is not None and base.value is not None
    reference = score.result.reference_sha256
    if both_have_values and reference != base.result.reference_sha256:
        reasons.append("the two runs were scored against different references")
    return reasons


def _tested_rows(
    score: SuiteScore, base: SuiteScore, tasks: Mapping[str, Conclusion], confidence: float
) -> Difference | None:
    """The difference of a score that is a plain mean over rows, by the test of a task.

    None for other scores, and where the rows of the two sides are not the same.
    """
    candidate = _row_values(score)
    baseline = _row_values(base)
    if not candidate or candidate.keys() != baseline.keys():
        return None
    keys = sorted(candidate)
    units = _row_units(keys, _known_tasks(score, tasks))
    if units is not None and len(units) < len(keys):
        return None
    tested = difference(
        _values_at(keys, candidate),
        _values_at(keys, baseline),
        None if units is None else np.array(units, dtype=np.int64),
        confidence=confidence,
        higher_is_better=_DIRECTIONS.get(score.better),
        bounds=_bounds(score),
    )
    # The values as `score` shows them, to the last digit.
    return replace(tested, now=score.value, previous=base.value)


def _values_at(keys: Sequence[str], values: Mapping[str, float]) -> Floats:
    return np.array([values[key] for key in keys], dtype=np.float64)


def _bounds(score: SuiteScore) -> tuple[float, float] | None:
    """The range of a score; None where an end of it is open."""
    least, most = score.range
    if least is None or most is None:
        return None
    return float(least), float(most)


def _row_values(score: SuiteScore) -> Mapping[str, float]:
    """The value of each row of a score that is their plain mean; empty for other scores."""
    influence = score.result.influence()
    if influence is None:
        return {}
    return influence.values or {}


def _known_tasks(score: SuiteScore, tasks: Mapping[str, Conclusion]) -> list[Conclusion]:
    return [tasks[name] for name in score.tasks if name in tasks]


def _row_units(keys: Sequence[str], tasks: Sequence[Conclusion]) -> list[int] | None:
    """The document of each row as its task has it, of the rows that the task knows.

    None where all rows are independent.
    """
    documents = _documents_of(tasks)
    if not documents:
        return None
    codes: dict[str, int] = {}
    known = [documents[key] for key in keys if key in documents]
    return [codes.setdefault(name, len(codes)) for name in known]


def _documents_of(tasks: Sequence[Conclusion]) -> dict[str, str]:
    """Key of a row as scores name it -> its document as the task's comparison has it."""
    documents: dict[str, str] = {}
    for task in tasks:
        if isinstance(task, TaskComparison):
            documents |= _documents_of_task(task)
    return documents


def _documents_of_task(task: TaskComparison) -> dict[str, str]:
    """The documents of the pairs of one task; empty where all rows are independent.

    A score names a row by its id, or by its place in the split.
    """
    table, pairs, units = task.table, task.pairs, task.units
    if table is None or pairs is None or units is None:
        return {}
    documents: dict[str, str] = {}
    ids = set(table.ids)
    for row, unit in zip(pairs.rows.tolist(), units.tolist(), strict=True):
        row_id = table.ids[row]
        document = row_id if unit == UNKNOWN else f"#{unit}"
        key_of_document = f"{task.name}#{document}"
        documents[f"{task.name}#{row_id}"] = key_of_document
        place = str(table.doc_id[row])
        if place not in ids:
            documents[f"{task.name}#{place}"] = key_of_document
    return documents


def _tested(
    score: SuiteScore,
    base: SuiteScore,
    item: Difference,
    documents: Mapping[str, str],
    confidence: float,
) -> Difference | None:
    """The difference with its interval; None where it is not known what each row adds."""
    candidate = score.result.influence()
    baseline = base.result.influence()
    if candidate is None or baseline is None or item.delta is None:
        return None
    candidate = statistics.merged_influence(candidate, documents)
    baseline = statistics.merged_influence(baseline, documents)
    evidence = statistics.paired_influence(item.delta, candidate, baseline)
    evidence = replace(evidence, widest=item.range)
    if evidence.range is None:  # rows without any spread; the score's own bounds are known
        evidence = replace(evidence, range=item.range)
    units = {*candidate.units, *baseline.units}
    rows = max(candidate.rows, baseline.rows)
    return from_evidence(
        evidence.turned() if item.higher_is_better is False else evidence,
        confidence=confidence,
        higher_is_better=item.higher_is_better,
        n=item.n or rows,
        clusters=len(units) if rows > len(units) else None,
        test="paired interval with pseudo-rows, linearised score",
        range=item.range or evidence.range,
        previous=item.previous,
        now=item.now,
        binary=False,
        unit=item.unit,
        made_of=item.made_of,
    )
