"""The report's tables for CSV and spreadsheet.

They hold scores, conclusions, ratings of judges and facts of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from evalprep.compare import CONCLUSION_VALUES, NOT_ENOUGH, Comparison, Conclusion, Difference
from evalprep.readers import is_of_draws
from evalprep.report.content import (
    Document,
    LoggedMetric,
    RatingPart,
    Share,
    SuitePart,
    TaskRunPart,
)
from evalprep.report.document import Report
from evalprep.score import IN_RESULTS_FILE, QUANTITY_VALUES, WITHOUT_SAMPLES, Quantity
from evalprep.tables import Cell, Column, Entry, Row, Table, table_of

Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class ScoreRow(Quantity):
    """A row of the table of scores.

    Attributes:
        run: Label of the run.
        row: What it is a row of: `task`, `subtask`, `metric`, `several replies`, `stored`, `group`
            or `suite score`.
        part: The subtask; empty for all rows.
        published: The published value beside it.
    """

    run: str
    row: str
    part: str = ""
    published: float | None = None


def of_runs(document: Document, runs: Sequence[Part | None]) -> Iterator[tuple[str, Part]]:
    """Yields the label of each run with what belongs to it, without the runs that lack it."""
    for run, part in zip(document["runs"], runs, strict=False):
        if part is not None:
            yield run["label"], part


# --- scores


_SCORE_COLUMNS = (
    Column("run", cell=attrgetter("run")),
    Column("kind", cell=attrgetter("row")),
    Column(
        "name", cell=lambda row: row.owner.rpartition("/")[2] if row.kind == "suite" else row.owner
    ),
    Column("part", cell=attrgetter("part")),
    Column("metric", cell=attrgetter("key")),
    *QUANTITY_VALUES,
    Column("published", cell=attrgetter("published")),
)


def score_table(report: Report) -> Table:
    """Every score, one per row: of tasks with their subtasks, of groups, of packs."""
    document = report.document
    rows: list[ScoreRow] = []
    for place, items in enumerate(report.quantities):
        label = document["runs"][place]["label"]
        tasks = {task["name"]: task["runs"][place] for task in document["tasks"]}
        scores = {f"{score['pack']}/{score['name']}": score for score in document["scores"]}
        for item in items:
            task = tasks.get(item.owner)
            if item.kind == "suite":
                rows.append(_suite_row(label, item, scores[item.owner], place))
            elif item.beside:
                rows.append(_row(label, item, "stored", notes=[IN_RESULTS_FILE, *item.notes]))
            elif item.kind == "group":
                rows.append(_row(label, item, "group" if item.source == "rows" else "stored"))
            elif task is None:
                rows.append(_row(label, item, "stored", notes=[*item.notes, WITHOUT_SAMPLES]))
            else:
                rows += _task_rows(label, item, task)
    # The runs of one number stand together.
    place_of = {key: place for place, key in enumerate(dict.fromkeys(map(_number_of, rows)))}
    return table_of(
        "Scores", _SCORE_COLUMNS, sorted(rows, key=lambda row: place_of[_number_of(row)])
    )


def _number_of(row: ScoreRow) -> tuple[str, str]:
    return row.id, row.part


def _row(label: str, item: Quantity, row: str, **more: Any) -> ScoreRow:
    return ScoreRow(**{**vars(item), **more}, run=label, row=row)


def _suite_row(label: str, item: Quantity, score: SuitePart, place: int) -> ScoreRow:
    published = score["published"][0]["value"] if score["published"] else None
    run = score["runs"][place]
    doubts = [run["few_read"]] if run and run["few_read"] else []
    return _row(label, item, "suite score", notes=[*doubts, *item.notes], published=published)


def _task_rows(label: str, item: Quantity, task: TaskRunPart) -> Iterator[ScoreRow]:
    """The row of a metric of a task with samples; behind the primary one those of its subtasks."""
    if not item.primary:
        yield _row(label, item, "several replies" if is_of_draws(item.metric) else "metric")
        return
    yield _row(label, item, "task", published=_value_of(task["published"]))
    for subtask in task["subtasks"]:
        low, high = subtask["low"], subtask["high"]
        yield _row(
            label,
            item,
            "subtask",
            part=subtask["name"],
            value=subtask["value"],
            stderr=subtask["stderr"],
            interval=None if low is None or high is None else (low, high),
            n=subtask["n"],
            expected=None,
            notes=[task["part"]] if task["part"] else [],
            published=_value_of(subtask["published"]),
        )


def _value_of(published: Share | None) -> float | None:
    return None if published is None else published["value"]


def draws_of(run: TaskRunPart) -> list[LoggedMetric]:
    """The metrics of a task that several replies to each prompt give together."""
    return [entry for entry in run["metrics"] if is_of_draws(entry["metric"])]


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


def conclusions_of(comparison: Comparison) -> list[Conclusion]:
    """Returns every conclusion of a comparison; those over all tasks where there are several."""
    over_tasks = comparison.together if len(comparison.tasks) > 1 else []
    return [*comparison.of_tasks, *comparison.suite, *over_tasks]


def comparison_table(report: Report) -> Table:
    """Every conclusion of every comparison, one per row, then what one side lacks."""
    rows: list[Row] = []
    lacking: list[Row] = []
    names = comparison_names(report.document)
    for name, comparison in zip(names, report.comparisons, strict=True):
        rows += _rows_of(name, conclusions_of(comparison))
        lacking += _rows_of(name, _lacking(comparison))
    return Table("Comparisons", [Column("comparison"), *CONCLUSION_VALUES], [*rows, *lacking])


def _rows_of(name: str, conclusions: Sequence[Conclusion]) -> list[Row]:
    """The rows of some conclusions, the name of their comparison first."""
    table = table_of("", CONCLUSION_VALUES, conclusions)
    return [Row((Cell(name), *row.cells)) for row in table.lines()]


def _lacking(comparison: Comparison) -> list[Conclusion]:
    """Each task and metric that one side of a comparison lacks, as a conclusion without numbers."""
    sides = (
        ("candidate", comparison.missing_tasks, comparison.missing_metrics),
        ("baseline", comparison.extra_tasks, comparison.extra_metrics),
    )
    nothing = Difference(made_of="stored")  # no row of it was compared
    lacking = []
    for side, tasks, metrics in sides:
        for words in [*(f"the {side} has no {task}" for task in tasks), *metrics]:
            name = words.partition(" no ")[2]
            lacking.append(Conclusion(name, "missing", nothing, verdict=NOT_ENOUGH, words=words))
    return lacking


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
    Column(
        "distribution",
        cell=lambda item: ", ".join(f"{name}: {n}" for name, n in item["distribution"].items()),
    ),
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
                of_judges = []
                for judge, numbers in sample["votes"].items():
                    listed = ", ".join(f"{vote:g}" for vote in numbers)
                    of_judges.append(f"{judge}: {listed}")
                known = (sample["sample_id"], sample["spread"], "; ".join(of_judges))
                yield [label, value["task"], _name_of(value), *known]
        for pair in ratings["preferences"]:
            name = f"{pair['rubric']} against {pair['other']}"
            votes = f"{pair['judge']}: the reply in one place, in both orders"
            for sample_id in pair["apart"]:
                yield [label, pair["task"], name, sample_id, 1.0, votes]


# --- runs


def fact_table(document: Document) -> Table:
    """Every fact of every run, one per row."""
    rows: list[list[Entry]] = []
    for run in document["runs"]:
        rows += [
            [run["label"], fact["group"], fact["name"], fact["value"]] for fact in run["facts"]
        ]
    return Table("Runs", [Column(name) for name in ("run", "group", "fact", "value")], rows)
