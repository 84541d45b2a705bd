"""Write the prepared rows of one task as parquet.

One file or several, unique sample ids, bounded memory, same rows same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.data.arrays import ARROW_ERRORS, array_of, hashes_of, unstorable
from evalprep.data.batches import is_text, with_columns
from evalprep.data.chunks import Chunk, chunks, no_row, python_values, row_count
from evalprep.data.rowfiles import open_parquet
from evalprep.errors import BadInput, Problem
from evalprep.packs import file_names
from evalprep.terminal import tracked

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NESTED = 60
"""Levels of lists and mappings in one value.

Arrow ends the process on a value that holds itself.
"""
_FLAT = {str, int, float, bool, type(None)}
CHUNK_ROWS = 2_000
ID_COLUMN = "sample_id"


def _fixed_types() -> dict[str, pa.DataType]:
    """Types of the columns with a fixed meaning, so that a column of nulls still has its type."""
    import pyarrow as pa

    return {
        ID_COLUMN: pa.string(),
        "prompt": pa.string(),
        "subtask_name": pa.string(),
        "cluster_id": pa.string(),
        "previously_is_correct": pa.bool_(),
        "previous_output_prediction_text": pa.string(),
    }


def write_rows(
    rows: Iterable[Mapping[str, Any]] | Iterable[pa.RecordBatch],
    path: Path,
    *,
    task: str,
    rows_per_file: int | None = None,
) -> int:
    """Writes rows to one parquet file, or to a folder of several.

    Args:
        rows: Mappings or Arrow record batches, with a unique, non-empty `sample_id`; streamed. The
            file is the same for both.
        path: File to write; with `rows_per_file` the folder, which replaces one that is there.
        task: Task name, for messages.
        rows_per_file: Rows of each file but the last; None for one file.

    Returns:
        The number of rows.

    Raises:
        BadInput: a missing or repeated sample id, or values of one column that no common type
            holds.
    """
    parts = _Parts(path.with_suffix(".parts"), task, rows_per_file)
    hashes = array("q")
    for chunk in chunks(tracked(rows, task, rows=row_count), CHUNK_ROWS, task):
        ids = _checked_ids(chunk, len(hashes), task)
        hashes.frombytes(hashes_of(ids).tobytes())
        parts.add(_table(chunk, parts.schema, task))
    if not hashes:
        raise BadInput(
            Problem(
                what=f"{task} has no rows", where=task, fix="check the source and the join counts"
            )
        )
    parts.close()
    _refuse_repeated(hashes, parts, task)
    parts.move_to(path)
    return len(hashes)


class _Parts:
    """The chunks of one table on disk, while its schema may still become wider.

    A parquet file cannot be widened in place, so a chunk with a wider schema begins another file.
    Mostly there are only those that the table is to have.

    Args:
        folder: Where the files lie until the table is moved to its place.
        task: Task name, for messages.
        rows_per_file: Rows of each file of the table; None for one file.
    """

    def __init__(self, folder: Path, task: str, rows_per_file: int | None) -> None:
        self._folder = folder
        self._task = task
        self._rows_per_file = rows_per_file
        shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was cut short
        folder.mkdir()
        self.schema: pa.Schema | None = None
        self._writer: Any = None
        self._files: list[Path] = []
        self._row_count = 0
        self._is_widened = False

    def add(self, table: pa.Table) -> None:
        """Writes a chunk whose schema holds everything seen so far."""
        if self._files and table.schema != self.schema:
            self.close()
            self._is_widened = True
        self.schema = table.schema
        for piece in self._pieces(table):
            if self._writer is None:
                self._files.append(self._folder / f"{len(self._files):06d}.parquet")
                self._writer = _writer(self._files[-1], self.schema)
            self._writer.write_table(piece)
            self._row_count += len(piece)
            if self._rows_per_file and self._row_count % self._rows_per_file == 0:
                self.close()

    def _pieces(self, table: pa.Table) -> Iterator[pa.Table]:
        """The rows of a chunk, cut where a file of the table ends."""
        size = self._rows_per_file
        if size is None:
            yield table
            return
        first = size - self._row_count % size
        for begin, end in pairwise([0, *range(first, len(table), size), len(table)]):
            yield table.slice(begin, end - begin)

    def close(self) -> None:
        """Ends the file that is being written."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def chunks(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """The chunks as they were written, or some columns of them."""
        for file in self._files:
            with open_parquet(file) as part:
                for number in range(part.num_row_groups):
                    yield part.read_row_group(number, columns=columns)

    def move_to(self, path: Path) -> None:
        """Moves the table to its place, under one schema.

        Raises:
            BadInput: a number that the wider type cannot hold, or a type nested too deep.
        """
        files = self._widened_files() if self._is_widened else self._files
        if self._rows_per_file is None:
            files[0].replace(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
            for file, name in zip(files, file_names(len(files)), strict=True):
                file.replace(path / name)
        shutil.rmtree(self._folder)

    def _widened_files(self) -> list[Path]:
        """The files of the table, written anew under the last schema."""
        whole = _Parts(self._folder / "whole", self._task, self._rows_per_file)
        try:
            for table in self.chunks():
                whole.add(_widen(table, self.schema))
        except (ValueError, OSError) as error:
            if getattr(error, "errno", None):
                raise
            raise BadInput(
                Problem(
                    what=f"{self._task} does not fit into parquet: {error}",
                    where=self._task,
                    fix="simplify the column",
                )
            ) from None
        finally:
            whole.close()
        return whole._files


def _writer(path: Path, schema: pa.Schema | None) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, schema, compression="zstd")


def _refuse_repeated(hashes: array[int], parts: _Parts, task: str) -> None:
    """Raises `BadInput` for the first row whose id an earlier row has.

    Args:
        hashes: The hash of each row's id: only rows of equal hashes are looked at.
        parts: The rows.
        task: Task name, for messages.
    """
    import numpy as np

    values = np.frombuffer(hashes, dtype=np.int64)
    ascending = np.sort(values)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if not len(repeated):
        return
    suspects, known, number = set(repeated.tolist()), set(), 0
    for table in parts.chunks([ID_COLUMN]):
        for identifier in table.column(ID_COLUMN).to_pylist():
            if identifier in known:
                raise BadInput(
                    Problem(
                        what=f"sample_id {identifier!r} occurs twice in {task} (again in "
                        f"row {number})",
                        where=task,
                        fix="make ids unique, e.g. by counting repeats",
                    )
                )
            if hash(identifier) in suspects:
                known.add(identifier)
            number += 1


def _widen(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A chunk under the final schema: columns that came later are null in it."""
    import pyarrow as pa

    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(len(table), field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _table(chunk: Chunk, known: pa.Schema | None, task: str) -> pa.Table:
    """One chunk as a table whose schema holds everything seen so far."""
    import pyarrow as pa

    fixed = _fixed_types()
    known_fields = {} if known is None else {field.name: field for field in known}
    fields, arrays = [], []
    before = known.names if known is not None else [ID_COLUMN]
    for name in dict.fromkeys(chain(before, chunk.names())):
        values = chunk.values(name)
        try:
            array = _array(values, fixed.get(name), known_fields.get(name))
        except ARROW_ERRORS as error:
            raise BadInput(_unstorable(name, chunk, fixed.get(name), error, task)) from None
        fields.append(pa.field(name, array.type))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _array(values: Sequence[Any], kind: pa.DataType | None, known: pa.Field | None) -> pa.Array:
    """The values of a column, in a type that also holds what was seen of it before."""
    array = array_of(values, kind)
    if "struct<>" in str(array.type):
        # Parquet has no structs without fields.
        values = [_without_empty(value) for value in values]
        array = array_of(values)
    if known is not None and array.type != known.type:
        import pyarrow as pa

        schemas = [pa.schema([known]), pa.schema([pa.field(known.name, array.type)])]
        merged = pa.unify_schemas(schemas, promote_options="permissive")
        array = array_of(values, merged.field(0).type)
    return array


def _unstorable(
    name: str, chunk: Chunk, kind: pa.DataType | None, error: Exception, task: str
) -> Problem:
    """Names the row that holds a value that cannot be stored."""
    ids = [row[ID_COLUMN] for row in chunk.as_mappings()]
    values = python_values(chunk.values(name))
    return unstorable(name, values, kind, error, of=task, place=lambda n: f"row {ids[n]}")


def _without_empty(value: Any) -> Any:
    """The same value with null for every empty mapping."""
    if isinstance(value, dict):
        return {key: _without_empty(item) for key, item in value.items()} or None
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


def _deeper(value: Any, levels: int) -> bool:
    """Returns whether a value is nested deeper than so many levels; one that holds itself is."""
    if not isinstance(value, dict | list | tuple):
        return False
    if levels == 0:
        return True
    inner = value.values() if isinstance(value, dict) else value
    return not _FLAT.issuperset(map(type, inner)) and any(
        _deeper(item, levels - 1) for item in inner
    )


def _checked_ids(chunk: Chunk, first: int, task: str) -> Sequence[str]:
    """The ids of rows.

    Args:
        chunk: The rows.
        first: The number of the first one, for messages.
        task: Task name, for messages.

    Raises:
        BadInput: a row is not a mapping, is nested too deeply, or has no id.
    """
    columns = chunk.columns
    if columns is not None and ID_COLUMN in columns:
        ids = python_values(columns[ID_COLUMN])
        are_texts = set(map(type, ids)) == {str} and all(ids)
        if are_texts and all(map(_is_flat, columns.values())):
            return ids
    rows = enumerate(chunk.as_mappings(), first)
    return [_checked_id(row, number, task) for number, row in rows]


def _is_flat(values: Sequence[Any]) -> bool:
    """Returns whether no value of a column holds others, or only lists of values that hold none."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return True
    kinds = set(map(type, values))
    if kinds <= _FLAT:
        return True
    if not kinds <= {list, type(None)}:
        return False
    return _FLAT.issuperset(map(type, chain.from_iterable(value or () for value in values)))


def _checked_id(row: Any, number: int, task: str) -> str:
    """The id of a row.

    Raises:
        BadInput: the row is not a mapping, is nested too deeply, or has no id.
    """
    if not isinstance(row, Mapping):
        raise no_row(row, f"row {number} of {task}", task)
    nested = (name for name, value in row.items() if type(value) not in _FLAT)
    if deep := [name for name in nested if _deeper(row[name], MOST_NESTED)]:
        place = f"levels deep in column {deep[0]!r}"
        what = f"row {number} of {task} is nested more than {MOST_NESTED} {place}"
        raise BadInput(Problem(what=what, where=task, fix="keep such a value as JSON text"))
    identifier = row.get(ID_COLUMN)
    if not isinstance(identifier, str) or not identifier:
        raise BadInput(
            Problem(
                what=f"row {number} of {task} has no sample_id",
                where=task,
                fix="give each row a unique, stable text",
            )
        )
    return identifier


class Repeats:
    """Makes ids unique by counting repeats: `a`, `a.2`, `a.3`.

    A repeat keeps its number as long as the rows before it stay, so ids are stable over machines
    and runs.

    >>> repeats = Repeats()
    >>> [repeats.unique(name) for name in ["a", "b", "a"]]
    ['a', 'b', 'a.2']
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """The name itself on its first use, with a number later."""
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return name if count == 1 else f"{name}.{count}"


def named_rows(rows: Iterable[Any]) -> Iterator[Any]:
    """Yields the rows with ids: their own `sample_id`, else a digest of their content.

    Args:
        rows: Mappings or Arrow record batches.
    """
    repeats = Repeats()
    for row in rows:
        yield _named(row, repeats) if isinstance(row, dict) else _named_batch(row, repeats)


def _named(row: dict[str, Any], repeats: Repeats) -> dict[str, Any]:
    """The row itself, with an id."""
    if row.get(ID_COLUMN) in (None, ""):
        digest = hashlib.sha256(json.dumps(row, sort_keys=True, default=str).encode()).hexdigest()
        row[ID_COLUMN] = repeats.unique(digest[:16])
    row[ID_COLUMN] = str(row[ID_COLUMN])
    return row


def _named_batch(batch: pa.RecordBatch, repeats: Repeats) -> pa.RecordBatch:
    """The batch, with an id in each row."""
    kinds = {field.name: field.type for field in batch.schema}
    has_ids = ID_COLUMN in kinds and is_text(kinds[ID_COLUMN])
    if has_ids and all(batch.column(ID_COLUMN).to_pylist()):
        return batch
    ids = [_named(row, repeats)[ID_COLUMN] for row in batch.to_pylist()]
    return with_columns(batch, {ID_COLUMN: array_of(ids)})
