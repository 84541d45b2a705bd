"""The difference that a set of paired scores shows.

Counts, difference, one interval, and what a gate may read from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from custom_metrics.statistics import (
    Calibrated,
    Incomplete,
    MeanDifference,
    Missing,
    PairedUnits,
    PairedVerdicts,
    RowsNeeded,
    StoredDifference,
)
from custom_metrics.statistics.mean import cluster_codes
from evalprep.compare.pairing import Floats
from evalprep.samples import UNKNOWN

ALPHA = 0.05
POWER = 0.8
_HIDDEN = ("evidence", "relative_exchanged")
POINTS, RATIO, BITS = "points", "ratio", "bits"
PERCENT_RANGE = 100.0  # of a score in percent

_NARROW = (0.5, 0.05)  # widths of an interval in points, below which a decimal more is shown
#: Changed rows or documents that better, worse and a gate's fail take.
FEWEST_CHANGED = 6
FEWEST_A_TASK = 12  # rows of a task, on average, that a word about a mean of several takes

Evidence = (
    PairedVerdicts | PairedUnits | Calibrated | Incomplete | MeanDifference | StoredDifference
)


@dataclass(frozen=True)
class Difference:
    """The difference, candidate minus baseline, that a set of pairs shows.

    The interval is the only one there is: the words, the gate and the detectable difference are
    read from it (docs/statistics.md).

    Args:
        n: Pairs.
        previous, now: Scores of the baseline and of the candidate.
        delta: now - previous, on the scale of the score.
        low, high: Interval of the true difference.
        stderr: Half of the interval's width in standard normal units.
        clusters: Number of documents; None where rows are independent.
        largest: Share of the rows that the largest document holds; None where rows are independent.
        both, gained, lost, neither: Right on both sides, on the candidate's only, on the baseline's
            only, on none. For graded metrics `gained` and `lost` count scores that moved for the
            better and the worse, `both` those that stayed.
        agreement: Share of pairs with the same verdict.
        binary: Whether every score is 0 or 1.
        mcnemar_p, mcnemar_mid_p: Exact McNemar test (for graded metrics: sign test), for readers
        who expect it.
        p: The two-sided test that belongs to the interval, named by `test`.
        mde: Smallest true difference that would be found with 80 % probability (among several
            tasks: after Holm's adjustment, at the least); known once a family is.
        higher_is_better: Direction; None where no direction is better.
        range: Largest difference of two scores, or where the score's bounds are not known, the one
            that a row can make; None where the score has no bounds.
        unit: `points` where the score is a share, `ratio` for perplexities (`delta`, `low`, `high`,
            `mde` are then logarithms of candidate over baseline), `bits` for bits per byte, else
            empty.
        relative, relative_low, relative_high: The difference as a share of the baseline, where that
            is tested by itself (bits per byte).
        relative_exchanged: The same three numbers of the exchanged sides, which have other shares.
        bounded: Whether the bounds of the score are known; else `range` is that of the values seen.
        constant: The change that every row shows; None where rows changed by different amounts.
        made_of: `rows`, `counts`, `function`, or `stored` for two unpaired standard errors.
        own_now, own_previous: The value of each run over all of its own rows, where it differs from
            the one over the rows that both have scored; None where it does not.
        missing: Weight of the rows that are missing on a side; the interval holds whatever they
            would have been.
        scorer_flips: Pairs with equal replies and another score; the difference is calibrated on
            the equal pairs.
        chance: Score of a guess; None where that is not known.
        evidence: What the interval is read from, turned so that more is better; None without an
            interval.
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
    relative: float | None = None
    relative_low: float | None = None
    relative_high: float | None = None
    relative_exchanged: tuple[float | None, float | None, float | None] | None = field(
        default=None, repr=False, compare=False
    )
    bounded: bool = True
    constant: float | None = None
    own_now: float | None = None
    own_previous: float | None = None
    missing: float = 0.0
    scorer_flips: int = 0
    chance: float | None = None
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in _HIDDEN
        }

    def mirrored(self) -> Difference:
        """The same with the sides exchanged."""
        relative = self.relative_exchanged or (None, None, None)
        exchanged = None
        if self.relative is not None:
            exchanged = self.relative, self.relative_low, self.relative_high
        return replace(
            self,
            previous=self.now,
            now=self.previous,
            delta=_minus(self.delta),
            low=_minus(self.high),
            high=_minus(self.low),
            gained=self.lost,
            lost=self.gained,
            relative=relative[0],
            relative_low=relative[1],
            relative_high=relative[2],
            relative_exchanged=exchanged,
            constant=_minus(self.constant),
            own_now=self.own_previous,
            own_previous=self.own_now,
            evidence=None if self.evidence is None else self.evidence.turned(),
        )

    @property
    def drop(self) -> float | None:
        """Returns how much worse the candidate is; negative when it is better."""
        if self.delta is None:
            return None
        return -self.delta if self.higher_is_better is not False else self.delta

    @property
    def paired(self) -> Evidence | None:
        """The evidence of the paired rows, where others are missing."""
        evidence = self.evidence
        return evidence.evidence if isinstance(evidence, Incomplete) else evidence

    @property
    def changed(self) -> int | None:
        """Rows or documents that changed; None where that is not known."""
        return _changed(self.paired)

    @property
    def has_enough_changed(self) -> bool:
        """True where so many rows or documents changed that a word may be said."""
        changed = self.changed
        return changed is None or changed >= FEWEST_CHANGED

    @property
    def rows_a_task(self) -> float | None:
        """Rows of a task in a mean over several, on average; None of anything else."""
        evidence = self.paired
        if not isinstance(evidence, MeanDifference) or len(evidence.tasks) < 2:
            return None
        return self.n / len(evidence.tasks)

    @property
    def may_have_word(self) -> bool:
        """True where enough rows changed, and the tasks of a mean have enough rows.

        The limits of a mean over tasks of a few rows each, most of them changed, leave out 0 in up
        to 15 % of equal runs.
        """
        rows = self.rows_a_task
        return self.has_enough_changed and (rows is None or rows >= FEWEST_A_TASK)

    def drop_p(self, limit: float) -> float:
        """Two-sided p of a true drop of `limit`; 1 where too few rows changed for a word."""
        if self.evidence is None or self.drop is None or not self.may_have_word:
            return 1.0
        return self.evidence.p(-limit)

    def most_lost(self, confidence: float = 1 - ALPHA) -> float | None:
        """The largest drop that the pairs leave open.

        Right-or-wrong independent rows: end of the one-sided interval; else of the two-sided one,
        for graded rows and documents of the wider one.
        """
        evidence = self.evidence
        if evidence is None:
            return None
        if isinstance(evidence, (PairedUnits, Calibrated, Incomplete)):
            return -evidence.worst(confidence, cautious=self.made_of == "rows")
        return -evidence.worst(confidence)

    def sureness(self, confidence: float = 1 - ALPHA) -> float:
        """The one-sided confidence with which `most_lost` holds."""
        evidence = self.paired
        if isinstance(evidence, PairedVerdicts):
            return confidence
        if isinstance(evidence, MeanDifference) and evidence.one_sided:
            return confidence
        return (1 + confidence) / 2

    def rules_out(self, drop: float, confidence: float = 1 - ALPHA) -> bool:
        """Returns whether a drop of this size or more is ruled out."""
        most = self.most_lost(confidence)
        return most is not None and most < drop

    def rows_needed(self, max_drop: float, slack: float, fail_z: float) -> RowsNeeded | None:
        """Returns how many rows a gate of these limits would need.

        None where that cannot be computed.
        """
        open_drop = max_drop + slack
        if not self.range or not 0 < open_drop < self.range or not self.n:
            return None
        evidence = self.paired
        if isinstance(evidence, PairedVerdicts):
            return statistics.rows_needed(
                evidence.n, evidence.gained, evidence.lost, max_drop, slack, fail_z=fail_z
            )
        if not isinstance(evidence, PairedUnits):
            return None
        units = evidence.units
        if not 0 < units < math.inf:
            return None
        cautious = self.made_of == "rows"
        plan = statistics.units_needed(evidence, max_drop, slack, cautious=cautious, fail_z=fail_z)
        if plan.rows is None:
            return plan
        return replace(plan, rows=round(plan.rows * self.n / units))

    def scaled(self, value: float | None, *, sign: bool = False) -> str:
        """A difference in the score's own unit: `2.5 points`, `0.031`, `1.2 %` of a perplexity."""
        if value is None or not math.isfinite(value):
            return "-"
        plus = "+" if sign else ""
        if self.unit == RATIO:
            return f"{100 * math.expm1(min(value, 700.0)):{plus}.3g} %"
        if self.unit == POINTS:
            return f"{100 * value:{plus}.{self.digits}f} points"
        if self.unit == BITS:
            return f"{value:{plus}.4f} bits"
        return f"{value:{plus}.4g}"

    def change(self, *, sign: bool = False) -> str:
        """The difference in words, with its share of the baseline where that share is tested."""
        value = self.delta if sign or self.delta is None else abs(self.delta)
        text = self.scaled(value, sign=sign)
        if self.relative is None:
            return text
        share = self.relative if sign else abs(self.relative)
        return f"{text}, {100 * share:{'+' if sign else ''}.1f} %"

    @property
    def in_points(self) -> bool:
        """Returns whether it is shown in percent and points.

        Verdicts are, and graded scores between 0 and 1.
        """
        return self.binary or self.unit == POINTS

    @property
    def hundred_points(self) -> float | None:
        """What 100 points are on the scale of the score; None of a score that has none."""
        if self.in_points:
            return 1.0
        return PERCENT_RANGE if self.bounded and self.range == PERCENT_RANGE else None

    @property
    def unseen_losses(self) -> str:
        """The sentence about rare total losses that graded rows cannot rule out; empty for others.

        Of n rows without one, up to 3 / n of all rows may be lost (rule of three).
        """
        evidence = self.paired
        is_graded = isinstance(evidence, PairedUnits) and evidence.range is not None
        if not is_graded or self.made_of != "rows":
            return ""
        count = self.clusters or self.n
        units = "rows" if self.clusters is None else "documents"
        return f"a total loss on up to 3/{count} of the {units} is not ruled out"

    @property
    def digits(self) -> int:
        """Decimals of points: as many as the interval needs for two digits of its width."""
        if self.low is None or self.high is None or self.unit != POINTS:
            return 1
        width = 100 * (self.high - self.low)
        return 1 + sum(0 < width < limit for limit in _NARROW)

    def at_level(self, alpha: float) -> Difference:
        """The same with the difference that a test at a level finds with 80 % probability."""
        detectable = None
        if self.evidence is not None and 0 < alpha < 1:
            detectable = _detectable(self.evidence, alpha)
        if detectable is None or not math.isfinite(detectable):
            return replace(self, mde=None)
        # A share cannot change by more than all of it.
        is_possible = self.unit != POINTS or detectable <= 1.0
        return replace(self, mde=detectable if is_possible else None)


