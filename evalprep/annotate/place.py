"""The place of a run's ledger.

Looking for it imports little; `evalprep.annotate.ledger` opens it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalprep.results import Run

FILE = "annotations.sqlite"
_ABOVE = 3


def run_folders(run: Run) -> list[Path]:
    """Every folder in which samples of a run were written.

    Lines made of them may lie where nothing is kept.
    """
    if run.log is not None:
        return [run.files.folder]
    folders = [run.files.folder, *(path.parent for path in run.files.samples.values())]
    # What was asked of replies counts for them however they are scored.
    if run.rescored_from is not None:
        folders.append(run.rescored_from[0])
    return list(dict.fromkeys(folders))


def ledger_of(run: Run) -> Path | None:
    """Returns the ledger of a run; None where nothing was ever asked about it."""
    return find_ledger(run_folders(run))


def find_ledger(folders: Iterable[Path]) -> Path | None:
    """The ledger of a run: in one of its folders, or up to three above; the nearest."""
    starts = [folder.resolve() for folder in folders]
    for height in range(_ABOVE + 1):
        for start in starts:
            above = [start, *start.parents]
            if height >= len(above):
                continue
            path = above[height] / FILE
            # The root of a disk belongs to no run: a file there would be everybody's.
            is_root = not above[height].name
            if not is_root and path.is_file():
                return path
    return None


def ledger_place(folders: Iterable[Path]) -> Path:
    """Returns where the ledger of a run is, or is to be made.

    A new one goes into the folder that all folders of the run share.

    Folders that share nothing but the root have it in the first of them.
    """
    several = [folder.resolve() for folder in folders]
    shared = Path(os.path.commonpath(several))
    return find_ledger(several) or (shared if shared.name else several[0]) / FILE
