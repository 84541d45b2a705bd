"""What a judge said of single samples, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalprep.errors import BadInput
from evalprep.packs import Pack
from evalprep.results import Run

Judgements = Mapping[str, Mapping[int, dict[str, Any]]]  # task -> position in the split -> judgement


def judgements_of(run: Run, packs: Mapping[str, Pack]) -> Judgements:
    """The kept judgements of a run's samples, those that scores take; empty where no judge was asked.

    Each has `judge` (the model), `status`, `ratings`, `reply` and `reason`. The questions are made anew, so that a
    judgement of another reply is not shown.
    """
    from evalprep.judge.question import ask_about, pack_judge
    from evalprep.judge.ratings import RatingsFile, judge_folder, signed_judge
    from evalprep.score.rows import row_mappings

    folder = judge_folder(run.files)
    judge = signed_judge(folder)
    if judge is None:
        return {}
    known = RatingsFile(folder).known
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for pack in packs.values():
        try:
            module = pack_judge(pack)
            for task in [] if module is None else [name for name in module.TASKS if name in run.tasks]:
                for asked in ask_about(judge, module, run, task, row_mappings(run.tasks[task])):  # type: ignore[arg-type]
                    if (one := known.get(asked.key)) is not None:
                        kept = {name: getattr(one, name) for name in ("status", "ratings", "reply", "reason")}
                        found.setdefault(task, {})[asked.question.index] = {"judge": judge.model, **kept}
        except BadInput as error:
            run.notes.append(f"judgements in {folder.name} are not shown: {error.problems[0].what}")
        except Exception as error:  # noqa: BLE001 - a broken judge.py must not cost the report
            run.notes.append(f"judgements in {folder.name} are not shown: {type(error).__name__}: {error}")
    return found
