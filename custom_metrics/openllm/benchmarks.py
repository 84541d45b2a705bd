"""The benchmarks of the Open LLM Leaderboard v2: leaf tasks, sizes and numbers of choices.

Numbers of choices are those of the leaderboard's own page and of lm-eval's task files; sizes are
the rows of a full run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal

#: What every task of the leaderboard is called with in lm-eval.
PREFIX = "leaderboard_"
#: The column that holds the mean of the six benchmarks.
AVERAGE = "Average"

Weighting = Literal["equal", "rows", "metrics"]


@dataclass(frozen=True)
class Leaf:
    """A leaf task: its rows in a full run, and the choices of a row (0 for free text)."""

    name: str
    rows: int
    choices: int = 0

    @property
    def task(self) -> str:
        """Its name in lm-eval."""
        return PREFIX + self.name


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of the leaderboard.

    Attributes:
        name: Short name, in score names.
        column: Its column in the published table; `<column> Raw` holds the raw value.
        metric: The metric of its leaf tasks; IFEval has a second one.
        weighting: How the raw value is made: the mean of leaf tasks (`equal`), of rows (`rows`), or
            of the two accuracies of one task (`metrics`).
        leaves: Its leaf tasks.
        shots: Few-shot examples.
    """

    name: str
    column: str
    metric: str
    weighting: Weighting
    leaves: tuple[Leaf, ...]
    shots: int

    @property
    def raw_column(self) -> str:
        """The column with the raw value."""
        return f"{self.column} Raw"

    @property
    def floor_per_leaf(self) -> bool:
        """Returns whether each leaf task is normalised by itself, and not the benchmark's value."""
        return self.weighting == "equal"

    @property
    def rows(self) -> int:
        """Rows of a full run."""
        return sum(leaf.rows for leaf in self.leaves)


_BBH_CHOICES: Mapping[int, tuple[str, ...]] = {
    2: (
        *("boolean_expressions", "causal_judgement", "formal_fallacies", "hyperbaton"),
        *("navigate", "snarks", "sports_understanding", "web_of_lies"),
    ),
    3: (
        *("disambiguation_qa", "logical_deduction_three_objects"),
        "tracking_shuffled_objects_three_objects",
    ),
    4: ("temporal_sequences",),
    5: (
        *("logical_deduction_five_objects", "penguins_in_a_table"),
        "tracking_shuffled_objects_five_objects",
    ),
    6: (
        *("date_understanding", "movie_recommendation", "ruin_names"),
        "salient_translation_error_detection",
    ),
    7: ("logical_deduction_seven_objects", "tracking_shuffled_objects_seven_objects"),
    11: ("geometric_shapes",),
    18: ("reasoning_about_colored_objects",),
    19: ("object_counting",),
}
_BBH_ROWS = {"causal_judgement": 187, "penguins_in_a_table": 146, "snarks": 178}
_MATH_ROWS = {
    "algebra": 307,
    "counting_and_prob": 123,
    "geometry": 132,
    "intermediate_algebra": 280,
    "num_theory": 154,
    "prealgebra": 193,
    "precalculus": 135,
}


def _bbh_leaves() -> Iterable[Leaf]:
    choices: dict[str, int] = {}
    for count, names in _BBH_CHOICES.items():
        choices |= dict.fromkeys(names, count)
    for name in sorted(choices):
        yield Leaf(f"bbh_{name}", _BBH_ROWS.get(name, 250), choices[name])


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        "ifeval", "IFEval", "prompt_level_strict_acc", "metrics", (Leaf("ifeval", 541),), shots=0
    ),
    Benchmark("bbh", "BBH", "acc_norm", "equal", tuple(_bbh_leaves()), shots=3),
    Benchmark(
        "math",
        "MATH Lvl 5",
        "exact_match",
        "rows",
        tuple(Leaf(f"math_{name}_hard", rows) for name, rows in _MATH_ROWS.items()),
        shots=4,
    ),
    Benchmark(
        "gpqa",
        "GPQA",
        "acc_norm",
        "rows",
        (Leaf("gpqa_diamond", 198, 4), Leaf("gpqa_extended", 546, 4), Leaf("gpqa_main", 448, 4)),
        shots=0,
    ),
    Benchmark(
        "musr",
        "MUSR",
        "acc_norm",
        "equal",
        (
            Leaf("musr_murder_mysteries", 250, 2),
            Leaf("musr_object_placements", 256, 5),
            Leaf("musr_team_allocation", 250, 3),
        ),
        shots=0,
    ),
    Benchmark("mmlu_pro", "MMLU-PRO", "acc", "rows", (Leaf("mmlu_pro", 12032, 10),), shots=5),
)
#: Every leaf task by its name in lm-eval.
LEAVES: Mapping[str, Leaf] = {
    leaf.task: leaf for leaf in chain.from_iterable(entry.leaves for entry in BENCHMARKS)
}
_OF_TASK: dict[str, Benchmark] = {}
for _benchmark in BENCHMARKS:
    _OF_TASK |= {leaf.task: _benchmark for leaf in _benchmark.leaves}


def benchmark_of_task(task: str) -> Benchmark | None:
    """Returns the benchmark of a task, named with or without `leaderboard_`; None for any other."""
    return _OF_TASK.get(PREFIX + task.removeprefix(PREFIX))


def leaf_name(benchmark: Benchmark, name: str) -> str | None:
    """Returns the leaf task that a name means within a benchmark; None where it means none.

    The name is that of lm-eval, or that without `leaderboard_`, or without the benchmark as well.

    >>> leaf_name(BENCHMARKS[1], "navigate"), leaf_name(BENCHMARKS[1], "leaderboard_bbh_navigate")
    ('leaderboard_bbh_navigate', 'leaderboard_bbh_navigate')
    """
    plain = name.removeprefix(PREFIX)
    for candidate in (plain, f"{benchmark.name}_{plain}"):
        if _OF_TASK.get(PREFIX + candidate) is benchmark:
            return PREFIX + candidate
    return None