def _minus(value: float | None) -> float | None:
    return None if value is None else 0.0 - value  # no negative zero


def _changed(evidence: Evidence | None) -> int | None:
    """Rows or documents that changed; None where that is not known."""
    if isinstance(evidence, PairedVerdicts):
        return round(evidence.changed)
    if isinstance(evidence, (PairedUnits, Calibrated)):
        return evidence.moved
    if isinstance(evidence, MeanDifference):
        return sum(_changed(task.paired) or 0 for task in evidence.tasks)
    return None


def _detectable(evidence: Evidence, alpha: float) -> float | None:
    """The smallest true difference that a test at a level finds with 80 % probability."""
    if isinstance(evidence, Incomplete):
        size = _detectable(evidence.evidence, alpha)
        missing = evidence.missing
        if size is None or not missing.share < 1.0:
            return None
        return size / (1.0 - missing.share) + max(missing.lost_at_most, missing.gained_at_most)
    if isinstance(evidence, PairedVerdicts):
        return statistics.detectable_difference(evidence.n, evidence.changed, alpha).difference
    low, high = evidence.interval(1 - alpha)
    half_width = (high - low) / 2
    if isinstance(evidence, PairedUnits) and evidence.degrees > 0:
        one_sided = statistics.student_critical_value(2 * POWER - 1, evidence.degrees)
        return half_width + one_sided * evidence.stderr
    return half_width * (
        1 + statistics.normal_quantile(POWER) / statistics.critical_value(1 - alpha)
    )


