"""Details of lighteval and of the first Open LLM Leaderboard, which are parquet files.

| written by | columns |
|---|---|
| lighteval from 0.11 | structs `doc`, `metric`, `model_response` |
| lighteval to 0.10 | `example`, `full_prompt`, `predictions`, `metrics` |
| the leaderboard of 2023 | the same; `hashes`, and at first metrics as columns of their own |
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.readers.tools.columns import Column, Columns, at, each_row
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading
from evalprep.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.readers.tools.tables import count_of, records_of
from evalprep.readers.tools.texts import (
    as_list,
    best_choice,
    chosen,
    first_text,
    listed_choices,
    numbers_of,
    prompt_text,
    question_in,
    score_of,
    stripped,
    text_or_none,
    texts_of,
)

#: Metrics that the first leaderboard has as columns.
_V1_METRICS = ("acc_norm", "acc", "mc2", "mc1", "em", "qem", "f1", "exact_match")
_V1_HEADLINES = {
    "arc:challenge": "acc_norm",
    "hellaswag": "acc_norm",
    "truthfulqa:mc": "mc2",
    "winogrande": "acc",
    "gsm8k": "acc",
}
_USUAL = ("acc", "exact_match", "em", "extractive_match")
_STAMP = r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(\.\d+)?"
_FILE = re.compile(rf"details_(?P<task>.+)_(?P<stamp>{_STAMP})\.parquet")
#: Columns of tokens, many times as large as all the others together.
_UNREAD = ("input_tokens", "cont_tokens", "truncated", "padded", "pred_logits", "prediction_logits")


def recognises_new(opening: Opening) -> bool:
    """Returns whether a parquet file is of lighteval from 0.11."""
    return opening.kind == "parquet" and opening.has("doc", "metric", "model_response")


def recognises_v1(opening: Opening) -> bool:
    """Returns whether a parquet file is of the first leaderboard."""
    if not _is_old(opening) or opening.has("specifics"):
        return False
    own_columns = {"hashes", *_V1_METRICS}
    return bool(own_columns & opening.names) or "harness|" in opening.path.name


def recognises_old(opening: Opening) -> bool:
    """Returns whether a parquet file is of lighteval to 0.10."""
    if not _is_old(opening) or not opening.has("metrics"):
        return False
    return not recognises_v1(opening)


def _is_old(opening: Opening) -> bool:
    if opening.kind != "parquet" or not opening.has("full_prompt", "predictions"):
        return False
    return opening.has("example") or opening.has("question")


def new_row(record: Mapping[str, Any]) -> Row:
    """Returns the row of a record of lighteval from 0.11."""
    row = NEW_COLUMNS.row(record)
    row.task = row.task or ""
    row.id_is_position = True
    row.set_values(numbers_of(record.get("metric")), _USUAL)
    logprobs = _logprobs(at(record, "model_response.logprobs"))
    texts = texts_of(at(record, "model_response.text"))
    _set_answer(row, row.choices, _indices(at(record, "doc.gold_index")), logprobs, texts)
    processed = texts_of(at(record, "model_response.text_post_processed"))
    if texts and processed:
        row.answer = processed[0]
    return _with_texts(row)


def _sent(record: Any) -> Any:
    prompt = at(record, "model_response.input")
    return at(record, "doc.query") if prompt is None else prompt


def _prompt(record: Any) -> str | None:
    """The prompt as text; of a chat that is a single user turn that turn's text."""
    prompt = _sent(record)
    turns = as_list(prompt)
    is_single = len(turns) == 1 and as_mapping(turns[0]).get("role") == "user"
    return question_in(prompt) if is_single else prompt_text(prompt)


def _question(record: Any) -> str | None:
    stated_question = first_text(as_mapping(at(record, "doc")), ("original_query", "query"))
    return stated_question or question_in(_sent(record))


NEW_COLUMNS = Columns(
    Column("task", "doc.task_name"),
    Column("id", "doc.id"),
    Column("question", "", _question),
    Column("choices", "doc.choices", stripped),
    Column("prompt", "", _prompt),
)


def _with_texts(row: Row) -> Row:
    """The row with the texts of choices that were scored as letters, where its question lists them.

    Other tools and the data set have the texts alone.
    """
    texts = listed_choices(row.choices, row.question or "")
    if texts is None or row.choices is None:
        return row
    texts_of_labels = dict(zip(row.choices, texts, strict=True))
    row.choices = texts
    if row.target is not None:
        row.target = texts_of_labels.get(row.target, row.target)
    if row.targets is not None:
        row.targets = [texts_of_labels.get(label, label) for label in row.targets]
    if row.answer is not None:
        row.answer = texts_of_labels.get(row.answer, row.answer)
    return row


def old_row(record: Mapping[str, Any], task: str = "") -> Row:
    """Returns the row of a record of lighteval to 0.10."""
    return _former_row(record, task, numbers_of(record.get("metrics")), _USUAL)


def v1_row(record: Mapping[str, Any], task: str = "") -> Row:
    """Returns the row of a record of the first leaderboard, by the metric of its headline."""
    columns = {name: record[name] for name in _V1_METRICS if name in record}
    values = numbers_of(record.get("metrics") or columns)
    row = _former_row(record, task, values, (_v1_headline(task), *_V1_METRICS))
    hashes = as_mapping(record.get("hashes"))
    row.native_hash = text_or_none(hashes.get("example"))
    return row


def _v1_headline(task: str) -> str:
    """The metric by which the first leaderboard reports a task; empty for other tasks."""
    name = bare_name(task)
    if name.startswith("hendrycksTest"):
        return "acc"
    return _V1_HEADLINES.get(name, "")


