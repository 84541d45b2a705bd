"""What a set of paired scores says: counts, difference, one interval, and what a gate may read from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from custom_metrics.statistics import PairedUnits, PairedVerdicts
from evalprep.compare.pairing import Floats
from evalprep.results import UNKNOWN

ALPHA = 0.05
POWER = 0.8
FEW_DOCUMENTS = 30
_HIDDEN = ("evidence",)


@dataclass
class Difference:
    """What a set of pairs says about candidate minus baseline.

    The interval is the only one there is: the words, the gate and the detectable difference are read from it
    (docs/statistics.md).

    Args:
        n: Pairs.
        previous, now: Scores of the baseline and of the candidate.
        delta: now - previous, on the scale of the score.
        low, high: Interval of the true difference.
        stderr: Half of the interval's width in standard normal units.
        clusters: Number of documents; None where rows are independent.
        largest: Share of the rows that the largest document holds; None where rows are independent.
        both, gained, lost, neither: Right on both sides, on the candidate's only, on the baseline's only, on none. For
            graded metrics `gained` and `lost` count scores that moved for the better and the worse, `both` those that
            stayed.
        agreement: Share of pairs with the same verdict.
        binary: Whether every score is 0 or 1.
        mcnemar_p, mcnemar_mid_p: Exact McNemar test (for graded metrics: sign test), for readers who expect it.
        p: The two-sided test that belongs to the interval, named by `test`.
        mde: Smallest true difference that would be found with 80 % probability (among several tasks: after Holm's
            adjustment, at the least).
        higher_is_better: Direction; None where no direction is better.
        range: Largest difference that one row can make; None where the score has no bounds.
        unit: `points` where the score is a share, `ratio` for perplexities (`delta`, `low`, `high`, `mde` are then
            logarithms of candidate over baseline), else empty.
        made_of: `rows`, `counts`, `function`, or `stored` for two unpaired standard errors.
        evidence: What the interval is read from, turned so that more is better; None without an interval.
    """

    n: int = 0
    previous: float | None = None
    now: float | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    clusters: int | None = None
    largest: float | None = None
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
    higher_is_better: bool | None = True
    range: float | None = 1.0
    unit: str = "points"
    made_of: str = "rows"
    evidence: PairedVerdicts | PairedUnits | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _HIDDEN}

    @property
    def drop(self) -> float | None:
        """How much worse the candidate is; negative when it is better."""
        if self.delta is None:
            return None
        return -self.delta if self.higher_is_better is not False else self.delta

    def drop_p(self, limit: float) -> float:
        """Two-sided p of a true drop of `limit`, where the drop seen is larger; 1 where it is not."""
        if self.evidence is None or self.drop is None or self.drop <= limit:
            return 1.0
        return self.evidence.p(-limit)

    def most_lost(self, confidence: float = 1 - ALPHA) -> float | None:
        """The largest drop that the pairs leave open.

        Right-or-wrong independent rows: end of the one-sided interval; else of the two-sided one, for graded
        independent rows always with pseudo-rows.
        """
        if isinstance(self.evidence, PairedVerdicts):
            return -self.evidence.worst(confidence)
        if self.evidence is None:
            return None
        return -self.evidence.worst(confidence, cautious=self.made_of == "rows" and self.clusters is None)

    def rules_out(self, drop: float, confidence: float = 1 - ALPHA) -> bool:
        """Whether a drop of this size or more is ruled out."""
        most = self.most_lost(confidence)
        return most is not None and most < drop

    def rows_needed(self, drop: float) -> int | None:
        """About how many rows would show or rule out a drop, if as many changed as here; None where none would do."""
        if self.evidence is None or not self.range or not 0 < drop < self.range or not self.n:
            return None
        if isinstance(self.evidence, PairedVerdicts):
            share = self.evidence.changed / self.n
        else:
            share = self.n * (self.evidence.stderr / self.range) ** 2
        rows = statistics.rows_needed(min(1.0, share), drop / self.range)
        return rows if rows > self.n else None

    def scaled(self, value: float | None) -> str:
        """A difference in the score's own unit: `2.5 points`, `0.031`, `1.2 %` of a perplexity."""
        if value is None or not math.isfinite(value):
            return "-"
        if self.unit == "ratio":
            return f"{100 * math.expm1(min(value, 700.0)):.3g} %"
        return f"{100 * value:.1f} points" if self.unit == "points" else f"{value:.4g}"

    @property
    def in_points(self) -> bool:
        """Whether it is shown in percent and points: verdicts, and graded scores between 0 and 1."""
        return self.binary or self.unit == "points"

    def set_detectable(self, alpha: float) -> None:
        """Set `mde` for tests at a level: the interval's half-width times 1 + z_80 / z; none beyond what can differ."""
        if self.evidence is None or not 0 < alpha < 1:
            self.mde = None
            return
        low, high = self.evidence.interval(1 - alpha)
        z = statistics.critical_value(1 - alpha)
        half = (high - low) / 2 * (1 + statistics.normal_quantile(POWER) / z)
        widest = 1.0 if self.unit == "points" else math.inf  # a share cannot change by more than all of it
        self.mde = half if half <= widest and math.isfinite(half) else None


