"""Join ground truth to rows in columns.

The rules and the counts are those of `joining`. A row whose text exactly one ground-truth row has
leaves nothing to decide, and is never made a mapping; every other row goes through
`GroundTruth.find_all`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from evalprep.data.arrays import flags, whole_numbers
from evalprep.data.batches import batches_of, is_text, regrouped, with_columns, without_views
from evalprep.data.joining import CHUNK_ROWS, GroundTruth, JoinReport, count
from evalprep.data.sources import Source
from evalprep.errors import BadInput, Problem, near

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

PART_ROWS, PART_BYTES = 32_768, 32 << 20
"""What is looked up at a time: so many rows, or fewer of so many bytes together."""


def join_columns(
    rows: Source | Iterable[pa.RecordBatch],
    truth: GroundTruth,
    *,
    text: str,
    take: Mapping[str, str],
    report: JoinReport,
) -> Iterator[pa.RecordBatch]:
    """Adds columns of their ground truth to rows, many rows at a time.

    Args:
        rows: A source, or rows as Arrow record batches; streamed.
        truth: The ground truth.
        text: The column with a row's text.
        take: New column -> column of the ground truth.
        report: Filled while the batches are read.

    Yields:
        The matched rows in input order. A new column replaces one that the rows have.

    Raises:
        BadInput: a column is missing or holds no text, or values fit into no column.
    """
    truth.require(list(take.values()))
    where = rows.describe() if isinstance(rows, Source) else "the rows of a join"
    if isinstance(rows, Source):
        rows.require([text])
        rows = rows.batches() or batches_of(rows.rows(), CHUNK_ROWS, of=where)
    for table in map(without_views, regrouped(rows, PART_ROWS, most_bytes=PART_BYTES)):
        numbers = _numbers(_texts(table, text, where), truth, report)
        matched = numbers >= 0
        if not matched.any():
            continue
        kept = table if matched.all() else table.filter(flags(matched))
        taken = truth.columns(numbers[matched], list(take.values()))
        yield from with_columns(kept, dict(zip(take, taken, strict=True))).to_batches()


def _texts(table: pa.Table, name: str, where: str) -> pa.Array:
    """The column with the text of each row.

    Raises:
        BadInput: there is none, or it holds something else.
    """
    import pyarrow as pa

    names = table.column_names
    if name not in names:
        columns = ", ".join(names) or "none"
        raise BadInput(
            Problem(
                what=f"lacks the column {name}",
                where=where,
                allowed=f"columns found: {columns}",
                fix=near(name, names) or "name the column that holds the text",
            )
        )
    column = table.column(name).combine_chunks()
    if not is_text(column.type) and column.null_count < len(column):
        raise BadInput(
            Problem(
                what=f"column {name} holds {column.type}",
                where=where,
                allowed="text",
                fix="name the column that holds the text, or cast it",
            )
        )
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _numbers(texts: pa.Array, truth: GroundTruth, report: JoinReport) -> np.ndarray:
    """The number of each row's ground truth, -1 for a row that is left out; counts the rows."""
    import numpy as np

    numbers = truth.only_rows(texts)
    others = np.flatnonzero(numbers < 0)
    report.rows += len(numbers) - len(others)
    report.exact += len(numbers) - len(others)
    for begin in range(0, len(others), CHUNK_ROWS):
        places = others[begin : begin + CHUNK_ROWS]
        spellings = [[text] for text in texts.take(whole_numbers(places)).to_pylist()]
        matches = truth.find_all(spellings)
        for (text,), match in zip(spellings, matches, strict=True):
            count(match, text, truth, report)
        numbers[places] = [match.number for match in matches]
    return numbers
