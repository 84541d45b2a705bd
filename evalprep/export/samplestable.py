"""The samples of runs as one parquet file: a row for each sample of each task."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

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
    records = chain.from_iterable(
        sample_records(subject.run, subject.model_id) for subject in subjects
    )
    rows = ({**record, "scores": list(record["scores"].items())} for record in records)
    with (
        replace_file(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        while batch := list(islice(rows, _BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
    return Written((path,), next_step=f"read {path} with pandas, polars or duckdb")
