"""The report's tables for CSV and spreadsheet.

They hold scores, conclusions, ratings of judges and facts of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from evalprep.compare import NOT_ENOUGH
from evalprep.report.content import (
    ComparisonPart,
    ConclusionPart,
    Document,
    LoggedMetric,
    ScoreBesidePublished,
    TaskRunPart,
)
from evalprep.results import is_of_draws, rows_missing
from evalprep.score import IN_RESULTS_FILE, WITHOUT_SAMPLES
from evalprep.tables import Column, Entry, Table

Part = TypeVar("Part")

_SCORE_COLUMNS = (
    *("run", "kind", "name", "part", "metric", "n", "value", "low", "high", "stderr"),
    *("published", "reason"),
)
#: Keys of a conclusion in the document, and their headings where these differ.
_COMPARED = (
    *("n", "now", "previous", "delta", "low", "high", "gained", "lost", "agreement", "p", "p_holm"),
    *("mde", "verdict", "words"),
)
_ROWS_OF_PAIRS = ("n", "gained", "lost")  # which stored scores do not show
_HEADINGS = {"now": "candidate", "previous": "baseline", "delta": "difference", "mde": "detectable"}
_COMPARISON_COLUMNS = (
    *("comparison", "kind", "name"),
    *(_HEADINGS.get(key, key) for key in _COMPARED),
)
_RATING_COLUMNS = (
    *("run", "task", "rating", "judge", "asked", "rated", "mean", "low", "high", "distribution"),
    *("rated by both", "equal", "alpha", "samples that differ"),
)
_DISAGREEMENT_COLUMNS = ("run", "task", "rating", "sample_id", "spread", "votes")
_PREFERENCE_COLUMNS = (
    *("run", "against", "task", "rubric", "judge", "pairs", "won", "tied", "lost", "share"),
    *("low", "high", "follow the place", "verdicts for the first place"),
    "verdicts for the longer reply",
)


def data_table(title: str, names: Sequence[str], rows: Iterable[Sequence[Entry]]) -> Table:
    """Returns a table of raw values."""
    return Table(title, [Column(name) for name in names], rows)


def of_runs(document: Document, runs: Sequence[Part | None]) -> Iterator[tuple[str, Part]]:
    """Yields the label of each run with what belongs to it, without the runs that lack it."""
    for run, part in zip(document["runs"], runs, strict=False):
        if part is not None:
            yield run["label"], part


# --- scores


def score_table(document: Document) -> Table:
    """Every score, one per row: tasks with their subtasks, stored scores, suite scores."""
    rows = [*_task_rows(document), *_stored_rows(document), *_suite_rows(document)]
    return data_table("Scores", _SCORE_COLUMNS, rows)


def _task_rows(document: Document) -> Iterator[list[Entry]]:
    for task in document["tasks"]:
        for label, run in of_runs(document, task["runs"]):
            metric = f"{run['metric']},{run['filter']}"
            whole: ScoreBesidePublished = {**run["score"], "published": run["published"]}
            numbers = [*_estimate(whole), "; ".join(_remarks(run)) or None]
            yield [label, "task", task["name"], "", metric, *numbers]
            if run["stated"] is not None and run["stated"]["value"] != run["score"]["value"]:
                yield [label, "stored", task["name"], "", metric, *_stated(run["stated"])]
            for subtask in run["subtasks"]:
                name = subtask["name"]
                numbers = [*_estimate(subtask), run["part"] or None]
                yield [label, "subtask", task["name"], name, metric, *numbers]
            yield from _draws_rows(label, task["name"], run)


def _remarks(run: TaskRunPart) -> Iterator[str]:
    """Yields what there is to know of the rows of a task's value."""
    if run["part"]:
        yield run["part"]
    if run["expected"] is not None and run["rows"] < run["expected"]:
        yield rows_missing(run["expected"] - run["rows"], run["expected"])
    yield from run["notes"]


def _stated(stated: Mapping[str, Any]) -> list[Entry]:
    """The value of a results file beside that of the rows, with its own number of rows."""
    numbers = [stated["n"], stated["value"], None, None, stated["stderr"], None]
    return [*numbers, f"{IN_RESULTS_FILE}; {stated['sentence']}"]


def _draws_rows(label: str, task: str, run: TaskRunPart) -> Iterator[list[Entry]]:
    """Yields what several replies to each prompt give together.

    Pass@k, maj@k, mean and variance.
    """
    for entry in draws_of(run):
        low, high = entry["interval"] or (None, None)
        numbers = [entry["n"], entry["value"], low, high, entry["stderr"], None, None]
        metric = f"{entry['metric']},{entry['filter']}"
        yield [label, "several replies", task, "", metric, *numbers]


def draws_of(run: TaskRunPart) -> list[LoggedMetric]:
    """The metrics of a task that several replies to each prompt give together."""
    return [entry for entry in run["metrics"] if is_of_draws(entry["metric"])]


def _estimate(score: ScoreBesidePublished) -> list[Entry]:
    """Rows, value, interval, standard error and published value."""
    published = score["published"]
    numbers = [score[key] for key in ("n", "value", "low", "high", "stderr")]
    return [*numbers, published["value"] if published else None]


