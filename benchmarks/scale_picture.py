"""The plans of the cost model as a picture: makespan over replicas for each number of prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 560, 40, 350
COLOURS = ("#1b6ca8", "#b3541e", "#3a7d44")
TEXT, GRID = "#222222", "#dddddd"
HOUR = 3600.0


@dataclass(frozen=True)
class Point:
    """A plan, and what it would take if every second of every replica answered prompts.

    Attributes:
        replicas: Replicas.
        makespan: Seconds from the start to the results file.
        ideal: Seconds of all prompts over the replicas.
    """

    replicas: int
    makespan: float
    ideal: float


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis: values from `low` to `high` on pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def draw(lines: Mapping[int, Sequence[Point]]) -> str:
    """Draws the plans.

    Args:
        lines: Number of prompts -> its plans, by their replicas.
    """
    points = [point for several in lines.values() for point in several]
    replicas = sorted({point.replicas for point in points})
    hours = [value / HOUR for point in points for value in (point.makespan, point.ideal)]
    across = Scale(replicas[0], replicas[-1], LEFT, RIGHT)
    up = Scale(_decade(min(hours), math.floor), _decade(max(hours), math.ceil), BOTTOM, TOP)
    parts = list(_frame(across, up, replicas))
    for colour, (prompts, plans) in zip(COLOURS, lines.items(), strict=False):
        parts += _line_of_plans(across, up, plans, colour, f"{prompts:,} prompts")
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    )
    title = "<title>Predicted makespan over the number of replicas</title>"
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    return "\n".join([head, title, ground, *parts, "</svg>", ""])


def _decade(value: float, rounded: Callable[[float], int]) -> float:
    """The power of ten below or above a value."""
    return 10.0 ** rounded(math.log10(value))


def _frame(across: Scale, up: Scale, replicas: Sequence[int]) -> Iterator[str]:
    """The grid with its numbers, the titles of both axes and the legend of the line styles."""
    for number in replicas:
        x = across.at(number)
        yield _line((x, TOP), (x, BOTTOM), GRID)
        yield _text((x, BOTTOM + 20), f"{number:,}", "middle")
    tick = up.low
    while tick < up.high * 1.001:
        y = up.at(tick)
        yield _line((LEFT, y), (RIGHT, y), GRID)
        yield _text((LEFT - 8, y + 4), f"{tick:g}", "end")
        tick *= 10
    yield _text(((LEFT + RIGHT) / 2, BOTTOM + 45), "replicas (log scale)", "middle")
    yield _text((LEFT - 8, TOP - 16), "hours (log scale)", "middle")
    yield _text((LEFT + 120, TOP - 16), "solid: predicted makespan; dashed: prompts alone", "start")


def _line_of_plans(
    across: Scale, up: Scale, plans: Sequence[Point], colour: str, name: str
) -> Iterator[str]:
    """The plans of one number of prompts: the ideal dashed, each plan a point with its hours."""
    spots = [(across.at(plan.replicas), up.at(plan.makespan / HOUR)) for plan in plans]
    ideals = [(across.at(plan.replicas), up.at(plan.ideal / HOUR)) for plan in plans]
    yield _path(ideals, colour, 'stroke-dasharray="5 4" stroke-opacity="0.6"')
    yield _path(spots, colour, 'stroke-width="2"')
    for (x, y), plan in zip(spots, plans, strict=True):
        title = f"{name}, {plan.replicas:,} replicas: {plan.makespan / HOUR:.2f} h"
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="4"'
        yield f'<circle {place} fill="{colour}"><title>{title}</title></circle>'
    last_x, last_y = spots[-1]
    yield _text((last_x + 10, last_y + 4), name, "start", colour)


def _line(start: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    (x1, y1), (x2, y2) = start, end
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{colour}"/>'


def _path(spots: Sequence[tuple[float, float]], colour: str, style: str) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" {style}/>'


def _text(spot: tuple[float, float], text: str, anchor: str, colour: str = TEXT) -> str:
    x, y = spot
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{text}</text>'
