"""The report's tables for CSV and spreadsheet.

They hold scores, conclusions, ratings of judges and facts of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from evalprep.compare import NOT_ENOUGH
from evalprep.report.conclusions import CONCLUSION_VALUES
from evalprep.report.content import (
    ComparisonPart,
    ConclusionPart,
    Document,
    LoggedMetric,
    RatingPart,
    Share,
    TaskRunPart,
)
from evalprep.results import is_of_draws, rows_missing
from evalprep.score import IN_RESULTS_FILE, WITHOUT_SAMPLES
from evalprep.tables import Column, Entry, Table, table_of

Part = TypeVar("Part")


class ScoreLine(NamedTuple):
    """A row of the table of scores."""

    run: str
    kind: str
    name: str
    part: str = ""
    metric: str = ""
    n: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    published: float | None = None
    reason: str | None = None


def of_runs(document: Document, runs: Sequence[Part | None]) -> Iterator[tuple[str, Part]]:
    """Yields the label of each run with what belongs to it, without the runs that lack it."""
    for run, part in zip(document["runs"], runs, strict=False):
        if part is not None:
            yield run["label"], part


# --- scores


def score_table(document: Document) -> Table:
    """Every score, one per row: tasks with their subtasks, stored scores, suite scores."""
    rows = [*_task_lines(document), *_stored_lines(document), *_suite_lines(document)]
    return Table("Scores", [Column(name) for name in ScoreLine._fields], rows)


def _task_lines(document: Document) -> Iterator[ScoreLine]:
    for task in document["tasks"]:
        for label, run in of_runs(document, task["runs"]):
            line = partial(
                ScoreLine, label, name=task["name"], metric=f"{run['metric']},{run['filter']}"
            )
            yield line(
                kind="task",
                **run["score"],
                published=_value_of(run["published"]),
                reason="; ".join(_remarks(run)) or None,
            )
            stated = run["stated"]
            if stated is not None and stated["value"] != run["score"]["value"]:
                numbers = {key: stated[key] for key in ("n", "value", "stderr")}
                yield line(
                    kind="stored", **numbers, reason=f"{IN_RESULTS_FILE}; {stated['sentence']}"
                )
            for subtask in run["subtasks"]:
                numbers = {key: subtask[key] for key in ("n", "value", "low", "high", "stderr")}
                yield line(
                    kind="subtask",
                    part=subtask["name"],
                    **numbers,
                    published=_value_of(subtask["published"]),
                    reason=run["part"] or None,
                )
            for entry in draws_of(run):
                low, high = entry["interval"] or (None, None)
                yield line(
                    kind="several replies",
                    metric=f"{entry['metric']},{entry['filter']}",
                    n=entry["n"],
                    value=entry["value"],
                    low=low,
                    high=high,
                    stderr=entry["stderr"],
                )


def _value_of(published: Share | None) -> float | None:
    return None if published is None else published["value"]


def _remarks(run: TaskRunPart) -> Iterator[str]:
    """Yields what there is to know of the rows of a task's value."""
    if run["part"]:
        yield run["part"]
    if run["expected"] is not None and run["rows"] < run["expected"]:
        yield rows_missing(run["expected"] - run["rows"], run["expected"])
    yield from run["notes"]


def draws_of(run: TaskRunPart) -> list[LoggedMetric]:
    """The metrics of a task that several replies to each prompt give together."""
    return [entry for entry in run["metrics"] if is_of_draws(entry["metric"])]


def _stored_lines(document: Document) -> Iterator[ScoreLine]:
    for score in document["stored"]:
        for label, run in of_runs(document, score["runs"]):
            yield ScoreLine(
                label,
                "stored",
                score["task"],
                metric=f"{score['metric']},{score['filter']}",
                n=run["n"],
                value=run["value"],
                stderr=run["stderr"],
                reason="; ".join(filter(None, (run["part"], WITHOUT_SAMPLES))),
            )


def _suite_lines(document: Document) -> Iterator[ScoreLine]:
    for score in document["scores"]:
        published = score["published"][0]["value"] if score["published"] else None
        for label, run in of_runs(document, score["runs"]):
            low, high = run.get("interval") or (None, None)
            remark = run.get("reason") or run["few_read"] or "; ".join(run["notes"])
            yield ScoreLine(
                label,
                "suite score",
                score["name"],
                n=run.get("n"),
                value=run["agg_value"],
                low=low,
                high=high,
                stderr=run.get("stderr"),
                published=published,
                reason=remark or None,
            )


# --- comparisons


def comparison_names(document: Document) -> list[str]:
    """Returns a name for each comparison: the run's label, and what it is compared with."""
    labels = [run["label"] for run in document["runs"]]
    names = []
    for comparison in document["comparisons"]:
        baseline = comparison["before"]
        other = "published verdicts" if baseline is None else labels[baseline]
        candidate = f"{labels[comparison['now']]} " if len(labels) > 1 else ""
        names.append(f"{candidate}against {other}")
    return names


def conclusions_of(comparison: ComparisonPart) -> Iterator[ConclusionPart]:
    """Yields every conclusion of a comparison; those over all tasks where there are several."""
    yield from comparison["tasks"]
    yield from comparison["metrics"]
    yield from comparison["further"]
    yield from comparison["stored"]
    yield from comparison["suite"]
    if len(comparison["tasks"]) > 1:
        yield from filter(None, (comparison["overall"], comparison["pooled"]))


