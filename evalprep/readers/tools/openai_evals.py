"""Event logs of OpenAI evals: the first line names the run, each further line is an event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping
from evalprep.readers.tools.columns import Column, Columns, each_row
from evalprep.readers.tools.keyedlines import KeyedLines
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, no_samples
from evalprep.readers.tools.row import Row, ToolLog
from evalprep.readers.tools.texts import (
    first_text,
    numbers_of,
    prompt_text,
    question_in,
    score_of,
    text_or_none,
    texts_of,
)

NAME = "openai-evals"
_POSITION = re.compile(r".*\.(\d+)")
_MATCH = "match"
_ABOUT_RUN = ("spec", "final_report")  # members of the first line and the last one


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
    parts = {"event": events, "sampling": _data_of(events, "sampling"), "match": matches}
    last = {name: items[-1] for name, items in parts.items() if items}
    row = COLUMNS.row(last)
    values = {_MATCH: score_of(matches[-1].get("correct"))} if matches else {}
    for data in _data_of(events, "metrics"):
        values |= {name: value for name, value in numbers_of(data).items() if value is not None}
    row.set_values(values, failed=not matches and _data_of(events, "error"))
    return row


def _data_of(events: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [as_mapping(event.get("data")) for event in events if event.get("type") == kind]


def _position(sample_id: Any) -> int | None:
    """The position that an id ends in; None without one."""
    position = _POSITION.fullmatch(text_or_none(sample_id) or "")
    return int(position[1]) if position else None


def _id(sample_id: Any) -> str | None:
    return text_or_none(sample_id) if _position(sample_id) is None else None


def _first(texts: Any) -> str | None:
    return next(iter(texts_of(texts)), None)


#: The last call of the model and the last match count.
COLUMNS = Columns(
    Column("id", "event.sample_id", _id),
    Column("doc_id", "event.sample_id", _position),
    Column("question", "sampling.prompt", question_in),
    Column("targets", "match.expected", texts_of),
    Column("prompt", "sampling.prompt", prompt_text),
    Column("responses", "sampling.sampled", texts_of),
    Column("answer", "match.picked", _first),
)


def read(path: Path, reading: Reading) -> ToolLog:
    """Opens an event log.

    Raises:
        BadInput: it holds no events of samples.
    """
    run: dict[str, Any] = {}

    def key_of(event: Mapping[str, Any]) -> str | None:
        """The sample of an event; the two lines about the run are kept apart."""
        if event.keys().isdisjoint(_ABOUT_RUN):
            return text_or_none(event.get("sample_id"))
        run.update(event)
        return None

    events = KeyedLines(path, (*_ABOUT_RUN, "sample_id"), key_of)
    if not events.places:
        raise no_samples(path)

    def row_of_sample(sample: tuple[Any, Iterator[dict[str, Any]]]) -> Row:
        sample_id, unsorted = sample
        of_sample = sorted(unsorted, key=_number_of)
        try:
            row = row_of(of_sample, last_event=reading.last_event)
        except ValueError as error:
            raise _several(path, sample_id, str(error)) from error
        row.source = f"{path.name}: {sample_id}"
        return row

    spec = as_mapping(run.get("spec"))
    task = first_text(spec, ("base_eval", "eval_name")) or path.stem
    samples: Iterable[Any] = events.joined(events.places, lambda sample_id: sample_id)
    return ToolLog(
        NAME,
        each_row(path.name, chain(events.damage, samples), row_of_sample, task),
        model=_first(spec.get("completion_fns")) or "",
        notes=[] if "final_report" in run else [f"{path.name}: the run did not finish"],
    )


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


READERS = (Reader(NAME, recognises, read),)
