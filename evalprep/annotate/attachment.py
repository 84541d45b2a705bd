"""Kept answers for the samples of a run.

They are put beside the rows that score functions get.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from evalprep.annotate.answers import Judgement, Question, numbers_by_value
from evalprep.annotate.finding import annotators_for, pack_annotators
from evalprep.annotate.kept import Kept
from evalprep.annotate.ledger import Chosen, Ledger
from evalprep.annotate.place import ledger_of
from evalprep.annotate.promptfile import recorded_judgements
from evalprep.errors import BadInput
from evalprep.packs import Pack, Rubric
from evalprep.results import AnnotatorOrigin, Run, row_mappings, stamp_of

Rows = Sequence[Mapping[str, Any]]


def stamp_for(run: Run, task: str) -> str:
    """Time stamp of a task's samples.

    With `--timestamp each` that may be another stamp than the run's newest.
    """
    if run.log is not None:
        return run.files.stamp
    return stamp_of(run.files.samples.get(task, run.tasks[task].path)) or run.files.stamp


def annotators_of(run: Run) -> list[AnnotatorOrigin]:
    """Returns the judges and detectors whose answers about a run are kept, each version once."""
    path = ledger_of(run)
    if path is None:
        return []
    stamps = {stamp_for(run, task) for task in run.tasks}
    with Ledger(path) as ledger:
        rows = ledger.query(
            "SELECT DISTINCT uses.run, annotator, version, model FROM attempts "
            "JOIN uses ON attempts.key = uses.key ORDER BY annotator, version, model"
        )
    own = dict.fromkeys(tuple(map(str, row[1:])) for row in rows if row[0] in stamps)
    return [
        AnnotatorOrigin(name=name, version=version, model=model) for name, version, model in own
    ]


def attach(pack: Pack, run: Run, task: str, rows: list[dict[str, Any]]) -> str:
    """Adds `judgement` to each row that an annotator was asked about.

    The values of the judgement, where it has any, join the `metrics` of the row.

    Values of a user's rubric go by the name of the rubric (`correctness.rating`) and leave
    `judgement` alone.

    Args:
        pack: The pack of the task.
        run: The run.
        task: One of its tasks.
        rows: The task's rows, all of them; changed in place.

    Returns:
        Why kept answers could not be used; empty where they could or there are none.
    """
    model, by_index, problem = kept_judgements(pack, run, task, rows)
    for row in rows:
        if (judgement := by_index.get(row["index"])) is not None:
            row["judgement"] = {
                "judge": model,
                "status": judgement.status,
                "ratings": judgement.values,
                "version": judgement.version,
                "reply": judgement.reply,
                "votes": list(judgement.votes),
            }
            row["metrics"] = {**row["metrics"], **(judgement.values or {})}
    by_rubric, also = rubric_judgements(run, task, rows)
    for name, (_, judgements) in by_rubric.items():
        for row in rows:
            values = judgements[row["index"]].values if row["index"] in judgements else None
            row["metrics"] = {
                **row["metrics"],
                **{f"{name}.{key}": value for key, value in (values or {}).items()},
            }
    return "; ".join(filter(None, (problem, also)))


def kept_judgements(
    pack: Pack, run: Run, task: str, rows: Rows | None = None
) -> tuple[str, dict[int, Judgement], str]:
    """The judgements of a pack's annotators on the samples of a task.

    The questions are made anew, so that answers about an earlier prediction or another prompt are
    left where they are.

    Args:
        pack: The pack of the task.
        run: The run.
        task: One of its tasks.
        rows: The task's rows, all of them; read from the samples where they are not given.

    Returns:
        The model that was asked; position in the split -> judgement, for every sample that there is
        a question about; why kept answers could not be used, empty where they could or there are
        none.
    """
    questions: list[Question] = []
    models: dict[str, None] = {}
    try:
        with Kept(run, stamp_for(run, task)) as kept:
            if not kept:
                return "", {}, ""
            for annotator in annotators_for(pack_annotators(pack), run.tasks[task]):
                who = kept.who(annotator)
                if who is None:
                    continue
                rows = row_mappings(run.tasks[task]) if rows is None else rows
                questions += kept.questions(
                    annotator, who, {task: rows}, {task: run.tasks[task].metadata}
                )
                models[who.model or annotator.name] = None
    except BadInput as error:
        return "", {}, f"ratings are not used: {error.problems[0].what}"
    except Exception as error:  # noqa: BLE001
        # A broken annotators.py must not take scores that need none with it.
        return "", {}, f"ratings are not used: {type(error).__name__}: {error}"
    return ", ".join(models), by_sample(questions), ""


def rubric_judgements(
    run: Run, task: str, rows: Rows | None = None
) -> tuple[dict[str, tuple[str, dict[int, Judgement]]], str]:
    """Rubric that users named -> its model and its judgements by position.

    The second value is what went wrong, empty where nothing did.
    """

    @cache
    def task_rows() -> Rows:
        return row_mappings(run.tasks[task]) if rows is None else rows

    by_rubric: dict[str, tuple[str, dict[int, Judgement]]] = {}
    try:
        with Kept(run, stamp_for(run, task)) as kept:
            for name, chosen in kept.chosen().items():
                judged = _judged_as_chosen(kept, chosen, task, task_rows)
                if judged is not None:
                    by_rubric[name] = judged
    except BadInput as error:
        return {}, f"ratings are not used: {error.problems[0].what}"
    except Exception as error:  # noqa: BLE001
        # A ledger from elsewhere may hold anything, and must not stop the scores.
        return (
            {},
            (
                "ratings are not used: a rubric in the ledger cannot be read: "
                f"{type(error).__name__}: {error}"
            ),
        )
    return by_rubric, ""


def _judged_as_chosen(
    kept: Kept, chosen: Chosen, task: str, rows: Callable[[], Rows]
) -> tuple[str, dict[int, Judgement]] | None:
    """The model and the judgements of a rubric; None where it judged nothing of the task.

    The rows are read only for a rubric that is for the task.
    """
    settings = json.loads(chosen.settings)
    record = settings.get("prompt_file")
    if isinstance(record, dict):
        judged = recorded_judgements(record, task, rows(), kept.attempts)
        return (chosen.model, judged) if judged else None
    spec = settings.get("rubric")
    if not isinstance(spec, dict):
        return None
    rubric = Rubric.from_spec(spec)
    who = kept.who(rubric)
    if rubric.is_pair or who is None or (rubric.tasks and task not in rubric.tasks):
        return None
    questions = kept.questions(rubric, who, {task: rows()}, {})
    if not any(question.attempts for question in questions):
        return None
    return who.model, by_sample(questions)


def by_sample(questions: Sequence[Question]) -> dict[int, Judgement]:
    """Judgements by position in the split.

    Those of several questions about a sample are put together.
    """
    of_sample: dict[int, list[Judgement]] = {}
    for question in questions:
        if not question.item.step:
            of_sample.setdefault(question.item.samples[0].index, []).append(question.judgement())
    return {index: together(several) for index, several in of_sample.items()}


def together(several: Sequence[Judgement]) -> Judgement:
    """The judgement of several questions about one sample: all values, votes as their mean.

    Its status and reason are those of the first question without values, where there is one.
    """
    first = next((judgement for judgement in several if judgement.status != "ok"), several[0])
    values = {
        name: numbers[0] if len(numbers) == 1 else statistics.fmean(numbers)
        for name, numbers in numbers_by_value(several).items()
    }
    replies = [judgement.reply for judgement in several if judgement.reply]
    attempts = sum(judgement.attempts for judgement in several)
    votes = sum(judgement.values is not None for judgement in several), len(several)
    reply = "\n\n".join(replies) or None
    return Judgement(
        status=first.status,
        values=values or None,
        reply=reply,
        reason=first.reason,
        attempts=attempts,
        version=first.version,
        votes=votes,
    )
