"""Answers in a run's ledger that this user did not write.

A received folder may hold any verdict.
"""

from __future__ import annotations

from collections import Counter

from evalprep.annotate.place import ledger_of
from evalprep.results import Run
from evalprep.terminal import counted


def foreign_answers(run: Run) -> dict[str, int]:
    """Annotator -> answers about a run without this user's digest.

    Raises:
        BadInput: the ledger cannot be read.
    """
    place = ledger_of(run)
    if place is None:
        return {}
    from evalprep.annotate.kept import open_filled

    ledger = open_filled(place)
    if ledger is None:
        return {}
    stamps = {run.files.stamp, *run.files.stamps}
    if run.rescored_from is not None:
        stamps.add(run.rescored_from[1])
    counts: Counter[str] = Counter()
    with ledger:
        for stamp in sorted(stamps):
            counts.update(ledger.foreign(stamp))
    return dict(counts)


def foreign_note(run: Run) -> str:
    """The sentence that names foreign answers in every output; empty where there are none."""
    counts = foreign_answers(run)
    if not counts:
        return ""
    verdicts = counted(sum(counts.values()), "verdict")
    names = ", ".join(sorted(map(str, counts)))  # a damaged cell may hold bytes
    if run.accepts_ledger:
        return f"{verdicts} of a ledger of another machine accepted ({names}; --accept_ledger)"
    return (
        f"{verdicts} come from a ledger of another machine ({names}); --accept_ledger takes them, "
        "evalprep judge RUN --sign adopts them for good"
    )