def _stored_rows(document: Document) -> Iterator[list[Entry]]:
    for score in document["stored"]:
        metric = f"{score['metric']},{score['filter']}"
        for label, run in of_runs(document, score["runs"]):
            numbers = [run["n"], run["value"], None, None, run["stderr"], None]
            remark = "; ".join(filter(None, (run["part"], WITHOUT_SAMPLES)))
            yield [label, "stored", score["task"], "", metric, *numbers, remark]


def _suite_rows(document: Document) -> Iterator[list[Entry]]:
    for score in document["scores"]:
        published = score["published"][0]["value"] if score["published"] else None
        for label, run in of_runs(document, score["runs"]):
            low, high = run.get("interval") or (None, None)
            numbers = [run.get("n"), run["agg_value"], low, high, run.get("stderr"), published]
            remark = run.get("reason") or run["few_read"] or "; ".join(run["notes"])
            yield [label, "suite score", score["name"], "", "", *numbers, remark or None]


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
    """Every conclusion of every comparison, one per row."""
    rows = []
    names = comparison_names(document)
    for name, comparison in zip(names, document["comparisons"], strict=True):
        for conclusion in conclusions_of(comparison):
            kind, quantity = conclusion["kind"], conclusion["name"]
            rows.append([name, kind, quantity, *_compared_values(conclusion)])
    rows += _missing_rows(document)
    return data_table("Comparisons", _COMPARISON_COLUMNS, rows)


def _compared_values(conclusion: ConclusionPart) -> list[Entry]:
    values: Mapping[str, Any] = conclusion
    unknown = _ROWS_OF_PAIRS if conclusion["made_of"] == "stored" else ()
    return [None if key in unknown else values[key] for key in _COMPARED]


def _missing_rows(document: Document) -> Iterator[list[Entry]]:
    """A row for each task and metric that one side of a comparison lacks."""
    names = comparison_names(document)
    empty = [None] * (len(_COMPARED) - 2)
    for name, comparison in zip(names, document["comparisons"], strict=True):
        sides = (
            ("candidate", comparison["missing_tasks"], comparison["missing_metrics"]),
            ("baseline", comparison["extra_tasks"], comparison["extra_metrics"]),
        )
        for side, tasks, metrics in sides:
            for sentence in [*(f"the {side} has no {task}" for task in tasks), *metrics]:
                yield [name, "missing", sentence.partition(" no ")[2], *empty, NOT_ENOUGH, sentence]


# --- judges


def rating_tables(document: Document) -> list[Table]:
    """Returns the tables about judges that have rows; disagreements stand first."""
    tables = (
        data_table("Disagreements", _DISAGREEMENT_COLUMNS, list(_disagreement_rows(document))),
        data_table("Ratings", _RATING_COLUMNS, list(_rating_rows(document))),
        data_table("Preferences", _PREFERENCE_COLUMNS, list(_preference_rows(document))),
    )
    return [table for table in tables if table.rows]


def _rating_rows(document: Document) -> Iterator[list[Entry]]:
    """Every judge's ratings in sum, one value of one judge per row."""
    for label, ratings in of_runs(document, document["ratings"]):
        for value in ratings["values"]:
            for rater in value["raters"]:
                counts = rater["distribution"].items()
                yield [
                    *(label, value["task"], f"{value['rubric']}.{value['name']}"),
                    *(rater["judge"], value["asked"]),
                    *(rater[key] for key in ("n", "mean", "low", "high")),
                    ", ".join(f"{rating}: {count}" for rating, count in counts),
                    *(rater[key] for key in ("both", "equal", "alpha")),
                    value["differing"],
                ]


def _disagreement_rows(document: Document) -> Iterator[list[Entry]]:
    """Samples whose raters or votes differ, the furthest apart first.

    Pairs whose verdict followed the place of the replies are listed, too.
    """
    for label, ratings in of_runs(document, document["ratings"]):
        for value in ratings["values"]:
            name = f"{value['rubric']}.{value['name']}"
            for sample in value["apart"]:
                votes = "; ".join(map(_votes, *zip(*sample["votes"].items(), strict=True)))
                yield [label, value["task"], name, sample["sample_id"], sample["spread"], votes]
        for pair in ratings["preferences"]:
            name = f"{pair['rubric']} against {pair['other']}"
            votes = f"{pair['judge']}: the reply in one place, in both orders"
            for sample_id in pair["apart"]:
                yield [label, pair["task"], name, sample_id, 1.0, votes]


def _votes(judge: str, votes: Iterable[float]) -> str:
    return f"{judge}: {', '.join(f'{vote:g}' for vote in votes)}"


def _preference_rows(document: Document) -> Iterator[list[Entry]]:
    """Every comparison of two runs by a judge."""
    for label, ratings in of_runs(document, document["ratings"]):
        for pair in ratings["preferences"]:
            outcome = pair["found"]
            rate = outcome["win_rate"]
            yield [
                *(label, pair["other"], pair["task"], pair["rubric"], pair["judge"]),
                *(outcome[key] for key in ("n", "wins", "ties", "losses")),
                *(rate["value"], rate["low"], rate["high"]),
                outcome["flips"]["count"],
                *(outcome[key]["value"] for key in ("first_place", "longer")),
            ]


# --- runs


def fact_table(document: Document) -> Table:
    """Every fact of every run, one per row."""
    rows = []
    for run in document["runs"]:
        label, facts = run["label"], run["facts"]
        rows += [[label, fact["group"], fact["name"], fact["value"]] for fact in facts]
    return data_table("Runs", ("run", "group", "fact", "value"), rows)
