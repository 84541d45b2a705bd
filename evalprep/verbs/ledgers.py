"""Names verdicts that come from a ledger of another machine, for every verb that shows scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalprep.results import Run


def with_foreign_answers(runs: Iterable[Run], *, accept: bool) -> tuple[list[Run], list[str]]:
    """The runs with a note where a ledger holds answers that this user did not write.

    Args:
        runs: The runs.
        accept: The user takes such answers as her own (`--accept_ledger`).

    Returns:
        The runs, which know whether that is so, and the notes of those whose answers are not
        accepted.
    """
    from evalprep.annotate import foreign_note
    from evalprep.errors import BadInput

    noted: list[Run] = []
    notes = []
    for each in runs:
        run = replace(each, accepts_ledger=accept)
        try:
            note = foreign_note(run)
        except BadInput as error:  # the scores name a ledger that cannot be read
            note = f"answers cannot be checked: {error.problems[0].what}"
        if note and note not in run.notes:
            run = replace(run, notes=[*run.notes, note])
        noted.append(run)
        if note and not accept:
            notes.append(f"{run.label}: {note}")
    return noted, notes
