"""Reasons, tested, why two runs of one tool have no row of a task in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evalprep.compare.pairing import Pairs
from evalprep.compare.reasons import Kind, Reason
from evalprep.results import FactDifference
from evalprep.samples import Keys, Table
from evalprep.terminal import counted


def nothing_in_common(pairs: Pairs, differences: Sequence[FactDifference]) -> Reason | None:
    """Returns why no row of one side is a row of the other; None where a row is, or may be.

    No option lifts it: there is nothing to compare.

    Args:
        pairs: The pairs that were found.
        differences: Facts of the task that differ.
    """
    keys, other_keys = pairs.match.sides
    table, other = keys.table, other_keys.table
    if pairs.paired or pairs.duplicates or pairs.ambiguous or not len(table) or not len(other):
        return None
    known = {
        "candidate": len(table),
        "baseline": len(other),
        "conflicts": len(pairs.conflicts),
        "facts": [item for item in differences if item.kind == "question"],
    }
    return Reason(Kind.NOTHING_SHARED, values=known | _by_position(keys, other_keys))


def _by_position(keys: Keys, other_keys: Keys) -> dict[str, Any]:
    """Returns what the rows at equal positions of the split have in common."""
    table, other = keys.table, other_keys.table
    places, rows, other_rows = np.intersect1d(table.doc_id, other.doc_id, return_indices=True)
    known = places >= 0
    if not known.any():  # the sides hold parts of the split that do not overlap
        if (table.doc_id < 0).any() or (other.doc_id < 0).any():
            return {}
        return {"positions": (_span(table), _span(other))}
    rows, other_rows = rows[known], other_rows[known]
    golds, other_golds = keys.gold[rows], other_keys.gold[other_rows]
    same = (golds == other_golds) & (golds != 0)
    at_places = counted(len(rows), "equal position")
    if len(rows) > 1 and same.all() and len(np.unique(golds)) > 1:
        same_form = "perhaps the same questions in another form"
        return {"documents": f"the gold answers at {at_places} are the same: {same_form}"}
    return {"documents": f"the documents at {at_places} differ"}


def _span(table: Table) -> str:
    return f"{int(table.doc_id.min())} to {int(table.doc_id.max())}"
