"""Join ground truth to the rows that hold the prompts: one output row per input row, in order, every case counted.

Text is compared exactly first, then after NFC and collapsed whitespace. A row without ground truth is left out and
counted, never written with nulls; several ground-truth rows for one text never multiply rows. The ground truth lies in
a private temporary SQLite database, which spills to disk by itself, so neither side has to fit into memory.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from evalprep.errors import Problem

Row = dict[str, Any]


def normalise(text: str) -> str:
    r"""NFC with every run of whitespace as one blank and none at the ends.

    >>> normalise("two  words\n")
    'two words'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


@dataclass
class JoinReport:
    """What happened to the rows of one join.

    Attributes:
        rows: Input rows.
        exact: Rows whose text matched as it is.
        normalised: Rows that matched only after normalisation (or a fallback spelling).
        unmatched: Rows without ground truth; they are left out.
        ambiguous: Rows whose candidates disagree; the first candidate is used.
        unmatched_examples: First 80 characters of some unmatched texts.
        ambiguous_examples: The same for ambiguous ones.
    """

    rows: int = 0
    exact: int = 0
    normalised: int = 0
    unmatched: int = 0
    ambiguous: int = 0
    unmatched_examples: list[str] = field(default_factory=list)
    ambiguous_examples: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One line for the terminal."""
        return (
            f"{self.rows} rows: {self.exact} exact, {self.normalised} after normalisation, "
            f"{self.unmatched} unmatched, {self.ambiguous} ambiguous"
        )

    def as_dict(self) -> dict[str, Any]:
        """The counts for the manifest."""
        return asdict(self)

    def problems(self, *, threshold: float, where: str) -> list[Problem]:
        """Mistakes to report when too many rows have no, or no clear, ground truth.

        Args:
            threshold: Share of rows that may be unmatched, and share that may be ambiguous. One row is always
                tolerated: on a small set a share would forbid any.
            where: Names the join.
        """
        allowed = max(1.0, threshold * self.rows)
        found = []
        for count, kind, examples in (
            (self.unmatched, "have no ground truth", self.unmatched_examples),
            (self.ambiguous, "have ground-truth rows that disagree", self.ambiguous_examples),
        ):
            if count > allowed:
                found.append(
                    Problem(
                        what=f"{count} of {self.rows} rows {kind}, first: {'; '.join(map(repr, examples[:3]))}",
                        where=where,
                        allowed=f"at most {threshold:.1%} of the rows (one row is always tolerated)",
                        fix="give the ground-truth set that belongs to these rows, or raise max_unmatched",
                    )
                )
        return found


class GroundTruth:
    """Ground-truth rows, looked up by text.

    Args:
        rows: The ground-truth rows, streamed once.
        key: The text of a ground-truth row.
        same: What must be equal for two rows of one text to agree; by default the whole row.
    """

    def __init__(
        self, rows: Iterable[Mapping[str, Any]], key: str, *, same: Callable[[Row], object] | None = None
    ) -> None:
        self._same = same or (lambda row: row)
        # An empty name is a private database that SQLite keeps in memory and spills to a temporary file when it grows.
        self._db = sqlite3.connect("", check_same_thread=False)
        self._db.execute("CREATE TABLE truth (text TEXT, plain TEXT, payload TEXT)")
        self._db.executemany("INSERT INTO truth VALUES (?, ?, ?)", self._entries(rows, key))
        self._db.execute("CREATE INDEX by_text ON truth (text)")
        self._db.execute("CREATE INDEX by_plain ON truth (plain)")

    @staticmethod
    def _entries(rows: Iterable[Mapping[str, Any]], key: str) -> Iterator[tuple[str, str, str]]:
        for row in rows:
            text = row.get(key)
            if isinstance(text, str):
                safe = _safe(text)
                yield safe, normalise(safe), json.dumps(dict(row), default=str)

    def _rows(self, column: str, text: str) -> list[Row]:
        found = self._db.execute(f"SELECT payload FROM truth WHERE {column} = ? ORDER BY rowid", (text,))  # noqa: S608 - a constant
        return [json.loads(payload) for (payload,) in found]

    def find(self, texts: Sequence[str]) -> tuple[Row | None, str, bool]:
        """Look up one row's text, given as spellings in order of preference.

        Returns:
            The row or None; how it was found (`exact`, `normalised`, `unmatched`); whether candidates disagree.
        """
        tries = [("text", text, "exact" if number == 0 else "normalised") for number, text in enumerate(texts)]
        tries += [("plain", normalise(text), "normalised") for text in texts]
        for column, text, kind in tries:
            candidates = self._rows(column, _safe(text))
            if candidates:
                first = self._same(candidates[0])
                return candidates[0], kind, any(self._same(other) != first for other in candidates[1:])
        return None, "unmatched", False

    def close(self) -> None:
        """Free the database."""
        self._db.close()


def join(
    rows: Iterable[Row], truth: GroundTruth, *, texts: Callable[[Row], Sequence[str]], report: JoinReport
) -> Iterator[tuple[Row, Row]]:
    """Pair rows with their ground truth.

    Args:
        rows: Input rows, streamed.
        truth: The ground truth.
        texts: Spellings of a row's text, the preferred one first.
        report: Filled while the pairs are read.

    Yields:
        `(row, ground-truth row)` for every matched row, in input order.
    """
    for row in rows:
        spellings = texts(row)
        found, kind, disagree = truth.find(spellings)
        report.rows += 1
        setattr(report, kind, getattr(report, kind) + 1)
        if disagree:
            report.ambiguous += 1
            _note(report.ambiguous_examples, spellings[0])
        if found is None:
            _note(report.unmatched_examples, spellings[0])
            continue
        yield row, found


def _safe(text: str) -> str:
    """Text that can be stored: JSON lets half of a surrogate pair stand alone, UTF-8 does not."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _note(examples: list[str], text: str) -> None:
    if len(examples) < 10:  # enough to see the pattern; a wholly wrong set must not fill the manifest
        examples.append(_safe(text[:80]))
