"""CSV: the scores, and every sample with its texts."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evalprep.compare.flips import harmless
from evalprep.report.document import Report
from evalprep.report.rows import COMPARISON_COLUMNS, Cell, comparison_rows, header, rating_tables, sample_rows
from evalprep.score.unsampled import WITHOUT_SAMPLES


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([harmless(name) for name in names])
        writer.writerows([harmless(cell) for cell in row] for row in rows)


SCORE_COLUMNS = ("run", "kind", "name", "part", "metric", "n", "value", "low", "high", "stderr", "published", "reason")


def score_rows(document: dict[str, Any]) -> Iterator[list[Cell]]:
    """Every score of a document, one per row: tasks, their subtasks, suite scores."""
    labels = [run["label"] for run in document["runs"]]
    for task in document["tasks"]:
        for label, run in zip(labels, task["runs"], strict=True):
            if run is None:
                continue
            metric = f"{run['metric']},{run['filter']}"
            parts = [("task", "", run["score"], run["published"])]
            parts += [("subtask", one["name"], one, one["published"]) for one in run["subtasks"]]
            for kind, part, score, published in parts:
                numbers = [score[name] for name in ("n", "value", "low", "high", "stderr")]
                yield [
                    label,
                    kind,
                    task["name"],
                    part,
                    metric,
                    *numbers,
                    published["value"] if published else None,
                    None,
                ]
    for one in document["stored"]:
        for label, run in zip(labels, one["runs"], strict=True):
            if run is not None:
                metric, numbers = (
                    f"{one['metric']},{one['filter']}",
                    [run["n"], run["value"], None, None, run["stderr"]],
                )
                yield [label, "stored", one["task"], "", metric, *numbers, None, WITHOUT_SAMPLES]
    for score in document["scores"]:
        published = score["published"][0]["value"] if score["published"] else None
        for label, run in zip(labels, score["runs"], strict=True):
            if run is not None:
                low, high = run.get("interval") or (None, None)
                numbers = [run.get("n"), run["agg_value"], low, high, run.get("stderr")]
                reason = run.get("reason") or run["few_read"] or None
                yield [label, "suite score", score["name"], "", "", *numbers, published, reason]


def write_csv(report: Report, folder: Path) -> list[Path]:
    """Write `scores.csv`, `samples.csv`, and `comparisons.csv` and tables of ratings where there are any.

    Returns:
        Their paths.
    """
    scores, compared, samples = (folder / f"{name}.csv" for name in ("scores", "comparisons", "samples"))
    _write(scores, SCORE_COLUMNS, score_rows(report.document))
    rows = ([task.name, *row] for task in report.rows for row in sample_rows(report, task))
    if report.rows:  # scores without samples have none
        _write(samples, ["task", *header(report)], rows)
    judged = []
    for title, columns, found in rating_tables(report.document):
        judged.append(folder / f"{title.lower()}.csv")
        _write(judged[-1], columns, found)
    last = [samples] if report.rows else []
    if not report.document["comparisons"]:
        return [scores, *judged, *last]
    _write(compared, COMPARISON_COLUMNS, comparison_rows(report))
    return [scores, compared, *judged, *last]
