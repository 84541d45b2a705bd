"""The judgements of single samples, for the page and the sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalprep.annotate import ledger_of
from evalprep.packs import Pack
from evalprep.report.content import JudgementPart
from evalprep.results import Run

#: Task -> position in the split -> judgement.
Judgements = Mapping[str, Mapping[int, JudgementPart]]


def judgements_of(run: Run, packs: Mapping[str, Pack]) -> tuple[Judgements, list[str]]:
    """The kept judgements of a run's samples, those that scores take, and notes on them.

    Both are empty where no judge was asked.

    Each has `judge` (the model), `status`, `ratings`, `reply` and `reason`. What judges said by
    rubrics of the user's is put beside it, its ratings under `RUBRIC.NAME`.
    """
    by_task: dict[str, dict[int, JudgementPart]] = {}
    all_notes: dict[str, None] = {}
    if ledger_of(run) is None:
        return by_task, []
    for task in run.tasks:
        by_index, notes = _judgements_of_task(run, task, packs)
        all_notes |= dict.fromkeys(filter(None, notes))
        for index, judgements in by_index.items():
            combined = _combined(judgements)
            if combined is not None:
                by_task.setdefault(task, {})[index] = combined
    return by_task, [note for note in all_notes if note not in run.notes]


def _judgements_of_task(
    run: Run, task: str, packs: Mapping[str, Pack]
) -> tuple[dict[int, list[tuple[str, Any]]], list[str]]:
    """Position in the split -> each judge's name and its judgement.

    The second value is the notes, some of them empty.
    """
    from evalprep.annotate import kept_judgements, rubric_judgements

    by_index: dict[int, list[tuple[str, Any]]] = {}
    notes: list[str] = []
    for pack in packs.values():
        model, judgements, problem = kept_judgements(pack, run, task)
        notes.append(problem)
        for index, judgement in judgements.items():
            by_index.setdefault(index, []).append((model, judgement))
    by_rubric, problem = rubric_judgements(run, task)
    notes.append(problem)
    for name, (model, judgements) in by_rubric.items():
        for index, judgement in judgements.items():
            by_index.setdefault(index, []).append((f"{model} ({name})", judgement.named(name)))
    return by_index, notes


def _combined(judgements: Sequence[tuple[str, Any]]) -> JudgementPart | None:
    """The judgements of one sample as one; None where no judge was asked."""
    from evalprep.annotate import together
    from evalprep.packs import NOT_ASKED

    known = [
        (model, judgement)
        for model, judgement in judgements
        if judgement.status != NOT_ASKED or judgement.values or judgement.reply
    ]
    if not known:
        return None
    combined = together([judgement for _, judgement in known])
    return {
        "judge": ", ".join(dict.fromkeys(model for model, _ in known)),
        "status": combined.status,
        "ratings": combined.values,
        "reply": combined.reply,
        "reason": combined.reason,
    }
