"""The scores of two runs over the rows that are the same question, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evalprep.samples import AMBIGUOUS, DOUBLED, LONE, NO_VERDICT, OTHER_GOLD, Flags, Paired, Rows

Floats = NDArray[np.float64]

_NO_SCORES = (np.zeros(0), np.zeros(0))
_WITHOUT_PARTNER = (LONE, AMBIGUOUS, OTHER_GOLD)


@dataclass(frozen=True)
class Pairs:
    """Rows that were scored on both sides.

    Attributes:
        match: The rows that met, before any was left out, and what became of the others.
        rows: Row of each pair in the run.
        other_rows: Row of each pair in the other run; the same rows when the other side is the
            published verdict.
        now: Scores of the run.
        before: Scores of the other side.
        prompt_differs: Whether the two sides saw different prompts; False where that cannot be
            known.
        repeats: Code of the group of each pair with a repeated key, -1 for a pair of its own;
            None where no key is repeated.
        unscored: Ids of pairs that were left out as one side has no number.
        half_scored: Scores of the candidate in pairs where the baseline has none, and the reverse.
        unpaired: Scores of rows without a partner, of the candidate and of the baseline; NaN where
            a row has none.
    """

    match: Paired
    rows: Rows
    other_rows: Rows
    now: Floats
    before: Floats
    prompt_differs: Flags
    repeats: Rows | None = None
    unscored: list[str] = field(default_factory=list)
    half_scored: tuple[Floats, Floats] = _NO_SCORES
    unpaired: tuple[Floats, Floats] = _NO_SCORES

    @cached_property
    def missing(self) -> list[str]:
        """Ids of the other side that the run lacks."""
        return self.match.right_ids(*_WITHOUT_PARTNER)

    @cached_property
    def extra(self) -> list[str]:
        """Ids of the run that the other side lacks; of published verdicts, rows without one."""
        return self.match.left_ids(*_WITHOUT_PARTNER)

    @cached_property
    def duplicates(self) -> list[str]:
        """Ids of rows that occur several times on a side (same id, same prompt, same place).

        Nobody knows which line is the run's, so that they are left out.
        """
        ids = [*self.match.left_ids(DOUBLED), *self.match.right_ids(DOUBLED)]
        return list(dict.fromkeys(ids))

    @cached_property
    def unreadable(self) -> list[str]:
        """Ids of rows that were left out as their published verdict is neither true nor false."""
        return self.match.left_ids(NO_VERDICT)

    @cached_property
    def ambiguous(self) -> list[str]:
        """Ids of rows of both sides whose key is repeated otherwise on the other side."""
        return [*self.match.left_ids(AMBIGUOUS), *self.match.right_ids(AMBIGUOUS)]

    @cached_property
    def conflicts(self) -> list[str]:
        """Ids of rows of which the other side has the question with another gold answer."""
        return self.match.left_ids(OTHER_GOLD)

    @cached_property
    def other_gold(self) -> list[str]:
        """Ids of pairs whose gold answers differ."""
        return self._ids_where(self.match.gold_differs)

    @cached_property
    def other_choices(self) -> list[str]:
        """Ids of pairs of two tools' rows whose choices are not the same."""
        return self._ids_where(self.match.choices_differ) if self.across_tools else []

    @property
    def permuted(self) -> int:
        """How many pairs of two tools' rows have the same choices in another order."""
        return int(self.match.choices_permuted.sum()) if self.across_tools else 0

    @property
    def ways(self) -> dict[str, int]:
        """Number of pairs by the way in which they were found; none against published verdicts."""
        return {} if self.match.is_published else self.match.ways

    @property
    def paired(self) -> int:
        """Rows that met, before any was left out."""
        return int(self.match.left.size)

    @property
    def smaller(self) -> int:
        """Rows of the smaller side."""
        return self.match.smaller

    @property
    def copies(self) -> int:
        """Rows of either side that stand there a second time and count once."""
        return self.match.copies

    @property
    def tools(self) -> tuple[str, str]:
        """Who wrote the rows of the run and of the other side."""
        return self.match.tools

    @property
    def across_tools(self) -> bool:
        """True where the rows met by what the data set says of them, not by lm-eval's own ids."""
        return self.match.across_tools

    def keep(self, mask: Flags) -> Pairs:
        """The pairs where `mask` holds; the lists of ids stay."""
        if mask.all():
            return self
        return replace(
            self,
            rows=self.rows[mask],
            other_rows=self.other_rows[mask],
            now=self.now[mask],
            before=self.before[mask],
            prompt_differs=self.prompt_differs[mask],
            repeats=None if self.repeats is None else self.repeats[mask],
        )

    def _ids_where(self, mask: Flags) -> list[str]:
        return self.match.sides[0].table.ids.at(self.match.left[mask])


def scored_pairs(match: Paired, values: Floats, other_values: Floats, kept: Flags) -> Pairs:
    """The pairs that count and have a number on both sides.

    Args:
        match: The rows that met.
        values: A score of every row of the run.
        other_values: A score of every row of the other side.
        kept: For each pair, whether it counts (`Paired.kept`).
    """
    lone, other_lone = match.lone
    pairs = Pairs(
        match=match,
        rows=match.left,
        other_rows=match.right,
        now=values[match.left],
        before=other_values[match.right],
        prompt_differs=match.prompt_differs,
        repeats=match.unit if match.has_units else None,
        unpaired=(values[lone], other_values[other_lone]),
    ).keep(kept)
    known = np.isfinite(pairs.now) & np.isfinite(pairs.before)
    now, before = pairs.now[~known], pairs.before[~known]
    return replace(
        pairs.keep(known),
        unscored=match.sides[0].table.ids.at(pairs.rows[~known]),
        half_scored=(now[np.isfinite(now)], before[np.isfinite(before)]),
    )
