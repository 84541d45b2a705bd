"""Numbers as people read them: one rule for the terminal, Markdown and the page."""

from __future__ import annotations

from typing import Any


def number(value: Any) -> str:
    """Four decimals for shares, so that a column lines up; four significant digits for the rest; `-` for None.

    >>> [number(value) for value in (0.3, 0, 1, 12.3456, 1.0966e-19, None)]
    ['0.3000', '0.0000', '1.0000', '12.35', '1.097e-19', '-']
    """
    if not isinstance(value, (int, float)):
        return "-"
    return f"{value:.4f}" if value == 0 or 1e-4 <= abs(value) <= 1 else f"{value:.4g}"


def percent(value: float | None, *, binary: bool = True, sign: bool = False) -> str:
    """A score as percent with one decimal, or a graded one with three significant digits; `-` for None.

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
    return "1" if p >= 0.9995 else "<1e-4" if p < 1e-4 else f"{p:.2g}"


def count(value: float) -> str:
    """A count with commas between the thousands.

    >>> count(12345), count(12.5), count(3.0)
    ('12,345', '12.5', '3')
    """
    return f"{value:,.12g}"
