"""Attacks on evalprep, and what becomes of each: the rows of a table in docs/reference/measured.md.

Each module of this package makes faults of one kind and has

    def rows(share: float, seed: int) -> list[Row]: ...

`share` is the part of its cases to run, from 0 to 1 (at least one case of each class); `seed`
decides which. The same share and seed choose the same cases. `main(rows)` runs a module by itself.
"""

from __future__ import annotations

import argparse
import importlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.faults.commands import cpu_seconds, release

Case = TypeVar("Case")


@dataclass
class Row:
    """One row of the table.

    Attributes:
        name: The faults, for a reader of the docs.
        cases: Cases that were run.
        held: Cases in which evalprep kept its promise.
        seconds: Time by the clock.
        cpu_seconds: CPU time, of which a busy machine spends little more than a quiet one.
        fallen: What went wrong in the other cases, one line each.
        note: What a reader should know, e.g. which isolation was tried.
    """

    name: str
    cases: int = 0
    held: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    fallen: list[str] = field(default_factory=list)
    note: str = ""

    def add(self, case: str, problem: str | None) -> None:
        """Counts a case; `problem` is None where it held."""
        self.cases += 1
        if problem is None:
            self.held += 1
        else:
            self.fallen.append(f"{case}: {problem}")


@contextmanager
def timed(name: str, note: str = "") -> Iterator[Row]:
    """A row whose seconds are those of the block."""
    row = Row(name, note=note)
    started, spent = time.monotonic(), cpu_seconds()
    try:
        yield row
    finally:
        row.seconds = time.monotonic() - started
        row.cpu_seconds = cpu_seconds() - spent


def chosen(cases: Sequence[Case], share: float, seed: int) -> list[Case]:
    """A seeded part of some cases, in their order; at least one of them."""
    count = max(1, round(share * len(cases))) if cases else 0
    places = sorted(random.Random(seed).sample(range(len(cases)), count))
    return [cases[place] for place in places]


def run_module(name: str, share: float, seed: int) -> list[Row]:
    """The rows of one module, whose notes name the part that was run."""
    module = importlib.import_module(f"benchmarks.faults.{name}")
    try:
        rows: list[Row] = module.rows(share, seed)
    finally:
        release()
    for row in rows:
        if share < 1.0 and row.cases:
            row.note = f"{share:.0%} of the cases; {row.note}".rstrip("; ")
    return rows


def main(rows: Callable[[float, int], list[Row]]) -> int:
    """Runs one module alone and prints its rows; exit code 1 where a case fell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases, 0 to 1")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    results = rows(arguments.share, arguments.seed)
    for row in results:
        print(
            f"{row.name}: {row.held} of {row.cases} held, {row.seconds:.0f} s {row.note}".rstrip()
        )
        for line in row.fallen:
            print(f"    {line}")
    return int(any(row.fallen for row in results))
