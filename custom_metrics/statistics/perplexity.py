"""Two runs' log-likelihoods of the same texts: the ratio of perplexities."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from custom_metrics.statistics.mean import cluster_codes
from custom_metrics.statistics.score import Interval
from custom_metrics.statistics.units import PairedUnits, satterthwaite, unit_sums

FEWEST_TEXTS = 50  # below, the t interval of skewed differences covers too little


@dataclass(frozen=True)
class PerplexityRatio:
    """Perplexity of the candidate over that of the baseline, by the difference of log-likelihoods per token.

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

    @property
    def enough(self) -> bool:
        """Whether there are texts enough for its interval."""
        return self.texts >= FEWEST_TEXTS

    def interval(self, confidence: float = 0.95) -> Interval:
        """exp(-m) end by end; from 0 to infinity with fewer than two texts."""
        ends = self.difference.interval(confidence)
        return Interval(_exp(-ends.high), _exp(-ends.low))

    def p(self) -> float:
        """Two-sided p of equal perplexities."""
        return self.difference.p()


def _exp(power: float) -> float:
    return math.exp(power) if power < 700.0 else math.inf


def perplexity_ratio(
    candidate: ArrayLike,
    baseline: ArrayLike,
    lengths: ArrayLike,
    units: ArrayLike | Sequence[Hashable] | None = None,
) -> PerplexityRatio:
    r"""Ratio of perplexities on the same texts with its paired interval.

    m = sum(log L_candidate - log L_baseline) / sum(length); w_i = length_i / sum(length); e_i = (d_i - length_i m) /
    sum(length); stderr^2 = sum e_i^2 / (1 - w_i); t interval with K_e - 1 degrees of freedom, K_e = 1 / sum w_i^2;
    ratio = exp(-m). Log-likelihoods have no bound, so that no pseudo-units can be added: very skewed differences are
    covered too seldom (see docs/statistics.md).

    Args:
        candidate: Log-likelihood (natural) of each text under the run under test.
        baseline: The same texts under the other run.
        lengths: Tokens, words or bytes of each text, the same for both; above 0.
        units: Document of each text; None where texts are independent.

    Raises:
        ValueError: lengths differ, a length is not above 0, or a value is not finite.
    """
    now, before, length = (np.asarray(one, dtype=np.float64).ravel() for one in (candidate, baseline, lengths))
    if not now.size == before.size == length.size:
        raise ValueError(f"{now.size} and {before.size} log-likelihoods, {length.size} lengths")
    if not (np.all(np.isfinite(now)) and np.all(np.isfinite(before)) and np.all(length > 0)):
        raise ValueError("log-likelihoods must be finite and lengths above 0")
    if now.size == 0:
        return PerplexityRatio(PairedUnits(0.0, 0.0, 0.0, 0.0, 0.0, None), 0)
    codes = None if units is None else cluster_codes(units)
    total = math.fsum(length)
    gap = now - before
    mean = math.fsum(gap) / total
    errors = unit_sums((gap - length * mean) / total, codes)[0]
    w = unit_sums(length, codes)[0] / total
    effective_units = 1.0 / math.fsum(w * w)
    degrees = effective_units - 1.0 if codes is None else satterthwaite(w)
    moved = unit_sums(gap / total, codes)[0]
    return PerplexityRatio(PairedUnits.of(mean, errors, w, moved, None, degrees), int(now.size))
