"""Two sets of scores on the same questions.

Difference, tests, and what difference could have been seen.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from custom_metrics.statistics.mean import (
    Estimate,
    Floats,
    clustered_interval,
    flat_floats,
    mean_interval,
    mean_stderr,
    sums_of_products,
    values_of,
)
from custom_metrics.statistics.normal import critical_value, normal_quantile, student_critical_value

_EXACT_LIMIT = 20  # non-zero differences up to which all sign patterns are counted


def differences(now: ArrayLike, before: ArrayLike) -> Floats:
    """Difference now - before per pair; pairs with a NaN are left out.

    Raises:
        ValueError: lengths differ.
    """
    candidate = flat_floats(now)
    baseline = flat_floats(before)
    if candidate.size != baseline.size:
        raise ValueError(f"{candidate.size} scores now, {baseline.size} before: pairs are needed")
    return values_of(candidate - baseline)


def paired_difference(now: ArrayLike, before: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    r"""Mean difference of paired scores with its normal interval.

    mean(d) +- z s_d / sqrt(n) with d_i = now_i - before_i; Miller 2024. Pairing removes the
    variance that both share, which an unpaired z-test counts twice. Positive: now is higher.
    """
    return mean_interval(differences(now, before), confidence=confidence)


def clustered_difference(
    now: ArrayLike,
    before: ArrayLike,
    clusters: ArrayLike | Sequence[Hashable],
    *,
    confidence: float = 0.95,
    small_sample: bool = False,
) -> Estimate:
    """`paired_difference` with the clustered standard error of the differences (Miller 2024).

    `small_sample` as in `clustered_interval`.
    """
    gap = flat_floats(now) - flat_floats(before)
    return clustered_interval(gap, clusters, confidence=confidence, small_sample=small_sample)


def _log_binomial_half(n: int) -> Floats:
    """Logarithms of P(X = k) for k = 0..n, X ~ Binomial(n, 1/2)."""
    numbers = np.arange(1, n + 1, dtype=np.float64)
    log_factorials = np.concatenate(([0.0], np.cumsum(np.log(numbers))))
    log_binomials = log_factorials[n] - log_factorials - log_factorials[::-1]
    return np.asarray(log_binomials - n * math.log(2.0), dtype=np.float64)


def mcnemar_p(gained: int, lost: int, *, mid_p: bool = False) -> float:
    r"""Two-sided McNemar test on the discordant pairs.

    Under the null the number gained is Binomial(gained + lost, 1/2); p = min(1, 2 P(X <=
    min(gained, lost))). The exact form of McNemar 1947, as
    `statsmodels.stats.contingency_tables.mcnemar(exact=True)` and `scipy.stats.binomtest`. On
    graded scores, with the numbers of pairs that went up and down, it is the sign test.

    Args:
        gained: Pairs wrong before and right now.
        lost: Pairs right before and wrong now.
        mid_p: Count the observed table by half (Fagerland, Lydersen, Laake 2013): less
            conservative, its error level stays close to the nominal one but may exceed it slightly.

    Returns:
        p in (0, 1]; 1 without a discordant pair.

    Raises:
        ValueError: a negative count.

    >>> round(mcnemar_p(5, 15), 4)
    0.0414
    """
    if gained < 0 or lost < 0:
        raise ValueError(f"counts cannot be negative: {gained}, {lost}")
    n = gained + lost
    if n == 0:
        return 1.0
    fewer = min(gained, lost)
    probabilities = np.exp(_log_binomial_half(n)[: fewer + 1])
    tail = math.fsum(probabilities)
    if mid_p:
        tail -= 0.5 * float(probabilities[-1])
    elif gained == lost:
        return 1.0
    return min(1.0, 2.0 * tail)


def sign_flip_p(
    now: ArrayLike, before: ArrayLike, *, resamples: int = 10_000, seed: int = 0
) -> float:
    r"""Two-sided paired permutation test of the mean difference (Fisher 1935).

    Under the null each difference is as likely to have the other sign. p is the share of sign
    patterns whose |sum| is at least the observed one: over all patterns for up to 20 non-zero
    differences, else (1 + hits) / (1 + resamples) over random ones (Phipson and Smyth 2010), the
    same for the same seed.

    Returns:
        p in (0, 1]; 1 when no pair differs.
    """
    gap = differences(now, before)
    gap = gap[gap != 0.0]
    if gap.size == 0:
        return 1.0
    observed = abs(float(np.sum(gap)))
    # Sums that are equal on paper differ in their last bits by the order of addition.
    bound = observed - 1e-12 * float(np.sum(np.abs(gap)))
    if gap.size <= _EXACT_LIMIT:
        return _share_of_all_signs(gap, bound)
    generator = np.random.default_rng(seed)
    hits = 0
    block = max(1, 2_000_000 // gap.size)
    for first in range(0, resamples, block):
        size = min(block, resamples - first)
        coins = generator.integers(0, 2, size=(size, gap.size), dtype=np.int8)
        signs = coins.astype(np.float64) * 2.0 - 1.0
        hits += int(np.sum(np.abs(sums_of_products(signs, gap)) >= bound))
    return (1 + hits) / (1 + resamples)


def _share_of_all_signs(gap: Floats, bound: float) -> float:
    """The share of all 2^n choices of signs whose sum is as far from 0 as the bound."""
    sums = np.zeros(1)
    for value in gap:
        sums = np.concatenate((sums + value, sums - value))
    return float(np.mean(np.abs(sums) >= bound))


def minimum_detectable_effect(
    stderr: float, *, alpha: float = 0.05, power: float = 0.8, degrees: float | None = None
) -> float:
    r"""Smallest true difference that a two-sided test at `alpha` finds with probability `power`.

    (z_{1-alpha/2} + z_{power}) * stderr; Miller 2024's sample-size formula solved for the effect.
    With fewer samples than that difference needs, "no difference found" says little. For one of m
    tests under Holm's adjustment, alpha / m gives a difference that is found at least that often.

    Args:
        stderr: Standard error of the (paired, perhaps clustered) difference.
        alpha: Error level of the test.
        power: Wanted probability of finding the difference, at least one half.
        degrees: Degrees of freedom of a t test; Student's quantiles then stand for the normal ones
            (Bloom 1995).

    Raises:
        ValueError: `power` is not in [0.5, 1).
    """
    if not 0.5 <= power < 1.0:
        raise ValueError(f"power must be at least 0.5 and below 1, not {power}")
    if degrees is None:
        return (critical_value(1.0 - alpha) + normal_quantile(power)) * stderr
    beyond = student_critical_value(2.0 * power - 1.0, degrees) if power > 0.5 else 0.0
    return (student_critical_value(1.0 - alpha, degrees) + beyond) * stderr


def unpaired_stderr(now: ArrayLike, before: ArrayLike) -> float:
    """sqrt(se_now^2 + se_before^2), the standard error that ignores pairing.

    Shown to say what pairing gains.
    """
    return math.hypot(mean_stderr(now), mean_stderr(before))
