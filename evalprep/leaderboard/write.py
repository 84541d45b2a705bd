"""The leaderboard's files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from evalprep.files import write_atomically
from evalprep.leaderboard.board import Board
from evalprep.leaderboard.tables import render_markdown, write_csv, write_xlsx

FORMATS = ("html", "csv", "md", "xlsx", "json")


def write_board(
    board: Board, folder: Path, formats: Sequence[str] = ("html", "csv", "md")
) -> list[Path]:
    """Writes the leaderboard and returns the paths, in the order of `formats`.

    Args:
        board: What to write.
        folder: Where to; made if it does not exist. Files of the same names are replaced.
        formats: Some of `FORMATS`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for kind in dict.fromkeys(formats):
        path = folder / f"leaderboard.{kind}"
        if kind == "csv":
            written += write_csv(board, folder)
            continue
        if kind == "xlsx":
            write_xlsx(board, path)
        elif kind == "html":
            from evalprep.leaderboard.page import render

            write_atomically(path, render(board))
        elif kind == "md":
            write_atomically(path, render_markdown(board))
        else:
            from evalprep.report import plain

            write_atomically(
                path, json.dumps(plain(board.to_dict()), indent=2, ensure_ascii=False) + "\n"
            )
        written.append(path)
    return written
