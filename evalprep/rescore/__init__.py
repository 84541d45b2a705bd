"""Saved outputs scored anew with today's scorers, without the model.

The task's own YAML is loaded through lm-eval, its filters and `process_results` are applied to the saved replies, so
whatever the task does is done again, also for `--predict_only` runs that were never scored. Where rows carry the output
that was published for them, that output goes through the same scorer: a verdict that differs although the published
output is scored differs because of the scorer, any other because of the model.
"""

from __future__ import annotations

from pathlib import Path

from evalprep.rescore.scorer import Outcome, find_scorer, load_task, score_sample
from evalprep.rescore.tally import Change, Replay, TaskRescore, primary_of, scorer_changes, tally, versions_before
from evalprep.rescore.workers import Workers
from evalprep.rescore.writer import RunWriter
from evalprep.results import Run

__all__ = [
    "Change", "Outcome", "Replay", "RunWriter", "TaskRescore", "Workers", "rescore_task", "score_sample",
    "versions_before",
]  # fmt: skip


def rescore_task(
    run: Run,
    name: str,
    *,
    work_dir: Path | None = None,
    workers: Workers | None = None,
    writer: RunWriter | None = None,
) -> TaskRescore:
    """Score one task's saved samples anew.

    Args:
        run: The run.
        name: The task.
        work_dir: Folder of the task YAMLs; by default where the task was prepared.
        workers: The processes that score, shared by all tasks; None for this one alone.
        writer: Where the rescored samples go; None writes nothing.

    Raises:
        BadInput: the task cannot be loaded.
    """
    task = run.task(name)
    place = find_scorer(run, task, work_dir)
    fresh = load_task(place)
    primary = primary_of(task, fresh)
    result = TaskRescore(name, primary.metric, primary.filter, scorer_changed=scorer_changes(task, fresh))
    # Any one filter's lines hold every document once; the primary one also has the old verdicts.
    saved = primary.filter if primary.filter in task.table(primary.filter).filters else task.primary.filter
    rows = len(task.table(saved))
    scored = (workers or Workers(1)).outcomes(place, fresh, task.samples(saved), rows)
    pairs = tally(result, primary, scored)
    if writer is None:
        for _ in pairs:
            pass
    else:
        writer.write(name, fresh, pairs)
    return result
