"""How often the intervals hold the truth, and how often compare and gate would say something false.

    python -m benchmarks.conclusions [--fast] [--pairs 3000] [--seed 1] [--json FILE] [--docs
    docs/reference/measured.md]

Draws pairs of runs whose true difference is known and asks `custom_metrics.statistics` about each:
right-or-wrong rows by exact enumeration, everything else by simulation. Per cell:

    coverage  the 95 % interval holds the true difference
    false     better or worse is said of two equal runs
    fail      a gate says fail where the true drop is exactly the limit
    pass      a gate says pass where the true drop is exactly what it has to rule out

Prints one line per family with its worst cells, and every cell outside the bars. Families marked
"named" are known to miss and are printed without being held to the bars. Exit code 1 where a held
cell misses.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import write_docs
from custom_metrics import statistics as ours
from custom_metrics.statistics.overall import ENOUGH_PAIRS
from custom_metrics.statistics.planning import ONE_SIDED, TWO_SIDED

COVERAGE, FALSE = 0.93, 0.065
_WHOLE = 2000  # pairs from which the bars hold without an allowance for noise
PAGE = 0.055  # of pages without a change, that a word is said anywhere
FEWEST_CHANGED = 6
FEWEST_A_TASK = 12  # rows of a task in a mean, on average, that a word takes
ADVISORY = 0.03  # of runs without a change, that a line about a secondary metric says "worse"


@dataclass
class Cell:
    """What was measured in one cell; None where a number has no meaning there."""

    family: str
    cell: str
    held: bool
    coverage: float | None
    false: float | None
    fail: float | None
    passed: float | None
    most: float = FALSE

    @property
    def misses(self) -> list[str]:
        """The numbers outside the bars."""
        high = {"false": self.false, "fail": self.fail, "pass": self.passed}
        names = [name for name, value in high.items() if value is not None and value > self.most]
        short = self.coverage is not None and self.coverage < COVERAGE
        return ["coverage", *names] if short else names

    def far_out(self, noise: float) -> bool:
        """True where a number misses its bar by more than the noise of few pairs."""
        if self.coverage is not None and self.coverage < COVERAGE - noise:
            return True
        return (
            max(value or 0.0 for value in (self.false, self.fail, self.passed)) > self.most + noise
        )


# --- right-or-wrong rows, enumerated
# --------------------------------------------------------------------------------


def verdicts(n: int, changed: float, true: float) -> Cell:
    """All tables with a probability above 1e-12, each weighing its own."""
    gain, loss = (changed + true) / 2, (changed - true) / 2
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    centre, spread = (
        (n * gain, n * loss),
        [7.2 * math.sqrt(n * p * (1 - p)) + 8 for p in (gain, loss)],
    )
    ranges = [
        range(max(0, int(c - s)), min(n, int(c + s)) + 1)
        for c, s in zip(centre, spread, strict=True)
    ]
    hold = said = failed = passed = total = 0.0
    for b in ranges[0]:
        for c in ranges[1]:
            if b + c > n or (loss == 0 and c) or (gain == 0 and b):
                continue
            log = logs[n] - logs[b] - logs[c] - logs[n - b - c]
            log += (b * math.log(gain) if b else 0.0) + (c * math.log(loss) if c else 0.0)
            log += (n - b - c) * math.log1p(-changed) if changed < 1 else 0.0
            if log < -27.6:
                continue
            weight, table = math.exp(log), ours.PairedVerdicts(n, b, c)
            z = table.z(true)
            total += weight
            hold += weight * (abs(z) <= 1.959964)
            failed += weight * (z < -1.959964)
            passed += weight * (z > 1.644854)
            said += weight * (table.p() < 0.05)
    cell = f"n {n}, {changed:.1%} changed, true difference {true:+.3f}"
    equal = true == 0
    return Cell(
        "right or wrong, independent rows",
        cell,
        n >= 20,
        hold / total,
        said / total if equal else None,
        failed / total if true <= 0 else None,
        passed / total if true < 0 else None,
    )


# --- simulated: what is drawn
# ---------------------------------------------------------------------------------------

Draw = Callable[[np.random.Generator], ours.PairedUnits]


def generator_of(seed: int, name: str) -> np.random.Generator:
    """Returns the generator of a cell, which draws the same whatever other cells are drawn."""
    return np.random.default_rng([seed, *(ord(letter) for letter in name)])


def measure(
    family: str,
    cell: str,
    draw: Draw,
    true: float,
    pairs: int,
    seed: int,
    *,
    held: bool = True,
    cautious: bool = False,
) -> Cell:
    """Draw pairs of runs and count what would be said of them.

    Args:
        family: What is alike in several cells.
        cell: What is not.
        draw: One pair of runs.
        true: The difference that `draw` has in the mean.
        pairs: How many.
        seed: Of the generator.
        held: Whether the bars apply.
        cautious: A gate pass reads the wider interval (graded rows and documents).
    """
    generator = generator_of(seed, family + cell)
    hold = said = failed = passed = 0
    for _ in range(pairs):
        found = draw(generator)
        low, high = found.interval()
        hold += low <= true <= high
        said += low > 0 or high < 0
        failed += high < true
        passed += found.worst(cautious=cautious) > true
    share = [count / pairs for count in (hold, said, failed, passed)]
    return Cell(family, cell, held, share[0], share[1] if true == 0 else None, share[2], share[3])


def graded(kind: str, n: int, changed: float) -> tuple[Draw, float]:
    """Independent graded rows: many small changes, skewed ones, or changes in one direction."""

    def differences(generator: np.random.Generator, size: int) -> np.ndarray:
        moved = generator.random(size) < changed
        if kind == "small":
            size_of = generator.normal(0.0, 0.1, size).clip(-1, 1)
        elif kind == "skewed":  # gains twice as often and half as large as losses
            size_of = np.where(generator.random(size) < 2 / 3, 0.5, -1.0) * generator.beta(
                2, 3, size
            )
        else:
            size_of = -generator.beta(1, 3, size)
        return size_of * moved

    true = 0.0 if kind != "one way" else -0.25 * changed
    return lambda generator: ours.paired_mean(differences(generator, n)), true


def rare_losses(n: int, share: float) -> tuple[Draw, float]:
    """Many small gains and a few total losses, together nothing: what t cannot see."""
    gain = share / (1 - share)

    def draw(generator: np.random.Generator) -> ours.PairedUnits:
        return ours.paired_mean(np.where(generator.random(n) < share, -1.0, gain))

    return draw, 0.0


def document_sizes(kind: str, documents: int) -> np.ndarray:
    """Rows in each document."""
    if kind == "equal":
        return np.full(documents, 10)
    if kind == "lognormal":
        return np.maximum(1, np.random.default_rng(3).lognormal(2.0, 1.0, documents).astype(int))
    return np.array([10 * (documents - 1)] + [10] * (documents - 1))


def documents(kind: str, count: int, icc: float, *, changed: float) -> tuple[Draw, float]:
    """Graded rows whose changes are alike within a document, none true."""
    sizes = document_sizes(kind, count)
    units = np.repeat(np.arange(count), sizes)

    def draw(generator: np.random.Generator) -> ours.PairedUnits:
        shared = generator.normal(0, math.sqrt(icc), count)[units]
        own = generator.normal(0, math.sqrt(1 - icc), units.size)
        gap = (0.3 * (shared + own)).clip(-1, 1) * (generator.random(count) < changed)[units]
        return ours.paired_mean(gap, units)

    return draw, 0.0


def f1(sums: np.ndarray) -> float:
    """2 tp / (2 tp + fp + fn) of the sums."""
    bottom = 2 * sums[0] + sums[1] + sums[2]
    return float(2 * sums[0] / bottom) if bottom else 0.0


def bleu(sums: np.ndarray) -> float:
    """Corpus BLEU, in shares, of 4 matched, 4 possible, the reply's and the reference's length."""
    if np.min(sums[:8]) <= 0:
        return 0.0
    brevity = 1.0 if sums[8] >= sums[9] else math.exp(1 - sums[9] / sums[8])
    return brevity * math.exp(float(np.mean(np.log(sums[:4] / sums[4:8]))))


def f1_rows(generator: np.random.Generator, gold: np.ndarray, right: float) -> np.ndarray:
    """tp, fp, fn of one answer a row."""
    said = np.where(generator.random(gold.size) < right, gold, ~gold)
    return np.stack([gold & said, ~gold & said, gold & ~said], axis=1).astype(float)


def entity_rows(generator: np.random.Generator, gold: np.ndarray, right: float) -> np.ndarray:
    """tp, fp, fn of a row with several entities."""
    found = generator.binomial(gold, right)
    return np.stack([found, generator.poisson(gold * (1 - right)), gold - found], axis=1).astype(
        float
    )


def bleu_rows(generator: np.random.Generator, lengths: np.ndarray, right: float) -> np.ndarray:
    """n-gram matches of replies that are better and worse by the row."""
    quality = generator.beta(8 * right, 8 * (1 - right), lengths.size)
    said = np.maximum(4, lengths + generator.integers(-3, 3, lengths.size))
    possible = np.stack([np.maximum(said - order, 0) for order in range(4)], axis=1)
    matched = generator.binomial(
        np.minimum(possible, (lengths - np.arange(4)[:, None]).T.clip(0)),
        quality[:, None] ** np.array([1, 1.6, 2.1, 2.5]),
    )
    return np.column_stack([matched, possible, said, lengths]).astype(float)


def corpus(
    kind: str, n: int, changed: float, drop: float, positives: float = 0.3
) -> tuple[Draw, float]:
    """Two runs whose rows differ in a share.

    That share is drawn anew by a model that is as good, or worse by `drop`.
    """
    rows_of, value, base = {
        "F1": (f1_rows, f1, 0.8),
        "entities": (entity_rows, f1, 0.7),
        "BLEU": (bleu_rows, bleu, 0.6),
    }[kind]

    def gold_of(generator: np.random.Generator, size: int) -> np.ndarray:
        if kind == "F1":
            return generator.random(size) < positives
        return (
            generator.poisson(2.5, size) if kind == "entities" else 5 + generator.poisson(15, size)
        )

    def pair(generator: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        gold = gold_of(generator, size)
        before, other = rows_of(generator, gold, base), rows_of(generator, gold, base - drop)
        anew = generator.random(size) < changed
        return np.where(anew[:, None], other, before), before

    true = 0.0
    if drop:
        now, before = pair(np.random.default_rng(11), 2_000_000)
        true = value(now.sum(axis=0)) - value(before.sum(axis=0))
    return lambda generator: ours.paired_counts(*pair(generator, n), value), true


def macro(n: int, changed: float, drop: float) -> tuple[Draw, float]:
    """Right-or-wrong rows in subtasks of 10, 30 and 60 %."""
    groups = np.repeat([0, 1, 2], [n // 10, 3 * n // 10, n - n // 10 - 3 * n // 10])

    def draw(generator: np.random.Generator) -> ours.PairedUnits:
        gap = (generator.random(n) < changed) * np.where(
            generator.random(n) < 0.5 - drop / changed / 2, 1.0, -1.0
        )
        return ours.paired_macro(gap, groups)

    return draw, -drop


def perplexity(kind: str, n: int) -> tuple[Draw, float]:
    """Differences of log-likelihood per text, of several shapes.

    `token noise` grows with the length.
    """

    def draw(generator: np.random.Generator) -> ours.PairedUnits:
        length = 20 + generator.poisson(80, n)
        if kind == "normal":
            gap = generator.normal(0, 5, n)
        elif kind == "t3":
            gap = 5 * generator.standard_t(3, n)
        elif kind == "token noise":
            gap = generator.normal(0, 1, n) * np.sqrt(length)
        else:
            gap = generator.lognormal(0, 1.5, n) - math.exp(1.125)
        return ours.perplexity_ratio(gap - 2.0 * length, -2.0 * length, length).difference

    return draw, 0.0


# --- right-or-wrong tasks together, as arrays: a line per pair of runs, a column per task

Counts = np.ndarray


def draw_verdicts(
    generator: np.random.Generator, n: Counts, changed: float, drops: Counts, pairs: int
) -> tuple[Counts, Counts]:
    """Rows gained and lost of tasks of which a share changed, with a true drop each."""
    lost_share = (changed + drops) / 2
    moved = generator.binomial(n, changed, size=(pairs, n.size))
    lost = generator.binomial(moved, lost_share / changed)
    return moved - lost, lost


def tango_z(n: Counts, gained: Counts, lost: Counts, difference: Counts | float) -> Counts:
    """Tango's statistic, as `PairedVerdicts.z`."""
    b, c, d = gained / n, lost / n, difference
    linear = -b - c + (2 - b + c) * d
    q = (np.sqrt(np.maximum(linear * linear + 8 * c * d * (1 - d), 0.0)) - linear) / 4
    variance = n * (2 * q + d * (1 - d))
    distance = gained - lost - n * d
    at_edge = variance <= 1e-12 * n
    z = distance / np.sqrt(np.where(at_edge, 1.0, variance))
    far = np.where(np.abs(distance) <= 1e-9 * n, 0.0, np.copysign(np.inf, distance))
    return np.where(at_edge, far, z)


