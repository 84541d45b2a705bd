"""The one rule for what counts as a number in policies, results files, prepared rows and scores.

Numbers that are none of them have no place in JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def strict_json(value: Any) -> Any:
    """The same value as strict JSON: keys as texts, lists for tuples, null for NaN and infinities.

    >>> strict_json({1: (0.5, float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): strict_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
