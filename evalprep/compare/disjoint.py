"""Reasons, tested, why two runs of one tool have no row of a task in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalprep.compare.comparable import sentence_of
from evalprep.compare.pairing import Pairs
from evalprep.results import FactDifference, Table
from evalprep.terminal import counted

_WAYS = "sample id, document hash, prompt or question"


def nothing_in_common(
    pairs: Pairs, sides: tuple[Table, Table], differences: Sequence[FactDifference]
) -> str:
    """Returns why no row of one side is a row of the other; empty where a row is, or may be.

    No option lifts it: there is nothing to compare.

    Args:
        pairs: The pairs that were found.
        sides: The rows of the candidate and of the baseline.
        differences: Facts of the task that differ.
    """
    table, other = sides
    if pairs.paired or pairs.duplicates or pairs.ambiguous or not len(table) or not len(other):
        return ""
    sizes = f"{counted(len(table), 'row')} of the candidate, {len(other)} of the baseline"
    parts = [f"no question is on both sides ({sizes}, 0 paired by {_WAYS})"]
    if pairs.conflicts:
        questions = counted(len(pairs.conflicts), "question is", "questions are")
        parts.append(f"{questions} equal with another gold answer")
    of_question = [item for item in differences if item.kind == "question"]
    parts += [sentence_of(item) for item in of_question]
    parts += _by_position(table, other)
    return "; ".join(parts)


def _by_position(table: Table, other: Table) -> list[str]:
    """Returns what the rows at equal positions of the split have in common."""
    places, rows, other_rows = np.intersect1d(table.doc_id, other.doc_id, return_indices=True)
    known = places >= 0
    if not known.any():
        return _parts_of_data(table, other)
    rows, other_rows = rows[known], other_rows[known]
    golds, other_golds = table.target_hash[rows], other.target_hash[other_rows]
    same = (golds == other_golds) & (golds != 0)
    at_places = counted(len(rows), "equal position")
    if len(rows) > 1 and same.all() and len(np.unique(golds)) > 1:
        same_form = "perhaps the same questions in another form"
        return [f"the gold answers at {at_places} are the same: {same_form}"]
    return [f"the documents at {at_places} differ"]


def _parts_of_data(table: Table, other: Table) -> list[str]:
    """The parts of the split that the sides hold, where these do not overlap."""
    if (table.doc_id < 0).any() or (other.doc_id < 0).any():
        return []
    return [f"the candidate has positions {_span(table)} of the data, the baseline {_span(other)}"]


def _span(table: Table) -> str:
    return f"{int(table.doc_id.min())} to {int(table.doc_id.max())}"
