"""What a judge said of single samples, for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalprep.packs.pack import Pack
from evalprep.results import Run

Judgements = Mapping[str, Mapping[int, dict[str, Any]]]  # task -> position in the split -> judgement


def judgements_of(run: Run, packs: Mapping[str, Pack]) -> Judgements:
    """The kept judgements of a run's samples, those that scores take; empty where no judge was asked.

    Each has `judge` (the model), `status`, `ratings`, `reply` and `reason`.
    """
    from evalprep.annotate.attach import kept_judgements
    from evalprep.annotate.question import NOT_ASKED

    found: dict[str, dict[int, dict[str, Any]]] = {}
    for task in run.tasks:
        for pack in packs.values():
            model, judgements, problem = kept_judgements(pack, run, task)
            if problem and problem not in run.notes:
                run.notes.append(problem)
            for index, one in judgements.items():
                if one.status != NOT_ASKED or one.ratings or one.reply:
                    kept = {name: getattr(one, name) for name in ("status", "ratings", "reply", "reason")}
                    found.setdefault(task, {})[index] = {"judge": model, **kept}
    return found
