"""Logs of inspect_ai: `.eval` archives, packed with deflate or zstd, and `.json` files."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping, open_file
from evalprep.readers.logged import RowCounts
from evalprep.readers.tools.columns import HASHES, Column, Columns, at, each_row
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, no_samples
from evalprep.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.readers.tools.texts import (
    as_list,
    before_reply,
    chat_text,
    count_or_none,
    last_turn,
    mappings_in,
    prompt_text,
    question_in,
    stripped,
    text_or_none,
    texts_of,
)
from evalprep.readers.tools.verdicts import inspect_value
from evalprep.samples import Damage, JsonParts, damaged, object_of, read_member

NAME = "inspect"
_HEADER, _START = "header.json", "_journal/start.json"
_SAMPLE = re.compile(r"samples/(?P<id>.*)_epoch_(?P<epoch>\d+)\.json", re.DOTALL)
_ATTACHMENT = "attachment://"
_SCORER = "score"


def recognises(opening: Opening) -> bool:
    """Returns whether a place is a log of inspect_ai."""
    if opening.kind == "zip":
        return opening.has(_HEADER) or opening.has(_START)
    return opening.kind == "json" and opening.has("status", "eval", "plan")


def row_of(sample: Mapping[str, Any], *, strict: bool = False, scorer: str = _SCORER) -> Row:
    """Returns the row of one sample of a log, by its first scorer.

    Args:
        sample: The sample.
        strict: Partial credit and "no answer" are no verdict.
        scorer: Name of the only scorer of a log before version 2, whose samples do not name it.
    """
    scores = as_mapping(sample.get("scores"))
    if not scores and isinstance(sample.get("score"), Mapping):
        scores = {scorer: sample["score"]}
    row = COLUMNS.row(sample)
    row.set_values(_values(scores, strict=strict), failed=sample.get("error"))
    row.set_answer_label(_answer(scores))
    return row


def _epoch(epoch: Any) -> int:
    return epoch if type(epoch) is int else 1


def _question(asked: Any) -> str | None:
    """The input of a sample; of a chat its last question."""
    return question_in(asked) if isinstance(asked, list) else text_or_none(asked)


def _prompt(sample: Mapping[str, Any]) -> str | None:
    """The messages before the first reply; without messages the input."""
    before = before_reply(sample.get("messages"))
    if before:
        return chat_text(before)
    return prompt_text(sample.get("input"))


def _response(output: Any) -> str | None:
    completion = text_or_none(at(output, "completion"))
    if completion is not None:
        return completion
    messages = [at(choice, "message") for choice in as_list(at(output, "choices"))]
    return last_turn(messages, "assistant")


COLUMNS = Columns(
    Column("id", "id"),
    Column("epoch", "epoch", _epoch),
    Column("question", "input", _question),
    Column("choices", "choices", stripped),
    Column("target_labels", "target", texts_of),
    Column("prompt", "", _prompt),
    Column("response", "output", _response),
    *HASHES,
)


def _values(scores: Mapping[str, Any], *, strict: bool) -> dict[str, float | None]:
    """Metric -> value; the keys of a value that is a mapping are metrics of their own."""
    values: dict[str, float | None] = {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        if not isinstance(value, Mapping) or not value:
            values[scorer] = inspect_value(value, strict=strict)
            continue
        for key, part in value.items():
            values[f"{scorer}.{key}"] = inspect_value(part, strict=strict)
    return values


def _answer(scores: Mapping[str, Any]) -> str | None:
    """Returns what the first scorer that has an answer extracted."""
    for score in scores.values():
        if not isinstance(score, Mapping):
            continue
        answer = text_or_none(score.get("answer"))
        if answer is not None:
            return answer
    return None


def with_attachments(sample: dict[str, Any]) -> dict[str, Any]:
    """Returns a sample with the long texts that it refers to in their places."""
    attachments = as_mapping(sample.get("attachments"))
    if not attachments:
        return sample
    unused = {"attachments", "events"}
    used = {key: value for key, value in sample.items() if key not in unused}
    return {key: _resolve(value, attachments) for key, value in used.items()}


def _resolve(value: Any, attachments: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolve(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolve(item, attachments) for key, item in value.items()}
    return value


def read(path: Path, reading: Reading) -> ToolLog:
    """Opens a log.

    Raises:
        BadInput: it is damaged, holds no samples, or needs a package to be unpacked.
    """
    try:
        with open_file(path) as file:
            is_archive = zipfile.is_zipfile(file)
        if is_archive:
            return _read_archive(path, reading)
        return _read_json(path, reading)
    except (zipfile.BadZipFile, OSError, ValueError, EOFError) as error:
        raise damaged(path, str(error)) from error


def _read_json(path: Path, reading: Reading) -> ToolLog:
    parts = JsonParts.of_file(path)
    if not parts.count("samples"):
        raise no_samples(path, "only the header of an inspect_ai log is here")
    header = {key: parts.get(key) for key in ("status", "eval", "results")}
    return _log(path, header, parts.each("samples"), reading)


def _read_archive(path: Path, reading: Reading) -> ToolLog:
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        members = [name for name in names if _SAMPLE.fullmatch(name)]
        members.sort(key=_order)
        is_finished = _HEADER in names
        header_name = _HEADER if is_finished else _START
        header = object_of(read_member(archive, header_name), 1)
    if isinstance(header, Damage):
        raise damaged(path, f"its header is {header.why}")
    if not members:
        raise no_samples(path, "only the header of an inspect_ai log is here")
    kept = "" if is_finished else f"the run did not finish; {len(members)} samples were kept"
    return _log(path, header, _samples_in(path, members), reading, note=kept)


def _order(member: str) -> tuple[int, int, str, int]:
    """Numbers in their order, then texts in theirs."""
    match = _SAMPLE.fullmatch(member)
    name = match["id"] if match else member
    epoch = int(match["epoch"]) if match else 0
    is_number = name.isdecimal() and len(name) < 19
    if is_number:
        return 0, int(name), "", epoch
    return 1, 0, name, epoch


def _samples_in(path: Path, members: Sequence[str]) -> Iterator[dict[str, Any] | Damage]:
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        for number, member in enumerate(members, start=1):
            try:
                yield object_of(read_member(archive, member), number)
            except (zipfile.BadZipFile, OSError, EOFError):
                yield Damage(number, f"{member} cannot be unpacked")


def _log(
    path: Path,
    header: Mapping[str, Any],
    samples: Iterator[dict[str, Any] | Damage],
    reading: Reading,
    note: str = "",
) -> ToolLog:
    task = text_or_none(at(header, "eval.task")) or path.stem
    scorer = _without_package(text_or_none(at(header, "results.scorer.name")) or _SCORER)

    def row_of_sample(sample: dict[str, Any]) -> Row:
        return row_of(with_attachments(sample), strict=reading.strict_verdicts, scorer=scorer)

    status = header.get("status")
    odd_status = "" if status in ("success", None) else f"the log's status is {status}"
    created = at(header, "eval.created")
    limit = at(header, "eval.config.limit")
    return ToolLog(
        NAME,
        each_row(path.name, samples, row_of_sample, task),
        model=text_or_none(at(header, "eval.model")) or "",
        settings={"limit": limit} if isinstance(limit, int | float) else {},
        tasks={task: _task_facts(header)},
        notes=[f"{path.name}: {said}" for said in (odd_status, note) if said],
        short_name=_without_package,
        task=task,
        rank=(status == "success", text_or_none(created) or ""),
        started=_seconds(created),
    )


def _seconds(date: Any) -> float | None:
    """A date as seconds since the epoch; one without a zone, as first versions wrote it, is UTC."""
    if not isinstance(date, str):
        return None
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _without_package(task: str) -> str:
    """A task's name without the package that it is from."""
    return task.rpartition("/")[2]


