"""Ratings and preferences of judges as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalprep.annotate.ratings import Preferred, Rated, Ratings
from evalprep.terminal import plain_table


def tables(ratings: Ratings) -> Iterator[Any]:
    """A table of ratings and one of preferences, those that have rows."""
    if ratings.values:
        yield _ratings(ratings.values)
    if ratings.preferences:
        yield _preferences(ratings.preferences)


def _ratings(values: Sequence[Rated]) -> Any:
    from rich.text import Text

    columns = ("rated", "mean", "95% interval", "differ")
    title = "Ratings: one row per judge, samples whose raters or votes differ"
    names = (("task", "left"), ("rating", "left"), ("judge", "left"))
    table = plain_table(title, *names, *((name, "right") for name in columns))
    for one in values:
        for place, rater in enumerate(one.raters):
            scale = "" if one.low is None or one.high is None else f" {one.low:g}-{one.high:g}"
            table.add_row(
                Text(one.task), Text(f"{one.rubric}.{one.name}{scale}"), Text(rater.judge),
                f"{rater.n} of {one.asked}", number_of(rater.mean), interval(rater.low, rater.high),
                str(one.differing) if place == 0 else "",
            )  # fmt: skip
    return table


def _preferences(several: Sequence[Preferred]) -> Any:
    from rich.text import Text

    title = "Preferences: pairs with a verdict in both orders; the share that goes to this run, ties as a half"
    names = (("task", "left"), ("against", "left"), ("judge", "left"))
    columns = ("pairs", "won/tied/lost", "share", "95% interval", "follow the place")
    table = plain_table(title, *names, *((name, "right") for name in columns))
    for one in several:
        found, rate = one.found, one.found["win_rate"]
        table.add_row(
            Text(one.task), Text(one.other), Text(one.judge), f"{found['n']} of {one.asked}",
            f"{found['wins']}/{found['ties']}/{found['losses']}", number_of(rate["value"]),
            interval(rate["low"], rate["high"]), str(found["flips"]["count"]),
        )  # fmt: skip
    return table


def number_of(value: float | None) -> str:
    """Two decimals: ratings are whole numbers, their means need no more."""
    return "-" if value is None else f"{value:.2f}"


def interval(low: float | None, high: float | None) -> str:
    """`[low, high]`; empty without."""
    return "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
