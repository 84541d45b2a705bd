"""One task compared: its difference, subtasks, flips and what is odd about its rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics import statistics
from evalprep.compare.acrosstools import PairedRows
from evalprep.compare.conclusion import Conclusion, plain_reasons
from evalprep.compare.difference import Difference
from evalprep.compare.documents import NONE, documents_of
from evalprep.compare.flips import (
    NOBODY,
    Change,
    Flip,
    FlipCause,
    Repliers,
    cause_of,
    make_flip,
    with_baseline,
)
from evalprep.compare.pairing import Pairs
from evalprep.results import (
    UNKNOWN,
    FactDifference,
    Metric,
    Sample,
    SampleView,
    Table,
    has_reply,
    knows_parsing,
    note_on_few_documents,
    text_of,
    view_of,
)

_DOMINANT = 0.4  # share of the rows from which one document is named
_NAMED = 20  # ids that a list of problems names
_NOT_DATA = frozenset(
    {
        *("whole", "pairs", "table", "other", "repliers", "difference", "subtasks", "causes"),
        *("counts_of", "differs", "duplicate_of", "units", "bounds", "paired_rows", "equal"),
    }
)


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
        declared: Whether the task names its metric itself.
        unparsed: Replies of the run from which nothing could be extracted, among the pairs; None
            where the task does not tell.
        identical_outputs: Pairs with byte-identical replies; None against published verdicts, and
            where a side logged no replies.
        macro_previous, macro_now: Means of subtask means; None without subtasks.
        subtasks: One row per subtask.
        counts_of: How many rows are missing, extra, doubled, with another prompt, without a score,
            with an unreadable verdict, with another gold answer, damaged.
        missing, extra, changed_prompt, duplicates, unscored, unreadable, other_gold: The first ids
            of each.
        damage: The first damaged lines.
        doubts: Warnings about the replies of a side.
        differs: Facts that are not the same on both sides.
        paired_rows: How rows of two tools met; None for two runs of lm-eval.
        units: Document of each pair; None for independent rows.
        unsettled: Fields by whose values the differences vary, of which it is not known whether
            they name documents.
        equal: Pairs with equal replies; None where replies say nothing of the scorer.
        bounds: Least and greatest value of the metric, where they are known.
        whole: The comparison of the metric over all rows that stands for the task.
    """

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
    other_gold: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    differs: list[FactDifference] = field(default_factory=list)
    paired_rows: PairedRows | None = None
    pairs: Pairs | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)
    other: Table | None = field(default=None, repr=False)
    repliers: Repliers = NOBODY
    units: NDArray[np.int64] | None = field(default=None, repr=False)
    unsettled: list[str] = field(default_factory=list)
    equal: NDArray[np.bool_] | None = field(default=None, repr=False)
    bounds: tuple[float, float] | None = None
    whole: Conclusion | None = field(default=None, repr=False)

    def flips(self) -> Iterator[Flip]:
        """Every flip with its texts, read from the samples files one by one.

        Whoever takes all of them has counted the `causes`.
        """
        for change, cause in self._explained():
            yield make_flip(self.task, change, cause)

    def flip_causes(self) -> Iterator[FlipCause]:
        """Every flip without its texts; counts the `causes` as `flips` does."""
        for change, cause in self._explained():
            yield FlipCause(self.task, change.sample.sample_id, change.direction, cause)

    def _explained(self) -> Iterator[tuple[Change, str]]:
        """Every change with its cause; at the end the causes are counted."""
        causes: Counter[str] = Counter()
        for change in self._changes():
            cause = cause_of(change, self.repliers)
            causes[cause] += 1
            yield change, cause
        self.causes = dict(causes.most_common())

    def lost(self) -> Iterator[SampleView]:
        """Every sample that the baseline got right and the candidate did not, with both replies.

        Of graded metrics, every sample on which the candidate scores lower.
        """
        metric = Metric(
            metric=self.metric,
            filter=self.filter,
            direction="down" if self.difference.higher_is_better is False else "up",
            range=self.bounds,
        )
        for change in self._changes():
            if not change.gained:
                view = view_of(self.task, change.sample, metric, self.repliers[0])
                yield with_baseline(view, change, cause_of(change, self.repliers))

    def count_lost(self) -> int:
        """The number of samples that `lost` yields."""
        if self.pairs is None:
            return 0
        higher = self.difference.higher_is_better is not False
        now, before = self.pairs.now, self.pairs.before
        return int(np.sum(now < before if higher else now > before))

    @cached_property
    def causes(self) -> dict[str, int]:
        """Cause -> number of flips, the most frequent first.

        Counted with the `flips`, else at first use, as it reads every flip's texts.
        """
        return dict(
            Counter(cause_of(change, self.repliers) for change in self._changes()).most_common()
        )

    def _changes(self) -> Iterator[Change]:
        if self.pairs is None or self.table is None:
            return
        pairs = self.pairs
        changed = pairs.keep(pairs.now != pairs.before)
        samples = self.table.read(changed.rows)
        others: Iterator[Sample | None] = itertools.repeat(None, changed.rows.size)
        if self.other is not None:
            others = self.other.read(changed.other_rows)
        subtasks = [*self.table.subtasks, ""]  # the last one is that of the code for none
        codes = self.table.subtask[changed.rows].tolist()
        columns = (changed.now.tolist(), changed.before.tolist(), changed.prompt_differs.tolist())
        higher_is_better = self.difference.higher_is_better is not False
        for sample, other, code, score, old_score, differs in zip(
            samples, others, codes, *columns, strict=True
        ):
            yield Change(
                sample,
                other,
                subtasks[code],
                _output_of(sample, other),
                now=score,
                before=old_score,
                gained=(score > old_score) == higher_is_better,
                prompt_differs=differs,
            )

    @property
    def reading(self) -> str:
        """The metric and the filter that are compared, for people."""
        return Metric(metric=self.metric, filter=self.filter).name

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts, ready for JSON."""
        plain = {name: value for name, value in vars(self).items() if name not in _NOT_DATA}
        more: dict[str, Any] = {
            "task": self.name,
            "ways": {} if self.pairs is None else self.pairs.ways,
            "counts": self.counts_of,
            "subtasks": [asdict(row) for row in self.subtasks],
            "causes": self.causes,
            "differs": [asdict(fact) for fact in self.differs],
        }
        if self.paired_rows is not None:
            more["pairing"] = self.paired_rows.to_dict()
        return plain | self.difference.to_dict() | plain_reasons(self) | more


def _output_of(sample: Sample, other: Sample | None) -> str | None:
    """The reply of the baseline; None where it is not known."""
    if other is None:
        return sample.previous_output
    return text_of(other) if has_reply(other) else None


@dataclass(frozen=True)
class TaskSides:
    """The rows of one task on both sides, and who wrote their replies.

    Without `other` the baseline is published. Of a log that keeps verdicts alone there are no
    replies (`has_replies`). `equal` is True for each pair with equal replies; `units` is the
    document of each pair, -1 for a row of its own, None for independent rows.
    """

    table: Table
    other: Table | None
    pairs: Pairs
    repliers: Repliers = NOBODY
    has_replies: bool = True
    equal: NDArray[np.bool_] | None = None
    units: NDArray[np.int64] | None = None


def rows_of_task(sides: TaskSides, metric: Metric) -> dict[str, Any]:
    """What is said of the rows of a task: fields of `TaskComparison`."""
    table, other, pairs = sides.table, sides.other, sides.pairs
    is_up = direction_of(metric) is not False
    subtasks = _subtasks(table, pairs, higher_is_better=is_up)
    identical = None
    if other is not None and sides.has_replies:
        same = table.response_hash[pairs.rows] == other.response_hash[pairs.other_rows]
        identical = int(np.sum(same))
    return {
        "filter": table.filter,
        "unparsed": int(np.sum(table.unparsed[pairs.rows] == 1)) if knows_parsing(table) else None,
        "identical_outputs": identical,
        "subtasks": subtasks,
        "macro_previous": float(np.mean([row.previous for row in subtasks])) if subtasks else None,
        "macro_now": float(np.mean([row.now for row in subtasks])) if subtasks else None,
        "pairs": pairs,
        "table": table,
        "other": other,
        "repliers": sides.repliers,
        "units": sides.units,
        "equal": sides.equal,
        **_odd_rows(sides),
    }


def direction_of(metric: Metric) -> bool | None:
    """True where higher is better, False where lower is, None where that is not known."""
    return {"up": True, "down": False}.get(metric.direction)


def row_units(table: Table, pairs: Pairs, cluster: str = "") -> NDArray[np.int64] | None:
    """The document of each pair: by a field of its row, else by `cluster_id`.

    None for independent rows.

    Rows of one key that is repeated equally often on both sides are one document: which of them
    meet is not known.
    """
    codes = document_codes(table, pairs.rows, cluster)
    if pairs.repeats is None:
        return codes
    if codes is None:
        return pairs.repeats
    # A repeated row without a document gets a code that no document has.
    group = pairs.repeats + int(codes.max(initial=0)) + 1
    return np.where((codes == UNKNOWN) & (pairs.repeats != UNKNOWN), group, codes)


def document_codes(
    table: Table, rows: NDArray[np.int64], cluster: str = ""
) -> NDArray[np.int64] | None:
    """The document of some rows; None where rows have none.

    By a field that the user names, else by `cluster_id`, else by a field that is found.
    """
    if cluster == NONE:
        return None
    if cluster:
        return _codes_of(table, cluster)[rows]
    if table.clusters:
        return table.cluster[rows]
    found = documents_of(table).found
    return None if found is None else found.codes[rows]


def _codes_of(table: Table, column: str) -> NDArray[np.int64]:
    """A code for each different value of a field of the rows, in order of appearance.

    -1 for none.
    """
    if column in table.documents:
        return table.documents[column]
    code_of: dict[str, int] = {}
    codes = []
    for sample in table.read(range(len(table))):
        value = sample.doc.get(column)
        code = UNKNOWN if value is None else code_of.setdefault(str(value), len(code_of))
        codes.append(code)
    return np.array(codes, dtype=np.int64)


def _odd_rows(sides: TaskSides) -> dict[str, Any]:
    """The first ids of rows that need an explanation, and the counts of all."""
    table, other, pairs = sides.table, sides.other, sides.pairs
    broken = [f"line {damage.line}: {damage.why}" for damage in table.damage]
    if other is not None:
        broken += [f"baseline: line {damage.line}: {damage.why}" for damage in other.damage]
    odd = {
        "missing": pairs.missing,
        "extra": pairs.extra,
        "changed_prompt": [table.ids[row] for row in pairs.rows[pairs.prompt_differs]],
        "duplicates": pairs.duplicates,
        "unscored": pairs.unscored,
        "unreadable": pairs.unreadable,
        "other_gold": pairs.other_gold,
    }
    named = {name: list(ids[:_NAMED]) for name, ids in odd.items()}
    counts = {name: len(ids) for name, ids in odd.items()} | {"damaged": len(broken)}
    return {**named, "damage": broken[:_NAMED], "counts_of": counts}


def remarks_on(item: Difference) -> list[str]:
    """Notes on documents and on scores that cannot show a drop."""
    floor = floor_sentence(item)
    remarks = [floor] if floor else []
    few = note_on_few_documents(item.clusters)
    remarks += few
    if few and item.largest is not None and item.largest >= _DOMINANT:
        remarks.append(f"one document holds {item.largest:.0%} of the rows")
    return remarks


def _is_at_chance(item: Difference) -> bool:
    """True where neither side is shown to be better than a guess."""
    now, before = item.now, item.previous
    is_share = item.binary or item.made_of == "stored"
    if item.chance is None or not item.n or not is_share or now is None or before is None:
        return False
    lows = [statistics.wilson_interval(round(side * item.n), item.n)[0] for side in (now, before)]
    return max(lows) <= item.chance and item.higher_is_better is not False


def floor_sentence(item: Difference) -> str:
    """The sentence for a baseline at the worst score, or two sides at chance; else empty.

    No drop can be seen from there.
    """
    if _is_at_chance(item):
        return f"both sides at chance ({item.chance:.0%}): this task cannot show a drop"
    worst = 1.0 if item.higher_is_better is False else 0.0
    is_mean = item.made_of in {"rows", "stored"}
    if not item.n or not item.in_points or not is_mean or item.previous != worst:
        return ""
    side = "on both sides" if item.now == worst else "in the baseline"
    score = f"0 of {item.n} right" if item.binary and worst == 0.0 else "the worst score"
    return f"{score} {side}: this task cannot show a drop"


def _subtasks(table: Table, pairs: Pairs, *, higher_is_better: bool) -> list[SubtaskRow]:
    """One row per subtask that the pairs name."""
    if not table.subtasks:
        return []
    codes = table.subtask[pairs.rows]
    known = codes != UNKNOWN
    pairs = pairs.keep(known)
    codes = codes if known.all() else codes[known]
    now = pairs.now
    before = pairs.before
    size = len(table.subtasks)
    counts = np.bincount(codes, minlength=size)
    sum_now = np.bincount(codes, weights=now, minlength=size)
    sum_before = np.bincount(codes, weights=before, minlength=size)
    up = np.bincount(codes[now > before], minlength=size)
    down = np.bincount(codes[now < before], minlength=size)
    gained, lost = (up, down) if higher_is_better else (down, up)
    rows = [
        SubtaskRow(
            subtask=name,
            n=int(counts[at]),
            previous=float(sum_before[at] / counts[at]),
            now=float(sum_now[at] / counts[at]),
            gained=int(gained[at]),
            lost=int(lost[at]),
        )
        for at, name in enumerate(table.subtasks)
        if counts[at]
    ]
    return sorted(rows, key=lambda row: row.subtask)