def _task_facts(header: Mapping[str, Any]) -> TaskFacts:
    primary = at(header, "eval.metadata.primary_metric")  # logs of `evalprep export` name it
    return TaskFacts(
        version=at(header, "eval.task_version"),
        metadata={"primary_metric": primary} if isinstance(primary, str) else {},
        reducer=_reducer(header),
        rows=_row_counts(header),
    )


def _row_counts(header: Mapping[str, Any]) -> RowCounts:
    """The samples that the log states: an excerpt of a log, or a run that broke off, has fewer."""
    epochs = count_or_none(at(header, "eval.config.epochs")) or 1
    asked = (count_or_none(at(header, "results.total_samples")) or 0) // epochs
    asked = max(asked, len(as_list(at(header, "eval.dataset.sample_ids"))))
    return RowCounts(count_or_none(at(header, "eval.dataset.samples")), asked or None)


def _reducer(header: Mapping[str, Any]) -> str:
    """Returns how the epochs of a sample become one value.

    Its scores state it; where they do not, the configuration.
    """
    reducers = [score.get("reducer") for score in mappings_in(at(header, "results.scores"))]
    reducers += texts_of(at(header, "eval.config.epochs_reducer"))
    return next((name for name in reducers if isinstance(name, str)), "mean")


READERS = (Reader(NAME, recognises, read),)
