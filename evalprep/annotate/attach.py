"""Kept judgements found again for the samples of a run, and put beside the rows that score functions get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalprep.annotate.question import NOT_ASKED, Judgement, ask_about, pack_judge
from evalprep.annotate.ratings import RatingsFile, judge_folder, signed_judge
from evalprep.errors import BadInput
from evalprep.packs.pack import Pack
from evalprep.results import Run
from evalprep.results.files import stamp_of


def attach(pack: Pack, run: Run, task: str, rows: list[dict[str, Any]]) -> str:
    """Add to each row that a judge was asked about its `judgement`, and its ratings, if any, to its `metrics`.

    Args:
        pack: The pack of the task.
        run: The run.
        task: One of its tasks.
        rows: The task's rows, all of them; changed in place.

    Returns:
        Why kept ratings could not be used; empty where they could or there are none.
    """
    model, found, problem = kept_judgements(pack, run, task, rows)
    for row in rows:
        if (one := found.get(row["index"])) is not None:
            row["judgement"] = {"judge": model, "status": one.status, "ratings": one.ratings}
            row["metrics"] = {**row["metrics"], **(one.ratings or {})}
    return problem


def kept_judgements(
    pack: Pack, run: Run, task: str, rows: Sequence[Mapping[str, Any]] | None = None
) -> tuple[str, dict[int, Judgement], str]:
    """What the judge that signed last said of the samples of a task.

    The questions are made anew, so that ratings of an earlier prediction or of another prompt are left where they are.

    Args:
        pack: The pack of the task.
        run: The run.
        task: One of its tasks.
        rows: The task's rows, all of them; read from the samples where they are not given.

    Returns:
        The judge's model; position in the split -> judgement, for every sample that the pack has a question about; why
        kept judgements could not be used, empty where they could or there are none.
    """
    from evalprep.results.rows import row_mappings

    # With `--timestamp each` the samples of a task may be of another time than the run's newest.
    stamp = stamp_of(run.tasks[task].path) or run.files.stamp
    folder = judge_folder(replace(run.files, stamp=stamp))
    judge = signed_judge(folder)
    if judge is None:
        return "", {}, ""
    try:
        module = pack_judge(pack)
        if module is None or task not in module.TASKS:
            return "", {}, ""
        questions = ask_about(judge, module, run, task, row_mappings(run.tasks[task]) if rows is None else rows)
    except BadInput as error:
        return "", {}, f"the ratings in {folder.name} are not used: {error.problems[0].what}"
    except Exception as error:  # noqa: BLE001 - a broken judge.py must not take scores that need no judge with it
        return "", {}, f"the ratings in {folder.name} are not used: {type(error).__name__}: {error}"
    known = RatingsFile(folder).known
    of_sample: dict[int, list[Judgement]] = {}
    for asked in questions:
        of_sample.setdefault(asked.question.index, []).append(known.get(asked.key, Judgement(NOT_ASKED)))
    return judge.model, {index: _together(several) for index, several in of_sample.items()}, ""


def _together(several: Sequence[Judgement]) -> Judgement:
    """Of several questions about one sample all ratings count, and the first that has none says why."""
    first = next((one for one in several if one.status != "ok"), several[0])
    ratings = {name: number for one in several for name, number in (one.ratings or {}).items()}
    replies = [one.reply for one in several if one.reply]
    return Judgement(first.status, ratings or None, "\n\n".join(replies) or None, first.reason)
