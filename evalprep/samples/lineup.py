"""The rows of one task lined up over several runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalprep.samples.ids import Ids
from evalprep.samples.keys import Rows
from evalprep.samples.pairing import BY_CONTENT, PairRules, pair_rows
from evalprep.samples.sample import UNKNOWN
from evalprep.samples.table import Table


def line_up(
    sides: Sequence[tuple[Table, str]], rules: PairRules = BY_CONTENT
) -> tuple[Ids, list[Rows]]:
    """Lines up the rows of several tables: those of the first, then what only later ones have.

    Rows meet as those of two runs do: first with those of the first table, and what is left over
    with the rows that later tables added. Rows that occur twice are no pair there; here they meet
    in their order.

    Args:
        sides: The tables, each with the tool that wrote it.
        rules: What the user decides about pairing.

    Returns:
        The id of each place, and for each table the place of each of its rows.
    """
    ids: list[Ids] = []
    size = 0  # places so far
    earlier: list[Rows] = []
    for table, tool in sides:
        places = np.full(len(table), UNKNOWN, dtype=np.int64)
        is_taken = np.zeros(size, dtype=np.bool_)
        for (other, other_tool), other_places in zip(sides, earlier, strict=False):
            if np.all(places != UNKNOWN) or np.all(is_taken):
                break
            paired = pair_rows(other, table, tools=(other_tool, tool), rules=rules)
            for other_rows, rows in ((paired.left, paired.right), paired.doubled_in_order()):
                targets = other_places[other_rows]
                is_free = (places[rows] == UNKNOWN) & ~is_taken[targets]
                places[rows[is_free]] = targets[is_free]
                is_taken[targets[is_free]] = True
        added = np.flatnonzero(places == UNKNOWN)
        places[added] = size + np.arange(added.size)
        size += added.size
        is_whole = added.size == len(table)
        ids.append(table.ids if is_whole else Ids.of(table.ids.at(added)))
        earlier.append(places)
    return Ids.joined(ids), earlier
