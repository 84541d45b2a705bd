"""Samples as rows of a table, one per sample with all runs side by side, for spreadsheets and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


RATING_COLUMNS = (
    *("run", "task", "rating", "judge", "asked", "rated", "mean", "low", "high", "distribution"),
    *("rated by both", "equal", "alpha", "samples that differ"),
)


def rating_rows(document: dict[str, Any]) -> Iterator[list[Cell]]:
    """Every judge's ratings in sum, one value of one judge per row."""
    for run, ratings in zip(document["runs"], document["ratings"], strict=False):
        for one in ratings["values"]:
            for rater in one["raters"]:
                spread = ", ".join(f"{rating}: {count}" for rating, count in rater["distribution"].items())
                numbers = [rater[name] for name in ("n", "mean", "low", "high")]
                beside = [rater[name] for name in ("both", "equal", "alpha")]
                name = f"{one['rubric']}.{one['name']}"
                apart = one["differing"]
                yield [run["label"], one["task"], name, rater["judge"], one["asked"], *numbers, spread, *beside, apart]


APART_COLUMNS = ("run", "task", "rating", "sample_id", "spread", "votes")


def apart_rows(document: dict[str, Any]) -> Iterator[list[Cell]]:
    """Samples whose raters or votes differ, the furthest apart first; and pairs whose verdict followed the place."""
    for run, ratings in zip(document["runs"], document["ratings"], strict=False):
        for one in ratings["values"]:
            for sample in one["apart"]:
                said = "; ".join(
                    f"{judge}: {', '.join(f'{vote:g}' for vote in votes)}" for judge, votes in sample["votes"].items()
                )
                name = f"{one['rubric']}.{one['name']}"
                yield [run["label"], one["task"], name, sample["sample_id"], sample["spread"], said]
        for pair in ratings["preferences"]:
            for name in pair["apart"]:
                said = f"{pair['judge']}: the reply in one place, in both orders"
                yield [run["label"], pair["task"], f"{pair['rubric']} against {pair['other']}", name, 1.0, said]


PREFERENCE_COLUMNS = (
    *("run", "against", "task", "rubric", "judge", "pairs", "won", "tied", "lost", "share", "low", "high"),
    *("follow the place", "verdicts for the first place", "verdicts for the longer reply"),
)


def preference_rows(document: dict[str, Any]) -> Iterator[list[Cell]]:
    """Every comparison of two runs by a judge."""
    for run, ratings in zip(document["runs"], document["ratings"], strict=False):
        for one in ratings["preferences"]:
            found, rate = one["found"], one["found"]["win_rate"]
            yield [
                run["label"], one["other"], one["task"], one["rubric"], one["judge"], found["n"], found["wins"],
                found["ties"], found["losses"], rate["value"], rate["low"], rate["high"], found["flips"]["count"],
                found["first_place"]["value"], found["longer"]["value"],
            ]  # fmt: skip


def rating_tables(document: dict[str, Any]) -> Iterator[tuple[str, Sequence[str], list[list[Cell]]]]:
    """Title, columns and rows of each table about judges that has any; disagreements stand first."""
    tables = (
        ("Disagreements", APART_COLUMNS, apart_rows),
        ("Ratings", RATING_COLUMNS, rating_rows),
        ("Preferences", PREFERENCE_COLUMNS, preference_rows),
    )
    for title, columns, rows_of in tables:
        if rows := list(rows_of(document)):
            yield title, columns, rows


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
