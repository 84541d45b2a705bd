"""Grade the boxed answer of a reply against a gold answer."""

from __future__ import annotations

import re
from fractions import Fraction

from custom_metrics.math.extract import extract_boxed
from custom_metrics.math.verdict import Verdict

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:/\d+)?")


def grade(gold: str, response: str) -> Verdict:
    """Compare the last boxed answer of `response` with `gold` (the content of the gold box)."""
    answer = extract_boxed(response)
    if answer is None:
        return Verdict(correct=False, extracted=None, method="none", why="the reply has no complete last box")
    left, right = "".join(gold.split()), "".join(answer.split())
    if left == right:
        return Verdict(correct=True, extracted=answer, method="string", why="same text")
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right) and len(left) + len(right) < 200:
        try:
            same = Fraction(left) == Fraction(right)
        except (ValueError, ZeroDivisionError):
            same = False
        return Verdict(correct=same, extracted=answer, method="number", why="compared as numbers")
    return Verdict(correct=False, extracted=answer, method="structure", why="different text")