def _former_row(
    record: Mapping[str, Any], task: str, values: dict[str, float | None], usual: Sequence[str]
) -> Row:
    """The row of a record in the columns that both older formats share."""
    predictions = _listed(record.get("predictions"))
    logprobs = _logprobs(predictions)
    texts = [] if logprobs else texts_of(predictions)
    row = OLD_COLUMNS.row(record)
    row.task = task
    row.set_values(values, usual)
    choices = row.choices
    gold = _listed(record.get("gold"))  # places of choices, or the answers themselves
    gold_texts = stripped(gold)
    indices = _indices(record.get("gold_index")) or _indices(gold)
    _set_answer(row, choices or gold_texts, indices, logprobs, texts)
    if row.target is None and gold_texts:
        row.target = gold_texts[0]
    row.choices = choices
    return _with_texts(row)


def _old_choices(choices: Any) -> list[str] | None:
    return stripped(_listed(choices))


def _old_question(record: Any) -> str | None:
    return first_text(record, ("question", "example"))


OLD_COLUMNS = Columns(
    Column("question", "", _old_question),
    Column("choices", "choices", _old_choices),
    Column("prompt", "full_prompt", prompt_text),
)


def _set_answer(
    row: Row,
    choices: list[str] | None,
    gold: Sequence[int],
    logprobs: Sequence[float],
    texts: list[str],
) -> None:
    """Sets the gold answers and the answer: the likeliest choice, or a text."""
    is_several = len(choices or ()) > 1  # a single choice is the gold answer of a free reply
    row.choices = choices if logprobs or is_several else None
    gold_choices = [chosen(choices, place) for place in gold]
    known = [text for text in gold_choices if text is not None]
    row.set_targets(known)
    row.target_index = gold[0] if gold else None
    if texts:
        row.set_responses(texts)
    elif logprobs:
        row.answer_index = best_choice(logprobs, choices, by_length=row.metric == "acc_norm")
        row.answer = chosen(choices, row.answer_index)


def _listed(value: Any) -> list[Any]:
    """A list, also one that was written as text, or a single value in one."""
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]":
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return list(value)
    return [value]


def _indices(value: Any) -> list[int]:
    return [item for item in _listed(value) if type(item) is int]


def _logprobs(value: Any) -> list[float]:
    """Log-likelihoods; each may be a pair with whether it is the greedy reply."""
    logprobs: list[float] = []
    for item in _listed(value):
        logprob = item[0] if isinstance(item, list) and item else item
        number = None if isinstance(logprob, bool) else score_of(logprob)
        if number is None:
            return []
        logprobs.append(number)
    return logprobs


def bare_name(task: str) -> str:
    """Returns a task's name without suite and shots.

    >>> bare_name("harness|arc:challenge|25"), bare_name("gsm8k|5"), bare_name("demo")
    ('arc:challenge', 'gsm8k', 'demo')
    """
    parts = task.split("|")
    if len(parts) > 1 and parts[-1].isdecimal():
        parts = parts[:-1]
    return parts[-1]


def shots_of(task: str) -> int | None:
    """Returns the number of shots in a task's name; None without one."""
    _, separator, shots = task.rpartition("|")
    if separator and shots.isdecimal():
        return int(shots)
    return None


def read_new(path: Path, _: Reading) -> ToolLog:
    """Opens a file of lighteval from 0.11."""
    return _log(path, "lighteval", lambda record, _: new_row(record))


def read_old(path: Path, _: Reading) -> ToolLog:
    """Opens a file of lighteval to 0.10."""
    return _log(path, "lighteval-old", old_row)


def read_v1(path: Path, _: Reading) -> ToolLog:
    """Opens a file of the first leaderboard."""
    return _log(path, "leaderboard-v1", v1_row, has_headlines=True)


def _log(
    path: Path,
    name: str,
    row_of: Callable[[Mapping[str, Any], str], Row],
    *,
    has_headlines: bool = False,
) -> ToolLog:
    """A file whose rows are streamed; where tasks have headlines, those name their metrics."""
    task = _task_of(path)
    tasks: dict[str, TaskFacts] = {}

    def row_with_facts(record: Mapping[str, Any]) -> Row:
        row = row_of(record, task)
        row.task = row.task or task
        if row.task not in tasks:
            metadata = {"primary_metric": row.metric} if has_headlines else {}
            tasks[row.task] = TaskFacts(shots_of(row.task), metadata=metadata)
        return row

    return ToolLog(
        name,
        each_row(path.name, records_of(path, _UNREAD), row_with_facts, numbered=True),
        model=_model_of(path),
        tasks=tasks,
        short_name=bare_name,
        task=task,
        rank=(count_of(path), _stamp_of(path)),
    )


def _stamp_of(path: Path) -> str:
    match = _FILE.fullmatch(path.name)
    if not match:
        return ""
    return match["stamp"].replace(":", "-")


def _task_of(path: Path) -> str:
    match = _FILE.fullmatch(path.name)
    if match:
        return match["task"]
    return path.stem.removeprefix("details_")


def _model_of(path: Path) -> str:
    """The model in the folders above a file: `details/<org>/<model>/<stamp>/`, or a repository."""
    folders = path.resolve().parts[:-1]
    if "details" in folders:
        levels_up = folders[::-1].index("details")
        org_and_model = folders[len(folders) - levels_up : -1]
        return "/".join(org_and_model)
    repositories = [folder for folder in folders if folder.startswith("details_")]
    if not repositories:
        return ""
    name = repositories[-1].removeprefix("details_").removesuffix("_private")
    return name.replace("__", "/", 1)


READERS = (
    Reader("lighteval", recognises_new, read_new),
    Reader("lighteval-old", recognises_old, read_old),
    Reader("leaderboard-v1", recognises_v1, read_v1),
)
