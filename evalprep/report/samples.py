"""Every sample of a task as rows of a table, all runs side by side, texts in full."""

from __future__ import annotations

from collections.abc import Iterator

from evalprep.packs import readable_prompt
from evalprep.report.align import TRUNCATED, UNPARSED, UNSURE, Replies, TaskRows
from evalprep.report.document import Report
from evalprep.report.judgements import Judgements
from evalprep.report.tables import comparison_names
from evalprep.results import SampleView
from evalprep.samples import UNKNOWN
from evalprep.tables import Column, Entry, Table

_DIRECTIONS = (None, "gained", "lost")
_REPLY_COLUMNS = (
    *("score", "unparsed", "truncated", "answer", "read by", "reason", "parts failed", "output"),
)
_JUDGE_COLUMNS = ("judge", "judge_status", "judge_reply")
_LONG_TEXTS = frozenset({"output", "prompt", "target", "answer", "published_output"})
_LONG, _SHORT = 48, 16  # characters of a column in a spreadsheet


def sample_columns(report: Report) -> list[Column]:
    """Returns the columns of `sample_table`."""
    labels = [run["label"] for run in report.document["runs"]]
    names = ["sample_id", "doc_id", "subtask", "target", "published_correct"]
    for label, judge in zip(labels, _judges(report), strict=True):
        suffix = f" ({label})" if len(labels) > 1 else ""
        names += [f"{name}{suffix}" for name in (*_REPLY_COLUMNS, *judge.columns)]
    names.append("published_output")
    for name in comparison_names(report.document):
        names += [f"flip {name}", f"cause {name}"]
    names.append("prompt")
    return [Column(name, width=_width(name)) for name in names]


def _width(name: str) -> int:
    return _LONG if name.partition(" ")[0] in _LONG_TEXTS else _SHORT


def sample_table(report: Report, task: TaskRows) -> Table:
    """One task's samples; the rows are read as they are written."""
    return Table(task.name, sample_columns(report), sample_rows(report, task))


def all_samples_table(report: Report) -> Table:
    """The samples of all tasks, the task's name first."""
    return Table("samples", [Column("task"), *sample_columns(report)], _rows_of_all(report))


def _rows_of_all(report: Report) -> Iterator[list[Entry]]:
    """Yields the samples of all tasks as rows, the task's name first."""
    for task in report.rows:
        for row in sample_rows(report, task):
            yield [task.name, *row]


def sample_rows(report: Report, task: TaskRows) -> Iterator[list[Entry]]:
    """Yields the rows of one task, every sample of it."""
    judges = _judges(report)
    streams = [None if replies is None else replies.read() for replies in task.replies]
    for place, sample_id in enumerate(task.ids):
        pairs = [None if stream is None else next(stream) for stream in streams]
        views = [None if pair is None else pair[0] for pair in pairs]
        first = next(view for view in views if view is not None)
        row: list[Entry] = [sample_id, first.doc_id, first.subtask or None, first.gold]
        row.append(_published_verdict(task, place))
        for replies, view, judge in zip(task.replies, views, judges, strict=True):
            if replies is None or view is None:
                row += [None] * (len(_REPLY_COLUMNS) + len(judge.columns))
            else:
                row += _reply_cells(replies, place, view)
                row += judge.cells(task.name, view.doc_id)
        row.append(first.sample.previous_output)
        for flips in report.flips:
            ((direction, cause),) = flips.of(task, [place])
            row += [_DIRECTIONS[direction], flips.causes[cause] or None]
        yield [*row, readable_prompt(first.prompt)]


def _published_verdict(task: TaskRows, place: int) -> int | None:
    known = (replies for replies in task.replies if replies is not None)
    replies = next(replies for replies in known if replies.rows[place] != UNKNOWN)
    verdict = int(replies.table.previous[replies.rows[place]])
    return None if verdict < 0 else verdict


def _reply_cells(replies: Replies, place: int, view: SampleView) -> list[Entry]:
    flags = replies.flags[place]
    unparsed = None if replies.unparsed is None else int(bool(flags & UNPARSED))
    truncated = None if flags & UNSURE else int(bool(flags & TRUNCATED))
    return [
        *(replies.score(place), unparsed, truncated),
        *(view.answer, view.reading.method or None, view.reading.why or None),
        ", ".join(view.reading.failed) or None,
        view.reply_cell,
    ]


class _Judged:
    """The judgements of the samples of one run; no columns without a judge."""

    def __init__(self, judgements: Judgements) -> None:
        self._judgements = judgements
        names: set[str] = set()
        for task in judgements.values():
            for judgement in task.values():
                names.update(judgement["ratings"] or ())
        self._ratings = sorted(names)

    @property
    def columns(self) -> list[str]:
        """A column for each rating, then who rated, how it ended, and what was written."""
        ratings = [f"rating {name}" for name in self._ratings]
        return [*ratings, *_JUDGE_COLUMNS] if self._judgements else []

    def cells(self, task: str, index: int) -> list[Entry]:
        """The judgement of a sample in the order of `columns`."""
        judgement = self._judgements.get(task, {}).get(index)
        if judgement is None:
            return [None] * len(self.columns)
        ratings = judgement["ratings"] or {}
        values = [ratings.get(name) for name in self._ratings]
        return [*values, judgement["judge"], judgement["status"], judgement["reply"]]


def _judges(report: Report) -> list[_Judged]:
    judgements = report.judgements or [{} for _ in report.document["runs"]]
    return [_Judged(judged) for judged in judgements]
