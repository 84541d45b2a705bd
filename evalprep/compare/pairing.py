"""Which sample of one run answers the same question as which of the other."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evalprep.results import UNKNOWN, Table
from evalprep.results.sample import UNREADABLE

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
        duplicates: Ids of rows that occur twice on a side (same id, same prompt, same place): nobody knows which line
            is the run's, so that they are left out.
        unscored: Ids of pairs that were left out as one side has no number.
        unreadable: Ids of rows that were left out as their published verdict is neither true nor false.
    """

    rows: Rows
    other_rows: Rows
    now: Floats
    before: Floats
    prompt_differs: NDArray[np.bool_]
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    unscored: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def keep(self, mask: NDArray[np.bool_]) -> Pairs:
        """The pairs where `mask` holds; the lists of ids stay."""
        return Pairs(
            self.rows[mask], self.other_rows[mask], self.now[mask], self.before[mask], self.prompt_differs[mask],
            self.missing, self.extra, self.duplicates, self.unscored, self.unreadable,
        )  # fmt: skip


def _scored(pairs: Pairs, ids: list[str]) -> Pairs:
    known = np.isfinite(pairs.now) & np.isfinite(pairs.before)
    kept = pairs.keep(known)
    kept.unscored = [ids[row] for row in pairs.rows[~known]]
    return kept


def scores(table: Table, metric: str) -> Floats:
    """One metric's values; all NaN when the table lacks it."""
    return table.metrics.get(metric, np.full(len(table), np.nan))


def with_published(table: Table, metric: str) -> Pairs:
    """Pair each row with the verdict published for it; rows that occur twice and unreadable verdicts are left out."""
    doubled = _doubled(table)
    alone = np.ones(len(table), dtype=bool)
    alone[doubled] = False
    rows = np.flatnonzero((table.previous >= 0) & alone).astype(np.int64)
    return _scored(
        Pairs(
            rows=rows,
            other_rows=rows,
            now=scores(table, metric)[rows],
            before=table.previous[rows].astype(np.float64),
            prompt_differs=table.prompt_as_prepared[rows] == 0,
            extra=[table.ids[row] for row in np.flatnonzero(table.previous == UNKNOWN)],
            duplicates=_names(table, doubled),
            unreadable=[table.ids[row] for row in np.flatnonzero(table.previous == UNREADABLE)],
        ),
        table.ids,
    )


def with_run(table: Table, metric: str, other: Table, other_metric: str) -> Pairs:
    """Pair rows of two runs by id; rows of one id by prompt, then by their place in the split."""
    matched, extra, missing, duplicates = _match(table, other)
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
        ),
        table.ids,
    )


def meet(table: Table, other: Table) -> tuple[Rows, Rows]:
    """Rows of two runs that answer the same questions, whatever their scores."""
    both = np.array(_match(table, other)[0], dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _match(table: Table, other: Table) -> tuple[list[tuple[int, int]], list[str], list[str], list[str]]:
    """Pairs of rows, extra, missing and doubled ids."""
    repeated = {*table.duplicates(), *other.duplicates()}
    if repeated:
        return _match_repeated(table, other, repeated)
    places = {one: row for row, one in enumerate(other.ids)}
    found = [places.pop(one, UNKNOWN) for one in table.ids]
    matched = [(row, place) for row, place in enumerate(found) if place != UNKNOWN]
    extra = [one for one, place in zip(table.ids, found, strict=True) if place == UNKNOWN]
    return matched, extra, list(places), []


_Key = tuple[str, int, int]


def _keys(table: Table, repeated: set[str]) -> defaultdict[_Key, list[int]]:
    """Rows by id; where an id is repeated, by id, prompt and place in the split."""
    found: defaultdict[_Key, list[int]] = defaultdict(list)
    for row, one in enumerate(table.ids):
        key = (one, int(table.prompt_hash[row]), int(table.doc_id[row])) if one in repeated else (one, 0, 0)
        found[key].append(row)
    return found


def _doubled(table: Table) -> list[int]:
    """Rows that occur more than once."""
    repeated = set(table.duplicates())
    if not repeated:
        return []
    return [row for rows in _keys(table, repeated).values() if len(rows) > 1 for row in rows]


def _names(table: Table, rows: list[int]) -> list[str]:
    return list(dict.fromkeys(table.ids[row] for row in rows))


def _match_repeated(
    table: Table, other: Table, repeated: set[str]
) -> tuple[list[tuple[int, int]], list[str], list[str], list[str]]:
    """Pairs, extra, missing and doubled ids of two tables of which one repeats ids.

    Rows of a repeated id meet where id and prompt are the same and occur once, else where the place is the same too.
    """
    here, there = _keys(table, repeated), _keys(other, repeated)
    doubled = [key for key in {**here, **there} if max(len(here.get(key, ())), len(there.get(key, ()))) > 1]
    duplicates = list(dict.fromkeys(key[0] for key in doubled))
    for key in doubled:
        here.pop(key, None)
        there.pop(key, None)
    pairs = [(here.pop(key)[0], there.pop(key)[0]) for key in list(here) if key in there]
    by_prompt: defaultdict[tuple[str, int], list[_Key]] = defaultdict(list)
    for key in there:
        by_prompt[key[:2]].append(key)
    own: defaultdict[tuple[str, int], list[_Key]] = defaultdict(list)
    for key in here:
        own[key[:2]].append(key)
    for prompt, keys in own.items():
        if len(keys) == len(by_prompt.get(prompt, ())) == 1:
            pairs.append((here.pop(keys[0])[0], there.pop(by_prompt[prompt][0])[0]))
    return sorted(pairs), [key[0] for key in here], [key[0] for key in there], duplicates
