"""One task compared: counts, difference, tests, subtasks, flips."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from evalprep.compare.flips import Flip, Models, make_flip
from evalprep.compare.pairing import Floats, Pairs
from evalprep.results import UNKNOWN, Sample, Table

ALPHA = 0.05
POWER = 0.8
# The random sign-flip test holds (block x n) numbers; beyond this many pairs the normal test is as good.
_RESAMPLING_LIMIT = 20_000
_FEW_CLUSTERS = 10  # even with the small-sample form, errors of fewer clusters are unreliable (Cameron and Miller 2015)
_NAMED = 20  # ids that a list of problems names


@dataclass
class Difference:
    """What a set of pairs says about run minus other side.

    Args:
        n: Pairs.
        previous, now: Mean scores.
        delta: now - previous; positive is better when higher is better.
        low, high: Confidence interval of delta; of clustered errors where rows share documents.
        stderr: Standard error behind the interval.
        paired_stderr: Standard error that takes rows as independent.
        clusters: Number of clusters; None where rows are independent.
        both, gained, lost, neither: Right on both sides, on the run's only, on the other's only, on none. For graded
            metrics `gained` and `lost` count scores that moved for the better and the worse, `both` those that stayed.
        agreement: Share of pairs with the same verdict.
        binary: Whether every score is 0 or 1.
        mcnemar_p: Exact McNemar test (for graded metrics: sign test).
        p: The test that the verdict uses, named by `test`.
        mde: Smallest true difference that would be found with 80 % probability.
    """

    n: int = 0
    previous: float | None = None
    now: float | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    paired_stderr: float | None = None
    clusters: int | None = None
    both: int = 0
    gained: int = 0
    lost: int = 0
    neither: int = 0
    agreement: float | None = None
    binary: bool = True
    mcnemar_p: float | None = None
    mcnemar_mid_p: float | None = None
    p: float | None = None
    test: str = "none"
    mde: float | None = None
    higher_is_better: bool = True


def difference(
    now: Floats,
    before: Floats,
    cluster: NDArray[np.int64] | None,
    *,
    confidence: float = 1 - ALPHA,
    higher_is_better: bool = True,
) -> Difference:
    """Compare paired scores; `cluster` holds a code per pair, -1 for a row of its own, or is None."""
    n = int(now.size)
    if n == 0:
        return Difference(higher_is_better=higher_is_better)
    binary = bool(np.all((now == 0) | (now == 1)) and np.all((before == 0) | (before == 1)))
    up, down = int(np.sum(now > before)), int(np.sum(now < before))
    gained, lost = (up, down) if higher_is_better else (down, up)
    same = n - up - down
    good = 1.0 if higher_is_better else 0.0
    both = int(np.sum((now == good) & (before == good))) if binary else same
    plain = statistics.paired_difference(now, before, confidence=confidence)
    estimate, clusters, test = plain, None, "exact McNemar" if binary else "paired sign-flip permutation"
    if cluster is not None and (codes := _clusters(cluster)) is not None:
        clusters = int(codes.max()) + 1
        estimate = statistics.clustered_difference(now, before, codes, confidence=confidence, small_sample=True)
        test = "t with clustered errors"
    mcnemar = statistics.mcnemar_p(gained, lost)
    p: float | None
    if clusters is not None:
        p = _ratio_test(estimate.value, estimate.stderr, clusters - 1)
    elif binary:
        p = mcnemar
    elif n > _RESAMPLING_LIMIT:
        test, p = "paired t", _ratio_test(estimate.value, estimate.stderr, n - 1)
    else:
        p = statistics.sign_flip_p(now, before)
    return Difference(
        n=n,
        previous=float(np.mean(before)),
        now=float(np.mean(now)),
        delta=estimate.value,
        low=estimate.low,
        high=estimate.high,
        stderr=estimate.stderr,
        paired_stderr=plain.stderr,
        clusters=clusters,
        both=both,
        gained=gained,
        lost=lost,
        neither=same - both,
        agreement=same / n,
        binary=binary,
        mcnemar_p=mcnemar,
        mcnemar_mid_p=statistics.mcnemar_p(gained, lost, mid_p=True),
        p=p,
        test=test,
        mde=_mde(estimate.stderr, confidence),
        higher_is_better=higher_is_better,
    )


def _clusters(cluster: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Codes from 0 with each -1 alone; None when no cluster holds two rows."""
    codes = cluster.copy()
    alone = codes == UNKNOWN
    codes[alone] = (codes.max(initial=0) + 1) + np.arange(int(alone.sum()))
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes if int(codes.max()) + 1 < codes.size else None


