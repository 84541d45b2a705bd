"""The samples packed for the page's browser.

A page must open with 50,000 samples in it. So the numbers that filters need are columns of one
small index, and the texts lie in compressed chunks that the page opens one at a time, when a sample
is shown or searched.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from custom_metrics.harness.reading import is_whole_reply
from evalprep.compare import Comparison
from evalprep.numbers import number as number_text
from evalprep.packs import messages_of, readable_prompt
from evalprep.report.align import ReadSample, Replies, TaskRows
from evalprep.report.judgements import Judgements
from evalprep.report.mathematics import Formulas
from evalprep.report.shown import typeset
from evalprep.report.text import (
    changed_prompt,
    columns_of,
    common_start,
    pack,
    plain,
    preview,
    shorten,
)
from evalprep.results import Run, SampleView
from evalprep.samples import UNKNOWN, Sample, verdict_of

_CHUNK = 400_000  # characters of text before compression: opened in a few milliseconds
_NOT_LOGGED = "(not logged)"
_WHOLE = "(the whole reply)"
_JUDGED = 12  # prompts of a subtask that tell what all of them begin with
T = TypeVar("T")


class Flips:
    """The samples that flipped in one comparison, and the causes.

    Args:
        candidate: Place of its candidate among the runs of the page.
        comparison: The comparison.

    Attributes:
        causes: The causes in words, by their numbers; the first is none.
    """

    def __init__(self, candidate: int, comparison: Comparison) -> None:
        numbers = {"": 0}
        self._candidate = candidate
        self._by_task: dict[str, tuple[int, dict[int, tuple[int, int]]]] = {}
        for name, task in comparison.rows.items():
            by_row = {}
            for flip in task.flips():
                number = numbers.setdefault(flip.cause, len(numbers))
                by_row[flip.row] = (1 if flip.gained else 2, number)
            self._by_task[name] = len(task.table), by_row
        self.causes = list(numbers)

    def of(self, task: TaskRows, places: Sequence[int]) -> list[tuple[int, int]]:
        """Direction (0 none, 1 gained, 2 lost) and number of the cause of some aligned rows."""
        size, by_row = self._by_task.get(task.name, (0, {}))
        replies = task.replies[self._candidate]
        if replies is None or len(replies.table) != size:
            # Not compared, or by a filter that was not applied to the same documents.
            return [(0, 0)] * len(places)
        return [by_row.get(replies.rows[place], (0, 0)) for place in places]


class Browser:
    """Collects samples task by task and packs them.

    Args:
        runs: The runs, side by side.
        flips: The flips of each comparison.
        judgements: What a judge said of the samples of each run; see `judgements_of`.
        max_chars: Longer texts lose their middle.
        max_samples: Rows that go into the page. Of more rows, those that flipped come first, then
            the others in even steps; what is counted elsewhere on the page always counts all rows.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        flips: Sequence[Flips],
        *,
        judgements: Sequence[Judgements] = (),
        max_chars: int = 20_000,
        max_samples: int = 50_000,
    ) -> None:
        self.runs = runs
        self.judgements = judgements or [{} for _ in runs]
        self.flips = flips
        self.max_chars = max_chars
        self.formulas = Formulas()
        self.room = max_samples
        self.total = 0
        self._chunks: list[str] = []
        self._waiting: list[dict[str, Any]] = []
        self._encoded = bytearray()
        self._size = 0
        self._subtasks: dict[str, int] = {}
        self.columns: dict[str, list[Any]] = {
            name: []
            for name in ("task", "subtask", "id", "doc", "preview", "chunk", "at", "previous")
        }
        self.by_run: dict[str, list[list[Any]]] = {
            name: [[] for _ in runs] for name in ("score", "flags")
        }
        # Row -> its score as text, where that is no verdict.
        self.graded: list[dict[int, str]] = [{} for _ in runs]
        self.by_comparison: dict[str, list[list[int]]] = {
            name: [[] for _ in flips] for name in ("flip", "cause")
        }

    def add(self, number: int, task: TaskRows) -> None:
        """Reads a task's samples once: texts for the page, flags and lengths for the audit.

        Args:
            number: Position of the task in the report.
            task: Its aligned rows; their flags and lengths are filled.
        """
        shown = self._choose_rows(task)
        self._index_columns(number, task, shown)
        starts = _starts(task)
        is_shown = set(shown)
        others = array("q", np.setdiff1d(np.arange(len(task.ids)), shown).tobytes())
        in_full = _side_by_side(task, lambda replies: replies.read(shown))
        in_brief = _side_by_side(task, lambda replies: replies.read_primary(others))
        for place in range(len(task.ids)):
            if place in is_shown:
                self._add_shown(task, next(in_full), starts)
            else:
                _note(task, next(in_brief))
        self.total += len(task.ids)
        for run, replies in enumerate(task.replies):
            flags = [UNKNOWN] * len(shown) if replies is None else replies.flags_of(shown)
            self.by_run["flags"][run] += flags

    def _choose_rows(self, task: TaskRows) -> Sequence[int]:
        """The rows of a task that go into the page, in order."""
        size = len(task.ids)
        if size <= self.room:
            self.room -= size
            return range(size)
        of_rows = zip(*(flips.of(task, range(size)) for flips in self.flips), strict=True)
        flipped = [at for at, of_row in enumerate(of_rows) if any(map(any, of_row))]
        kept = set(flipped[: self.room])
        others = np.setdiff1d(np.arange(size), list(kept))
        room = self.room - len(kept)
        self.room = 0
        spread = others[np.arange(room) * len(others) // max(room, 1)]
        return sorted(kept | set(spread.tolist()))

    def _index_columns(self, number: int, task: TaskRows, shown: Sequence[int]) -> None:
        """Adds what the columns of a task already tell of the rows that are shown."""
        first_row = len(self.columns["task"])
        self.columns["task"] += [number] * len(shown)
        for run, replies in enumerate(task.replies):
            scores = [None] * len(shown) if replies is None else replies.scores(shown)
            self.by_run["score"][run] += scores
            if task.graded:
                self.graded[run] |= {
                    row: typeset(number_text(score))
                    for row, score in enumerate(scores, start=first_row)
                    if score is not None
                }
        for comparison, flips in enumerate(self.flips):
            of_rows = flips.of(task, shown)
            self.by_comparison["flip"][comparison] += [direction for direction, _ in of_rows]
            self.by_comparison["cause"][comparison] += [cause for _, cause in of_rows]

    def _add_shown(
        self, task: TaskRows, pairs: Sequence[ReadSample | None], starts: dict[str, str]
    ) -> None:
        """Adds the next row that is shown, as each run has it, with all texts, long ones cut."""
        first = _note(task, [None if pair is None else pair[0].sample for pair in pairs])
        prompt = first.prompt
        logged_subtask = first.doc.get("subtask_name")
        subtask = "" if logged_subtask is None else str(logged_subtask)
        row = {
            "subtask": self._subtasks.setdefault(subtask, len(self._subtasks)),
            "id": first.sample_id,
            "doc": first.doc_id,
            "preview": preview(readable_prompt(prompt), starts.get(subtask, "")),
            "previous": max(verdict_of(first.doc.get("previously_is_correct")), UNKNOWN),
            "chunk": len(self._chunks),
            "at": len(self._waiting),
        }
        for name, value in row.items():
            self.columns[name].append(value)
        published = first.previous_output
        texts = {
            **self._prompt(prompt),
            "target": self._cut(first.gold),
            "published": None if published is None else self._cut(published),
            "columns": columns_of(first.doc, prompt),
            "changed": [self._cut(text) for text in changed_prompt(first.doc)],
            "replies": self._replies(task.name, first, pairs),
        }
        with_formulas = [texts["prompt"], texts["target"], texts["published"]]
        self._size += len(texts["prompt"]) + 500
        for reply in filter(None, texts["replies"]):
            self._size += len(reply["output"])
            with_formulas += (reply["output"], reply.get("prompt"))
        self._waiting.append({**texts, "math": self.formulas.of(with_formulas)})
        if self._size >= _CHUNK:
            self._close_chunk()

    def _replies(
        self, task: str, first: Sample, pairs: Sequence[ReadSample | None]
    ) -> list[dict[str, Any] | None]:
        """Returns what each run replied, with its prompt where that is not the first run's."""
        replies: list[dict[str, Any] | None] = []
        of_task = (judgements.get(task) for judgements in self.judgements)
        for pair, judgements in zip(pairs, of_task, strict=True):
            if pair is None:
                replies.append(None)
                continue
            view, answers = pair
            reply = self._reply(view, answers)
            judgement = judgements.get(view.doc_id) if judgements else None
            if judgement:
                reply["judge"] = plain({**judgement, "reply": self._cut(judgement["reply"] or "")})
            if view.sample is not first and not view.sample.is_asked_as(first):
                reply |= self._prompt(view.prompt)
            replies.append(reply)
        return replies

    def _cut(self, text: str) -> str:
        return text if len(text) <= self.max_chars else shorten(text, self.max_chars)

    def _prompt(self, prompt: str) -> dict[str, Any]:
        """A prompt as one text, and as messages where it is a chat."""
        messages = [[role, self._cut(text)] for role, text in messages_of(prompt)]
        text = {"prompt": self._cut(readable_prompt(prompt))}
        return {**text, "messages": messages} if messages else text

    def _reply(self, view: SampleView, answers: dict[str, str]) -> dict[str, Any]:
        """Returns what a run replied, and what its scorer read from that."""
        reading, reply = view.reading, view.reply
        shown: dict[str, str] = {}
        for name, answer in answers.items():
            is_whole = is_whole_reply(answer, view.sample.response)
            shown[name] = self._cut(_WHOLE if is_whole else answer)
        return {
            "output": _NOT_LOGGED if reply is None else self._cut(reply),
            "answers": shown,
            "read": {
                "answer": None if reading.answer is None else self._cut(reading.answer),
                "method": reading.method,
                "why": reading.why,
                "parts": dict(reading.parts),
            },
            "values": view.sample.metrics,
        }

    def _close_chunk(self) -> None:
        if self._waiting:
            self._chunks.append(pack(self._waiting, self._encoded))
            self._waiting = []
            self._size = 0

    def finish(self) -> tuple[str, list[str]]:
        """The packed index and the packed chunks of texts."""
        self._close_chunk()
        causes = [flips.causes for flips in self.flips]
        names = {"subtasks": list(self._subtasks), "causes": causes, "graded": self.graded}
        index = pack({**self.columns, **self.by_run, **self.by_comparison, **names})
        return index, self._chunks


def _side_by_side(
    task: TaskRows, read: Callable[[Replies], Iterator[T | None]]
) -> Iterator[tuple[T | None, ...]]:
    """Yields row by row what is read of each run's replies; None for a run without the task."""
    streams = [repeat(None) if replies is None else read(replies) for replies in task.replies]
    return zip(*streams, strict=False)  # None is repeated without end


def _note(task: TaskRows, samples: Sequence[Sample | None]) -> Sample:
    """Records what each run's next reply shows; returns the row of the first run that has it."""
    for sample, replies in zip(samples, task.replies, strict=True):
        if replies is not None:
            replies.note(sample)
    return next(sample for sample in samples if sample is not None)


def _starts(task: TaskRows) -> dict[str, str]:
    """Returns what the prompts of each subtask begin with, judged by a few of them."""
    table = next(replies.table for replies in task.replies if replies is not None)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for row, code in enumerate(table.subtask.tolist()):
        if len(groups[code]) < _JUDGED:
            groups[code].append(row)
    return {
        table.subtasks[code] if code != UNKNOWN else "": common_start(
            [readable_prompt(sample.prompt) for sample in table.read(rows)]
        )
        for code, rows in groups.items()
    }
