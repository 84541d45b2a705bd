"""The replies from which the rows of a later stage were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from evalprep.results.task import TaskRun

#: Column of prepared rows that says what they were made from.
MADE_FROM = "made_from"
_DIGITS = 16


def replies_digest(tasks: Iterable[TaskRun]) -> str:
    """A digest over (task, sample_id, reply) of all samples, in order of rows."""
    digest = hashlib.sha256()
    for task in tasks:
        lines = sorted(
            (sample.doc_id, sample.sample_id, sample.response) for sample in task.samples()
        )
        for _, sample_id, response in lines:
            digest.update(
                json.dumps([task.name, sample_id, response], ensure_ascii=False).encode(
                    "utf-8", "replace"
                )
            )
    return digest.hexdigest()[:_DIGITS]


def made_from(tasks: Iterable[TaskRun], annotated: Mapping[str, Any]) -> str:
    """Returns what rows made from these replies carry as `made_from`.

    It covers the values that annotators gave the replies, too.

    The first half tells the replies, the second the annotated values.
    """
    values = hashlib.sha256(
        json.dumps(annotated, sort_keys=True, default=str).encode()
    ).hexdigest()[:_DIGITS]
    return f"{replies_digest(tasks)}-{values if annotated else '0'}"


def is_made_from(later: TaskRun, earlier: Iterable[TaskRun]) -> bool:
    """Returns whether a later task's rows were made from these replies.

    True where its rows do not say.
    """
    first = next(later.samples(), None)
    origin = first.doc.get(MADE_FROM) if first is not None else None
    return not isinstance(origin, str) or origin.split("-")[0] == replies_digest(earlier)
