"""The one rule for what counts as a number in policies, results files, prepared rows and scores."""

from __future__ import annotations

import math
from typing import Any


def finite_number(value: Any) -> float | None:
    """Returns a number as a float, and None for everything else.

    True and false are no numbers, nor are texts, NaN, infinities and integers beyond the range of a
    float (about 1.8e308).

    >>> [finite_number(value) for value in (3, 0.5, True, "3", float("nan"), 10**400)]
    [3.0, 0.5, None, None, None, None]
    """
    if type(value) is float:  # nearly all values are; the tests below are for the others
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
