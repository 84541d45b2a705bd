"""The question of a row, read from its line: all arguments of its requests, and its gold answer."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.levels import Choices, compare_choices
from evalprep.compare.rowkeys import AskedRow, choices_of
from evalprep.packs import is_chat
from evalprep.results import Sample, Table

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Asked of a table whose gold answers are those of no other row.
GOLD_COLUMN = "does `target` of --columns name the column of the gold answers?"


@dataclass(frozen=True)
class RowPairs:
    """Rows of two tables, pair by pair.

    Attributes:
        table, other: The tables.
        rows, other_rows: Row of each pair in the two tables.
    """

    table: Table
    other: Table
    rows: Rows
    other_rows: Rows

    def at(self, places: Rows) -> RowPairs:
        """The pairs at some places."""
        return RowPairs(self.table, self.other, self.rows[places], self.other_rows[places])

    def read(self) -> Iterator[tuple[Sample, Sample]]:
        """Yields the two samples of each pair."""
        samples = self.table.read(self.rows)
        opposites = self.other.read(self.other_rows)
        return zip(samples, opposites, strict=True)


def arguments_text(sample: Sample) -> str:
    """Every context, continuation and generation argument of a row as a digest; empty without."""
    return sample.arguments_digest


def gold_text(sample: Sample) -> str:
    """The gold answer of a row in one form: runs of blanks are one, and an index is its choice."""
    composed = unicodedata.normalize("NFC", sample.gold)
    return " ".join(composed.split())


def question_keys(table: Table, rows: Rows) -> list[str]:
    """A digest of the arguments and the gold answer of some rows.

    Empty for a row without arguments.
    """
    keys = []
    for sample in table.read(rows):
        key = _digest(arguments_text(sample), gold_text(sample))
        keys.append(key)
    return keys


def position_keys(table: Table, rows: Rows) -> list[str]:
    """A digest of the place in the split and the gold answer.

    Empty for a row without a gold answer.
    """
    keys = []
    for sample in table.read(rows):
        key = _digest(gold_text(sample), str(sample.doc_id))
        keys.append(key)
    return keys


def _digest(first: str, second: str) -> str:
    if not first:
        return ""
    text = f"{first}\0{second}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def count_other_questions(pairs: RowPairs) -> int:
    """Returns how many pairs differ in an argument of a request, or in the gold answer."""
    return sum(_asks_other_question(sample, opposite) for sample, opposite in pairs.read())


def _asks_other_question(sample: Sample, opposite: Sample) -> bool:
    if arguments_text(sample) != arguments_text(opposite) or not sample.requests:
        return True
    return gold_text(sample) != gold_text(opposite)


def gold_differs(pairs: RowPairs) -> Flags:
    """For each pair, True where both gold answers are logged and are not the same.

    Equal hashes settle nearly every pair; the lines of the others are read.
    """
    hashes = pairs.table.target_hash[pairs.rows]
    other_hashes = pairs.other.target_hash[pairs.other_rows]
    both_logged = (hashes != 0) & (other_hashes != 0)
    suspected: Flags = both_logged & (hashes != other_hashes)
    places = np.flatnonzero(suspected)
    differs = np.zeros_like(suspected)
    lines = pairs.at(places).read()
    differs[places] = [gold_text(sample) != gold_text(opposite) for sample, opposite in lines]
    return differs


def texts_differ(pairs: RowPairs) -> Flags:
    """For each pair of rows of other tools, True where both gold answers are known and differ.

    Case, blanks and final stops make no difference, and a letter is the choice that it names.
    """
    hashes = pairs.table.target_hash[pairs.rows]
    other_hashes = pairs.other.target_hash[pairs.other_rows]
    suspected: Flags = (hashes == 0) | (hashes != other_hashes)
    places = np.flatnonzero(suspected)
    differs = np.zeros_like(suspected)
    lines = pairs.at(places).read()
    differs[places] = [_targets_differ(sample, opposite) for sample, opposite in lines]
    return differs


def _targets_differ(sample: Sample, opposite: Sample) -> bool:
    """Returns whether the gold answers of two samples are known and not the same."""
    target = AskedRow.of_sample(sample).keys().loose_target
    other_target = AskedRow.of_sample(opposite).keys().loose_target
    if not target or not other_target:
        return False
    return target != other_target


def choices_of_pairs(pairs: RowPairs) -> list[Choices]:
    """Returns how the choices of the two rows of each pair differ."""
    kinds = []
    for sample, opposite in pairs.read():
        kind = compare_choices(choices_of(sample), choices_of(opposite))
        kinds.append(kind)
    return kinds


def in_other_form(pairs: RowPairs) -> bool:
    """True where one side logged a prompt as text and the other as messages of a chat."""
    for sample, opposite in pairs.read():
        if is_chat(sample.prompt) != is_chat(opposite.prompt):
            return True
    return False


def was_chat(table: Table, row: int) -> bool | None:
    """True where the prompt of a row was logged as messages of a chat; None without a prompt."""
    sample = next(iter(table.read([row])), None)
    if sample is None or not sample.prompt:
        return None
    return is_chat(sample.prompt)
