"""The judgements of a run in sum.

Means, distributions, where raters differ most, preferences between two runs, the judges' effort.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from custom_metrics.statistics.agreement import krippendorff_alpha
from custom_metrics.statistics.mean import mean_interval
from custom_metrics.statistics.row_mean import Bounds, rows_interval
from evalprep.annotate.answers import SCHEMA, Question, Who
from evalprep.annotate.attachment import stamp_for
from evalprep.annotate.collection import paid_annotators, pair_items
from evalprep.annotate.finding import annotators_for
from evalprep.annotate.judged import Apart, JudgeEffort, Preferred, Rated, Rater, Ratings
from evalprep.annotate.kept import Kept
from evalprep.annotate.ledger import Chosen
from evalprep.annotate.promptfile import recorded_judgements
from evalprep.annotate.quality import preferences
from evalprep.errors import BadInput
from evalprep.packs import PREFERENCE, Annotator, Pack, Rubric, Value
from evalprep.results import Effort, Run, TaskRun, load_run, row_mappings

_APART = 50  # samples that are listed of one value; the ledger has all

#: Sample -> votes, of one rater and one value. A sample is its position in the split and its id.
Votes = Mapping[tuple[int, str], Sequence[float]]
# Absent numbers are unknown, and so is a sum with one of them. `total` cannot overflow.
_EFFORTS = """
    SELECT annotator, model, count(*),
        CASE WHEN count(tokens_in) = count(*) THEN CAST(total(tokens_in) AS INTEGER) END,
        CASE WHEN count(tokens_out) = count(*) THEN CAST(total(tokens_out) AS INTEGER) END,
        CASE WHEN count(cost) = count(*) THEN total(cost) END
    FROM attempts WHERE status IN ('received', 'refused', 'truncated')
        AND key IN (SELECT key FROM uses WHERE run = ? AND task = ?)
    GROUP BY annotator, model HAVING count(tokens_in) + count(tokens_out) > 0 ORDER BY 1, 2
