"""Replies that another engine made, as it wrote them, by the id of their request."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evalprep.data import open_parquet
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.files import open_file
from evalprep.run.kinds import GENERATION, LIKELIHOOD

ENDINGS = (".parquet", ".jsonl", ".json")
_IDS = ("id", "custom_id")
_TEXTS = ("text", "generated_text")
_FORMS = "id with text, or with loglikelihood and is_greedy"
_OK = 200


@dataclass(frozen=True)
class Reply:
    """One reply.

    Attributes:
        text: What was generated; None where the engine gave none.
        loglikelihood: Of the continuation, in nats; None where the engine computed none.
        is_greedy: Every token of the continuation is the likeliest one.
        token_logprobs: For each token of the prompt the likeliest tokens and the token itself,
            id -> log-probability; None for the first. Empty where the engine gave none.
        failure: Why the engine has no reply; empty where it has one.
        reason: Why the text is empty, as the engine says, e.g. `content_filter`.
    """

    text: str | None = None
    loglikelihood: float | None = None
    is_greedy: bool = False
    token_logprobs: tuple[Mapping[int, float] | None, ...] = ()
    failure: str = ""
    reason: str = ""


def read_replies(places: Sequence[Path]) -> dict[str, Reply]:
    """Reads reply files: parquet or JSON Lines, or folders of them.

    A later line counts in place of an earlier one of the same id, and a reply in place of a
    failure.

    Raises:
        BadInput: a place that is not there, or a line that is no reply; all of them at once.
    """
    problems = Problems()
    replies: dict[str, Reply] = {}
    for path in _files(places, problems):
        try:
            for number, reply in _rows_of(path):
                if not (reply.failure and number in replies):
                    replies[number] = reply
        except BadInput as error:
            problems.extend(error.problems)
    problems.raise_if_any()
    return replies


def files_of(places: Sequence[Path]) -> list[Path]:
    """Returns the reply files at some places that are there."""
    return _files(places, Problems())


def _files(places: Sequence[Path], problems: Problems) -> list[Path]:
    files: list[Path] = []
    for place in places:
        inside = [place] if place.is_file() else _in_folder(place)
        if not inside:
            problems.add(
                "holds no replies" if place.is_dir() else "is not there",
                where=str(place),
                allowed=f"a file that ends in {', '.join(ENDINGS)}, or a folder of such files",
            )
        files += inside
    return files


def _in_folder(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if path.suffix in ENDINGS)


def _rows_of(path: Path) -> Iterator[tuple[str, Reply]]:
    reader = _parquet_rows if path.suffix == ".parquet" else _json_rows
    for number, row in enumerate(reader(path), 1):
        try:
            yield _reply(row)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise _unreadable(path, number, row, error) from None


def _unreadable(path: Path, number: int, row: Any, error: Exception) -> BadInput:
    keys = sorted(map(str, row)) if isinstance(row, Mapping) else []
    missing = str(error.args[0]) if isinstance(error, KeyError) and error.args else ""
    what = f"has no {missing}" if missing else f"is not a reply: {error}"
    return BadInput(
        Problem(
            what=f"row {number} {what}; its fields: {', '.join(keys) or 'none'}",
            where=str(path),
            allowed=f"{_FORMS}; or the lines of an OpenAI batch output",
            fix=near(missing, keys) if missing else "",
        )
    )


def _without_id(path: Path, columns: Sequence[str]) -> BadInput:
    return BadInput(
        Problem(
            what=f"has no column {_IDS[0]}; its columns: {', '.join(columns)}",
            where=str(path),
            allowed=_FORMS,
            fix=near(_IDS[0], columns),
        )
    )


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa

    try:
        with open_parquet(path) as file:
            names = file.schema_arrow.names
            if not {*_IDS} & {*names}:
                raise _without_id(path, names)
            usable = [name for name in (*_IDS, *_TEXTS, *_LIKELIHOOD, _REASON) if name in names]
            for batch in file.iter_batches(columns=usable):
                yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BadInput(Problem(what=f"cannot be read: {error}", where=str(path))) from None


def _json_rows(path: Path) -> Iterator[Any]:
    decode = msgspec.json.Decoder().decode
    with open_file(path, own=True) as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            try:
                yield _decoded(line, decode)
            except ValueError as error:
                raise BadInput(
                    Problem(
                        what=f"line {number} is not JSON: {error}",
                        where=str(path),
                        fix="one JSON object per line; a file that was cut off ends in half a line",
                    )
                ) from None


def _decoded(line: bytes, decode: Callable[[bytes], Any]) -> Any:
    """One line; Python's own writer puts NaN into JSON, which msgspec refuses."""
    try:
        return decode(line)
    except msgspec.DecodeError:
        return json.loads(line)


