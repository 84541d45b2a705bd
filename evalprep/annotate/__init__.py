"""A judge's ratings of saved generations: asked through a chat endpoint, kept beside the run, read by the scores.

A pack says in `judge.py` what is asked and how a reply is read (docs/architecture.md); nothing here knows a benchmark.
"""

from evalprep.annotate.ask import Pool, Stopped
from evalprep.annotate.attach import attach
from evalprep.annotate.endpoint import Endpoint
from evalprep.annotate.question import NOT_ASKED, STATUSES, Asked, Judge, Judgement, Question, collect
from evalprep.annotate.ratings import RatingsFile, judge_folder
from evalprep.annotate.tally import TaskTally, tally

__all__ = [
    "NOT_ASKED", "STATUSES", "Asked", "Endpoint", "Judge", "Judgement", "Pool", "Question", "RatingsFile", "Stopped",
    "TaskTally", "attach", "collect", "judge_folder", "tally",
]  # fmt: skip
