"""The leaderboard for a terminal of 80 columns: tables that each fit, signs, and what they mean."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from evalprep.leaderboard.board import LEADING, LEADS, Board, Cell, Row, label_of, sign_of
from evalprep.leaderboard.columns import Column
from evalprep.leaderboard.picture import log_of
from evalprep.leaderboard.values import signs_of, value_text
from evalprep.results import SHARE
from evalprep.terminal import counted

_GAP = 2
_HEADING = 9  # characters of a heading's line, where its words allow
_LEAST_LABEL = 16
_LINES = 100  # of tables, where nobody asked for certain columns
_HEAD = 4  # lines of a table around its rows
_CURVE_NAME = 28  # characters of a column's name beside its bars
_CURVE_STEPS = 3  # checkpoints from which a training has bars
_PAIRS = 8  # that differ, in the terminal
_BARS = "▁▂▃▄▅▆▇█"
_SEEDS = "rows of several seeds show means, of p-values the median; --out has standard deviations"


def text(board: Board, width: int | None = None) -> str:
    """The leaderboard as lines.

    All columns that were asked for by name, else as many as a person looks through.

    Args:
        board: The leaderboard.
        width: Characters in a line; those of the terminal by default, 80 where there is none.
    """
    width = width or shutil.get_terminal_size((80, 24)).columns
    stems = _labels(board, width)
    room = width - len(stems[0])
    blocks = list(_blocks(board, room))
    other_columns = "--scores shows others"
    most = max(1, _LINES // (len(board.rows) + _HEAD))
    if len(blocks) > most and not board.columns.named:
        board = _first_columns(board, sum(map(len, blocks[:most])))
        blocks = list(_blocks(board, room))
        other_columns = "--scores '*' shows all"
    count = len(board.columns.shown)
    all_count = len(board.columns.all)
    models = counted(len(board.rows), "model")
    lines = [f"{models}, {count} of {all_count} columns ({other_columns})"]
    for block in blocks:
        lines += ["", *_table(board, block, stems)]
    lines += _curves(board, width)
    for note in _legend(board):
        lines += textwrap.wrap(note, width, subsequent_indent="  ") or [""]
    return "\n".join(lines)


def _first_columns(board: Board, count: int) -> Board:
    """The leaderboard with its first columns alone, that by which it is sorted among them."""
    # Stable: the others keep their order.
    shown = sorted(board.columns.shown, key=lambda column: column.name != board.sort)
    columns = replace(board.columns, shown=shown[:count])
    return replace(board, columns=columns)


def _labels(board: Board, width: int) -> list[str]:
    """The first column, heading first: names of equal width, shortened in the middle."""
    room = max(_LEAST_LABEL, width - 4 * (_HEADING + _GAP))
    names = ["model", *map(label_of, board.rows)]
    shown = [_shorten(name, room) for name in names]
    longest = max(map(len, shown))
    return [name.ljust(longest) for name in shown]


def _shorten(name: str, size: int) -> str:
    if len(name) <= size:
        return name
    head = (size - 1) // 3
    tail = size - 1 - head
    return f"{name[:head]}…{name[len(name) - tail :]}"


def _heading(column: Column, widest: int) -> list[str]:
    """A name over several lines, broken behind underscores where it can be."""
    size = max(_HEADING, widest)
    *first_pieces, last_piece = column.name.split("_")
    parts = [f"{piece}_" for piece in first_pieces]
    lines: list[str] = []
    for part in [*parts, last_piece]:
        if lines and len(lines[-1]) + len(part) <= size:
            lines[-1] += part
        else:
            lines.append(part)
    signs = signs_of(column)
    if signs:
        if len(lines[-1]) + 1 + len(signs) <= size:
            lines[-1] += f" {signs}"
        else:
            lines.append(signs)
    return lines


def shown(cell: Cell | None, column: Column) -> str:
    """A value with its sign."""
    if cell is None:
        return "-"
    sign = sign_of(cell) or " "
    return value_text(cell.value, column) + sign


class _Shown(NamedTuple):
    """A column on the screen: the lines of its heading, and its width."""

    column: Column
    heading: list[str]
    width: int


_Block = list[_Shown]


def _blocks(board: Board, room: int) -> Iterator[_Block]:
    """Columns with their headings and widths, as many at a time as fit."""
    block: _Block = []
    used = 0
    for column in board.columns.shown:
        values = [shown(row.cells.get(column.id), column) for row in board.rows]
        widest = max(map(len, values), default=1)
        heading = _heading(column, widest)
        width = max(widest, *map(len, heading))
        if block and used + _GAP + width > room:
            yield block
            block, used = [], 0
        block.append(_Shown(column, heading, width))
        used += _GAP + width
    if block:
        yield block


def _table(board: Board, block: _Block, labels: Sequence[str]) -> list[str]:
    lines = list(_head_lines(block, labels[0]))
    width = len(labels[0]) + sum(_GAP + each.width for each in block)
    lines.append("─" * width)
    for row, label in zip(board.rows, labels[1:], strict=True):
        cells = []
        for each in block:
            cell = row.cells.get(each.column.id)
            text = shown(cell, each.column)
            cells.append(text.rjust(each.width))
        lines.append(_line_of(label, cells))
    return lines


def _head_lines(block: _Block, label: str) -> Iterator[str]:
    """The headings, which end in the last line of the head."""
    height = max(len(each.heading) for each in block)
    for line in range(height):
        cells = []
        for _column, heading, width in block:
            lines_above = height - len(heading)
            # Right above the digits: the last character of a cell is its sign.
            text = heading[line - lines_above] if line >= lines_above else ""
            cells.append(text.rjust(width))
        is_last = line == height - 1
        yield _line_of(label if is_last else " " * len(label), cells)


def _line_of(label: str, cells: Sequence[str]) -> str:
    gap = " " * _GAP
    return gap.join([label, *cells]).rstrip()


def _curves(board: Board, width: int) -> list[str]:
    """A line per trajectory and column.

    The values over the steps as small bars, each between its least and largest.
    """
    lines: list[str] = []
    longest = max((len(column.heading) for column in board.columns.shown), default=0)
    longest = min(longest, _CURVE_NAME)
    for name, rows in board.trajectories().items():
        if len(rows) < _CURVE_STEPS:
            continue
        last_part = name.rpartition("/")[2]
        short_name = _shorten(last_part or name, 24)
        first, last = rows[0].place.step, rows[-1].place.step
        lines += ["", f"{short_name}, steps {first} to {last}"]
        for column in board.columns.shown:
            values = [_drawn(row, column) for row in rows]
            lines += _curve(column, values, longest, width)
    return lines


def _curve(
    column: Column, values: Sequence[float | None], longest: int, width: int
) -> Iterator[str]:
    """The bars of one column with its first and last value; nothing for fewer than two values."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return
    heights = list(values)
    if column.p_value:  # powers of ten apart
        heights = [None if value is None else log_of(value) for value in values]
    most = max(8, width - longest - 26)
    bars = spark(_thinned(heights, most))
    name = _shorten(column.heading, longest).ljust(longest)
    first = value_text(known[0], column)
    last = value_text(known[-1], column)
    unit = " %" if column.unit == SHARE else ""
    yield f"  {name}  {bars}  {first} to {last}{unit}"


