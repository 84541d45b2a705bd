"""The scores that a split without some of its columns cannot have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .datasets import PARAPHRASE, WRONG

#: What the parameters of a score name -> the column that it reads.
_COLUMNS = {"paraphrase": PARAPHRASE, "wrong": WRONG, PARAPHRASE: PARAPHRASE, WRONG: WRONG}


def scores_without(
    suite_scores: Mapping[str, Any], tasks: str, columns: Sequence[str]
) -> list[str]:
    """Returns the scores that cannot be computed, in the order in which they are declared.

    Args:
        suite_scores: The scores of the pack.
        tasks: How the names of the tasks begin whose rows lack the columns.
        columns: The columns that the rows lack.
    """
    absent: list[str] = []
    # A score comes after those that it needs, as pack.yaml declares them.
    for name, score in suite_scores.items():
        reads = {_COLUMNS.get(str(value)) for value in score.params.values()}
        is_of_rows = any(task.startswith(tasks) for task in score.tasks)
        reads_absent = is_of_rows and not reads.isdisjoint(columns)
        needs_absent = not set(score.needs).isdisjoint(absent)
        if reads_absent or needs_absent:
            absent.append(name)
    return absent