def with_missing(item: Difference, missing: Missing, confidence: float) -> Difference:
    """A difference over paired rows with the bounds for missing ones.

    Args:
        item: The difference.
        missing: Their weight; more of the score is the better side.
        confidence: Of the interval.
    """
    evidence = item.evidence
    if not missing.share > 0.0 or not isinstance(
        evidence, (PairedVerdicts, PairedUnits, Calibrated)
    ):
        return item
    is_turned = item.higher_is_better is False
    bounded = Incomplete(evidence, missing.turned() if is_turned else missing)
    low, high = bounded.interval(confidence)
    ends = (-high, -low) if is_turned else (low, high)
    return replace(
        item,
        low=ends[0],
        high=ends[1],
        stderr=(high - low) / 2 / statistics.critical_value(confidence),
        p=bounded.p(),
        missing=missing.share,
        evidence=bounded,
    )


def differing_value(own: float | None, shared: float | None) -> float | None:
    """Returns a run's own value where it is not the one over the shared rows; else None."""
    if own is None or shared is None:
        return own
    return None if math.isclose(own, shared, rel_tol=1e-9, abs_tol=1e-12) else own


def without_difference(item: Difference) -> Difference:
    """The values of both sides alone: a difference of two metrics means nothing."""
    nothing: dict[str, Any] = dict.fromkeys(
        (
            *("delta", "low", "high", "stderr", "p", "mde", "mcnemar_p", "mcnemar_mid_p"),
            *("relative", "relative_low", "relative_high", "constant", "evidence"),
        )
    )
    return replace(item, **nothing, test="none")


