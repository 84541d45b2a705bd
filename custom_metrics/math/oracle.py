"""The oracle that decides about expressions.

One that answers in the calling process or not at all, and one with all means.
"""

from __future__ import annotations

from typing import Protocol

from custom_metrics.math import exact
from custom_metrics.math.exact import NotExactError
from custom_metrics.math.tree import Node


class Oracle(Protocol):
    """Decides about expressions; each method may raise `NotExactError` or `UndefinedError`."""

    def same(self, first: Node, second: Node) -> bool:
        """Returns whether two expressions are equal."""

    def same_equation(self, first: Node, second: Node) -> bool:
        """Returns whether `first = 0` and `second = 0` differ by a constant factor only."""

    def factor(self, first: Node, second: Node) -> int:
        """Sign of the constant factor between two expressions, 0 without one."""

    def order(self, first: Node, second: Node) -> int:
        """Order of two real constants."""


class ExactOracle:
    """The decisions of `exact`."""

    same = staticmethod(exact.same)
    same_equation = staticmethod(exact.same_equation)
    order = staticmethod(exact.order)

    @staticmethod
    def factor(first: Node, second: Node) -> int:
        """Not decided here."""
        raise NotExactError(f"a factor between {first.op} and {second.op}")


class FullOracle:
    """First exact, then with many digits."""

    def same(self, first: Node, second: Node) -> bool:
        """Returns whether two expressions are equal."""
        from custom_metrics.math import numeric

        try:
            return exact.same(first, second)
        except NotExactError:
            return numeric.same(first, second)

    def same_equation(self, first: Node, second: Node) -> bool:
        """Returns whether two equations differ by a constant factor only."""
        from custom_metrics.math import numeric

        try:
            return exact.same_equation(first, second)
        except NotExactError:
            return numeric.factor(first, second) != 0

    def factor(self, first: Node, second: Node) -> int:
        """Sign of the constant factor between two expressions."""
        from custom_metrics.math import numeric

        return numeric.factor(first, second)

    def order(self, first: Node, second: Node) -> int:
        """Order of two real constants."""
        from custom_metrics.math import numeric

        try:
            return exact.order(first, second)
        except NotExactError:
            return numeric.order(first, second)