def comparison_table(document: Document) -> Table:
    """Every conclusion of every comparison, one per row, then what one side lacks."""
    items: list[Mapping[str, Any]] = []
    lacking: list[Mapping[str, Any]] = []
    names = comparison_names(document)
    for name, comparison in zip(names, document["comparisons"], strict=True):
        items += [{**item, "comparison": name} for item in conclusions_of(comparison)]
        lacking += [{**item, "comparison": name} for item in _lacking(comparison)]
    columns = [Column("comparison", cell=itemgetter("comparison")), *CONCLUSION_VALUES]
    return table_of("Comparisons", columns, [*items, *lacking])


def _lacking(comparison: ComparisonPart) -> Iterator[Mapping[str, Any]]:
    """Each task and metric that one side of a comparison lacks."""
    sides = (
        ("candidate", comparison["missing_tasks"], comparison["missing_metrics"]),
        ("baseline", comparison["extra_tasks"], comparison["extra_metrics"]),
    )
    for side, tasks, metrics in sides:
        for sentence in [*(f"the {side} has no {task}" for task in tasks), *metrics]:
            name = sentence.partition(" no ")[2]
            yield {"kind": "missing", "name": name, "verdict": NOT_ENOUGH, "words": sentence}


# --- judges


_RATING_COLUMNS = (
    Column("run", cell=itemgetter("run")),
    Column("task", cell=itemgetter("task")),
    Column("rating", cell=itemgetter("rating")),
    Column("judge", cell=itemgetter("judge")),
    Column("asked", cell=itemgetter("asked")),
    Column("rated", cell=itemgetter("n")),
    Column("mean", cell=itemgetter("mean")),
    Column("low", cell=itemgetter("low")),
    Column("high", cell=itemgetter("high")),
    Column("distribution", cell=lambda item: _counts(item["distribution"])),
    Column("rated by both", cell=itemgetter("both")),
    Column("equal", cell=itemgetter("equal")),
    Column("alpha", cell=itemgetter("alpha")),
    Column("samples that differ", cell=itemgetter("differing")),
)
_PREFERENCE_COLUMNS = (
    Column("run", cell=itemgetter("run")),
    Column("against", cell=itemgetter("other")),
    Column("task", cell=itemgetter("task")),
    Column("rubric", cell=itemgetter("rubric")),
    Column("judge", cell=itemgetter("judge")),
    Column("pairs", cell=itemgetter("n")),
    Column("won", cell=itemgetter("wins")),
    Column("tied", cell=itemgetter("ties")),
    Column("lost", cell=itemgetter("losses")),
    Column("share", cell=lambda item: item["win_rate"]["value"]),
    Column("low", cell=lambda item: item["win_rate"]["low"]),
    Column("high", cell=lambda item: item["win_rate"]["high"]),
    Column("follow the place", cell=lambda item: item["flips"]["count"]),
    Column("verdicts for the first place", cell=lambda item: item["first_place"]["value"]),
    Column("verdicts for the longer reply", cell=lambda item: item["longer"]["value"]),
)
_DISAGREEMENT_COLUMNS = ("run", "task", "rating", "sample_id", "spread", "votes")


def _counts(distribution: Mapping[str, int]) -> str:
    return ", ".join(f"{rating}: {count}" for rating, count in distribution.items())


def rating_tables(document: Document) -> list[Table]:
    """Returns the tables about judges that have rows; disagreements stand first."""
    ratings: list[Mapping[str, Any]] = []
    preferences: list[Mapping[str, Any]] = []
    for label, parts in of_runs(document, document["ratings"]):
        for value in parts["values"]:
            own = {**value, "run": label, "rating": _name_of(value)}
            ratings += [{**own, **rater} for rater in value["raters"]]
        preferences += [{**pair, **pair["found"], "run": label} for pair in parts["preferences"]]
    columns = [Column(name) for name in _DISAGREEMENT_COLUMNS]
    tables = (
        Table("Disagreements", columns, list(_disagreement_rows(document))),
        table_of("Ratings", _RATING_COLUMNS, ratings),
        table_of("Preferences", _PREFERENCE_COLUMNS, preferences),
    )
    return [table for table in tables if table.rows]


def _name_of(rating: RatingPart) -> str:
    return f"{rating['rubric']}.{rating['name']}"


def _disagreement_rows(document: Document) -> Iterator[list[Entry]]:
    """Samples whose raters or votes differ, the furthest apart first.

    Pairs whose verdict followed the place of the replies are listed, too.
    """
    for label, ratings in of_runs(document, document["ratings"]):
        for value in ratings["values"]:
            for sample in value["apart"]:
                votes = "; ".join(map(_votes, *zip(*sample["votes"].items(), strict=True)))
                known = (sample["sample_id"], sample["spread"], votes)
                yield [label, value["task"], _name_of(value), *known]
        for pair in ratings["preferences"]:
            name = f"{pair['rubric']} against {pair['other']}"
            votes = f"{pair['judge']}: the reply in one place, in both orders"
            for sample_id in pair["apart"]:
                yield [label, pair["task"], name, sample_id, 1.0, votes]


def _votes(judge: str, votes: Iterable[float]) -> str:
    return f"{judge}: {', '.join(f'{vote:g}' for vote in votes)}"


# --- runs


def fact_table(document: Document) -> Table:
    """Every fact of every run, one per row."""
    rows: list[list[Entry]] = []
    for run in document["runs"]:
        rows += [
            [run["label"], fact["group"], fact["name"], fact["value"]] for fact in run["facts"]
        ]
    return Table("Runs", [Column(name) for name in ("run", "group", "fact", "value")], rows)