def _ratio_test(value: float, stderr: float | None, degrees: int) -> float | None:
    if value == 0.0:
        return 1.0
    return statistics.student_p(value / stderr, degrees) if stderr else None


def _mde(stderr: float | None, confidence: float) -> float | None:
    return statistics.minimum_detectable_effect(stderr, alpha=1 - confidence, power=POWER) if stderr else None


@dataclass
class SubtaskRow:
    """One subtask of a task: name, pairs, means on both sides, verdicts gained and lost."""

    subtask: str
    n: int
    previous: float
    now: float
    gained: int
    lost: int


@dataclass
class TaskComparison:
    """One task compared; `to_dict` gives it as plain data.

    Args:
        task: Name.
        metric, filter: What was compared.
        declared: Whether the task names that metric itself.
        difference: The numbers.
        p_holm: `difference.p` adjusted for the number of tasks.
        verdict: `better`, `worse`, `same`, `unclear` or `nothing to compare`.
        words: The verdict as a sentence.
        unparsed: Replies of the run from which nothing could be extracted, among the pairs.
        identical_outputs: Pairs with byte-identical replies; None against published verdicts.
        macro_previous, macro_now: Means of subtask means; None without subtasks.
        subtasks: One row per subtask.
        causes: Cause -> number of flips.
        counts: How many rows are missing, extra, duplicated, with another prompt, without a score, damaged.
        missing, extra, changed_prompt, duplicates: The first ids of each.
        damage: The first damaged lines.
        notes: What the reader should know.
    """

    task: str
    metric: str
    filter: str
    declared: bool
    difference: Difference
    p_holm: float | None = None
    verdict: str = ""
    words: str = ""
    unparsed: int = 0
    identical_outputs: int | None = None
    macro_previous: float | None = None
    macro_now: float | None = None
    subtasks: list[SubtaskRow] = field(default_factory=list)
    causes: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    changed_prompt: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pairs: Pairs | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)
    other: Table | None = field(default=None, repr=False)
    models: Models = ("", "")

    def flips(self) -> Iterator[Flip]:
        """Every flip with its texts, read from the samples files one by one."""
        if self.pairs is None or self.table is None:
            return
        pairs, higher = self.pairs, self.difference.higher_is_better
        places = np.flatnonzero(pairs.now != pairs.before)
        samples = self.table.read(pairs.rows[places])
        others: Iterator[Sample | None] = (
            self.other.read(pairs.other_rows[places]) if self.other is not None else iter([None] * places.size)
        )
        for place, sample, other in zip(places, samples, others, strict=True):
            now, before = float(pairs.now[place]), float(pairs.before[place])
            yield make_flip(
                self.task,
                sample,
                other,
                now=now,
                before=before,
                gained=(now > before) == higher,
                prompt_differs=bool(pairs.prompt_differs[place]),
                models=self.models,
            )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts, ready for JSON."""
        hidden = {"pairs", "table", "other", "models", "difference", "subtasks"}
        plain = {name: value for name, value in vars(self).items() if name not in hidden}
        return plain | asdict(self.difference) | {"subtasks": [asdict(row) for row in self.subtasks]}


def compare_task(
    task: str,
    metric: str,
    table: Table,
    other: Table | None,
    pairs: Pairs,
    *,
    declared: bool = True,
    higher_is_better: bool = True,
    confidence: float = 1 - ALPHA,
    models: Models = ("", ""),
) -> TaskComparison:
    """Compare one task's pairs; `other` is None against published verdicts."""
    cluster = table.cluster[pairs.rows] if table.clusters else None
    result = TaskComparison(
        task=task,
        metric=metric,
        filter=table.filter,
        declared=declared,
        difference=difference(
            pairs.now, pairs.before, cluster, confidence=confidence, higher_is_better=higher_is_better
        ),
        unparsed=int(np.sum(table.unparsed[pairs.rows] == 1)),
        subtasks=_subtasks(table, pairs, higher_is_better=higher_is_better),
        pairs=pairs,
        table=table,
        other=other,
        models=models,
    )
    if other is not None:
        same = table.response_hash[pairs.rows] == other.response_hash[pairs.other_rows]
        result.identical_outputs = int(np.sum(same))
    if result.subtasks:
        result.macro_previous = float(np.mean([row.previous for row in result.subtasks]))
        result.macro_now = float(np.mean([row.now for row in result.subtasks]))
    changed = [table.ids[row] for row in pairs.rows[pairs.prompt_differs]]
    damage = [(table, "")] + ([(other, "other run: ")] if other is not None else [])
    broken = [f"{side}line {item.line}: {item.why}" for one, side in damage for item in one.damage]
    result.counts = {
        "missing": len(pairs.missing),
        "extra": len(pairs.extra),
        "changed_prompt": len(changed),
        "duplicates": len(pairs.duplicates),
        "unscored": pairs.unscored,
        "damaged": len(broken),
    }
    result.missing, result.extra = pairs.missing[:_NAMED], pairs.extra[:_NAMED]
    result.changed_prompt, result.duplicates = changed[:_NAMED], pairs.duplicates[:_NAMED]
    result.damage = broken[:_NAMED]
    result.causes = dict(Counter(flip.cause for flip in result.flips()).most_common())
    clusters = result.difference.clusters
    if clusters is not None and clusters < _FEW_CLUSTERS:
        result.notes.append(f"only {clusters} clusters: the clustered error is unreliable")
    return result


