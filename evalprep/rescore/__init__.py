"""Saved outputs scored anew with today's scorers, without the model and without the data set.

The task's filters and `process_results` are loaded through lm-eval and applied to the saved
replies, so whatever the task does is done again, also for `--predict_only` runs that were never
scored, and for runs of somebody else, whose rows stand in the samples (`place.py` says where a
scorer may come from). Where rows carry the output that was published for them, that output goes
through the same scorer: a verdict that differs although the published output is scored differs
because of the scorer, any other because of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.rescore.rescoring import rescore_task
    from evalprep.rescore.screen import show
    from evalprep.rescore.tally import TaskRescore, versions_before
    from evalprep.rescore.workers import Workers
    from evalprep.rescore.writer import RunWriter
else:
    __getattr__ = offered(__name__)
