"""The samples packed for the page's browser.

A page must open with 50,000 samples in it. So the numbers that filters need are columns of one small index, and the
texts lie in compressed chunks that the page opens one at a time, when a sample is shown or searched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from typing import Any

from evalprep.numbers import number as number_text
from evalprep.report.align import TaskRows
from evalprep.report.judgements import Judgements
from evalprep.report.reading import reading_of, without_whole
from evalprep.report.shown import typeset
from evalprep.report.text import changed_prompt, columns_of, common_start, pack, plain, preview, shorten
from evalprep.results import UNKNOWN, Run, Sample
from evalprep.results.reply import text_of
from evalprep.results.sample import verdict_of

_CHUNK = 400_000  # characters of text before compression: opened in a few milliseconds
_JUDGED = 12  # prompts of a subtask that tell what all of them begin with
Found = tuple[Sample, dict[str, str]]


class Flips:
    """Which samples flipped in one comparison, and why."""

    def __init__(self) -> None:
        self.causes: list[str] = [""]
        self._known: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, task: str, sample_id: str, direction: str, cause: str) -> None:
        """Note one: `gained` or `lost`, and the cause in words."""
        if cause not in self.causes:
            self.causes.append(cause)
        self._known[task, sample_id] = (1 if direction == "gained" else 2, self.causes.index(cause))

    def of(self, task: str, sample_id: str) -> tuple[int, int]:
        """Direction (0 none, 1 gained, 2 lost) and number of the cause."""
        return self._known.get((task, sample_id), (0, 0))


class Browser:
    """Collects samples task by task and packs them.

    Args:
        runs: The runs, side by side.
        flips: The flips of each comparison.
        judgements: What a judge said of the samples of each run; see `judgements_of`.
        max_chars: Longer texts lose their middle.
        max_samples: Rows that go into the page. Of more rows, those that flipped come first, then the others in even
            steps; what is counted elsewhere on the page always counts all rows.
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
        self.room = max_samples
        self.total = 0
        self.chunks: list[str] = []
        self._waiting: list[dict[str, Any]] = []
        self._size = 0
        self._subtasks: dict[str, int] = {}
        self.columns: dict[str, list[Any]] = {
            name: [] for name in ("task", "subtask", "id", "doc", "preview", "chunk", "at", "previous")
        }
        self.by_run: dict[str, list[list[Any]]] = {name: [[] for _ in runs] for name in ("score", "flags")}
        self.graded: list[dict[int, str]] = [{} for _ in runs]  # row -> its score as text, where that is no verdict
        self.by_comparison: dict[str, list[list[int]]] = {name: [[] for _ in flips] for name in ("flip", "cause")}

    def add(self, number: int, task: TaskRows) -> None:
        """Read a task's samples once: their texts for the page, their flags and lengths for the audit.

        Args:
            number: Position of the task in the report.
            task: Its aligned rows; their flags and lengths are filled.
        """
        streams = [None if replies is None else replies.read() for replies in task.replies]
        wanted = self._wanted(task)
        starts = _starts(task)
        self.total += len(task.ids)
        for at in range(len(task.ids)):
            found = [None if stream is None else next(stream) for stream in streams]
            first = next(one[0] for one in found if one is not None)
            flags = [
                UNKNOWN if replies is None else replies.note(None if one is None else one[0], first)
                for one, replies in zip(found, task.replies, strict=True)
            ]
            if at in wanted:
                self._index(number, task, at, first, flags, starts)
                self._push(self._texts(task.name, first, found))

    def _wanted(self, task: TaskRows) -> Container[int]:
        size = len(task.ids)
        if size <= self.room:
            self.room -= size
            return range(size)
        flipped = [at for at, one in enumerate(task.ids) if any(flips.of(task.name, one)[0] for flips in self.flips)]
        kept = set(flipped[: self.room])
        others = [at for at in range(size) if at not in kept]
        room = self.room - len(kept)
        self.room = 0
        return kept | {others[step * len(others) // room] for step in range(room)}

    def _index(
        self, number: int, task: TaskRows, at: int, first: Sample, flags: Sequence[int], starts: dict[str, str]
    ) -> None:
        subtask = _subtask(first)
        row = {
            "task": number,
            "subtask": self._subtasks.setdefault(subtask, len(self._subtasks)),
            "id": first.sample_id,
            "doc": first.doc_id,
            "preview": preview(first.prompt, starts.get(subtask, "")),
            "previous": max(verdict_of(first.doc.get("previously_is_correct")), UNKNOWN),
            "chunk": len(self.chunks),
            "at": len(self._waiting),
        }
        for name, value in row.items():
            self.columns[name].append(value)
        for run, replies in enumerate(task.replies):
            score = None if replies is None else replies.score(at)
            self.by_run["score"][run].append(score)
            if task.graded and score is not None:
                self.graded[run][len(self.columns["task"]) - 1] = typeset(number_text(score))
            self.by_run["flags"][run].append(flags[run])
        for comparison, flips in enumerate(self.flips):
            direction, cause = flips.of(task.name, task.ids[at])
            self.by_comparison["flip"][comparison].append(direction)
            self.by_comparison["cause"][comparison].append(cause)

    def _texts(self, task: str, first: Sample, found: Sequence[Found | None]) -> dict[str, Any]:
        def cut(text: str) -> str:
            return shorten(text, self.max_chars)

        replies: list[dict[str, Any] | None] = []
        for one, judgements in zip(found, self.judgements, strict=True):
            if one is None:
                replies.append(None)
                continue
            sample, answers = one
            found_in = reading_of(sample)
            reply: dict[str, Any] = {
                "output": cut(text_of(sample)),
                "answers": {name: cut(answer) for name, answer in without_whole(sample, answers).items()},
                "read": {
                    "answer": None if found_in.answer is None else cut(found_in.answer),
                    "method": found_in.method,
                    "why": found_in.why,
                    "parts": dict(found_in.parts),
                },
                "values": plain(sample.metrics),
            }
            if judgement := judgements.get(task, {}).get(sample.doc_id):
                said = cut(judgement["reply"] or "")
                reply["judge"] = plain({**judgement, "reply": said})
            if sample.prompt != first.prompt:
                reply["prompt"] = cut(sample.prompt)
            replies.append(reply)
        return {
            "prompt": cut(first.prompt),
            "target": cut(first.target),
            "published": None if first.previous_output is None else cut(first.previous_output),
            "columns": plain(columns_of(first.doc, first.prompt)),
            "changed": [cut(text) for text in changed_prompt(first.doc)],
            "replies": replies,
        }

    def _push(self, texts: dict[str, Any]) -> None:
        self._waiting.append(texts)
        self._size += len(texts["prompt"]) + sum(len(one["output"]) for one in texts["replies"] if one) + 500
        if self._size >= _CHUNK:
            self._close_chunk()

    def _close_chunk(self) -> None:
        if self._waiting:
            self.chunks.append(pack(self._waiting))
            self._waiting, self._size = [], 0

    def finish(self) -> tuple[str, list[str]]:
        """The packed index and the packed chunks of texts."""
        self._close_chunk()
        causes = [flips.causes for flips in self.flips]
        names = {"subtasks": list(self._subtasks), "causes": causes, "graded": self.graded}
        return pack({**self.columns, **self.by_run, **self.by_comparison, **names}), self.chunks


def _subtask(sample: Sample) -> str:
    value = sample.doc.get("subtask_name")
    return "" if value is None else str(value)


def _starts(task: TaskRows) -> dict[str, str]:
    """What the prompts of each subtask begin with, judged by a few of them."""
    table = next(replies.table for replies in task.replies if replies is not None)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for row, code in enumerate(table.subtask.tolist()):
        if len(groups[code]) < _JUDGED:
            groups[code].append(row)
    return {
        table.subtasks[code] if code != UNKNOWN else "": common_start([one.prompt for one in table.read(rows)])
        for code, rows in groups.items()
    }
