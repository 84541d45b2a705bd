"""The keys of rows as columns of numbers: what two rows have in common where a key is equal.

A key is a digest of 64 bits; 0 stands for a key that is not known, by which nothing is paired.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalprep.packs import is_chat
from evalprep.samples.asked import Asked, are_positions, normalise, normalise_loosely, plain_prompt
from evalprep.samples.question import question_text
from evalprep.samples.table import Table
from evalprep.samples.tool_names import LM_EVAL

Rows = NDArray[np.int64]
Hashes = NDArray[np.uint64]
#: Key columns of what a row asks. `place` is the position and 1, `choice_set` the choices in any
#: order, `only_prompt` 1 where the question stands somewhere in the prompt and nowhere else; what
#: is loose tells no case, blanks and final stops apart.
ASKED = (
    *("id", "place", "question", "loose_question", "target", "loose_target"),
    *("choices", "choice_set", "only_prompt"),
)
#: Key columns of the requests: all of their arguments, and the gold answer, of an index the choice.
REQUESTS = ("arguments", "gold")
_PUBLISHED = ("published_doc_hash", "published_prompt_hash", "published_target_hash")
_HEXADECIMALS = 16  # of a digest, as a table keeps it
_AT_ONCE = 4096  # rows that are read at once
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Keys:
    """The key columns of one side; a line is read when a key of it is asked for, and once.

    Args:
        table: The rows.
        tool: Who wrote them; empty where that is not known.
    """

    def __init__(self, table: Table, tool: str = LM_EVAL) -> None:
        self.table = table
        self.tool = tool
        self._columns: dict[str, Hashes] = {}
        self._is_read: dict[tuple[str, ...], NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        """Returns how many rows there are."""
        return len(self.table)

    @property
    def prompt(self) -> Hashes:
        """lm-eval's digest of each first prompt."""
        return self.table.prompt_hash

    @property
    def gold(self) -> Hashes:
        """lm-eval's digest of each gold answer."""
        return self.table.target_hash

    @cached_property
    def digests(self) -> tuple[Hashes, Hashes, Hashes]:
        """lm-eval's digests of document, prompt and gold answer.

        Prepared rows carry those of the published rows which they were made from; these win.
        """
        table = self.table
        logged = table.doc_hash, self.prompt, self.gold
        first = next(iter(table.read([0])), None) if len(self) else None
        if first is None or not any(name in first.doc for name in _PUBLISHED):
            return logged
        stated = np.array(
            [
                [_leading64(sample.doc.get(name)) for name in _PUBLISHED]
                for sample in table.read(range(len(self)))
            ],
            dtype=np.uint64,
        )
        document, prompt, gold = (
            np.where(of_row != 0, of_row, column)
            for of_row, column in zip(stated.T, logged, strict=True)
        )
        return document, prompt, gold

    def of(self, name: str, rows: Rows) -> Hashes:
        """Returns one key of some rows, by its name in `ASKED` or `REQUESTS`."""
        if not rows.size:
            return np.zeros(0, dtype=np.uint64)
        names, keys = (ASKED, self._asked_keys) if name in ASKED else (REQUESTS, self._request_keys)
        if name not in self._columns:
            empty = np.zeros((len(names), len(self)), dtype=np.uint64)
            self._columns |= dict(zip(names, empty, strict=True))
            self._is_read[names] = np.zeros(len(self), dtype=np.bool_)
        is_read = self._is_read[names]
        unread = rows[~is_read[rows]]
        for start in range(0, unread.size, _AT_ONCE):
            some = unread[start : start + _AT_ONCE]
            values = np.array(list(keys(some.tolist())), dtype=np.uint64)
            for each, column in zip(names, values.T, strict=True):
                self._columns[each][some] = column
            is_read[some] = True
        return self._columns[name][rows]

    def asked(self, rows: Sequence[int]) -> Iterator[Asked]:
        """What some rows ask, read from their lines."""
        return map(Asked.of, self.table.read(rows))

    def texts(self, rows: Sequence[int]) -> Iterator[tuple[str, str]]:
        """Question and prompt of some rows, which take less time than all that they ask."""
        for sample in self.table.read(rows):
            yield question_text(sample.doc), plain_prompt(sample.prompt)

    @cached_property
    def is_numbered(self) -> bool:
        """True where the data set's ids are the positions of its rows."""
        ids = [row.id for row in self.asked(range(len(self)))]
        return are_positions([text for text in ids if text])

    def was_chat(self, row: int) -> bool | None:
        """True where a row's prompt was logged as messages of a chat; None without a prompt."""
        sample = next(iter(self.table.read([row])), None)
        if sample is None or not sample.prompt:
            return None
        return is_chat(sample.prompt)

    def _asked_keys(self, rows: Sequence[int]) -> Iterator[tuple[int, ...]]:
        for row in self.asked(rows):
            question, target = normalise(row.question), row.target
            choices = [normalise(choice) for choice in row.choices]
            yield (
                text_key(row.id) if row.id else 0,
                max(row.place, -1) + 1,
                text_key(question) if question else 0,
                text_key(normalise_loosely(question)) if question else 0,
                0 if target is None else text_key(normalise(target)),
                0 if target is None else text_key(normalise_loosely(target)),
                text_key("\0".join(choices)) if choices else 0,
                text_key("\0".join(sorted(choices))) if choices else 0,
                int(row.has_only_prompt),
            )

    def _request_keys(self, rows: Sequence[int]) -> Iterator[tuple[int, ...]]:
        for sample in self.table.read(rows):
            # In one form: runs of blanks are one.
            gold = " ".join(unicodedata.normalize("NFC", sample.gold).split())
            yield _leading64(sample.arguments_digest), text_key(gold)


def text_key(text: str) -> int:
    """Returns the key of a text: the first 64 bits of its sha256, and never 0."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") or 1


#: The key of an empty text, as of a gold answer that says nothing.
EMPTY = np.uint64(text_key(""))


def mixed(*columns: NDArray[Any]) -> Hashes:
    """Returns one key of several columns, for each row; the order of the columns counts."""
    total: Hashes = np.zeros(columns[0].size, dtype=np.uint64)
    for column in columns:
        total = (total ^ column.astype(np.uint64)) * _ODD
        total ^= total >> _HALF
    return total


def all_of(*columns: Hashes) -> Hashes:
    """Returns one key of several columns; 0 where one of them is not known."""
    is_known = np.all([column != 0 for column in columns], axis=0)
    return np.where(is_known, mixed(*columns), np.uint64(0))


def contents(table: Table) -> Hashes:
    """Returns a digest of each row's document, reply, gold answer and scores."""
    scores = []
    for values in table.metrics.values():
        known = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, and no negative zero
        scores.append(known.view(np.uint64))
    return mixed(table.doc_hash, table.response_hash, table.target_hash, *scores)


def _leading64(digest: Any) -> int:
    """The first 64 bits of a hexadecimal digest; 0 for anything else."""
    try:
        return int(digest[:_HEXADECIMALS], 16)
    except (TypeError, ValueError):
        return 0