def _subtasks(table: Table, pairs: Pairs, *, higher_is_better: bool) -> list[SubtaskRow]:
    if not table.subtasks:
        return []
    codes = table.subtask[pairs.rows]
    known = codes != UNKNOWN
    codes, now, before = codes[known], pairs.now[known], pairs.before[known]
    size = len(table.subtasks)
    counts = np.bincount(codes, minlength=size)
    sums = [np.bincount(codes, weights=values, minlength=size) for values in (now, before)]
    moves = [np.bincount(codes[mask], minlength=size) for mask in (now > before, now < before)]
    gained, lost = moves if higher_is_better else moves[::-1]
    rows = [
        SubtaskRow(
            name,
            int(counts[at]),
            float(sums[1][at] / counts[at]),
            float(sums[0][at] / counts[at]),
            int(gained[at]),
            int(lost[at]),
        )
        for at, name in enumerate(table.subtasks)
        if counts[at]
    ]
    return sorted(rows, key=lambda row: row.subtask)


def decide(item: Difference, p: float | None, *, alpha: float = ALPHA) -> tuple[str, str]:
    """Verdict and sentence for one difference, given its p-value after adjustment."""
    if item.n == 0 or item.delta is None:
        return "nothing to compare", "no row was scored on both sides"
    if item.gained == item.lost == 0:
        return "same", f"same verdict on all {item.n} rows"
    points = _points(item)
    if p is not None and not math.isnan(p) and p < alpha:
        better = (item.delta > 0) == item.higher_is_better
        return ("better" if better else "worse"), f"{'better' if better else 'worse'} by {points} (p = {p:.2g})"
    seen = f"; {_scaled(item.mde, item)} would be found with {POWER:.0%} probability" if item.mde else ""
    return "unclear", f"no difference shown, {points}{f' (p = {p:.2g})' if p is not None else ''}{seen}"


def _scaled(value: float | None, item: Difference) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} points" if item.binary else f"{value:.4g}"


def _points(item: Difference) -> str:
    return _scaled(abs(item.delta) if item.delta is not None else None, item)
