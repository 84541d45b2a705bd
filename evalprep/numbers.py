"""Numbers as people read them: one rule for the terminal, Markdown and the page."""

from __future__ import annotations

import argparse
from typing import Any

from custom_metrics.finite import finite_number

__all__ = ["count", "finite_number", "number", "percent", "probability", "whole_number"]


def number(value: Any) -> str:
    """Four decimals for shares, so that a column lines up; four significant digits for the rest.

    What is no number, or an integer beyond the range of a float, is `-`.

    >>> [number(value) for value in (0.3, 0, 1, 12.3456, 1.0966e-19, None)]
    ['0.3000', '0.0000', '1.0000', '12.35', '1.097e-19', '-']
    """
    if not isinstance(value, (int, float)):
        return "-"
    try:
        return f"{value:.4f}" if value == 0 or 1e-4 <= abs(value) <= 1 else f"{value:.4g}"
    except OverflowError:
        return "-"


def percent(value: float | None, *, binary: bool = True, sign: bool = False) -> str:
    """A score as percent with one decimal, or a graded one with three significant digits.

    None is `-`.

    >>> percent(0.8125), percent(0.0125, sign=True), percent(12.345, binary=False)
    ('81.2', '+1.2', '12.3')
    """
    if value is None:
        return "-"
    if binary:
        return f"{100 * value:{'+' if sign else ''}.1f}"
    return f"{value:{'+' if sign else ''}.3g}"


def probability(p: float | None) -> str:
    """A p-value with two significant digits; `-` for None.

    >>> probability(0.01234), probability(1e-9), probability(0.9999)
    ('0.012', '<1e-4', '1')
    """
    if p is None:
        return "-"
    if p >= 0.9995:
        return "1"
    return "<1e-4" if p < 1e-4 else f"{p:.2g}"


def p_value(p: float | None) -> str:
    """A p-value inside a sentence.

    >>> p_value(0.0123), p_value(9e-113), p_value(None)
    ('p = 0.012', 'p < 1e-4', 'p not known')
    """
    if p is None:
        return "p not known"
    text = probability(p)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def count(value: float) -> str:
    """A count with commas between the thousands.

    >>> count(12345), count(12.5), count(3.0)
    ('12,345', '12.5', '3')
    """
    return f"{value:,.12g}"


def at_least_one(text: str) -> int:
    """A whole number from 1, as an argument.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def whole_number(value: Any) -> int | None:
    """The number that `int` makes of a setting, as lm-eval takes it; None for anything else."""
    try:
        return None if isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None
