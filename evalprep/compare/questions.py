"""The question of a row, read from its line: all arguments of its requests, and its gold answer."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.askedrows import AskedRow, choices_of
from evalprep.compare.levels import Choices, compare_choices
from evalprep.results import Sample, Table

Rows = NDArray[np.int64]
#: Asked of a table whose gold answers are those of no other row.
GOLD_COLUMN = "does `target` of --columns name the column of the gold answers?"
_MESSAGES = ('[{"role"', "[{'role'")  # a chat prompt that was logged before the template


def arguments_text(sample: Sample) -> str:
    """Every context, continuation and generation argument of a row as a digest; empty without."""
    return sample.arguments_digest


def gold_text(sample: Sample) -> str:
    """The gold answer of a row in one form: runs of blanks are one, and an index is its choice."""
    return " ".join(unicodedata.normalize("NFC", sample.gold).split())


def question_keys(table: Table, rows: Rows) -> list[str]:
    """A digest of the arguments and the gold answer of some rows.

    Empty for a row without arguments.
    """
    return [_digest(arguments_text(sample), gold_text(sample)) for sample in table.read(rows)]


def position_keys(table: Table, rows: Rows) -> list[str]:
    """A digest of the place in the split and the gold answer.

    Empty for a row without a gold answer.
    """
    return [_digest(gold_text(sample), str(sample.doc_id)) for sample in table.read(rows)]


def _digest(first: str, second: str) -> str:
    text = f"{first}\0{second}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if first else ""


def count_other_questions(table: Table, other: Table, rows: Rows, other_rows: Rows) -> int:
    """Returns how many pairs differ in an argument of a request, or in the gold answer."""
    return sum(
        arguments_text(sample) != arguments_text(opposite)
        or not sample.requests
        or gold_text(sample) != gold_text(opposite)
        for sample, opposite in _read_both(table, other, rows, other_rows)
    )


def gold_differs(table: Table, other: Table, rows: Rows, other_rows: Rows) -> NDArray[np.bool_]:
    """For each pair, True where both gold answers are logged and are not the same.

    Equal hashes settle nearly every pair; the lines of the others are read.
    """
    hashes, other_hashes = table.target_hash[rows], other.target_hash[other_rows]
    both_logged = (hashes != 0) & (other_hashes != 0)
    suspected: NDArray[np.bool_] = both_logged & (hashes != other_hashes)
    places = np.flatnonzero(suspected)
    pairs = _read_both(table, other, rows[places], other_rows[places])
    differs = np.zeros_like(suspected)
    differs[places] = [gold_text(sample) != gold_text(opposite) for sample, opposite in pairs]
    return differs


def texts_differ(table: Table, other: Table, rows: Rows, other_rows: Rows) -> NDArray[np.bool_]:
    """For each pair of rows of other tools, True where both gold answers are known and differ.

    Case, blanks and final stops make no difference, and a letter is the choice that it names.
    """
    hashes, other_hashes = table.target_hash[rows], other.target_hash[other_rows]
    suspected: NDArray[np.bool_] = (hashes == 0) | (hashes != other_hashes)
    places = np.flatnonzero(suspected)
    pairs = _read_both(table, other, rows[places], other_rows[places])
    differs = np.zeros_like(suspected)
    differs[places] = [_targets_differ(sample, opposite) for sample, opposite in pairs]
    return differs


def _targets_differ(sample: Sample, opposite: Sample) -> bool:
    """Returns whether the gold answers of two samples are known and not the same."""
    target = AskedRow.of_sample(sample).keys().loose_target
    other_target = AskedRow.of_sample(opposite).keys().loose_target
    return bool(target and other_target and target != other_target)


def choices_of_pairs(table: Table, other: Table, rows: Rows, other_rows: Rows) -> list[Choices]:
    """Returns how the choices of the two rows of each pair differ."""
    return [
        compare_choices(choices_of(sample), choices_of(opposite))
        for sample, opposite in _read_both(table, other, rows, other_rows)
    ]


def in_other_form(table: Table, other: Table, row: int, other_row: int) -> bool:
    """True where one side logged its prompt as text and the other as messages of a chat."""
    first = np.array([row]), np.array([other_row])
    forms = {
        (sample.prompt.startswith(_MESSAGES), opposite.prompt.startswith(_MESSAGES))
        for sample, opposite in _read_both(table, other, *first)
    }
    return bool(forms & {(True, False), (False, True)})


def is_chat(table: Table, row: int) -> bool | None:
    """True where the prompt of a row was logged as messages of a chat; None without a prompt."""
    sample = next(iter(table.read([row])), None)
    if sample is None or not sample.prompt:
        return None
    return sample.prompt.startswith(_MESSAGES)


def _read_both(
    table: Table, other: Table, rows: Rows, other_rows: Rows
) -> Iterator[tuple[Sample, Sample]]:
    return zip(table.read(rows), other.read(other_rows), strict=True)
