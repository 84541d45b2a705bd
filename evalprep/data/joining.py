"""Join ground truth to the rows that hold the prompts.

There is one output row per input row, in order, and every case is counted.

Text is compared exactly first, then after NFC and collapsed whitespace. A row without ground truth
is left out and counted, never written with nulls; several ground-truth rows for one text never
multiply rows. The ground truth lies in a temporary file and is looked up by hash, thousands of rows
at a time, so neither side has to fit into memory.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from evalprep.data.keyed import KeyedRows, Numbered
from evalprep.data.sources import Source
from evalprep.errors import Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Row = dict[str, Any]
CHUNK_ROWS = 16_384
"""Rows that are looked up at a time."""
NO_TEXT = "(no text)"
"""The example of a row whose text is null."""


def normalise(text: str) -> str:
    r"""NFC with every run of whitespace as one blank and none at the ends.

    >>> normalise("two  words\n")
    'two words'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


@dataclass
class JoinReport:
    """The counts of one join.

    Attributes:
        rows: Input rows.
        exact: Rows whose text matched as it is.
        normalised: Rows that matched only after normalisation (or a fallback spelling).
        unmatched: Rows without ground truth; they are left out.
        ambiguous: Rows whose candidates disagree; the first candidate is used.
        unusable: Rows whose ground truth is damaged; they are left out.
        unmatched_examples: First 80 characters of some unmatched texts.
        ambiguous_examples: The same for ambiguous ones.
        unusable_examples: The same for those of damaged ground truth, with what is wrong with it.
    """

    rows: int = 0
    exact: int = 0
    normalised: int = 0
    unmatched: int = 0
    ambiguous: int = 0
    unusable: int = 0
    unmatched_examples: list[str] = field(default_factory=list)
    ambiguous_examples: list[str] = field(default_factory=list)
    unusable_examples: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One line for the terminal."""
        damaged = f", {self.unusable} with damaged ground truth" if self.unusable else ""
        return (
            f"{self.rows} rows: {self.exact} exact, {self.normalised} after normalisation, "
            f"{self.unmatched} unmatched, {self.ambiguous} ambiguous{damaged}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The counts for the manifest."""
        return asdict(self)

    def problems(self, *, threshold: float, where: str) -> list[Problem]:
        """Mistakes to report when too many rows have no, or no clear, ground truth.

        Args:
            threshold: Share of rows that may be unmatched, share that may be ambiguous, and share
                whose ground truth may be damaged. One row is always tolerated: on a small set a
                share would forbid any.
            where: Names the join.
        """
        most = max(1.0, threshold * self.rows)
        problems = []
        for bad in self._bad_rows():
            if bad.count <= most:
                continue
            share = math.ceil(100 * bad.count / max(self.rows, 1)) / 100  # rounded up
            problems.append(
                Problem(
                    what=f"{bad.count} of {self.rows} rows {bad.several}, first: {bad.first}",
                    where=where,
                    allowed=f"at most {threshold:.1%} of the rows (one row is always tolerated)",
                    fix=f"{bad.fix}, or raise max_unmatched to {share:g} ({bad.outcome})",
                )
            )
        return problems

    def notes(self, *, where: str) -> list[str]:
        """The same rows as sentences, for a preparation that tolerates them."""
        notes = []
        for bad in self._bad_rows():
            if bad.count:
                what = bad.one if bad.count == 1 else bad.several
                notes.append(f"{where}: {bad.count} {what}, {bad.outcome}: {bad.first}")
        return notes

    def _bad_rows(self) -> list[_BadRows]:
        return [
            _BadRows(
                count=self.unmatched,
                one="row has no ground truth",
                several="have no ground truth",
                examples=[repr(text) for text in self.unmatched_examples],
                fix="give the ground-truth set that belongs to these rows",
                outcome="left out",
            ),
            _BadRows(
                count=self.ambiguous,
                one="row has ground-truth rows that disagree",
                several="have ground-truth rows that disagree",
                examples=[repr(text) for text in self.ambiguous_examples],
                fix="give a copy of the ground truth without the wrong ones",
                outcome="the first counts",
            ),
            _BadRows(
                count=self.unusable,
                one="row has damaged ground truth",
                several="have damaged ground truth",
                examples=self.unusable_examples,
                fix="correct these rows in a copy of the ground truth and name that copy",
                outcome="left out",
            ),
        ]


