"""The samples of one task under one filter as columns of numbers: small enough for a million rows.

Texts stay in the source; each row has its place there (`offset`, `length`), so that the few rows
that a comparison prints are read back on demand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics.extract.thinking import strip_thinking
from evalprep.samples.ids import Ids
from evalprep.samples.metric import NOT_SCORES, SCORER_ERROR
from evalprep.samples.sample import Damage, Sample
from evalprep.samples.schema import COLUMNS
from evalprep.samples.sources import SampleSource

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.int8]
Hashes = NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_LOOKED_UP = 4096  # rows whose samples are looked up at once
_LOOKED_AT = 64  # rows whose replies are read for unfinished thoughts


@dataclass
class Table:
    """Columns of equal length, one row per document.

    Args:
        source: Where its samples are read from.
        filter: The filter whose lines these are.
        ids: Row identity.
        id_source: The column that `ids` come from.
        doc_id: Position in the split.
        doc_hash: First 64 bits of the harness' sha256 of the document; 0 where it is not logged.
        prompt_hash: The same of the first prompt.
        target_hash: The same of the gold answer's text; 0 where it is not logged.
        prompt_as_prepared: 1 the prompt sent is `doc.prompt`, 0 it is not, -1 there is no such
            column.
        response_hash: Length and CRC-32 of the raw replies, in 64 bits.
        previous: The published verdict; 1, 0, -1 for none, or -2 for one that is neither true nor
            false.
        unparsed: 1 when nothing could be extracted from the reply.
        empty: 1 where every reply of a row is blank, 0 where one is not, -1 where none is a text.
        subtask, cluster: Codes into `subtasks` and `clusters`; -1 for none.
        offset, length: Place of the sample in its source.
        metrics: Metric name -> values, NaN where a value is missing or not a number.
        weights: Metric name -> number of values behind each mean, only for metrics that return
            lists.
        pairs: Metric name -> the two numbers of each row, only for metrics whose rows hold pairs:
            log-likelihood and length of perplexities (length 1 for `perplexity`), gold and
            predicted class of `f1` and `mcc`.
        documents: Column of the row -> codes of documents, for columns of a usual name of which
            values repeat; -1 for none.
        filters: Every filter in the source -> its number of samples.
        damage: Lines that could not be used.
        part_of_whole: Of a part of a table, the place of each row there; None of a whole one.
    """

    source: SampleSource
    filter: str
    ids: Ids
    id_source: str
    doc_id: Ints
    doc_hash: Hashes
    prompt_hash: Hashes
    target_hash: Hashes
    prompt_as_prepared: Flags
    response_hash: Hashes
    previous: Flags
    unparsed: Flags
    empty: Flags
    subtask: Ints
    cluster: Ints
    offset: Ints
    length: Ints
    subtasks: list[str]
    clusters: list[str]
    metrics: dict[str, Floats]
    weights: dict[str, Floats]
    pairs: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    documents: dict[str, Ints] = field(default_factory=dict)
    filters: dict[str, int] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)
    part_of_whole: Ints | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """What was found out about these rows, by what it is; it lives as long as they do."""
        return {}

    @property
    def places(self) -> Ints:
        """The place of each row among all rows of the filter."""
        return np.arange(len(self)) if self.part_of_whole is None else self.part_of_whole

    @property
    def scoring_failed(self) -> NDArray[np.bool_]:
        """For each row, True where its scorer failed: its other values stand for no verdict."""
        errors = self.metrics.get(SCORER_ERROR)
        return np.zeros(len(self), dtype=np.bool_) if errors is None else errors > 0

    def numbers(self, metric: str) -> Floats:
        """Returns the number of each row for a metric.

        NaN where a row has none, and of a score where the row's scorer failed.
        """
        values = self.metrics.get(metric)
        if values is None:
            return np.full(len(self), np.nan)
        failed = self.scoring_failed
        if metric in NOT_SCORES or not failed.any():
            return values
        return np.where(failed, np.nan, values)

    def kept(self, rows: Ints, ids: Ids) -> Table:
        """Returns some rows alone, in the order given and under these ids."""
        return replace(
            self,
            ids=ids,
            **{name: getattr(self, name)[rows] for name in COLUMNS},
            metrics={name: values[rows] for name, values in self.metrics.items()},
            weights={name: values[rows] for name, values in self.weights.items()},
            pairs={name: (a[rows], b[rows]) for name, (a, b) in self.pairs.items()},
            documents={name: codes[rows] for name, codes in self.documents.items()},
            part_of_whole=self.places[rows],
        )

    def read(self, rows: Iterable[int]) -> Iterator[Sample]:
        """The full samples of some rows, in the order asked for."""
        remaining = iter(rows)
        while some := list(islice(remaining, _LOOKED_UP)):
            places = zip(self.offset[some].tolist(), self.length[some].tolist(), strict=True)
            samples = self.source.at([*places])
            for sample_id, sample in zip(self.ids.at(some), samples, strict=True):
                if isinstance(sample, Sample):
                    sample.sample_id = sample_id
                    yield sample

    @cached_property
    def id_hashes(self) -> Hashes:
        """A hash of each id, of this process alone; never 0."""
        return self.ids.hashes()

    @cached_property
    def repeated_ids(self) -> Hashes:
        """The hashes of ids that occur more than once."""
        hashes = np.sort(self.id_hashes)
        return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])

    @cached_property
    def distinct_ids(self) -> Ids:
        """The ids, a repeated one with the row's place in the split, and its number there."""
        if not self.repeated_ids.size:
            return self.ids
        is_repeated = np.isin(self.id_hashes, self.repeated_ids).tolist()
        known: Counter[str] = Counter()
        names = []
        for name, place, again in zip(self.ids, self.doc_id.tolist(), is_repeated, strict=True):
            own = f"{name}#{place}" if again else name
            known[own] += 1
            names.append(own if known[own] == 1 else f"{own}#{known[own]}")
        return Ids.of(names)

    @property
    def id_count(self) -> int:
        """How many rows there are, those of one id and place as one."""
        if not self.repeated_ids.size:
            return len(self)
        return len(set(zip(self.ids, self.doc_id.tolist(), strict=True)))

    def row_keys(self, repeated: Hashes) -> Hashes:
        """Returns a hash for each row: of its id, and of a repeated id with prompt and place.

        Args:
            repeated: Hashes of the ids that are repeated, here or in another table.
        """
        keys = self.id_hashes
        if not repeated.size:
            return keys
        whole = keys
        for column in (self.prompt_hash, self.doc_id.astype(np.uint64)):
            whole = (whole ^ column) * _ODD
            whole ^= whole >> np.uint64(32)
        return np.where(np.isin(keys, repeated), whole, keys)

    @cached_property
    def unfinished_thoughts(self) -> tuple[int, int]:
        """Replies that end inside a thought, and how many were looked at, evenly spread."""
        if not len(self) or not (self.empty == 0).any():
            return 0, 0  # likelihoods, or no reply at all
        rows = np.linspace(0, len(self) - 1, min(len(self), _LOOKED_AT)).astype(int)
        replies = list(chain.from_iterable(sample.replies for sample in self.read(rows.tolist())))
        return sum(strip_thinking(reply)[1] == "unclosed" for reply in replies), len(replies)

    def doubled(self) -> list[int]:
        """Rows that occur more than once: same id, same prompt, same place in the split."""
        if not self.repeated_ids.size:
            return []
        keys = self.row_keys(self.repeated_ids)
        _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
        doubled: list[int] = np.flatnonzero(counts[group] > 1).tolist()
        return doubled
