"""The rows of one task lined up over several runs, and what each run replied to them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalprep.results import (
    Replier,
    Run,
    SampleView,
    TaskRun,
    at_one_length,
    ends_a_sentence,
    knows_parsing,
    text_of,
)
from evalprep.samples import BY_CONTENT, UNKNOWN, Ids, PairRules, Sample, Table, line_up

#: A sample, and filter -> the answer that it found.
ReadSample = tuple[SampleView, dict[str, str]]
# Bits of a reply's flags; UNSURE: whether it was cut off is not known.
UNPARSED, TRUNCATED, EMPTY, OTHER_PROMPT, UNSURE = 1, 2, 4, 8, 16
_FLAG_OF_CUT = {True: TRUNCATED, False: 0, None: UNSURE}


@dataclass
class Replies:
    """The replies of one run to one task, in the order of the aligned rows.

    Args:
        task: The run's task.
        table: Its rows under the primary filter.
        rows: Row of `table` for each aligned row; -1 where the run lacks it.
        flags: `UNPARSED`, `TRUNCATED`, `EMPTY`, `OTHER_PROMPT` and `UNSURE`, added. The columns of
            the table give three of them; whether a reply was cut off is filled in while the samples
            are read.
        replier: Who wrote them.
        lengths: Characters of each reply, -1 where the run lacks it; filled in likewise.
        ended: Whether each reply ends as a whole one does; filled likewise.
    """

    task: TaskRun
    table: Table
    rows: array[int]
    flags: bytearray
    replier: Replier
    lengths: array[int] = field(default_factory=partial(array, "i"))
    ended: bytearray = field(default_factory=bytearray)

    def count(self, flag: int) -> int:
        """Returns how many replies carry a flag."""
        return int(np.count_nonzero(np.frombuffer(self.flags, dtype=np.uint8) & flag))

    @property
    def unparsed(self) -> int | None:
        """Replies from which nothing could be read; None where the task does not tell."""
        return self.count(UNPARSED) if knows_parsing(self.table) else None

    @property
    def cut_off(self) -> int | None:
        """Replies that ended at their limit; None where not one is known and some may have."""
        truncated = self.count(TRUNCATED)
        return None if not truncated and self.count(UNSURE) else truncated

    @property
    def suspected(self) -> int:
        """Replies that end inside a sentence at one length, where no limit is known."""
        return at_one_length(self.lengths, self.ended) if self.count(UNSURE) else 0

    def score(self, at: int) -> float | None:
        """The primary metric of an aligned row; None where it has none."""
        return self.scores([at])[0]

    def scores(self, places: Sequence[int]) -> list[float | None]:
        """The primary metric of some aligned rows; None where one has none."""
        values = self.table.numbers(self.task.primary.metric)
        if not values.size:
            return [None] * len(places)
        rows = np.frombuffer(self.rows, dtype=np.int64)[list(places)]
        scores = np.where(rows == UNKNOWN, np.nan, values[rows])
        return [None if math.isnan(score) else score for score in scores.tolist()]

    def flags_of(self, places: Sequence[int]) -> list[int]:
        """The flags of some aligned rows; `UNKNOWN` where the run lacks one."""
        return [UNKNOWN if self.rows[place] == UNKNOWN else self.flags[place] for place in places]

    def read(self, places: Iterable[int] | None = None) -> Iterator[ReadSample | None]:
        """Samples with the answer that every filter found, streamed.

        None where there is none.

        Args:
            places: Of the aligned rows, in order; all by default.
        """
        chosen = self.rows if places is None else array("q", [self.rows[at] for at in places])
        samples = self.table.read(row for row in chosen if row != UNKNOWN)
        # A filter that was not applied to the same documents cannot be read in step.
        own_ids = self.task.table().ids
        names = [name for name in self.table.filters if name != self.table.filter]
        others = [table for table in map(self.task.table, names) if table.ids == own_ids]
        streams = {
            table.filter: table.read(row for row in chosen if row != UNKNOWN) for table in others
        }
        for row in chosen:
            if row == UNKNOWN:
                yield None
                continue
            sample = next(samples)
            answers = {sample.filter: sample.answer}
            for name, stream in streams.items():
                answers[name] = next(stream).answer
            yield SampleView(self.task.name, sample, self.task.primary), answers

    def read_primary(self, places: Iterable[int]) -> Iterator[Sample | None]:
        """Samples of the primary filter alone, streamed; None where the run lacks them."""
        chosen = array("q", [self.rows[place] for place in places])
        samples = self.table.read(row for row in chosen if row != UNKNOWN)
        for row in chosen:
            yield None if row == UNKNOWN else next(samples)

    def note(self, sample: Sample | None) -> None:
        """Records the length of the next aligned row and whether it was cut off.

        Without a sample it records that the run lacks the row.
        """
        if sample is None:
            self.lengths.append(UNKNOWN)
            self.ended.append(True)
            return
        text = text_of(sample)
        self.flags[len(self.lengths)] |= _FLAG_OF_CUT[self.replier.cut(sample)]
        self.lengths.append(len(text))
        self.ended.append(ends_a_sentence(text))


@dataclass
class TaskRows:
    """One task of all runs.

    Args:
        name: The task.
        ids: Identity of each row.
        replies: One entry per run, None where a run has no samples of the task.
    """

    name: str
    ids: Ids
    replies: list[Replies | None]

    @cached_property
    def graded(self) -> bool:
        """Returns whether a row gets a number and no verdict.

        A score of some row, in any run, is neither 0 nor 1, or nothing says which way is better.
        """
        tasks = [reply.task for reply in self.replies if reply is not None]
        if any(task.primary.direction == "unknown" and task.turned is None for task in tasks):
            return True
        columns = (
            reply.table.metrics.get(reply.task.primary.metric)
            for reply in self.replies
            if reply is not None
        )
        return any(
            bool(((column != 0) & (column != 1) & ~np.isnan(column)).any())
            for column in columns
            if column is not None
        )


def align(name: str, runs: Sequence[Run], rules: PairRules = BY_CONTENT) -> TaskRows:
    """Lines up a task's rows: those of the first run that has it, then what only later runs have.

    Rows meet as `compare` pairs them. Rows that occur twice are no pair there; here they meet in
    their order, so that a page shows each once.

    Args:
        name: The task.
        runs: The runs, those without the task too.
        rules: What the user decides about pairing.
    """
    tasks = [(run, run.tasks.get(name)) for run in runs]
    present = [(task.table(), task.tool) for _, task in tasks if task is not None]
    ids, places = line_up(present, rules)
    place_of = iter(places)
    # The prompt of a row is held against that of the first run that has the row.
    first_prompts = np.zeros(len(ids), dtype=np.uint64)
    has_prompt = np.zeros(len(ids), dtype=np.bool_)
    replies: list[Replies | None] = []
    for run, task in tasks:
        if task is None:
            replies.append(None)
            continue
        table, own = task.table(), next(place_of)
        rows = np.full(len(ids), UNKNOWN, dtype=np.int64)
        rows[own] = np.arange(own.size)
        is_present = rows != UNKNOWN
        prompts = _at_rows(table.prompt_hash, rows)
        is_first = is_present & ~has_prompt
        first_prompts[is_first] = prompts[is_first]
        has_prompt |= is_present
        flags = (
            UNPARSED * (_at_rows(table.unparsed, rows) == 1)
            | EMPTY * (_at_rows(table.empty, rows) == 1)
            | OTHER_PROMPT * (is_present & (prompts != first_prompts))
        )
        flags_of_rows = bytearray(flags.astype(np.uint8))
        own_rows = array("q", rows.tobytes())
        replies.append(Replies(task, table, own_rows, flags_of_rows, Replier.of(run)))
    return TaskRows(name, ids, replies)


def _at_rows(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """A table's values in the order of the aligned rows; 0 where the run lacks a row."""
    values = np.zeros(rows.size, dtype=column.dtype)
    is_present = rows != UNKNOWN
    values[is_present] = column[rows[is_present]]
    return values
