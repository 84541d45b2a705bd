"""The samples of one task under one filter as columns of numbers: small enough for a million rows.

Texts stay in the source; each row has its place there (`offset`, `length`), so that the few rows
that a comparison prints are read back on demand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custom_metrics.extract.thinking import strip_thinking
from evalprep.results.metric import NOT_SCORES, SCORER_ERROR
from evalprep.results.sample import Damage, Sample
from evalprep.results.sources import SampleSource

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.int8]
Hashes = NDArray[np.uint64]
RowKey = tuple[str, int, int]
"""Id, prompt and place of a row; prompt and place are 0 for an id that is not repeated."""
_LOOKED_AT = 64  # rows whose replies are read for unfinished thoughts


@dataclass
class Table:
    """Columns of equal length, one row per document.

    Args:
        source: Where its samples are read from.
        filter: The filter whose lines these are.
        ids: Row identity, as text.
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
    """

    source: SampleSource
    filter: str
    ids: list[str]
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

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """What was found out about these rows, by what it is; it lives as long as they do."""
        return {}

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

    def kept(self, rows: Ints, ids: list[str]) -> Table:
        """Returns some rows alone, in the order given and under these ids."""
        return replace(
            self,
            ids=ids,
            doc_id=self.doc_id[rows],
            doc_hash=self.doc_hash[rows],
            prompt_hash=self.prompt_hash[rows],
            target_hash=self.target_hash[rows],
            prompt_as_prepared=self.prompt_as_prepared[rows],
            response_hash=self.response_hash[rows],
            previous=self.previous[rows],
            unparsed=self.unparsed[rows],
            empty=self.empty[rows],
            subtask=self.subtask[rows],
            cluster=self.cluster[rows],
            offset=self.offset[rows],
            length=self.length[rows],
            metrics={name: values[rows] for name, values in self.metrics.items()},
            weights={name: values[rows] for name, values in self.weights.items()},
            pairs={name: (a[rows], b[rows]) for name, (a, b) in self.pairs.items()},
            documents={name: codes[rows] for name, codes in self.documents.items()},
        )

    def read(self, rows: Iterable[int]) -> Iterator[Sample]:
        """The full samples of some rows, in the order asked for."""
        chosen = list(rows)
        places = zip(self.offset[chosen].tolist(), self.length[chosen].tolist(), strict=True)
        for row, sample in zip(chosen, self.source.at(places), strict=True):
            if isinstance(sample, Sample):
                sample.sample_id = self.ids[row]
                yield sample

    @cached_property
    def _ids_differ(self) -> bool:
        """Returns whether every id has another hash, in less memory than a set of them takes."""
        hashes = np.fromiter(map(hash, self.ids), dtype=np.int64, count=len(self.ids))
        hashes.sort()
        return not bool(np.any(hashes[1:] == hashes[:-1]))

    @cached_property
    def unfinished_thoughts(self) -> tuple[int, int]:
        """Replies that end inside a thought, and how many were looked at, evenly spread."""
        if not len(self) or not (self.empty == 0).any():
            return 0, 0  # likelihoods, or no reply at all
        rows = np.linspace(0, len(self) - 1, min(len(self), _LOOKED_AT)).astype(int)
        replies = list(chain.from_iterable(sample.replies for sample in self.read(rows.tolist())))
        return sum(strip_thinking(reply)[1] == "unclosed" for reply in replies), len(replies)

    def duplicates(self) -> list[str]:
        """Ids that occur more than once, in order of their second appearance."""
        if self._ids_differ:
            return []
        seen: set[str] = set()
        twice: dict[str, None] = {}
        for sample_id in self.ids:
            if sample_id in seen:
                twice[sample_id] = None
            seen.add(sample_id)
        return list(twice)

    def rows_by_key(self, repeated: Collection[str]) -> dict[RowKey, list[int]]:
        """Rows by id; where an id is repeated, by id, prompt and place in the split."""
        groups: defaultdict[RowKey, list[int]] = defaultdict(list)
        for row, row_id in enumerate(self.ids):
            key = (row_id, 0, 0)
            if row_id in repeated:
                key = (row_id, int(self.prompt_hash[row]), int(self.doc_id[row]))
            groups[key].append(row)
        return dict(groups)

    def doubled(self) -> list[int]:
        """Rows that occur more than once: same id, same prompt, same place in the split."""
        repeated = set(self.duplicates())
        groups = self.rows_by_key(repeated) if repeated else {}
        doubled = [rows for rows in groups.values() if len(rows) > 1]
        return list(chain.from_iterable(doubled))
