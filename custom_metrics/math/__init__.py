"""Boxed-answer grading of mathematics."""

from __future__ import annotations

from custom_metrics.math.extract import Box, extract_boxed, last_box
from custom_metrics.math.grade import grade
from custom_metrics.math.verdict import Method, Verdict

__all__ = ["Box", "Method", "Verdict", "extract_boxed", "grade", "last_box"]
