"""Two runs' log-likelihoods of the same texts.

They give a ratio of perplexities, and a difference in bits per byte.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from custom_metrics.statistics.mean import Floats, cluster_codes, flat_floats
from custom_metrics.statistics.score import Interval
from custom_metrics.statistics.units import PairedUnits, satterthwaite, unit_sums

FEWEST_TEXTS = 50  # below, the t interval of skewed differences covers too little


@dataclass(frozen=True)
class PerplexityRatio:
    """Perplexity of the candidate over that of the baseline.

    It is computed from the difference of log-likelihoods per token.

    Args:
        difference: Of log-likelihood per token (or word, or byte), candidate less baseline.
        texts: Texts behind it.
    """

    difference: PairedUnits
    texts: int

    @property
    def value(self) -> float:
        """Below 1 the candidate is less surprised."""
        return math.exp(-self.difference.value)

    def interval(self, confidence: float = 0.95) -> Interval:
        """exp(-m) end by end; from 0 to infinity with fewer than two texts."""
        ends = self.difference.interval(confidence)
        return Interval(_exp(-ends.high), _exp(-ends.low))

    def p(self) -> float:
        """Two-sided p of equal perplexities."""
        return self.difference.p()


def _exp(power: float) -> float:
    return math.exp(power) if power < 700.0 else math.inf


@dataclass(frozen=True)
class BitsDifference:
    """Bits per byte of the candidate less those of the baseline.

    Args:
        difference: In bits per byte; above 0 the candidate is worse.
        relative: The same as a share of the baseline's bits.
        texts: Texts behind it.
    """

    difference: PairedUnits
    relative: PairedUnits
    texts: int


class BitsInterval(NamedTuple):
    """A difference in bits per byte and its interval."""

    difference: float
    low: float
    high: float


def perplexity_ratio(
    candidate: ArrayLike,
    baseline: ArrayLike,
    lengths: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
) -> PerplexityRatio:
    r"""Ratio of perplexities on the same texts with its paired interval.

    m = sum(log L_candidate - log L_baseline) / sum(length); w_i = length_i / sum(length); e_i =
    (d_i - length_i m) / sum(length); stderr^2 = sum e_i^2 / (1 - w_i); t interval with K_e - 1
    degrees of freedom, K_e = 1 / sum w_i^2; ratio = exp(-m). Log-likelihoods have no bound, so that
    no pseudo-units can be added: very skewed differences are covered too seldom (see
    docs/statistics.md).

    Args:
        candidate: Log-likelihood (natural) of each text under the run under test.
        baseline: The same texts under the other run.
        lengths: Tokens, words or bytes of each text, the same for both; above 0.
        units: Document of each text; None where texts are independent.

    Raises:
        ValueError: lengths differ, a length is not above 0, or a value is not finite.
    """
    now, before, length = _checked(candidate, baseline, lengths)
    gap = _weighted_mean(now - before, length, units)
    return PerplexityRatio(gap, int(now.size))


def bits_difference(
    candidate: ArrayLike,
    baseline: ArrayLike,
    lengths: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
) -> BitsDifference:
    r"""Difference in bits per byte on the same texts with its paired interval.

    Bits per byte are linear in log-likelihood per byte: T_i = -d_i / (ln 2 sum B), w_i = B_i /
    sum B, m = sum T_i, and errors as in `perplexity_ratio`. The share of the baseline's bits has
    an interval of its own, with weights of those bits: dividing the ends covers too seldom.

    Args:
        candidate: Log-likelihood (natural) of each text under the run under test.
        baseline: The same texts under the other run.
        lengths: Bytes of each text; above 0.
        units: Document of each text; None where texts are independent.

    Raises:
        ValueError: as in `perplexity_ratio`.
    """
    now, before, length = _checked(candidate, baseline, lengths)
    bits = (before - now) / math.log(2.0)
    baseline_bits = -before / math.log(2.0)
    return BitsDifference(
        _weighted_mean(bits, length, units),
        _weighted_mean(bits, np.maximum(baseline_bits, 0.0), units),
        int(now.size),
    )


def bits_per_byte_interval(
    rows: Sequence[Sequence[float]], confidence: float = 0.95
) -> BitsInterval:
    """Difference in bits per byte with its interval; see `bits_difference`.

    Args:
        rows: Log-likelihood of the candidate, of the baseline, and bytes of each text.
        confidence: Level.

    Raises:
        ValueError: as in `perplexity_ratio`, or a level that is none.
    """
    columns = np.asarray(rows, dtype=np.float64).reshape(-1, 3)
    candidate, baseline, lengths = columns.T
    difference = bits_difference(candidate, baseline, lengths).difference
    low, high = difference.interval(confidence)
    return BitsInterval(difference.value, low, high)


def _checked(
    candidate: ArrayLike, baseline: ArrayLike, lengths: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    now = flat_floats(candidate)
    before = flat_floats(baseline)
    length = flat_floats(lengths)
    if not now.size == before.size == length.size:
        raise ValueError(f"{now.size} and {before.size} log-likelihoods, {length.size} lengths")
    finite = np.all(np.isfinite(now)) and np.all(np.isfinite(before))
    if not finite or not np.all(length > 0):
        raise ValueError("log-likelihoods must be finite and lengths above 0")
    return now, before, length


def _weighted_mean(
    gap: Floats, length: Floats, units: ArrayLike | Sequence[Hashable] | None
) -> PairedUnits:
    """Sum of the gaps over the sum of the lengths, as a paired difference without a range."""
    total = math.fsum(length)
    if not total > 0:
        return PairedUnits.without_units()
    codes = None if units is None else cluster_codes(units)
    mean = math.fsum(gap) / total
    errors, _ = unit_sums((gap - length * mean) / total, codes)
    unit_lengths, _ = unit_sums(length, codes)
    contributions, _ = unit_sums(gap / total, codes)
    w = unit_lengths / total
    effective_texts = 1.0 / math.fsum(w * w)
    degrees = effective_texts - 1.0 if codes is None else satterthwaite(w)
    return PairedUnits.of(mean, errors, w, contributions, None, degrees)
