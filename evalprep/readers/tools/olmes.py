"""Predictions of OLMES and of olmo-eval, with the texts from the file of requests beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.readers.logged import RowCounts
from evalprep.readers.tools.columns import Column, Columns, at, each_row
from evalprep.readers.tools.keyedlines import KeyedLines
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, beside, members_beside
from evalprep.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.readers.tools.texts import (
    chosen,
    count_or_none,
    first_text,
    index_of,
    prompt_text,
    question_in,
    score_of,
    stripped,
    text_or_none,
    whole_or_none,
)
from evalprep.samples import Damage, objects_in

_POSITION = re.compile(r"doc_(\d+)")
_FILE = re.compile(r"(?:task-\d+-)?(?P<task>.+?)(?:_[0-9a-f]{6})?")
#: What OLMES keeps beside the metrics of a row.
_NOT_METRICS = re.compile(
    r"predicted_index.*|correct_choice|no_answer|.*_corr|sum_logits.*|num_.*|logits_per_.*"
    r"|extra_metrics|model_answer.*"
)
_USUAL = ("primary_score", "acc_per_char", "acc_raw", "exact_match")
#: Metric -> the end of the key under which the choice by it is kept.
_BY_METRIC = {
    "acc_raw": "raw",
    "acc_per_token": "per_token",
    "acc_per_char": "per_char",
    "acc_per_byte": "per_byte",
    "acc_uncond": "uncond",
}


_Pair = tuple[dict[str, Any], dict[str, Any]]


def recognises_olmes(opening: Opening) -> bool:
    """Returns whether a file holds predictions of OLMES."""
    return opening.kind == "lines" and opening.has("native_id", "metrics", "doc_id")


def recognises_olmo_eval(opening: Opening) -> bool:
    """Returns whether a file holds predictions of olmo-eval."""
    return opening.kind == "lines" and opening.has("native_id", "instance_metrics")


def olmes_row(record: Mapping[str, Any], request: Mapping[str, Any] | None = None) -> Row:
    """Returns the row of a prediction of OLMES.

    Args:
        record: The prediction.
        request: The first request of its document, where that file is there.
    """
    metrics = as_mapping(record.get("metrics"))
    row = _with_texts(record, request or {})
    values = {
        name: score_of(value)
        for name, value in metrics.items()
        if not (_NOT_METRICS.fullmatch(name) or isinstance(value, str | list | Mapping))
    }
    row.set_values(values, _USUAL)
    rule = _BY_METRIC.get(row.metric, "raw")
    answer = metrics.get(f"predicted_index_{rule}")
    if type(answer) is int:
        row.answer_index = answer
        row.answer = chosen(row.choices, answer)
    return row


def olmo_eval_row(record: Mapping[str, Any], request: Mapping[str, Any] | None = None) -> Row:
    """Returns the row of a prediction of olmo-eval, whose metrics may be nested by scorer."""
    row = _with_texts(record, request or {})
    values: dict[str, float | None] = {}
    for name, value in as_mapping(record.get("instance_metrics")).items():
        values |= _by_scorer(name, value if isinstance(value, Mapping) else {"": value})
    row.set_values(values, _USUAL)
    final_output = text_or_none(record.get("final_output"))
    row.response = final_output or row.response
    return row


def _by_scorer(metric: str, values: Mapping[str, Any]) -> dict[str, float | None]:
    """The values of a metric by its scorers; a single scorer needs no name."""
    if len(values) == 1:
        (value,) = values.values()
        return {metric: score_of(value)}
    return {f"{metric}.{scorer}": score_of(value) for scorer, value in values.items()}


def _with_texts(record: Mapping[str, Any], request: Mapping[str, Any]) -> Row:
    """The texts of a document: its request's, its label and its output."""
    row = COLUMNS.row({"record": record, "request": request})
    label = record.get("label")
    row.target_index = _target_index(record, label, row.choices)
    row.target = chosen(row.choices, row.target_index)
    if isinstance(label, str) and row.target is None:
        row.target = label
    elif isinstance(label, str) and label != row.target:
        row.target_label = label
    return row


