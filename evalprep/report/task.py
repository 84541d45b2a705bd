"""One task of the report.

Score with interval, published verdicts, subtasks, extraction and length of its replies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evalprep.report.align import EMPTY, OTHER_PROMPT, UNSURE, Replies, TaskRows
from evalprep.report.content import (
    DamagedLine,
    FilterPart,
    Lengths,
    LoggedMetric,
    OpinionPart,
    Share,
    Subtask,
    TaskPart,
    TaskRunPart,
)
from evalprep.report.text import plain
from evalprep.results import TaskRun, knows_parsing
from evalprep.samples import SHARE, UNKNOWN, Table
from evalprep.score import (
    Numbers,
    Quantity,
    TaskScore,
    collect,
    micro,
    notes_on_value,
    quantities_of_task,
    unit_of,
)

_BINS = 24  # of the histogram of reply lengths
_NAMED_LINES = 20  # damaged lines that are named
_NAMED_SAMPLES = 20  # samples that are named where scorers disagree
Mask = NDArray[np.bool_]


def _published(table: Table, mask: Mask | None = None) -> Share | None:
    flags = table.previous if mask is None else table.previous[mask]
    known = flags[flags >= 0]
    return {"n": int(known.size), "value": float(np.mean(known))} if known.size else None


def _unparsed(table: Table, mask: Mask | None = None) -> int | None:
    """Replies from which nothing could be read; None where the task does not tell."""
    flags = table.unparsed if mask is None else table.unparsed[mask]
    return int((flags == 1).sum()) if knows_parsing(table) else None


def _subtasks(task: TaskRun, table: Table) -> list[Subtask]:
    """The mean of each subtask with its interval, by name."""
    entries: list[Subtask] = []
    scored = collect({task.name: task}, {})
    for code, name in enumerate(table.subtasks):
        mask = table.subtask == code
        numbers = micro(scored.of_group(code)).numbers()
        entry: Subtask = {
            "name": name,
            **cast(Numbers, plain(numbers)),
            "published": _published(table, mask),
            "unparsed": _unparsed(table, mask),
            "rows": int(mask.sum()),
        }
        entries.append(entry)
    return sorted(entries, key=lambda entry: entry["name"])


def _filters(replies: Replies, metric: str) -> list[FilterPart]:
    """Returns how each filter did on the same replies, the primary one first."""
    entries: list[FilterPart] = []
    primary = replies.table.filter
    for name in sorted(replies.table.filters, key=lambda filter_name: filter_name != primary):
        table = replies.table if name == primary else replies.task.table(name)
        values = table.numbers(metric)
        # A mean of immense scores is infinite, and shown as none.
        with np.errstate(over="ignore", invalid="ignore"):
            value = None if np.isnan(values).all() else float(np.nanmean(values))
        entries.append(
            {"name": name, "n": len(table), "value": value, "unparsed": _unparsed(table)}
        )
    return entries


def _lengths(lengths: Sequence[int]) -> Lengths:
    """Histogram of reply lengths in characters, in logarithmic steps."""
    known = np.array([value for value in lengths if value != UNKNOWN])
    if not known.size:
        return {"n": 0, "median": None, "max": None, "edges": [], "counts": []}
    top = max(math.log10(int(known.max()) + 1), 0.5)
    counts, edges = np.histogram(np.log10(known + 1), bins=_BINS, range=(0.0, top))
    return {
        "n": int(known.size),
        "median": float(np.median(known)),
        "max": int(known.max()),
        "edges": [round(float(10**edge) - 1, 1) for edge in edges],
        "counts": counts.tolist(),
    }


def _one_run(replies: Replies, score: TaskScore) -> TaskRunPart:
    task, table = replies.task, replies.table
    opinions: list[OpinionPart] = [
        {
            "scorer": opinion.scorer,
            "n": opinion.n,
            "value": opinion.value,
            "only_it": opinion.only_it,
            "only_ours": opinion.only_ours,
            "samples": opinion.samples[:_NAMED_SAMPLES],
        }
        for opinion in score.opinions
    ]
    damage: list[DamagedLine] = [{"line": item.line, "why": item.why} for item in table.damage]
    return {
        "rows": len(table),
        "n": score.n,
        "expected": score.expected,
        "stated": plain(score.stated and score.stated.to_dict()),
        "notes": notes_on_value(score),
        "part": score.partial,
        "metric": score.metric,
        "filter": score.filter,
        "declared": score.declared,
        "score": plain(score.micro.numbers()),
        "macro": plain(score.macro.value) if score.macro else None,
        "published": _published(table),
        "metrics": _logged(task, score),
        "subtasks": _subtasks(task, table),
        "filters": _filters(replies, score.metric),
        "opinions": opinions,
        "unparsed": replies.unparsed,
        "truncated": replies.cut_off,
        "truncated_unknown": replies.count(UNSURE),
        "truncated_suspected": replies.suspected,
        "empty": replies.count(EMPTY),
        "other_prompt": replies.count(OTHER_PROMPT),
        "not_as_prepared": int((table.prompt_as_prepared == 0).sum()),
        "lengths": _lengths(replies.lengths),
        "damaged": len(damage),
        "damage": damage[:_NAMED_LINES],
    }


def _logged(task: TaskRun, score: TaskScore) -> list[LoggedMetric]:
    """lm-eval's own table of a task: metric, filter, value, standard error.

    A mean over rows has its interval too, unless the rows that are here give another value.
    """
    own: dict[tuple[str, str], Quantity] = {}
    for item in quantities_of_task(score):
        # What is stated beside the value of the rows stands last, and is what is shown here.
        own[item.metric, item.filter] = item
    lines: list[LoggedMetric] = []
    for metric in task.logged.metrics:
        if metric.value is None:
            continue
        known = own.get((metric.metric, metric.filter))
        lines.append(
            {
                "metric": metric.metric,
                "filter": metric.filter,
                "n": None if known is None else known.n,
                "value": plain(metric.value),
                "stderr": plain(metric.stderr),
                "unit": unit_of(metric, task),
                "interval": plain(None if known is None else known.interval),
            }
        )
    return lines


def task_of(rows: TaskRows, scores: Sequence[Mapping[str, TaskScore]]) -> TaskPart:
    """A task's part of the document. The samples must have been read before: `Browser.add`.

    Args:
        rows: Its aligned rows.
        scores: The scores of each run's tasks, by their names.
    """
    first = next(replies for replies in rows.replies if replies is not None)
    values = first.table.metrics.get(first.task.primary.metric)
    if values is None:
        are_shares = unit_of(first.task.headline) == SHARE
    else:
        is_share = (values >= 0) & (values <= 1)
        are_shares = bool((is_share | np.isnan(values)).all())
    return {
        "name": rows.name,
        "title": first.task.logged.settings.title or rows.name,
        "description": str(first.task.metadata.get("description") or ""),
        "pack": str(first.task.metadata.get("pack") or ""),
        "direction": first.task.headline.direction,
        # A right answer stays one where it is what the model was meant to lose.
        "one_is_right": first.task.primary.direction == "up" or first.task.turned is not None,
        "percent": are_shares,
        "graded": rows.graded,
        "rows": len(rows.ids),
        "runs": [
            None if replies is None else _one_run(replies, of_run[rows.name])
            for replies, of_run in zip(rows.replies, scores, strict=True)
        ],
    }
