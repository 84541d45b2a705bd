"""The rows of a task's own parquet files: all of few rows, a sample of many.

What is the same for every row of a task (its templates, filters and scorer) is looked at on
`SAMPLE_ROWS` rows. What may differ in each row (length, begin-of-text, chat markup, choices) is
read from the column of prompts, where the prompt that is sent is the column's text and nothing
else; where templates make it of the row alone, it is rendered for every row, a batch at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.check.data import BATCH_ROWS, data_files, eval_split
from evalprep.check.settings import RunSettings
from evalprep.check.tree import Leaf
from evalprep.data import is_plain, open_parquet, parquet_schema, whole_numbers
from evalprep.errors import BadInput
from evalprep.files import as_mapping
from evalprep.packs import stated_files

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SAMPLE_ROWS = 1_000
SAMPLE_BLOCKS = 10
"""Runs of adjacent rows that a sample has, so that rows of one block stay together."""
BUILT_ROWS = 200  # that are made of a table at a time
#: Keys of a task that change the prompt, or the rows.
_CHANGES = ("process_docs", "description", "gen_prefix", "use_prompt", "custom_dataset", "class")


@dataclass(frozen=True)
class TaskRows:
    """The rows of a task in its own parquet files.

    Attributes:
        paths: The files, in the order of the rows.
        split: The only split, which is evaluated.
        count: Rows of all files.
        prompt: The column that is sent as it is; empty where the prompt is made otherwise.
        is_read_by_lm_eval_alone: No code of the task gets the data set as a whole.
        rendered: The columns of which templates make what is sent for a row, and nothing else
            decides it; empty where that is not so, and all rows are needed.
    """

    paths: tuple[Path, ...]
    split: str
    count: int
    prompt: str
    is_read_by_lm_eval_alone: bool = False
    rendered: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Returns whether only some rows are loaded."""
        return bool(self.prompt or self.rendered) and self.count > SAMPLE_ROWS

    def whole(self) -> TaskRows:
        """Returns the same rows, of which all are loaded."""
        return replace(self, prompt="", rendered=())

    def data_set(self) -> Any:
        """The rows that are loaded as lm-eval gets them."""
        table = self.table()
        if self.is_read_by_lm_eval_alone and _has_plain_values(table.schema):
            return Rows(table)
        import datasets

        return datasets.Dataset(table)

    @cached_property
    def positions(self) -> list[int]:
        """The rows that are loaded: all, or runs of adjacent rows over all files."""
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

        tables: list[pa.Table] = []
        first = 0
        for path in self.paths:
            with open_parquet(path) as file:
                tables += self._tables(file, first)
                first += file.metadata.num_rows
        return pa.concat_tables(tables)

    def _tables(self, file: pq.ParquetFile, first: int) -> Iterator[pa.Table]:
        """The rows of one file that are loaded; `first` is the number of its first row."""
        if not self.is_sample:
            yield file.read()
            return
        for number in range(file.num_row_groups):
            rows = range(first, first + file.metadata.row_group(number).num_rows)
            inside = [place - first for place in self.positions if place in rows]
            if inside:
                # No name for the group: it would stay in memory while the next is read.
                yield file.read_row_group(number).take(whole_numbers(inside))
            first = rows.stop

    def prompts(self) -> Iterator[tuple[list[str], list[str]]]:
        """Names and prompts of all rows, a batch at a time."""
        for names, batch in self._named_batches({self.prompt}):
            texts = batch.column(self.prompt).to_pylist()
            yield names, [text or "" for text in texts]

    def docs(self) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
        """Names of all rows, and the columns of which their prompts are made, a batch at a time."""
        for names, batch in self._named_batches(set(self.rendered)):
            yield names, batch.to_pylist()

    def _named_batches(self, columns: set[str]) -> Iterator[tuple[list[str], pa.RecordBatch]]:
        """Some columns of all rows, with the names of rows, which are their ids or numbers."""
        first = 0
        for path in self.paths:
            with open_parquet(path) as file:
                wanted = {*columns, "sample_id"}.intersection(file.schema_arrow.names)
                for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=sorted(wanted)):
                    numbers = range(first, first + batch.num_rows)
                    named = "sample_id" in wanted
                    names = batch.column("sample_id").to_pylist() if named else numbers
                    yield list(map(str, names)), batch
                    first += batch.num_rows