def from_evidence(
    evidence: Evidence,
    *,
    confidence: float = 1 - ALPHA,
    higher_is_better: bool | None = True,
    **known: Any,
) -> Difference:
    """A difference with everything that its evidence says; `known` are the other fields."""
    low, high = evidence.interval(confidence)
    sign = -1.0 if higher_is_better is False else 1.0
    delta = sign * evidence.value + 0.0
    if not (math.isfinite(low) and math.isfinite(high)):
        return Difference(delta=delta, higher_is_better=higher_is_better, **known)
    ends = (low, high) if sign > 0 else (-high, -low)
    return Difference(
        delta=delta,
        low=ends[0],
        high=ends[1],
        stderr=(high - low) / 2 / statistics.critical_value(confidence),
        p=evidence.p(),
        higher_is_better=higher_is_better,
        evidence=evidence,
        **known,
    )


def difference(
    now: Floats,
    before: Floats,
    cluster: NDArray[np.int64] | None,
    *,
    confidence: float = 1 - ALPHA,
    higher_is_better: bool | None = True,
    bounds: tuple[float, float] | None = None,
    may_be_share: bool = True,
    missing: LoneScores | None = None,
    equal: NDArray[np.bool_] | None = None,
) -> Difference:
    """Compares paired scores.

    Args:
        now: Scores of the candidate.
        before: Scores of the baseline.
        cluster: A code per pair, -1 for a row of its own, or None.
        confidence: Of the interval.
        higher_is_better: Direction; None where it is not known.
        bounds: Least and largest value of the score, where they are known; by default 0 and 1 where
            all values lie between, else the least and largest value seen.
        may_be_share: False for a quantity that is no share wherever its values lie: a loss.
        missing: Rows without a pair that there should be; None for none.
        equal: Pairs with equal replies; None where replies are not known.
    """
    n = int(now.size)
    if n == 0:
        return Difference(higher_is_better=higher_is_better)
    scale = _scale_of(now, before, bounds, may_be_share=may_be_share)
    known = _counts(now, before, higher_is_better) | scale.fields
    known["binary"] = known["binary"] and scale.width == 1.0 and may_be_share
    if not math.isfinite(scale.width * n):  # numbers so large that no sum of differences is one
        return Difference(higher_is_better=higher_is_better, delta=None, **known)
    known["constant"] = _constant_change(now - before)
    evidence_range: float | None = scale.width
    if known["constant"] is not None and not scale.bounded:
        evidence_range = None
    gain = before - now if higher_is_better is False else now - before
    codes = _clusters(cluster)
    evidence: PairedVerdicts | PairedUnits | Calibrated | Incomplete
    known["test"] = "paired interval with unseen rows"
    if codes is not None:
        sizes = np.bincount(codes)
        known["clusters"] = int(sizes.size)
        known["largest"] = float(sizes.max()) / n
        known["test"] = "paired interval with unseen documents"
    elif known["binary"]:
        known["test"] = "paired score test"
    is_verdict = codes is None and known["binary"]
    evidence = _evidence(gain, codes, evidence_range, is_verdict=is_verdict)
    known["scorer_flips"] = 0 if equal is None else scorer_flips(gain, equal)
    if equal is not None and known["scorer_flips"]:
        known["test"] += ", calibrated on equal replies"
        evidence = Calibrated(
            _evidence(np.where(equal, 0.0, gain), codes, scale.width, is_verdict=is_verdict),
            _evidence(
                gain[equal],
                None if codes is None else codes[equal],
                scale.width,
                is_verdict=is_verdict,
            ),
            1.0 - int(equal.sum()) / n,
            scale.width,
        )
    weight = None if missing is None else missing.weight(n, scale, higher_is_better)
    if weight is not None:
        known["missing"] = weight.share
        evidence = Incomplete(evidence, weight)
    return from_evidence(
        evidence, confidence=confidence, higher_is_better=higher_is_better, **known
    )


