"""How often a repeat decides at the number of rows that an unclear gate prints.

    python -m benchmarks.plans [--pilots 1000] [--seed 1] [--docs docs/reference/measured.md]

Draws unclear pilots with 5 and more changed rows, takes the number of rows at which
`custom_metrics.statistics` promises a decision in 80 % of the repeats, and repeats each pilot with
so many of its own rows, drawn anew. Exit code 1 where fewer than 97 % of the pilots decide in 70 to
90 % of their repeats, apart from the noise of few repeats.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.conclusions import draw_verdicts, tango_z
from benchmarks.measuring import write_docs
from custom_metrics import statistics as ours
from custom_metrics.statistics.planning import DECIDED, ONE_SIDED, ROUGH_BELOW, TWO_SIDED

INSIDE, APART = 0.97, 0.1  # of the pilots, whose repeats decide within so much of DECIDED
VERDICT_REPEATS, GRADED_REPEATS = 4000, 200  # of each pilot; graded ones are drawn row by row
MOST_GRADED = 20_000  # rows; longer plans would take minutes each
STEPS = (-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0)  # of a graded row that changed

Limits = tuple[float, float]
Generator = np.random.Generator


@dataclass(frozen=True)
class Plan:
    """A number of rows, and the share of repeats that it promised to decide and decided."""

    rows: int
    promised: float
    decided: float


def drawn_limits(generator: Generator) -> Limits:
    """The tolerated drop, and what may stay open beyond it."""
    drop, slack = generator.choice([0.0, 0.01, 0.02]), generator.choice([0.02, 0.05, 0.1])
    return float(drop), float(slack)


def verdict_plan(generator: Generator) -> Plan | None:
    """An unclear pilot of right-or-wrong rows, repeated; None where the drawn one is none."""
    n = int(generator.choice([50, 100, 200, 500]))
    changed = float(generator.choice([0.05, 0.1, 0.2, 0.4]))
    limits = drawn_limits(generator)
    true = min(float(generator.uniform(0, sum(limits))), changed)
    gained, lost = draw_verdicts(generator, np.array([n]), changed, np.array([true]), 1)
    pilot = ours.PairedVerdicts(n, int(gained[0, 0]), int(lost[0, 0]))

    def is_clear(size: int, b: NDArray[np.int64], c: NDArray[np.int64]) -> NDArray[np.bool_]:
        fails = tango_z(size, b, c, -limits[0]) < -TWO_SIDED
        return fails | (tango_z(size, b, c, -sum(limits)) > ONE_SIDED)

    plan = ours.rows_needed(n, pilot.gained, pilot.lost, *limits)
    clear = is_clear(n, np.array([pilot.gained]), np.array([pilot.lost]))[0]
    if clear or pilot.changed < ROUGH_BELOW or plan.rows is None:
        return None
    gain, loss = pilot.gained / n, pilot.lost / n
    counts = generator.multinomial(plan.rows, [gain, loss, 1 - gain - loss], VERDICT_REPEATS)
    decided = float(np.mean(is_clear(plan.rows, counts[:, 0], counts[:, 1])))
    return Plan(plan.rows, plan.passes + plan.fails, decided)


def graded_plan(generator: Generator) -> Plan | None:
    """An unclear pilot of graded rows, repeated; None where the drawn one is none."""
    n = int(generator.choice([100, 200, 500]))
    changed = float(generator.choice([0.05, 0.15, 0.4]))
    limits = drawn_limits(generator)
    moved = generator.random(n) < changed
    fallen = generator.random(n) < generator.uniform(0, 2 * sum(limits))
    rows = np.where(moved, generator.choice(STEPS, n), 0.0)
    rows = np.where(fallen, -np.abs(generator.choice(STEPS, n)), rows)

    def is_clear(differences: NDArray[np.float64]) -> bool:
        fails = ours.graded_interval(differences)[1] < -limits[0]
        return fails or ours.pass_interval(differences)[0] > -sum(limits)

    evidence = ours.paired_mean(rows, range=1.0)
    plan = ours.units_needed(evidence, *limits, cautious=True)
    if is_clear(rows) or evidence.changed < ROUGH_BELOW:
        return None
    if plan.rows is None or plan.rows > MOST_GRADED:
        return None
    repeats = (is_clear(generator.choice(rows, plan.rows)) for _ in range(GRADED_REPEATS))
    decided = sum(repeats) / GRADED_REPEATS
    return Plan(plan.rows, plan.passes + plan.fails, decided)


def plans(
    draw: Callable[[Generator], Plan | None], pilots: int, generator: Generator
) -> Iterator[Plan]:
    """Draw pilots until so many of them are unclear."""
    count = 0
    while count < pilots:
        plan = draw(generator)
        if plan is not None:
            count += 1
            yield plan


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and say which kind misses the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pilots", type=int, default=1000, help="unclear pilots of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", type=Path, metavar="FILE", help="the page whose table to replace")
    args = parser.parse_args(argv)
    head = ("rows", "pilots", "planned, median", "promised", "decided, mean", "least", "most")
    lines = [f"| {' | '.join([*head, '70 to 90 %'])} |", f"|---|{'---:|' * len(head)}"]
    missed = False
    kinds = (
        ("right or wrong", verdict_plan, VERDICT_REPEATS),
        ("graded", graded_plan, GRADED_REPEATS),
    )
    for name, draw, repeats in kinds:
        found = list(plans(draw, args.pilots, np.random.default_rng([args.seed, repeats])))
        decided = np.array([plan.decided for plan in found])
        inside = np.abs(decided - DECIDED) <= APART
        noise = 2 * math.sqrt(DECIDED * (1 - DECIDED) / repeats)
        missed |= bool(np.mean(np.abs(decided - DECIDED) <= APART + noise) < INSIDE)
        cells = [
            f"{len(found):,}",
            f"{np.median([plan.rows for plan in found]):,.0f}",
            f"{np.mean([plan.promised for plan in found]):.3f}",
            f"{decided.mean():.3f}",
            f"{decided.min():.3f}",
            f"{decided.max():.3f}",
            f"{inside.mean():.1%}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", f"{VERDICT_REPEATS:,} and {GRADED_REPEATS} repeats of a pilot, seed {args.seed}."]
    print("\n".join(lines))
    if args.docs:
        write_docs(args.docs, "plans", lines)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
