"""The effort of judges: answered requests, tokens, cost, as the ledger has them."""

from __future__ import annotations

from evalprep.annotate.attachment import stamp_for
from evalprep.annotate.judged import JudgeEffort
from evalprep.annotate.kept import Kept
from evalprep.errors import BadInput
from evalprep.results import Effort, Run

# Absent numbers are unknown, and so is a sum with one of them. `total` cannot overflow.
_QUERY = """
    SELECT annotator, model, count(*),
        CASE WHEN count(tokens_in) = count(*) THEN CAST(total(tokens_in) AS INTEGER) END,
        CASE WHEN count(tokens_out) = count(*) THEN CAST(total(tokens_out) AS INTEGER) END,
        CASE WHEN count(cost) = count(*) THEN total(cost) END
    FROM attempts WHERE status IN ('received', 'refused', 'truncated')
        AND key IN (SELECT key FROM uses WHERE run = ? AND task = ?)
    GROUP BY annotator, model HAVING count(tokens_in) + count(tokens_out) > 0 ORDER BY 1, 2
"""


def judge_efforts(run: Run) -> list[JudgeEffort]:
    """Returns what each judge took for each task of a run; nothing of a ledger that is unreadable.

    Nothing, too, of a run of which the first rows count alone: the ledger is about all of them.
    """
    efforts: list[JudgeEffort] = []
    for task in () if run.first_rows_only else run.tasks:
        try:
            with Kept(run, stamp_for(run, task)) as kept:
                efforts += _of_task(kept, task)
        except BadInput:  # `ratings_of_run` has a note about it
            continue
    return efforts


def _of_task(kept: Kept, task: str) -> list[JudgeEffort]:
    if kept.ledger is None:
        return []
    efforts = []
    for rubric, judge, requests, sent, received, cost in kept.ledger.query(
        _QUERY, [kept.stamp, task]
    ):
        effort = Effort(requests=requests, prompt_tokens=sent, reply_tokens=received)
        efforts.append(JudgeEffort(task, str(rubric), str(judge), effort, cost))
    return efforts
