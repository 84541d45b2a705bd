"""Instances of Every Eval Ever: JSON Lines beside a record of the scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.readers.tools.columns import HASHES, Column, Columns, at, each_row
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, beside, no_samples
from evalprep.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.readers.tools.texts import (
    as_list,
    first_text,
    last_turn,
    mappings_in,
    prompt_text,
    score_of,
    stripped,
    text_or_none,
    texts_of,
)
from evalprep.samples import Direction, JsonParts, damaged, objects_in

NAME = "every-eval-ever"


def recognises(opening: Opening) -> bool:
    """Returns whether a file holds instances, or the record beside them."""
    if opening.kind == "lines":
        return opening.has("schema_version", "evaluation_id", "interaction_type")
    return opening.kind == "json" and opening.has("schema_version", "evaluation_results")


def has_instances(opening: Opening) -> bool:
    """Returns whether a file holds the instances themselves."""
    return opening.kind == "lines"


def sample_hash(raw: str, reference: Sequence[str]) -> str:
    """Returns the hash of a sample by the documented recipe.

    Producers differ in what they store, so it is computed anew from the sample's input.
    """
    content = {"raw": raw, "reference": list(reference)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return _sha256(text)


def sample_hash_of_converter(raw: str, reference: str) -> str:
    """Returns the hash that the converter for lm-eval (0.3.0) stores, by a recipe of its own."""
    content = {"raw": raw, "reference": reference}
    text = json.dumps(content, sort_keys=True)
    return _sha256(text)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def row_of(record: Mapping[str, Any]) -> Row:
    """Returns the row of an instance, which has one metric."""
    row = COLUMNS.row(record)
    row.task = row.task or ""
    row.id_is_position = (row.id or "").isdecimal()
    metric, row.filter = _metric_of(record, row.task)
    row.set_values({metric: _score(record.get("evaluation"))}, failed=record.get("error"))
    return row


def _question(record: Mapping[str, Any]) -> str | None:
    """The input; lm-eval's converter keeps no question: its raw text is the prompt."""
    is_of_converter = at(record, "metadata.doc_hash") is not None
    if is_of_converter and at(record, "input.formatted") is None:
        return None
    return text_or_none(at(record, "input.raw"))


def _prompt(question: Any) -> str | None:
    formatted = at(question, "formatted")
    return prompt_text(at(question, "raw") if formatted is None else formatted)


def _native_hash(question: Any) -> str | None:
    raw = at(question, "raw")
    return sample_hash(raw, texts_of(at(question, "reference"))) if isinstance(raw, str) else None


def _metric_of(record: Mapping[str, Any], task: str) -> tuple[str, str]:
    """Metric and filter of a record: `<task>/<metric>,<filter>`, or whatever it is called."""
    result_id = text_or_none(record.get("evaluation_result_id"))
    name = result_id or task or "score"
    metric_and_filter = name.removeprefix(f"{task}/")
    metric, _, filter_name = metric_and_filter.partition(",")
    return metric or name, filter_name or "none"


def _score(verdict: Any) -> float | None:
    score = score_of(at(verdict, "score"))
    if score is not None:
        return score
    is_correct = at(verdict, "is_correct")
    return float(is_correct) if isinstance(is_correct, bool) else None


def _response(record: Mapping[str, Any]) -> str | None:
    replies = texts_of(at(record, "output.raw"))
    is_single_turn = record.get("interaction_type") == "single_turn"
    if replies and is_single_turn:
        return replies[0]
    last_reply = last_turn(record.get("messages"), "assistant")
    if last_reply is None and replies:
        return replies[-1]
    return last_reply


def _answer(attributions: Any) -> str | None:
    """What the last attribution extracted, of terminal ones where there are some."""
    answers = [as_mapping(item) for item in as_list(attributions)]
    candidates = [answer for answer in answers if answer.get("is_terminal")] or answers
    return text_or_none(candidates[-1].get("extracted_value")) if candidates else None


COLUMNS = Columns(
    Column("task", "evaluation_name"),
    Column("id", "sample_id"),
    Column("question", "", _question),
    Column("choices", "input.choices", stripped),
    Column("target_labels", "input.reference", texts_of),
    Column("prompt", "input", _prompt),
    Column("response", "", _response),
    Column("answer_label", "answer_attribution", _answer),
    Column("native_hash", "input", _native_hash),
    *HASHES,
)


def read(path: Path, _: Reading) -> ToolLog:
    """Opens a file of instances, or the record beside one.

    Raises:
        BadInput: the record names no instances, or is damaged.
    """
    is_record = not path.name.removesuffix(".gz").endswith(".jsonl")
    if is_record:
        record = _record(path, named=True)
        instances = _instances_of(path, record)
    else:
        stem = path.stem.removesuffix("_samples")
        record = _record(beside(path.parent, f"{stem}.json"), named=False)
        instances = path
    tasks: dict[str, TaskFacts] = {}
    facts = _facts(record)

    def row_with_facts(item: Mapping[str, Any]) -> Row:
        row = row_of(item)
        tasks.setdefault(row.task, facts)
        return row

    rows = each_row(instances.name, objects_in(instances), row_with_facts)
    return ToolLog(NAME, rows, model=_model_of(record, instances), tasks=tasks)


def _record(path: Path | None, *, named: bool) -> Mapping[str, Any]:
    """The record of the scores; an empty one where it is not there."""
    if path is None:
        return {}
    try:
        parts = JsonParts.of_file(path)
    except ValueError as error:
        if not named:
            return {}
        raise damaged(path, str(error)) from error
    keys = ("model_info", "evaluation_results", "detailed_evaluation_results")
    return {key: parts.get(key) for key in keys}


def _instances_of(path: Path, record: Mapping[str, Any]) -> Path:
    stated_path = at(record, "detailed_evaluation_results.file_path")
    names = [f"{path.stem}_samples.jsonl"]
    if isinstance(stated_path, str):
        names.insert(0, Path(stated_path).name)
    file = beside(path.parent, *names)
    if file is None:
        raise no_samples(path, "it is the record of the scores alone")
    return file


def _model_of(record: Mapping[str, Any], instances: Path) -> str:
    model = as_mapping(record.get("model_info"))
    stated = first_text(model, ("id", "name"))
    if stated:
        return stated
    readable = (item for item in objects_in(instances) if isinstance(item, dict))
    first = next(readable, {})
    return text_or_none(first.get("model_id")) or ""


def _facts(record: Mapping[str, Any]) -> TaskFacts:
    """Returns which way metrics are better, as the record states it."""
    directions: dict[str, Direction] = {}
    for result in mappings_in(record.get("evaluation_results")):
        lower_is_better = at(result, "metric_config.lower_is_better")
        if isinstance(lower_is_better, bool):
            metric, _ = _metric_of(result, text_or_none(result.get("evaluation_name")) or "")
            directions[metric] = "down" if lower_is_better else "up"
    return TaskFacts(directions=directions)


READERS = (Reader(NAME, recognises, read, has_instances),)
