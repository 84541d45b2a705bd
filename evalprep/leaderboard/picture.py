"""Two drawings as SVG: one score against another, and scores over the steps of a training.

No style attributes: the page's content security policy allows its own style sheet alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import chain

import msgspec

from evalprep.leaderboard.board import Board, Row
from evalprep.leaderboard.columns import Cell, Column
from evalprep.samples import SHARE
from evalprep.score import measured

_LEAST_P = 1e-300  # a p-value of 0 is drawn here
_COLOURS = 6


def log_of(p_value: float) -> float:
    """The logarithm by which a p-value is drawn, also one of 0.

    >>> log_of(0.001), log_of(0.0)
    (-3.0, -300.0)
    """
    return math.log10(max(p_value, _LEAST_P))


class Axis(msgspec.Struct, frozen=True):
    """Values to places along one side of a drawing.

    Attributes:
        low, high: Ends, in powers of ten for a logarithmic axis.
        start, end: Places of the ends.
        log: Logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float, *, log: bool) -> Axis:
        """An axis that holds all values with a little room around them."""
        known = [log_of(value) if log else value for value in values] or [0.0, 1.0]
        low, high = min(known), max(known)
        room = 0.06 * (high - low)
        if not room:
            room = 0.5 if log else 0.05 * abs(high) or 0.05
        upper_end = high + room
        if log:
            upper_end = min(upper_end, 0.4)
        return cls(low - room, upper_end, start, end, log)

    def at(self, value: float) -> float:
        """The place of a value."""
        place = log_of(value) if self.log else value
        share = (place - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Rounds values between the ends."""
        span = self.high - self.low
        if self.log:
            step = max(1, math.ceil(span / most))
            first = math.ceil(self.low)
            last = math.floor(self.high)
            powers = range(first, last + 1)
            return [10.0**power for power in powers if power % step == 0]
        # The smallest of the steps 1, 2, 5, 10, ... that parts the span at most so often.
        magnitude = 10.0 ** math.floor(math.log10(span / most))
        steps = (magnitude * by for by in (1, 2, 5, 10))
        step_size = next(size for size in steps if span / size <= most)
        first = math.ceil(self.low / step_size)
        last = math.floor(self.high / step_size)
        return [number * step_size for number in range(first, last + 1)]


def colours(board: Board) -> dict[str, int]:
    """Trajectory -> number of its colour, in the order of the rows.

    Each training has its own; beyond six they are shared.
    """
    models = [row for row in board.rows if not row.reference]
    names = dict.fromkeys(row.place.trajectory for row in models)
    return {name: at % _COLOURS for at, name in enumerate(names)}


def _value(row: Row, column: Column) -> float | None:
    """The value that is drawn."""
    value = row.cells[column.id].value
    return None if value is None else _scaled(value, column)


def _scaled(value: float, column: Column) -> float:
    """A value on the scale in which it is drawn: percent for a share."""
    return 100.0 * value if column.unit == SHARE else value


Spot = tuple[float, float]


class _Mark(msgspec.Struct, frozen=True):
    """A row of the leaderboard as a point of a drawing."""

    row: Row
    spot: Spot


class _Canvas(msgspec.Struct, frozen=True):
    """The size of a drawing and the sides of its plot, in pixels."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


_SCATTER = _Canvas(900, 480, left=78, right=880, top=16, bottom=432)
_CURVES = _Canvas(430, 250, left=70, right=416, top=14, bottom=216)


def scatter(board: Board, across: Column, up: Column) -> str:
    """One score against another.

    A point per row, checkpoints of one training joined, dashed lines at the reference.
    """
    rows: list[Row] = []
    x_values: list[float] = []
    y_values: list[float] = []
    for row in board.rows:
        x = _value(row, across)
        y = _value(row, up)
        if x is not None and y is not None:
            rows.append(row)
            x_values.append(x)
            y_values.append(y)
    if not rows:
        return ""
    x_axis = Axis.over(x_values, _SCATTER.left, _SCATTER.right, log=across.p_value)
    y_axis = Axis.over(y_values, _SCATTER.bottom, _SCATTER.top, log=up.p_value)
    spots = zip(map(x_axis.at, x_values), map(y_axis.at, y_values), strict=True)
    marks = [_Mark(row, spot) for row, spot in zip(rows, spots, strict=True)]
    axes = x_axis, y_axis
    columns = across, up
    parts = [
        _open(_SCATTER, f"{up.name} against {across.name}"),
        *_frame(axes, columns),
        *_reference_lines(marks, axes),
        *_paths(board, marks),
        *_named_points(board, marks, columns),
    ]
    return "".join([*parts, "</svg>"])


def _reference_lines(marks: Sequence[_Mark], axes: tuple[Axis, Axis]) -> Iterator[str]:
    """Dashed lines through the reference."""
    x_axis, y_axis = axes
    for mark in marks:
        if mark.row.reference:
            x, y = mark.spot
            yield _line("ref", (x, y_axis.end), (x, y_axis.start))
            yield _line("ref", (x_axis.start, y), (x_axis.end, y))


def _paths(board: Board, marks: Sequence[_Mark]) -> Iterator[str]:
    """A line for each training through its checkpoints."""
    spots = {mark.row.label: mark.spot for mark in marks}
    colour = colours(board)
    for name, rows in board.trajectories().items():
        drawn = [spots[row.label] for row in rows if row.label in spots]
        yield _path(drawn, colour[name])


def _path(spots: Sequence[Spot], colour: int) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    return f'<polyline class="path c{colour}" points="{points}"/>'


def _named_points(
    board: Board, marks: Sequence[_Mark], columns: tuple[Column, Column]
) -> Iterator[str]:
    """The points, some with names.

    Named are the first and the last checkpoint of a training, and all other models.
    """
    between_ends: set[str] = set()
    ends: set[str] = set()
    for rows in board.trajectories().values():
        ends |= {rows[0].label, rows[-1].label}
        between_ends |= {row.label for row in rows[1:-1]}
    colour = colours(board)
    taken: list[Spot] = []
    for mark in marks:
        row = mark.row
        cells = [row.cells[column.id] for column in columns]
        texts = []
        for cell, column in zip(cells, columns, strict=True):
            texts.append(f"{column.name} {measured(cell.value, column.unit)}")
        text = f"{row.label}: {', '.join(texts)}"
        yield _point(mark, colour, text, cells)
        if row.label in ends or row.label not in between_ends:
            yield _label(row, mark.spot, taken)


def _open(canvas: _Canvas, title: str) -> str:
    box = f'viewBox="0 0 {canvas.width} {canvas.height}"'
    sides = f'width="{canvas.width}" height="{canvas.height}"'
    label = escape(title, quote=True)
    return f'<svg {box} {sides} role="img" aria-label="{label}">'


def _point(mark: _Mark, colour: dict[str, int], text: str, cells: Sequence[Cell]) -> str:
    row = mark.row
    reasons: dict[str, None] = {}
    for cell in cells:
        reasons |= dict.fromkeys(cell.why)
    lines = "\n".join([text, *reasons])
    title = f"<title>{escape(lines)}</title>"
    x, y = mark.spot
    if row.reference:
        outline = f"M{x:.1f} {y - 11:.1f}l11 11l-11 11l-11 -11z"
        return f'<path class="refpoint" d="{outline}">{title}</path>'
    kind = f"point c{colour[row.place.trajectory]}"
    if any(cell.standing for cell in cells):
        kind += " hollow"
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5.5">{title}</circle>'


def _label(row: Row, spot: Spot, taken: list[Spot]) -> str:
    """The name beside a point, moved down where another one stands."""
    x, y = spot
    y += 4
    near = [other_y for other_x, other_y in taken if abs(x - other_x) < 150]
    while any(abs(y - other_y) < 13 for other_y in near):
        y += 13
    taken.append((x, y))
    name = row.label if len(row.label) <= 34 else f"…{row.label[-33:]}"
    is_near_right_edge = x > 0.72 * _SCATTER.width
    if is_near_right_edge:
        return _text("name", (x - 10, y), name, "end")
    return _text("name", (x + 10, y), name, "start")


def _frame(axes: tuple[Axis, Axis], columns: tuple[Column, Column]) -> Iterator[str]:
    """Lines, numbers and titles of both axes of a scatter."""
    left, right = _SCATTER.left, _SCATTER.right
    top, bottom = _SCATTER.top, _SCATTER.bottom
    x_axis, y_axis = axes
    across, up = columns
    yield from _levels(_SCATTER, y_axis, 5)
    for tick in x_axis.ticks(7):
        x = x_axis.at(tick)
        number = _tick(tick, log=x_axis.log)
        yield _line("grid", (x, top), (x, bottom))
        yield _text("tick", (x, _SCATTER.height - 30), number, "middle")
    centre = ((left + right) / 2, _SCATTER.height - 8)
    yield _text("axis", centre, _axis(across), "middle")
    middle = (top + bottom) / 2
    label = _text("axis", (16, middle), _axis(up), "middle")
    yield f'<g transform="rotate(-90 16 {middle:.0f})">{label}</g>'


def _levels(canvas: _Canvas, axis: Axis, most: int) -> Iterator[str]:
    """Lines and numbers of an upright axis."""
    for tick in axis.ticks(most):
        y = axis.at(tick)
        yield _line("grid", (canvas.left, y), (canvas.right, y))
        yield _text("tick", (canvas.left - 6, y + 4), _tick(tick, log=axis.log), "end")


def _line(kind: str, start: Spot, end: Spot) -> str:
    x1, y1 = start
    x2, y2 = end
    start_place = f'x1="{x1:.1f}" y1="{y1:.1f}"'
    end_place = f'x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{kind}" {start_place} {end_place}/>'


def _text(kind: str, spot: Spot, text: str, anchor: str) -> str:
    x, y = spot
    attributes = f'class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {attributes}>{escape(text)}</text>"


def _axis(column: Column) -> str:
    return f"{column.full_heading}{' (log scale)' if column.p_value else ''}"


def _tick(value: float, *, log: bool) -> str:
    if log and value < 0.01:
        return f"1e{round(math.log10(value))}"
    return f"{value:.6g}"


def curves(board: Board, column: Column) -> str:
    """A score over the steps.

    Each training is a line with intervals, and the reference a dashed line.
    """
    lines = _lines_of(board, column)
    if not lines:
        return ""
    references = [row for row in board.rows if row.reference and _value(row, column) is not None]
    steps = list(map(_step_of, chain.from_iterable(lines.values())))
    values = list(_ends_of([*lines.values(), references], column))
    x_axis = Axis.over(steps, _CURVES.left, _CURVES.right, log=False)
    y_axis = Axis.over(values, _CURVES.bottom, _CURVES.top, log=column.p_value)
    colour = colours(board)
    parts = [_open(_CURVES, f"{column.name} over steps"), *_levels(_CURVES, y_axis, 4)]
    for tick in x_axis.ticks(6):
        if tick >= 0:
            spot = (x_axis.at(tick), _CURVES.height - 14)
            parts.append(_text("tick", spot, f"{tick:.6g}", "middle"))
    for row in references:
        y = y_axis.at(_value(row, column) or 0.0)
        parts.append(_line("ref", (_CURVES.left, y), (_CURVES.right, y)))
    for name, rows in lines.items():
        marks = []
        for row in rows:
            x = x_axis.at(_step_of(row))
            y = y_axis.at(_value(row, column) or 0)
            marks.append(_Mark(row, (x, y)))
        parts.append(_path([mark.spot for mark in marks], colour[name]))
        parts += _points_with_intervals(marks, column, y_axis, colour)
    return "".join([*parts, "</svg>"])


def _step_of(row: Row) -> float:
    return float(row.place.step or 0)


def _lines_of(board: Board, column: Column) -> dict[str, list[Row]]:
    """The checkpoints of each training that have a value; of trainings with two and more."""
    lines = {}
    for name, rows in board.trajectories().items():
        with_value = [row for row in rows if _value(row, column) is not None]
        if len(with_value) > 1:
            lines[name] = with_value
    return lines


def _ends_of(groups: Sequence[Sequence[Row]], column: Column) -> Iterator[float]:
    """Every value and every end of an interval that is drawn."""
    for rows in groups:
        for row in rows:
            cell = row.cells[column.id]
            for value in (cell.value, cell.low, cell.high):
                if value is not None:
                    yield _scaled(value, column)


def _points_with_intervals(
    marks: Sequence[_Mark], column: Column, y_axis: Axis, colour: dict[str, int]
) -> Iterator[str]:
    """The checkpoints of one training, each with its interval."""
    for mark in marks:
        row = mark.row
        cell = row.cells[column.id]
        if cell.low is not None and cell.high is not None:
            x, _y = mark.spot
            low = y_axis.at(_scaled(cell.low, column))
            high = y_axis.at(_scaled(cell.high, column))
            number = colour[row.place.trajectory]
            yield _line(f"whisker c{number}", (x, low), (x, high))
        text = f"{row.label}: {measured(cell.value, column.unit)}"
        yield _point(mark, colour, text, [cell])
