"""What was meant of each task of a run, as the record of the run keeps it.

What is logged is held against it when the results are read: the settings, and which rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalprep.files import NotRead, read_file, unchanged_sha256
from evalprep.packs.prepared import Prepared
from evalprep.yamltext import Loader, NotYaml, compose

_MOST_ROWS = 20_000  # of one task whose rows are read for their digest
#: Keys of a task by which lm-eval makes other rows of those of the file.
_MADE_BY_CODE = frozenset({"process_docs", "custom_dataset", "class"})


def meant_of(prepared: Prepared, task: str) -> dict[str, Any]:
    """Returns what was meant of a task with a YAML of its own; empty of another.

    `settings` are the values of its YAML as it stands, each function as `<function PLACE>`;
    `data_sha256` is the digest of its data; `docs_sha256` that of the first `expected` values of
    lm-eval's `doc_hash`, one a line in the order of the rows, where no code makes other rows.
    """
    file = None if prepared.plan.tasks[task].stock else prepared.task_file(task)
    settings = _settings_of(file) if file is not None else {}
    if not settings:
        return {}
    meant: dict[str, Any] = {"settings": settings}
    files = prepared.data_files(task).files() if prepared.tasks[task].data else []
    if not files:
        return meant
    digests = [unchanged_sha256(path) for path in files]
    joined = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    meant["data_sha256"] = digests[0] if len(digests) == 1 else joined
    expected = prepared.tasks[task].expected
    if expected is not None and expected <= _MOST_ROWS and not _MADE_BY_CODE & settings.keys():
        meant["docs_sha256"] = _digest_of_docs(files, expected)
    return meant


def _settings_of(file: Path) -> dict[str, Any]:
    functions = {"!function": lambda _, node: f"<function {node.value}>"}
    try:
        content, _ = compose(read_file(file).decode("utf-8"), Loader, functions)
    except (NotRead, OSError, UnicodeDecodeError, NotYaml):
        return {}
    return content if isinstance(content, dict) else {}


def _digest_of_docs(files: list[Path], expected: int) -> str:
    digest = hashlib.sha256()
    for number, row in enumerate(_rows_of(files)):
        if number == expected:
            break
        text = json.dumps(row, indent=2, default=str, ensure_ascii=False)
        line = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def _rows_of(files: list[Path]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
