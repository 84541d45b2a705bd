"""The outcome of a run as a step summary of GitHub Actions.

GitHub drops the whole summary of a step above 1024 KiB, so it is cut well below that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from evalprep.compare import WORSE, Conclusion
from evalprep.errors import cannot_write
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, read_text, resolve_typed, write_atomically
from evalprep.numbers import percent
from evalprep.results import SHARE
from evalprep.score import Quantity, about
from evalprep.tables import Cell, Column, Kind, Note, Table, escape, markdown_lines

FILE = "summary.md"
VARIABLE = "GITHUB_STEP_SUMMARY"
MOST_BYTES = 1_000_000
TRUNCATED = "truncated, see the report"
_LARGEST = 10
_OPEN, _CLOSE = "<details>", "</details>"


def write_summary(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `summary.md`; `append_summary` adds it to the summary of the step.

    Args:
        subjects: The runs.
        folder: Where to.
        settings: None of them matters here.
    """
    del settings
    lines = chain.from_iterable(map(_lines, subjects))
    text = cut_summary("\n".join(lines) + "\n")
    make_folder(folder, within=folder)
    path = folder / FILE
    write_atomically(path, text)
    return Written((path,), text=text)


def append_summary(text: str) -> str:
    """Adds a summary to that of the running step; returns its file, empty outside of GitHub.

    Raises:
        BadInput: the file cannot be written.
    """
    place = os.environ.get(VARIABLE, "")
    if not place:
        return ""
    path = resolve_typed(Path(place))
    try:
        before = read_text(path, own=True) if path.is_file() else ""
        room = MOST_BYTES - len(before.encode())
        write_atomically(path, before + cut_summary(text, max(room, 0)))
    except OSError as error:
        raise cannot_write(error, f"${VARIABLE}") from error
    return place


def cut_summary(text: str, most: int = MOST_BYTES) -> str:
    r"""Returns a summary of at most so many bytes, cut at the end of a line, which it then says.

    >>> cut_summary("one\ntwo\n", 8)
    'one\ntwo\n'
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    ending = f"\n{TRUNCATED}\n"
    room = max(most - len(ending) - len(f"{_CLOSE}\n"), 0)
    end_of_line = data.rfind(b"\n", 0, room) + 1
    kept = data[:end_of_line].decode()
    if kept.count(_OPEN) > kept.count(_CLOSE):
        ending = f"{_CLOSE}\n{ending}"
    return kept + ending if len(ending.encode()) <= most else ""


def _lines(subject: Subject) -> Iterator[str]:
    yield f"## {escape(subject.run.label)}"
    yield ""
    yield from _headline(subject)
    conclusions = subject.comparison.conclusions if subject.comparison is not None else []
    if conclusions:
        table = _comparison_table(conclusions)
        table.notes = [Note(text) for text in _notes_on_sides(subject)]
        yield from markdown_lines(table)
        yield from _regressions(conclusions)
    else:
        yield from markdown_lines(_score_table(subject))


def _headline(subject: Subject) -> Iterator[str]:
    """The verdict, or what the comparison concludes."""
    if subject.verdict is not None:
        yield f"**{escape(subject.verdict.closing)}**"
        yield ""
    if subject.comparison is not None:
        yield f"Compared with {escape(subject.comparison.other)}."
        yield ""
        for line in subject.comparison.closing:
            yield f"**{escape(line)}**"
            yield ""


def _comparison_table(conclusions: Iterable[Conclusion]) -> Table:
    columns = [
        Column("Task", Kind.NAME),
        Column("n", Kind.COUNT),
        Column("baseline", Kind.MEASURE),
        Column("candidate", Kind.MEASURE),
        Column("difference", Kind.MEASURE),
        Column("gained / lost", Kind.MEASURE),
        Column("verdict"),
    ]
    table = Table("", columns)
    for conclusion in conclusions:
        numbers = conclusion.difference
        shown = [
            percent(value, binary=numbers.in_points) for value in (numbers.previous, numbers.now)
        ]
        flips = f"+{numbers.gained} / -{numbers.lost}" if numbers.made_of == "rows" else ""
        rows = None if numbers.made_of == "stored" else numbers.n
        table.add(conclusion.name, rows, *shown, _difference(conclusion), flips, conclusion.verdict)
    return table


def _notes_on_sides(subject: Subject) -> Iterator[str]:
    """Yields what there is to know of the rows and the stored values of both sides."""
    for side, of_side in (("candidate", subject), ("baseline", subject.baseline)):
        if of_side is not None:
            yield from (f"{side}: {note}" for note in of_side.notes_on_values)


def _difference(conclusion: Conclusion) -> Cell:
    """The difference with its interval."""
    numbers = conclusion.difference
    if numbers.delta is None:
        return Cell(None)
    interval = ""
    if numbers.low is not None and numbers.high is not None:
        bounds = (numbers.scaled(bound, sign=True) for bound in (numbers.low, numbers.high))
        interval = f"[{', '.join(bounds)}]"
    return Cell(numbers.delta, numbers.change(sign=True), interval)


def _regressions(conclusions: Iterable[Conclusion]) -> Iterator[str]:
    """The largest drops, behind a line that opens them."""
    lower = [conclusion for conclusion in conclusions if _drop(conclusion) > 0]
    lower.sort(key=_drop, reverse=True)
    lower.sort(key=lambda conclusion: conclusion.verdict != WORSE)
    largest = lower[:_LARGEST]
    if not largest:
        return
    yield f"{_OPEN}<summary>The {len(largest)} largest drops</summary>"
    yield ""
    yield from markdown_lines(_comparison_table(largest))
    yield _CLOSE
    yield ""


def _drop(conclusion: Conclusion) -> float:
    return conclusion.difference.drop or 0.0


def _score_table(subject: Subject) -> Table:
    columns = [
        Column("Task", Kind.NAME),
        Column("metric"),
        Column("n", Kind.COUNT),
        Column("score", Kind.MEASURE),
        Column("95% interval", Kind.MEASURE),
    ]
    titles = {score.id: score.title or score.name for score in subject.scores.suite}
    items = subject.headlines
    table = Table("", columns, notes=[Note(text) for text in about(items)])
    for item in items:
        metric = "suite score" if item.kind == "suite" else item.name
        value = _shown(item.value, item.unit)
        table.add(titles.get(item.owner, item.owner), metric, item.rows, value, _interval(item))
    return table


def _interval(item: Quantity) -> str:
    """The interval as the score is written; empty without one."""
    if item.interval is None:
        return ""
    low, high = (_shown(end, item.unit) for end in item.interval)
    return f"[{low}, {high}]"


def _shown(value: float | None, unit: str) -> str:
    """A score as the table has it: a share in percent."""
    return percent(value, binary=unit == SHARE)
