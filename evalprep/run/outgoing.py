"""Requests as files that other engines read: parquet, and the batch format of OpenAI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem, cannot_write
from evalprep.files import open_atomically, replace_file
from evalprep.run.interface import CHAT_PATH, Interface
from evalprep.run.kinds import BEYOND_FILES, ROLLING, reason_beyond
from evalprep.run.request import Request

PARQUET, OPENAI_BATCH = "parquet", "openai-batch"
_ROWS_AT_ONCE = 1_000
Asked = tuple[Request, Interface]


@dataclass(frozen=True)
class Written:
    """What a file of requests holds.

    Attributes:
        counts: Task -> its requests in the file.
        left_out: Task -> what it asks for that no file of replies can hold.
    """

    counts: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """A sentence for each task with requests that are left out."""
        return [f"{name}: left out; {reason_beyond(text)}" for name, text in self.left_out.items()]


def write_requests(pairs: Iterable[Asked], path: Path, form: str) -> Written:
    """Writes requests to a file.

    Args:
        pairs: Each request with the interface of its back end.
        path: The file.
        form: `PARQUET` or `OPENAI_BATCH`.

    Raises:
        BadInput: the file cannot be written, or a request has no place in the format.
    """
    written = Written()
    try:
        _WRITERS[form](_counted(pairs, written), path)
    except OSError as error:
        raise cannot_write(error, str(path)) from None
    return written


def _counted(pairs: Iterable[Asked], written: Written) -> Iterator[Asked]:
    """Passes on those requests that a file of replies can answer."""
    for request, interface in pairs:
        if request.kind in BEYOND_FILES:
            written.left_out[request.task] = BEYOND_FILES[request.kind]
            continue
        written.counts[request.task] += 1
        yield request, interface


def _write_batch(pairs: Iterable[Asked], path: Path) -> None:
    with open_atomically(path) as handle:
        for request, interface in pairs:
            handle.write(json.dumps(_batch_line(request, interface)) + "\n")


def _batch_line(request: Request, interface: Interface) -> dict[str, Any]:
    if request.kind == ROLLING:
        raise BadInput(
            Problem(
                what=f"{request.task} asks for the log-likelihood of whole texts, for which the "
                "batch format has no request",
                where=f"--to {OPENAI_BATCH}",
                fix=f"--to {PARQUET}, or leave the task out: --tasks",
            )
        )
    return {
        "custom_id": request.id,
        "method": "POST",
        "url": CHAT_PATH,
        "body": interface.body(request),
    }


def _write_parquet(pairs: Iterable[Asked], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(pa)
    with replace_file(path) as part, pq.ParquetWriter(part, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for request, interface in pairs:
            rows.append(_row(request, interface))
            if len(rows) == _ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema))


def _schema(pa: Any) -> Any:
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    return pa.schema(
        [
            ("id", pa.string()),
            ("command", pa.string()),
            ("task", pa.string()),
            ("row", pa.int64()),
            ("sample_id", pa.string()),
            ("kind", pa.string()),
            ("prompt", pa.string()),
            ("messages", pa.list_(message)),
            ("continuation", pa.string()),
            ("prompt_token_ids", pa.list_(pa.int64())),
            ("scored_from", pa.int32()),
            ("model", pa.string()),
            ("sampling", pa.string()),
        ]
    )


def _row(request: Request, interface: Interface) -> dict[str, Any]:
    encoded = None if request.kind == ROLLING else interface.tokens(request)
    return {
        "id": request.id,
        "command": request.command,
        "task": request.task,
        "row": request.row,
        "sample_id": request.sample_id or None,
        "kind": request.kind,
        "prompt": request.prompt,
        "messages": [
            {"role": str(message["role"]), "content": str(message["content"])}
            for message in request.messages
        ]
        or None,
        "continuation": request.continuation or None,
        "prompt_token_ids": None if encoded is None else encoded[0],
        "scored_from": encoded[1] if encoded is not None and request.continuation else None,
        "model": interface.model,
        "sampling": json.dumps(interface.sampling(request), ensure_ascii=False),
    }


_WRITERS: dict[str, Callable[[Iterable[Asked], Path], None]] = {
    PARQUET: _write_parquet,
    OPENAI_BATCH: _write_batch,
}


def format_of(path: Path) -> str:
    """The format that a file name stands for: parquet by its ending, else the batch format."""
    return PARQUET if path.suffix == ".parquet" else OPENAI_BATCH
