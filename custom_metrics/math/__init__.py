"""Boxed-answer grading of mathematics.

`grade` scores one reply; the scorers of other tools stand beside it.

Conventions, cascade and bounds are in docs/math-grading.md.
"""

from __future__ import annotations

from custom_metrics.math.extract import Box, extract_boxed, last_box
from custom_metrics.math.grade import grade, grade_answer
from custom_metrics.math.peer_scorers import Disagreement, disagreements, score_original
from custom_metrics.math.verdict import Method, Verdict

__all__ = [
    "Box",
    "Disagreement",
    "Method",
    "Verdict",
    "disagreements",
    "extract_boxed",
    "grade",
    "grade_answer",
    "last_box",
    "score_original",
]
