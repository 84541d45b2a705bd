"""The rows of a task as a side of a pairing: digests from its columns, texts from its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.rowkeys import AskedRow, RowKeys
from evalprep.results import Table

_PUBLISHED = ("published_doc_hash", "published_prompt_hash", "published_target_hash")
_HEXADECIMALS = 16  # of a digest, as a table keeps it


class TableRows:
    """The rows of a table; each line is read at most once for its keys, and only where needed.

    Args:
        table: The rows.
        tool: Who wrote them.
    """

    def __init__(self, table: Table, tool: str) -> None:
        self.table = table
        self.tool = tool
        self._keys: dict[int, RowKeys] = {}

    def __len__(self) -> int:
        """Returns how many rows there are."""
        return len(self.table)

    def doc_hashes(self, rows: Sequence[int]) -> list[int]:
        """First 64 bits of the digest of each document, as published where the row says so."""
        return self._digests("published_doc_hash", self.table.doc_hash, rows)

    def prompt_hashes(self, rows: Sequence[int]) -> list[int]:
        """First 64 bits of the digest of each prompt."""
        return self._digests("published_prompt_hash", self.table.prompt_hash, rows)

    def target_hashes(self, rows: Sequence[int]) -> list[int]:
        """First 64 bits of the digest of each gold answer."""
        return self._digests("published_target_hash", self.table.target_hash, rows)

    def keys(self, rows: Sequence[int]) -> list[RowKeys]:
        """Returns what some rows are paired by."""
        absent = [row for row in rows if row not in self._keys]
        for row, sample in zip(absent, self.table.read(absent), strict=True):
            self._keys[row] = AskedRow.of_sample(sample).keys()
        return [self._keys[row] for row in rows]

    def texts(self, rows: Sequence[int]) -> Iterator[AskedRow]:
        """Question and prompt of some rows."""
        return (AskedRow.texts_of(sample) for sample in self.table.read(rows))

    @cached_property
    def _first_doc(self) -> Mapping[str, Any]:
        first = next(iter(self.table.read([0])), None) if len(self.table) else None
        return {} if first is None else first.doc

    def _digests(self, name: str, column: NDArray[np.uint64], rows: Sequence[int]) -> list[int]:
        """A column for some rows; what the document says of it wins."""
        published = self._published.get(name)
        if published is None:
            return [int(value) for value in column[list(rows)].tolist()]
        return [published[row] or int(column[row]) for row in rows]

    @cached_property
    def _published(self) -> dict[str, list[int]]:
        """Digests that prepared rows carry of the published rows which they were made from."""
        columns: dict[str, list[int]] = {name: [] for name in _PUBLISHED if name in self._first_doc}
        if columns:
            for sample in self.table.read(range(len(self))):
                for name, column in columns.items():
                    column.append(_leading64(sample.doc.get(name)))
        return columns


def _leading64(digest: Any) -> int:
    """The first 64 bits of a hexadecimal digest; 0 for anything else."""
    try:
        return int(digest[:_HEXADECIMALS], 16)
    except (TypeError, ValueError):
        return 0
