"""The samples of runs as one parquet file: a row for each sample of each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from evalprep.export.frames import sample_records
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, replace_file
from evalprep.samples import SAMPLE_FIELDS

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
    text, number = pa.string(), pa.float64()
    types = {
        "text": text,
        "texts": pa.list_(text),
        "whole": pa.int64(),
        "number": number,
        "truth": pa.bool_(),
        "numbers": pa.map_(text, number),
    }
    schema = pa.schema([(field.name, types[field.kind]) for field in SAMPLE_FIELDS])
    rows = chain.from_iterable(map(_rows, subjects))
    with (
        replace_file(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        while batch := list(islice(rows, _BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
    return Written((path,), next_step=f"read {path} with pandas, polars or duckdb")


def _rows(subject: Subject) -> Iterator[dict[str, Any]]:
    """The rows of a run."""
    for record in sample_records(subject.run, subject.model_id):
        yield {**record, "scores": list(record["scores"].items())}
