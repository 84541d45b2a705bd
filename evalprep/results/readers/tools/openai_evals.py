"""Event logs of OpenAI evals: the first line names the run, each further line is an event."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping
from evalprep.results.readers.compressed import opened
from evalprep.results.readers.jsonparts import object_of
from evalprep.results.readers.tools.opening import Opening
from evalprep.results.readers.tools.reading import Reading, no_samples
from evalprep.results.readers.tools.row import Row, ToolLog
from evalprep.results.readers.tools.texts import (
    numbers_of,
    prompt_text,
    question_in,
    score_of,
    text_or_none,
    texts_of,
)
from evalprep.results.sample import Damage, loads

NAME = "openai-evals"
_POSITION = re.compile(r".*\.(\d+)")
_MATCH = "match"


def recognises(opening: Opening) -> bool:
    """Returns whether a file is an event log of OpenAI evals."""
    spec = opening.first.get("spec")
    return opening.kind == "lines" and isinstance(spec, Mapping) and "run_id" in spec


def row_of(events: Sequence[Mapping[str, Any]], *, last_event: bool = False) -> Row:
    """Returns the row of all events of a sample.

    Args:
        events: The events, in the order of their numbers.
        last_event: Of several `match` events the last one counts.

    Raises:
        ValueError: there are several `match` events.
    """
    matches = _data_of(events, _MATCH)
    if len(matches) > 1 and not last_event:
        raise ValueError(f"{len(matches)} match events")
    row = _row_named(text_or_none(events[0].get("sample_id")) if events else None)
    _take_texts(row, _data_of(events, "sampling"))
    values: dict[str, float | None] = {}
    if matches:
        values[_MATCH] = score_of(matches[-1].get("correct"))
        _take_answer(row, matches[-1])
    for data in _data_of(events, "metrics"):
        values |= _known_numbers(data)
    row.set_values(values, failed=not matches and _data_of(events, "error"))
    return row


def _known_numbers(data: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: value for name, value in numbers_of(data).items() if value is not None}


def _data_of(events: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [as_mapping(event.get("data")) for event in events if event.get("type") == kind]


def _row_named(sample_id: str | None) -> Row:
    """Returns an empty row with the position that its id ends in, else with the id itself."""
    position = _POSITION.fullmatch(sample_id or "")
    row = Row(doc_id=int(position[1])) if position else Row(doc_id=None)
    row.id = None if position else sample_id
    return row


def _take_texts(row: Row, samplings: Sequence[Mapping[str, Any]]) -> None:
    """Takes prompt and reply of the last call."""
    if not samplings:
        return
    last = samplings[-1]
    row.prompt = prompt_text(last.get("prompt"))
    row.question = question_in(last.get("prompt"))
    row.set_responses(texts_of(last.get("sampled")))


def _take_answer(row: Row, match: Mapping[str, Any]) -> None:
    row.set_targets(texts_of(match.get("expected")))
    picked = texts_of(match.get("picked"))
    row.answer = picked[0] if picked else None


def read(path: Path, reading: Reading) -> ToolLog:
    """Opens an event log.

    Raises:
        BadInput: it holds no events of samples.
    """
    spec, places, damage, finished = _index(path)
    if not places:
        raise no_samples(path)
    task = text_or_none(spec.get("base_eval")) or text_or_none(spec.get("eval_name")) or path.stem
    models = texts_of(spec.get("completion_fns"))
    notes = [] if finished else [f"{path.name}: the run did not finish"]
    return ToolLog(
        NAME,
        _rows(path, places, damage, task, reading),
        model=models[0] if models else "",
        notes=notes,
    )


_Places = dict[str, list[tuple[int, int]]]


def _index(path: Path) -> tuple[Mapping[str, Any], _Places, list[Damage], bool]:
    """The run, the places of the events of each sample, damage, and whether the run finished."""
    places: _Places = {}
    damage: list[Damage] = []
    spec: Mapping[str, Any] = {}
    finished, start = False, 0
    with opened(path) as lines:
        for number, raw in enumerate(lines, start=1):
            event = object_of(raw, number)
            if isinstance(event, Damage):
                if raw.strip():
                    damage.append(event)
            elif "spec" in event:
                spec = as_mapping(event["spec"])
            elif "final_report" in event:
                finished = True
            elif (sample_id := text_or_none(event.get("sample_id"))) is not None:
                places.setdefault(sample_id, []).append((start, len(raw)))
            start += len(raw)
    return spec, places, damage, finished


def _rows(
    path: Path, places: _Places, damage: Sequence[Damage], task: str, reading: Reading
) -> Iterator[Row | Damage]:
    yield from damage
    with opened(path) as file:
        for sample_id, of_sample in places.items():
            events = []
            for start, length in of_sample:
                file.seek(start)
                events.append(loads(file.read(length)))
            events.sort(key=_number_of)
            try:
                row = row_of(events, last_event=reading.last_event)
            except ValueError as error:
                raise _several(path, sample_id, str(error)) from error
            row.task = task
            row.source = f"{path.name}: {sample_id}"
            yield row


def _number_of(event: Mapping[str, Any]) -> int:
    number = event.get("event_id")
    return number if isinstance(number, int) else 0


def _several(path: Path, sample_id: str, what: str) -> BadInput:
    return BadInput(
        Problem(
            what=f"sample {sample_id} has {what}, and which of them counts is not stated",
            where=str(path),
            fix="--input_format last_event takes the last one",
        )
    )
