"""Read a data set wherever it is: local file or folder, or a hub id.

The columns that are needed, pinned by revision.

The hub is read through its files rather than through `datasets.load_dataset`: a card's `configs`
section names the parquet or JSON files of each split, so only those are fetched, no code of a
repository is ever run, and importing takes milliseconds. HF_HOME, HF_ENDPOINT, HF_TOKEN and
HF_HUB_OFFLINE are honoured by huggingface_hub.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalprep.data.batches import with_columns
from evalprep.data.card import CARD_FILES, read_card
from evalprep.data.folders import hub_folder, local_folder
from evalprep.data.hub import hub_snapshot
from evalprep.data.keyed import has_texts, is_plain
from evalprep.data.layout import Card, Chosen, choose, splits_in
from evalprep.data.nested import column_of, value_at
from evalprep.data.remote import hub_address, local_copy, protocol_of
from evalprep.data.rowfiles import (
    file_columns,
    file_rows,
    is_data_file,
    is_parquet,
    parquet_batches,
    parquet_count,
    parquet_schema,
)
from evalprep.data.slices import Part, parts_of
from evalprep.errors import BadInput, Problem, near
from evalprep.files import file_sha256
from evalprep.places import is_file, is_folder, place
from evalprep.terminal import counted, shortlist

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
FIRST_ROWS = 1_000  # in which a path into a nested column must find something
SHOWN_FILES, SHOWN_SOURCES = 3, 8


@dataclass
class Source:
    """One readable split of a data set.

    Attributes:
        location: What the user wrote.
        files: The data files, in order.
        parts: What rows of them are meant, where they are not all: the part of a split, and its
            files.
        revision: Commit of a hub data set, None for local data.
        requested: The revision that was asked for, before a lock file.
        renamed: New column name -> name in the files, or a path into a nested column
            (`choices.text`).
        options: How the files are read (`read_options`: what a card says of that).
        rows_read: Rows that `rows()` has yielded so far; the manifest records it.
    """

    location: str
    files: list[Path]
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    rows_read: int = 0
    requested: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    parts: Sequence[tuple[Part, Sequence[Path]]] = ()
    _columns: list[str] | None = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """Column names: of the parquet schema, of the head of CSV, of the first row of JSON."""
        return list(dict.fromkeys([*self._in_files(), *self.renamed]))

    def _in_files(self) -> list[str]:
        if self._columns is None:
            self._columns = file_columns(self.files[0], **self.options)
        return self._columns

    def has(self, name: str) -> bool:
        """Returns whether there is such a column.

        A path counts that finds something in a nested column, in one of the first rows.
        """
        column = name.partition(".")[0]
        if name in self.columns or column == name or column not in self._in_files():
            return name in self.columns
        rows = islice(
            chain.from_iterable(file_rows(file, [column], **self.options) for file in self.files),
            FIRST_ROWS,
        )
        return any(value_at(row, name) is not None for row in rows)

    def require(self, columns: Sequence[str], *, where: str = "") -> None:
        """Refuses a source that lacks columns.

        Raises:
            BadInput: names the missing ones and lists those found.
        """
        missing = [name for name in columns if not self.has(name)]
        if missing:
            raise BadInput(
                Problem(
                    what=f"lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                    where=where or self.describe(),
                    allowed=f"columns found: {', '.join(self.columns) or 'none'}",
                    fix="; ".join(filter(None, (near(name, self.columns) for name in missing)))
                    or "name the data's own columns with `columns: {ours: theirs}`, or choose "
                    "another data set",
                )
            )

    def describe(self) -> str:
        """Location with config and split, for messages."""
        return (
            self.location
            + (f" [{self.config}]" if self.config else "")
            + (f" split {self.split}" if self.split else "")
        )

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Streams rows as mappings, in file order, in bounded memory.

        Args:
            columns: Read only these; None reads all.

        Raises:
            BadInput: a malformed file, with its line where there is one.
        """
        if columns is not None:
            self.require(columns)
        read = None
        if columns is not None:
            read = list(
                dict.fromkeys(
                    column_of(self.renamed.get(name, name), self._in_files()) for name in columns
                )
            )
        rows = self.each(lambda path: file_rows(path, read, **self.options))
        if not self.renamed:
            yield from rows
            return
        for row in rows:
            whole = row | {name: value_at(row, old) for name, old in self.renamed.items()}
            yield whole if columns is None else {name: whole.get(name) for name in columns}

    def batches(self, *required: str) -> Iterator[pa.RecordBatch] | None:
        """Streams all rows in columns, in bounded memory.

        Args:
            required: Columns of text that there must be.

        Returns:
            None where rows are needed: files other than parquet, parts of splits, new names of
            values inside of columns, columns that `rows` would not give as JSON does.
        """
        if self.parts or not all(map(is_parquet, self.files)):
            return None
        first, *others = [parquet_schema(path) for path in self.files]
        alike = len(set(first.names)) == len(first.names) and all(map(first.equals, others))
        if not alike or not is_plain(first) or not set(self.renamed.values()) <= set(first.names):
            return None
        texts = [self.renamed.get(name, name) for name in required]
        return self._batches() if has_texts(first, texts) else None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in chain.from_iterable(map(parquet_batches, self.files)):
            self.rows_read += batch.num_rows
            columns = {new: batch.column(old) for new, old in self.renamed.items()}
            yield with_columns(batch, columns) if columns else batch

    def each(self, read: Callable[[Path], Iterable[T]]) -> Iterator[T]:
        """Yields the rows that are meant, as a reader of one's own returns them.

        The reader yields one thing for each row of a file.

        Raises:
            BadInput: parts of splits that hold no row.
        """
        before = self.rows_read
        for part, files in self.parts or [(Part(""), self.files)]:
            try:
                low, high = part.bounds(_count(files, read) if part.needs_count else 0)
            except ValueError as error:
                raise BadInput(Problem(what=str(error), where=self.location)) from None
            for item in islice(chain.from_iterable(map(read, files)), low, high):
                self.rows_read += 1
                yield item
        if self.rows_read == before and not all(part.whole for part, _ in self.parts):
            counts = {part.split: _count(files, read) for part, files in self.parts}
            sizes = [f"{split} has {counted(count, 'row')}" for split, count in counts.items()]
            raise BadInput(
                Problem(
                    what=f"{self.split} holds no row", where=self.location, allowed=", ".join(sizes)
                )
            )

    def facts(self) -> dict[str, Any]:
        """The facts that the manifest records.

        Enough to see later whether the same data were used.
        """
        return {
            "location": self.location,
            "config": self.config,
            "split": self.split,
            "revision": self.revision,
            "rows": self.rows_read,
            "files": [{"name": path.name, "sha256": file_sha256(path)} for path in self.files],
        }


