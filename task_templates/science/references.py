"""Predictions in the folders of SciRIFF's own programme, and in those of this pack's export.

Both hold `<task>/raw_predictions.jsonl`: lines with the keys of lm-eval's samples, or
`{prompt, pred, ref}`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.science.rows import row_score, score_row
from custom_metrics.science.tasks import TASKS
from evalprep.packapi import BadInput, Log, LoggedRow, LoggedTask, Problem, open_file

FILE = "raw_predictions.jsonl"
METRIC = "row_score"


def load(path: Path | str) -> Log | None:
    """The predictions of one model; None for anything else.

    Accepted: the folder of a model, the folder of one of its tasks, or the file in it.

    Raises:
        BadInput: a line that is no prediction.
    """
    # Task -> its file, of a model's folder, of a task's folder or of one file.
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    name = file.absolute().parent.name
    files = {task: path / task / FILE for task in TASKS if (path / task / FILE).is_file()}
    if file.name == FILE and file.is_file() and name in TASKS:
        files = {name: file}
    if not files:
        return None
    tasks = {name: _task(name, file) for name, file in files.items()}
    home = next(iter(files.values())).absolute().parent.parent
    return Log({}, model=home.name, tasks=tasks)


def logs(path: Path) -> list[Path]:
    """Every model's folder below one, in the order of their names."""
    folders = set()
    for folder, below, files in os.walk(path):
        below.sort()
        if FILE in files and Path(folder).name in TASKS:
            folders.add(Path(folder).parent)
    return sorted(folders)


def _task(name: str, file: Path) -> LoggedTask:
    kind = TASKS[name]
    rows = []
    for index, line in enumerate(_lines(file)):
        prompt, reply, target, doc = _texts(line, f"{file}:{index + 1}")
        score = row_score(kind, score_row(kind, reply, target))
        values = {} if score is None else {METRIC: score}
        rows.append(LoggedRow(index, values, prompt, target, reply, doc))
    return LoggedTask(rows, METRIC, {METRIC: True})


def _lines(file: Path) -> Iterator[Mapping[str, Any]]:
    with open_file(file, "r", encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            try:
                line = json.loads(text)
            except ValueError as error:
                raise _no_prediction(f"{file}:{number}") from error
            if not isinstance(line, dict):
                raise _no_prediction(f"{file}:{number}")
            yield line


def _texts(line: Mapping[str, Any], where: str) -> tuple[str, str, str, dict[str, Any]]:
    """Prompt, reply, reference and row of the data set, from either form of a line."""
    doc = line.get("doc")
    doc = dict(doc) if isinstance(doc, dict) else {}
    if "pred" in line:
        texts = (line.get("prompt"), line["pred"], line.get("ref"))
    else:
        # The reply of a line with lm-eval's keys, filtered where it is.
        reply = line.get("filtered_resps") or line.get("resps")
        while isinstance(reply, list) and reply:
            reply = reply[0]
        texts = (_prompt(line.get("arguments")), reply, line.get("target"))
    prompt, reply, reference = texts
    if not isinstance(reply, str) or not isinstance(reference, str):
        raise _no_prediction(where)
    return str(prompt or ""), reply, reference, doc


def _prompt(arguments: Any) -> Any:
    """The prompt of a line with lm-eval's keys, of any of its layouts."""
    first = arguments.get("gen_args_0") if isinstance(arguments, dict) else arguments
    if isinstance(first, dict):
        return first.get("arg_0")
    while isinstance(first, list) and first:
        first = first[0]
    return first


def _no_prediction(where: str) -> BadInput:
    return BadInput(
        Problem(
            what="is not a prediction",
            where=where,
            allowed="lm-eval's keys of a sample, or prompt, pred and ref",
        )
    )