def from_evidence(
    evidence: PairedVerdicts | PairedUnits,
    *,
    confidence: float = 1 - ALPHA,
    higher_is_better: bool | None = True,
    **known: Any,
) -> Difference:
    """A difference with everything that its evidence says; `known` are the other fields."""
    low, high = evidence.interval(confidence)
    sign = -1.0 if higher_is_better is False else 1.0
    ends = (low, high) if sign > 0 else (-high, -low)
    item = Difference(
        delta=sign * evidence.value + 0.0,
        low=ends[0],
        high=ends[1],
        stderr=(high - low) / 2 / statistics.critical_value(confidence),
        p=evidence.p(),
        higher_is_better=higher_is_better,
        evidence=evidence,
        **known,
    )
    if not all(math.isfinite(end) for end in ends):
        item.low = item.high = item.stderr = item.p = None
        item.evidence = None
    item.set_detectable(1 - confidence)
    return item


def difference(
    now: Floats,
    before: Floats,
    cluster: NDArray[np.int64] | None,
    *,
    confidence: float = 1 - ALPHA,
    higher_is_better: bool = True,
    bounds: tuple[float, float] | None = None,
) -> Difference:
    """Compare paired scores.

    Args:
        now: Scores of the candidate.
        before: Scores of the baseline.
        cluster: A code per pair, -1 for a row of its own, or None.
        confidence: Of the interval.
        higher_is_better: Direction.
        bounds: Least and largest value of the score; by default 0 and 1 where all values lie between, else the least
            and largest value seen.
    """
    n = int(now.size)
    if n == 0:
        return Difference(higher_is_better=higher_is_better)
    binary = bool(np.all((now == 0) | (now == 1)) and np.all((before == 0) | (before == 1)))
    up, down = int(np.sum(now > before)), int(np.sum(now < before))
    gained, lost = (up, down) if higher_is_better else (down, up)
    same = n - up - down
    good = 1.0 if higher_is_better else 0.0
    both = int(np.sum((now == good) & (before == good))) if binary else same
    least, most = bounds or _bounds(now, before)
    known: dict[str, Any] = {
        "n": n,
        "previous": math.fsum(before) / n,
        "now": math.fsum(now) / n,
        "both": both,
        "gained": gained,
        "lost": lost,
        "neither": same - both,
        "agreement": same / n,
        "binary": binary,
        "mcnemar_p": statistics.mcnemar_p(gained, lost),
        "mcnemar_mid_p": statistics.mcnemar_p(gained, lost, mid_p=True),
        "range": most - least,
        "unit": "points" if (least, most) == (0.0, 1.0) else "",
    }
    if not math.isfinite(most - least):  # numbers so large that no difference of them is one
        return Difference(higher_is_better=higher_is_better, delta=None, **known)
    codes = None if cluster is None else _clusters(cluster)
    evidence: PairedVerdicts | PairedUnits
    if codes is not None:
        sizes = np.bincount(codes)
        known |= {"clusters": int(sizes.size), "largest": float(sizes.max()) / n, "test": "rule G, documents"}
        evidence = statistics.paired_mean(_turned(now - before, good), codes, range=most - least)
    elif binary:
        known["test"] = "paired score test"
        evidence = PairedVerdicts(n, gained, lost)
    else:
        known["test"] = "rule G, rows"
        evidence = statistics.paired_mean(_turned(now - before, good), range=most - least)
    return from_evidence(evidence, confidence=confidence, higher_is_better=higher_is_better, **known)


def _turned(gap: Floats, good: float) -> Floats:
    return gap if good else -gap


def _bounds(now: Floats, before: Floats) -> tuple[float, float]:
    least, most = float(min(now.min(), before.min())), float(max(now.max(), before.max()))
    if least >= 0.0 and most <= 1.0:
        return 0.0, 1.0
    return (least, most) if most > least else (least, least + 1.0)


def _clusters(cluster: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Codes from 0 with each -1 alone; None when no cluster holds two rows."""
    codes = cluster.copy()
    alone = codes == UNKNOWN
    codes[alone] = (codes.max(initial=0) + 1) + np.arange(int(alone.sum()))
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes if int(codes.max()) + 1 < codes.size else None