def _reply(row: Mapping[str, Any]) -> tuple[str, Reply]:
    """The id and the reply of one row, in whichever of the known forms.

    Raises:
        KeyError: a field that is missing.
    """
    if "response" in row or "error" in row:
        return str(row["custom_id"]), _of_batch(row)
    if "result" in row:
        return str(row["custom_id"]), _of_anthropic(row["result"])
    number = next((row[name] for name in _IDS if row.get(name)), None)
    if number is None:
        raise KeyError("id")
    return str(number), _of_columns(row)


_LIKELIHOOD = ("loglikelihood", "is_greedy")
_REASON = "finish_reason"
_FILTERED = "content_filter"


def _of_columns(row: Mapping[str, Any]) -> Reply:
    if not {*_TEXTS, "loglikelihood"} & set(row):
        raise KeyError("text")
    value = row.get("loglikelihood")
    # Engines that answer both kinds of requests fill the column of the other kind with NaN.
    known = None if value is None or math.isnan(value) else float(value)
    text = next((_as_text(row[name]) for name in _TEXTS if row.get(name) is not None), None)
    failure = "the row has no text" if known is None and text is None else ""
    reason = str(row.get(_REASON) or "") if text is not None and not text.strip() else ""
    return Reply(text, known, bool(row.get("is_greedy")), failure=failure, reason=reason)


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"its text is {value!r:.40}")
    return value


def _of_batch(row: Mapping[str, Any]) -> Reply:
    """A line of an OpenAI batch output, which `vllm run-batch` writes as well."""
    response = row.get("response") or {}
    status = response.get("status_code", _OK)
    body = response.get("body") or {}
    error = row.get("error") or body.get("error")
    if error or status != _OK:
        return Reply(failure=_reason(error) or f"status {status}")
    choice = body["choices"][0]
    message = choice.get("message") or {}
    text = message.get("content", choice.get("text"))
    scored = body.get("prompt_logprobs")
    if scored:
        return Reply(text=text, token_logprobs=tuple(map(_logprobs, scored)))
    reason = str(choice.get(_REASON) or "")
    if text is None and reason == _FILTERED:
        # The engine has answered, and will not answer otherwise: the model's words were withheld.
        return Reply(text="", reason=reason)
    if text is None:
        return Reply(failure=f"no text (finish_reason: {choice.get(_REASON)})")
    shown = _as_text(text)
    return Reply(text=shown, reason="" if shown.strip() else reason)


def _logprobs(position: Mapping[str, Any] | None) -> dict[int, float] | None:
    if position is None:
        return None
    return {int(token): float(entry["logprob"]) for token, entry in position.items()}


def _of_anthropic(result: Mapping[str, Any]) -> Reply:
    """A line of the results of Anthropic's message batches."""
    if result["type"] != "succeeded":
        return Reply(failure=_reason(result.get("error")) or str(result["type"]))
    parts = result["message"]["content"]
    return Reply(text="".join(part["text"] for part in parts if part.get("type") == "text"))


def _reason(error: Any) -> str:
    if isinstance(error, Mapping):
        inner = error.get("message") or error.get("error") or error.get("type")
        return _reason(inner)
    return str(error or "")[:200]


def likelihood_of(reply: Reply, tokens: Iterable[int], scored_from: int) -> tuple[float, bool]:
    """The log-likelihood of a continuation, and whether the model would have written it.

    Both are read as lm-eval's vLLM back end reads them.

    Raises:
        ValueError: the engine scored other tokens than those of the request.
    """
    if reply.loglikelihood is not None:
        return reply.loglikelihood, reply.is_greedy
    ids = list(tokens)
    if len(ids) != len(reply.token_logprobs):
        raise ValueError(f"{len(reply.token_logprobs)} tokens were scored, not {len(ids)}")
    total, is_greedy = 0.0, True
    scored = zip(ids[scored_from:], reply.token_logprobs[scored_from:], strict=True)
    for token, logprobs in scored:
        if not logprobs or token not in logprobs:
            raise ValueError("another token was scored than that of the request")
        total += logprobs[token]
        is_greedy = is_greedy and logprobs[token] >= max(logprobs.values())
    return total, is_greedy


def is_answer(kind: str, reply: Reply | None) -> bool:
    """Returns whether a reply answers a request of a kind."""
    if reply is None or reply.failure:
        return False
    if kind == GENERATION:
        return reply.text is not None
    if kind == LIKELIHOOD and reply.token_logprobs:
        return True
    return reply.loglikelihood is not None