def _id(native_id: Any) -> str | None:
    """The id of the data set; a position is none."""
    text = text_or_none(native_id)
    return None if _POSITION.fullmatch(text or "") else text


def _prompt(context: Any) -> str | None:
    return prompt_text(_messages(context))


def _messages(context: Any) -> Any:
    """The messages of a chat, which OLMES keeps in an object."""
    if isinstance(context, Mapping):
        return context.get("messages")
    return context


def _question(request: Any) -> str | None:
    stated_question = first_text(as_mapping(at(request, "doc")), ("question", "query"))
    return stated_question or question_in(_messages(at(request, "request.context")))


def _target_index(record: Mapping[str, Any], label: Any, choices: list[str] | None) -> int | None:
    for index in (label, at(record, "metrics.correct_choice")):
        if type(index) is int:
            return index
    return index_of(label, choices)


def _continuation(outputs: Any) -> str | None:
    output = as_mapping(at(outputs, "0"))
    continuation = text_or_none(output.get("continuation"))
    return text_or_none(output.get("text")) if continuation is None else continuation


COLUMNS = Columns(
    Column("id", "record.native_id", _id),
    Column("doc_id", "record.doc_id", whole_or_none),
    Column("question", "request", _question),
    Column("choices", "request.doc.choices", stripped),
    Column("prompt", "request.request.context", _prompt),
    Column("response", "record.model_output", _continuation),
)


def _key(record: Mapping[str, Any] | Damage) -> tuple[str, str] | None:
    """What a prediction and its requests have in common."""
    if isinstance(record, Damage):
        return None
    return str(record.get("doc_id")), str(record.get("native_id"))


def read_olmes(path: Path, _: Reading) -> ToolLog:
    """Opens a file of predictions of OLMES."""
    return _log(path, "olmes", olmes_row)


def read_olmo_eval(path: Path, _: Reading) -> ToolLog:
    """Opens a file of predictions of olmo-eval."""
    return _log(path, "olmo-eval", olmo_eval_row)


def _log(
    path: Path, name: str, row_of: Callable[[Mapping[str, Any], Mapping[str, Any]], Row]
) -> ToolLog:
    file_stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    stem = file_stem.removesuffix("-predictions")
    match = _FILE.fullmatch(stem)
    task = match["task"] if match else stem
    settings = ("task_config", "model_config", "num_instances")
    config = members_beside(path.parent, [f"{stem}-metrics.json"], settings)
    model = first_text(as_mapping(config.get("model_config")), ("model_path", "model")) or ""
    if not model and name == "olmo-eval":
        model = path.parent.name
    requests = _requests_beside(path, stem)
    notes = []
    if not requests:
        notes.append(f"{path.name}: no file of requests, so rows have no question")

    def records() -> Iterator[_Pair | Damage]:
        for record, of_document in KeyedLines(requests, ("doc_id", "native_id"), _key).joined(
            objects_in(path), _key
        ):
            yield record if isinstance(record, Damage) else (record, next(of_document, {}))

    rows = each_row(path.name, records(), lambda pair: row_of(*pair), task)
    return ToolLog(name, rows, model=model, tasks={task: _facts(config)}, notes=notes)


def _facts(config: Mapping[str, Any]) -> TaskFacts:
    primary = text_or_none(at(config, "task_config.primary_metric"))
    return TaskFacts(
        whole_or_none(at(config, "task_config.num_shots")),
        metadata={"primary_metric": primary} if primary else {},
        rows=RowCounts(effective=count_or_none(config.get("num_instances"))),
    )


def _requests_beside(path: Path, stem: str) -> Path | None:
    """The file of requests: beside the predictions, or in a folder of its own."""
    names = [f"{stem}-requests.jsonl", f"{stem}-requests.jsonl.gz"]
    folder = path.parent
    file = beside(folder, *names)
    if file is not None or folder.parent.name != "predictions":
        return file
    folder_of_requests = folder.parent.parent / "requests" / folder.name
    return beside(folder_of_requests, *names)


READERS = (
    Reader("olmo-eval", recognises_olmo_eval, read_olmo_eval),
    Reader("olmes", recognises_olmes, read_olmes),
)
