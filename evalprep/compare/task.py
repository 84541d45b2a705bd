"""The rows of one task on both sides: subtasks, flips and what is odd about them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from custom_metrics import statistics
from evalprep.compare.agreement import direction_of
from evalprep.compare.difference import Difference
from evalprep.compare.flips import ANSWER_DIFFERS, Flip, Repliers
from evalprep.compare.pairing import Pairs
from evalprep.compare.question import Question
from evalprep.compare.sides import PairedMetric
from evalprep.results import Replier, SampleView, knows_parsing, note_on_few_documents
from evalprep.samples import UNKNOWN, Metric, Sample, Table

_DOMINANT = 0.4  # share of the rows from which one document is named
_NAMED = 20  # ids that a list of problems names


class SubtaskRow(msgspec.Struct, frozen=True):
    """One subtask of a task: name, pairs, means on both sides, verdicts gained and lost."""

    subtask: str
    n: int
    previous: float
    now: float
    gained: int
    lost: int


@dataclass(frozen=True, eq=False, kw_only=True)
class PairedTask(PairedMetric):
    """The metric that stands for a task, and what is said of its rows on both sides.

    `to_dict` gives that.

    Attributes:
        question: Whether both sides answered the same question.
        by_row: False where the metric is one over all rows, so that none has a score of its own.
        doubts: Warnings about the replies of a side.
        unsettled: Fields by whose values the differences vary, of which it is not known whether
            they name documents.
    """

    question: Question
    by_row: bool = True
    doubts: Sequence[str] = ()
    unsettled: Sequence[str] = ()

    @property
    def task(self) -> str:
        """Its name."""
        return self.sides.task.name

    @cached_property
    def repliers(self) -> Repliers:
        """Who wrote the replies of both sides."""
        other = self.sides.other
        return Replier.of(self.sides.run), Replier() if other is None else Replier.of(other)

    @cached_property
    def pair_of_key(self) -> dict[str, int]:
        """The pair of each row, by the keys under which scores name it.

        They are its id and, where no id reads so, its place in the split.
        """
        ids, rows = self.table.distinct_ids, self.pairs.rows
        known = set(ids)
        pairs: dict[str, int] = {}
        places = map(str, self.table.doc_id[rows].tolist())
        for pair, (row_id, place) in enumerate(zip(ids.at(rows), places, strict=True)):
            pairs[f"{self.task}#{row_id}"] = pair
            if place not in known:
                pairs[f"{self.task}#{place}"] = pair
        return pairs

    @property
    def higher_is_better(self) -> bool:
        """False where lower scores are the better ones."""
        return direction_of(self.metric) is not False

    @property
    def unparsed(self) -> int | None:
        """Replies of the candidate from which nothing could be extracted, among the pairs.

        None where the task does not record it.
        """
        if not knows_parsing(self.table):
            return None
        return int(np.sum(self.table.unparsed[self.pairs.rows] == 1))

    @property
    def identical_outputs(self) -> int | None:
        """Pairs with byte-identical replies.

        None against published verdicts, and where a side logged no replies.
        """
        if self.other is None or not self.sides.has_replies:
            return None
        own = self.table.response_hash[self.pairs.rows]
        return int(np.sum(own == self.other.response_hash[self.pairs.other_rows]))

    @cached_property
    def subtasks(self) -> list[SubtaskRow]:
        """One row per subtask."""
        return _subtasks(self.table, self.pairs, higher_is_better=self.higher_is_better)

    @property
    def macro_previous(self) -> float | None:
        """The mean of the subtask means of the baseline; None without subtasks."""
        return float(np.mean([row.previous for row in self.subtasks])) if self.subtasks else None

    @property
    def macro_now(self) -> float | None:
        """The mean of the subtask means of the candidate; None without subtasks."""
        return float(np.mean([row.now for row in self.subtasks])) if self.subtasks else None

    @cached_property
    def odd(self) -> dict[str, Sequence[str]]:
        """Ids of rows that need an explanation, by the kind of oddity, and damaged lines."""
        damage = [f"line {damage.line}: {damage.why}" for damage in self.table.damage]
        if self.other is not None:
            damage += [f"baseline: line {line.line}: {line.why}" for line in self.other.damage]
        prompts = self.pairs.rows[self.pairs.prompt_differs]
        return {
            "missing": self.pairs.missing,
            "extra": self.pairs.extra,
            "changed_prompt": self.table.ids.at(prompts),
            "duplicates": self.pairs.duplicates,
            "unscored": self.pairs.unscored if self.by_row else [],
            "unreadable": self.pairs.unreadable,
            "other_gold": self.pairs.other_gold,
            "damage": damage,
        }

    def flips(self) -> Iterator[Flip]:
        """Every flip, read from the samples files one by one; at the end the `causes` are known."""
        causes: Counter[str] = Counter()
        for flip in self._changes():
            causes[flip.cause] += 1
            yield flip
        vars(self)["causes"] = dict(causes.most_common())  # where a cached property keeps it

    def lost(self) -> Iterator[SampleView]:
        """Every sample that the baseline got right and the candidate did not, with both replies.

        Of graded metrics, every sample on which the candidate scores lower.
        """
        metric = Metric(
            metric=self.metric.metric,
            filter=self.table.filter,
            direction="up" if self.higher_is_better else "down",
            range=self.metric.range,
        )
        for flip in self._changes():
            if flip.gained:
                continue
            view = SampleView(
                self.task,
                flip.sample,
                metric,
                flip.candidate_score,
                replier=self.repliers[0],
                baseline_score=flip.baseline_score,
                baseline_reply=flip.baseline_reply,
            )
            is_explained = flip.cause == ANSWER_DIFFERS and view.reason
            yield view if is_explained else replace(view, cause=flip.cause)

    def count_lost(self) -> int:
        """The number of samples that `lost` yields."""
        now, before = self.pairs.now, self.pairs.before
        return int(np.sum(now < before if self.higher_is_better else now > before))

    @cached_property
    def causes(self) -> dict[str, int]:
        """Cause -> number of flips, the most frequent first.

        Counted with the `flips`, else at first use, as it reads every flip's texts.
        """
        return dict(Counter(flip.cause for flip in self._changes()).most_common())

    def _changes(self) -> Iterator[Flip]:
        pairs = self.pairs
        changed = pairs.keep(pairs.now != pairs.before)
        samples = self.table.read(changed.rows)
        others: Iterator[Sample | None] = itertools.repeat(None, changed.rows.size)
        if self.other is not None:
            others = self.other.read(changed.other_rows)
        subtasks = [*self.table.subtasks, ""]  # the last one is that of the code for none
        columns = (changed.rows, self.table.subtask[changed.rows], changed.now, changed.before)
        lists = [column.tolist() for column in (*columns, changed.prompt_differs)]
        for sample, other, row, code, score, old_score, differs in zip(
            samples, others, *lists, strict=True
        ):
            yield Flip(
                task=self.task,
                subtask=subtasks[code],
                row=row,
                sample=sample,
                other=other,
                candidate_score=score,
                baseline_score=old_score,
                gained=(score > old_score) == self.higher_is_better,
                prompt_differs=differs,
                repliers=self.repliers,
            )

    @property
    def reading(self) -> str:
        """The metric and the filter that are compared, for people."""
        return Metric(metric=self.metric.metric, filter=self.table.filter).name

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts, ready for JSON: of odd rows the first ids, and their counts."""
        counts = {name: len(ids) for name, ids in self.odd.items()}
        counts["damaged"] = counts.pop("damage")
        plain: dict[str, Any] = {
            **{name: list(ids[:_NAMED]) for name, ids in self.odd.items()},
            "counts": counts,
            "task": self.task,
            "declared": self.metric.declared,
            "unparsed": self.unparsed,
            "identical_outputs": self.identical_outputs,
            "macro_previous": self.macro_previous,
            "macro_now": self.macro_now,
            "subtasks": [asdict(row) for row in self.subtasks],
            "ways": self.pairs.ways,
            "causes": self.causes,
            "doubts": list(self.doubts),
            "differs": [asdict(fact) for fact in self.question.differs],
            "unsettled": list(self.unsettled),
        }
        if self.question.paired_rows is not None:
            plain["pairing"] = self.question.paired_rows.to_dict()
        return plain


def remarks_on(item: Difference) -> list[str]:
    """Notes on missing rows, on documents and on scores that cannot show a drop."""
    floor = floor_sentence(item)
    remarks = [floor] if floor else []
    if item.missing > 0.0 and item.low is not None:
        remarks.append(
            f"{item.missing:.1%} of the rows are missing on a side: the difference is that of the "
            "paired rows, and the interval holds whatever the missing ones would show"
        )
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
