"""What a judge said of single samples, for the page and the sheets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalprep.packs.pack import Pack
from evalprep.results import Run

Judgements = Mapping[str, Mapping[int, dict[str, Any]]]  # task -> position in the split -> judgement


def judgements_of(run: Run, packs: Mapping[str, Pack]) -> Judgements:
    """The kept judgements of a run's samples, those that scores take; empty where no judge was asked.

    Each has `judge` (the model), `status`, `ratings`, `reply` and `reason`. What judges said by rubrics of the user's
    is put beside it, its ratings under `RUBRIC.NAME`.
    """
    from evalprep.annotate.attach import kept_judgements, rubric_judgements, together
    from evalprep.packs.annotator import NOT_ASKED

    found: dict[str, dict[int, dict[str, Any]]] = {}
    for task in run.tasks:
        said: dict[int, list[tuple[str, Any]]] = {}
        notes: list[str] = []
        for pack in packs.values():
            model, judgements, problem = kept_judgements(pack, run, task)
            notes.append(problem)
            for index, one in judgements.items():
                said.setdefault(index, []).append((model, one))
        by_rubric, problem = rubric_judgements(run, task)
        notes.append(problem)
        for name, (model, judgements) in by_rubric.items():
            for index, one in judgements.items():
                said.setdefault(index, []).append((f"{model} ({name})", one.named(name)))
        run.notes += [note for note in notes if note and note not in run.notes]
        for index, several in said.items():
            known = [(model, one) for model, one in several if one.status != NOT_ASKED or one.values or one.reply]
            if known:
                one = together([one for _, one in known])
                models = ", ".join(dict.fromkeys(model for model, _ in known))
                kept = {"status": one.status, "ratings": one.values, "reply": one.reply, "reason": one.reason}
                found.setdefault(task, {})[index] = {"judge": models, **kept}
    return found
