"""The names under which the grader and its relatives are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from custom_metrics.math.grade import grade
from custom_metrics.math.peer_scorers import score_original


def math_equal(*, gold: str, response: str) -> bool:
    r"""Returns whether the last boxed answer of a reply equals the gold answer.

    Range: False or True, higher is better. Conventions: docs/math-grading.md. Reference: none; the
    graders of the field disagree with each other, see `math_original_llama`, `math_minerva`,
    `math_leaderboard`.

    Args:
        gold: Content of the gold box.
        response: The whole reply.

    >>> math_equal(gold=r"\frac{1}{2}", response=r"The answer is $\boxed{0.5}$.")
    True
    """
    return grade(gold, response).correct


def math_grade(*, gold: str, response: str) -> dict[str, Any]:
    """Returns the verdict with its reasons: `correct`, `extracted`, `method`, `why`; see `Verdict`.

    Args:
        gold: Content of the gold box.
        response: The whole reply.

    >>> math_grade(gold="2", response="no box")["method"]
    'none'
    """
    return grade(gold, response).as_dict()


def math_original_llama(*, gold: str, response: str) -> bool:
    """Verdict of the MATH scorer of the Llama evaluation recipe (llama-cookbook, commit 0e00335).

    Known deviations from the recipe: a frame box or an assertion is a wrong answer instead of the
    end of the run, and the five seconds are CPU time of a worker process instead of SIGALRM.

    Args:
        gold: Content of the gold box.
        response: The whole reply.
    """
    return score_original("llama", gold, response)


def math_minerva(*, gold: str, response: str) -> bool:
    """Verdict (`exact_match`) of lm-eval's minerva_math scorer, as installed.

    The scorer reads the sentence "Final Answer: The final answer is ...". A reply without it is
    scored as if its last box stood in that sentence.

    Args:
        gold: Content of the gold box.
        response: The whole reply.
    """
    return score_original("minerva", gold, response)


def math_leaderboard(*, gold: str, response: str) -> bool:
    """Verdict (`exact_match`, by math-verify) of lm-eval's leaderboard_math_hard scorer.

    It is that of the installed version of math-verify.

    Args:
        gold: Content of the gold box.
        response: The whole reply.
    """
    return score_original("leaderboard", gold, response)


METRICS: dict[str, Callable[..., Any]] = {
    "math_equal": math_equal,
    "math_grade": math_grade,
    "math_original_llama": math_original_llama,
    "math_minerva": math_minerva,
    "math_leaderboard": math_leaderboard,
}
