"""Parquet files of other tools: their columns, the number of their rows, and the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.files import open_file
from evalprep.samples import damaged

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_BATCH = 256  # rows: prompts of a few kilobytes each stay far below a hundred megabytes


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Opens a parquet file, whose pages may turn out to be damaged while they are read.

    Raises:
        BadInput: it is damaged.
        OSError: it cannot be opened.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_file(path) as raw:
        try:
            with pq.ParquetFile(raw) as file:
                yield file
        # Values that Python has not, such as a year of 60,000, and texts that are not UTF-8.
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            reason, _, _ = str(error).partition("\n")  # the first line of pyarrow's own message
            raise damaged(path, reason) from error


def columns_of(path: Path) -> list[str]:
    """Returns the columns of a parquet file, a name that occurs twice as often.

    Raises:
        BadInput: it is damaged.
    """
    with _opened(path) as file:
        return list(file.schema_arrow.names)


def count_of(path: Path) -> int:
    """Returns how many rows a parquet file has.

    Raises:
        BadInput: it is damaged.
    """
    with _opened(path) as file:
        return int(file.metadata.num_rows)


def records_of(path: Path, without: Collection[str] = ()) -> Iterator[Mapping[str, Any]]:
    """Yields the rows of a parquet file in bounded memory.

    Args:
        path: The file.
        without: Columns that are not read.

    Raises:
        BadInput: it is damaged.
    """
    with _opened(path) as file:
        columns = [name for name in file.schema_arrow.names if name not in without]
        for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
            yield from batch.to_pylist()
