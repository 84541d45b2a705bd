"""Samples as rows of a table, one per sample with all runs side by side, for spreadsheets and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalprep.report.align import TRUNCATED, UNPARSED, UNSURE, TaskRows
from evalprep.report.document import Report
from evalprep.report.reading import reading_of
from evalprep.results import UNKNOWN
from evalprep.results.reply import text_of

Cell = str | int | float | None
_DIRECTIONS = ("", "gained", "lost")


_OF_REPLY = ("score", "unparsed", "truncated", "answer", "read by", "reason", "parts failed", "output")


def comparison_names(report: Report) -> list[str]:
    """A name for each comparison: the run's label, and what it is held against."""
    labels = [run["label"] for run in report.document["runs"]]
    found = []
    for one in report.document["comparisons"]:
        other = "published verdicts" if one["before"] is None else labels[one["before"]]
        found.append(f"{labels[one['now']]} against {other}" if len(labels) > 1 else f"against {other}")
    return found


def _ratings(report: Report, run: int) -> list[str]:
    """Names of the ratings of a run, over all of its tasks."""
    judged = report.judgements[run].values() if report.judgements else ()
    return sorted({name for task in judged for one in task.values() for name in one["ratings"] or ()})


def _judged_columns(report: Report, run: int) -> list[str]:
    """Columns of what judges said of a run; none without a judge."""
    if not report.judgements or not report.judgements[run]:
        return []
    return [*(f"rating {name}" for name in _ratings(report, run)), "judge", "judge_status", "judge_reply"]


def _judged(report: Report, run: int, task: str, index: int) -> list[Cell]:
    """What judges said of a sample, in the order of `_judged_columns`."""
    if not report.judgements or not report.judgements[run]:
        return []
    one = report.judgements[run].get(task, {}).get(index)
    if one is None:
        return [None] * len(_judged_columns(report, run))
    ratings = one["ratings"] or {}
    return [*(ratings.get(name) for name in _ratings(report, run)), one["judge"], one["status"], one["reply"]]


COMPARED = (
    *("n", "now", "previous", "delta", "low", "high", "gained", "lost", "agreement", "p", "p_holm", "mde"),
    *("verdict", "words"),
)
_HEADS = {"now": "candidate", "previous": "baseline", "delta": "difference", "mde": "detectable"}
COMPARISON_COLUMNS = ("comparison", "kind", "name", *(_HEADS.get(column, column) for column in COMPARED))
#: What a comparison holds, in the order in which it is shown.
CONCLUSIONS = ("tasks", "metrics", "stored", "suite")


def conclusions_of(comparison: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every conclusion of a comparison, those over all tasks last and only where there are several."""
    for part in CONCLUSIONS:
        yield from comparison[part]
    if len(comparison["tasks"]) > 1:
        yield from (comparison[part] for part in ("overall", "pooled") if comparison[part])


def comparison_rows(report: Report) -> Iterator[list[Cell]]:
    """Every conclusion of every comparison, one per row; see `COMPARISON_COLUMNS`."""
    for name, comparison in zip(comparison_names(report), report.document["comparisons"], strict=True):
        for one in conclusions_of(comparison):
            yield [name, one["kind"], one["name"], *(one[column] for column in COMPARED)]


def header(report: Report) -> list[str]:
    """Column names of `sample_rows`."""
    labels = [run["label"] for run in report.document["runs"]]
    several = len(labels) > 1
    names = ["sample_id", "doc_id", "subtask", "target", "published_correct"]
    for label in labels:
        of = f" ({label})" if several else ""
        names += [f"{name}{of}" for name in _OF_REPLY]
        names += [f"{name}{of}" for name in _judged_columns(report, labels.index(label))]
    names += ["published_output"]
    for name in comparison_names(report):
        names += [f"flip {name}", f"cause {name}"]
    return [*names, "prompt"]


def sample_rows(report: Report, task: TaskRows) -> Iterator[list[Cell]]:
    """The rows of one task, every sample of it, texts in full."""
    streams = [None if replies is None else replies.read() for replies in task.replies]
    for at, sample_id in enumerate(task.ids):
        found = [None if stream is None else next(stream) for stream in streams]
        first, _ = next(one for one in found if one is not None)
        subtask = first.doc.get("subtask_name")
        base = next(one for one in task.replies if one is not None and one.rows[at] != UNKNOWN)
        previous = int(base.table.previous[base.rows[at]])
        row: list[Cell] = [sample_id, first.doc_id, None if subtask is None else str(subtask), first.target]
        row.append(None if previous < 0 else previous)
        for run, (replies, one) in enumerate(zip(task.replies, found, strict=True)):
            if replies is None or one is None:
                row += [None] * (len(_OF_REPLY) + len(_judged_columns(report, run)))
                continue
            flags = replies.flags[at]
            unparsed = int(bool(flags & UNPARSED)) if replies.unparsed is not None else None
            row += [replies.score(at), unparsed, None if flags & UNSURE else int(bool(flags & TRUNCATED))]
            read = reading_of(one[0])
            row += [read.answer, read.method or None, read.why or None, ", ".join(read.failed) or None]
            row += [text_of(one[0]), *_judged(report, run, task.name, one[0].doc_id)]
        row.append(first.previous_output)
        for flips in report.flips:
            direction, cause = flips.of(task.name, sample_id)
            row += [_DIRECTIONS[direction] or None, flips.causes[cause] or None]
        row.append(first.prompt)
        yield row
