"""Any number of runs in one table.

A row per model, a column per score, what may not be put beside what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.leaderboard.board import Board
    from evalprep.leaderboard.building import build_board, groups_of
    from evalprep.leaderboard.columns import table_columns
    from evalprep.leaderboard.pack_board import export_board
    from evalprep.leaderboard.pack_tables import export_tables
    from evalprep.leaderboard.pairs import Judged
    from evalprep.leaderboard.screen import text
    from evalprep.leaderboard.tables import render_latex
    from evalprep.leaderboard.write import FORMATS, write_board
else:
    __getattr__ = offered(__name__)
