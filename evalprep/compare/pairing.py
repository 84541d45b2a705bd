"""Which sample of one run answers the same question as which of the other."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evalprep.results import UNKNOWN, Table

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass
class Pairs:
    """Rows that were scored on both sides.

    Args:
        rows: Row of each pair in the run.
        other_rows: Row of each pair in the other run; the same rows when the other side is the published verdict.
        now: Scores of the run.
        before: Scores of the other side.
        prompt_differs: Whether the two sides saw different prompts; False where that cannot be known.
        missing: Ids of the other side that the run lacks.
        extra: Ids of the run that the other side lacks (against published verdicts: rows without one).
        duplicates: Ids that occur more than once on a side.
        unscored: Pairs that were dropped as one side has no number.
    """

    rows: Rows
    other_rows: Rows
    now: Floats
    before: Floats
    prompt_differs: NDArray[np.bool_]
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    unscored: int = 0

    def keep(self, mask: NDArray[np.bool_]) -> Pairs:
        """The pairs where `mask` holds; the lists of ids stay."""
        return Pairs(
            self.rows[mask], self.other_rows[mask], self.now[mask], self.before[mask], self.prompt_differs[mask],
            self.missing, self.extra, self.duplicates, self.unscored,
        )  # fmt: skip


def _scored(pairs: Pairs) -> Pairs:
    known = ~(np.isnan(pairs.now) | np.isnan(pairs.before))
    kept = pairs.keep(known)
    kept.unscored = int(known.size - known.sum())
    return kept


def scores(table: Table, metric: str) -> Floats:
    """One metric's values; all NaN when the table lacks it."""
    return table.metrics.get(metric, np.full(len(table), np.nan))


def with_published(table: Table, metric: str) -> Pairs:
    """Pair each row with the verdict published for it."""
    rows = np.flatnonzero(table.previous != UNKNOWN).astype(np.int64)
    without = np.flatnonzero(table.previous == UNKNOWN)
    return _scored(
        Pairs(
            rows=rows,
            other_rows=rows,
            now=scores(table, metric)[rows],
            before=table.previous[rows].astype(np.float64),
            prompt_differs=table.prompt_as_prepared[rows] == 0,
            extra=[table.ids[row] for row in without],
            duplicates=table.duplicates(),
        )
    )


def with_run(table: Table, metric: str, other: Table, other_metric: str) -> Pairs:
    """Pair rows of two runs by id; rows of one id by prompt, then by order of appearance."""
    duplicates = list(dict.fromkeys([*table.duplicates(), *other.duplicates()]))
    if duplicates:
        matched, extra, missing = _match_repeated(table, other)
    else:
        places = {one: row for row, one in enumerate(other.ids)}
        found = [places.pop(one, UNKNOWN) for one in table.ids]
        matched = [(row, place) for row, place in enumerate(found) if place != UNKNOWN]
        extra = [one for one, place in zip(table.ids, found, strict=True) if place == UNKNOWN]
        missing = list(places)
    both = np.array(matched, dtype=np.int64).reshape(-1, 2)
    rows, other_rows = both[:, 0], both[:, 1]
    sent, sent_before = table.prompt_hash[rows], other.prompt_hash[other_rows]
    return _scored(
        Pairs(
            rows=rows,
            other_rows=other_rows,
            now=scores(table, metric)[rows],
            before=scores(other, other_metric)[other_rows],
            prompt_differs=(sent != sent_before) & (sent != 0) & (sent_before != 0),
            missing=missing,
            extra=extra,
            duplicates=duplicates,
        )
    )


def _match_repeated(table: Table, other: Table) -> tuple[list[tuple[int, int]], list[str], list[str]]:
    exact: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row, one in enumerate(other.ids):
        exact[one, int(other.prompt_hash[row])].append(row)
    pairs: list[tuple[int, int]] = []
    waiting: list[int] = []
    taken: set[int] = set()
    for row, one in enumerate(table.ids):
        places = exact.get((one, int(table.prompt_hash[row])))
        if places:
            place = places.pop(0)
            taken.add(place)
            pairs.append((row, place))
        else:
            waiting.append(row)
    rest: defaultdict[str, list[int]] = defaultdict(list)
    for row, one in enumerate(other.ids):
        if row not in taken:
            rest[one].append(row)
    extra: list[str] = []
    for row in waiting:
        if places := rest.get(table.ids[row]):
            pairs.append((row, places.pop(0)))
        else:
            extra.append(table.ids[row])
    return sorted(pairs), extra, [one for one, places in rest.items() for _ in places]
