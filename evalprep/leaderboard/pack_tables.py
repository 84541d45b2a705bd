"""Tables of packs over runs that are scored and have no leaderboard yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from evalprep.packs import Pack
from evalprep.results import Run
from evalprep.score import Scores


def export_tables(
    runs: Sequence[Run], scores: Sequence[Scores], packs: Mapping[str, Pack], folder: Path
) -> list[Path]:
    """Lets each pack of some scored runs write its own table over all of them.

    As `export_board` does of a leaderboard; none is built where no pack wants it.
    """
    suite_scores = chain.from_iterable(run_scores.suite for run_scores in scores)
    pack_names = {score.pack for score in suite_scores}
    scored_packs = {name: pack for name, pack in packs.items() if name in pack_names}
    if not any(hasattr(pack.module("export"), "export_board") for pack in scored_packs.values()):
        return []
    from evalprep.leaderboard.building import build_board
    from evalprep.leaderboard.pack_board import export_board

    board = build_board(runs, scores, packs, each_seed=True)
    # The notes on runs and their values are those of the scores themselves.
    known = set(board.notes) - {pack.leaderboard.note for pack in scored_packs.values()}
    written, failures = export_board(board, scored_packs, folder)
    notes = [note for note in [*board.notes, *failures] if note not in known]
    for run_scores in scores:
        run_scores.notes += [note for note in notes if note not in run_scores.notes]
    return written