"""


def ratings_of_run(run: Run, packs: Iterable[Pack]) -> Ratings:
    """Reads the judgements of a run out of the ledger.

    Empty where no judge was asked. What cannot be read is a note.
    """
    ratings, packs = Ratings(), list(packs)
    for task in run.tasks:
        try:
            with Kept(run, stamp_for(run, task)) as kept:
                if kept:
                    _of_task(ratings, run, packs, task, kept)
        except BadInput as error:
            ratings.notes.append(f"ratings of {task} are not shown: {error.problems[0].what}")
        except Exception as error:  # noqa: BLE001
            # A ledger from elsewhere may hold anything, and must not stop a report.
            ratings.notes.append(
                f"ratings of {task} are not shown: {type(error).__name__}: {error}"
            )
    ratings.notes = list(dict.fromkeys(ratings.notes))
    return ratings


def _of_task(ratings: Ratings, run: Run, packs: Sequence[Pack], task: str, kept: Kept) -> None:
    annotators = _asked_annotators(run, packs, task, kept)
    by_name = {name: json.loads(chosen.settings) for name, chosen in kept.chosen().items()}
    by_rubric = {
        name: settings
        for name, settings in by_name.items()
        if settings.get("rubric") or settings.get("prompt_file")
    }
    if not annotators and not by_rubric:
        return
    rows = row_mappings(run.tasks[task])
    for name, settings in by_rubric.items():
        chosen = kept.chosen()[name]
        if "prompt_file" in settings:
            _of_prompt_file(ratings, task, name, chosen, settings["prompt_file"], rows, kept)
            continue
        rubric = Rubric.from_spec(settings["rubric"])
        if rubric.is_pair:
            _of_pairs(ratings, rubric, chosen, settings.get("other"), run.tasks[task], rows, kept)
        elif not rubric.tasks or task in rubric.tasks:
            annotators.append(rubric)
    _add_annotators(ratings, run, annotators, task, rows, kept)


def _add_annotators(
    ratings: Ratings,
    run: Run,
    annotators: Sequence[Annotator],
    task: str,
    rows: Sequence[Mapping[str, Any]],
    kept: Kept,
) -> None:
    metadata = {task: dict(run.tasks[task].metadata)}
    for annotator in annotators:
        questions = {
            judge: kept.questions(annotator, who, {task: rows}, metadata)
            for judge, who in _judges(kept, annotator)
        }
        of_first_judge = next(iter(questions.values()))
        if _any_attempt(of_first_judge):
            _add(ratings, task, annotator.name, annotator.values, questions)


def _any_attempt(questions: Sequence[Question]) -> bool:
    return any(question.attempts for question in questions)


def _asked_annotators(run: Run, packs: Sequence[Pack], task: str, kept: Kept) -> list[Annotator]:
    """The paid annotators of the packs that were asked about a task."""
    of_task = annotators_for(paid_annotators(packs), run.tasks[task])
    return [annotator for annotator in of_task if kept.who(annotator) is not None]


def _judges(kept: Kept, annotator: Annotator) -> Iterator[tuple[str, Who]]:
    """The judge that counts, then the others that were asked.

    One model with other parameters is told by these.
    """
    counts = kept.who(annotator)
    assert counts is not None
    yield counts.model, counts
    without = dict.fromkeys([*annotator.sampling, SCHEMA])
    names = {counts.model}
    for model, sampling in kept.judges(annotator.name):
        who = Who(model, {**without, **sampling})
        if model == counts.model and who.sampling(annotator) == counts.sampling(annotator):
            continue
        name = model if model not in names else f"{model} {json.dumps(sampling, sort_keys=True)}"
        names.add(name)
        yield name, who


def _add(
    ratings: Ratings,
    task: str,
    rubric: str,
    values: Mapping[str, Value],
    questions: Mapping[str, Sequence[Question]],
) -> None:
    votes: dict[str, dict[str, dict[tuple[int, str], list[float]]]] = {}
    status: dict[tuple[int, str], dict[str, None]] = {}
    counts = next(iter(questions))
    for judge, several in questions.items():
        for question in several:
            if question.item.step:
                continue
            sample = (question.item.samples[0].index, question.item.samples[0].sample_id)
            judgement = question.judgement()
            for name, number in (judgement.values or {}).items():
                votes.setdefault(name, {}).setdefault(judge, {}).setdefault(sample, []).append(
                    number
                )
            if judge == counts:
                status.setdefault(sample, {}).setdefault(judgement.status)
    for name, by_judge in votes.items():
        ratings.values.append(
            _rated(task, rubric, name, values.get(name), status, by_judge, counts)
        )


def _of_prompt_file(
    ratings: Ratings,
    task: str,
    name: str,
    chosen: Chosen,
    record: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    kept: Kept,
) -> None:
    ids = {int(row["index"]): str(row["sample_id"]) for row in rows}
    reader = Rubric.from_spec(record["reader"])
    votes: dict[str, dict[tuple[int, str], list[float]]] = {}
    status = {}
    for index, judgement in recorded_judgements(record, task, rows, kept.attempts).items():
        status[index, ids[index]] = {judgement.status: None}
        for value, number in (judgement.values or {}).items():
            votes.setdefault(value, {})[index, ids[index]] = [number]
    for value, of_judge in votes.items():
        by_judge = {chosen.model: of_judge}
        ratings.values.append(
            _rated(task, name, value, reader.values.get(value), status, by_judge, chosen.model)
        )


def _means(votes: Votes) -> dict[tuple[int, str], float]:
    return {sample: math.fsum(numbers) / len(numbers) for sample, numbers in votes.items()}


def _rated(
    task: str,
    rubric: str,
    name: str,
    scale: Value | None,
    status: Mapping[tuple[int, str], Mapping[str, None]],
    by_judge: Mapping[str, Votes],
    counts: str,
) -> Rated:
    means = {judge: _means(votes) for judge, votes in by_judge.items()}
    first = means.get(counts, {})
    reasons = Counter(
        next((word for word in words if word != "ok"), "incomplete")
        for sample, words in status.items()
        if sample not in first
    )
    bounds = (scale.low, scale.high) if scale else (None, None)
    raters = [_rater(counts, first, None, bounds)]
    raters += [_rater(judge, means[judge], first, bounds) for judge in means if judge != counts]
    apart = sorted(_differing(by_judge, means), key=lambda sample: (-sample.spread, sample.index))
    return Rated(
        task=task,
        rubric=rubric,
        name=name,
        low=scale.low if scale else None,
        high=scale.high if scale else None,
        better=scale.better if scale else "",
        asked=len(status),
        reasons=dict(reasons),
        raters=raters,
        apart=apart[:_APART],
        differing=len(apart),
    )


def _rater(
    judge: str,
    means: Mapping[tuple[int, str], float],
    first: Mapping[tuple[int, str], float] | None,
    bounds: Bounds,
) -> Rater:
    """One judge's ratings, beside those of the first judge where there are several."""
    numbers = list(means.values())
    distribution = {f"{number:g}": count for number, count in sorted(Counter(numbers).items())}
    rater = Rater(
        judge=judge, n=len(numbers), mean=None, low=None, high=None, distribution=distribution
    )
    if numbers:
        # Ends of the interval of the mean of some ratings; None where nothing is known of them.
        # Equal ratings show no spread: the scale alone bounds what others would be.
        if min(numbers) == max(numbers):
            low, high = rows_interval(numbers, bounds=bounds) or (None, None)
        else:
            interval = mean_interval(numbers)
            low, high = interval.low, interval.high
        rater = replace(rater, mean=mean_interval(numbers).value, low=low, high=high)
    if first is None:
        return rater
    both = [(first[sample], value) for sample, value in means.items() if sample in first]
    alpha = krippendorff_alpha(list(zip(*both, strict=True))) if both else math.nan
    return replace(
        rater,
        both=len(both),
        equal=sum(value == other for other, value in both),
        alpha=None if math.isnan(alpha) else alpha,
    )


