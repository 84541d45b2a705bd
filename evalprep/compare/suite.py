"""Suite scores of two runs.

They have a paired interval wherever it is known what each row adds to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from custom_metrics import statistics
from evalprep.compare.difference import (
    ALPHA,
    POINTS,
    Difference,
    difference,
    differing_value,
    from_evidence,
    with_missing,
)
from evalprep.compare.documents import Codes
from evalprep.compare.limit import Limit
from evalprep.compare.pairing import Floats
from evalprep.compare.quantities import Measured, Quantities, Quantity, missing_rows
from evalprep.compare.reasons import BASELINE, CANDIDATE, Kind, Reason
from evalprep.compare.settings import Settings
from evalprep.compare.shared_scores import SharedScores
from evalprep.compare.task import PairedTask
from evalprep.numbers import number, percent
from evalprep.packs import P_VALUE, Pack
from evalprep.results import Run
from evalprep.samples import UNKNOWN, Flags, Rows
from evalprep.score import Scores, SuiteScore, score_run

_DIRECTIONS = {"up": True, "down": False}
HELPER = "helper"  # of a score that is a part of others and no conclusion by itself


def suite_quantities(
    measured: Quantities,
    run: Run,
    other: Run,
    packs: Mapping[str, Pack],
    settings: Settings,
    scores: tuple[Scores, Scores] | None,
) -> list[Quantity]:
    """The suite scores of two runs: see `add_suite`."""
    now, before = scores or (score_run(run, packs), score_run(other, packs))
    pairs = _pairs(now, before)
    if not pairs:
        return []
    tasks = dict.fromkeys(chain.from_iterable((*score.tasks, *base.tasks) for score, base in pairs))
    shared = SharedScores.of((run, other), (now, before), packs, settings, measured, list(tasks))
    return [
        _score_quantity(
            score,
            base,
            settings.confidence,
            shared,
            decides=_is_headline(score, packs.get(score.pack)),
        )
        for score, base in pairs
    ]


def measure_scores(
    now: Scores,
    before: Scores,
    *,
    confidence: float = 1 - ALPHA,
    margin: Limit | float | None = None,
) -> Quantities:
    """Measures scores of which at least one side has no samples.

    Values beside each other, and nothing is tested.
    """
    pairs = _pairs(now, before)
    paired = {score.id for score, _ in pairs}
    lone = [score.id for score in now.suite if score.id not in paired and score.value is not None]
    return Quantities(
        run=now.run,
        other=before.run,
        confidence=confidence,
        suite=[_score_quantity(score, base, confidence) for score, base in pairs],
        margin=margin,
        notes=[
            *dict.fromkeys([*now.notes, *before.notes]),
            *(f"{name}: only one side has it" for name in lone),
        ],
    )


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


def _other_parts(score: SuiteScore, base: SuiteScore) -> list[Reason]:
    """The reason where two scores that are made of the scores at hand are made of other ones."""
    own, other = score.over, base.over
    lone = [name for name in own if name not in other]
    lone += [name for name in other if name not in own]
    if score.value is None or base.value is None or not lone:
        return []
    known = {CANDIDATE: len(own), BASELINE: len(other), "lone": lone}
    return [Reason(Kind.PARTS, values=known)]


def _score_quantity(
    own: SuiteScore,
    own_base: SuiteScore,
    confidence: float,
    shared: SharedScores | None = None,
    *,
    decides: bool = True,
) -> Quantity:
    """One score of both sides, over the rows that both have where these are known."""
    score, base = own, own_base
    is_stated = True
    rows: list[PairedTask] = []
    reasons: list[Reason] = []
    if shared is not None:
        is_stated = shared.is_stated(own.id)
        score, base = shared.side(own, 0), shared.side(own_base, 1)
        rows = [shared.rows[name] for name in score.tasks if name in shared.rows]
        reasons = [*_reasons_of_tasks(score, shared.measured), *shared.shortfalls(own.id)]
    few_read = dict.fromkeys(filter(None, (score.few_read, base.few_read)))
    measured = _measured(score, base, rows, confidence, stated=is_stated)
    item = measured.difference
    reasons = [
        *reasons,
        *_other_question(score, base),
        *(Reason(Kind.FEW_READ, said=said) for said in few_read),
        *(_rows_of_one_log(score, base) if is_stated else ()),
        *measured.reasons,
    ]
    bounds = _bounds(score)
    if shared is not None and bounds is not None and not (is_stated or measured.reasons):
        missing = shared.missing(score.id, bounds, by_row=item.made_of == "rows")
        if missing is not None:
            item = with_missing(item, missing, confidence)
            if shared.tolerates(score.id, missing):
                by_weight = {Kind.MISSING_ROWS, Kind.NO_SCORED_PAIR}
                reasons = [reason for reason in reasons if reason.kind not in by_weight]
    item = replace(
        item,
        own_now=differing_value(own.value, item.now),
        own_previous=differing_value(own_base.value, item.previous),
    )
    return Quantity(
        name=own.id,
        kind="suite",
        difference=item,
        reasons=reasons,
        notes=_note_on_own_values(item, own.value, own_base.value),
        rule=score.rule,
        decides=decides,
    )


def _measured(
    score: SuiteScore,
    base: SuiteScore,
    rows: Sequence[PairedTask],
    confidence: float,
    *,
    stated: bool,
) -> Measured:
    """The difference of a score with its interval; without one, both values and the reason."""
    item = _values_of(score, base)
    if score.value is None or base.value is None:
        side = score if score.value is None else base
        why = f"no value on one of the sides: {side.reason or 'no reason is given'}"
        return Measured(item, [Reason(Kind.NO_VALUE, said=why)])
    item = replace(item, delta=score.value - base.value)
    if score.made_of == P_VALUE:
        why = "a p-value itself: no interval, and two of them are not tested"
        return Measured(item, [Reason(Kind.NO_TEST, said=why)])
    tested = _tested_rows(score, base, rows, confidence, stated=stated)
    tested = tested or _tested(score, base, item, rows, confidence)
    if tested is None:
        why = "no test for this score: what each row adds to it is not known"
        return Measured(item, [Reason(Kind.NO_TEST, said=why)])
    if tested.low is not None and tested.low == tested.high:
        # Rows that are all alike on both sides show no chance, and rule nothing out.
        why = "no test for this score: every row has the same value, and it has no known bounds"
        return Measured(item, [Reason(Kind.NO_TEST, said=why)])
    return Measured(tested)


def _rows_of_one_log(score: SuiteScore, base: SuiteScore) -> Iterator[Reason]:
    """Yields the reason where stated scores are means over rows of which many are not shared."""
    candidate, baseline = _row_values(score), _row_values(base)
    most = max(len(candidate), len(baseline))
    shared = len(candidate.keys() & baseline.keys())
    if shared:
        yield from missing_rows(shared, most)


def _note_on_own_values(item: Difference, now: float | None, before: float | None) -> list[str]:
    """The value of each run over all of its own rows, where one is not that over shared rows."""
    if item.own_now is None and item.own_previous is None:
        return []
    shown = percent if item.in_points else number
    values = f"candidate {shown(now)}, baseline {shown(before)}"
    rows = "computed over the rows that both runs scored; over all of its own rows"
    return [f"{rows}: {values}"]


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


def _reasons_of_tasks(score: SuiteScore, tasks: Mapping[str, Quantity]) -> Iterator[Reason]:
    """Yields the reasons that exclude a task behind a score, which exclude the score, too."""
    for name in score.tasks:
        task = tasks.get(name)
        if task is None:
            continue
        for reason in task.reasons:
            # What has no score by row can still be part of a score with code of its own.
            if reason.kind.refuses or reason.kind.takes_rows:
                yield reason.of(name)


def _other_question(score: SuiteScore, base: SuiteScore) -> list[Reason]:
    """Returns why two values of a score do not answer the same question."""
    reasons = []
    if score.rule != base.rule:
        rules = [side.rule or "the usual rule" for side in (score, base)]
        reasons.append(Reason(Kind.RULE, values={"rules": rules}))
    reasons += _other_parts(score, base)
    both_have_values = score.value is not None and base.value is not None
    reference = score.result.reference_sha256
    if both_have_values and reference != base.result.reference_sha256:
        reasons.append(Reason(Kind.REFERENCE))
    return reasons


def _tested_rows(
    score: SuiteScore,
    base: SuiteScore,
    rows: Sequence[PairedTask],
    confidence: float,
    *,
    stated: bool,
) -> Difference | None:
    """The difference of a score that is a plain mean over rows, by the test of a task.

    None for other scores, and where the rows of the two sides are not the same; of stated scores
    the rows that both logs name are compared.
    """
    candidate = _row_values(score)
    baseline = _row_values(base)
    keys = sorted(candidate.keys() & baseline.keys())
    is_same = candidate.keys() == baseline.keys()
    if not keys or not (is_same or stated):
        return None
    places, units, equal = _places(keys, rows), _units(rows), _equal(rows)
    codes = None if units is None else units[places]
    if codes is not None and np.any(codes == UNKNOWN):
        return None
    tested = difference(
        _values_at(keys, candidate),
        _values_at(keys, baseline),
        codes,
        confidence=confidence,
        higher_is_better=_DIRECTIONS.get(score.better),
        bounds=_bounds(score),
        equal=None if equal is None else equal[places],
    )
    # The values as `score` shows them, to the last digit.
    return replace(tested, now=score.value, previous=base.value) if is_same else tested


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


def _places(keys: Iterable[str], tasks: Sequence[PairedTask]) -> Rows:
    """The pair of each row of a score, counted over the pairs of all tasks; -1 of any other row."""
    places: dict[str, int] = {}
    first = 0
    for task in tasks:
        places |= {key: first + pair for key, pair in task.pair_of_key.items()}
        first += task.pairs.rows.size
    return np.array([places.get(key, UNKNOWN) for key in keys], dtype=np.int64)


def _units(tasks: Sequence[PairedTask]) -> Codes | None:
    """The document of each pair of some tasks, a number of its own for a row without one.

    -1 in a task whose rows are independent, and at the end, for a row that is not paired. None
    where the rows of all tasks are independent.
    """
    if all(task.units is None for task in tasks):
        return None
    columns = []
    first = 0
    for task in tasks:
        codes = np.full(task.pairs.rows.size, UNKNOWN, dtype=np.int64)
        if task.units is not None:
            alone = task.units == UNKNOWN
            others = task.units.max(initial=UNKNOWN) + 1
            codes = first + np.where(alone, others + np.cumsum(alone) - 1, task.units)
            first = int(codes.max(initial=first - 1)) + 1
        columns.append(codes)
    return np.append(np.concatenate(columns), UNKNOWN)


def _equal(tasks: Sequence[PairedTask]) -> Flags | None:
    """For each pair of some tasks, whether its replies are equal; None where that is not known.

    False at the end, for a row that is not paired.
    """
    if all(task.equal is None for task in tasks):
        return None
    columns = [
        np.zeros(task.pairs.rows.size, dtype=np.bool_) if task.equal is None else task.equal
        for task in tasks
    ]
    return np.append(np.concatenate(columns), False)


def _tested(
    score: SuiteScore,
    base: SuiteScore,
    item: Difference,
    rows: Sequence[PairedTask],
    confidence: float,
) -> Difference | None:
    """The difference with its interval; None where it is not known what each row adds."""
    candidate = score.result.influence()
    baseline = base.result.influence()
    if candidate is None or baseline is None or item.delta is None:
        return None
    keys = list(dict.fromkeys([*candidate.units, *baseline.units]))
    units = _units(rows)
    documents: dict[str, int] = {}
    if units is not None:
        codes = units[_places(keys, rows)].tolist()
        documents = {key: code for key, code in zip(keys, codes, strict=True) if code != UNKNOWN}
    evidence = statistics.paired_influence(item.delta, candidate, baseline, documents)
    evidence = replace(evidence, widest=item.range)
    if evidence.range is None:  # rows without any spread; the score's own bounds are known
        evidence = replace(evidence, range=item.range)
    count = len({documents.get(key, key) for key in keys})
    most = max(candidate.rows, baseline.rows)
    return from_evidence(
        evidence.turned() if item.higher_is_better is False else evidence,
        confidence=confidence,
        higher_is_better=item.higher_is_better,
        n=item.n or most,
        clusters=count if most > count else None,
        test="paired interval with pseudo-rows, linearised score",
        range=item.range or evidence.range,
        previous=item.previous,
        now=item.now,
        binary=False,
        unit=item.unit,
        made_of=item.made_of,
    )
