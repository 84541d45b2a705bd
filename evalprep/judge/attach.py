"""Kept ratings put beside the rows that score functions get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalprep.errors import BadInput
from evalprep.judge.question import NOT_ASKED, Judgement, ask_about, pack_judge
from evalprep.judge.ratings import RatingsFile, judge_folder, signed_judge
from evalprep.packs import Pack
from evalprep.results import Run
from evalprep.results.files import stamp_of


def attach(pack: Pack, run: Run, task: str, rows: list[dict[str, Any]]) -> str:
    """Add to each row that a judge was asked about its `judgement`, and its ratings, if any, to its `metrics`.

    The questions are made anew, so that ratings of an earlier prediction or of another prompt are left where they are.

    Args:
        pack: The pack of the task.
        run: The run.
        task: One of its tasks.
        rows: The task's rows, all of them; changed in place.

    Returns:
        Why kept ratings could not be used; empty where they could or there are none.
    """
    # With `--timestamp each` the samples of a task may be of another time than the run's newest.
    stamp = stamp_of(run.tasks[task].path) or run.files.stamp
    folder = judge_folder(replace(run.files, stamp=stamp))
    judge = signed_judge(folder)
    if judge is None:
        return ""
    try:
        module = pack_judge(pack)
        if module is None or task not in module.TASKS:
            return ""
        questions = ask_about(judge, module, run, task, rows)
    except BadInput as error:
        return f"the ratings in {folder.name} are not used: {error.problems[0].what}"
    except Exception as error:  # noqa: BLE001 - a broken judge.py must not take scores that need no judge with it
        return f"the ratings in {folder.name} are not used: {type(error).__name__}: {error}"
    known = RatingsFile(folder).known
    by_index = {row["index"]: row for row in rows}
    for asked in questions:
        row = by_index.get(asked.question.index)
        if row is None:
            continue
        judgement = known.get(asked.key, Judgement(NOT_ASKED))
        # Of several questions about one sample all ratings count, and the first that has none says why.
        before = row.get("judgement") or {"judge": judge.model, "status": "ok", "ratings": None}
        ratings = {**(before["ratings"] or {}), **(judgement.ratings or {})}
        status = judgement.status if before["status"] == "ok" else before["status"]
        row["judgement"] = {**before, "status": status, "ratings": ratings or None}
        row["metrics"] = {**row["metrics"], **ratings}
    return ""
