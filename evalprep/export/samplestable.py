"""The samples of runs as one parquet file: a row for each sample of each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from evalprep.export.rows import rows_of
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, replace_file

FILE = "samples.parquet"
_BATCH = 2_000  # rows in memory


def write_samples(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `samples.parquet`.

    Args:
        subjects: The runs.
        folder: Where to.
        settings: None of them matters here.
    """
    del settings
    import pyarrow as pa
    import pyarrow.parquet as pq

    make_folder(folder, within=folder)
    path = folder / FILE
    schema = _schema(pa)
    rows = chain.from_iterable(map(_rows, subjects))
    with (
        replace_file(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        while batch := list(islice(rows, _BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
    return Written((path,), next_step=f"read {path} with pandas, polars or duckdb")


def _schema(pa: Any) -> Any:
    text, texts = pa.string(), pa.list_(pa.string())
    return pa.schema(
        [
            *((name, text) for name in ("run", "model", "task", "subtask", "sample_id")),
            ("doc_id", pa.int64()),
            *((name, text) for name in ("question", "prompt")),
            *((name, texts) for name in ("choices", "references", "replies")),
            *((name, text) for name in ("answer", "filter", "metric")),
            ("score", pa.float64()),
            ("scores", pa.map_(text, pa.float64())),
            ("published", pa.bool_()),
            *((name, text) for name in ("doc_hash", "prompt_hash", "target_hash")),
        ]
    )


def _rows(subject: Subject) -> Iterator[dict[str, Any]]:
    """The rows of a run; what is not known is null."""
    for task in subject.run.tasks.values():
        for row in rows_of(task):
            scores = [(name, value) for name, value in row.scores.items() if value is not None]
            yield {
                "run": subject.run.label,
                "model": subject.model_id,
                "task": row.task,
                "subtask": row.subtask or None,
                "sample_id": row.sample_id,
                "doc_id": row.doc_id,
                "question": row.question,
                "prompt": row.prompt,
                "choices": row.choices,
                "references": row.references,
                "replies": row.replies,
                "answer": row.answer,
                "filter": row.filter,
                "metric": task.primary.key or None,
                "score": row.scores.get(task.primary.key),
                "scores": scores,
                "published": row.published,
                **{name: value or None for name, value in _hashes(row.hashes)},
            }


def _hashes(known: dict[str, str]) -> Iterator[tuple[str, str | None]]:
    for name in ("doc_hash", "prompt_hash", "target_hash"):
        yield name, known.get(name)
