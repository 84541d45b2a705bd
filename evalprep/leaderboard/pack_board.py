"""Tables over many models in the manner of a pack.

They hold the leaderboard's rows, and the pack's `export.py` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from evalprep.leaderboard.board import Board, Row
from evalprep.leaderboard.columns import Column, Columns
from evalprep.leaderboard.page import render
from evalprep.packapi import ExportBoard, ExportCell, ExportDifference, ExportRow
from evalprep.packs import Pack
from evalprep.tables import harmless


def export_board(
    board: Board, packs: Mapping[str, Pack], folder: Path
) -> tuple[list[Path], list[str]]:
    """Lets each pack of the board's scores write its own table (`export_board` in its `export.py`).

    Where the export of a pack fails, the others still write theirs.

    Args:
        board: The leaderboard.
        packs: All packs.
        folder: Where to; made if it does not exist.

    Returns:
        What was written, and a note on each export that failed.

    Raises:
        OSError: `folder` cannot be written.
    """
    written: list[Path] = []
    failures: list[str] = []
    for pack in packs.values():
        columns = [column for column in board.columns.all if column.of(pack.name)]
        module = pack.module("export") if columns else None
        write = getattr(module, "export_board", None)
        if write is None:
            continue
        shown = _board_of_pack(board, pack, columns)
        try:
            written += [Path(path) for path in write(board=shown, out_dir=folder)]
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001
            # The leaderboard is there; a pack's own files must not cost it.
            failures.append(
                f"export.py of pack {pack.name} failed: {type(error).__name__}: {error}"
            )
    return written, failures


def _board_of_pack(board: Board, pack: Pack, columns: Sequence[Column]) -> ExportBoard:
    """The part of the leaderboard that a pack exports.

    It has the columns of the pack, and the rows with a value in one of them.
    """
    rows = [
        row
        for row in board.rows
        if any(row.cells[column.id].value is not None for column in columns)
    ]
    places: dict[str, int] = {}
    for place, name in enumerate(pack.leaderboard.columns):
        places.setdefault(f"{pack.name}/{name}", place)
    headline = [column for column in columns if column.id in places]
    headline.sort(key=lambda column: places[column.id])
    own = Board(
        columns=Columns(list(columns), headline or list(columns)),
        rows=rows,
        anchor=board.anchor,
        unmarked=board.unmarked,
        notes=board.notes,
        sort=board.sort,
    )
    return ExportBoard(
        [_row(row, pack, columns) for row in rows],
        partial(render, own),
        tuple(board.notes),
        _differences(board, pack) if rows == board.rows else {},
    )


def _differences(board: Board, pack: Pack) -> dict[str, ExportDifference]:
    """The conclusions on a pack's scores, of a table of two runs."""
    differences = {}
    for name, conclusion in board.differences.items():
        owner, _, own_name = name.partition("/")
        if owner == pack.name and own_name:
            item = conclusion.difference
            differences[own_name] = ExportDifference(
                item.delta, item.low, item.high, conclusion.words
            )
    return differences


def _row(row: Row, pack: Pack, columns: Sequence[Column]) -> ExportRow:
    cells = {}
    for column in columns:
        cell = row.cells[column.id]
        cells[column.id.removeprefix(f"{pack.name}/")] = ExportCell(
            cell.value,
            cell.reason,
            tuple(f"{cell.standing}: {why}" for why in cell.why),
            tuple(cell.notes),
        )
    return ExportRow(str(harmless(row.label)), str(harmless(row.model)), cells, trial=row.trial)
