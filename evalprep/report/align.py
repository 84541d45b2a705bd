"""The rows of one task lined up over several runs, and what each run replied to them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalprep.results import UNKNOWN, Run, Sample, Table, TaskRun
from evalprep.results.reply import CountTokens, extraction_failed, text_of, truncated

UNPARSED, TRUNCATED, EMPTY, OTHER_PROMPT = 1, 2, 4, 8  # bits of a reply's flags


@dataclass
class Replies:
    """What one run replied to one task, in the order of the aligned rows.

    Args:
        task: The run's task.
        table: Its rows under the primary filter.
        rows: Row of `table` for each aligned row; -1 where the run lacks it.
        flags: `UNPARSED`, `TRUNCATED`, `EMPTY` and `OTHER_PROMPT`, added; filled while the samples are read.
        lengths: Characters of each reply, -1 where the run lacks it; filled likewise.
    """

    task: TaskRun
    table: Table
    rows: list[int]
    flags: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def count(self, flag: int) -> int:
        """How many replies carry a flag."""
        return sum(1 for value in self.flags if value & flag)

    def score(self, at: int) -> float | None:
        """The primary metric of an aligned row; None where it has none."""
        values = self.table.metrics.get(self.task.primary.metric)
        if values is None or self.rows[at] == UNKNOWN:
            return None
        value = float(values[self.rows[at]])
        return None if math.isnan(value) else value

    def read(self) -> Iterator[tuple[Sample, dict[str, str]] | None]:
        """Each aligned row's sample with the answer that every filter found, streamed; None where there is none."""
        rows = [row for row in self.rows if row != UNKNOWN]
        others = [self.task.table(name) for name in self.table.filters if name != self.table.filter]
        # A filter that was not applied to the same documents cannot be read in step.
        streams = {other.filter: other.read(rows) for other in others if other.ids == self.table.ids}
        primary = self.table.read(rows)
        for row in self.rows:
            if row == UNKNOWN:
                yield None
                continue
            sample = next(primary)
            yield sample, {sample.filter: sample.answer, **{name: next(one).answer for name, one in streams.items()}}

    def note(self, sample: Sample | None, first: Sample, count: CountTokens | None) -> int:
        """Record flags and length of the next aligned row and return the flags; -1 where the run lacks it."""
        if sample is None:
            self.flags.append(0)
            self.lengths.append(UNKNOWN)
            return UNKNOWN
        text = text_of(sample)
        flags = UNPARSED * extraction_failed(sample) + TRUNCATED * truncated(sample, count)
        flags += EMPTY * (not text.strip()) + OTHER_PROMPT * (sample.prompt_hash != first.prompt_hash)
        self.flags.append(flags)
        self.lengths.append(len(text))
        return flags


@dataclass
class TaskRows:
    """One task of all runs.

    Args:
        name: The task.
        ids: Identity of each row.
        replies: One entry per run, None where a run has no samples of the task.
    """

    name: str
    ids: list[str]
    replies: list[Replies | None]


def align(name: str, runs: Sequence[Run]) -> TaskRows:
    """Line up a task's rows: those of the first run that has it, then what only later runs have.

    Rows are matched by id; rows that share one, by order of appearance.
    """
    place: dict[tuple[str, int], int] = {}
    replies: list[Replies | None] = []
    for run in runs:
        task = run.tasks.get(name)
        if task is None:
            replies.append(None)
            continue
        table = task.table()
        seen: defaultdict[str, int] = defaultdict(int)
        found: dict[int, int] = {}
        for row, one in enumerate(table.ids):
            found[place.setdefault((one, seen[one]), len(place))] = row
            seen[one] += 1
        replies.append(Replies(task, table, [found.get(at, UNKNOWN) for at in range(len(place))]))
    for reply in replies:
        if reply is not None:
            reply.rows += [UNKNOWN] * (len(place) - len(reply.rows))
    return TaskRows(name, [one for one, _ in place], replies)
