"""Aggregations that task YAMLs name in `metric_list`.

lm-eval hands each the list of per-document values.

A custom aggregation has no standard error in lm-eval ("N/A"), so plain means use lm-eval's own
`mean`; what stands here is what that cannot do.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def flat_mean(items: Iterable[Sequence[float]]) -> float:
    """Averages over all values of all documents, such as the instructions of IFEval.

    `sum over documents and values / number of values`, so a document with three instructions weighs
    three times as much as one with one (Zhou et al., 2023, "Instruction-Following Evaluation for
    Large Language Models").

    Args:
        items: One list of values per document; empty lists add nothing.

    Returns:
        A value between the smallest and the largest; 0.0 where there are no values at all.

    >>> flat_mean([[1, 0, 1], [1]])
    0.75
    """
    values = list(map(float, chain.from_iterable(items)))
    if not values:
        return 0.0
    return sum(values) / len(values)


def macro_mean(items: Iterable[Sequence[object]]) -> float:
    """Averages the means of the subtasks, whatever their sizes.

    `mean over subtasks of (mean over the subtask's documents)`, the rule of the published MMLU,
    MMLU-Pro and BBH numbers; the plain mean over documents is the micro average.

    Args:
        items: One `[subtask, value]` pair per document.

    Returns:
        A value between the smallest and the largest; 0.0 where there are no documents.

    >>> macro_mean([["a", 1.0], ["a", 1.0], ["b", 0.0]])
    0.5
    """
    by_subtask: dict[object, list[float]] = {}
    for subtask, value in items:
        # A score is a number.
        by_subtask.setdefault(subtask, []).append(float(value))  # type: ignore[arg-type]
    if not by_subtask:
        return 0.0
    means = [sum(values) / len(values) for values in by_subtask.values()]
    return sum(means) / len(means)


def ifeval_mean_of_strict(items: Iterable[Sequence[object]]) -> float:
    """Averages prompt-level and instruction-level strict accuracy.

    The recipe and the leaderboards report this number of IFEval.

    Args:
        items: One `[prompt_level, [inst_level, ...]]` per document.

    >>> ifeval_mean_of_strict([[1.0, [1.0, 1.0]], [0.0, [1.0, 0.0]]])
    0.625
    """
    return _mean_of_levels(items)


def ifeval_mean_of_four(items: Iterable[Sequence[object]]) -> float:
    """Averages prompt- and instruction-level accuracy, strict and loose.

    Meta's model cards report this number of IFEval.

    Args:
        items: One `[prompt_strict, [inst_strict, ...], prompt_loose, [inst_loose, ...]]` per
            document.
    """
    return _mean_of_levels(items)


def _mean_of_levels(items: Iterable[Sequence[object]]) -> float:
    """Averages the columns; a column of lists is first averaged over all its values."""
    means = []
    for column in zip(*items, strict=True):
        lists = [value if isinstance(value, list) else [value] for value in column]
        means.append(flat_mean(lists))
    if not means:
        return 0.0
    return sum(means) / len(means)
