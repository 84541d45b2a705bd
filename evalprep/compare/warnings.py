"""Doubts about a comparison: other models, missing tasks, odd rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalprep.compare.acrosstools import POSITION_WARNING, conflict_warning
from evalprep.compare.comparable import differing
from evalprep.compare.identity import warnings_for
from evalprep.compare.task import PairedTask
from evalprep.results import Run
from evalprep.samples import Way
from evalprep.terminal import counted, grouped, shortlist

_NAMED = 5  # ids that a sentence names
_FEW = 5  # tasks that a sentence names one by one
_HASH = re.compile(r"[0-9a-f]{32,64}")
_HASH_CHARACTERS = 8
# Kind of odd rows -> what is said of one, of several.
_ODD_ROWS = (
    (
        "duplicates",
        "id occurs more than once and is left out",
        "ids occur more than once and are left out",
    ),
    (
        "unscored",
        "row has no finite score and is left out",
        "rows have no finite score and are left out",
    ),
    (
        "unreadable",
        "published verdict is neither true nor false",
        "published verdicts are neither true nor false",
    ),
)


def row_names(ids: Sequence[str]) -> str:
    """The first ids of some rows, hashes by their first characters.

    >>> row_names(["row-1", "9f" * 32])
    'row-1, 9f9f9f9f'
    """
    names = [name[:_HASH_CHARACTERS] if _HASH.fullmatch(name) else name for name in ids]
    more = ", ..." if len(ids) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def warnings_of(
    run: Run,
    other: Run | None,
    tasks: Sequence[PairedTask],
    missing: Sequence[str],
    extra: Sequence[str],
    shared: int,
) -> list[str]:
    """The warnings of a comparison.

    Args:
        run: The candidate.
        other: The baseline; None for published verdicts.
        tasks: The rows of the compared tasks.
        missing: Tasks that the candidate lacks.
        extra: Tasks that the baseline lacks.
        shared: How many tasks both have.
    """
    warnings = warnings_for(run) if other is None else []
    if missing:
        warnings.append(lacking("candidate", missing, shared))
    if extra:
        warnings.append(lacking("baseline", extra, shared))
    by_position = [task.task for task in tasks if is_by_position(task)]
    if by_position:
        warnings.insert(0, f"{shortlist(by_position, _NAMED)}: {POSITION_WARNING}")
    for task in tasks:
        warnings += _task_warnings(task, published=other is None)
        # Rows of another split are no rows that a side lacks: that the data differ is said of it.
        if (
            other is not None
            and task.question.paired_rows is None
            and not _is_of_other_data(run, other, task)
        ):
            warnings += [f"{task.task}: {warning}" for warning in _lone_rows(task)]
    return warnings


def unread_warnings(run: Run, other: Run | None, names: Sequence[str]) -> list[str]:
    """The warnings about tasks that a side lists and of which no rows are read.

    Args:
        run: The candidate.
        other: The baseline; None for published verdicts.
        names: The tasks.
    """
    sides = {"candidate": run} if other is None else {"candidate": run, "baseline": other}
    warnings = []
    for side, side_run in sides.items():
        reasons = [
            side_run.unread[name].sentence(name) for name in names if name in side_run.unread
        ]
        if reasons:
            total = len(side_run.unread) + len(side_run.tasks)
            read = f"{len(side_run.tasks)} of {counted(total, 'task')}"
            warnings.append(f"of the {side} {read} are read: {shortlist(reasons, _FEW)}")
    return warnings


def _is_of_other_data(run: Run, other: Run, task: PairedTask) -> bool:
    """Returns whether both sides state the data of a task, and not the same."""
    own, against = run.tasks.get(task.task), other.tasks.get(task.task)
    if own is None or against is None:
        return False
    return any(item.name == "data" for item in differing(run, own, other, against))


def lacking(side: str, names: Sequence[str], shared: int | None = None) -> str:
    """A sentence that names the tasks which a side lacks, many by their families.

    Args:
        side: candidate or baseline.
        names: The tasks.
        shared: How many tasks both sides have; None leaves the denominator out.

    >>> lacking("candidate", ["arc"])
    'the candidate has no arc'
    >>> lacking("baseline", [*(f"bbh_{letter}" for letter in "abcdefgh"), "gpqa"], 1)
    "the baseline lacks 9 of the candidate's 10 tasks: bbh_* (8), gpqa"
    """
    if len(names) <= _FEW:
        return f"the {side} has no {', '.join(names)}"
    other = "baseline" if side == "candidate" else "candidate"
    total = "" if shared is None else f" of the {other}'s {len(names) + shared}"
    return f"the {side} lacks {len(names)}{total} tasks: {grouped(names)}"


def is_by_position(task: PairedTask) -> bool:
    """True where a pair of a task rests on the position of its rows alone, as the user asked."""
    return Way.POSITION in task.pairs.ways


def _task_warnings(task: PairedTask, *, published: bool) -> list[str]:
    """Returns what is odd about the rows of a task."""
    warnings = list(task.doubts)
    across_tools = task.question.paired_rows
    if across_tools is None:
        if count := len(task.odd["changed_prompt"]):
            what = "was not the prepared one" if published else "differs between the runs"
            warnings.append(f"the prompt {what} on {counted(count, 'row')}")
    else:
        warnings += filter(None, [conflict_warning(across_tools)])
    for name, singular, plural in _ODD_ROWS:
        if ids := task.odd[name]:
            warnings.append(f"{counted(len(ids), singular, plural)}: {row_names(ids)}")
    damage = task.odd["damage"]
    if damage:
        warnings.append(f"{counted(len(damage), 'damaged line')}, first {damage[0]}")
    return [f"{task.task}: {warning}" for warning in warnings]


def _lone_rows(task: PairedTask) -> list[str]:
    """Returns which side lacks how many rows of the other."""
    missing, extra = len(task.pairs.missing), len(task.pairs.extra)
    pairs = task.pairs.paired
    warnings = []
    if missing:
        warnings.append(f"the candidate lacks {missing} of the baseline's {pairs + missing} rows")
    if extra:
        warnings.append(f"the baseline lacks {extra} of the candidate's {pairs + extra} rows")
    return warnings
