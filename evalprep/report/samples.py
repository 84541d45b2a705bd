"""Every sample of a task as rows of a table, all runs side by side, texts in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from evalprep.packs import readable_prompt
from evalprep.report.align import TRUNCATED, UNPARSED, UNSURE, Replies, TaskRows
from evalprep.report.browser import Flips
from evalprep.report.content import JudgementPart
from evalprep.report.document import Report
from evalprep.report.judgements import Judgements
from evalprep.report.tables import comparison_names
from evalprep.results import SampleView
from evalprep.samples import UNKNOWN
from evalprep.tables import Column, Entry, Table, streamed

_DIRECTIONS = (None, "gained", "lost")
_LONG_TEXTS = frozenset({"output", "prompt", "target", "answer", "published_output"})
_LONG, _SHORT = 48, 16  # characters of a column in a spreadsheet


class _Reply(NamedTuple):
    """The reply of one run to a row, and what a judge said of it."""

    replies: Replies
    place: int
    view: SampleView
    judgement: JudgementPart | None

    @property
    def flags(self) -> int:
        return self.replies.flags[self.place]


class _Line(NamedTuple):
    """One of the aligned rows of a task: the reply of each run, and the sample of the first."""

    task: TaskRows
    place: int
    replies: Sequence[_Reply | None]
    first: SampleView


def _unparsed(reply: _Reply) -> int | None:
    return None if reply.replies.unparsed is None else int(bool(reply.flags & UNPARSED))


def _truncated(reply: _Reply) -> int | None:
    return None if reply.flags & UNSURE else int(bool(reply.flags & TRUNCATED))


_OF_REPLY: dict[str, Callable[[_Reply], Entry]] = {
    "score": lambda reply: reply.replies.score(reply.place),
    "unparsed": _unparsed,
    "truncated": _truncated,
    "answer": lambda reply: reply.view.answer,
    "read by": lambda reply: reply.view.reading.method or None,
    "reason": lambda reply: reply.view.reading.why or None,
    "parts failed": lambda reply: ", ".join(reply.view.reading.failed) or None,
    "output": lambda reply: reply.view.reply_cell,
}
_OF_JUDGE: dict[str, Callable[[_Reply], Entry]] = {
    "judge": lambda reply: reply.judgement and reply.judgement["judge"],
    "judge_status": lambda reply: reply.judgement and reply.judgement["status"],
    "judge_reply": lambda reply: reply.judgement and reply.judgement["reply"],
}


def sample_columns(report: Report) -> list[Column]:
    """Returns the columns of `sample_table`."""
    columns = [
        _column("sample_id", lambda line: line.task.ids[line.place]),
        _column("doc_id", lambda line: line.first.doc_id),
        _column("subtask", lambda line: line.first.subtask or None),
        _column("target", lambda line: line.first.gold),
        _column("published_correct", _published_verdict),
    ]
    labels = [run["label"] for run in report.document["runs"]]
    for number, label in enumerate(labels):
        suffix = f" ({label})" if len(labels) > 1 else ""
        for name, cell in {**_OF_REPLY, **_cells_of_judge(report.judgements[number])}.items():
            columns.append(_column(name + suffix, partial(_of_run, number, cell)))
    columns.append(_column("published_output", lambda line: line.first.sample.previous_output))
    for name, flips in zip(comparison_names(report.document), report.flips, strict=True):
        columns.append(_column(f"flip {name}", partial(_direction, flips)))
        columns.append(_column(f"cause {name}", partial(_cause, flips)))
    columns.append(_column("prompt", lambda line: readable_prompt(line.first.prompt)))
    return columns


def _column(name: str, cell: Callable[[_Line], Entry]) -> Column:
    width = _LONG if name.partition(" ")[0] in _LONG_TEXTS else _SHORT
    return Column(name, width=width, cell=cell)


def _published_verdict(line: _Line) -> int | None:
    known = (replies for replies in line.task.replies if replies is not None)
    replies = next(replies for replies in known if replies.rows[line.place] != UNKNOWN)
    verdict = int(replies.table.previous[replies.rows[line.place]])
    return None if verdict < 0 else verdict


def _of_run(number: int, cell: Callable[[_Reply], Entry], line: _Line) -> Entry:
    """What a column shows of the reply of a run; nothing where the run lacks the row."""
    reply = line.replies[number]
    return None if reply is None else cell(reply)


def _cells_of_judge(judgements: Judgements) -> dict[str, Callable[[_Reply], Entry]]:
    """A column for each rating, then who rated, how it ended, and what was written.

    Nothing without a judge.
    """
    of_samples = chain.from_iterable(of_task.values() for of_task in judgements.values())
    names = set(chain.from_iterable(judgement["ratings"] or () for judgement in of_samples))
    of_ratings = {f"rating {name}": partial(_rating, name) for name in sorted(names)}
    return {**of_ratings, **_OF_JUDGE} if judgements else {}


def _rating(name: str, reply: _Reply) -> float | None:
    ratings = reply.judgement["ratings"] if reply.judgement else None
    return (ratings or {}).get(name)


def _direction(flips: Flips, line: _Line) -> str | None:
    ((direction, _),) = flips.of(line.task, [line.place])
    return _DIRECTIONS[direction]


def _cause(flips: Flips, line: _Line) -> str | None:
    ((_, cause),) = flips.of(line.task, [line.place])
    return flips.causes[cause] or None


def sample_table(report: Report, task: TaskRows) -> Table:
    """One task's samples; the rows are read as they are written."""
    return streamed(task.name, sample_columns(report), _lines(report, task))


def all_samples_table(report: Report) -> Table:
    """The samples of all tasks, the task's name first."""
    columns = [Column("task", cell=lambda line: line.task.name), *sample_columns(report)]
    lines = chain.from_iterable(_lines(report, task) for task in report.rows)
    return streamed("samples", columns, lines)


def _lines(report: Report, task: TaskRows) -> Iterator[_Line]:
    """Reads the rows of a task, every sample of it."""
    streams = [None if replies is None else replies.read() for replies in task.replies]
    judged = [judgements.get(task.name, {}) for judgements in report.judgements]
    for place in range(len(task.ids)):
        of_runs: list[_Reply | None] = []
        for replies, stream, judgements in zip(task.replies, streams, judged, strict=True):
            pair = None if stream is None else next(stream)
            if replies is None or pair is None:
                of_runs.append(None)
                continue
            view = pair[0]
            of_runs.append(_Reply(replies, place, view, judgements.get(view.doc_id)))
        first = next(reply.view for reply in of_runs if reply is not None)
        yield _Line(task, place, of_runs, first)
