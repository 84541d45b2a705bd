"""A run held against published verdicts or another run, sample by sample."""

from evalprep.compare.comparison import PUBLISHED, Comparison, compare_runs
from evalprep.compare.difference import Difference
from evalprep.compare.flips import CAUSES, Flip, write_csv
from evalprep.compare.task import SubtaskRow, TaskComparison

__all__ = [
    "CAUSES", "PUBLISHED", "Comparison", "Difference", "Flip", "SubtaskRow", "TaskComparison", "compare_runs",
    "write_csv",
]  # fmt: skip
