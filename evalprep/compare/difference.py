"""What a set of paired scores says: counts, difference, interval, tests, verdict in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from evalprep.compare.pairing import Floats
from evalprep.results import UNKNOWN

ALPHA = 0.05
POWER = 0.8
# The random sign-flip test holds (block x n) numbers; beyond this many pairs the normal test is as good.
_RESAMPLING_LIMIT = 20_000


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
        mde: Smallest true difference that would be found with 80 % probability (among several tasks: after Holm's
            adjustment, at the least).
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
    # Where all rows moved by the same amount no error can be estimated, but their directions can be counted.
    alike = (estimate.stderr or 0.0) <= 1e-12 * abs(estimate.value) and estimate.value != 0.0
    if clusters is not None and alike:
        test, p = "sign test of documents", statistics.mcnemar_p(clusters, 0)
    elif clusters is not None:
        p = _ratio_test(estimate.value, estimate.stderr, clusters - 1)
    elif binary:
        p = mcnemar
    elif n > _RESAMPLING_LIMIT and not alike:
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
        mde=detectable(estimate.stderr, clusters, alpha=1 - confidence),
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


def detectable(stderr: float | None, clusters: int | None, *, alpha: float) -> float | None:
    """Smallest true difference found at this level with probability `POWER`; None without an error."""
    if not stderr:
        return None
    degrees = None if clusters is None else clusters - 1
    return statistics.minimum_detectable_effect(stderr, alpha=alpha, power=POWER, degrees=degrees)


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