def _evidence(
    gain: Floats, codes: NDArray[np.int64] | None, width: float | None, *, is_verdict: bool
) -> PairedVerdicts | PairedUnits:
    """What gains of rows say of their mean."""
    if is_verdict:
        return PairedVerdicts(gain.size, int(np.sum(gain > 0)), int(np.sum(gain < 0)))
    return statistics.paired_mean(gain, codes, range=width)


def scorer_flips(gain: Floats, equal: NDArray[np.bool_]) -> int:
    """Pairs with equal replies and another score, which no model can have changed."""
    return int(np.sum(~np.isclose(gain[equal], 0.0, rtol=0.0, atol=1e-9)))


def _counts(now: Floats, before: Floats, higher_is_better: bool | None) -> dict[str, Any]:
    """Returns what is counted of paired scores.

    Means, rows that moved, and the tests of those counts.
    """
    n = int(now.size)
    is_binary = _is_right_or_wrong(now) and _is_right_or_wrong(before)
    up = int(np.sum(now > before))
    down = int(np.sum(now < before))
    same = n - up - down
    gained, lost, right = up, down, 1.0
    if higher_is_better is False:
        gained, lost, right = down, up, 0.0
    both = int(np.sum((now == right) & (before == right))) if is_binary else same
    return {
        "n": n,
        "previous": _mean(before),
        "now": _mean(now),
        "both": both,
        "gained": gained,
        "lost": lost,
        "neither": same - both,
        "agreement": same / n,
        "binary": is_binary,
        "mcnemar_p": statistics.mcnemar_p(gained, lost),
        "mcnemar_mid_p": statistics.mcnemar_p(gained, lost, mid_p=True),
    }


