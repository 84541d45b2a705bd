"""Sets of real numbers as unions of intervals.

By them a domain is compared however it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import NamedTuple

from custom_metrics.math.exact import NotExactError
from custom_metrics.math.tree import INFINITY, MINUS_INFINITY, Node

Order = Callable[[Node, Node], int]


class Cut(NamedTuple):
    """A place between real numbers: just below a value (`after` False) or just above it."""

    value: Node
    after: bool


RealSet = tuple[tuple[Cut, Cut], ...]
"""Disjoint intervals from a cut to a later cut, in order."""

EMPTY: RealSet = ()
REALS: RealSet = ((Cut(MINUS_INFINITY, after=True), Cut(INFINITY, after=False)),)


def interval(low: Node, high: Node, *, low_closed: bool, high_closed: bool) -> RealSet:
    """Returns the interval between two endpoints.

    One that is closed at infinity is no set of real numbers.
    """
    return ((Cut(low, after=not low_closed), Cut(high, after=high_closed)),)


def point(value: Node) -> RealSet:
    """Returns the set of one number."""
    return ((Cut(value, after=False), Cut(value, after=True)),)


def union(sets: list[RealSet], order: Order) -> RealSet:
    """Returns the union, with overlapping and touching intervals merged."""
    pieces = []
    for real_set in sets:
        for low, high in real_set:
            if compare(low, high, order) < 0:  # else it holds no number
                pieces.append((low, high))

    def by_start(piece: tuple[Cut, Cut], other: tuple[Cut, Cut]) -> int:
        return compare(piece[0], other[0], order)

    pieces.sort(key=cmp_to_key(by_start))
    merged: list[tuple[Cut, Cut]] = []
    for low, high in pieces:
        if not merged:
            merged.append((low, high))
            continue
        last_low, last_high = merged[-1]
        if compare(low, last_high, order) > 0:
            merged.append((low, high))
        elif compare(high, last_high, order) > 0:
            merged[-1] = last_low, high
    return tuple(merged)


def complement(real_set: RealSet, order: Order) -> RealSet:
    """Returns the real numbers outside the set."""
    ((start, end),) = REALS
    gaps: list[tuple[Cut, Cut]] = []
    for low, high in union([real_set], order):
        gaps.append((start, low))
        start = high
    gaps.append((start, end))
    return tuple((low, high) for low, high in gaps if compare(low, high, order) < 0)


def intersection(sets: list[RealSet], order: Order) -> RealSet:
    """Returns the intersection."""
    return complement(union([complement(real_set, order) for real_set in sets], order), order)


def equal(first: RealSet, second: RealSet, order: Order) -> bool:
    """Compares two sets that are unions in order."""
    if len(first) != len(second):
        return False
    for (low, high), (other_low, other_high) in zip(first, second, strict=True):
        if compare(low, other_low, order) or compare(high, other_high, order):
            return False
    return True


def compare(first: Cut, second: Cut, order: Order) -> int:
    """Compares two cuts: -1, 0 or 1."""
    difference = _compare_values(first.value, second.value, order)
    return difference or (first.after - second.after)


def _compare_values(first: Node, second: Node, order: Order) -> int:
    rank, other_rank = _rank(first), _rank(second)
    if rank or other_rank:
        return (rank > other_rank) - (rank < other_rank)
    if any(node == INFINITY for node in (*first.walk(), *second.walk())):
        raise NotExactError("infinity in an expression")
    return order(first, second)


def _rank(value: Node) -> int:
    """1 for infinity, -1 for minus infinity, 0 for a number."""
    if value == INFINITY:
        return 1
    return -1 if value == MINUS_INFINITY else 0