@dataclass(frozen=True)
class _BadRows:
    """The rows that lack a clear ground truth for one reason.

    Attributes:
        count: Number of rows.
        one: What a message says of one of them.
        several: What it says of several.
        examples: The first of them.
        fix: What the user can do.
        outcome: What happens to them.
    """

    count: int
    one: str
    several: str
    examples: Sequence[str]
    fix: str
    outcome: str

    @property
    def first(self) -> str:
        """The first three of them, for a message."""
        return "; ".join(self.examples[:3])


class Match(NamedTuple):
    """The ground truth of one row.

    Attributes:
        row: The ground-truth row; None where there is none.
        kind: How it was found: exact, normalised, unmatched or unusable.
        disagree: Whether candidates disagree.
        number: The number of the usable ground-truth row, of those that have a text; -1 without.
    """

    row: Row | None
    kind: str
    disagree: bool = False
    number: int = -1


_UNMATCHED = Match(None, "unmatched")


class GroundTruth:
    """Ground-truth rows, looked up by text.

    Args:
        rows: The ground-truth rows, streamed once; a source is read in columns where it can be.
        key: The text of a ground-truth row.
        same: What must be equal for two rows of one text to agree; by default the whole row.
        flaw: What is wrong with a ground-truth row, in words; empty where it can be used. A damaged
            row counts only where its text has no other.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]] | Source,
        key: str,
        *,
        same: Callable[[Row], object] | None = None,
        flaw: Callable[[Row], str] | None = None,
    ) -> None:
        self._same = same or (lambda row: row)
        self._flaw = flaw
        self._source = rows if isinstance(rows, Source) else None
        batches = rows.batches(key) if isinstance(rows, Source) else None
        if batches is not None:
            self._rows = KeyedRows.of_columns(batches, key)
        else:
            rows = rows.rows() if isinstance(rows, Source) else rows
            self._rows = KeyedRows.of_rows(rows, key, _safe)

    def find(self, texts: Sequence[str | None]) -> Match:
        """Looks up one row's text, given as spellings in order of preference."""
        return self.find_all([texts])[0]

    def find_all(self, texts: Sequence[Sequence[str | None]]) -> list[Match]:
        """Looks up the texts of many rows, each given as spellings in order of preference.

        All spellings are tried as they are, then all after normalisation; the first that has
        ground truth decides. None has none.
        """
        results = [_UNMATCHED] * len(texts)
        depth = max(map(len, texts), default=0)
        unmatched: Sequence[int] = range(len(texts))
        for form, number in itertools.product((None, normalise), range(depth)):
            spellings = {
                place: text
                for place in unmatched
                if number < len(texts[place]) and (text := texts[place][number]) is not None
            }
            kind = "exact" if form is None and number == 0 else "normalised"
            for place, match in self._matches(spellings, form, kind):
                results[place] = match
            unmatched = [place for place in unmatched if results[place].row is None]
        return results

    def _matches(
        self, spellings: Mapping[int, str], form: Callable[[str], str] | None, kind: str
    ) -> Iterator[tuple[int, Match]]:
        """The ground truth of some texts, by their places; nothing of those without any."""
        if not spellings:
            return
        texts = list(spellings.values())
        formed = texts if form is None else map(form, texts)
        stored = [text if text.isascii() else _safe(text) for text in formed]
        for place, rows in zip(spellings, self._rows.matches(stored, form), strict=True):
            if rows:
                yield place, self._decide(rows, kind)

    def _decide(self, rows: list[Numbered], kind: str) -> Match:
        """The first usable row, and whether others of the same text disagree with it."""
        flaw = self._flaw
        candidates = rows if flaw is None else [pair for pair in rows if not flaw(pair[1])]
        if not candidates:
            return Match(rows[0][1], "unusable")
        number, row = candidates[0]
        if len(candidates) == 1:
            return Match(row, kind, number=number)
        first = self._same(row)
        disagree = any(self._same(other) != first for _, other in candidates[1:])
        return Match(row, kind, disagree, number)

    def plain_matches(self, texts: Sequence[str | None]) -> list[Row | None]:
        """Looks up the texts on which there is nothing to decide.

        Returns:
            For each text the usable row that alone has it as it is; None for texts that `find_all`
            has to look up.
        """
        rows = self._rows.only_matches([text and _safe(text) for text in texts])
        if self._flaw is None:
            return rows
        return [None if row is None or self._flaw(row) else row for row in rows]

    def only_rows(self, texts: pa.Array) -> np.ndarray:
        """Returns the numbers of the rows on which there is nothing to decide.

        Args:
            texts: A column of text.

        Returns:
            For each text the number of the row that alone has it as it is; -1 for texts that
            `find_all` has to look up.
        """
        import numpy as np

        if self._flaw is None and not texts.null_count:
            return self._rows.only_rows(texts)
        numbers = np.full(len(texts), -1, dtype=np.int64)
        if self._flaw is None:
            has_text = texts.is_valid().to_numpy(zero_copy_only=False)
            numbers[has_text] = self._rows.only_rows(texts.drop_null())
        return numbers

    def columns(self, numbers: np.ndarray, names: Sequence[str]) -> list[pa.Array]:
        """Returns columns of the rows of some numbers, in the order of the numbers.

        Raises:
            BadInput: values of one column that no common type holds.
        """
        return self._rows.columns(numbers, names)

    def require(self, columns: Sequence[str]) -> None:
        """Refuses ground truth that lacks columns; of rows without a source it is not known.

        Raises:
            BadInput: names the missing ones.
        """
        if self._source is not None:
            self._source.require(columns)

    def flaw(self, row: Row) -> str:
        """Returns what is wrong with a ground-truth row, in words; empty where it can be used."""
        return "" if self._flaw is None else self._flaw(row)

    def close(self) -> None:
        """Frees the file."""
        self._rows.close()


