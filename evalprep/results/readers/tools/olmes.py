"""Predictions of OLMES and of olmo-eval, with the texts from the file of requests beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from evalprep.files import as_mapping
from evalprep.results.logged import RowCounts
from evalprep.results.readers.compressed import opened
from evalprep.results.readers.jsonparts import JsonParts, object_of, objects_in
from evalprep.results.readers.tools.opening import Opening
from evalprep.results.readers.tools.reading import Reading, beside
from evalprep.results.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.results.readers.tools.texts import (
    as_list,
    chosen,
    count_or_none,
    first_text,
    index_of,
    prompt_text,
    question_in,
    score_of,
    stripped,
    text_or_none,
)
from evalprep.results.sample import Damage

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
    doc = as_mapping(request.get("doc"))
    row = Row(choices=stripped(doc.get("choices")))
    native_id = text_or_none(record.get("native_id"))
    if native_id is not None and not _POSITION.fullmatch(native_id):
        row.id = native_id
    if type(record.get("doc_id")) is int:
        row.doc_id = record["doc_id"]
    _set_target(row, record)
    context = as_mapping(request.get("request")).get("context")
    messages = _messages(context)
    row.prompt = prompt_text(messages)
    stated_question = first_text(doc, ("question", "query"))
    row.question = stated_question or question_in(messages)
    row.response = _continuation(record.get("model_output"))
    return row


def _set_target(row: Row, record: Mapping[str, Any]) -> None:
    """Sets the gold answer: the choice that the label names, else the label."""
    label = record.get("label")
    row.target_index = _target_index(record, label, row.choices)
    row.target = chosen(row.choices, row.target_index)
    if not isinstance(label, str) or label == row.target:
        return
    if row.target is None:
        row.target = label
    else:
        row.target_label = label


def _messages(context: Any) -> Any:
    """The messages of a chat, which OLMES keeps in an object."""
    if isinstance(context, Mapping):
        return context.get("messages")
    return context


def _target_index(record: Mapping[str, Any], label: Any, choices: list[str] | None) -> int | None:
    if type(label) is int:
        return label
    metrics = as_mapping(record.get("metrics"))
    correct = metrics.get("correct_choice")
    if type(correct) is int:
        return correct
    return index_of(label, choices)


def _continuation(outputs: Any) -> str | None:
    listed = as_list(outputs)
    if not listed:
        return None
    output = as_mapping(listed[0])
    continuation = text_or_none(output.get("continuation"))
    if continuation is not None:
        return continuation
    return text_or_none(output.get("text"))


class _Ids(msgspec.Struct, gc=False):
    doc_id: Any = None
    native_id: Any = None


class Requests:
    """The first request of each document, read from the file when it is asked for."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        # Key of a document -> start and length of its line.
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        if path is not None:
            self._index(path)

    def _index(self, path: Path) -> None:
        decoder = msgspec.json.Decoder(_Ids)
        start = 0
        with opened(path) as lines:
            for raw in lines:
                try:
                    ids = decoder.decode(raw)
                    key = _key(ids.doc_id, ids.native_id)
                    self._places.setdefault(key, (start, len(raw)))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    pass  # the document then has no texts, and pairs by its id
                start += len(raw)

    def of(self, records: Iterator[dict[str, Any] | Damage]) -> Iterator[tuple[Any, Any]]:
        """Yields each record with its request; an empty one where there is none."""
        if self._path is None:
            yield from ((record, {}) for record in records)
            return
        with opened(self._path) as file:
            for record in records:
                place = self._place_of(record)
                if place is None:
                    yield record, {}
                    continue
                start, length = place
                file.seek(start)
                request = object_of(file.read(length), 0)
                yield record, {} if isinstance(request, Damage) else request

    def _place_of(self, record: dict[str, Any] | Damage) -> tuple[int, int] | None:
        if isinstance(record, Damage):
            return None
        key = _key(record.get("doc_id"), record.get("native_id"))
        return self._places.get(key)


def _key(doc_id: Any, native_id: Any) -> tuple[str, str]:
    return str(doc_id), str(native_id)


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
    config = _config_beside(path, stem)
    model = _model_of(config)
    if not model and name == "olmo-eval":
        model = path.parent.name
    requests = _requests_beside(path, stem)
    notes = []
    if not requests:
        notes.append(f"{path.name}: no file of requests, so rows have no question")

    def rows() -> Iterator[Row | Damage]:
        pairs = Requests(requests).of(objects_in(path))
        for number, (record, request) in enumerate(pairs, start=1):
            if isinstance(record, Damage):
                yield record
                continue
            row = row_of(record, request)
            row.task = task
            row.source = f"{path.name}:{number}"
            yield row

    tasks = {task: _facts(config)}
    return ToolLog(name, rows(), model=model, tasks=tasks, notes=notes)


def _config_beside(path: Path, stem: str) -> Mapping[str, Any]:
    """The file of metrics of a task, which states its settings."""
    file = beside(path.parent, f"{stem}-metrics.json")
    try:
        parts = JsonParts.of_file(file) if file is not None else JsonParts()
    except (OSError, ValueError):
        return {}
    return {key: parts.get(key) for key in ("task_config", "model_config", "num_instances")}


def _facts(config: Mapping[str, Any]) -> TaskFacts:
    task = as_mapping(config.get("task_config"))
    primary = text_or_none(task.get("primary_metric"))
    metadata = {"primary_metric": primary} if primary else {}
    shots = task.get("num_shots")
    num_fewshot = shots if type(shots) is int else None
    rows = RowCounts(effective=count_or_none(config.get("num_instances")))
    return TaskFacts(num_fewshot, metadata=metadata, rows=rows)


def _model_of(config: Mapping[str, Any]) -> str:
    model = as_mapping(config.get("model_config"))
    return first_text(model, ("model_path", "model")) or ""


def _requests_beside(path: Path, stem: str) -> Path | None:
    """The file of requests: beside the predictions, or in a folder of its own."""
    names = [f"{stem}-requests.jsonl", f"{stem}-requests.jsonl.gz"]
    folder = path.parent
    file = beside(folder, *names)
    if file is not None or folder.parent.name != "predictions":
        return file
    folder_of_requests = folder.parent.parent / "requests" / folder.name
    return beside(folder_of_requests, *names)
