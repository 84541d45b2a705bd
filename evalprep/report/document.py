"""The report as plain data: every number of the page, the spreadsheet and the tables comes from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from evalprep import __version__
from evalprep.compare import Comparison, compare_runs, compare_scores, compare_suite
from evalprep.report.align import TaskRows, align
from evalprep.report.browser import Browser, Flips
from evalprep.report.facts import facts_of
from evalprep.report.judgements import Judgements
from evalprep.report.scores import groups_of, stored_of, suite_of
from evalprep.report.shown import shown_of
from evalprep.report.task import task_of
from evalprep.report.text import plain
from evalprep.results import Run, label_runs
from evalprep.results.facts import incomplete
from evalprep.score import Scores

SCHEMA = 1


@dataclass
class Report:
    """A report before it is written.

    Args:
        document: Everything but the samples, as strict JSON data.
        index: The packed columns of the samples browser.
        chunks: Its packed texts.
        rows: The aligned rows of each task, for tables of samples.
        flips: The flips of each comparison.
        judgements: What judges said of the samples of each run.
    """

    document: dict[str, Any] = field(repr=False)
    index: str = field(repr=False)
    chunks: list[str] = field(repr=False)
    rows: list[TaskRows] = field(default_factory=list, repr=False)
    flips: list[Flips] = field(default_factory=list, repr=False)
    judgements: Sequence[Judgements] = field(default=(), repr=False)


def _pairs(runs: Sequence[Run]) -> list[tuple[int, int | None]]:
    """What is compared: each run with its published verdicts, then each run with the last one, the baseline."""
    with_verdicts = [(at, None) for at, run in enumerate(runs) if run.judged]
    last = len(runs) - 1
    known = [{*run.tasks, *run.stored} for run in runs]
    earlier = [(at, last) for at in range(last) if known[at] & known[last]]
    return [*with_verdicts, *earlier]


def _compare(runs: Sequence[Run], now: int, before: int | None, allow: Sequence[str]) -> tuple[Comparison, Flips]:
    tasks = runs[now].judged if before is None else None
    comparison = compare_runs(runs[now], None if before is None else runs[before], tasks=tasks, allow=allow)
    flips = Flips()
    for flip in comparison.flips():
        flips.add(flip.task, flip.sample_id, flip.direction, flip.cause)
    return comparison, flips


def build_scores_report(
    scores: Sequence[Scores], *, notes: Mapping[str, str] | None = None, title: str = "", created: str = ""
) -> Report:
    """The report of sides of which at least one is scores without samples: the scores, each held against the last.

    Args:
        scores: The scores of each side; the last one is the baseline of the others.
        notes: As in `build_report`, like the next two.
        title: Heading; by default the names of the sides.
        created: Time of creation in ISO form; now by default.
    """
    index, chunks = Browser([], []).finish()
    last = len(scores) - 1
    comparisons = [(at, compare_scores(one, scores[last])) for at, one in enumerate(scores[:last])]
    document = {
        "schema": SCHEMA,
        "evalprep": __version__,
        "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
        "title": title or " and ".join(dict.fromkeys(one.run for one in scores)),
        "runs": [
            {"label": one.run, "model": one.model, "stamp": "", "notes": one.notes, "facts": []} for one in scores
        ],
        "tasks": [],
        "stored": [],
        "scores": suite_of(scores, notes),
        "groups": [],
        "ratings": [one.ratings.to_dict() for one in scores],
        "comparisons": [{"now": at, "before": last, **one.to_dict()} for at, one in comparisons],
        "samples": {"rows": 0, "shown": 0, "max_chars": 0},
    }
    return Report(_with_texts(document), index, chunks, [], [Flips() for _ in comparisons], [{} for _ in scores])


def _with_texts(document: dict[str, Any]) -> dict[str, Any]:
    """The document as strict JSON, and how its numbers are written."""
    made: dict[str, Any] = plain(document)
    return {**made, "shown": shown_of(made)}


def build_report(
    runs: Sequence[Run],
    *,
    scores: Sequence[Scores] = (),
    notes: Mapping[str, str] | None = None,
    judgements: Sequence[Judgements] = (),
    title: str = "",
    allow: Sequence[str] = (),
    max_chars: int = 20_000,
    max_samples: int = 50_000,
    created: str = "",
) -> Report:
    """Read the runs once and put the report together.

    Args:
        runs: One run or several, side by side; the last one is the baseline of the others.
        scores: The suite scores of each run, from `evalprep.score.score_run`; none by default.
        notes: Suite score -> one sentence about it, for those that bring none themselves.
        judgements: What a judge said of the samples of each run, from `judgements_of`; none by default.
        title: Heading; by default the models' names.
        allow: Facts of the question that may differ.
        max_chars: Longer texts of samples lose their middle.
        max_samples: Samples whose texts go into the page; see `Browser`.
        created: Time of creation in ISO form; now by default.
    """
    labels = [run.named for run in runs] if all(run.named for run in runs) else label_runs(runs)
    pairs = _pairs(runs)
    compared = [_compare(runs, now, before, allow) for now, before in pairs]
    if scores:
        for (now, before), (comparison, _) in zip(pairs, compared, strict=True):
            if before is not None:
                both = scores[now], scores[before]
                comparison.suite = compare_suite(
                    runs[now], runs[before], {}, allow=allow, scores=both, tasks=comparison
                )
    flips = [one for _, one in compared]
    browser = Browser(runs, flips, judgements=judgements, max_chars=max_chars, max_samples=max_samples)
    names = list(dict.fromkeys(name for run in runs for name in run.tasks))
    rows = [align(name, runs) for name in names]
    tasks = []
    for number, task in enumerate(rows):
        browser.add(number, task)
        tasks.append(task_of(task))
    index, chunks = browser.finish()
    document = {
        "schema": SCHEMA,
        "evalprep": __version__,
        "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
        "title": title or " and ".join(dict.fromkeys(run.model.rstrip("/").rpartition("/")[2] for run in runs)),
        "runs": [
            {
                "label": label,
                "model": run.model,
                "stamp": run.files.stamp,
                "notes": [*run.notes, *incomplete(run)],
                "facts": facts_of(run),
            }
            for label, run in zip(labels, runs, strict=True)
        ],
        "tasks": tasks,
        "stored": stored_of(runs),
        "scores": suite_of(scores, notes),
        "groups": groups_of(scores),
        "ratings": [one.ratings.to_dict() for one in scores],
        "comparisons": [
            {"now": now, "before": before, **comparison.to_dict()}
            for (now, before), (comparison, _) in zip(pairs, compared, strict=True)
        ],
        "samples": {"rows": browser.total, "shown": len(browser.columns["task"]), "max_chars": max_chars},
    }
    return Report(_with_texts(document), index, chunks, rows, flips, judgements or [{} for _ in runs])
