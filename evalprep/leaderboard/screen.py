"""The leaderboard for a terminal of 80 columns: tables that each fit, signs, and what they mean."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from evalprep import tables
from evalprep.leaderboard.board import Board, Row
from evalprep.leaderboard.columns import Cell
from evalprep.leaderboard.picture import log_of
from evalprep.leaderboard.tables import sayings, score_table
from evalprep.score import measured
from evalprep.tables import LEADS, Table
from evalprep.terminal import counted

_LINES = 100  # of tables, where nobody asked for certain columns
_HEAD = 4  # lines of a table around its rows
_CURVE_NAME = 28  # characters of a column's name beside its bars
_CURVE_ENDS = 26  # characters around its bars: indent, gaps, first and last value
_CURVE_STEPS = 3  # checkpoints from which a training has bars
_PAIRS = 8  # that differ, in the terminal
_BARS = "▁▂▃▄▅▆▇█"


def text(board: Board, width: int | None = None) -> str:
    """The leaderboard as lines.

    All columns that were asked for by name, else as many as a person looks through.

    Args:
        board: The leaderboard.
        width: Characters in a line; those of the terminal by default, 80 where there is none.
    """
    width = width or shutil.get_terminal_size((80, 24)).columns
    blocks = tables.column_blocks(score_table(board, board.columns.shown), width)
    other_columns = "--scores shows others"
    most = max(1, _LINES // (len(board.rows) + _HEAD))
    if len(blocks) > most and not board.columns.named:
        count = sum(len(block.columns) - 1 for block in blocks[:most])
        # The column by which the table is sorted comes first; the others keep their order.
        shown = sorted(board.columns.shown, key=lambda column: column.name != board.sort)
        board = replace(board, columns=replace(board.columns, shown=shown[:count]))
        blocks = tables.column_blocks(score_table(board, board.columns.shown), width)
        other_columns = "--scores '*' shows all"
    count = len(board.columns.shown)
    all_count = len(board.columns.all)
    models = counted(len(board.rows), "model")
    lines = [f"{models}, {count} of {all_count} columns ({other_columns})"]
    for block in blocks:
        lines += ["", *tables.block_lines(block, width)]
    lines += _curves(board, width)
    sentences = sayings(board, leading=f"{LEADS} {board.leading}")
    for note in ("", *_pairs(board), *sentences):
        lines += textwrap.wrap(note, width, subsequent_indent="  ") or [""]
    return "\n".join(lines)


def _curves(board: Board, width: int) -> list[str]:
    """A line per trajectory and column.

    The values over the steps as small bars, each between its least and largest.
    """
    lines: list[str] = []
    for name, rows in board.trajectories().items():
        if len(rows) < _CURVE_STEPS:
            continue
        last_part = name.rpartition("/")[2]
        short_name = tables.shortened(last_part or name, 24)
        first, last = rows[0].place.step, rows[-1].place.step
        lines += ["", f"{short_name}, steps {first} to {last}"]
        lines += tables.table_lines(_curve_table(board, rows, width), indent="  ")
    return lines


def _curve_table(board: Board, rows: Sequence[Row], width: int) -> Table:
    """The columns that have two values or more over the steps."""
    curves = Table("", [tables.Column(""), tables.Column(""), tables.Column("")])
    names = [tables.shortened(column.heading, _CURVE_NAME) for column in board.columns.shown]
    most_bars = max(8, width - max(map(len, names), default=0) - _CURVE_ENDS)
    for name, column in zip(names, board.columns.shown, strict=True):
        cells = [row.cells.get(column.id, Cell()) for row in rows]
        values = [None if cell.standing else cell.value for cell in cells]
        known = [value for value in values if value is not None]
        if len(known) < 2:
            continue
        heights = values
        if column.p_value:  # powers of ten apart
            heights = [None if value is None else log_of(value) for value in values]
        bars = spark(_thinned(heights, most_bars))
        first, last = (measured(value, column.unit) for value in (known[0], known[-1]))
        curves.add(name, bars, f"{first} to {last} {column.sign}".rstrip())
    return curves


def _thinned(values: Sequence[float | None], most: int) -> list[float | None]:
    """Values from the first to the last at even distances.

    The last is kept, so that the bars end where the training ends.

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
