"""Scores of several draws of one row: pass@k, maj@k, their mean and their variance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def pass_at_k(*, n: int, c: int, k: int) -> float | None:
    """The unbiased chance that at least one of k draws passes.

    1 - C(n - c, k) / C(n, k), as a product over the n draws (Chen et al. 2021, arXiv 2107.03374).

    Value in [0, 1], higher is better.

    Args:
        n: Replies drawn.
        c: How many passed.
        k: Draws asked about.

    Returns:
        The estimate; None where fewer than k were drawn.

    >>> round(pass_at_k(n=10, c=3, k=1), 6)
    0.3
    """
    if not 0 <= c <= n or not 0 < k <= n:
        return None
    missed = 1.0
    for drawn in range(n - c + 1, n + 1):
        missed *= max(1.0 - k / drawn, 0.0)
    return 1.0 - missed


def best_at_k(*, values: Sequence[float], k: int) -> float | None:
    """The expected best value of k draws: `pass_at_k` for values between 0 and 1 too.

    With the n values sorted from low to high, the sum over i of v_i C(i - 1, k - 1) / C(n, k): the
    mean of the maximum over all sets of k draws, without bias. Where every value is 0 or 1 it is
    1 - C(n - c, k) / C(n, k).

    In [0, 1] for values in [0, 1]; higher is better.

    Args:
        values: One value per draw; negate them where lower is better.
        k: Draws asked about.

    Returns:
        The estimate; None where fewer than k were drawn.

    >>> round(best_at_k(values=[0.0, 0.5, 1.0], k=2), 6)
    0.833333
    """
    n = len(values)
    if not 0 < k <= n:
        return None
    if all(value in (0, 1) for value in values):
        passed = sum(value == 1 for value in values)
        return pass_at_k(n=n, c=passed, k=k)
    sets = math.comb(n, k)
    terms = []
    for below, value in enumerate(sorted(map(float, values))):
        # In so many of the sets of k draws, this value is the largest.
        sets_led = math.comb(below, k - 1)
        terms.append(value * (sets_led / sets))
    return math.fsum(terms)


def maj_at_k(*, answers: Sequence[Hashable], values: Sequence[float], k: int) -> float | None:
    """The value of the answer that most of the first k draws give (self-consistency).

    Equal answers are votes for one another. Of answers with equally many votes the one that was
    drawn first wins, as in lm-eval's `majority_vote`; a reply without a readable answer votes too.

    In [0, 1] for values in [0, 1]; higher is better. Source: Wang et al. 2022, arXiv 2203.11171.

    Args:
        answers: The answer of each draw, as the task's filter left it.
        values: The value of each draw.
        k: How many draws vote.

    Returns:
        The value of the first draw with the winning answer; None where fewer than k were drawn.

    >>> maj_at_k(answers=["7", "8", "8", "7", "8"], values=[1, 0, 0, 1, 0], k=5)
    0.0
    """
    if not 0 < k <= len(answers) or len(answers) != len(values):
        return None
    voting = list(answers[:k])
    winner, _ = Counter(voting).most_common(1)[0]
    return float(values[voting.index(winner)])


def mean_at_k(*, values: Sequence[float]) -> float | None:
    """The mean over the draws of a row; pass@1 where every value is 0 or 1.

    In [0, 1] for values in [0, 1]; higher is better.

    Args:
        values: One value per draw.

    Returns:
        The mean; None without a draw.

    >>> mean_at_k(values=[1, 0, 1, 1])
    0.75
    """
    return math.fsum(values) / len(values) if values else None


def var_at_k(*, values: Sequence[float]) -> float | None:
    """The variance over the draws of a row, without bias.

    The sum of (v_i - mean)^2 over n - 1; for values of 0 and 1 it is c (n - c) / (n (n - 1)). The
    root of its mean over the rows, over the root of the number of rows, is the standard deviation
    of a score of one draw per row over repetitions of the run.

    In [0, 0.5] for values in [0, 1]; neither direction is better.

    Args:
        values: One value per draw.

    Returns:
        The variance; None where fewer than two were drawn.

    >>> var_at_k(values=[1, 0, 1, 0])
    0.3333333333333333
    """
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


METRICS = {
    "best_at_k": best_at_k,
    "maj_at_k": maj_at_k,
    "mean_at_k": mean_at_k,
    "pass_at_k": pass_at_k,
    "var_at_k": var_at_k,
}
