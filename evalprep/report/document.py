"""The report as plain data.

Every number of the page, the spreadsheet and the tables comes from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import cast

from evalprep import __version__
from evalprep.compare import (
    Comparison,
    Quantities,
    Settings,
    conclude,
    measure,
    measure_scores,
    tasks_without_mean,
)
from evalprep.packs import Pack
from evalprep.places import last_part, without_home
from evalprep.report.align import TaskRows, align
from evalprep.report.browser import Browser, Flips
from evalprep.report.content import ComparisonPart, Document, Head, Parts, RatingsPart, RunPart
from evalprep.report.facts import facts_of
from evalprep.report.judgements import Judgements
from evalprep.report.scores import groups_of, stored_of, suite_of
from evalprep.report.shown import shown_of
from evalprep.report.task import task_of
from evalprep.report.text import plain
from evalprep.results import (
    Run,
    answers_without_box,
    incomplete,
    label_runs,
    odd_verdicts,
    parts_of_data,
)
from evalprep.samples import BY_CONTENT, PairRules
from evalprep.score import Quantity, Scores, quantities, score_run

SCHEMA = 1
#: Places of a candidate and of its baseline among the runs; None for published verdicts.
Pair = tuple[int, int | None]


@dataclass
class Report:
    """A report before it is written.

    Args:
        document: Everything but the samples, as strict JSON data.
        index: The packed columns of the samples browser.
        chunks: Its packed texts.
        rows: The aligned rows of each task, for tables of samples.
        comparisons: The comparisons, in the order of the document.
        flips: The flips of each.
        judgements: What judges said of the samples of each run.
        quantities: Every number of each run.
    """

    document: Document = field(repr=False)
    index: str = field(repr=False)
    chunks: list[str] = field(repr=False)
    rows: list[TaskRows] = field(default_factory=list, repr=False)
    comparisons: Sequence[Comparison] = field(default=(), repr=False)
    flips: list[Flips] = field(default_factory=list, repr=False)
    judgements: Sequence[Judgements] = field(default=(), repr=False)
    quantities: Sequence[Sequence[Quantity]] = field(default=(), repr=False)


@dataclass(frozen=True)
class _Compared:
    """One comparison with its flips; runs by their places, None for published verdicts."""

    candidate: int
    baseline: int | None
    comparison: Comparison
    flips: Flips


def build_report(
    runs: Sequence[Run],
    *,
    scores: Sequence[Scores] = (),
    notes: Mapping[str, str] | None = None,
    judgements: Sequence[Judgements] = (),
    packs: Mapping[str, Pack] | None = None,
    measured: Mapping[Pair, Quantities] | None = None,
    allow: Sequence[str] = (),
    cluster: str = "",
    pairing: PairRules = BY_CONTENT,
    candidate: str = "",
    max_chars: int = 20_000,
    max_samples: int = 50_000,
    created: str = "",
) -> Report:
    """Reads the runs once and puts the report together.

    Args:
        runs: One run or several, side by side; the last one is the baseline of the others.
        scores: The suite scores of each run, from `evalprep.score.score_run`; none by default.
        notes: Suite score -> one sentence about it, for those that bring none themselves.
        judgements: What a judge wrote about the samples of each run, from `judgements_of`; none by
            default.
        packs: All packs, which may name what a comparison concludes.
        measured: Candidate and baseline, by their places -> what was measured of them already.
        allow: Settings that may differ between two compared runs.
        cluster: Field of the rows whose equal values make one document.
        pairing: What the user decides about which rows of two runs are one question.
        candidate: Label of the run that alone is judged, where it is named beforehand; the others
            are described.
        max_chars: Longer texts of samples lose their middle.
        max_samples: Samples whose texts go into the page; see `Browser`.
        created: Time of creation in ISO form; now by default.
    """
    # First: comparisons call the runs by their labels.
    if not all(run.named for run in runs):
        runs = label_runs(runs)
    labels = [run.named for run in runs]
    known_packs = packs or {}
    settings = Settings(allow=tuple(allow), cluster=cluster, pairing=pairing)
    place = labels.index(candidate) if candidate else None
    compared = _compare_all(runs, scores, known_packs, settings, place, measured or {})
    flips = [item.flips for item in compared]
    browser = Browser(
        runs, flips, judgements=judgements, max_chars=max_chars, max_samples=max_samples
    )
    names = list(dict.fromkeys(chain.from_iterable(run.tasks for run in runs)))
    rows = [align(name, runs, pairing) for name in names]
    # Without scores to show, tasks still have their own.
    sides = scores or [score_run(run) for run in runs]
    scores_of = [{score.task: score for score in side.tasks} for side in sides]
    tasks = []
    for number, of_task in enumerate(rows):
        browser.add(number, of_task)
        tasks.append(task_of(of_task, scores_of))
    index, chunks = browser.finish()
    models = (last_part(run.model) for run in runs)
    parts: Parts = {
        **_head(models, created),
        "runs": [_run_part(run, label) for run, label in zip(runs, labels, strict=True)],
        "tasks": tasks,
        "stored": stored_of(runs),
        "scores": suite_of(scores, notes),
        "groups": groups_of(scores),
        "ratings": [_ratings(side) for side in scores],
        "comparisons": [
            _comparison_part(item.candidate, item.baseline, item.comparison) for item in compared
        ],
        "samples": {
            "rows": browser.total,
            "shown": len(browser.columns["task"]),
            "max_chars": browser.max_chars,
        },
    }
    for task in tasks:
        for run, part in zip(parts["runs"], task["runs"], strict=True):
            run["notes"] += [f"{task['name']}: {note}" for note in (part["notes"] if part else ())]
    for run, run_scores in zip(parts["runs"], scores, strict=False):  # no scores, no groups
        for group in run_scores.groups:
            run["notes"] += [f"{group.group}: {note}" for note in group.notes]
    judged = judgements or [{} for _ in runs]
    return Report(
        document=_with_texts(parts),
        index=index,
        chunks=chunks,
        rows=rows,
        comparisons=[item.comparison for item in compared],
        flips=flips,
        judgements=judged,
        quantities=[[*quantities(side)] for side in sides],
    )


def build_scores_report(
    scores: Sequence[Scores], *, notes: Mapping[str, str] | None = None
) -> Report:
    """Puts together the report of sides of which at least one is scores without samples.

    Args:
        scores: The scores of each side; the last one is the baseline of the others.
        notes: As in `build_report`.
    """
    *candidates, baseline = scores
    comparisons = conclude([measure_scores(candidate, baseline) for candidate in candidates])
    index, chunks = Browser([], []).finish()
    parts: Parts = {
        **_head((side.run for side in scores), ""),
        "runs": [
            {"label": side.run, "model": side.model, "stamp": "", "notes": side.notes, "facts": []}
            for side in scores
        ],
        "tasks": [],
        "stored": [],
        "scores": suite_of(scores, notes),
        "groups": [],
        "ratings": [_ratings(side) for side in scores],
        "comparisons": [
            _comparison_part(place, len(candidates), comparison)
            for place, comparison in enumerate(comparisons)
        ],
        "samples": {"rows": 0, "shown": 0, "max_chars": 0},
    }
    no_flips = [Flips(place, comparison) for place, comparison in enumerate(comparisons)]
    return Report(
        document=_with_texts(parts),
        index=index,
        chunks=chunks,
        rows=[],
        comparisons=comparisons,
        flips=no_flips,
        judgements=[{} for _ in scores],
        quantities=[[*quantities(side)] for side in scores],
    )


# --- comparisons


def _compare_all(
    runs: Sequence[Run],
    scores: Sequence[Scores],
    packs: Mapping[str, Pack],
    settings: Settings,
    judged: int | None,
    known: Mapping[Pair, Quantities],
) -> list[_Compared]:
    """Compares each pair, by its tasks and by the suite scores of its packs.

    One family is of the runs held against the baseline, one of those against published verdicts.

    Args:
        runs: The runs; the last one is the baseline.
        scores: The scores of each, where they are known.
        packs: All packs.
        settings: What may differ.
        judged: Place of the run that alone is judged; None for all.
        known: What was measured already.
    """
    without_mean = tasks_without_mean(runs, packs)
    last = len(runs) - 1
    tasks = [set(run.known_tasks) for run in runs]
    pairs: list[Pair] = [(place, None) for place, run in enumerate(runs) if run.judged]
    pairs += [(place, last) for place in range(last) if tasks[place] & tasks[last]]
    measured = []
    for candidate, baseline in pairs:
        if (candidate, baseline) in known:
            measured.append(known[candidate, baseline])
            continue
        run = runs[candidate]
        other = None if baseline is None else runs[baseline]
        of_both = None
        if scores and baseline is not None:
            of_both = scores[candidate], scores[baseline]
        measured.append(
            measure(
                run,
                other,
                packs,
                settings,
                scores=of_both,
                tasks=run.judged if other is None else None,
                without_mean=without_mean,
            )
        )
    compared: list[_Compared] = []
    for is_published in (True, False):
        of_kind = [at for at, pair in enumerate(pairs) if (pair[1] is None) is is_published]
        places = [pairs[at][0] for at in of_kind]
        alone = places.index(judged) if judged in places else None
        comparisons = conclude([measured[at] for at in of_kind], judged=alone)
        for at, comparison in zip(of_kind, comparisons, strict=True):
            candidate, baseline = pairs[at]
            flips = Flips(candidate, comparison)
            compared.append(_Compared(candidate, baseline, comparison, flips))
    return compared


def _comparison_part(
    candidate: int, baseline: int | None, comparison: Comparison
) -> ComparisonPart:
    """A comparison of two runs by their places; None for published verdicts."""
    part = {"now": candidate, "before": baseline, **comparison.to_dict()}
    return cast(ComparisonPart, part)


# --- parts of the document


def _ratings(side: Scores) -> RatingsPart:
    return cast(RatingsPart, side.ratings.to_dict())


def _head(names: Iterable[str], created: str) -> Head:
    return {
        "schema": SCHEMA,
        "evalprep": __version__,
        "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
        "title": " and ".join(dict.fromkeys(names)),
    }


def _run_part(run: Run, label: str) -> RunPart:
    of_rows = [*parts_of_data(run), *incomplete(run)]
    notes = [*run.notes, *of_rows, *odd_verdicts(run), *answers_without_box(run)]
    return {
        "label": label,
        "model": without_home(run.model),
        "stamp": run.files.stamp,
        "notes": list(dict.fromkeys(notes)),
        "facts": facts_of(run),
    }


def _with_texts(parts: Parts) -> Document:
    """The document as strict JSON, and how its numbers are written."""
    strict = cast(Parts, plain(parts))
    return {**strict, "shown": shown_of(strict)}
