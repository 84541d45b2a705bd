"""The rows of a task's own parquet file: all of a small one, a sample of a large one.

What is the same for every row of a task (its templates, filters and scorer) is looked at on
`SAMPLE_ROWS` rows. What may differ in each row (length, begin-of-text, chat markup) is read from
the column of prompts, where the prompt that is sent is the column's text and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.check.data import BATCH_ROWS, data_files, eval_split
from evalprep.check.settings import RunSettings
from evalprep.check.tree import Leaf
from evalprep.data import STREAMED, is_plain, whole_numbers

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE_ROWS = 1_000
SAMPLE_BLOCKS = 10
"""Runs of adjacent rows that a sample has, so that rows of one block stay together."""
BUILT_ROWS = 200  # that are made of a table at a time
#: Keys of a task that change the prompt, or the rows.
_CHANGES = ("process_docs", "description", "gen_prefix", "use_prompt", "custom_dataset", "class")


@dataclass(frozen=True)
class TaskRows:
    """The rows of a task in one parquet file.

    Attributes:
        path: The file.
        split: The only split, which is evaluated.
        count: Rows of the file.
        prompt: The column that is sent as it is; empty where the prompt is made otherwise, and all
            rows are needed.
        is_read_by_lm_eval_alone: No code of the task gets the data set as a whole.
    """

    path: Path
    split: str
    count: int
    prompt: str
    is_read_by_lm_eval_alone: bool = False

    @property
    def is_sample(self) -> bool:
        """Returns whether only some rows are loaded."""
        return bool(self.prompt) and self.count > SAMPLE_ROWS

    @cached_property
    def positions(self) -> list[int]:
        """The rows that are loaded: all, or runs of adjacent rows over the whole file."""
        if not self.is_sample:
            return list(range(self.count))
        length = SAMPLE_ROWS // SAMPLE_BLOCKS
        last_start = self.count - length
        positions: set[int] = set()
        for number in range(SAMPLE_BLOCKS):
            start = last_start * number // (SAMPLE_BLOCKS - 1)
            positions.update(range(start, start + length))
        return sorted(positions)

    def table(self) -> pa.Table:
        """The rows that are loaded, read from those row groups alone that hold them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables, first = [], 0
        with pq.ParquetFile(self.path, **STREAMED) as file:
            if not self.is_sample:
                return file.read()
            for number in range(file.num_row_groups):
                count = file.metadata.row_group(number).num_rows
                rows = range(first, first + count)
                inside = [place - first for place in self.positions if place in rows]
                if inside:
                    # No name for the group: it would stay in memory while the next is read.
                    tables.append(file.read_row_group(number).take(whole_numbers(inside)))
                first += count
        return pa.concat_tables(tables)

    def prompts(self) -> Iterator[tuple[list[str], list[str]]]:
        """Names and prompts of all rows, a batch at a time."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path, **STREAMED) as file:
            has_ids = "sample_id" in file.schema_arrow.names
            columns = [self.prompt, "sample_id"] if has_ids else [self.prompt]
            first = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
                names = range(first, first + batch.num_rows)
                if has_ids:
                    names = batch.column("sample_id").to_pylist()
                texts = batch.column(self.prompt).to_pylist()
                yield list(map(str, names)), [text or "" for text in texts]
                first += batch.num_rows


def task_rows(leaf: Leaf, settings: RunSettings, count: int) -> TaskRows | None:
    """The rows of a task whose data are one local parquet file; None for any other task."""
    by_split, split = data_files(leaf), eval_split(leaf)
    options = leaf.config.get("dataset_kwargs") or {}
    if leaf.config.get("dataset_path") != "parquet" or set(options) != {"data_files"}:
        return None
    paths = by_split.get(split, [])
    if len(by_split) != 1 or len(paths) != 1:
        return None
    path = Path(paths[0])
    if not path.is_file():
        return None
    prompt = _column_of_prompts(leaf, settings.of(leaf.name), path)
    return TaskRows(path, split, count, prompt, not _takes_data_set(leaf))


def _takes_data_set(leaf: Leaf) -> bool:
    """Returns whether code of the task gets the data set, of which it may use anything."""
    if leaf.file.kind == "class" or leaf.config.get("process_docs"):
        return True
    examples = leaf.config.get("fewshot_config")
    return isinstance(examples, dict) and bool(examples.get("process_docs"))


def _column_of_prompts(leaf: Leaf, settings: RunSettings, path: Path) -> str:
    """The column whose text is the whole prompt; empty where lm-eval adds to it or changes it."""
    import pyarrow.parquet as pq
    from pyarrow import types

    column = leaf.config.get("doc_to_text")
    is_text = leaf.output_type == "generate_until" and isinstance(column, str)
    if not is_text or _is_changed(leaf, settings):
        return ""
    schema = pq.read_schema(path)
    if column not in schema.names:
        return ""
    field = schema.field(column)
    return str(column) if types.is_string(field.type) else ""


def _is_changed(leaf: Leaf, settings: RunSettings) -> bool:
    """Returns whether lm-eval adds to the prompt of a task, or changes it."""
    core = settings.core
    shots = leaf.config.get("num_fewshot")
    if shots != 0 and core.num_fewshot is not None:
        shots = core.num_fewshot
    has_frame = settings.apply_chat_template or core.system_instruction
    if shots or has_frame:
        return True
    return any(leaf.config.get(key) for key in _CHANGES)


class Rows:
    """Rows of a table in the place of a data set: what lm-eval's own code uses of one.

    Each access makes new mappings, as `datasets` does, so that a function that changes a row
    changes no other's.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.features: Mapping[str, Any] = dict.fromkeys(table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        place = range(len(self))[number]
        row: dict[str, Any] = self._table.slice(place, 1).to_pylist()[0]
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._table.to_batches(max_chunksize=BUILT_ROWS):
            yield from batch.to_pylist()


def _data_set(part: TaskRows) -> Any:
    """The rows of a file as lm-eval gets them."""
    table = part.table()
    schema = table.schema
    has_features = b"huggingface" in (schema.metadata or {})  # images, classes and the like
    has_plain_values = is_plain(schema) and not has_features
    if part.is_read_by_lm_eval_alone and has_plain_values:
        return Rows(table)
    import datasets

    return datasets.Dataset(table)


@contextmanager
def loaded_from(rows: Collection[TaskRows]) -> Iterator[None]:
    """Lets lm-eval load these files through Arrow.

    `datasets.load_dataset` would write a copy of each file into its cache: a third of a second for
    a small one, and the whole file in memory for a task that lists its rows. Importing `datasets`
    takes a second of CPU.
    """
    from lm_eval.api.task import ConfigurableTask

    original = ConfigurableTask.download
    by_path: Mapping[str, TaskRows] = {str(part.path): part for part in rows}

    def download(task: Any, dataset_kwargs: Any = None, **options: Any) -> None:
        part = by_path.get(_only_file(task, dataset_kwargs))
        if part is None:
            original(task, dataset_kwargs, **options)
        else:
            task.dataset = {part.split: _data_set(part)}

    ConfigurableTask.download = download
    try:
        yield
    finally:
        ConfigurableTask.download = original


def _only_file(task: Any, options: Any) -> str:
    """The first file of a task that loads parquet files; empty where it loads something else."""
    if task.DATASET_PATH != "parquet" or callable(task.config.custom_dataset):
        return ""
    first = (options or {}).get("data_files")
    if isinstance(first, dict):
        first = next(iter(first.values()), "")
    if isinstance(first, list) and first:
        first = first[0]
    return str(first)