def tango_end(n: Counts, gained: Counts, lost: Counts, edge: float, z: float) -> Counts:
    """The end of Tango's interval on the side of an edge, by halving."""
    value = (gained - lost) / n
    outer, inner = np.full(value.shape, edge), value.copy()
    for _ in range(32):  # 2e-10 of the width
        middle = (outer + inner) / 2
        beyond = np.abs(tango_z(n, gained, lost, middle)) > z
        outer, inner = np.where(beyond, middle, outer), np.where(beyond, inner, middle)
    return np.where(np.abs(tango_z(n, gained, lost, edge)) <= z, edge, inner)


def overall_end(n: Counts, gained: Counts, lost: Counts, edge: float, z: float) -> Counts:
    """The end of the interval of a mean over tasks, as `MeanDifference.interval`."""
    values = (gained - lost) / n
    distances = values - tango_end(n, gained, lost, edge, z)
    half = np.sqrt(np.sum(distances**2, axis=1)) / n.size
    return values.mean(axis=1) + math.copysign(1.0, edge) * half


def overall_cell(
    name: str, n: Counts, changed: float, drops: Counts, pairs: int, seed: int
) -> Cell:
    """The mean of several right-or-wrong tasks, each with its true drop."""
    generator = generator_of(seed, name)
    gained, lost = draw_verdicts(generator, n, changed, drops, pairs)
    true = -float(drops.mean())
    low, high = (overall_end(n, gained, lost, edge, TWO_SIDED) for edge in (-1.0, 1.0))
    one_sided = int(n.min()) >= ENOUGH_PAIRS
    worst = overall_end(n, gained, lost, -1.0, ONE_SIDED) if one_sided else low
    holds = np.mean((low <= true) & (true <= high))
    false = np.mean((low > 0) | (high < 0)) if true == 0 else None
    return Cell(
        "overall of tasks",
        name,
        True,
        float(holds),
        None if false is None else float(false),
        float(np.mean(high < true)),
        float(np.mean(worst > true)),
    )


