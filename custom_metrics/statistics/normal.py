"""The standard normal and Student distributions in plain Python, so that no run needs scipy."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_STANDARD = NormalDist()


def normal_quantile(probability: float) -> float:
    """Inverse of the standard normal distribution function.

    Wichura 1988, algorithm AS 241, in the standard library.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return _STANDARD.inv_cdf(probability)


def two_sided_p(z: float) -> float:
    """P(|Z| >= |z|) for a standard normal Z: erfc(|z| / sqrt 2), exact far into the tails.

    >>> round(two_sided_p(1.959964), 6)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2.0))


def critical_value(confidence: float) -> float:
    """Half-width of a two-sided normal interval in standard errors.

    Raises:
        ValueError: `confidence` is not strictly between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    return normal_quantile(0.5 + confidence / 2.0)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 500):
        place = a + 2 * m
        even = m * (b - m) * x / ((place - 1) * place)
        odd = -(a + m) * (a + b + m) * x / (place * (place + 1))
        for step in (even, odd):
            d = 1.0 + step * d
            c = 1.0 + step / c
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return result


def regularized_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b) (DLMF 8.17), for x in [0, 1] and a, b > 0."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    # x^a (1 - x)^b / B(a, b), in logarithms
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    # The fraction converges quickly only on its own side of the mean.
    mean = (a + 1.0) / (a + b + 2.0)
    if x < mean:
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(1.0 - x, b, a) / b


def student_p(t: float, degrees: float) -> float:
    """P(|T| >= |t|) for Student's t with `degrees` of freedom: I_{v / (v + t^2)}(v / 2, 1 / 2).

    Raises:
        ValueError: `degrees` is not positive.

    >>> round(student_p(2.228138852, 10), 6)
    0.05
    """
    if degrees <= 0:
        raise ValueError(f"degrees of freedom must be positive, not {degrees}")
    if degrees > 1e6:
        return two_sided_p(t)
    return regularized_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)


@lru_cache(maxsize=4096)
def student_critical_value(confidence: float, degrees: float) -> float:
    """Half-width of a two-sided Student interval in standard errors, by bisection on `student_p`.

    Raises:
        ValueError: as `critical_value` and `student_p`.

    >>> round(student_critical_value(0.95, 10), 6)
    2.228139
    """
    low = critical_value(confidence)
    high = low
    while student_p(high, degrees) > 1.0 - confidence:
        high *= 2.0
    low, high = _closer(low, high, confidence, degrees)
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in {low, high}:
            break
        if student_p(middle, degrees) > 1.0 - confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _closer(low: float, high: float, confidence: float, degrees: float) -> tuple[float, float]:
    """A narrow bracket of a quantile of Student's t by Newton's steps; the given one where none."""
    half = (degrees + 1.0) / 2.0
    log_scale = math.lgamma(half) - math.lgamma(degrees / 2.0)
    log_scale -= 0.5 * math.log(degrees * math.pi)
    t = low
    for _ in range(12):
        density = math.exp(log_scale - half * math.log1p(t * t / degrees))
        step = (student_p(t, degrees) - (1.0 - confidence)) / (2.0 * density)
        t += step
        if abs(step) < 1e-12 * t:
            break
    ends = t * (1.0 - 1e-13), t * (1.0 + 1e-13)
    is_between = low <= ends[0] and ends[1] <= high
    if not is_between:
        return low, high
    p_low, p_high = (student_p(end, degrees) for end in ends)
    return ends if p_low > 1.0 - confidence >= p_high else (low, high)
