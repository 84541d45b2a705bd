"""The leaderboard before it is written: rows, cells, what may be compared, who leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

from evalprep.compare import Conclusion
from evalprep.leaderboard.columns import INCOMPLETE, OTHER, Cell, Column, Columns
from evalprep.leaderboard.steps import Place
from evalprep.numbers import p_value
from evalprep.score import names_by_text
from evalprep.terminal import shortlist

_NAMED = 4  # rows that a footnote names
_NAMED_COLUMNS = 8  # columns that one does
#: What decides the standing of a cell, whose reasons say it in words.
_NOT_SHOWN = frozenset({"rule", "over", "few_read"})
#: Signs of both in tables.
SIGNS = {OTHER: "†", INCOMPLETE: "‡"}
_LEADING = (
    "the best value of its column, or not shown to be worse than that "
    "(paired tests, adjusted for all scores and {})"
)


@dataclass(frozen=True)
class Row:
    """One model.

    Attributes:
        label: Its name, unlike that of any other row.
        model: Model as the run names it.
        folder: Where the run's files lie, without an absolute path of the user.
        run: Id of the run.
        reference: It is the run that scores compare with.
        place: Trajectory and step.
        cells: Column id -> cell.
        members: Which of the runs it stands for: one, or the runs of one model with several seeds.
        notes: What else there is to know of the run.
        trial: It was asked a part of the rows alone (a limit), as far as it tells.
    """

    label: str
    model: str
    folder: str
    run: str
    reference: bool
    place: Place
    cells: Mapping[str, Cell]
    members: tuple[int, ...] = ()
    notes: Sequence[str] = ()
    trial: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        hidden = {"cells", "place", "members"}
        cells: dict[str, dict[str, Any]] = {}
        for name, cell in self.cells.items():
            shown = {key: value for key, value in vars(cell).items() if key not in _NOT_SHOWN}
            cells[name] = {**shown, "against": [each.to_dict() for each in cell.against]}
        return {
            **{name: value for name, value in vars(self).items() if name not in hidden},
            "seeds": len(self.members),
            "trajectory": self.place.trajectory,
            "step": self.place.step,
            "cells": cells,
        }


def label_of(row: Row) -> str:
    """The name of a row, which says where it is the reference."""
    if row.reference:
        return f"{row.label} (reference)"
    return row.label


@dataclass(frozen=True)
class PairDifference:
    """Two rows that differ in a column, as `compare` has it of the two runs.

    Attributes:
        column: Id of the column.
        candidate, baseline: Labels of the rows.
        verdict: `better` or `worse`, of the candidate.
        change: The difference in words, e.g. `7.0 points`.
        delta, low, high: Candidate minus baseline, and its interval.
        text: The same as `compare` writes it: points, a ratio, bits, or raw numbers.
        p: After Holm's adjustment over the quantities of both runs.
    """

    column: str
    candidate: str
    baseline: str
    verdict: str
    change: str
    delta: float | None
    low: float | None
    high: float | None
    text: str
    p: float


@dataclass(frozen=True)
class Board:
    """A leaderboard.

    Attributes:
        columns: All of them, and those that are shown.
        rows: The rows in their order.
        anchor: Label of the row whose questions decide which rows are of another question.
        unmarked: Column id -> why no row leads it.
        notes: What holds for the whole table.
        sort: Name of the column by which rows are sorted; empty for their own order.
        pairs: The pairs of rows that are shown to differ, by column.
        only_with_best: Whether a column has so many rows that only pairs with its best row were
            tested.
        differences: Of a table of two runs: score -> what is concluded of the second row against
            the first.
        candidate, baseline: Labels of the runs that the user names; empty without.
        tested_pairs: The pairs of runs over which p is adjusted.
    """

    columns: Columns
    rows: Sequence[Row]
    anchor: str
    unmarked: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    sort: str = ""
    pairs: Sequence[PairDifference] = ()
    only_with_best: bool = False
    differences: Mapping[str, Conclusion] = field(default_factory=dict)
    candidate: str = ""
    baseline: str = ""
    tested_pairs: int = 0

    @property
    def leading(self) -> str:
        """The meaning of the sign of a leading value."""
        is_one = self.tested_pairs < 2
        pairs = "all pairs of rows" if is_one else f"{self.tested_pairs} pairs of rows"
        return _LEADING.format(pairs)

    def trajectories(self) -> dict[str, list[Row]]:
        """Rows of one training by their steps; those of a single row are left out."""
        by_trajectory: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.place.step is not None and not row.reference:
                by_trajectory.setdefault(row.place.trajectory, []).append(row)
        trajectories = {}
        for name, rows in by_trajectory.items():
            steps = {row.place.step for row in rows}
            if len(steps) > 1:
                trajectories[name] = sorted(rows, key=lambda row: (row.place.step or 0, row.label))
        return trajectories

    def cells(self) -> Iterator[Cell]:
        """Every cell, shown or not."""
        return chain.from_iterable(row.cells.values() for row in self.rows)

    def shown_cells(self) -> Iterator[tuple[Row, Column, Cell]]:
        """Every cell of the shown columns with its row and column."""
        for row in self.rows:
            for column in self.columns.shown:
                if column.id in row.cells:
                    yield row, column, row.cells[column.id]

    def footnotes(self) -> list[tuple[str, str]]:
        """Signs with what they stand for, each reason once with its rows."""
        labels_of: dict[tuple[str, str], dict[str, None]] = {}
        for row, _, cell in self.shown_cells():
            for why in cell.why:
                sign = SIGNS[cell.standing]
                labels_of.setdefault((sign, why), {})[row.label] = None
        notes = []
        for (sign, why), labels in labels_of.items():
            rows = shortlist(list(labels), _NAMED)
            notes.append((sign, f"{rows}: {why}"))
        return notes

    def without_leader(self) -> list[tuple[str, str]]:
        """Shown columns that no row leads, named or counted, and why.

        Columns of one reason stand together.
        """
        names_of = names_by_text(
            (column.name, self.unmarked[column.id])
            for column in self.columns.shown
            if column.id in self.unmarked
        )
        count = len(self.columns.shown)
        lines = []
        for reason, names in names_of.items():
            is_every_column = len(names) == count and count > _NAMED_COLUMNS
            named = "any score" if is_every_column else shortlist(names, _NAMED_COLUMNS)
            lines.append((named, reason))
        return lines

    def absent(self) -> list[str]:
        """Returns why shown cells have no value, each reason once."""
        labels_of: dict[tuple[str, str], list[str]] = {}
        for row, column, cell in self.shown_cells():
            if cell.value is None and cell.reason:
                labels_of.setdefault((column.name, cell.reason), []).append(row.label)
        columns_of_reason: dict[tuple[str, str], list[str]] = {}
        for (name, why), labels in labels_of.items():
            key = shortlist(labels, _NAMED), why
            columns_of_reason.setdefault(key, []).append(name)
        sentences = []
        for (rows, why), names in columns_of_reason.items():
            sentences.append(f"{shortlist(names, _NAMED_COLUMNS)} of {rows}: {why}")
        return sentences

    def measured(self) -> list[str]:
        """Returns what shown values were measured against, a sentence for each."""
        columns_of: dict[tuple[str, str], dict[str, None]] = {}
        labels_of: dict[str, dict[str, None]] = {}
        doubts: dict[str, None] = {}
        for row, column, cell in self.shown_cells():
            if cell.value is None or not cell.against:
                continue
            for each in cell.against:
                labels_of.setdefault(each.words, {})[row.label] = None
                columns_of.setdefault((each.words, row.label), {})[column.name] = None
                if each.doubt:
                    doubts[f"{each.name}: {each.doubt}"] = None
        lines = []
        for words, labels in labels_of.items():
            names: dict[str, None] = {}
            for label in labels:
                names |= columns_of[words, label]
            rows = shortlist(list(labels), _NAMED)
            lines.append(f"{shortlist(list(names), _NAMED_COLUMNS)} of {rows}: against {words}")
        return [*lines, *doubts]

    def pair_lines(self) -> list[str]:
        """The pairs of rows that differ in the shown columns, a sentence each."""
        names = {column.id: column.name for column in self.columns.shown}
        return [
            f"{names[pair.column]}: {pair.candidate} {pair.verdict} than {pair.baseline} "
            f"by {pair.change} ({p_value(pair.p)})"
            for pair in self.pairs
            if pair.column in names
        ]

    def hidden_differences(self) -> str:
        """The columns that are not shown in which a pair of rows differs: a group's tasks, say."""
        shown = {column.id for column in self.columns.shown}
        differing = {pair.column for pair in self.pairs} - shown
        names = [column.name for column in self.columns.all if column.id in differing]
        return shortlist(names, _NAMED_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN and infinity as None."""
        return {
            "kind": "evalprep leaderboard",
            "anchor": self.anchor,
            "candidate": self.candidate,
            "baseline": self.baseline,
            "tested_pairs": self.tested_pairs,
            "sort": self.sort,
            "shown": [column.id for column in self.columns.shown],
            "columns": [
                {**vars(column), "range": list(column.range)} for column in self.columns.all
            ],
            "rows": [row.to_dict() for row in self.rows],
            "pairs": [asdict(pair) for pair in self.pairs],
            "only_with_best": self.only_with_best,
            "unmarked": self.unmarked,
            "notes": self.notes,
        }
