"""One task compared: its difference, subtasks, flips and what is odd about its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evalprep.compare.conclusion import Conclusion
from evalprep.compare.difference import ALPHA, FEW_DOCUMENTS, Difference, difference
from evalprep.compare.flips import NOBODY, Change, Flip, Repliers, cause_of, make_flip
from evalprep.compare.pairing import Pairs
from evalprep.results import UNKNOWN, Sample, Table
from evalprep.results.facts import FactDifference
from evalprep.results.reply import knows_parsing

_DOMINANT = 0.4  # share of the rows from which one document is named
_NAMED = 20  # ids that a list of problems names


@dataclass
class SubtaskRow:
    """One subtask of a task: name, pairs, means on both sides, verdicts gained and lost."""

    subtask: str
    n: int
    previous: float
    now: float
    gained: int
    lost: int


@dataclass
class TaskComparison(Conclusion):
    """One task compared; `to_dict` gives it as plain data.

    Args:
        metric, filter: What was compared.
        declared: Whether the task names that metric itself.
        unparsed: Replies of the run from which nothing could be extracted, among the pairs; None where the task does
            not tell.
        identical_outputs: Pairs with byte-identical replies; None against published verdicts.
        macro_previous, macro_now: Means of subtask means; None without subtasks.
        subtasks: One row per subtask.
        counts_of: How many rows are missing, extra, doubled, with another prompt, without a score, with an unreadable
            verdict, damaged.
        missing, extra, changed_prompt, duplicates, unscored, unreadable: The first ids of each.
        damage: The first damaged lines.
        differs: Facts that are not the same on both sides.
    """

    metric: str = ""
    filter: str = ""
    declared: bool = True
    unparsed: int | None = 0
    identical_outputs: int | None = None
    macro_previous: float | None = None
    macro_now: float | None = None
    subtasks: list[SubtaskRow] = field(default_factory=list)
    counts_of: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    changed_prompt: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    unscored: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    differs: list[FactDifference] = field(default_factory=list)
    pairs: Pairs | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)
    other: Table | None = field(default=None, repr=False)
    repliers: Repliers = NOBODY

    @property
    def task(self) -> str:
        """The task's name."""
        return self.name

    def flips(self) -> Iterator[Flip]:
        """Every flip with its texts, read from the samples files one by one."""
        for change in self._changes():
            yield make_flip(self.task, change, self.repliers)

    @cached_property
    def causes(self) -> dict[str, int]:
        """Cause -> number of flips, the most frequent first; counted at first use, as it reads every flip's texts."""
        return dict(Counter(cause_of(change, self.repliers) for change in self._changes()).most_common())

    def _changes(self) -> Iterator[Change]:
        if self.pairs is None or self.table is None:
            return
        pairs, higher = self.pairs, self.difference.higher_is_better
        places = np.flatnonzero(pairs.now != pairs.before)
        samples = self.table.read(pairs.rows[places])
        others: Iterator[Sample | None] = (
            self.other.read(pairs.other_rows[places]) if self.other is not None else iter([None] * places.size)
        )
        columns = (column[places].tolist() for column in (pairs.now, pairs.before, pairs.prompt_differs))
        for sample, other, now, before, differs in zip(samples, others, *columns, strict=True):
            yield Change(sample, other, now, before, gained=(now > before) == higher, prompt_differs=differs)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts, ready for JSON."""
        hidden = {"pairs", "table", "other", "repliers", "difference", "subtasks", "causes", "counts_of", "differs"}
        plain = {name: value for name, value in vars(self).items() if name not in hidden}
        more = {
            "task": self.name,
            "counts": self.counts_of,
            "subtasks": [asdict(row) for row in self.subtasks],
            "causes": self.causes,
            "differs": [asdict(one) for one in self.differs],
        }
        return plain | self.difference.to_dict() | more


def compare_task(
    task: str,
    metric: str,
    table: Table,
    other: Table | None,
    pairs: Pairs,
    *,
    declared: bool = True,
    higher_is_better: bool = True,
    confidence: float = 1 - ALPHA,
    repliers: Repliers = NOBODY,
) -> TaskComparison:
    """Compare one task's pairs; `other` is None against published verdicts."""
    cluster = table.cluster[pairs.rows] if table.clusters else None
    result = TaskComparison(
        name=task,
        kind="task",
        metric=metric,
        filter=table.filter,
        declared=declared,
        difference=difference(
            pairs.now, pairs.before, cluster, confidence=confidence, higher_is_better=higher_is_better
        ),
        unparsed=int(np.sum(table.unparsed[pairs.rows] == 1)) if knows_parsing(table) else None,
        subtasks=_subtasks(table, pairs, higher_is_better=higher_is_better),
        pairs=pairs,
        table=table,
        other=other,
        repliers=repliers,
    )
    if other is not None:
        same = table.response_hash[pairs.rows] == other.response_hash[pairs.other_rows]
        result.identical_outputs = int(np.sum(same))
    if result.subtasks:
        result.macro_previous = float(np.mean([row.previous for row in result.subtasks]))
        result.macro_now = float(np.mean([row.now for row in result.subtasks]))
    _name_odd_rows(result, pairs)
    result.notes += _remarks(result.difference)
    return result


def _name_odd_rows(result: TaskComparison, pairs: Pairs) -> None:
    table, other = result.table, result.other
    assert table is not None
    changed = [table.ids[row] for row in pairs.rows[pairs.prompt_differs]]
    damage = [(table, "")] + ([(other, "baseline: ")] if other is not None else [])
    broken = [f"{side}line {item.line}: {item.why}" for one, side in damage for item in one.damage]
    lists = {
        "missing": pairs.missing,
        "extra": pairs.extra,
        "changed_prompt": changed,
        "duplicates": pairs.duplicates,
        "unscored": pairs.unscored,
        "unreadable": pairs.unreadable,
        "damage": broken,
    }
    for name, ids in lists.items():
        setattr(result, name, ids[:_NAMED])
        result.counts_of["damaged" if name == "damage" else name] = len(ids)


def _remarks(item: Difference) -> list[str]:
    """What the documents of a task leave open."""
    if item.clusters is None or item.clusters >= FEW_DOCUMENTS:
        return []
    remarks = [f"few documents: {item.clusters}; an interval over so few says little"]
    if item.largest is not None and item.largest >= _DOMINANT:
        remarks.append(f"one document holds {item.largest:.0%} of the rows")
    return remarks


def _subtasks(table: Table, pairs: Pairs, *, higher_is_better: bool) -> list[SubtaskRow]:
    if not table.subtasks:
        return []
    codes = table.subtask[pairs.rows]
    known = codes != UNKNOWN
    codes, now, before = codes[known], pairs.now[known], pairs.before[known]
    size = len(table.subtasks)
    counts = np.bincount(codes, minlength=size)
    sums = [np.bincount(codes, weights=values, minlength=size) for values in (now, before)]
    moves = [np.bincount(codes[mask], minlength=size) for mask in (now > before, now < before)]
    gained, lost = moves if higher_is_better else moves[::-1]
    rows = [
        SubtaskRow(
            name,
            int(counts[at]),
            float(sums[1][at] / counts[at]),
            float(sums[0][at] / counts[at]),
            int(gained[at]),
            int(lost[at]),
        )
        for at, name in enumerate(table.subtasks)
        if counts[at]
    ]
    return sorted(rows, key=lambda row: row.subtask)