def _is_right_or_wrong(scores: Floats) -> bool:
    return bool(np.all((scores == 0) | (scores == 1)))


def _mean(values: Floats) -> float:
    """The mean, also of numbers whose sum is too large for a number."""
    try:
        return statistics.exact_sum(values) / values.size
    except OverflowError:
        return statistics.exact_sum(values / values.size)


class Scale(msgspec.Struct, frozen=True):
    """The bounds of a score, and whether they are known or only those of the values seen."""

    least: float
    most: float
    bounded: bool

    @property
    def width(self) -> float:
        """The largest difference of two values."""
        return self.most - self.least

    @property
    def fields(self) -> dict[str, Any]:
        """Range and unit of the score, for a `Difference`."""
        is_share = self.bounded and (self.least, self.most) == (0.0, 1.0)
        unit = POINTS if is_share else ""
        return {"range": self.width, "unit": unit, "bounded": self.bounded}


def _scale_of(
    now: Floats, before: Floats, bounds: tuple[float, float] | None, *, may_be_share: bool
) -> Scale:
    """The known bounds of a score where all values keep to them, else those of the values seen."""
    least = float(min(now.min(), before.min()))
    most = float(max(now.max(), before.max()))
    if bounds is not None:
        low, high = bounds
        if low <= least and most <= high and low < high:
            return Scale(low, high, bounded=True)
    if may_be_share and least >= 0.0 and most <= 1.0:
        return Scale(0.0, 1.0, bounded=True)
    if most <= least:
        most = least + 1.0
    return Scale(least, most, bounded=False)


class LoneScores(msgspec.Struct, frozen=True):
    """The scores of rows that have no pair although they should.

    Attributes:
        now: Of the candidate where the baseline has none.
        before: Of the baseline where the candidate has none.
        unknown: Rows that neither side has.
    """

    now: Floats
    before: Floats
    unknown: float = 0.0

    def weight(self, pairs: int, scale: Scale, higher_is_better: bool | None) -> Missing | None:
        """The weight of these rows in a mean over them and some pairs; None of no rows."""
        lone = self.now.size + self.before.size + self.unknown
        if not lone > 0:
            return None
        rows = pairs + lone
        own, base = _within(self.now, scale), _within(self.before, scale)
        either_way = self.unknown * scale.width
        # Candidate less baseline: the side that has a score may lie above or below the other.
        lost = math.fsum(scale.most - own) + math.fsum(base - scale.least) + either_way
        gained = math.fsum(own - scale.least) + math.fsum(scale.most - base) + either_way
        if higher_is_better is False:
            lost, gained = gained, lost
        return Missing(lone / rows, lost / rows, gained / rows)


def _within(values: Floats, scale: Scale) -> Floats:
    return np.clip(values, scale.least, scale.most)


def _constant_change(gap: Floats) -> float | None:
    """The change of every row, where it is the same for all and not 0; None otherwise."""
    first = float(gap[0])
    extremes = [gap.min(), gap.max()]
    if gap.size < 2 or first == 0.0 or not np.allclose(extremes, first, rtol=1e-9, atol=0.0):
        return None
    return first


def _clusters(codes: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Codes from 0 with each -1 alone; None when no cluster holds two rows."""
    if codes is None:
        return None
    alone = codes == UNKNOWN
    if alone.any():
        codes = codes.copy()
        codes[alone] = (codes.max(initial=0) + 1) + np.arange(int(alone.sum()))
    codes = cluster_codes(codes)
    return codes if int(codes.max()) + 1 < codes.size else None