def join(
    rows: Iterable[Row],
    truth: GroundTruth,
    *,
    texts: Callable[[Row], Sequence[str | None]],
    report: JoinReport,
) -> Iterator[tuple[Row, Row]]:
    """Pairs rows with their ground truth.

    Args:
        rows: Input rows, streamed.
        truth: The ground truth.
        texts: Spellings of a row's text, the preferred one first; None for a row without text.
        report: Filled while the pairs are read.

    Yields:
        `(row, ground-truth row)` for every matched row, in input order.
    """
    stream = iter(rows)
    while part := list(islice(stream, CHUNK_ROWS)):
        # The ground truth of rows given by the spellings of their texts; counts the rows. None
        # for a row that is left out.
        spellings = [texts(row) for row in part]
        matched = truth.plain_matches([spelled[0] for spelled in spellings])
        others = [place for place, row in enumerate(matched) if row is None]
        report.rows += len(matched) - len(others)
        report.exact += len(matched) - len(others)
        matches = truth.find_all([spellings[place] for place in others])
        for place, match in zip(others, matches, strict=True):
            count(match, spellings[place][0], truth, report)
            matched[place] = match.row if match.number >= 0 else None
        for row, true_row in zip(part, matched, strict=True):
            if true_row is not None:
                yield row, true_row


def count(match: Match, text: str | None, truth: GroundTruth, report: JoinReport) -> None:
    """Counts one row, and keeps what is needed to name it."""
    report.rows += 1
    if match.kind == "exact" and not match.disagree:
        report.exact += 1
        return
    text = NO_TEXT if text is None else text
    setattr(report, match.kind, getattr(report, match.kind) + 1)
    if match.disagree:
        report.ambiguous += 1
        _note(report.ambiguous_examples, text)
    if match.row is None:
        _note(report.unmatched_examples, text)
    elif match.kind == "unusable":
        _note(report.unusable_examples, repr(_safe(text[:80])), f" ({truth.flaw(match.row)})")


def _safe(text: str) -> str:
    """Text that can be stored: JSON lets half of a surrogate pair stand alone, UTF-8 does not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _note(examples: list[str], text: str, why: str = "") -> None:
    if (
        len(examples) < 10
    ):  # enough to see the pattern; a wholly wrong set must not fill the manifest
        examples.append(text + why if why else _safe(text[:80]))