def _count(files: Sequence[Path], read: Callable[[Path], Iterable[Any]]) -> int:
    """Returns how many rows files have; only parquet files tell without being read."""
    return sum(
        parquet_count(path) if is_parquet(path) else sum(1 for _ in read(path)) for path in files
    )


def source_lines(sources: Iterable[Source], *, folder: Path) -> list[str]:
    """Returns lines on the data that were read: data set, config, split, files and rows.

    Args:
        sources: The sources, in the order in which they were opened.
        folder: Paths below it are shown from there.
    """
    by_place: dict[str, list[Source]] = {}
    for source in sources:
        commit = f" at {source.revision[:12]}" if source.revision else ""
        location = source.location.removeprefix(f"{folder}/")
        by_place.setdefault(f"{location}{commit}", []).append(source)
    lines = []
    for name, inside in by_place.items():
        parts = list(dict.fromkeys(_files_and_rows(source) for source in inside))
        if len(parts) > SHOWN_SOURCES:
            parts[SHOWN_SOURCES:] = [
                f"and {len(parts) - SHOWN_SOURCES} more, see `sources` of manifest.json"
            ]
        if len(parts) == 1:
            lines.append(f"{name}: {parts[0]}")
        else:
            lines.append(f"{name}:")
            lines += [f"  {part}" for part in parts]
    return lines


def _files_and_rows(source: Source) -> str:
    names = [path.name for path in source.files if path.name != Path(source.location).name]
    files = shortlist(names, SHOWN_FILES)
    config = f"config {source.config}" if source.config else ""
    split = f"split {source.split}" if source.split else ""
    return ", ".join(filter(None, [config, split, files, counted(source.rows_read, "row")]))