def _drawn(row: Row, column: Column) -> float | None:
    cell = row.cells.get(column.id)
    if cell is None or cell.standing:
        return None
    return cell.value


def _thinned(values: Sequence[float | None], most: int) -> list[float | None]:
    """Values from the first to the last at even distances.

    So that the bars end where the training ends.

    >>> _thinned([0.0, 1.0, 2.0, 3.0, 4.0], 3)
    [0.0, 2.0, 4.0]
    """
    if len(values) <= most:
        return list(values)
    last = len(values) - 1
    return [values[round(at * last / (most - 1))] for at in range(most)]


def spark(values: Sequence[float | None]) -> str:
    """Values as bars between the least and the largest; a dot where there is none.

    >>> spark([0.0, 0.5, None, 1.0])
    '▁▅·█'
    """
    known = [value for value in values if value is not None]
    low = min(known, default=0.0)
    high = max(known, default=0.0)
    span = (high - low) or 1.0
    top = len(_BARS) - 1
    bars = ""
    for value in values:
        if value is None:
            bars += "·"
        else:
            height = int((value - low) / span * top + 0.5)
            bars += _BARS[height]
    return bars


def _legend(board: Board) -> list[str]:
    """Returns what the signs mean, which pairs differ, why values are missing, and notes."""
    cells = [cell for _, _, cell in board.shown_cells()]
    lines = [""]
    if any(cell.leads for cell in cells):
        lines.append(f"{LEADS} {LEADING}")
    if _has_seeds(board):
        lines.append(_SEEDS)
    for names, why in board.without_leader():
        lines.append(f"no {LEADS} (best value) for {names}: {why}")
    if any(cell.standing for cell in cells):
        lines += _footnotes(board)
    lines += _pairs(board)
    lines += [f"- {reason}" for reason in board.absent()]
    return [*lines, *(f"note: {note}" for note in board.notes)]


def _has_seeds(board: Board) -> bool:
    """Returns whether a row stands for several seeds."""
    return any(len(row.members) > 1 for row in board.rows)


def _footnotes(board: Board) -> list[str]:
    """The reasons of the cells with a sign, and what the signs mean."""
    lines = [f"{sign} {footnote}" for sign, footnote in board.footnotes()]
    return [*lines, "† and ‡: not comparable; excluded from the ranking"]


def _pairs(board: Board) -> list[str]:
    """The pairs that differ, as many as a person looks through."""
    pairs = board.pair_lines()
    hidden = board.hidden_differences()
    lines = ["pairs that differ:"] if pairs or hidden else []
    lines += [f"  {line}" for line in pairs[:_PAIRS]]
    if len(pairs) > _PAIRS:
        lines.append(f"  and {len(pairs) - _PAIRS} more; --json and --out show all")
    if hidden:
        lines.append(f"  also in columns that are not shown: {hidden}; --scores shows them")
    return lines
