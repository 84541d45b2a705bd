"""The outcome of a run as a step summary of GitHub Actions.

GitHub drops the whole summary of a step above 1024 KiB, so it is cut well below that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from evalprep.compare import WORSE, Conclusion, conclusion_table
from evalprep.errors import cannot_write
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, read_text, resolve_typed, write_atomically
from evalprep.score import about, interval, measured
from evalprep.tables import Column, Kind, Note, Table, escape, markdown_lines, table_of

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
    if subject.verdict is not None:
        yield f"**{escape(subject.verdict.closing)}**"
        yield ""
    if subject.comparison is not None:
        yield f"Compared with {escape(subject.comparison.other)}."
        yield ""
        for line in subject.comparison.closing:
            yield f"**{escape(line)}**"
            yield ""
    conclusions = subject.comparison.conclusions if subject.comparison is not None else []
    if conclusions:
        sides = {"candidate": subject, "baseline": subject.baseline}
        notes: list[Note] = []
        for name, side in sides.items():
            notes += [Note(f"{name}: {text}") for text in (side.notes_on_values if side else ())]
        yield from markdown_lines(_comparison_table(subject, conclusions, notes))
        yield from _regressions(subject, conclusions)
    else:
        yield from markdown_lines(_score_table(subject))


def _comparison_table(
    subject: Subject, conclusions: Iterable[Conclusion], notes: Sequence[Note] = ()
) -> Table:
    return conclusion_table(conclusions, against_published=subject.baseline is None, notes=notes)


def _regressions(subject: Subject, conclusions: Iterable[Conclusion]) -> Iterator[str]:
    """The largest drops, behind a line that opens them."""
    lower = [conclusion for conclusion in conclusions if _drop(conclusion) > 0]
    lower.sort(key=_drop, reverse=True)
    lower.sort(key=lambda conclusion: conclusion.verdict != WORSE)
    largest = lower[:_LARGEST]
    if not largest:
        return
    yield f"{_OPEN}<summary>The {len(largest)} largest drops</summary>"
    yield ""
    yield from markdown_lines(_comparison_table(subject, largest))
    yield _CLOSE
    yield ""


def _drop(conclusion: Conclusion) -> float:
    return conclusion.difference.drop or 0.0


def _score_table(subject: Subject) -> Table:
    titles = {score.id: score.title or score.name for score in subject.scores.suite}
    columns = [
        Column("Task", Kind.NAME, cell=lambda item: titles.get(item.owner, item.owner)),
        Column("metric", cell=lambda item: "suite score" if item.kind == "suite" else item.name),
        Column("n", Kind.COUNT, cell=lambda item: item.rows),
        Column("score", Kind.MEASURE, cell=lambda item: measured(item.value, item.unit)),
        Column("95% interval", Kind.MEASURE, cell=lambda item: interval(item.interval, item.unit)),
    ]
    items = subject.headlines
    return table_of("", columns, items, [Note(text) for text in about(items)])
