"""Decoded lines of a samples file, gathered into columns."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from evalprep.files import text_sha256
from evalprep.samples.ids import Ids, digests_in
from evalprep.samples.lines import ABSENT, DOCUMENT_COLUMNS, FIELDS, Columns, Head, columns_of
from evalprep.samples.metric import PARSE_RATES
from evalprep.samples.sample import (
    ID_COLUMNS,
    OVER_ALL_ROWS,
    UNKNOWN,
    Damage,
    as_written,
    is_blank,
    number_of,
    pair_of,
    row_id,
    verdict_of,
)
from evalprep.samples.schema import COLUMNS, HASHES
from evalprep.samples.sources import SampleSource
from evalprep.samples.table import Table


class _Codes(dict[str | None, int]):
    """Value as text -> small number, in order of appearance.

    -1 for None. `names` holds the texts.
    """

    def __init__(self) -> None:
        super().__init__({None: UNKNOWN})
        self.names: list[str] = []

    def __missing__(self, value: str) -> int:
        code = self[value] = len(self.names)
        self.names.append(value)
        return code

    def of(self, values: Sequence[Any]) -> list[int]:
        """The numbers of some values; what is no text counts by its text."""
        if _TEXTS.issuperset(map(type, values)):
            return list(map(self.__getitem__, values))
        # Not by the values themselves: True, 1 and 1.0 are one key of a dict, and three texts.
        texts = (value if type(value) in _TEXTS else str(value) for value in values)
        return list(map(self.__getitem__, texts))


def _in_range(numbers: Sequence[int]) -> NDArray[np.int64]:
    """Places in the split, those that no column can hold as unknown."""
    with contextlib.suppress(OverflowError):
        return np.array(numbers, dtype=np.int64)
    known = [number if _LEAST <= number <= _LARGEST else UNKNOWN for number in numbers]
    return np.array(known, dtype=np.int64)


def _leading64(digests: Sequence[str]) -> NDArray[np.uint64]:
    """The first 64 bits of hexadecimal digests.

    0 for none, of any other text those of its own digest.
    """
    whole = digests_in(digests)
    if whole is not None:
        return np.frombuffer(whole, dtype=">u8")[::4].astype(np.uint64)
    known = [
        digest if _HEXADECIMAL.fullmatch(digest) else text_sha256(digest) for digest in digests
    ]
    return np.array([int(digest[:16] or "0", 16) for digest in known], dtype=np.uint64)


def _of_replies(logged: Sequence[msgspec.Raw]) -> dict[str, NDArray[Any]]:
    """The columns of the logged replies."""
    replies = list(map(bytes, logged))
    if _SAYING.issuperset(map(_BEGINNING, replies)):  # texts that are not blank, as nearly all are
        empty = np.zeros(len(replies), dtype=np.int8)
        return {"response_hash": _reply_codes(replies), "empty": empty}
    written = [text if text.startswith(_ONE_TEXT) else _as_texts(text) for text in replies]
    empty = np.array(list(map(_blank_flag, replies)), dtype=np.int8)
    return {"response_hash": _reply_codes(written), "empty": empty}


def _reply_codes(written: Sequence[bytes]) -> NDArray[np.uint64]:
    """Length and CRC-32 of replies with numbers as lm-eval writes them, as texts."""
    lengths = np.fromiter(map(len, written), dtype=np.uint64, count=len(written))
    digests = np.fromiter(map(crc32, written), dtype=np.uint64, count=len(written))
    return lengths << np.uint64(32) | digests


def _as_texts(replies: bytes) -> bytes:
    """Logged replies with numbers as texts."""
    if replies.lstrip(_BRACKETS)[:1] in _OF_NUMBERS:
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(as_written(json.loads(replies)), ensure_ascii=False).encode()
    return replies


def _blank_flag(replies: bytes) -> int:
    """1 where every logged reply of a row is blank, 0 where one is not; `UNKNOWN` without a text.

    Long ones are taken to say something.
    """
    if len(replies) > _SHORT_REPLY or replies[:_LOOKED_AT] in _SAYING:
        return 0
    try:
        return is_blank(_REPLIES.decode(replies))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNKNOWN


def _as_prepared(
    prompts: Sequence[msgspec.Raw], column: Mapping[str, Sequence[Any]]
) -> Sequence[int] | NDArray[np.int8]:
    """Flags of rows whose prompt is `doc.prompt`; `UNKNOWN` without one of them."""
    if prompts.count(ABSENT) == len(prompts):
        return np.full(len(prompts), UNKNOWN, dtype=np.int8)
    sent = [requests.gen_args_0.arg_0 for requests in column["arguments"]]
    # The same text in the same spelling, nearly always; that spares a digest of every prompt.
    if ABSENT not in prompts and list(prompts) == sent:
        return np.ones(len(sent), dtype=np.int8)
    rows = zip(prompts, sent, column["prompt_hash"], strict=True)
    return [_is_prompt(prompt, argument, digest) for prompt, argument, digest in rows]


def _is_prompt(prompt: msgspec.Raw, sent: msgspec.Raw, prompt_hash: str) -> int:
    if prompt is ABSENT:
        return UNKNOWN
    if prompt == sent:
        return 1
    raw = bytes(prompt)
    if not raw.startswith(b'"') or not prompt_hash:
        return UNKNOWN
    try:
        return int(text_sha256(json.loads(raw)) == prompt_hash)
    except ValueError:  # a text that is not UTF-8
        return UNKNOWN


def _unparsed(filtered: Sequence[msgspec.Raw], metrics: Mapping[str, Sequence[Any]]) -> list[bool]:
    """Flags of rows from which nothing was extracted.

    The filter's mark tells it, or the task's own metric.
    """
    flags = [False] * len(filtered)
    if any(map(filtered.count, _INVALIDS)):
        flags = [raw in _INVALIDS for raw in filtered]
    for name in PARSE_RATES:
        if name in metrics:
            pairs = zip(flags, metrics[name], strict=True)
            flags = [flag or value in (True, 1) for flag, value in pairs]
    return flags


class _Verdicts(dict[Any, int]):
    """Published verdicts as flags, each value looked at once."""

    def __missing__(self, value: Any) -> int:
        self[value] = verdict_of(value)
        return self[value]

    def of(self, values: Sequence[Any]) -> list[int]:
        try:
            return list(map(self.__getitem__, values))
        except TypeError:
            return [verdict_of(value) for value in values]


def _usual_ids(
    head: Mapping[str, Sequence[Any]], doc_hashes: Sequence[str]
) -> tuple[str, Sequence[str]] | None:
    """The ids of rows as `row_id` takes them, and their column; None where rows take several."""
    for name in ID_COLUMNS:
        values = head[name]
        if values.count(None) == len(values):
            continue
        kinds = set(map(type, values))
        if not kinds <= _IDS or "" in values:
            return None
        return name, values if kinds == _ONLY_TEXTS else list(map(str, values))
    return None if "" in doc_hashes else ("doc_hash", doc_hashes)


_ONLY_TEXTS, _IDS = {str}, {str, int}
_TEXTS = frozenset({str, type(None)})
_HEXADECIMAL = re.compile("[0-9a-fA-F]*")
_BRACKETS = b"[ \n"
_ONE_TEXT = b'[["'  # how logged replies begin, where the first is a text
_LOOKED_AT = len(_ONE_TEXT) + 1
_BEGINNING = itemgetter(slice(_LOOKED_AT))
#: Beginnings of logged replies of which the first is not blank; others need a closer look.
_SAYING = frozenset(
    _ONE_TEXT + bytes([letter]) for letter in range(0x21, 0x7F) if letter not in b'"\\'
)
_SHORT_REPLY = 256  # bytes of logged JSON
_REPLIES = msgspec.json.Decoder(list[Any])
_OF_NUMBERS = frozenset(bytes([letter]) for letter in b"-0123456789tfNI")
_INVALIDS = (msgspec.Raw(b'["[invalid]"]'), msgspec.Raw(b'[["[invalid]"]]'))
_LEAST, _LARGEST = -(2**63), 2**63 - 1


class _Column:
    """Numbers of rows in order; a row that brings none has the missing value."""

    def __init__(self, dtype: str | type[np.generic], missing: float = 0) -> None:
        self._values = bytearray()
        self._dtype = np.dtype(dtype)
        self._missing = missing

    def put(self, start: int, values: Sequence[Any] | NDArray[Any]) -> None:
        """Adds the values of rows from `start` on; rows between were without."""
        self._pad(start)
        self._values += np.asarray(values, dtype=self._dtype).data

    def whole(self, size: int) -> NDArray[Any]:
        """Returns the values of all rows; where they are one, without memory for each."""
        self._pad(size)
        values = np.frombuffer(self._values, dtype=self._dtype)
        is_one = size > 0 and bool(np.all(values == values[0]))
        return np.broadcast_to(values[:1].copy(), size) if is_one else values

    def _pad(self, size: int) -> None:
        lacking = size - len(self._values) // self._dtype.itemsize
        if lacking:
            self._values += np.full(lacking, self._missing, dtype=self._dtype).data


class _MetricColumns:
    """The values of one metric.

    A number of each row, and what lies behind it where a row has several.

    Attributes:
        numbers: Mean of a row's numbers; NaN without one.
        weights: How many numbers a row has.
        pairs: The two numbers of rows that hold a pair.
        listed: Whether a row has a list of numbers.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers, self.weights = _Column(np.float64, np.nan), _Column(np.int32)
        self.pairs = (_Column(np.float64, np.nan), _Column(np.float64, np.nan))
        self.listed = False
        self._only_pairs = True

    def put(self, start: int, values: Sequence[Any]) -> None:
        """Adds the values of rows from `start` on."""
        kinds = set(map(type, values))
        if kinds <= {float, bool} and self.name not in OVER_ALL_ROWS:
            self.numbers.put(start, values)
            self.weights.put(start, np.ones(len(values), dtype=np.int32))
            self._only_pairs = False
            return
        numbers = [number_of(value, self.name) for value in values]
        self.numbers.put(start, [number for number, _ in numbers])
        self.weights.put(start, [weight for _, weight in numbers])
        self.listed = self.listed or list in kinds
        if self._only_pairs:
            self._put_pairs(start, values)

    def _put_pairs(self, start: int, values: Sequence[Any]) -> None:
        pairs = [pair_of(value, self.name) for value in values]
        if any(
            pair is None and value is not None for pair, value in zip(pairs, values, strict=True)
        ):
            self._only_pairs = False
            return
        for column, at in zip(self.pairs, (0, 1), strict=True):
            column.put(start, [np.nan if pair is None else pair[at] for pair in pairs])

    def whole(self, size: int) -> NDArray[np.float64]:
        """Returns the number of each row, an infinite one as missing: see `number_of`."""
        values = self.numbers.whole(size)
        infinite = np.isinf(values)
        return np.where(infinite, np.nan, values) if infinite.any() else values

    def whole_pairs(self, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Returns the two numbers of each row; None where rows hold no pairs."""
        if not self._only_pairs:
            return None
        first, second = (column.whole(size) for column in self.pairs)
        return (first, second) if np.isfinite(second).any() else None


class TableBuilder:
    """Gathers lines of one filter into the columns of a `Table`."""

    def __init__(self, filter_name: str, id_source: str | None) -> None:
        self.filter = filter_name
        self.wanted_source = id_source
        self.rows = 0
        self.ids: list[Ids] = []
        self.sources: Counter[str] = Counter()
        self.columns = {name: _Column(dtype) for name, dtype in COLUMNS.items()}
        self.metrics: dict[str, _MetricColumns] = {}
        self.subtasks, self.clusters = _Codes(), _Codes()
        self.documents = {name: _Codes() for name in DOCUMENT_COLUMNS}
        #: What turns a part of the head into the numbers of its column, where a row has it.
        self.coded: dict[str, _Codes | _Verdicts] = {
            "subtask": self.subtasks,
            "cluster": self.clusters,
            "previous": _Verdicts(),
            **self.documents,
        }
        self.columns |= {name: _Column(COLUMNS.get(name, "int64"), UNKNOWN) for name in self.coded}

    def add(
        self,
        values: Columns,
        names: tuple[str, ...],
        offsets: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> None:
        """Adds lines of one layout.

        Args:
            values: Their columns, of at least one line.
            names: Their metrics.
            offsets: Place of each line in the file, in bytes.
            lengths: Its length there.
        """
        start, rows = self.rows, len(offsets)
        column = dict(zip(FIELDS, values, strict=False))
        head = dict(zip(Head.__struct_fields__, columns_of(column["doc"]), strict=True))
        metrics = dict(zip(names, values[len(FIELDS) :], strict=True))
        self.ids.append(Ids.of(self._ids_of(head, column)))
        added: dict[str, Sequence[int] | NDArray[Any]] = {
            "doc_id": _in_range(column["doc_id"]),
            "offset": offsets,
            "length": lengths,
            **{name: _leading64(column[name]) for name in HASHES},
            **_of_replies(column["resps"]),
            "prompt_as_prepared": _as_prepared(head["prompt"], column),
            "unparsed": _unparsed(column["filtered_resps"], metrics),
            **{
                name: coded.of(head[name])
                for name, coded in self.coded.items()
                if head[name].count(None) < rows
            },
        }
        for name, numbers in added.items():
            self.columns[name].put(start, numbers)
        for name, logged in metrics.items():
            self.metrics.setdefault(name, _MetricColumns(name)).put(start, logged)
        self.rows += rows

    def _ids_of(
        self, head: dict[str, tuple[Any, ...]], column: dict[str, tuple[Any, ...]]
    ) -> Sequence[str]:
        """The ids of some rows; counts the columns that they come from."""
        if self.wanted_source is not None:
            named = zip(column[self.wanted_source], column["doc_id"], strict=True)
            self.sources["doc_id"] += column[self.wanted_source].count("")
            return [str(place if name == "" else name) for name, place in named]
        usual = _usual_ids(head, column["doc_hash"])
        if usual is not None:
            source, ids = usual
            self.sources[source] += len(ids)
            return ids
        mixed = []
        candidates = zip(*(head[name] for name in ID_COLUMNS), strict=True)
        for values, doc_hash, doc_id in zip(
            candidates, column["doc_hash"], column["doc_id"], strict=True
        ):
            doc = dict(zip(ID_COLUMNS, values, strict=True))
            identity, source = row_id(doc, doc_hash, doc_id)
            mixed.append(identity)
            self.sources[source] += 1
        return mixed

    def build(self, source: SampleSource, filters: dict[str, int], damage: list[Damage]) -> Table:
        """Returns the finished table."""
        size = self.rows
        usual = max(self.sources, key=self.sources.__getitem__, default="sample_id")
        pairs = {name: metric.whole_pairs(size) for name, metric in self.metrics.items()}
        return Table(
            source=source,
            filter=self.filter,
            ids=Ids.joined(self.ids),
            id_source=usual if self.sources["doc_id"] == size else self.wanted_source or usual,
            **{name: self.columns[name].whole(size) for name in COLUMNS},
            subtasks=self.subtasks.names,
            clusters=self.clusters.names,
            metrics={name: metric.whole(size) for name, metric in self.metrics.items()},
            weights={
                name: metric.weights.whole(size).astype(np.float64)
                for name, metric in sorted(self.metrics.items())
                if metric.listed
            },
            pairs={name: pair for name, pair in pairs.items() if pair is not None},
            documents=self._repeated_documents(size),
            filters=filters,
            damage=damage,
        )

    def _repeated_documents(self, size: int) -> dict[str, NDArray[np.int64]]:
        """The columns that name a document of which there are several rows."""
        repeated = {}
        for name, codes in self.documents.items():
            if not codes.names:
                continue
            numbers = self.columns[name].whole(size)
            if int(np.sum(numbers >= 0)) > len(codes.names):
                repeated[name] = numbers
        return repeated