def task_sizes(kind: str, count: int, size: int) -> Counts:
    """Rows of each task.

    Equal, the first of 20, or from 20 to the largest in equal steps of the logarithm.
    """
    if kind == "equal":
        return np.full(count, size)
    if kind == "one of 20":
        return np.array([20, *[size] * (count - 1)])
    return np.geomspace(20, size, count).round().astype(int)


def drops_of(kind: str, count: int, changed: float) -> Counts:
    """The true drop of each task.

    None, the same in all, all changes in all, or in the first alone.
    """
    drops = np.zeros(count)
    if kind == "same":
        drops[:] = min(0.02, changed / 2)
    elif kind == "all changes":
        drops[:] = changed
    elif kind == "first alone":
        drops[0] = changed
    return drops


_KINDS_OF_SIZES = ("equal", "one of 20", "spread")
MORE = 10  # times as many pairs, which arrays make cheap


def overalls(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Overalls of equal and unequal tasks."""
    sizes = (50,) if fast else (20, 50, 100, 200, 500, 2000)
    for count, size in itertools.product((2, 5) if fast else (2, 5, 20), sizes):
        for kind in _KINDS_OF_SIZES if size > 20 else ("equal",):
            n = task_sizes(kind, count, size)
            for changed in (0.1,) if fast else (0.02, 0.1, 0.4):
                for drop in ("none", "same", "all changes", "first alone"):
                    name = f"k {count}, n {size}, {kind}, {changed:.1%} changed, drop: {drop}"
                    drops = drops_of(drop, count, changed)
                    yield overall_cell(name, n, changed, drops, MORE * pairs, seed)


#: Kind of a task in an overall -> its evidence, and its true drop of `drop` where that is asked.
_OverallTask = tuple[str, int]


def task_of_overall(
    generator: np.random.Generator, task: _OverallTask, changed: float, drop: float
) -> ours.PairedVerdicts | ours.PairedUnits:
    """The evidence of one task of an overall, on a scale of width 1, with a true drop."""
    kind, n = task
    if kind == "verdicts":
        moved = int(generator.binomial(n, changed))
        lost = int(generator.binomial(moved, min((changed + drop) / (2 * changed), 1.0)))
        return ours.PairedVerdicts(n, moved - lost, lost)
    if kind == "documents":  # of 10 rows
        shared = generator.normal(0.0, 0.2, n)
        own = generator.normal(0.0, 0.2, (n, 10))
        values = (shared[:, None] + own).clip(-1, 1) - drop
        return ours.paired_mean(values.ravel(), np.repeat(np.arange(n), 10))
    moved = generator.random(n) < changed
    if kind == "small":
        sizes = generator.normal(0.0, 0.1, n).clip(-1, 1)
    elif kind == "skewed":  # gains twice as often and half as large as losses
        gains = generator.random(n) < 2 / 3
        sizes = np.where(gains, 0.5, -1.0) * generator.beta(2, 3, n)
    else:  # rare total losses among tiny gains
        is_lost = generator.random(n) < 0.02
        return ours.paired_mean(np.where(is_lost, -1.0, 0.02 / 0.98) - drop)
    return ours.paired_mean(sizes * moved - drop * (generator.random(n) < 0.5) * 2)


#: The tasks of each overall that is drawn.
_OVERALLS: tuple[tuple[_OverallTask, ...], ...] = (
    (("small", 50), ("skewed", 50)),
    (("small", 20), ("skewed", 200), ("small", 1000)),
    (("skewed", 20), ("skewed", 20)),
    (("skewed", 50),) * 5,
    (("small", 50),) * 20,
    (("documents", 10),) * 3,
    (("documents", 30),) * 3,
    (("verdicts", 20), ("small", 1000)),
    (("verdicts", 200), ("skewed", 50)),
    (("verdicts", 500), ("small", 20), ("documents", 12)),
    (("verdicts", 200),) * 4 + (("skewed", 200),),
    (("rare losses", 50), ("small", 200)),
    (("rare losses", 100), ("verdicts", 100)),
)


def graded_overalls(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Means over graded tasks, documents and right-or-wrong ones, equal and with a true drop."""
    for tasks in _OVERALLS[:1] if fast else _OVERALLS:
        for changed in (0.4,) if fast else (0.05, 0.4):
            for drops in (0.0, 0.02):

                def draw(
                    generator: np.random.Generator,
                    tasks: tuple[_OverallTask, ...] = tasks,
                    changed: float = changed,
                    drop: float = drops,
                ) -> tuple[Any, float]:
                    evidence = [task_of_overall(generator, task, changed, drop) for task in tasks]
                    return ours.MeanDifference(tuple(map(ours.TaskDifference, evidence))), -drop

                kinds = dict.fromkeys(f"{kind} {n}" for kind, n in tasks)
                drop_words = f"drop {drops:.0%} in each" if drops else "equal"
                name = f"k {len(tasks)}, {', '.join(kinds)}, {changed:.0%} changed, {drop_words}"
                rare = any(kind == "rare losses" for kind, _ in tasks)
                family = "overall of graded tasks"
                family += ", rare large losses" if rare else ""
                yield counted(family, name, draw, pairs, seed, held=not rare)


def advisory_cell(
    tasks: int, metrics: int, n: int, changed: float, alike: float, pairs: int, seed: int
) -> Cell:
    """Share of equal runs with a line about secondary metrics that says "worse".

    Holm over all of them.

    Args:
        tasks: Tasks of the run.
        metrics: Secondary metrics of each.
        n: Rows of each.
        changed: Share of the rows with another verdict.
        alike: Share of the changed rows that the metrics of a task have in common.
        pairs: Pairs of runs.
        seed: Of the generator.
    """
    name = f"{tasks} tasks, {metrics} metrics each, n {n}, {changed:.0%} changed, {alike:.0%} alike"
    generator = generator_of(seed, name)
    shape = (pairs, tasks, metrics)
    shared = generator.binomial(n, changed * alike, size=(pairs, tasks, 1))
    shared_lost = generator.binomial(shared, 0.5)
    own = generator.binomial(n, changed * (1 - alike), size=shape)
    own_lost = generator.binomial(own, 0.5)
    moved, lost = shared + own, shared_lost + own_lost
    z = (moved - 2 * lost) / np.sqrt(np.maximum(moved, 1))
    worse, _ = shown_by_holm(z.reshape(pairs, -1))
    return Cell("advisory lines", name, True, None, float(worse.mean()), None, None, ADVISORY)


def shown_by_holm(z: np.ndarray, level: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Whether Holm's adjustment shows anything worse, and anything better.

    One pair for each line of statistics.
    """
    count = z.shape[1]
    order = np.argsort(-np.abs(z), axis=1)
    ranked = np.take_along_axis(z, order, axis=1)
    limits = np.array([ours.critical_value(1 - level / (count - place)) for place in range(count)])
    rejected = np.cumprod(np.abs(ranked) > limits, axis=1).astype(bool)
    return np.any(rejected & (ranked < 0), axis=1), np.any(rejected & (ranked > 0), axis=1)


def advisory_lines(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Runs of few and many tasks without a change."""
    shapes = ((10, 2),) if fast else ((1, 1), (1, 3), (5, 2), (10, 1), (10, 3), (20, 2), (57, 3))
    for (tasks, metrics), n in itertools.product(shapes, (200,) if fast else (50, 200, 1000)):
        for changed in (0.1,) if fast else (0.02, 0.05, 0.2, 0.4):
            for alike in (0.5,) if fast else (0.0, 0.8):
                yield advisory_cell(tasks, metrics, n, changed, alike, MORE * pairs, seed)


def advisory_power(pairs: int, seed: int) -> float:
    """How often a drop of 7 points of one of 10 secondary metrics is found.

    n 1,000, 20 % changed.
    """
    generator = np.random.default_rng(seed)
    drops = np.array([0.07, *[0.0] * 9])
    gained, lost = draw_verdicts(generator, np.full(10, 1000), 0.2, drops, pairs)
    z = (gained - lost) / np.sqrt(np.maximum(gained + lost, 1))
    return float(np.mean(shown_by_holm(z)[0]))


# --- suite scores: what each row adds, as packs hand it over


def utility_influence(keys: list[str], rows: np.ndarray) -> tuple[float, ours.Influence]:
    """The harmonic mean of three means of graded rows, as a model utility."""
    means = rows.mean(axis=0)
    value = 3.0 / float(np.sum(1.0 / means))
    parts = [
        (
            value**2 / (3.0 * mean**2),
            ours.influence_of_mean([f"{part}{key}" for key in keys], column),
        )
        for part, (mean, column) in enumerate(zip(means.tolist(), rows.T, strict=True))
    ]
    return value, ours.combined_influence(parts)


def four_shares_influence(keys: list[str], rows: np.ndarray) -> tuple[float, ours.Influence]:
    """The mean of two shares of prompts and two of instructions, as IFEval's."""
    prompts = (rows > 0.3).all(axis=1)
    counts = np.column_stack([prompts, (rows > 0.3).sum(axis=1), (rows > 0.4).sum(axis=1)])
    size = rows.shape[0]

    def value(sums: np.ndarray) -> float:
        return float((sums[0] / size + sums[1] / (3 * size) + sums[2] / (3 * size)) / 3)

    return value(counts.sum(axis=0)), ours.influence_of_counts(keys, counts, value)


def auc_influence(keys: list[str], rows: np.ndarray) -> tuple[float, ours.Influence]:
    """The AUC of the rows' first halves above their second ones, as a membership attack."""
    half = len(keys) // 2
    above, below = rows[:half, 0] + 0.1, rows[half:, 0]
    influence = ours.influence_of_auc(keys[:half], above, keys[half:], below)
    won = (above[:, None] > below).mean() + 0.5 * (above[:, None] == below).mean()
    return float(won), influence


def mean_of_scores_influence(keys: list[str], rows: np.ndarray) -> tuple[float, ours.Influence]:
    """The mean of an F1 over the first half of the rows and of a graded mean over the others."""
    half = len(keys) // 2
    first, second = rows[:half], rows[half:]
    right = first[:, 0] > 0.3
    gold = np.arange(half) % 2 == 0
    answer = np.where(right, gold, ~gold)
    lines = np.stack([gold & answer, ~gold & answer, gold & ~answer], axis=1).astype(float)
    parts = [
        (0.5, ours.influence_of_counts(keys[:half], lines, f1)),
        (0.5, ours.influence_of_mean(keys[half:], second[:, 1])),
    ]
    value = (f1(lines.sum(axis=0)) + float(second[:, 1].mean())) / 2
    return value, ours.combined_influence(parts)


def calibration_influence(keys: list[str], rows: np.ndarray) -> tuple[float, ours.Influence]:
    """One less the calibration error over five bins of confidence."""
    bins = np.minimum((rows[:, 1] * 5).astype(int), 4)
    right = rows[:, 0] > 0.4
    lines = np.zeros((rows.shape[0], 10))
    places = np.arange(rows.shape[0])
    lines[places, bins] = right
    lines[places, 5 + bins] = rows[:, 1]

    def value(sums: np.ndarray) -> float:
        return 1.0 - float(np.sum(np.abs(sums[:5] - sums[5:]))) / rows.shape[0]

    return value(lines.sum(axis=0)), ours.influence_of_counts(keys, lines, value)


SUITE_SCORES = {
    "harmonic mean of three means": utility_influence,
    "mean of shares": four_shares_influence,
    "AUC": auc_influence,
    "mean of an F1 and a mean": mean_of_scores_influence,
    "calibration error": calibration_influence,
}


def suite_score(kind: str, n: int, changed: float) -> Draw:
    """Two equally good runs that differ in a share of the rows."""
    influence_of = SUITE_SCORES[kind]
    keys = [f"r{row}" for row in range(n)]

    def draw(generator: np.random.Generator) -> ours.PairedUnits:
        before = generator.beta(2, 2, (n, 3))
        anew = generator.random(n) < changed
        now = np.where(anew[:, None], generator.beta(2, 2, (n, 3)), before)
        (candidate, its), (baseline, theirs) = influence_of(keys, now), influence_of(keys, before)
        return ours.paired_influence(candidate - baseline, its, theirs)

    return draw


def suite_scores(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """The kinds of suite scores that packs have."""
    for kind in SUITE_SCORES:
        for n in (100,) if fast else (50, 200, 500):
            for changed in (0.2,) if fast else (0.05, 0.2, 0.6):
                draw = suite_score(kind, n, changed)
                cell = f"n {n}, {changed:.0%} changed"
                yield measure(f"suite score, {kind}", cell, draw, 0.0, pairs, seed)


def bits(kind: str, n: int) -> Draw:
    """Differences of bits per byte of texts of several lengths."""

    def draw(generator: np.random.Generator) -> ours.PairedUnits:
        lengths = 100.0 + generator.poisson(400, n)
        noise = generator.normal(0, 5, n) if kind == "normal" else 5 * generator.standard_t(3, n)
        before = -0.5 * lengths
        return ours.bits_difference(before + noise, before, lengths).difference

    return draw


# --- families, missing rows, scorers, stored scores, few rows


def holds_null(evidence: Any, true: float, *, cautious: bool = False) -> tuple[bool, bool, bool]:
    """Whether the interval holds the truth, excludes zero, and lets a pass through."""
    low, high = evidence.interval()
    worst = evidence.worst(cautious=True) if cautious else evidence.worst()
    return low <= true <= high, low > 0 or high < 0, worst > true


def counted(
    family: str,
    name: str,
    draw: Callable[[np.random.Generator], tuple[Any, float]],
    pairs: int,
    seed: int,
    *,
    held: bool = True,
    few: bool = False,
    cautious: bool = False,
) -> Cell:
    """Counts what is said of drawn pairs, each with its own true difference.

    Args:
        family: What is alike in several cells.
        name: What is not.
        draw: Evidence of one pair of runs, and its true difference.
        pairs: How many.
        seed: Of the generator.
        held: Whether the bars apply.
        few: A word takes six changed rows.
        cautious: A pass reads the wider interval.
    """
    generator = generator_of(seed, family + name)
    hold = said = passed = nulls = 0
    for _ in range(pairs):
        evidence, true = draw(generator)
        holds, excludes, passes = holds_null(evidence, true, cautious=cautious)
        if few and evidence.changed < FEWEST_CHANGED:
            excludes = False
        hold, passed = hold + holds, passed + passes
        nulls += true == 0
        said += excludes and true == 0
    false = said / nulls if nulls else None
    return Cell(family, name, held, None if few else hold / pairs, false, None, passed / pairs)


def page_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Pages of C equal candidates and T tasks: a false word anywhere, one family (Holm)."""
    shapes = ((5, 3),) if fast else ((1, 1), (1, 10), (5, 1), (5, 5), (10, 3), (20, 2), (20, 10))
    for (candidates, tasks), n in itertools.product(shapes, (200,) if fast else (50, 200, 1000)):
        for changed in (0.1,) if fast else (0.05, 0.2):
            name = f"{candidates} candidates, {tasks} tasks, n {n}, {changed:.0%} changed"
            generator = generator_of(seed, name)
            sizes = np.full(tasks, n)
            members = candidates * (tasks + (tasks > 1))
            z = ours.critical_value(1 - 0.05 / members)
            false = np.zeros(pairs, dtype=bool)
            for _ in range(candidates):
                gained, lost = draw_verdicts(generator, sizes, changed, np.zeros(tasks), pairs)
                moved = gained + lost
                shown = np.abs(gained - lost) / np.sqrt(np.maximum(moved, 1)) > z
                false |= np.any(shown & (moved >= FEWEST_CHANGED), axis=1)
                if tasks > 1:
                    ends = (overall_end(sizes, gained, lost, edge, z) for edge in (-1.0, 1.0))
                    low, high = ends
                    false |= (low > 0) | (high < 0)
            yield Cell(
                "false word on a page", name, True, None, float(false.mean()), None, None, PAGE
            )


def missing_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Rows that the candidate lacks where it would lose: right-or-wrong, graded and documents."""

    def right_or_wrong(n: int) -> Callable[[np.random.Generator], tuple[Any, float]]:
        def draw(generator: np.random.Generator) -> tuple[Any, float]:
            moved = generator.random(n) < 0.1
            gap = moved * np.where(generator.random(n) < 0.5, 1, -1)
            gone = np.flatnonzero(gap == -1)[: n // 100]
            gained, lost = int(np.sum(gap == 1)), int(np.sum(gap == -1)) - gone.size
            paired = ours.PairedVerdicts(n - gone.size, gained, lost)
            share = gone.size / n
            return ours.Incomplete(paired, ours.Missing(share, share, 0.0)), 0.0

        return draw

    def graded_rows(n: int, count: int) -> Callable[[np.random.Generator], tuple[Any, float]]:
        def draw(generator: np.random.Generator) -> tuple[Any, float]:
            before = generator.uniform(0.2, 0.8, n)
            units = np.arange(n) % count if count else None
            shared = 0.0 if units is None else generator.uniform(-0.1, 0.1, count)[units]
            gap = generator.uniform(-0.1, 0.1, n) + shared
            gone = np.argsort(gap)[: n // 100]
            kept = np.ones(n, dtype=bool)
            kept[gone] = False
            paired = ours.paired_mean(gap[kept], None if units is None else units[kept])
            lost = float(before[gone].sum()) / n
            missing = ours.Missing(gone.size / n, lost, gone.size / n - lost)
            return ours.Incomplete(paired, missing), 0.0

        return draw

    family = "1 % of the rows missing, where the candidate loses"
    for n in (300,) if fast else (300, 1000, 5000):
        yield counted(family, f"right or wrong, n {n}", right_or_wrong(n), pairs, seed)
        for count in (0, 30):
            kind = f"{count} documents" if count else "graded"
            draw = graded_rows(n, count)
            yield counted(family, f"{kind}, n {n}", draw, pairs, seed, cautious=True)


def scorer_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """A scorer that lowers some scores on one side, calibrated on the equal replies."""

    def verdict_rows(
        n: int, share: float, drift: float
    ) -> Callable[[np.random.Generator], tuple[Any, float]]:
        def draw(generator: np.random.Generator) -> tuple[Any, float]:
            equal = int(generator.binomial(n, share))
            lost_equal = int(generator.binomial(equal, drift))
            drifted = int(generator.binomial(n - equal, drift))
            moved = int(generator.binomial(n - equal - drifted, 0.2))
            lost = int(generator.binomial(moved, 0.5))
            if not lost_equal:
                return ours.PairedVerdicts(n, moved - lost, lost + drifted), 0.0
            others = ours.PairedVerdicts(n, moved - lost, lost + drifted)
            drift_of = ours.PairedVerdicts(equal, 0, lost_equal)
            return ours.Calibrated(others, drift_of, 1 - equal / n), 0.0

        return draw

    def graded_rows(
        n: int, share: float, drift: float, count: int
    ) -> Callable[[np.random.Generator], tuple[Any, float]]:
        def draw(generator: np.random.Generator) -> tuple[Any, float]:
            equal = generator.random(n) < share
            scored = -1.0 * (generator.random(n) < drift) * generator.beta(2, 2, n)
            units = np.arange(n) % count if count else None
            shared = 0.0 if units is None else generator.normal(0, 0.15, count)[units]
            model = (generator.normal(0, 0.15, n) + shared).clip(-1, 1)
            gap = np.where(equal, 0.0, model) + scored
            if not np.any(gap[equal]):
                return ours.paired_mean(gap, units), 0.0
            own_units = None if units is None else units[equal]
            others = ours.paired_mean(np.where(equal, 0.0, gap), units)
            drift_of = ours.paired_mean(gap[equal], own_units)
            return ours.Calibrated(others, drift_of, 1.0 - float(equal.mean())), 0.0

        return draw

    family = "another scorer, calibrated"
    grid = (
        ((200, 0.5, 0.05),)
        if fast
        else (
            (60, 0.5, 0.05),
            (200, 0.5, 0.02),
            (200, 0.5, 0.1),
            (200, 0.2, 0.05),
            (1000, 0.1, 0.05),
            (1000, 0.5, 0.02),
        )
    )
    for n, share, drift in grid:
        name = f"n {n}, {share:.0%} equal, drift {drift:.0%}"
        yield counted(family, f"right or wrong, {name}", verdict_rows(n, share, drift), pairs, seed)
        for count in (0, 20):
            kind = f"{count} documents" if count else "graded"
            draw = graded_rows(n, share, drift, count)
            yield counted(family, f"{kind}, {name}", draw, pairs, seed, cautious=True)


def stored_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Stored scores of two equal models, right or wrong and graded."""

    def draw_of(
        n: int, m: int, share: float, *, is_graded: bool
    ) -> Callable[[np.random.Generator], tuple[Any, float]]:
        def score(generator: np.random.Generator, size: int) -> ours.StoredScore:
            if not is_graded:
                return ours.StoredScore(int(generator.binomial(size, share)) / size, size)
            rows = generator.beta(4 * share, 4 * (1 - share), size)
            stderr = float(np.std(rows, ddof=1)) / math.sqrt(size)
            return ours.StoredScore(float(rows.mean()), size, stderr)

        return lambda generator: (
            ours.StoredDifference(score(generator, n), score(generator, m)),
            0.0,
        )

    sizes = (
        ((100, 100),) if fast else ((4, 4), (10, 10), (20, 20), (20, 100), (100, 100), (1000, 100))
    )
    for (n, m), share in itertools.product(sizes, (0.5,) if fast else (0.1, 0.5, 0.9)):
        for is_graded in (False, True):
            kind = "graded" if is_graded else "right or wrong"
            draw = draw_of(n, m, share, is_graded=is_graded)
            yield counted(
                "stored scores, unpaired", f"{kind}, {n} and {m} rows, {share}", draw, pairs, seed
            )


def few_row_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Few rows: a word takes six that changed."""

    def draw_of(n: int, changed: float) -> Callable[[np.random.Generator], tuple[Any, float]]:
        def draw(generator: np.random.Generator) -> tuple[Any, float]:
            moved = int(generator.binomial(n, changed))
            lost = int(generator.binomial(moved, 0.5))
            return ours.PairedVerdicts(n, moved - lost, lost), 0.0

        return draw

    for n, changed in itertools.product((8,) if fast else (4, 6, 8, 12, 20), (0.2, 0.4, 0.6)):
        name = f"n {n}, {changed:.0%} changed"
        yield counted("few rows, right or wrong", name, draw_of(n, changed), pairs, seed, few=True)
    for tasks, changed in itertools.product((5,) if fast else (2, 5, 20), (0.2, 0.4, 0.6)):
        name = f"mean of {tasks} tasks of {FEWEST_A_TASK} rows, {changed:.0%} changed"
        sizes = np.full(tasks, FEWEST_A_TASK)
        generator = generator_of(seed, name)
        gained, lost = draw_verdicts(generator, sizes, changed, np.zeros(tasks), MORE * pairs)
        low, high = (overall_end(sizes, gained, lost, edge, TWO_SIDED) for edge in (-1.0, 1.0))
        said = ((low > 0) | (high < 0)) & ((gained + lost).sum(axis=1) >= FEWEST_CHANGED)
        false = float(said.mean())
        yield Cell("few rows, mean of tasks", name, True, None, false, None, None)


def detected_share(n: int, changed: float, pairs: int, seed: int) -> float:
    """How often losses of the detectable size, on top of a churn, are found."""
    generator = np.random.default_rng([seed, n, round(1000 * changed)])
    moved = generator.binomial(n, changed, pairs)
    lost = generator.binomial(moved, 0.5)
    found = told = 0
    for b, c in zip((moved - lost).tolist(), lost.tolist(), strict=True):
        size = ours.detectable_difference(n, b + c).difference
        if size is None or size > 1 - (b + c) / n:
            continue
        further = int(generator.binomial(n - b - c, min(1.0, size * n / (n - b - c))))
        table = ours.PairedVerdicts(n, b, c + further)
        told += 1
        found += table.p() < 0.05 and table.value < 0
    return found / told if told else math.nan


# --- the grid
# -------------------------------------------------------------------------------------------------


def enumerated(*, fast: bool) -> Iterator[Cell]:
    """Right-or-wrong rows."""
    for n in (20, 100, 400) if fast else (8, 20, 50, 100, 200, 400, 1000, 2000, 5000):
        for changed in (0.02, 0.2) if fast else (0.005, 0.02, 0.05, 0.1, 0.2, 0.4):
            for true in sorted(
                {0.0, -changed / 4, -changed / 2, *(m for m in (-0.02, -0.05) if -m <= changed)}
            ):
                yield verdicts(n, changed, true)


def graded_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Graded independent rows."""
    sizes = (20, 200) if fast else (8, 20, 50, 100, 200, 500, 2000, 5000)
    shares = (0.1,) if fast else (0.005, 0.02, 0.1, 0.4)
    for kind, n, changed in itertools.product(("small", "skewed", "one way"), sizes, shares):
        draw, true = graded(kind, n, changed)
        cell = f"{kind}, n {n}, {changed:.1%} changed"
        family = "graded, independent rows"
        yield measure(family, cell, draw, true, pairs, seed, held=n >= 20, cautious=True)


def document_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Graded rows that share documents."""
    counts = (10, 100) if fast else (5, 10, 30, 100, 300)
    correlations = (0.5,) if fast else (0.1, 0.5, 0.8)
    shares = (1.0,) if fast else (0.1, 0.4, 1.0)
    for kind in ("equal", "lognormal", "one holds half"):
        for count, icc, changed in itertools.product(counts, correlations, shares):
            draw, true = documents(kind, count, icc, changed=changed)
            cell = f"{kind}, {count} documents, ICC {icc}, {changed:.0%} changed"
            family = f"documents, sizes {kind}"
            yield measure(family, cell, draw, true, pairs, seed, cautious=True)


def corpus_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """F1 of labels and of entities, and BLEU."""
    sizes = (200,) if fast else (50, 100, 200, 500, 2000, 5000)
    shares, drops = ((0.2,), (0.0,)) if fast else ((0.02, 0.1, 0.4), (0.0, 0.15))
    for kind, positives in (("F1", 0.3), ("F1", 0.05), ("entities", 1.0), ("BLEU", 1.0)):
        for n, changed, drop in itertools.product(sizes, shares, drops):
            if n == 5000 and kind != "F1":
                continue
            draw, true = corpus(kind, n, changed, drop, positives)
            few = kind == "F1" and n * positives < 20
            family = f"corpus {kind}" if positives > 0.1 else "corpus F1, 5 % positives"
            family = "F1, fewer than 20 positive rows" if few else family
            rare = f", {positives:.0%} positive" if few else ""
            cell = f"n {n}, {changed:.0%} changed{', worse' if drop else ''}{rare}"
            yield measure(family, cell, draw, true, pairs, seed, held=not few)


def macro_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Macro averages."""
    sizes = (200,) if fast else (50, 100, 500, 2000, 5000)
    for n, changed in itertools.product(sizes, (0.2,) if fast else (0.02, 0.1, 0.4)):
        for drop in (0.0, changed / 2):
            draw, true = macro(n, changed, drop)
            cell = f"n {n}, {changed:.0%} changed{', worse' if drop else ''}"
            yield measure("macro average, 10/30/60 %", cell, draw, true, pairs, seed)


def likelihood_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Perplexities and bits per byte."""
    sizes = (100,) if fast else (50, 100, 400, 2000, 5000)
    for kind, n in itertools.product(("normal", "t3", "token noise", "lognormal tails"), sizes):
        draw, true = perplexity(kind, n)
        skewed = kind == "lognormal tails"
        family = "perplexity, lognormal tails" if skewed else "perplexity"
        yield measure(family, f"{kind}, {n} texts", draw, true, pairs, seed, held=not skewed)
    for kind, n in itertools.product(("normal", "t3"), sizes):
        yield measure("bits per byte", f"{kind}, {n} texts", bits(kind, n), 0.0, pairs, seed)


def rare_loss_cells(pairs: int, seed: int, *, fast: bool) -> Iterator[Cell]:
    """Rare large losses among small gains."""
    sizes = (100,) if fast else (100, 400, 2000)
    for share, n in itertools.product((0.01,) if fast else (0.01, 0.02), sizes):
        draw, true = rare_losses(n, share)
        family, cell = "rare large losses among small gains", f"n {n}, {share:.0%} lost"
        yield measure(family, cell, draw, true, pairs, seed, held=False, cautious=True)


FAMILIES = (
    *(graded_cells, document_cells, corpus_cells, macro_cells, likelihood_cells),
    *(suite_scores, rare_loss_cells, overalls, advisory_lines),
    *(graded_overalls, page_cells, missing_cells, scorer_cells, stored_cells, few_row_cells),
)


# --- what is printed
# ------------------------------------------------------------------------------------------------


def worst(values: Iterable[float | None], pick: Callable[[list[float]], float]) -> str:
    """The worst of some numbers; `-` without any."""
    known = [value for value in values if value is not None]
    return f"{pick(known):.3f}" if known else "-"


def table(cells: list[Cell]) -> list[str]:
    """One Markdown line per family: its worst numbers over the held cells."""
    names = ("coverage, least", "false better/worse, most", "false fail, most", "false pass, most")
    lines = [f"| family | cells | {' | '.join(names)} |", "|---|---|---|---|---|---|"]
    for held in (True, False):
        for family in dict.fromkeys(cell.family for cell in cells):
            of_family = [cell for cell in cells if cell.family == family and cell.held is held]
            if not of_family:
                continue
            also_held = any(cell.held for cell in cells if cell.family == family)
            name = family if held else f"named: {family}{' (n 8)' if also_held else ''}"
            numbers = [
                worst([cell.coverage for cell in of_family], min),
                worst([cell.false for cell in of_family], max),
                worst([cell.fail for cell in of_family], max),
                worst([cell.passed for cell in of_family], max),
            ]
            lines.append(f"| {name} | {len(of_family)} | {' | '.join(numbers)} |")
    return lines


def sentences(cells: list[Cell], pairs: int, seed: int) -> list[str]:
    """What stands below the table."""
    found = advisory_power(20_000, seed)
    power = [detected_share(n, 0.1, pairs, seed) for n in (20, 50, 200, 1000)]
    return [
        "",
        (
            'Advisory lines: share of pairs of equal runs with a false "worse"; a drop of 7 '
            "points in "
            f"one of 10 metrics (1,000 rows, 20 % changed) is found in {found:.2f}."
        ),
        "",
        (
            "Detectable difference: losses of the printed size on top of 10 % changed rows "
            f"are found in {min(power):.2f} to {max(power):.2f} (20 to 1,000 rows)."
        ),
        "",
        (
            f"{len(cells)} cells, {pairs} pairs in each simulated one ({MORE * pairs} of overalls "
            f"and advisory lines), seed {seed}; bars: coverage at least {COVERAGE}, advisory "
            f"lines at most {ADVISORY}, pages at most {PAGE}, the others at most {FALSE}; "
            f"commit {commit()}."
        ),
    ]


def commit() -> str:
    """The commit that was measured, with a plus where files differ from it."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    return described.stdout.strip() or "unknown"


def numbers_of(cell: Cell) -> list[str]:
    """The numbers of a cell with their names."""
    values = {"coverage": cell.coverage, "false": cell.false, "fail": cell.fail}
    values["pass"] = cell.passed
    return [f"{name} {value:.3f}" for name, value in values.items() if value is not None]


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and say which held cells miss the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fast", action="store_true", help="a few cells of 400 pairs; the bars allow for the noise"
    )
    parser.add_argument("--pairs", type=int, help="simulated pairs of runs per cell")
    parser.add_argument("--seed", type=int, default=1)
    names = ", ".join(family.__name__ for family in FAMILIES)
    parser.add_argument("--only", default="", metavar="LIST", help=f"some of {names}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every cell as data")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="the page whose table to replace")
    args = parser.parse_args(argv)
    pairs, start = args.pairs or (400 if args.fast else 3000), time.process_time()
    cells = [] if args.only else list(enumerated(fast=args.fast))
    for family in FAMILIES:
        if not args.only or family.__name__ in args.only.split(","):
            cells += family(pairs, args.seed, fast=args.fast)
    lines = [*table(cells), *sentences(cells, pairs, args.seed)]
    print("\n".join(lines))
    missed = [cell for cell in cells if cell.held and cell.misses]
    for cell in missed:
        print(f"outside the bars: {cell.family}: {cell.cell}: {', '.join(numbers_of(cell))}")
    used = time.process_time() - start
    print(f"{used:.0f} s of CPU, Python {platform.python_version()}, numpy {np.__version__}")
    if args.json:
        args.json.write_text(
            json.dumps([asdict(cell) for cell in cells], indent=1) + "\n", encoding="utf-8"
        )
    if args.docs:
        write_docs(args.docs, "conclusions", lines)
    noise = 3 * math.sqrt(0.05 * 0.95 / pairs) if pairs < _WHOLE else 0.0
    return int(any(cell.far_out(noise) for cell in missed))


if __name__ == "__main__":
    sys.exit(main())
