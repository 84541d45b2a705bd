"""Aggregations that task YAMLs name in `metric_list`; lm-eval hands each the list of per-document values.

A custom aggregation has no standard error in lm-eval ("N/A"), so plain means use lm-eval's own `mean`; what stands
here is what that cannot do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def flat_mean(items: Iterable[Sequence[float]]) -> float:
    """Average over all values of all documents, such as the instructions of IFEval.

    `sum over documents and values / number of values`, so a document with three instructions weighs three times as
    much as one with one (Zhou et al., 2023, "Instruction-Following Evaluation for Large Language Models").

    Args:
        items: One list of values per document; empty lists add nothing.

    Returns:
        A value between the smallest and the largest; 0.0 where there are no values at all.

    >>> flat_mean([[1, 0, 1], [1]])
    0.75
    """
    values = [float(value) for item in items for value in item]
    return sum(values) / len(values) if values else 0.0
