"""Numbers as this package passes them on: finite floats, or None where there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any


def number(value: Any) -> float | None:
    """Return a finite number as a float, and None for everything else, truth values and texts included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of numbers; None for no numbers, and where one of them is unknown."""
    known = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return math.fsum(known) / len(known) if known else None


def complement(value: float | None) -> float | None:
    """1 - value; None stays None."""
    return None if value is None else 1.0 - value


def entry(mapping: Any, *path: str) -> Any:
    """Follow keys into nested mappings; None where one is missing."""
    for key in path:
        if not isinstance(mapping, Mapping):
            return None
        mapping = mapping.get(key)
    return mapping
