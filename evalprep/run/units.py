"""Cut a command into units: one per task, several for a big one; and units into shards."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from evalprep.packs import limited
from evalprep.results import Unit
from evalprep.status import Job


@dataclass(frozen=True)
class Cut:
    """The cut of a command, and the part of it that is to run.

    Attributes:
        rows: Rows of one unit; 0 for whole tasks.
        shard: Number of the shard, from 1.
        shards: Into how many parts the units are dealt; all of them make the whole.
    """

    rows: int
    shard: int = 1
    shards: int = 1

    @property
    def is_whole(self) -> bool:
        """Returns whether all units run here."""
        return self.shards == 1

    def as_list(self) -> list[int]:
        """The numbers as a list, for a message to the process that holds the model."""
        return [self.rows, self.shard, self.shards]

    @classmethod
    def of_list(cls, numbers: list[int]) -> Self:
        """The inverse of `as_list`."""
        return cls(*map(int, numbers))


def plan_units(tasks: dict[str, Any], job: Job, cut: Cut, earlier: list[Unit]) -> list[Unit]:
    """The units in the order in which they run; those of one shard where the cut names one.

    Args:
        tasks: Task name -> lm-eval's object.
        job: The command.
        cut: Rows of one unit, and the shard.
        earlier: Units of an earlier start of the same command, whose cut is kept if they are all
            rows that there are.
    """
    limit = job.options.get("limit")
    counts = {name: limited(len(task.eval_docs), limit) for name, task in tasks.items()}
    known: Counter[str] = Counter()
    for unit in earlier:
        known[unit.task] += unit.rows
    if cut.is_whole and known == Counter(counts):
        return earlier
    # Rows of one unit: at most an even share of the shards, so that none has nothing to do.
    total = sum(counts.values())
    if cut.is_whole:
        shard_rows = cut.rows
    else:
        share = max(1, math.ceil(total / cut.shards))
        shard_rows = min(cut.rows, share) if cut.rows else share
    units: list[Unit] = []
    for name, task in tasks.items():
        rows = counts[name]
        size = shard_rows if shard_rows and can_be_cut(task) else rows
        units += _units_of(name, rows, size)
    return units if cut.is_whole else _dealt(units, cut)


def _units_of(task: str, rows: int, size: int) -> Iterator[Unit]:
    """Yields the units of a task, each of at most `size` rows."""
    if 0 < rows <= size:
        yield Unit(name=unit_name(task, None), task=task, rows=rows)
        return
    for first in range(0, rows, max(size, 1)):
        count = min(size, rows - first)
        name = unit_name(task, range(first, first + count))
        yield Unit(name=name, task=task, rows=count, first=first, whole=False)


def _dealt(units: list[Unit], cut: Cut) -> list[Unit]:
    """The units of one shard: the largest first, each to the shard with the fewest rows so far."""
    loads = [0] * cut.shards
    own = []
    for unit in sorted(units, key=lambda unit: (-unit.rows, unit.name)):
        place = loads.index(min(loads))
        loads[place] += unit.rows
        if place == cut.shard - 1:
            own.append(unit.name)
    return [unit for unit in units if unit.name in own]


def unit_name(task: str, rows: range | None) -> str:
    """A folder name, unlike that of any other unit, also of another cut.

    >>> unit_name("group::task", range(2000, 4000))
    'group%3A%3Atask.002000-003999'
    """
    safe = re.sub(
        r"[^\w.-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), task
    )
    return safe if rows is None else f"{safe}.{rows.start:06d}-{rows.stop - 1:06d}"


def can_be_cut(task: Any) -> bool:
    """Returns whether shards give the same prompts as the whole.

    Random few-shot examples are drawn row after row, so that a row's shots depend on the rows
    before it.
    """
    shots = task.get_config("num_fewshot") or 0
    sampler = getattr(task.get_config("fewshot_config"), "sampler", "default")
    return shots == 0 or sampler == "first_n"