def task_rows(leaf: Leaf, settings: RunSettings, count: int) -> TaskRows | None:
    """The rows of a task whose data are local parquet files; None for any other task."""
    by_split, split = data_files(leaf), eval_split(leaf)
    options = leaf.config.get("dataset_kwargs") or {}
    if leaf.config.get("dataset_path") != "parquet" or set(options) != {"data_files"}:
        return None
    paths = stated_files(by_split.get(split))
    if len(by_split) != 1 or not _are_alike(paths):
        return None
    prompt = _column_of_prompts(leaf, settings.of(leaf.name), paths[0])
    # Code of a task that gets the data set may use anything of it.
    examples = as_mapping(leaf.config.get("fewshot_config"))
    takes_data_set = leaf.config.get("process_docs") or examples.get("process_docs")
    is_alone = leaf.file.kind != "class" and not takes_data_set
    rendered = () if prompt or not is_alone else _rendered_columns(leaf, settings, paths[0])
    return TaskRows(paths, split, count, prompt, is_alone, rendered)


def _are_alike(paths: Sequence[Path]) -> bool:
    """Returns whether paths are files of the same columns; `datasets` would cast others."""
    if not paths or not all(path.is_file() for path in paths):
        return False
    try:
        first, *others = map(parquet_schema, paths)
    except BadInput:
        return False  # reported with its rows
    return all(schema == first for schema in others)


def _column_of_prompts(leaf: Leaf, settings: RunSettings, path: Path) -> str:
    """The column whose text is the whole prompt; empty where lm-eval adds to it or changes it."""
    from pyarrow import types

    column = leaf.config.get("doc_to_text")
    is_text = leaf.output_type == "generate_until" and isinstance(column, str)
    if not is_text or _is_changed(leaf, settings):
        return ""
    schema = parquet_schema(path)
    if column not in schema.names:
        return ""
    field = schema.field(column)
    return str(column) if types.is_string(field.type) else ""


def _rendered_columns(leaf: Leaf, settings: RunSettings, path: Path) -> tuple[str, ...]:
    """The columns of which a row's requests are made by templates alone; empty where others are."""
    own = settings.of(leaf.name)
    if leaf.name in settings.stored_tasks or leaf.output_type not in _RENDERED_KINDS:
        return ()
    templates = [leaf.config.get(key) for key in _TEMPLATES]
    choices = leaf.config.get("doc_to_choice")
    are_stated = isinstance(choices, list) and all(isinstance(text, str) for text in choices)
    has_texts = all(isinstance(text, str) and text for text in templates)
    if not has_texts or _is_changed(leaf, own) or any(map(leaf.config.get, _OTHER_PARTS)):
        return ()
    if not (choices is None or isinstance(choices, str) or are_stated):
        return ()
    schema = parquet_schema(path)
    if not _has_plain_values(schema):
        return ()
    texts = list(map(str, [*templates, choices]))
    # lm-eval's templates get columns by their names, so that they name those that they use.
    return tuple(name for name in schema.names if any(name in text for text in texts))


_RENDERED_KINDS = ("generate_until", "multiple_choice")
_TEMPLATES = ("doc_to_text", "doc_to_target")
#: Keys of a task by which something else than text is sent.
_OTHER_PARTS = ("doc_to_image", "doc_to_audio")


def _has_plain_values(schema: pa.Schema) -> bool:
    """Returns whether Arrow gives the values that `datasets` does: no images, classes and such."""
    return is_plain(schema) and b"huggingface" not in (schema.metadata or {})


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


@contextmanager
def loaded_from(rows: Collection[TaskRows]) -> Iterator[None]:
    """Lets lm-eval load these files through Arrow.

    `datasets.load_dataset` would write a copy of each file into its cache: a third of a second for
    a small one, and the whole file in memory for a task that lists its rows. Importing `datasets`
    takes a second of CPU.
    """
    from lm_eval.api.task import ConfigurableTask

    original = ConfigurableTask.download
    by_paths: Mapping[tuple[Path, ...], TaskRows] = {part.paths: part for part in rows}

    def download(task: Any, dataset_kwargs: Any = None, **options: Any) -> None:
        part = by_paths.get(_paths_of(task, dataset_kwargs))
        if part is None:
            original(task, dataset_kwargs, **options)
        else:
            task.dataset = {part.split: part.data_set()}

    ConfigurableTask.download = download
    try:
        yield
    finally:
        ConfigurableTask.download = original


def _paths_of(task: Any, options: Any) -> tuple[Path, ...]:
    """The files of the first split of a task on parquet files; none where it loads other things."""
    if task.DATASET_PATH != "parquet" or callable(task.config.custom_dataset):
        return ()
    files = (options or {}).get("data_files")
    return stated_files(next(iter(files.values()), None) if isinstance(files, dict) else files)