def open_source(
    location: str,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    columns: Mapping[str, str] | None = None,
    data_files: Any = None,
    data_dir: str | None = None,
    folder: Path | None = None,
    where: str = "",
) -> Source:
    """Finds the files of one split.

    Args:
        location: A local file or folder (relative to `folder`), a hub id `owner/name`, or an
            address (`s3://`, `gs://`, `hf://datasets/`, ...).
        config: Config (subset) name of the data set's card.
        split: Split, or parts of splits as `slices` reads them; None takes the only one.
        revision: Branch, tag or commit of a hub data set.
        columns: New name -> name in the files.
        data_files: File patterns instead of those that the card declares.
        data_dir: A folder of the data set to look in.
        folder: Folder that a relative path refers to; the current one by default.
        where: Which key of which file named the location, for messages.

    Raises:
        BadInput: nothing there, no such config or split, gated or unreachable hub data.
    """
    where = where or location
    if protocol_of(location) is not None:
        return _open_address(
            location,
            config=config,
            split=split,
            revision=revision,
            columns=columns,
            data_files=data_files,
            data_dir=data_dir,
            where=where,
        )
    renamed = columns or {}
    path = place(location, folder or Path.cwd())
    if is_file(path):
        file = path.resolve()
        parts = [(part, [file]) for part in _parts_of_file(split, where)]
        return Source(location, [file], config, split, renamed=renamed, parts=parts)
    if is_folder(path):
        found = local_folder(location, path, where)
    else:
        _refuse_local(location, path, where)
        found = hub_folder(location, revision, where)
    cards = [name for name in CARD_FILES if name in found.names]
    card = read_card(found.root_with(cards, where)) if cards else Card()
    chosen = choose(
        found.names,
        card,
        config=config,
        split=split,
        data_files=data_files,
        data_dir=data_dir,
        where=where,
    )
    root = found.root_with(chosen.files, where)
    return _source(location, root, chosen, found.commit, renamed, where)


def _refuse_local(location: str, path: Path, where: str) -> None:
    """Refuses what is written as a path of this machine, at which there is nothing.

    Raises:
        BadInput: with the nearest name beside it.
    """
    is_id = location.count("/") == 1 and " " not in location
    if is_id and not location.startswith((".", "/", "~")) and not is_data_file(path):
        return
    try:
        siblings = [entry.name for entry in path.parent.iterdir()]
    except (OSError, ValueError):
        siblings = []
    raise BadInput(
        Problem(
            what=f"no file or folder at {path}",
            where=where,
            allowed="a local file or folder, or a hub id like owner/name",
            fix=near(path.name, siblings) or "check the spelling",
        )
    )


def _open_address(
    location: str, *, revision: str | None, data_files: Any, where: str, **options: Any
) -> Source:
    """A source at an address: a data set of the hub, or a copy of what lies there."""
    hub = hub_address(location)
    if hub is not None:
        files = data_files if hub.file is None else hub.file
        pinned = revision or hub.revision
        return open_source(hub.name, revision=pinned, data_files=files, where=where, **options)
    copy = local_copy(location, where)
    source = open_source(str(copy), revision=None, data_files=data_files, where=where, **options)
    return replace(source, location=location)


def _source(
    location: str,
    root: Path,
    chosen: Chosen,
    commit: str | None,
    columns: Mapping[str, str],
    where: str,
) -> Source:
    files = [root / name for name in chosen.files]
    if missing := [str(file) for file in files if not is_file(file)]:
        raise BadInput(
            Problem(
                what=f"{location}: {missing[0]} was not fetched",
                where=where,
                fix="fetch it again, or give a local copy",
            )
        )
    for file in files:
        if not is_data_file(file):
            raise BadInput(
                Problem(
                    what=f"{file.name} is packed in a way that is not read",
                    where=where,
                    allowed="plain, .gz, .bz2, .xz or .zst",
                )
            )
    options = {"read_options": chosen.options} if chosen.options else {}
    parts = [(part, [root / name for name in names]) for part, names in chosen.parts]
    return Source(
        location,
        files,
        chosen.config,
        chosen.split,
        commit,
        renamed=columns,
        options=options,
        parts=parts,
    )


def _parts_of_file(split: str | None, where: str) -> list[Part]:
    """Returns what is asked of one file, which is one split, whatever that is called."""
    if split is None or not any(sign in split for sign in "[+("):
        return []
    parts = parts_of(split, re.findall(r"\w+(?:\.\w+)*", split), where)
    if len({part.split for part in parts}) > 1:
        what = f"is one file, which is one split, and {split!r} names several"
        raise BadInput(
            Problem(what=what, where=where, fix="name its folder, or the files with data_files")
        )
    return parts


def config_names(
    location: str, *, folder: Path | None = None, revision: str | None = None
) -> list[str]:
    """Config names that a data set offers, empty when its card declares none.

    Raises:
        BadInput: the data set cannot be reached.
    """
    path = place(location, folder or Path.cwd())
    if not is_folder(path):
        path = hub_snapshot(location, revision, list(CARD_FILES), location)
    return [
        str(config["config_name"]) for config in read_card(path).configs if "config_name" in config
    ]


def local_splits(folder: Path, *, config: str | None) -> list[str]:
    """The names of the splits in a local folder.

    Raises:
        BadInput: no such config, too many files, or files that are no rows.
    """
    names = local_folder(str(folder), folder, str(folder)).names
    return splits_in(names, read_card(folder), config=config)
