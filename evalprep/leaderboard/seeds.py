"""Runs of one model with several seeds as one row.

Its values are means with standard deviations; of p-values the median.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from evalprep.leaderboard.board import Row
from evalprep.leaderboard.columns import INCOMPLETE, Cell, Column
from evalprep.leaderboard.steps import place_in
from evalprep.places import last_part, without_home
from evalprep.results import Run, seed_groups, without_seed


def merge_seeds(rows: Sequence[Row], runs: Sequence[Run], columns: Sequence[Column]) -> list[Row]:
    """Returns one row for the runs of one model with several seeds; references stay as they are."""
    place_of = {id(run): place for place, run in enumerate(runs)}
    row_of_run = {row.members[0]: row for row in rows}
    merged: dict[int, Row] = {}
    models = []
    for place, row in row_of_run.items():
        if row.reference:
            merged[place] = row
        else:
            models.append(runs[place])
    for group in seed_groups(models):
        members = tuple(place_of[id(run)] for run in group)
        of_group = [row_of_run[at] for at in members]
        is_one = len(of_group) == 1
        merged[members[0]] = of_group[0] if is_one else _merge(of_group, members, group[0], columns)
    return [merged[place] for place in sorted(merged)]


def notes_on_seeds(rows: Sequence[Row]) -> list[str]:
    """Returns a note on the rows of several seeds that differ in no value.

    Replies without sampling are the same for every seed, and nothing is learned of the noise.
    """
    notes = []
    for row in rows:
        spreads = [cell.sd for cell in row.cells.values() if cell.sd is not None]
        if spreads and not any(spreads):
            notes.append(
                f"{row.label}: every seed has the same values, as without sampling; their standard "
                "deviation of 0 says nothing of the noise"
            )
    return notes


def _merge(
    rows: Sequence[Row], members: tuple[int, ...], first: Run, columns: Sequence[Column]
) -> Row:
    """One row for several."""
    model, _seed = without_seed(first.model)
    base = without_home(model)
    name = last_part(base)
    labels = ", ".join(row.label for row in rows)
    notes = [f"mean of {labels}"]
    for row in rows:
        notes += row.notes
    cells = {}
    for column in columns:
        cells[column.id] = _mean(column, [row.cells[column.id] for row in rows])
    return Row(
        label=f"{name} ({len(rows)} seeds)",
        model=base,
        folder=rows[0].folder,
        run=", ".join(row.run for row in rows),
        reference=False,
        place=place_in(base),
        cells=cells,
        members=members,
        trial=any(row.trial for row in rows),
        notes=notes,
    )


def _mean(column: Column, cells: Sequence[Cell]) -> Cell:
    """The mean of one column over seeds, or the median of p-values."""
    known = [cell.value for cell in cells if cell.value is not None]
    missing = len(cells) - len(known)
    if not known:
        return Cell(reason=cells[0].reason, standing=cells[0].standing, why=cells[0].why)
    why = _each_once([cell.why for cell in cells])
    if missing:
        why.append(f"{missing} of {len(cells)} seeds have no value")
    standings = [cell.standing for cell in cells if cell.standing]
    if missing:
        standings.append(INCOMPLETE)
    word = "median" if column.p_value else "mean"
    return Cell(
        value=statistics.median(known) if column.p_value else statistics.fmean(known),
        sd=statistics.stdev(known) if len(known) > 1 and not column.p_value else None,
        n=cells[0].n,
        standing=next(iter(standings), ""),
        why=why,
        notes=[f"{word} of {len(known)} seeds"],
        tasks=_each_once([cell.tasks for cell in cells]),
    )


def _each_once(lists: Sequence[Sequence[str]]) -> list[str]:
    each: dict[str, None] = {}
    for texts in lists:
        each |= dict.fromkeys(texts)
    return list(each)
