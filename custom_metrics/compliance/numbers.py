"""Numbers as this package passes them on: finite floats, or None where there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from custom_metrics.finite import finite_number as number

__all__ = ["complement", "entry", "mean", "number"]


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
    """Follows keys into nested mappings; None where one is missing."""
    for key in path:
        if not isinstance(mapping, Mapping):
            return None
        mapping = mapping.get(key)
    return mapping
