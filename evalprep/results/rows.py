"""Samples as the plain mappings that score functions and judges of a pack get."""

from __future__ import annotations

from typing import Any

from evalprep.results.task import TaskRun
from evalprep.samples import Sample

MOST_TEXTS = 1_000
"""So many texts are remembered at a time."""


def row_mappings(task: TaskRun) -> list[dict[str, Any]]:
    """The samples of a task's primary filter as the mappings that score functions get.

    Texts that several columns of a row hold, or several rows, are kept once:
    a prepared row holds its prompt, its reply and its gold answer in two or three places.
    """
    memo: dict[str, str] = {}
    return [_row_mapping(sample, memo) for sample in task.samples()]


def _row_mapping(sample: Sample, memo: dict[str, str]) -> dict[str, Any]:
    """One sample.

    Args:
        sample: The sample.
        memo: Texts of this row and of earlier ones; emptied when it grows.
    """
    if len(memo) > MOST_TEXTS:
        memo.clear()
    doc = {name: _kept_once(value, memo) for name, value in sample.doc.items()}
    return {
        "sample_id": _kept_once(sample.sample_id, memo),
        "index": sample.doc_id,
        "doc": doc,
        "prompt": _kept_once(sample.prompt, memo),
        "target": _kept_once(sample.target, memo),
        "response": _kept_once(sample.response, memo),
        "filtered": _kept_once(sample.filtered, memo),
        "metrics": sample.metrics,
        "subtask_name": doc.get("subtask_name"),
    }


def _kept_once(value: Any, memo: dict[str, str]) -> Any:
    return memo.setdefault(value, value) if type(value) is str else value