def _differing(
    by_judge: Mapping[str, Votes], means: Mapping[str, Mapping[tuple[int, str], float]]
) -> Iterator[Apart]:
    """Samples whose ratings differ: by the means of several judges, or by the votes of one.

    Votes count where a single judge rated the sample.
    """
    samples: dict[tuple[int, str], None] = {}
    for of_judge in by_judge.values():
        samples |= dict.fromkeys(of_judge)
    for sample in samples:
        numbers = [of_judge[sample] for of_judge in means.values() if sample in of_judge]
        votes = {
            judge: list(of_judge[sample])
            for judge, of_judge in by_judge.items()
            if sample in of_judge
        }
        if len(numbers) < 2:
            numbers = list(chain.from_iterable(votes.values()))
        if (spread := max(numbers) - min(numbers)) > 0:
            yield Apart(sample[1], sample[0], spread, votes)


def _of_pairs(
    ratings: Ratings,
    rubric: Rubric,
    chosen: Chosen,
    other: Any,
    task: TaskRun,
    rows: Sequence[Mapping[str, Any]],
    kept: Kept,
) -> None:
    """Preferences, asked anew of both runs.

    Without the other run's replies nobody can tell which answers are meant.
    """
    assert kept.ledger is not None
    if not isinstance(other, dict):
        ratings.notes.append(
            f"{rubric.name}: the ledger does not say with which run; ask again: nothing is sent "
            "twice"
        )
        return
    place = Path(os.path.normpath(kept.ledger.path.parent / str(other["place"])))
    try:
        opposite = load_run(place, timestamp=str(other["stamp"]))
    except BadInput:
        ratings.notes.append(
            f"{rubric.name}: the run that was compared with is no longer at {place}"
        )
        return
    who = kept.who(rubric)
    assert who is not None
    questions = kept.known(rubric, pair_items(rubric, task, rows, opposite), who)
    if not _any_attempt(questions):
        return
    # Sample -> its preferences, asked in either order.
    verdicts: dict[str, set[float]] = {}
    for question in questions:
        values = question.judgement().values
        of_sample = verdicts.setdefault(question.item.samples[0].sample_id, set())
        if values:
            of_sample.add(values[PREFERENCE])
    apart = [sample for sample, verdict_values in verdicts.items() if verdict_values >= {0.0, 1.0}]
    result = preferences(questions).to_dict()
    ratings.preferences.append(
        Preferred(
            task=task.name,
            rubric=rubric.name,
            judge=chosen.model,
            other=str(other["label"]),
            asked=len(verdicts),
            found=result,
            apart=apart[:_APART],
        )
    )


def judge_efforts(run: Run) -> list[JudgeEffort]:
    """Returns what each judge took for each task of a run; nothing of a ledger that is unreadable.

    Nothing, too, of a run of which the first rows count alone: the ledger is about all of them.
    """
    if run.first_rows_only:
        return []
    efforts: list[JudgeEffort] = []
    for task in run.tasks:
        try:
            with Kept(run, stamp_for(run, task)) as kept:
                efforts += _efforts_for(kept, task)
        except BadInput:  # `ratings_of_run` has a note about it
            continue
    return efforts


def _efforts_for(kept: Kept, task: str) -> list[JudgeEffort]:
    if kept.ledger is None:
        return []
    efforts = []
    for rubric, judge, requests, sent, received, cost in kept.ledger.query(
        _EFFORTS, [kept.stamp, task]
    ):
        effort = Effort(requests=requests, prompt_tokens=sent, reply_tokens=received)
        efforts.append(JudgeEffort(task, str(rubric), str(judge), effort, cost))
    return efforts
