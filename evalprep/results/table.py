"""The samples of one task under one filter as columns of numbers: small enough for a million rows.

Texts stay in the file; each row knows its place there (`offset`, `length`), so that the few rows that a comparison
prints are read back on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evalprep.results.sample import Damage, Sample, parse

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.int8]


@dataclass
class Table:
    """Columns of equal length, one row per document.

    Args:
        path: The samples file.
        filter: The filter whose lines these are.
        ids: Row identity, as text.
        id_source: The column that `ids` come from.
        doc_id: Position in the split.
        prompt_hash: First 64 bits of the harness' sha256 of the prompt.
        prompt_as_prepared: 1 the prompt sent is `doc.prompt`, 0 it is not, -1 there is no such column.
        response_hash: Length and CRC-32 of the raw replies, in 64 bits.
        previous: The published verdict; 1, 0, -1 for none, or -2 for one that is neither true nor false.
        unparsed: 1 when nothing could be extracted from the reply.
        subtask, cluster: Codes into `subtasks` and `clusters`; -1 for none.
        offset, length: Place of the line in the file, in bytes.
        metrics: Metric name -> values, NaN where a value is missing or not a number.
        weights: Metric name -> number of values behind each mean, only for metrics that return lists.
        filters: Every filter in the file -> its number of lines.
        damage: Lines that could not be used.
    """

    path: Path
    filter: str
    ids: list[str]
    id_source: str
    doc_id: Ints
    prompt_hash: NDArray[np.uint64]
    prompt_as_prepared: Flags
    response_hash: NDArray[np.uint64]
    previous: Flags
    unparsed: Flags
    subtask: Ints
    cluster: Ints
    offset: Ints
    length: Ints
    subtasks: list[str]
    clusters: list[str]
    metrics: dict[str, Floats]
    weights: dict[str, Floats]
    filters: dict[str, int] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, rows: Iterable[int]) -> Iterator[Sample]:
        """The full samples of some rows, in the order asked for."""
        with self.path.open("rb") as file:
            for row in rows:
                file.seek(int(self.offset[row]))
                sample = parse(file.read(int(self.length[row])))
                if isinstance(sample, Sample):
                    sample.sample_id = self.ids[row]
                    yield sample

    def duplicates(self) -> list[str]:
        """Ids that occur more than once, in order of their second appearance."""
        if len(set(self.ids)) == len(self.ids):
            return []
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for one in self.ids:
            if one in seen:
                twice[one] = None
            seen.add(one)
        return list(twice)
